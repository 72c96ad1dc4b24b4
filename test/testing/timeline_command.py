# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tests of commands that read the events of a trace."""

import csv
import io
import pathlib
import random
import subprocess
import tempfile
import unittest

from cases import run_cases

PZTRACE = pathlib.Path.cwd() / 'pztrace'
WORKERS = pathlib.Path.cwd() / 'traced_workers'


def has_sqlite():
  """Returns whether the program was built with SQLite."""
  result = subprocess.run([PZTRACE, 'sql', '/dev/null', 'select 1'],
                          stderr=subprocess.PIPE, text=True, check=False)
  return 'without SQLite' not in result.stderr


def run_sql_cases():
  """Runs the test cases of a script that needs SQLite. Returns its exit code."""
  if not has_sqlite():
    print('skipped: pztrace was built without SQLite')
    print('0 passed, 0 failed, 1 skipped')
    return 0
  return run_cases()


class TimelineCommandTest(unittest.TestCase):
  command = None
  options = ()  # Of outputs_of_damaged().

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = pathlib.Path(folder.name) / 'trace'

  def run_command(self, trace, *args, code=0):
    """Returns what it prints, and its errors."""
    self.path.write_bytes(trace)
    result = subprocess.run([PZTRACE, self.command, *args, self.path],
                            timeout=60, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stdout.decode(), result.stderr.decode()

  def exported_rows(self, path, table, ignored, is_whole=True):
    """Returns the rows of a table, sorted, without the `ignored` columns."""
    output = subprocess.run([PZTRACE, 'export', table, path],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            check=is_whole).stdout.decode()
    rows = list(csv.DictReader(io.StringIO(output)))
    for row in rows:
      for column in ignored:
        row.pop(column, None)
    return sorted(rows, key=lambda row: sorted(row.items()))

  def record_workers(self):
    """Returns the trace, and how many items it has: five slices each."""
    result = subprocess.run([PZTRACE, 'record', '-o', self.path, '--', WORKERS],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=True)
    items = sum(int(line.split(' items')[0].split()[-1])
                for line in result.stdout.decode().splitlines())
    self.assertGreater(items, 0)
    return self.path.read_bytes(), items

  def outputs_of_damaged(self, whole):
    """Runs the command on traces that differ from `whole` in a few bytes."""
    generator = random.Random(1)
    for _ in range(200):
      broken = bytearray(whole)
      for _ in range(generator.randint(1, 8)):
        broken[generator.randrange(len(broken))] = generator.randrange(256)
      self.path.write_bytes(broken)
      result = subprocess.run([PZTRACE, self.command, *self.options, self.path],
                              timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              check=False)
      self.assertIn(result.returncode, (0, 1), result.stderr)
      if result.returncode:
        self.assertTrue(result.stdout + result.stderr, 'it does not say what is wrong')
      yield result.stdout.decode()
