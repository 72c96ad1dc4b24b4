#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace sql` has the modules of Perfetto's trace processor for states of threads and
samples of stacks, and their values are those of sums that the test makes itself. Runs in
the build directory."""

import collections
import random
import sys

import perfetto_queries_test
from thread_states import (
    BLOCKED, CREATED, DEAD, KERNEL, READY, RUNNING, SLEEPING, TID, in_namespaces, interned_stacks,
    sample, state, timed_slice, tree, waking, written_by)
from timeline_command import run_sql_cases
from track_events import described, packet
from wire import delimited, integer

LETTERS = {CREATED: 'Created', READY: 'R', RUNNING: 'Running', SLEEPING: 'S', BLOCKED: 'D',
           DEAD: 'Z'}
PREEMPTED = 'R+'
UTID = '(SELECT utid FROM thread WHERE tid = %d)' % TID

# The thread of the slices is made, runs, is preempted, waits, and ends. Another one has its
# processor in between.
STATES = [(100, CREATED, 0), (110, RUNNING, 0), (150, READY, 0), (170, RUNNING, 1),
          (200, SLEEPING, 1), (230, READY, 1), (235, RUNNING, 0), (260, BLOCKED, 0),
          (300, RUNNING, 1), (330, DEAD, 1)]
OTHER = [(140, READY, 0), (150, RUNNING, 0), (235, SLEEPING, 0)]
SLICES = (timed_slice(120, 320, 'request', inner=timed_slice(120, 140, 'parse') +
                      timed_slice(190, 290, 'read') + timed_slice(310, 310, 'empty')) +
          timed_slice(50, 105, 'early'))


def trace_of(states, others=(), slices=SLICES):
  return (described() + tree((41, TID, 'main'), (41, TID + 1, 'other')) + slices +
          b''.join(state(time, kind, cpu=cpu) for time, kind, cpu in states) +
          b''.join(state(time, kind, tid=TID + 1, cpu=cpu) for time, kind, cpu in others))


def parts_of(states):
  """Rows of thread_state: begin, duration, letters and processor."""
  parts = []
  for i, (time, kind, cpu) in enumerate(states):
    letters = LETTERS[kind]
    if kind == READY and i and states[i - 1][1] == RUNNING:
      letters = PREEMPTED
    dur = states[i + 1][0] - time if i + 1 < len(states) else -1
    parts.append((time, dur, letters, cpu if kind == RUNNING else None))
  return parts


def within(parts, begin, end):
  """The time in each state, by adding up all parts."""
  sums = collections.Counter()
  for ts, dur, letters, _ in parts:
    sums[letters] += max(0, min(ts + dur, end) - max(ts, begin)) if dur > 0 else 0
  return sorted((letters, ns) for letters, ns in sums.items() if ns)


class StatesQueriesTest(perfetto_queries_test.QueriesTest):

  def setUp(self):
    super().setUp()
    self.database(trace_of(STATES, OTHER))

  def test_states_are_those_of_perfetto(self):
    self.expect('SELECT ts, dur, state, cpu = ucpu, io_wait, blocked_function FROM thread_state '
                'WHERE utid = %s ORDER BY ts' % UTID,
                [(ts, dur, letters, None if cpu is None else 1, None, None)
                 for ts, dur, letters, cpu in parts_of(STATES)])
    self.expect('select ts, dur, cpu, end_state, priority, process.name, thread.name '
                'from sched_slice left join thread using(utid) left join process using(upid) '
                'where ts < 200 order by ts',
                [(110, 40, 0, 'R+', None, 'app', 'main'), (150, 85, 0, 'S', None, 'app', 'other'),
                 (170, 30, 1, 'S', None, 'app', 'main')])
    self.expect('INCLUDE PERFETTO MODULE sched.with_context; SELECT thread_name, process_name, '
                'sum(dur) FROM sched_with_thread_process GROUP BY 1, 2 ORDER BY 1',
                [('main', 'app', 40 + 30 + 25 + 30), ('other', 'app', 85)])
    self.expect('INCLUDE PERFETTO MODULE sched.states; SELECT DISTINCT '
                'sched_state_to_human_readable_string(state) AS n FROM thread_state ORDER BY n',
                [('Created',), ('Exit (Zombie)',), ('Runnable',), ('Runnable (Preempted)',),
                 ('Running',), ('Sleeping',), ('Uninterruptible Sleep',)])
    self.expect("SELECT sched_state_io_to_human_readable_string('D', 1) AS a, "
                "sched_state_io_to_human_readable_string('D', 0) AS b, "
                "sched_state_io_to_human_readable_string('S', NULL) AS c",
                [('Uninterruptible Sleep (IO)', 'Uninterruptible Sleep (non-IO)', 'Sleeping')])

  def test_processes_without_tracks_have_names(self):
    processes = packet(KERNEL, delimited(122, b''.join(
        delimited(1, integer(1, pid) + delimited(3, words))
        for pid, words in ((7, b'/bin/make -j 2'), (41, b'./app --fast'), (8, b'')))))
    self.database(described() + SLICES + processes +
                  tree((7, 7, 'make'), (7, 9, 'helper'), (8, 8, 'cc')) +
                  state(100, RUNNING, tid=9))
    self.expect('SELECT pid, process.name, tid, thread.name FROM thread JOIN process USING (upid) '
                'WHERE tid <> 41 ORDER BY tid',
                [(7, '/bin/make', 7, 'make'), (8, None, 8, 'cc'), (7, '/bin/make', 9, 'helper'),
                 (41, 'app', 42, 'main')])

  def test_threads_in_a_container_are_those_of_tracks(self):
    for known, tids in (True, [TID]), (False, [TID, 742]):
      self.database(written_by(described() + timed_slice(100, 200, 'a'), 700) +
                    tree((700, 742, 'main')) +
                    (in_namespaces((700, 742, TID)) if known else b'') +
                    state(100, RUNNING, tid=742) + state(170, SLEEPING, tid=742))
      self.expect('SELECT tid FROM thread WHERE tid IN (%d, 742) ORDER BY tid' % TID,
                  [(tid,) for tid in tids])
      self.expect('SELECT slice.name, state, thread_state.dur FROM slice '
                  'JOIN thread_track ON track_id = thread_track.id JOIN thread_state USING (utid) '
                  'ORDER BY thread_state.ts',
                  [('a', 'Running', 70), ('a', 'S', -1)] if known else [])

  def test_time_in_states(self):
    self.expect('INCLUDE PERFETTO MODULE sched.time_in_state; SELECT state, total_runtime, '
                'time_in_state, percentage_in_state FROM sched_time_in_state_for_thread '
                "WHERE utid = %s AND state <> 'Z' ORDER BY state" % UTID,
                [('Created', 229, 10, 4), ('D', 229, 40, 17), ('R', 229, 5, 2),
                 ('R+', 229, 20, 8), ('Running', 229, 125, 54), ('S', 229, 30, 13)])
    self.expect('SELECT running, runnable, runnable_preempted, sleeping, uninterruptible_sleep '
                'FROM sched_percentage_of_time_in_state WHERE utid = %s' % UTID,
                [(54, 2, 8, 13, 17)])
    self.expect('SELECT * FROM sched_time_in_state_for_thread_in_interval(180, 70, %s)' % UTID,
                [('Running', None, None, 35), ('S', None, None, 30), ('R', None, None, 5)])
    self.expect('SELECT * FROM sched_time_in_state_and_cpu_for_thread_in_interval(180, 70, %s)'
                % UTID, [('S', None, None, None, 30), ('Running', None, 1, None, 20),
                         ('Running', None, 0, None, 15), ('R', None, None, None, 5)])
    self.expect('SELECT * FROM sched_time_in_state_for_cpu_in_interval(0, 140, 100)',
                [('D', 5), ('R+', 10), ('S', 85)])
    self.expect('SELECT count(*) FROM sched_time_in_state_for_thread_in_interval(0, -1, %s) '
                'UNION ALL SELECT count(*) FROM '
                'sched_time_in_state_for_thread_in_interval(0, 1 << 62, NULL)' % UTID, [(0,), (0,)])

  def test_latency_is_the_time_until_it_runs(self):
    # Nothing says when the thread could run before the last time that it did.
    self.expect('INCLUDE PERFETTO MODULE sched.latency; SELECT sched.ts, latency_dur, '
                'thread_state.state FROM sched_latency_for_running_interval '
                'JOIN sched ON sched_id = sched.id '
                'JOIN thread_state ON runnable_latency_id = thread_state.id '
                'ORDER BY sched.ts',
                [(150, 10, 'R'), (170, 20, 'R+'), (235, 5, 'R')])

  def test_who_made_a_thread_run(self):
    states = [one for one in STATES if one[0] not in (230, 300)]
    self.database(trace_of(states, OTHER) + waking(230, TID + 1) +
                  # An interrupt wakes it while the other thread runs.
                  waking(290, TID + 1, flags=9) + state(300, RUNNING, cpu=1))
    query = ('SELECT run.ts, ready.ts, thread.name FROM sched_previous_runnable_on_thread AS p '
             'JOIN thread_state AS run ON p.id = run.id LEFT JOIN thread_state AS ready '
             'ON %s = ready.id LEFT JOIN thread ON ready.waker_utid = thread.utid '
             'WHERE run.utid = ' + UTID + ' ORDER BY run.ts')
    self.expect('INCLUDE PERFETTO MODULE sched.runnable; ' + query % 'prev_runnable_id',
                [(110, None, None), (170, 150, None), (235, 230, 'other'), (300, 290, 'other')])
    self.expect(query % 'prev_wakeup_runnable_id',
                [(110, None, None), (170, None, None), (235, 230, 'other'), (300, 230, 'other')])

  def test_how_many_threads_run(self):
    self.expect('INCLUDE PERFETTO MODULE sched.thread_level_parallelism; '
                'SELECT * FROM sched_active_cpu_count',
                [(110, 1), (150, 1), (170, 2), (200, 1), (235, 1), (260, 0), (300, 1), (330, 0)])
    self.expect('SELECT * FROM sched_runnable_thread_count',
                [(140, 1), (150, 0), (230, 1), (235, 0)])
    self.expect('SELECT * FROM sched_uninterruptible_sleep_thread_count', [(260, 1), (300, 0)])
    spans = "WITH spans(ts, dur, kind) AS (VALUES (5, 10, 'b'), (7, 8, 'a'), (9, -1, 'a')) "
    self.expect('INCLUDE PERFETTO MODULE intervals.overlap; ' + spans +
                'SELECT * FROM intervals_overlap_count!(spans, ts, dur)',
                [(5, 1), (7, 2), (9, 3), (15, 1)])
    self.expect(spans + 'SELECT * FROM intervals_overlap_count_by_group!(spans, ts, dur, kind)',
                [(5, 1, 'b'), (7, 1, 'a'), (9, 2, 'a'), (15, 1, 'a'), (15, 0, 'b')])

  def test_how_busy_threads_and_processes_are(self):
    self.expect('INCLUDE PERFETTO MODULE linux.cpu.utilization.thread; '
                'SELECT ts, round(utilization, 6), round(unnormalized_utilization, 6) '
                'FROM cpu_thread_utilization_per_period(100, %s)' % UTID,
                [(100, 0.35, 0.7), (200, 0.125, 0.25), (300, 0.15, 0.3)])
    self.expect('INCLUDE PERFETTO MODULE linux.cpu.utilization.process; '
                'SELECT ts, round(utilization, 6), round(unnormalized_utilization, 6) '
                'FROM process JOIN cpu_process_utilization_per_period(100, process.upid)',
                [(100, 0.6, 1.2), (200, 0.3, 0.6), (300, 0.15, 0.3)])
    # Such periods would never reach the end of the trace.
    for period in 0, -5:
      self.expect('SELECT * FROM cpu_thread_utilization_per_period(%d, %s)' % (period, UTID), [])
    for query, expected in (('thread_utilization_per_second(%s)' % UTID, 125),
                            ('process_utilization_per_second((SELECT upid FROM process))', 210)):
      self.expect('SELECT ts, round(unnormalized_utilization * 1e9, 6) FROM cpu_' + query,
                  [(0, expected)])

  def test_time_in_states_of_slices(self):
    self.expect('INCLUDE PERFETTO MODULE slices.time_in_state; SELECT name, thread_name, '
                'process_name, state, io_wait, blocked_function, dur '
                "FROM thread_slice_time_in_state WHERE name IN ('parse', 'read', 'early')",
                [('early', 'main', 'app', 'Created', None, None, 5),
                 ('parse', 'main', 'app', 'Running', None, None, 20)] +
                [('read', 'main', 'app', letters, None, None, ns)
                 for letters, ns in within(parts_of(STATES), 190, 290)])
    self.expect('INCLUDE PERFETTO MODULE slices.cpu_time; SELECT name, cpu_time '
                'FROM thread_slice_cpu_time ORDER BY id',
                [('request', 30 + 30 + 25 + 20), ('parse', 20), ('read', 35)])

  def test_random_slices(self):
    generator = random.Random(31)
    kinds = [READY, SLEEPING, BLOCKED]
    states = []
    for i in range(200):
      time = 10 * i + generator.randrange(10)
      kind = generator.choice(kinds) if not i or states[-1][1] == RUNNING else RUNNING
      states.append((time, kind, generator.randrange(4)))
    times = sorted(generator.sample(range(1, 2100), 60))
    slices = b''
    expected = []
    parts = parts_of(states)
    # Each slice is within the one before.
    for i in range(30):
      begin, end = times[i], times[-1 - i]
      expected += [('s%02d' % i, *pair) for pair in within(parts, begin, end)]
    for i in reversed(range(30)):
      slices = timed_slice(times[i], times[-1 - i], 's%02d' % i, inner=slices)
    self.database(trace_of(states, slices=slices))
    self.expect('SELECT name, state, dur FROM thread_slice_time_in_state ORDER BY name, state',
                expected)

  def test_samples_of_stacks(self):
    mode_only = packet(KERNEL, integer(8, 150), integer(58, 6), integer(13, 2),
                       delimited(135, integer(6, 2) + integer(11, 1)))
    self.database(described() + tree((41, TID, 'main')) +
                  interned_stacks(['main', 'work', 'sort'], ['main', 'work'], ['main', 'idle']) +
                  b''.join(sample(time, stack) for time, stack in
                           ((100, 1), (110, 1), (120, 2), (130, 3))) + mode_only)
    tree_query = ('SELECT t.name, p.name, t.mapping_name, t.self_count, t.cumulative_count '
                  'FROM %s AS t LEFT JOIN %s AS p ON p.id = t.parent_id ORDER BY t.name')
    expected = [('idle', 'main', '/usr/lib/libc.so.6', 1, 1),
                ('main', None, '/usr/lib/libc.so.6', 0, 5),
                ('sort', 'work', '/usr/lib/libc.so.6', 2, 2),
                ('work', 'main', '/usr/lib/libc.so.6', 2, 4)]
    for module, table in (('linux.perf.samples', 'linux_perf_samples_summary_tree'),
                          ('stacks.cpu_profiling', 'cpu_profiling_summary_tree')):
      self.expect('INCLUDE PERFETTO MODULE %s; ' % module + tree_query % (table, table), expected)
    self.expect('SELECT id, ts, tid, thread_name, ucpu, cpu FROM cpu_profiling_samples',
                [(1, 100, TID, 'main', 0, 0), (2, 110, TID, 'main', 0, 0), (3, 120, TID, 'main', 0, 0),
                 (4, 130, TID, 'main', 0, 0), (5, 150, None, None, None, None)])
    # A sample of no thread makes none.
    self.expect('SELECT count(*) FROM thread WHERE tid = 0', [(0,)])


if __name__ == '__main__':
  sys.exit(run_sql_cases())
