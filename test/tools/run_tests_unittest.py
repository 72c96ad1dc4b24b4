#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/run_tests.py: that nothing which goes wrong counts as passed."""

import argparse
import contextlib
import os
import pathlib
import re
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

import run_tests
from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]

# The output of a GoogleTest program with these cases of (name, result).
GTEST = '''#!/usr/bin/env python3
import json, os, sys
cases = %r
report = [a for a in sys.argv if a.startswith('--gtest_output=json:')][0]
found = []
for name, result in cases:
  print('[ RUN      ] Suite.' + name)
  if result == 'dies':
    sys.stdout.flush()
    os.abort()
  case = {'name': name, 'classname': 'Suite', 'status': 'RUN', 'result': 'COMPLETED'}
  if result == 'fails':
    print('expected this, got that')
    case['failures'] = [{'failure': 'expected this, got that'}]
  elif result == 'is skipped':
    case['result'] = 'SKIPPED'
    print('a.cc:5: Skipped\\nno such processor\\n')
  elif result == 'is disabled':
    case['status'] = 'NOTRUN'
  word = {'fails': 'FAILED ', 'is skipped': 'SKIPPED'}.get(result, '     OK')
  print('[  %%s ] Suite.' %% word + name)
  found.append(case)
with open(report.split(':', 1)[1], 'w') as f:
  json.dump({'testsuites': [{'testsuite': found}] if found else []}, f)
sys.exit(%d)
'''


class RunTestTest(unittest.TestCase):

  def run_program(self, kind, text, timeout=60, test_filter=None):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'program')
      with open(path, 'w') as f:
        f.write(text)
      os.chmod(path, stat.S_IRWXU)
      return run_tests.run_test(
          {'kind': kind, 'command': ['./program']}, folder,
          argparse.Namespace(timeout=timeout, filter=test_filter))

  def run_gtest(self, cases, exit_code, **kwargs):
    return self.run_program('gtest', GTEST % (cases, exit_code), **kwargs)

  def expect(self, outcome, passed, failed, skipped=0):
    self.assertEqual((passed, failed, skipped),
                     (outcome.passed, outcome.failed, outcome.skipped),
                     outcome.output)

  def test_cases_are_counted(self):
    outcome = self.run_gtest([('A', 'passes'), ('B', 'fails'), ('C', 'passes'),
                              ('D', 'is skipped'), ('E', 'is disabled')], 1)
    self.expect(outcome, 2, 1, 2)
    self.assertEqual(outcome.skips, [('Suite.D', 'no such processor'),
                                     ('Suite.E', 'disabled')])

  def test_skipped_cases_of_scripts_have_reasons(self):
    outcome = self.run_program('script', ('#!/usr/bin/env python3\n'
        'import sys, unittest\n'
        'from cases import run_cases\n'
        'class Test(unittest.TestCase):\n'
        '  def test_one(self):\n'
        '    pass\n'
        '  def test_two(self):\n'
        '    """Says more."""\n'
        '    self.skipTest("there is none")\n'
        '@unittest.skip("not today")\n'
        'class Other(unittest.TestCase):\n'
        '  def test_three(self):\n'
        '    pass\n'
        'sys.exit(run_cases())\n'))
    self.expect(outcome, 1, 0, 2)
    self.assertEqual(sorted(outcome.skips), [('Other.test_three', 'not today'),
                                             ('Test.test_two', 'there is none')])

  def test_script_that_is_skipped_counts_as_its_cases(self):
    outcome = self.run_program('script', (
        '#!/usr/bin/env python3\n'
        'class Test:\n'
        '  def test_one(self): pass\n'
        '  def test_two(self): pass\n'
        'print("skipped: nothing is installed\\n0 passed, 0 failed, 1 skipped")\n'))
    self.expect(outcome, 0, 0, 2)
    self.assertEqual(outcome.skips, [('', 'nothing is installed')])

  def test_only_failures_are_shown(self):
    outcome = self.run_gtest([('A', 'passes'), ('B', 'fails')], 1)
    self.assertIn('Suite.B', outcome.output)
    self.assertIn('expected this', outcome.output)
    self.assertNotIn('Suite.A', outcome.output)

  def test_crash_is_a_failure(self):
    outcome = self.run_gtest([('A', 'passes'), ('B', 'dies')], 0)
    self.expect(outcome, 1, 1)
    self.assertIn('Suite.B', outcome.output)
    self.assertIn('SIGABRT', outcome.output)

  def test_leak_found_at_exit_is_a_failure(self):
    self.expect(self.run_gtest([('A', 'passes')], 23), 1, 1)

  def test_program_without_tests_is_a_failure(self):
    self.expect(self.run_gtest([], 0), 0, 1)

  def test_filter_may_leave_nothing(self):
    self.expect(self.run_gtest([], 0, test_filter='B.*'), 0, 0)

  def test_program_that_hangs_is_a_failure(self):
    outcome = self.run_program('gtest', '#!/bin/sh\nsleep 60\n', timeout=0.2)
    self.expect(outcome, 0, 1)

  def test_missing_program_is_a_failure(self):
    self.expect(run_tests.run_test(
        {'kind': 'script', 'command': ['./no-such-program']}, '.',
        argparse.Namespace(timeout=60, filter=None)), 0, 1)

  def test_script_that_does_not_count_is_one_case(self):
    self.expect(self.run_program('script', '#!/bin/sh\n'), 1, 0)
    self.expect(self.run_program('script', '#!/bin/sh\nexit 1\n'), 0, 1)

  def test_counts_of_script_are_used(self):
    self.expect(self.run_program(
        'script', '#!/bin/sh\necho "5 passed, 2 failed"\nexit 1\n'), 5, 2)

  def test_counts_that_contradict_the_exit_code_are_a_failure(self):
    self.expect(self.run_program(
        'script', '#!/bin/sh\necho "5 passed, 0 failed"\nexit 1\n'), 5, 1)
    self.expect(self.run_program(
        'script', '#!/bin/sh\necho "5 passed, 2 failed"\n'), 5, 2)

  def test_counts_must_be_the_last_line(self):
    self.expect(self.run_program(
        'script', '#!/bin/sh\necho "5 passed, 0 failed"\necho bye\n'), 1, 0)


class RunAllTest(unittest.TestCase):

  def run_scripts(self, *texts):
    """Runs scripts that a folder remembers. Returns what they came to, with
    failures and unstable ones as indexes."""
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, 'w') as null:
      tests = []
      for i, text in enumerate(texts):
        path = os.path.join(folder, str(i))
        with open(path, 'w') as f:
          f.write('#!/bin/sh\n' + text)
        os.chmod(path, stat.S_IRWXU)
        tests.append({'kind': 'script', 'command': [path], 'name': str(i)})
      with contextlib.redirect_stdout(null):
        return run_tests.run_all(tests, 'config', folder,
                                 argparse.Namespace(timeout=60, filter=None))

  FAILS_ONCE = 'mkdir failed_once || exit 0; exit 1'

  def test_what_passes_alone_is_named(self):
    total = self.run_scripts('exit 0', self.FAILS_ONCE, 'exit 1')
    self.assertEqual((total.passed, total.failed), (2, 1))
    self.assertEqual(total.unstable, ['config: 1'])
    self.assertEqual(total.failures, ['config: 2'])

  def test_reports_of_sanitizers_count(self):
    total = self.run_scripts(
        'echo "WARNING: ThreadSanitizer: data race"; ' + self.FAILS_ONCE)
    self.assertEqual((total.passed, total.failed), (0, 1))
    self.assertEqual(total.unstable, [])

  def test_only_known_reasons_to_skip_are_none_to_fail(self):
    skip = 'echo "skipped: %s"; echo "0 passed, 0 failed, 1 skipped"'
    total = self.run_scripts(skip % 'not on this processor', skip % 'tired')
    self.assertEqual((total.passed, total.failed), (0, 1))
    self.assertEqual(total.failures, ['config: 1'])
    self.assertEqual(sorted(total.skips), [('0', 'not on this processor'), ('1', 'tired')])

  def test_each_reason_is_of_a_test(self):
    known = {'*'} | {name for path in ROOT.glob('test/**/BUILD.gn') for name in re.findall(
        r'^\s*\w+_test\w*\("(\w+)"\)', path.read_text(), re.M)}
    reasons = run_tests.reasons_to_skip()
    self.assertGreater(len(reasons), 10)
    self.assertEqual([name for name, _ in reasons if name not in known], [])

  def test_many_failures_count(self):
    total = self.run_scripts(self.FAILS_ONCE, *['exit 1'] * 3)
    self.assertEqual((total.passed, total.failed), (0, 4))
    self.assertEqual(total.unstable, [])


class SignalsTest(unittest.TestCase):

  def test_programs_can_be_interrupted(self):
    """Also if this runs in the background of a shell."""
    code = ('import run_tests, signal, subprocess; '
            'signal.signal(signal.SIGINT, signal.SIG_IGN); '
            'run_tests.let_programs_be_interrupted(); '
            'print(subprocess.run(["sh", "-c", "kill -INT $$; exit 3"],'
            ' check=False).returncode)')
    result = subprocess.run([sys.executable, '-c', code], cwd=ROOT / 'tools',
                            stdout=subprocess.PIPE, text=True, check=True)
    self.assertEqual(int(result.stdout), -signal.SIGINT)


class CostsTest(unittest.TestCase):

  def test_largest_first(self):
    lines = run_tests.lines_of_costs(
        [(1.0, 2.0, 'a: one'), (30.5, 20.0, 'a: two'), (4.0, 5.0, 'b: one')], 2)
    self.assertEqual([line.split() for line in lines[1:]],
                     [['30.5', '20.0', 'a:', 'two'], ['4.0', '5.0', 'b:', 'one']])


if __name__ == '__main__':
  sys.exit(run_cases())
