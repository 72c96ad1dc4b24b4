# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tests that are Python scripts.

tools/test lets a script find the modules of this folder by PYTHONPATH.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / 'tools'


def version():
  """The version that include/protozero/config.h says."""
  number = int(re.search(
      r'^#define PROTOZERO_VERSION (\d+)$',
      (TOOLS.parent / 'include/protozero/config.h').read_text(), re.M)[1])
  return '%d.%d.%d' % (number // 10000, number // 100 % 100, number % 100)


def load_tool(name):
  """The script tools/<name>, which has no .py, as a module."""
  loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
  module = importlib.util.module_from_spec(
      importlib.util.spec_from_loader(name, loader))
  loader.exec_module(module)
  return module


def defined_tests():
  """Suite.Case of C++ and Python tests, and the names of fuzzers."""
  names = set()
  for path in (TOOLS.parent / 'test').rglob('*'):
    if path.suffix == '.cc':
      names.update(
          '.'.join(match) for match in re.findall(
              r'^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)', path.read_text(), re.M))
    elif path.suffix == '.py':
      suite = None
      for kind, name in re.findall(r'^(class|  def) (\w+)', path.read_text(),
                                   re.M):
        if kind == 'class':
          suite = name
        elif suite is not None:
          names.add('%s.%s' % (suite, name))
    elif path.name == 'BUILD.gn':
      names.update(re.findall(r'^pz_fuzzer\("(\w+)"\)', path.read_text(), re.M))
  return names


def run_cases(arguments=None):
  """Runs the test cases of the script and returns its exit code. tools/test
  looks for the last line. `arguments` are for unittest, as in `script.py
  Suite.test_case`; the default is the command line."""
  argv = sys.argv if arguments is None else [sys.argv[0], *arguments]
  result = unittest.main(
      argv=argv, exit=False,
      testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2)).result
  failed = len(result.failures) + len(result.errors)
  skipped = len(result.skipped)
  # Each failed subtest counts as failed.
  passed = max(result.testsRun - failed - skipped, 0)
  print('%d passed, %d failed' % (passed, failed) +
        (', %d skipped' % skipped if skipped else ''))
  return 0 if result.testsRun and not failed else 1
