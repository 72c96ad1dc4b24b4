#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests pztrace while each of its allocations and system calls fails in turn.

  faults_test.py [--stride=N]    every N-th call only (default: 11)

Runs in the build directory. Whatever fails, and however many others fail after
it, pztrace says so and its exit code is 1, or all is well; it never ends by a
signal, and its file can be read.
"""

import os
import re
import resource
import subprocess
import sys

from recording import BUILD_DIR, PztraceTest, main
from wire import varint

FAULTY_PZTRACE = BUILD_DIR / 'faulty_pztrace'
BRIEF_TRACER = BUILD_DIR / 'brief_tracer'
# A run takes milliseconds, unless it hangs.
TIMEOUT = 120

stride = 11


class FaultsTest(PztraceTest):

  def run_faulty(self, first, which, *arguments):
    """Returns whether there was a first fault, the exit code, and output."""
    count = self.folder / 'count'
    count.unlink(missing_ok=True)
    env = dict(self.env, FIRST_FAULT=str(first), FAULTS=which,
               FAULT_COUNT=str(count))
    run = subprocess.run([str(part) for part in (FAULTY_PZTRACE, *arguments)],
                         env=env, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         timeout=TIMEOUT, check=False)
    error = run.stderr.decode(errors='replace')
    has_failed = not count.exists() or int(count.read_text()) >= first
    self.assertIn(run.returncode, (0, 1), error)
    if run.returncode == 1:
      self.assertIn('pztrace: ', error)
    return has_failed, run.returncode, run.stdout, error

  def run_each(self, check, *arguments):
    """Calls check(code, output, error) for each fault."""
    for which in 'once', 'all':
      first = 1
      has_failed = True
      num_faults = -1
      while has_failed:
        with self.subTest(first=first, which=which):
          has_failed, *result = self.run_faulty(first, which, *arguments)
          check(*result)
        first += stride
        num_faults += 1
      self.assertGreater(num_faults, 0)
      # The last one met no fault.
      self.assertEqual(result[0], 0, result)

  def test_record(self):
    def check(code, _, error):
      if code == 0:
        self.assertIn('lost', error)
        self.assertTrue(self.trace.exists())
      if self.trace.exists():
        cat = self.run_pztrace('cat', self.trace)
        if self.trace.stat().st_size != 0:
          self.assertEqual((cat[0], cat[2]), (0, ''))
        if 'nothing lost' in error and code == 0:
          self.assertEqual(cat[1].count('track_event {'), 500)
        self.trace.unlink()
      # The sockets are gone, too.
      self.assertEqual([], [name for _, _, names in os.walk(self.folder)
                            for name in names if name != 'count'])
    self.run_each(check, 'record', '-o', self.trace, '--', BRIEF_TRACER)

  def test_stat(self):
    process = self.start('record', '-o', self.trace)
    process.stderr.readline()
    def check(code, output, error):
      if code == 0:
        self.assertIn(b'nothing lost', output, error)
    self.run_each(check, 'stat', '--pid', process.pid)

  def test_recorder_that_is_asked(self):
    def check(code, _, error):
      if code == 0:
        self.assertIn('nothing lost', error)
    self.run_each(check, 'record', '-o', self.trace, '--', BUILD_DIR / 'pztrace',
                  'stat')

  def test_cat(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--',
                                      BRIEF_TRACER)
    self.assertEqual(code, 0, error)
    whole = self.run_pztrace('cat', self.trace)[1].encode()
    def check(code, output, _):
      self.assertTrue(whole.startswith(output))
      if code == 0:
        self.assertEqual(output, whole)
    self.run_each(check, 'cat', self.trace)

  def test_packet_that_is_larger_than_the_memory(self):
    if re.search('is_[at]san *= *true', (BUILD_DIR / 'args.gn').read_text()):
      self.skipTest('no limit holds')
    limit = 128 << 20
    self.trace.write_bytes(b'\x0a' + varint(4 * limit))
    os.truncate(self.trace, self.trace.stat().st_size + 4 * limit)
    for arguments in (('cat',), ('top',), ('svg',), ('export', '--slices'),
                      ('export', '-o', self.folder / 'tables'),
                      ('html', '-o', self.folder / 'page.html')):
      with self.subTest(arguments=arguments):
        run = subprocess.run(
            [str(part) for part in (BUILD_DIR / 'pztrace', *arguments,
                                    self.trace)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS,
                                                  (limit, limit)))
        self.assertEqual((run.returncode, run.stderr),
                         (1, b'pztrace: out of memory\n'))


if __name__ == '__main__':
  if len(sys.argv) > 1 and sys.argv[1].startswith('--stride='):
    stride = int(sys.argv.pop(1).split('=')[1])
  sys.exit(main())
