#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests examples/c_trace: events of a program in C, recorded by pztrace.

Runs in the build directory.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases

BUILD_DIR = pathlib.Path.cwd()
STEPS = 100


class CTraceTest(unittest.TestCase):

  def record(self, num_dots):
    """The text of the trace."""
    with tempfile.TemporaryDirectory() as folder:
      trace = pathlib.Path(folder) / 'c.pftrace'
      run = subprocess.run(
          [BUILD_DIR / 'pztrace', 'record', '-o', trace, '--data-source',
           'c_trace', '--', BUILD_DIR / 'c_trace', str(num_dots)],
          capture_output=True, text=True, check=False)
      self.assertEqual(run.returncode, 0, run.stderr)
      self.assertIn('%d steps, 0 packets lost' % STEPS, run.stdout)
      self.assertIn('nothing lost', run.stderr)
      return subprocess.run([BUILD_DIR / 'pztrace', 'cat', trace],
                            capture_output=True, text=True, check=True).stdout

  def check_steps(self, num_dots):
    text = self.record(num_dots)
    self.assertEqual(
        re.findall(r'name: "(step \d+[.]*)"', text),
        ['step %d%s' % (i, '.' * num_dots) for i in range(STEPS)])
    self.assertEqual(text.count('TYPE_SLICE_BEGIN'), STEPS)
    self.assertEqual(text.count('TYPE_SLICE_END'), STEPS)
    self.assertEqual(text.count('categories: "c"'), STEPS)
    self.assertEqual(text.count('name: "C"'), 1)

  def test_packets_of_every_size_up_to_a_wide_one(self):
    for num_dots in (0, 40, 80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 120):
      with self.subTest(num_dots):
        self.check_steps(num_dots)

  def test_packets_of_several_chunks(self):
    # The event is open when a chunk is left: its size is a patch.
    for num_dots in (3000, 4090, 10000, 50000):
      with self.subTest(num_dots):
        self.check_steps(num_dots)

  def test_nobody_records(self):
    run = subprocess.run([BUILD_DIR / 'c_trace'], capture_output=True,
                         text=True, check=False,
                         env={'PERFETTO_PRODUCER_SOCK_NAME': '/none/at/all'})
    self.assertEqual(run.returncode, 1)
    self.assertIn('nobody records it', run.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
