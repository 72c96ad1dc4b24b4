#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that all Python of the repository is indented by two spaces."""

import pathlib
import subprocess
import sys
import tokenize
import unittest

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_python(path):
  if path.suffix:
    return path.suffix == '.py'
  with open(path, 'rb') as f:
    return b'python' in f.readline(80)


def scripts():
  listed = subprocess.run(
      ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
      cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout.decode()
  paths = [ROOT / name for name in listed.split('\0') if name]
  return [path for path in paths if path.is_file() and is_python(path)]


class IndentationTest(unittest.TestCase):

  def test_every_block_is_two_spaces_deeper(self):
    found = scripts()
    if not found:
      self.skipTest('this is no git checkout')
    for path in found:
      levels = ['']
      with open(path, encoding='utf-8') as f:
        for token in tokenize.generate_tokens(f.readline):
          if token.type == tokenize.INDENT:
            self.assertEqual(token.string, levels[-1] + '  ',
                             '%s:%d' % (path, token.start[0]))
            levels.append(token.string)
          elif token.type == tokenize.DEDENT:
            levels.pop()


if __name__ == '__main__':
  sys.exit(run_cases())
