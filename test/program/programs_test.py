#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests --help and --version of every program that is installed, and of their
commands. Runs in the build directory."""

import pathlib
import re
import subprocess
import sys
import unittest

from cases import run_cases, version

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLUGINS = ['protozero_plugin', 'protoc-gen-pbzero']
PROGRAMS = ['ninja_trace', 'pbz', 'pztrace', 'traced_workers']
COMMANDS = ['pbz decode', 'pbz stats', 'pbz export', 'pztrace record', 'pztrace stat',
            'pztrace snapshot', 'pztrace trigger', 'pztrace recover', 'pztrace symbolize', 'pztrace cat',
            'pztrace cut', 'pztrace merge', 'pztrace top', 'pztrace diff', 'pztrace tasks',
            'pztrace why', 'pztrace svg', 'pztrace html', 'pztrace export',
            'pztrace sql', 'pztrace check']
CMAKE = (ROOT / 'CMakeLists.txt').read_text()


def run(command, *arguments):
  program, *words = command.split()
  process = subprocess.run([pathlib.Path.cwd() / program, *words, *arguments],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False)
  return process.returncode, process.stdout, process.stderr


class ProgramsTest(unittest.TestCase):

  def test_every_installed_program_is_here(self):
    # Other examples are to read, and to copy.
    installed = re.findall(r'^ *add_executable\((\w+)', CMAKE, re.M) + re.findall(
        r'^ *(?:set\(|list\(APPEND )examples (\w+)\)', CMAKE, re.M)
    # pylint: disable-next=unsubscriptable-object
    plugins = re.search(r'foreach\(plugin ([^)]*)\)', CMAKE)[1].split()
    self.assertEqual((sorted(installed), sorted(plugins)),
                     (sorted(PROGRAMS + ['protozero']), sorted(PLUGINS)))

  def test_help(self):
    for command in PROGRAMS + COMMANDS + PLUGINS:
      with self.subTest(command=command):
        code, output, error = run(command, '--help')
        self.assertEqual((code, error), (0, ''))
        self.assertTrue(output.startswith('Usage: '))
        self.assertIn(command.split()[0], output.splitlines()[0])
        self.assertRegex(output, '-h, --help +print this')
        self.assertRegex(output, '--version +print the version')
        self.assertLessEqual(max(map(len, output.splitlines())), 80)
        self.assertEqual(run(command, '-h'), (0, output, ''))

  def test_version(self):
    for command in PROGRAMS + COMMANDS:
      self.assertEqual(run(command, '--version'),
                       (0, '%s %s\n' % (command.split()[0], version()), ''))
    for plugin in PLUGINS:
      code, output, error = run(plugin, '--version')
      self.assertEqual((code, error), (0, ''))
      self.assertTrue(output.startswith('%s %s (' % (plugin, version())))

  def test_wrong_option(self):
    for command in PROGRAMS + COMMANDS:
      program = command.split()[0]
      shown = 'pbz' if command == 'pbz decode' else command
      self.assertEqual(
          run(command, '--nonsense'),
          (2, '', "%s: unknown option '--nonsense'\nTry %s --help.\n" %
           (program, shown)))
    for plugin in PLUGINS:
      self.assertEqual(
          run(plugin, '--nonsense'),
          (1, '', "%s: unknown argument '--nonsense'; protoc calls this "
           'program\nTry %s --help.\n' % (plugin, plugin)))


if __name__ == '__main__':
  sys.exit(run_cases())
