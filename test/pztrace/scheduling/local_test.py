#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what a program that records itself by LocalTrace writes about its threads. Runs in
the build directory, as recording.py says."""

import collections
import errno
import os
import subprocess
import sys

from recording import PztraceTest, main, never_right
from scheduling_test import BUSY, NOBODY, WITHOUT_CALL, States, parse_parts

COMPUTE = '(anonymous namespace)::Compute(unsigned long)'
AS_NOBODY = ('setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups')


def with_forbidden(error):
  return str(WITHOUT_CALL), 'perf_event_open', str(error)


class LocalTest(PztraceTest):

  def record(self, *before, hz=0):
    """Returns what the threads say, and why not all is recorded."""
    result = subprocess.run([*before, str(BUSY), '--local', str(self.trace), str(hz)],
                            env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True, check=False)
    if result.returncode == 77:
      self.skipTest('no seccomp filter')
    self.assertEqual(result.returncode, 0, result.stderr)
    error, why, counts = result.stderr.splitlines()
    self.assertEqual(error, '')
    begun, read, lost = map(int, counts.split())
    self.assertEqual((begun, lost), (read, 0))
    return parse_parts(result.stdout), why

  def record_events(self, *before, hz=0):
    parts, why = self.record(*before, hz=hz)
    if why:
      self.skipTest('perf_event_open is forbidden')
    return States(self, self.decode()), parts

  def check_truth(self, *before):
    """Expects that threads ran as long as they say."""
    def attempt():
      states, parts = self.record_events(*before)
      self.assertEqual(len(parts), 6)
      for part in parts:
        self.assertEqual(states.names[part.tid], 'busy_threads')
        self.assertEqual(states.last[part.tid], 'TASK_STATE_DEAD')
      self.assertEqual(states.unknown, 0)
      return states.compare(parts)
    self.assertEqual(never_right(attempt), {})

  def test_threads_ran_as_long_as_they_say(self):
    self.check_truth()

  def test_needs_no_privileges(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    os.chown(self.folder, NOBODY, NOBODY)
    self.check_truth(*AS_NOBODY)

  def weights(self):
    """The sampled nanoseconds by thread. Each sample is of a later time than the last."""
    weights = collections.Counter()
    tables = collections.defaultdict(dict)
    now = 0
    for packet in self.decode():
      for data in packet.all('interned_data'):
        for name in 'stack_sample_task_contexts', 'callstacks':
          for entry in data.all(name):
            tables[name][entry.get('iid')] = entry
      for sample in packet.all('stack_sample'):
        self.assertGreaterEqual(packet.int('timestamp'), now)
        now = packet.int('timestamp')
        self.assertIn(sample.get('callstack_iid'), tables['callstacks'])
        task = tables['stack_sample_task_contexts'][sample.get('task_context_iid')]
        weights[task.int('tid')] += sample.int('primary_weight')
    return weights

  def check_names(self):
    """Expects the name of the function that computes, and of one that calls it."""
    code, _, error = self.run_pztrace('symbolize', '-o', self.folder / 'named', self.trace)
    if 'this build has no libdw' in error:
      return
    self.assertEqual(code, 0, error)
    names = {line.get('function_name')
             for packet in self.decode(self.folder / 'named')
             for symbols in packet.all('module_symbols')
             for symbol in symbols.all('address_symbols')
             for line in symbol.all('lines')}
    self.assertIn(COMPUTE, names)
    # The compiler may put the functions between the two into these.
    self.assertTrue(any('std::thread::' in name for name in names), names)

  def test_samples_are_taken_by_processor_time(self):
    _, parts = self.record_events(hz=1000)
    weights = self.weights()
    for part in parts:
      # Time in the kernel may have no samples.
      self.assertLess(weights[part.tid], part.ran * 1.3 + 5e6, part)
      self.assertGreater(weights[part.tid], part.ran * 0.5 - 5e6, part)
    self.check_names()

  def check_timers(self, *before):
    parts, why = self.record(*before, *with_forbidden(errno.EPERM), hz=1000)
    self.assertIn('filter of system calls', why)
    self.assertIn('sums of their times only; samples are taken by timers', why)
    weights = self.weights()
    for part in parts:
      # A thread of later has no timer in its first tenth of a second, and the kernel's
      # clock may tick only a hundred times a second.
      self.assertLess(weights[part.tid], part.ran * 1.3 + 25e6, part)
    self.assertGreater(sum(weights.values()), 0)
    packets = self.decode()
    for packet in packets:
      self.assertEqual(packet.all('generic_kernel_task_state_event'), [])
    self.assertIn('ran', [track.get('name') for packet in packets
                          for track in packet.all('track_descriptor')])
    self.check_names()

  def test_timers_take_samples_where_events_are_forbidden(self):
    self.check_timers()

  def test_timers_need_no_privileges(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    os.chown(self.folder, NOBODY, NOBODY)
    self.check_timers(*AS_NOBODY)


if __name__ == '__main__':
  sys.exit(main())
