#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace symbolize` adds to each sample of a stack the task that its thread ran, as an
async context. Runs in the build directory."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases
from thread_states import (INSTANT, KERNEL, NEEDS_STATE, THREAD, TID, UNKNOWN, described,
                           interned_stacks, sample, state, task_trace, track, tree)
from timeline_command import PZTRACE
from track_events import CLEARED, MS, packet
from wire import delimited, integer

TASK = task_trace([(10, 14), (20, 26)]) + tree((41, TID, 'main'), (41, 43, 'other'))
STACKS = interned_stacks(('main', 'work'))


def interned_sample(time, context):
  return packet(KERNEL, integer(8, time), integer(58, 6), integer(13, 2),
                delimited(135, integer(2, context) + integer(6, 1) + integer(11, 5)))


class SampleTasksTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)

  def symbolize(self, trace, code=0):
    """Returns the trace, and what is said about it."""
    before = self.folder / 'before'
    after = self.folder / 'after'
    before.write_bytes(trace)
    run = subprocess.run([PZTRACE, 'symbolize', '-o', after, before], capture_output=True,
                         text=True, check=False)
    if 'this build has no libdw' in run.stderr:
      self.skipTest('no libdw')
    self.assertEqual(run.returncode, code, run.stderr)
    return after.read_bytes(), run.stderr

  def packets(self, trace):
    """Returns the packets as text."""
    path = self.folder / 'shown'
    path.write_bytes(trace)
    shown = subprocess.run([PZTRACE, 'cat', path], capture_output=True, text=True, check=True)
    return re.findall(r'^packet \{\n(.*?)^\}', shown.stdout, re.M | re.S)

  def samples(self, trace):
    """Returns the time, the thread and the async context of each sample."""
    def number(name, text):
      found = re.search(r'\b%s: (\d+)' % name, text)
      return int(found[1]) if found else None
    return [(number('timestamp', text) / MS, number('tid', text), number('async_id', text))
            for text in self.packets(trace) if 'stack_sample {' in text]

  def contexts(self, trace):
    return [re.sub(r'\s+', ' ', context) for text in self.packets(trace) for context in
            re.findall(r'async_context_descriptors \{(.*?)\}', text, re.S)]

  def test_samples_name_the_task(self):
    times = (9, 10, 13, 14, 19, 20, 25, 26)
    trace = TASK + STACKS + b''.join(sample(ms * MS, 1) for ms in times)
    trace += sample(12 * MS, 1, tid=43)
    named, said = self.symbolize(trace)
    self.assertIn('; tasks for 4 samples\n', said)
    ran = (10, 13, 20, 25)
    self.assertEqual(self.samples(named),
                     [(ms, TID, 1 if ms in ran else None) for ms in times] + [(12, 43, None)])
    self.assertEqual(self.contexts(named), [' iid: 1 name: "session #1" kind: "task" '])
    # All else is as it was.
    def without(text):
      return sorted(line for line in text.split('\n') if 'async_id' not in line)
    before = [without(text) for text in self.packets(trace)]
    after = [without(text) for text in self.packets(named) if 'async_context' not in text]
    self.assertEqual(after, before)
    # Samples that have a task keep it.
    again, said = self.symbolize(named)
    self.assertEqual(again, named)
    self.assertNotIn('tasks', said)

  def test_interned_contexts_and_cleared_data(self):
    def context():
      return packet(KERNEL, integer(13, CLEARED), delimited(12, delimited(
          48, integer(1, 7) + integer(2, 41) + integer(3, TID))))
    trace = (TASK + context() + interned_sample(12 * MS, 7) + interned_sample(13 * MS, 7) +
             context() + interned_sample(21 * MS, 7) + interned_sample(22 * MS, 8))
    named, _ = self.symbolize(trace)
    self.assertEqual(self.samples(named),
                     [(12, TID, 1), (13, TID, 1), (21, TID, 1), (22, None, None)])
    # Each generation of the interned data has it, before the first sample.
    self.assertEqual(len(self.contexts(named)), 2)
    kinds = [text for text in self.packets(named)
             if re.search('async_context|stack_sample {|state_cleared: true|flags: 1', text)]
    described = [i for i, text in enumerate(kinds) if 'async_context' in text]
    self.assertEqual(len(described), 2)
    for i in described:
      self.assertIn('async_id: 1', kinds[i + 1])

  def test_few_of_the_tasks_before_it_are_described(self):
    number = 100
    row = 9
    trace = described() + track(row, delimited(2, b'tasks'), parent=THREAD)
    trace += packet(2, integer(13, CLEARED), delimited(12, delimited(
        4101, integer(1, 1) + delimited(2, b'step') + delimited(3, b'a.cc')) + delimited(
            2, integer(1, 5) + delimited(2, b'step')) + delimited(
                4102, integer(1, 5) + integer(2, number) + integer(3, 1))),
                    delimited(59, integer(58, 6) + delimited(11, integer(11, row))))
    for i in range(1, number + 1):
      trace += packet(2, integer(8, i), integer(13, NEEDS_STATE), delimited(
          11, integer(9, INSTANT) + integer(11, THREAD) + delimited(
              4100, integer(3, i) + integer(4, 1) + (integer(6, i - 1) if i > 1 else b''))))
    trace += packet(2, integer(8, 10 * MS), integer(13, NEEDS_STATE),
                    delimited(11, integer(9, 5) + integer(10, 5)))
    trace += packet(2, integer(8, 20 * MS), integer(13, NEEDS_STATE), delimited(
        11, integer(9, 5) + delimited(4100, integer(2, number))))
    trace += tree((41, TID, 'main')) + STACKS + sample(12 * MS, 1)
    named, _ = self.symbolize(trace)
    self.assertEqual(self.samples(named), [(12, TID, number)])
    first = number - 64
    self.assertEqual(self.contexts(named),
                     [' iid: %d name: "step #%d" kind: "task" ' % (i, i) +
                      ('parent_iid: %d ' % (i - 1) if i > first else '')
                      for i in range(number, first - 1, -1)])

  def test_no_tasks(self):
    trace = tree((41, TID, 'main')) + STACKS + sample(12 * MS, 1) + state(20 * MS, UNKNOWN)
    named, said = self.symbolize(trace)
    self.assertEqual(named, trace)
    self.assertNotIn('tasks', said)

  def test_end_that_is_cut_off(self):
    trace = TASK + STACKS + sample(12 * MS, 1)
    whole, _ = self.symbolize(trace)
    for rest in (b'\x0a\x7fx', b'\x0a', b'\x0f' + sample(13 * MS, 1)):
      named, said = self.symbolize(trace + rest, code=1)
      self.assertEqual(named, whole)
      self.assertIn('the trace is damaged; the output has what comes before that\n', said)


if __name__ == '__main__':
  sys.exit(run_cases())
