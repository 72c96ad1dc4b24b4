#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that --help of every script in tools/ explains the script, and does
nothing else: it installs, builds and fetches nothing."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
# They hand all arguments to the program of that name.
WRAPPERS = ['gn', 'ninja']
# Programs with which a script would begin its work.
PROGRAMS = ['apt-get', 'cargo', 'clang-format', 'clang-format-19', 'clang++-19',
            'cmake', 'dpkg-query', 'g++', 'git', 'gn', 'ninja', 'npm', 'sudo',
            'valgrind']


def scripts():
  return sorted(
      path.relative_to(ROOT)
      for folder in (ROOT / 'tools', ROOT / '.ci', ROOT / 'test')
      for path in folder.iterdir()
      if path.is_file() and os.access(path, os.X_OK) and
      path.name not in WRAPPERS)


class HelpTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.called = pathlib.Path(folder.name) / 'called'
    self.called.touch()
    for name in PROGRAMS:
      program = pathlib.Path(folder.name) / name
      program.write_text('#!/bin/sh\necho "%s $*" >>%s\nexit 1\n' %
                         (name, self.called))
      program.chmod(0o755)
    self.env = dict(os.environ, PYTHONDONTWRITEBYTECODE='1',
                    PATH='%s:%s' % (folder.name, os.environ['PATH']))

  def help_of(self, script, argument):
    run = subprocess.run([ROOT / script, argument], env=self.env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    self.assertEqual((run.returncode, run.stderr), (0, ''), run.stdout)
    self.assertEqual(self.called.read_text(), '')
    return run.stdout

  def test_every_script(self):
    self.assertGreater(len(scripts()), 15)
    for script in scripts():
      with self.subTest(script=str(script)):
        text = self.help_of(script, '--help')
        # The first line has words, and the text says how to call it.
        self.assertRegex(text, r'\A\w')
        name = 'test' if script.parent.name == '.ci' else script.name
        self.assertIn(name, text)
        self.assertEqual(self.help_of(script, '-h'), text)

  def test_help_behind_other_arguments(self):
    run = subprocess.run([ROOT / 'tools/test', '--quick', '--help'],
                         env=self.env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, check=False)
    self.assertEqual(run.returncode, 0)
    self.assertEqual(self.called.read_text(), '')


if __name__ == '__main__':
  sys.exit(run_cases())
