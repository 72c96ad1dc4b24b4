#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace why` explains slices and requests by what their threads did: on traces of
known content, and whatever the bytes are. Runs in the build directory."""

import subprocess
import sys

from cases import run_cases
from thread_states import (
    BLOCKED, DEAD, READY, RUNNING, SLEEPING, TID, counted_sample, divided_trace, in_namespaces,
    interned_stacks, sample, state, symbol, task_trace, timed_slice, tree, waiting_stack, waking,
    written_by)
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import MS, PROCESS, arg, described, track
from wire import delimited, integer


def slow_trace():
  """A request of 100 ms that computes, is preempted, and waits for a database."""
  trace = described() + tree((41, TID, 'main'), (50, 51, 'noisy'))
  trace += timed_slice(10 * MS, 20 * MS, 'request')
  inner = timed_slice(160 * MS, 195 * MS, 'db', arg('query', delimited(6, b'select 1')))
  trace += timed_slice(100 * MS, 200 * MS, 'request', inner=inner)
  for ms, kind in ((5, RUNNING), (120, READY), (140, RUNNING), (150, SLEEPING), (152, RUNNING),
                   (161, BLOCKED), (191, RUNNING), (220, SLEEPING), (230, RUNNING)):
    trace += state(ms * MS, kind, cpu=3)
  for ms, kind in ((120, RUNNING), (135, SLEEPING)):
    trace += state(ms * MS, kind, tid=51, cpu=3)
  trace += interned_stacks(['main', 'serve', 'sort'], ['main', 'serve', 'parse'],
                           ['main', 'serve', 'query', 'read'])
  for ms in range(100, 120):
    trace += sample(ms * MS + 1, 1 if ms < 112 else 2)
  return trace + sample(161 * MS - 500, 3)


def woken_trace(waker=51, flags=1):
  """A slice that waits until another thread wakes it in a slice of its own."""
  trace = described() + tree((41, TID, 'main'), (41, 51, 'worker'))
  trace += track(12, delimited(4, integer(1, 41) + integer(2, 51) + delimited(5, b'worker')))
  trace += timed_slice(100 * MS, 110 * MS, 'request')
  inner = timed_slice(107 * MS, 108 * MS, 'unlock', arg('lock', delimited(6, b'db')), uuid=12,
                      sequence=2)
  trace += timed_slice(106 * MS, 109 * MS, 'work', uuid=12, sequence=2, inner=inner)
  trace += interned_stacks(['main', 'serve', 'spin'], ['main', 'serve', 'lock'])
  for ms, kind in ((99, RUNNING), (102, SLEEPING)):
    trace += state(ms * MS, kind)
  # The last sample before the wait is not its stack.
  trace += sample(102 * MS - 1, 1) + waiting_stack(102 * MS, 2)
  trace += state(106 * MS, RUNNING, tid=51, cpu=1) + waking(107 * MS + 1, waker, flags=flags)
  return trace + b''.join(state(ms * MS, kind) for ms, kind in
                          ((109, RUNNING), (111, SLEEPING), (112, RUNNING)))


class WhyTest(TimelineCommandTest):
  command = 'why'

  def explain(self, trace, name, *args, code=0):
    """Returns what it prints about slices of that name."""
    self.path.write_bytes(trace)
    run = subprocess.run([PZTRACE, 'why', *args, self.path, name], stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
    self.assertEqual(run.returncode, code, run.stdout)
    return run.stdout

  def test_who_woke_it_and_the_stack_with_which_it_waited(self):
    output = self.explain(woken_trace(), 'request')
    self.assertIn('ran    3.00 ms  30 %  of 1 sample: 100 % spin\n', output)
    self.assertIn('ready    2.00 ms  20 %  1 time', output)
    self.assertIn('from 2.00 ms on in request, woken by worker 51 in unlock {"lock":"db"}: '
                  'lock < serve < main\n', output)
    output = self.explain(woken_trace(waker=77), 'request')
    self.assertIn(', woken by thread 77: lock', output)
    for waker, flags in (0, 1), (51, 9), (51, 16):
      output = self.explain(woken_trace(waker, flags), 'request')
      self.assertIn(', ended by an interrupt: lock', output)

  def test_what_a_processor_counted(self):
    cycles, instructions, misses = 2, 3, 6
    def lines(*counts):
      trace = divided_trace(['a']) + interned_stacks(['main', 'work'])
      for ms in 11, 12:
        trace += counted_sample(ms * MS, 1, counts)
      # Neither another thread's, nor before the slice.
      trace += counted_sample(9 * MS, 1, counts) + counted_sample(11 * MS, 1, counts, tid=43)
      return self.explain(trace, 'a')
    self.assertIn('\n' + 27 * ' ' + '0.50 instructions a cycle, 4.00 cache misses a thousand '
                  'instructions\n', lines((cycles, 4000), (instructions, 2000), (misses, 8)))
    self.assertIn(' 2.00 instructions a cycle\n', lines((instructions, 20), (cycles, 10)))
    self.assertNotIn('instructions', lines((cycles, 10), (misses, 8)))
    self.assertNotIn('instructions', lines())

  def test_the_slowest_of_each_name(self):
    output, error = self.run_command(slow_trace())
    self.assertEqual(error, '')
    self.assertEqual(output, '''\
request: 100.00 ms on main 42 from 90.00 ms on; it mostly ran
       ran   48.00 ms  48 %  of 21 samples: 57 % sort, 38 % parse, 5 % read
     ready   20.00 ms  20 %  1 time; its processor ran noisy 51 for 15.00 ms, and what is not \
recorded for 5.00 ms
    waited   32.00 ms  32 %  2 times
                        30.00 ms from 151.00 ms on in db {"query":"select 1"}, not to be \
interrupted, as for a disk: read < query < serve < main
                         2.00 ms from 140.00 ms on in request

db: 35.00 ms on main 42 from 150.00 ms on; it mostly waited
       ran    5.00 ms  14 %  of 1 sample: 100 % read
     ready       0 ns   0 %
    waited   30.00 ms  86 %  1 time
                        30.00 ms from 151.00 ms on in db {"query":"select 1"}, not to be \
interrupted, as for a disk: read < query < serve < main
''')

  def test_slices_of_one_name(self):
    output = self.explain(slow_trace(), 'request')
    self.assertEqual([line for line in output.splitlines() if line.startswith('request')], [
        'request: 100.00 ms on main 42 from 90.00 ms on; it mostly ran',
        'request: 10.00 ms on main 42 from 0 ns on; it mostly ran'])
    self.assertNotIn('\ndb:', output)
    output = self.explain(slow_trace(), 'request', '--slowest', '1')
    self.assertEqual(output.count('request:'), 1)
    self.assertIn("no slice 'nothing'; others are there, such as 'request', 'db'",
                  self.explain(slow_trace(), 'nothing', code=1))
    self.assertIn("no slice 'reqest'; did you mean 'request'?",
                  self.explain(slow_trace(), 'reqest', code=1))

  def test_stacks_of_a_long_run(self):
    trace = (described() + tree((41, TID, 'main')) + timed_slice(10 * MS, 90 * MS, 'frame') +
             state(5 * MS, RUNNING) + state(95 * MS, SLEEPING) +
             interned_stacks(['main', 'draw', 'sort'], ['main', 'load', 'sort']))
    for ms in range(10, 90, 10):
      trace += sample(ms * MS + 5, 1 if ms < 70 else 2)
    output, _ = self.run_command(trace)
    self.assertIn('of 8 samples: 100 % sort\n'
                  '                            75 % main > draw > sort\n'
                  '                            25 % main > load > sort\n', output)

  def running_trace(self, stack, **options):
    """A slice of 40 ms that runs, with a sample each 4 ms."""
    trace = (described() + tree((41, TID, 'main')) + timed_slice(10 * MS, 50 * MS, 'frame') +
             state(5 * MS, RUNNING) + state(95 * MS, SLEEPING) + interned_stacks(stack))
    return trace + b''.join(sample(ms * MS + 5, 1, **options) for ms in range(10, 50, 4))

  def test_time_in_the_kernel(self):
    hot = 'of 10 samples: 100 % fill'
    kernel = 'in the kernel, as for page faults and system calls'
    for options, text in (
        # Only samples of times say how much of the time has none.
        ({'unit': 1}, '; 30.00 ms without samples: ' + kernel),
        ({'unit': 1, 'weight': 4000000}, ''), ({'unit': 2}, ''), ({}, ''),
        ({'mode': 2}, '; 100 % of them ' + kernel)):
      output, _ = self.run_command(self.running_trace(['main', 'fill'], **options))
      self.assertIn('100 %%  %s%s\n' % (hot, text), output)

  def lock_trace(self):
    """The main thread waits for a lock that 43 has, as 44 does. 45 is another program."""
    trace = described() + tree((41, TID, 'main'), (41, 43, 'timer'), (41, 44, 'pool'),
                               (50, 51, 'other'))
    for uuid, tid, pid in (20, 43, 41), (21, 44, 41), (22, 51, 50):
      trace += track(uuid, delimited(4, integer(1, pid) + integer(2, tid)))
    for tid, cpu in (TID, 0), (43, 1), (44, 2), (51, 3):
      trace += state(5 * MS, RUNNING, tid=tid, cpu=cpu)
    trace += timed_slice(
        10 * MS, 60 * MS, 'timer', uuid=20, sequence=2,
        inner=(timed_slice(11 * MS, 58 * MS, 'empty', arg('pages', integer(3, 16)),
                           uuid=20, sequence=2,
                           inner=timed_slice(30 * MS, 31 * MS, 'short', uuid=20, sequence=2))))
    trace += timed_slice(12 * MS, 59 * MS, 'lock', uuid=21, sequence=3)
    trace += timed_slice(10 * MS, 70 * MS, 'elsewhere', uuid=22, sequence=4)
    trace += timed_slice(15 * MS, 65 * MS, 'answer',
                         inner=timed_slice(19 * MS, 61 * MS, 'lock'))
    for ms, kind, tid in ((13, SLEEPING, 44), (20, SLEEPING, TID), (40, SLEEPING, 43),
                          (45, RUNNING, 43), (60, RUNNING, TID), (63, RUNNING, 44),
                          (90, SLEEPING, TID), (90, SLEEPING, 43), (90, SLEEPING, 44),
                          (90, SLEEPING, 51)):
      trace += state(ms * MS, kind, tid=tid, cpu={TID: 0, 43: 1, 44: 2, 51: 3}[tid])
    return trace

  def test_other_threads_while_one_waited(self):
    output = self.explain(self.lock_trace(), 'answer')
    self.assertIn(
        '40.00 ms from 10.00 ms on in lock\n' + ' ' * 33 +
        'meanwhile timer 43 ran for 33.00 ms in empty {"pages":16}, '
        'pool 44 waited, too, in lock\n', output)
    # Unknown is not zero.
    output = self.explain(self.lock_trace() + state(30 * MS, RUNNING, tid=44, cpu=2) +
                          state(31 * MS, SLEEPING, tid=44, cpu=2, dropped=1), 'answer')
    self.assertIn('pool 44 was in lock', output)

  def test_many_waits_are_summed_up(self):
    trace = (described() + tree((41, TID, 'main')) + state(5 * MS, RUNNING) +
             timed_slice(10 * MS, 60 * MS, 'answer',
                         inner=timed_slice(18 * MS, 55 * MS, 'write')))
    for ms in range(11, 60, 6):
      trace += state(ms * MS, SLEEPING) + state((ms + 4) * MS, RUNNING)
    output = self.explain(trace + state(70 * MS, SLEEPING), 'answer')
    self.assertIn(' 9 times; 24.00 ms in write\n', output)

  def test_names_of_symbols(self):
    # A path is one text, or its parts without slashes.
    for mapping, path in (('[vdso]', '/[vdso]'), ('app', '/app'), ('/usr/app', '/usr/app')):
      trace = (described() + tree((41, TID, 'main')) + timed_slice(10 * MS, 20 * MS, 'a') +
               state(5 * MS, RUNNING) + state(25 * MS, SLEEPING) +
               interned_stacks(['now'], mapping=mapping, has_names=False) + sample(12 * MS, 1))
      self.assertIn('100 %% %s+0x10' % path.split('/')[-1], self.explain(trace, 'a'))
      self.assertIn('100 % time_now\n', self.explain(trace + symbol(path, 16, 'time_now'), 'a'))

  def test_threads_in_a_container(self):
    """The program calls its threads 42 and 43. The recorder knows them by other ids, as
    the packet of a service says."""
    program = (described() + timed_slice(10 * MS, 20 * MS, 'main work') +
               track(12, delimited(4, integer(1, 41) + integer(2, 43)), parent=PROCESS) +
               timed_slice(10 * MS, 20 * MS, 'work', uuid=12, sequence=2))
    kernel = (tree((700, 742, 'main'), (700, 743, 'worker')) +
              b''.join(state(ms * MS, kind, tid=tid, cpu=tid - 742) for ms, kind, tid in (
                  (5, RUNNING, 742), (5, RUNNING, 743), (14, SLEEPING, 743),
                  (25, SLEEPING, 742), (25, RUNNING, 743))))
    inner = in_namespaces((700, 742, 42), (700, 743, 43))
    known = written_by(program, 700) + kernel
    for trace in inner + known, known + inner:
      self.assertIn('ran    4.00 ms  40 %', self.explain(trace, 'work'))
      self.assertIn('ran   10.00 ms 100 %', self.explain(trace, 'main work'))
    self.assertIn('left out', self.explain(known, 'work', code=1))
    # Another program's, in another container.
    self.assertIn('left out', self.explain(
        written_by(program, 701) + kernel + inner, 'work', code=1))

  def test_unknown(self):
    trace = (described() + tree((41, TID, 'main')) + timed_slice(10 * MS, 20 * MS, 'a') +
             timed_slice(40 * MS, 50 * MS, 'b') + state(12 * MS, RUNNING) +
             state(15 * MS, SLEEPING, dropped=1) + state(16 * MS, RUNNING) +
             state(18 * MS, SLEEPING, dropped=1) + state(30 * MS, RUNNING))
    output = self.explain(trace, 'a')
    self.assertIn('   unknown    7.00 ms  70 %  states are lost, or were not recorded\n', output)
    self.assertIn('; what it did is mostly unknown\n', output)
    output = self.explain(trace, 'b')
    self.assertIn('   unknown   10.00 ms 100 %', output)

  def test_threads_of_a_program_without_slices(self):
    trace = (tree((41, TID, 'main'), (41, 43, 'idle')) + interned_stacks(['main', 'sort']) +
             b''.join(state(ms * MS, kind, tid=tid, cpu=tid - TID) for ms, kind, tid in (
                 (5, RUNNING, 43), (6, SLEEPING, 43), (10, RUNNING, TID), (16, SLEEPING, TID),
                 (18, RUNNING, TID), (20, DEAD, TID))) + sample(12 * MS, 1))
    output, _ = self.run_command(trace)
    self.assertEqual([line for line in output.splitlines() if ': ' in line], [
        'main 42: 10.00 ms from 5.00 ms on; it mostly ran',
        '       ran    8.00 ms  80 %  of 1 sample: 100 % sort',
        'idle 43: 15.00 ms from 0 ns on, and had not ended; it mostly waited'])
    output, _ = self.run_command(trace, '--slowest', '1')
    self.assertNotIn('idle', output)
    _, error = self.run_command(trace, '--slowest', '0', code=2)
    self.assertIn('--slowest takes a number from 1 on', error)
    self.assertIn("no slice 'main'", self.explain(trace, 'main', code=1))

  def test_slices_without_states(self):
    _, error = self.run_command(described() + timed_slice(1, 2, 'a'), code=1)
    self.assertIn('has no states of threads; `pztrace record --why` records them', error)
    self.assertNotIn('pipe', error)
    _, error = self.run_command(described() + timed_slice(1, 2, 'a') + state(5, RUNNING, tid=43),
                                code=1)
    self.assertIn('1 slice left out', error)

  def test_a_pipe(self):
    run = subprocess.run([PZTRACE, 'why', '-'], input=divided_trace(['a']),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    self.assertEqual(run.returncode, 1)
    self.assertIn(b'a pipe cannot be read twice', run.stderr)

  def request_trace(self):
    trace = (task_trace(((10, 20), (50, 60)), request='r1') + tree((41, TID, 'main')) +
             interned_stacks(['main', 'read']))
    for ms, kind in ((5, RUNNING), (12, READY), (14, RUNNING), (52, SLEEPING), (55, RUNNING),
                     (70, SLEEPING)):
      trace += state(ms * MS, kind)
    return trace + sample(52 * MS - 1, 1)

  def test_request(self):
    output, _ = self.run_command(self.request_trace(), '--request', 'r1')
    self.assertEqual(output.splitlines()[1:], [
        '      0 ns   10.00 ms  session #1 ran on main 42; it had no processor for 2.00 ms',
        '  10.00 ms   30.00 ms  session #1 waited for db.read (a.cc:0); main 42 woke it',
        '  40.00 ms   10.00 ms  session #1 ran on main 42; it waited in read for 3.00 ms'])
    _, error = self.run_command(self.request_trace(), '--request', 'r2', code=1)
    self.assertIn("no task works on the request 'r2'", error)

  def test_tasks_say_it_too(self):
    self.path.write_bytes(self.request_trace())
    run = subprocess.run([PZTRACE, 'tasks', '--request', 'r1', self.path],
                         stdout=subprocess.PIPE, text=True, check=True)
    self.assertIn('ran on main 42; it waited in read for 3.00 ms', run.stdout)
    self.path.write_bytes(task_trace(((10, 20),), request='r1'))
    run = subprocess.run([PZTRACE, 'tasks', '--request', 'r1', self.path],
                         stdout=subprocess.PIPE, text=True, check=True)
    self.assertNotIn(';', run.stdout)


if __name__ == '__main__':
  sys.exit(run_cases())
