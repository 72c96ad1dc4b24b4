#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the man pages and completions that tools/document_programs makes.

Runs in a build directory, which has the programs.
"""

import pathlib
import shutil
import sys
import unittest

from cases import run_cases, version
from projects import BUILD, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ('pbz', 'pztrace', 'protoc-gen-pbzero')
COMMANDS = {'pbz': ('decode', 'stats'),
            'pztrace': ('record', 'stat', 'cat', 'top'),
            'protoc-gen-pbzero': ()}


class DocumentsTest(ProjectsTest):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.must(ROOT / 'tools/document_programs', '--prefix', cls.scratch,
             *(BUILD / program for program in PROGRAMS))
    cls.share = cls.scratch / 'share'
    (cls.scratch / 'a file').touch()
    (cls.scratch / 'a folder').mkdir()

  def complete(self, *words):
    """The completions of bash for the last one of them."""
    folder = self.share / 'bash-completion/completions'
    out = self.must(
        'bash', '-c', 'source "$0/$1"; COMP_WORDS=("$@"); '
        'COMP_CWORD=$(($# - 1)); "_${1//-/_}"; printf "%s\\n" "${COMPREPLY[@]}"',
        folder, *words, cwd=self.scratch)
    return out.decode().split('\n')[:-1]

  def test_versions(self):
    for program in PROGRAMS + ('protozero_plugin',):
      if (BUILD / program).exists():
        self.assertEqual(self.must(BUILD / program, '--version').decode().split()[:2],
                         [program, version()])

  @unittest.skipUnless(shutil.which('groff'), 'there is no groff (Debian: groff)')
  def test_man_pages(self):
    for program in PROGRAMS:
      page = self.share / 'man/man1' / (program + '.1')
      self.assertEqual(self.must('groff', '-man', '-ww', '-z', '-Tutf8', page), b'')
      text = self.must('groff', '-man', '-Tascii', '-P-cbou', page).decode()
      self.assertIn('protozero ' + version(), text)
      self.assertIn('--version', text)
      for command in COMMANDS[program]:
        self.assertIn('   %s %s' % (program, command), text)

  def test_every_option_is_described(self):
    for program in PROGRAMS:
      for command in COMMANDS[program] or ('',):
        text = self.must(BUILD / program, *filter(None, [command]),
                         '--help').decode()
        options = [line.split()[0].rstrip(',') for line in text.splitlines()
                   if line.startswith('  -')]
        self.assertGreater(len(options), 1)
        self.assertLessEqual(set(options),
                             set(self.complete(program, command, '-')))
        for path in ('man/man1/%s.1', 'zsh/site-functions/_%s'):
          content = (self.share / (path % program)).read_text().replace('\\-', '-')
          for option in options:
            self.assertIn(option, content)

  def test_completions(self):
    self.assertIn('record', self.complete('pztrace', 're'))
    self.assertEqual(self.complete('pztrace', 'record', '--cat'), ['--categories'])
    self.assertEqual(self.complete('pztrace', 'record', '--output', 'a f'),
                     ['a file', 'a folder'])
    self.assertEqual(self.complete('pbz', '-I', 'a f'), ['a folder'])
    self.assertEqual(self.complete('pbz', '--type', 'a f'), [''])

  @unittest.skipUnless(shutil.which('fish'), 'there is no fish')
  def test_fish(self):
    for program in PROGRAMS:
      self.must('fish', '--no-execute',
                self.share / 'fish/vendor_completions.d' / (program + '.fish'))

  @unittest.skipUnless(shutil.which('zsh'), 'there is no zsh')
  def test_zsh(self):
    for program in PROGRAMS:
      self.must('zsh', '-n', self.share / 'zsh/site-functions' / ('_' + program))


if __name__ == '__main__':
  sys.exit(run_cases())
