#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace tasks` names each fault that async_server plants, by its place, and with the
time that the program has measured. Runs in the build directory."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases

BUILD = pathlib.Path.cwd()
MS = 10**6
FAULT = 40 * MS
REQUESTS = 20


def command(*arguments):
  return subprocess.run(arguments, stdout=subprocess.PIPE, check=True).stdout.decode()


class AsyncServerTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.trace = pathlib.Path(folder.name) / 'trace'

  def record(self, fault):
    """Returns the number of answers, and how long the fault took."""
    output = command(BUILD / 'async_server', '--fault', fault, '-o', self.trace)
    took = re.search(r'took (\d+) ns', output)
    return int(output.split()[0]), took and int(took[1])

  def tasks(self):
    return command(BUILD / 'pztrace', 'tasks', self.trace)

  def rows(self):
    output = command(BUILD / 'pztrace', 'export', '--tasks', '--format', 'ndjson',
                     self.trace)
    return [json.loads(line) for line in output.splitlines()]

  def test_without_a_fault_only_listeners_wait(self):
    self.assertEqual(self.record('none'), (REQUESTS, None))
    output = self.tasks()
    unresumed = output.split('not resumed until')[1]
    self.assertEqual(re.findall(r'task of (.*?) \(main', unresumed),
                     ['listener', 'database listener'])
    self.assertIn('14 tasks of 5 places, 2 of them had not ended\nnothing lost\n', output)

  def test_lost_wakeup(self):
    answered, _ = self.record('lost-wake')
    self.assertLess(answered, REQUESTS)
    stuck = re.search(r'(\d) tasks? of session \(main\.cc:\d+\) waits? for stock lock '
                      r'\(main\.cc:\d+\)', self.tasks().split('not resumed until')[1])
    self.assertIsNotNone(stuck)
    # All of the four connections, or those that had not ended.
    self.assertIn(int(stuck[1]), range(1, 5))

  def test_a_long_run_starves_others(self):
    answered, took = self.record('long-run')
    self.assertEqual(answered, REQUESTS)
    longest = max((row for row in self.rows() if row['place'] == 'session'),
                  key=lambda row: row['longest'])
    self.assertGreaterEqual(longest['longest'], took)
    self.assertLess(longest['longest'], took + 20 * MS)

  def test_a_slow_database_is_on_the_path_of_the_request(self):
    answered, took = self.record('slow-downstream')
    self.assertEqual(answered, REQUESTS)
    slowest = command(BUILD / 'pztrace', 'tasks', '--slowest', '1', self.trace)
    self.assertRegex(slowest, r'request request 1\.2: ')
    self.assertGreaterEqual(took, FAULT)
    self.assertRegex(slowest, r'waited? for (disk|database|answer)')

  def test_a_lock_held_over_a_suspension(self):
    self.assertEqual(self.record('lock-over-wait')[0], REQUESTS)
    waits = re.search(r'in (\d+) waits, \S+ \ws at most: session \(main\.cc:\d+\) for '
                      'stock lock', self.tasks())
    self.assertIsNotNone(waits)
    # Nearly each of the other connections' requests waits for one of a millisecond.
    waited = sum(row['wait'] for row in self.rows() if row['place'] == 'session')
    self.assertGreater(waited, REQUESTS * MS)

  def test_a_task_that_is_never_resumed(self):
    self.assertEqual(self.record('leak')[0], REQUESTS)
    self.assertRegex(self.tasks().split('not resumed until')[1],
                     r'1 task of watcher \(main\.cc:\d+\) waits for change \(main\.cc:\d+\)')

  def test_a_fault_that_is_none(self):
    result = subprocess.run([BUILD / 'async_server', '--fault', 'any'],
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, 2)
    self.assertIn(b'lost-wake', result.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
