#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Commands say how threads spent the time of slices, if the trace has their states, and
nothing of it otherwise. Runs in the build directory."""

import json
import subprocess
import sys

from cases import run_cases
from thread_states import (
    DEAD, READY, RUNNING, SLEEPING, TID, divided_trace, interned_stacks, sample, state,
    task_trace, timed_slice, tree, waiting_stack, waking)
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import MS, described, packet
from wire import delimited, integer


class TopTimesTest(TimelineCommandTest):
  command = 'top'

  def test_columns_are_there_with_states(self):
    output, _ = self.run_command(divided_trace(['a', 'b', 'a']))
    lines = output.splitlines()
    self.assertEqual(lines[0].split()[-5:], ['ran', 'ready', 'waited', 'name', '(category)'])
    self.assertEqual(lines[1].split()[11:],
                     ['10.00', 'ms', '4.00', 'ms', '6.00', 'ms', 'a'])
    self.assertEqual(lines[2].split()[11:],
                     ['5.00', 'ms', '2.00', 'ms', '3.00', 'ms', 'b'])
    plain, _ = self.run_command(described() + timed_slice(10, 20, 'a'))
    self.assertNotIn('waited', plain)

  def test_states_may_come_before_or_after_the_slices(self):
    states = (state(10 * MS, RUNNING) + state(14 * MS, SLEEPING) + state(20 * MS, RUNNING) +
              state(21 * MS, DEAD))
    slices = described() + timed_slice(10 * MS, 20 * MS, 'a')
    for trace in (states + slices, slices + states):
      output, _ = self.run_command(trace)
      self.assertEqual(output.splitlines()[1].split()[11:],
                       ['4.00', 'ms', '0', 'ns', '6.00', 'ms', 'a'])

  def test_sort(self):
    trace = described()
    for time, text in ((10, 'runs'), (20, 'waits'), (30, 'is ready')):
      trace += timed_slice(time * MS, (time + 9) * MS, text)
    for time, kind in ((10, RUNNING), (19, SLEEPING), (29, RUNNING), (30, READY)):
      trace += state(time * MS, kind)
    for column, text in (('ran', 'runs'), ('waited', 'waits'), ('ready', 'is ready')):
      output, _ = self.run_command(trace + state(39 * MS, RUNNING), '--sort', column)
      self.assertTrue(output.splitlines()[1].endswith('  ' + text), output)
    _, error = self.run_command(described() + timed_slice(1, 2, 'a'), '--sort', 'ran', code=1)
    self.assertIn('no trace has the states of threads', error)

  def test_what_is_not_known_is_left_out(self):
    trace = (described() + timed_slice(5 * MS, 9 * MS, 'before') +
             timed_slice(10 * MS, 20 * MS, 'a') + timed_slice(21 * MS, 25 * MS, 'a') +
             state(10 * MS, RUNNING) + state(12 * MS, SLEEPING) + state(20 * MS, RUNNING) +
             state(24 * MS, SLEEPING, dropped=1) + state(26 * MS, RUNNING))
    output, _ = self.run_command(trace)
    rows = {line.split()[-1]: line.split() for line in output.splitlines()[1:3]}
    self.assertEqual(rows['a'][11:-1], ['2.00', 'ms', '0', 'ns', '8.00', 'ms'])
    self.assertEqual(rows['before'][11:-1], ['-', '-', '-'])
    self.assertIn('2 slices are not in ran, ready and waited: the states of the thread are '
                  'not known all the time', output)

  def test_a_pipe_is_read_once(self):
    run = subprocess.run([PZTRACE, 'top', '-'], input=divided_trace(['a']),
                         stdout=subprocess.PIPE, check=True)
    self.assertNotIn(b'waited', run.stdout)

  def test_another_process_is_not_the_thread(self):
    trace = described() + tree((99, 42, 'main')) + timed_slice(10 * MS, 20 * MS, 'a')
    trace += state(10 * MS, RUNNING) + state(20 * MS, SLEEPING) + state(30 * MS, DEAD)
    output, _ = self.run_command(trace)
    self.assertEqual(output.splitlines()[1].split()[11:], ['-', '-', '-', 'a'])


class TablesTest(TimelineCommandTest):
  command = 'export'

  def rows(self, trace, *args):
    output, _ = self.run_command(trace, *args, '--format', 'ndjson')
    return [json.loads(line) for line in output.splitlines()]

  def query(self, query, trace):
    self.path.write_bytes(trace)
    run = subprocess.run([PZTRACE, 'sql', '--format', 'csv', self.path, query],
                         stdout=subprocess.PIPE, text=True, check=True)
    return run.stdout.splitlines()[1:]

  def test_slices(self):
    trace = timed_slice(5 * MS, 9 * MS, 'part') + divided_trace(['a', 'b'])
    rows = {row['name']: row for row in self.rows(trace, '--slices')}
    self.assertEqual([rows['b'][name] for name in ('ran', 'ready', 'waited')],
                     [5 * MS, 2 * MS, 3 * MS])
    self.assertEqual([rows['part'][name] for name in ('ran', 'ready', 'waited')], [None] * 3)
    self.assertEqual(
        self.query('SELECT name, ran, ready, waited FROM slice ORDER BY name', trace),
        ['a,5000000,2000000,3000000', 'b,5000000,2000000,3000000', 'part,,,'])

  def test_tasks(self):
    states = b''.join(state(time * MS, kind, cpu=1) for time, kind in
                      ((0, RUNNING), (12, READY), (15, RUNNING), (18, SLEEPING), (19, RUNNING)))
    trace = task_trace(((10, 20),)) + states + state(30 * MS, SLEEPING)
    row, = self.rows(trace, '--tasks')
    self.assertEqual([row[name] for name in ('run', 'thread_ran', 'thread_ready',
                                             'thread_waited')],
                     [10 * MS, 6 * MS, 3 * MS, 1 * MS])
    row, = self.rows(task_trace(((10, 20),)), '--tasks')
    self.assertEqual(row['thread_ran'], None)

  def test_states(self):
    trace = (state(5 * MS, RUNNING, tid=43, cpu=3) + divided_trace(['a']) +
             state(9 * MS, READY, tid=43, cpu=3) + state(12 * MS, RUNNING, tid=43, cpu=3) +
             state(13 * MS, SLEEPING, tid=43, cpu=3))
    self.assertEqual(
        self.query('SELECT ts / 1000000, thread_state.dur / 1000000, cpu, tid, thread.name, '
                   'state FROM thread_state JOIN thread USING (utid) WHERE tid = 43 ORDER BY ts',
                   trace),
        ['5,4,3,43,other,Running', '9,3,,43,other,R+', '12,1,3,43,other,Running',
         '13,0,,43,other,S'])
    self.assertEqual(
        self.query('SELECT ts / 1000000, dur, cpu, end_state, process.name FROM sched '
                   'JOIN thread USING (utid) JOIN process USING (upid) WHERE tid = 42 '
                   'ORDER BY ts', trace),
        ['10,4000000,0,R+,app', '16,1000000,0,S,app', '20,1000000,0,Z,app'])
    # Both names are one table's.
    self.assertEqual(self.query('SELECT count(*) FROM sched_slice', trace), ['5'])

  def test_wakers(self):
    trace = tree((41, TID, 'main'), (50, 51, 'noisy')) + b''.join(
        (state(10 * MS, RUNNING), state(11 * MS, SLEEPING), waking(12 * MS, 51),
         state(13 * MS, RUNNING, cpu=3), state(14 * MS, SLEEPING, cpu=3),
         waking(15 * MS, 0, flags=9), state(16 * MS, RUNNING), state(17 * MS, SLEEPING),
         # Only a thread that waits can be woken.
         state(18 * MS, RUNNING), waking(19 * MS, 51), state(20 * MS, SLEEPING),
         state(21 * MS, RUNNING)))
    self.assertEqual(
        self.query('SELECT s.ts / 1000000, s.dur / 1000000, s.state, w.name, irq_context '
                   'FROM thread_state s LEFT JOIN thread w ON w.utid = waker_utid ORDER BY ts',
                   trace),
        ['10,1,Running,,', '11,1,S,,', '12,1,R,noisy,0', '13,1,Running,,', '14,1,S,,',
         '15,1,R,,1', '16,1,Running,,', '17,1,S,,', '18,1,Running,,', '20,1,S,,',
         '21,0,Running,,'])
    # Another recorder's bundles of many events have no time.
    self.assertEqual(self.query('SELECT count(*) FROM thread_state',
                                packet(900, delimited(1, delimited(2, integer(1, 5))))), ['0'])

  def test_stacks_of_waits_are_no_running_time(self):
    trace = (divided_trace(['a']) + interned_stacks(['main', 'work'], ['main', 'read']) +
             sample(11 * MS, 1) + waiting_stack(17 * MS, 2))
    self.assertEqual(self.query('SELECT callsite_id, weight, counter FROM stack_sample '
                                'ORDER BY ts', trace), ['1,1000000,', '2,1,context-switches'])
    self.assertEqual(self.query('SELECT callsite_id FROM perf_sample', trace), ['1'])

  def test_samples_have_tasks(self):
    trace = (task_trace(((10, 20), (25, 30))) + tree((41, TID, 'main')) +
             interned_stacks(['main']) + b''.join(sample(ms * MS, 1) for ms in (5, 10, 22, 26)))
    self.assertEqual(self.query('SELECT s.ts / 1000000, s.task, task.task '
                                'FROM stack_sample s LEFT JOIN task USING (task) ORDER BY s.ts',
                                trace), ['5,,', '10,1,1', '22,,', '26,1,1'])

  def test_samples(self):
    trace = (divided_trace(['a']) + interned_stacks(['main', 'work', 'sort'], ['main', 'read']) +
             sample(11 * MS, 1) + sample(12 * MS, 1) + sample(13 * MS, 2))
    self.assertEqual(
        self.query('SELECT f.name, count(*), sum(weight), max(c.depth) FROM stack_sample s '
                   'JOIN stack_profile_callsite c ON c.id = s.callsite_id '
                   'JOIN stack_profile_frame f ON f.id = c.frame_id '
                   'JOIN thread USING (utid) WHERE tid = 42 GROUP BY f.name', trace),
        ['read,1,1000000,1', 'sort,2,2000000,2'])
    self.assertEqual(
        self.query('SELECT f.name, m.name, rel_pc, p.depth FROM stack_profile_callsite c '
                   'JOIN stack_profile_callsite p ON p.id = c.parent_id '
                   'JOIN stack_profile_frame f ON f.id = c.frame_id '
                   'JOIN stack_profile_mapping m ON m.id = f.mapping ORDER BY f.name', trace),
        ['read,/usr/lib/libc.so.6,32,0', 'sort,/usr/lib/libc.so.6,48,1',
         'work,/usr/lib/libc.so.6,64,0'])
    self.assertEqual(self.query('SELECT count(*) FROM perf_sample', trace), ['3'])

  def test_symbols_that_stand_alone(self):
    def place(address, *names):
      return delimited(3, integer(1, address) + b''.join(
          delimited(2, delimited(1, text.encode())) for text in names))
    trace = (divided_trace(['a']) + interned_stacks(['', '']) + sample(11 * MS, 1) +
             packet(900, delimited(61, delimited(1, b'/usr/lib/libc.so.6') +
                                   place(16, 'inlined', 'caller'))))
    self.assertEqual(
        self.query('SELECT c.depth, f.name FROM stack_profile_callsite c '
                   'JOIN stack_profile_frame f ON f.id = c.frame_id ORDER BY c.depth', trace),
        ['0,caller', '1,inlined', '2,caller', '3,inlined'])


class DiffTimesTest(TimelineCommandTest):
  command = 'diff'

  def test_ran_or_waited(self):
    before = self.path.with_suffix('.before')
    before.write_bytes(divided_trace(['a', 'a']))
    after = divided_trace(['a'], ((RUNNING, 2), (SLEEPING, 3), (RUNNING, 1), (SLEEPING, 4)))
    output, _ = self.run_command(after, before)
    for line in ('    ran      5.00 ms    3.00 ms    -2.00 ms   -40.0 %',
                 '    ready    2.00 ms       0 ns    -2.00 ms  -100.0 %',
                 '    waited   3.00 ms    7.00 ms    +4.00 ms  +133.3 %'):
      self.assertIn(line, output.splitlines())
    output, _ = self.run_command(after, '--format', 'csv', before)
    self.assertTrue(output.splitlines()[0].endswith('waited_low,waited_high'))
    # Not if a run has no states.
    plain = described() + timed_slice(10, 20, 'a')
    for options in ([], ['--format', 'csv']):
      self.assertNotIn('waited', self.run_command(plain, *options, before)[0])


class CheckTimesTest(TimelineCommandTest):
  command = 'check'

  def check(self, rules, code, trace):
    path = self.path.parent / 'rules'
    path.write_text(rules)
    output, error = self.run_command(trace, path, code=code)
    return (output + error).replace(str(path), 'rules')

  def test_rules(self):
    trace = divided_trace(['a', 'b'])
    self.assertEqual(
        self.check('slice a ran < 6ms\nslice a ready < 2.5 ms\nslice a waited < 3 ms', 1, trace),
        'rules:1: kept: slice a ran < 6 ms\n'
        '  1 of 1 a ran for less; the longest 5.000 ms.\n'
        'rules:2: kept: slice a ready < 2500 us\n'
        '  1 of 1 a was ready for less; the longest 2.000 ms.\n'
        'rules:3: broken: slice a waited < 3 ms\n'
        '  0 of 1 a waited for less; the longest 3.000 ms.\n'
        '  process 41 app, thread 42 main:\n'
        '        0.000 ms    10.000 ms  a\n'
        '1 of 3 rules broken\n')

  def test_unknown(self):
    slices = described() + timed_slice(5 * MS, 9 * MS, 'a')
    self.assertIn('broken: slice a ran < 1 ms\n  The trace does not say what the threads of '
                  '1 a did.\n', self.check('slice a ran < 1 ms', 1, slices))
    trace = slices + divided_trace(['a'])
    self.assertIn('kept: slice a ran < 6 ms\n  1 of 1 a ran for less; the longest 5.000 ms.\n'
                  '  1 more are not known all the time.\n',
                  self.check('slice a ran < 6 ms', 0, trace))


if __name__ == '__main__':
  sys.exit(run_cases())
