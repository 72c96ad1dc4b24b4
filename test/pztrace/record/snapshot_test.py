#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests `pztrace snapshot`. Runs in the build directory, as pztrace_test.py
does."""

import json
import os
import pathlib
import subprocess
import sys

from recording import BUILD_DIR, PZTRACE, PztraceTest, main

EVENT_TRACER = BUILD_DIR / 'event_tracer'


class SnapshotTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.snapshot = self.folder / 'snapshot'

  def start_tracer(self, *options):
    process = self.start('record', '-o', self.trace, *options, '--',
                         EVENT_TRACER, '--wait')
    self.assertEqual(process.stdout.readline(), 'registered\n')
    self.assertEqual(process.stdout.readline(), 'traced\n')
    return process

  def write(self, process, times):
    """Has the tracer write events."""
    for _ in range(times):
      process.stdin.write('\n')
      process.stdin.flush()
      self.assertEqual(process.stdout.readline(), 'traced\n')

  def take(self, *arguments):
    code, output, error = self.run_pztrace('snapshot', '-o', self.snapshot,
                                           *arguments)
    self.assertEqual((code, output), (0, ''), error)
    return error

  def slices(self, trace):
    code, output, error = self.run_pztrace('export', '--slices', '--format',
                                           'ndjson', trace)
    self.assertEqual((code, error), (0, ''))
    return [(row['name'], row['ts'])
            for row in map(json.loads, output.splitlines())]

  def test_has_all_that_there_is_and_takes_nothing(self):
    process = self.start_tracer('--ring', '4M')
    self.write(process, 50)
    error = self.take()
    self.assertRegex(error, r'^%s: \d+ bytes, \d+ packets, \d+ of them of '
                     r'1 writer in 1 producer, nothing lost\n$' % self.snapshot)
    first = self.slices(self.snapshot)
    self.assertEqual(len([name for name, _ in first if name == 'of app']), 52)
    packets = self.decode(self.snapshot)
    self.assertTrue(packets[0].all('clock_snapshot'))
    self.assertTrue(packets[-1].all('trace_stats'))
    self.write(process, 50)
    self.take('--pid', process.pid)
    second = self.slices(self.snapshot)
    process.stdin.close()
    self.assertIn('nothing lost', process.stderr.read())
    self.assertEqual(process.wait(), 0)
    everything = self.slices(self.trace)
    self.assertEqual(len(second), len(first) + 150)
    self.assertEqual(set(first) - set(second), set())
    self.assertEqual(set(second) - set(everything), set())

  def test_strings_that_the_recording_drops(self):
    process = self.start_tracer('--ring', '4M', '--drop-strings', 'of app')
    self.write(process, 5)
    self.take()
    process.stdin.close()
    self.assertEqual(process.wait(), 0, process.stderr.read())
    for trace in self.snapshot, self.trace:
      self.assertNotIn(b'of app', pathlib.Path(trace).read_bytes())
      self.assertGreaterEqual(len([name for name, _ in self.slices(trace) if not name]), 7)

  def test_of_a_ring_of_time(self):
    process = self.start_tracer('--ring', '1h')
    self.write(process, 5)
    self.assertIn('nothing lost', self.take())
    process.stdin.close()
    process.wait()

  def test_while_the_ring_wraps(self):
    process = self.start_tracer('--ring', '100k')
    for _ in range(5):
      self.write(process, 3000)
      self.assertRegex(self.take(), r'producer, (nothing lost|\d+ packets? lost: '
                       r'\d+ overwritten in the buffer)\n$')
      code, output, error = self.run_pztrace('top', self.snapshot)
      self.assertEqual(code, 0, error)
      self.assertNotIn('refer to', output)

  def test_to_the_standard_output_and_by_its_time(self):
    process = self.start_tracer('--ring', '4M')
    output = subprocess.run([str(PZTRACE), 'snapshot', '-o', '-'], env=self.env,
                            stdout=subprocess.PIPE, check=True).stdout
    self.snapshot.write_bytes(output)
    self.assertTrue(self.slices(self.snapshot))
    folder = self.folder / 'empty'
    folder.mkdir()
    subprocess.run([str(PZTRACE.resolve()), 'snapshot'], env=self.env, cwd=folder,
                   check=True)
    name, = os.listdir(folder)
    self.assertRegex(name, r'^snapshot-\d{8}T\d{6}\.\d{3}Z\.pftrace$')
    self.assertEqual(self.slices(folder / name), self.slices(self.snapshot))
    process.stdin.close()

  def test_reader_that_takes_nothing_keeps_nobody(self):
    process = self.start_tracer('--ring', '4M')
    self.write(process, 5000)
    reader = self.start('snapshot', '-o', '-')
    self.write(process, 100)
    self.assertEqual(self.run_pztrace('stat')[0], 0)
    process.stdin.close()
    self.assertIn('nothing lost', process.stderr.read())
    self.assertEqual(process.wait(), 0)
    reader.stdout.close()
    self.assertEqual(reader.wait(), 1)

  def test_needs_a_ring(self):
    process = self.start_tracer()
    code, _, error = self.run_pztrace('snapshot', '-o', self.snapshot)
    self.assertEqual(
        (code, error),
        (1, 'pztrace: the recording writes its packets to %s at once; with '
         '--ring it keeps them\n' % self.trace))
    self.assertFalse(self.snapshot.exists())
    process.stdin.close()
    process.wait()
    code, _, error = self.run_pztrace('snapshot')
    self.assertEqual((code, error),
                     (1, 'pztrace: no pztrace record is running\n'))

  def test_file_that_cannot_be_written(self):
    process = self.start_tracer('--ring', '4M')
    code, _, error = self.run_pztrace('snapshot', '-o', '/no/such/file')
    self.assertEqual((code, error),
                     (1, 'pztrace: /no/such/file: No such file or directory\n'))
    code, _, error = self.run_pztrace('snapshot', '-o', '/dev/full')
    self.assertEqual(code, 1)
    self.assertIn('pztrace: /dev/full: No space left on device\n', error)
    self.assertNotIn('no answer', error)
    process.stdin.close()
    process.wait()


if __name__ == '__main__':
  sys.exit(main())
