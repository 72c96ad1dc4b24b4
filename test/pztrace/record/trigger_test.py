#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests `pztrace trigger` and `pztrace record --on-trigger` and `--when`. Runs in
the build directory, as recording.py says."""

import json
import os
import re
import signal
import sys
import time

from recording import BUILD_DIR, PZTRACE, PztraceTest, main

EVENT_TRACER = BUILD_DIR / 'event_tracer'
NAME = re.compile(r'^trace-\d{8}T\d{6}\.\d{3}Z\.pftrace$')


class TriggerTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.files = self.folder / 'files'
    self.files.mkdir()
    self.trace = self.files / 'trace.pftrace'

  def start_tracer(self, *options, command=('--', EVENT_TRACER, '--wait')):
    process = self.start('record', '-o', self.trace, *options, *command)
    if command:
      self.assertEqual(process.stdout.readline(), 'registered\n')
      self.assertEqual(process.stdout.readline(), 'traced\n')
    return process

  def write(self, process, times):
    for _ in range(times):
      process.stdin.write('\n')
      process.stdin.flush()
      self.assertEqual(process.stdout.readline(), 'traced\n')

  def trigger(self, name):
    code, output, error = self.run_pztrace('trigger', name)
    self.assertEqual((code, output, error), (0, '', ''))

  def next_file(self, process):
    """The file that the recorder has written, by the line that it prints."""
    for line in process.stderr:
      name, _, report = line.partition(': ')
      if 'bytes' in report:
        return self.files / name.rpartition('/')[2], report
    self.fail('it has ended')

  def slices(self, trace):
    code, output, error = self.run_pztrace('export', '--slices', '--format',
                                           'ndjson', trace)
    self.assertEqual((code, error), (0, ''))
    return [json.loads(line)['name'] for line in output.splitlines()]

  def numbers(self, trace):
    """The numbers of whole slices, the number of others that begin in the trace,
    and of those that end in it."""
    code, output, error = self.run_pztrace('export', '--slices', '--format',
                                           'ndjson', trace)
    self.assertEqual(code, 0)
    borders = re.match(r'(?:(\d+) slices? had not ended\n)?'
                       r'(?:(\d+) ends? without a beginning in the trace\n)?\Z', error)
    self.assertIsNotNone(borders, error)
    numbers = [json.loads(line)['args']['number'] for line in output.splitlines()]
    return numbers, *(int(number or 0) for number in borders.groups())

  def end(self, process):
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 0, error)
    return error

  def trace_in_time(self, delay, work):
    """Starts a tracer with a delay as the value of the option `delay`, and calls
    work(recorder), which is over before the delay is. A machine that stops for
    longer has a longer delay. Returns the recorder, and when the delay is over at
    the earliest."""
    for seconds in 1, 5, 25:
      begin = time.monotonic()
      process = self.start_tracer(*delay, '%ds' % seconds)
      work(process)
      if time.monotonic() < begin + seconds:
        return process, begin + seconds
      self.end(process)
      for file in self.files.iterdir():
        file.unlink()
    return self.fail('this takes longer than 25 s')

  def test_each_trigger_makes_a_file(self):
    process = self.start_tracer('--on-trigger', 'slow', '--before', '1h')
    self.write(process, 20)
    self.trigger('other')
    self.trigger('slow')
    first, report = self.next_file(process)
    self.assertRegex(first.name, NAME)
    self.assertIn(' of 1 writer in ', report)
    self.assertIn('nothing lost', report)
    self.write(process, 20)
    self.trigger('slow')
    second, report = self.next_file(process)
    error = self.end(process)
    self.assertNotIn('not written', error)
    # A client that only activates triggers is no producer.
    self.assertIn(' of 1 writer in 1 producer, nothing lost', error)
    self.assertEqual(self.slices(first).count('of net.io'), 21)
    # It begins where the first one ends.
    self.assertEqual(self.slices(second).count('of net.io'), 20)
    self.assertIn('nothing lost', report)
    # The file of the end has everything.
    self.assertEqual(self.slices(self.trace).count('of net.io'), 41)
    self.assertEqual({path.name for path in self.files.iterdir()},
                     {first.name, second.name, self.trace.name})

  def test_files_do_not_overlap(self):
    process = self.start_tracer('--on-trigger', 'slow', '--before', '1h',
                                command=('--', EVENT_TRACER, '--numbers'))
    numbers, num_open = [], 0
    for _ in range(4):
      self.trigger('slow')
      file, report = self.next_file(process)
      self.assertIn('nothing lost', report)
      whole, begun, ended = self.numbers(file)
      # A slice that is open at the end of a file has its end in a later one.
      self.assertLessEqual(ended, num_open)
      num_open += begun - ended
      self.assertLessEqual(num_open, 2)
      numbers += [*whole, *[None] * ended]
    self.assertIn('nothing lost', self.end(process))
    # Each slice is there once.
    whole = {number for number in numbers if number is not None}
    self.assertEqual(len(whole) + numbers.count(None), len(numbers))
    self.assertGreater(len(whole), 100)
    # The file of the end has everything.
    everything, _, _ = self.numbers(self.trace)
    self.assertEqual(len(everything), len(set(everything)))
    last = [max((number for number in whole if number < limit), default=0)
            for limit in (1000000, 2000000)]
    until_then = [number for number in everything
                  if number <= last[number // 1000000]]
    self.assertLess(whole, set(everything))
    # Each of the two threads may have ended one that is not whole since its last
    # whole one.
    self.assertIn(len(numbers) - len(until_then), range(3))

  def test_several_triggers(self):
    process = self.start_tracer('--on-trigger', 'slow', '--on-trigger', 'wrong')
    names = set()
    for name in 'slow', 'wrong', 'slow':
      self.trigger(name)
      names.add(self.next_file(process)[0].name)
    self.assertEqual(len(names), 3)
    self.assertIn('nothing lost', self.end(process))

  def test_each_recording_is_told_once(self):
    trigger = '%s trigger slow' % PZTRACE.resolve()
    process = self.start('record', '-o', self.trace, '--on-trigger', 'slow', '--', 'sh', '-c',
                         '%s; %s; read line; true' % (EVENT_TRACER.resolve(), trigger))
    self.next_file(process)
    self.end(process)
    self.assertEqual(len([path for path in self.files.iterdir() if NAME.match(path.name)]), 1)

  def test_a_recorder_that_does_not_answer_is_named(self):
    process = self.start_tracer('--on-trigger', 'slow', '--before', '1h')
    os.kill(process.pid, signal.SIGSTOP)
    try:
      code, _, error = self.run_pztrace('trigger', 'slow')
    finally:
      os.kill(process.pid, signal.SIGCONT)
    self.assertEqual(code, 1)
    self.assertIn('process %d: ' % process.pid, error)
    self.end(process)

  def test_recordings_with_a_socket_of_their_own(self):
    for socket in self.folder / 'own', '@pztrace trigger test %d' % os.getpid():
      with self.subTest(socket):
        process = self.start('record', '-o', self.trace, '--on-trigger', 'slow',
                             '--socket', socket)
        self.assertIn(str(socket), process.stderr.readline())
        self.trigger('slow')
        self.next_file(process)
        process.terminate()
        process.wait()

  def test_what_is_due_when_the_recording_ends(self):
    process = self.start_tracer('--on-trigger', 'slow', '--after', '1h')
    self.write(process, 3)
    self.trigger('slow')
    self.assertIn('nothing lost', self.end(process))
    file, = [path for path in self.files.iterdir() if NAME.match(path.name)]
    self.assertEqual(sorted(self.slices(file)), sorted(self.slices(self.trace)))

  def test_match_right_before_the_end(self):
    process = self.start('record', '-o', self.trace, '--when', 'slice of app > 0', '--',
                         EVENT_TRACER)
    process.stdin.close()
    self.assertIn('of app', process.stderr.read())
    self.assertEqual(process.wait(), 0)
    file, = [path for path in self.files.iterdir() if NAME.match(path.name)]
    self.assertIn('of app', self.slices(file))

  def test_strings_that_the_recording_drops(self):
    process = self.start_tracer('--on-trigger', 'slow', '--before', '1h',
                                '--drop-strings', 'of app')
    self.trigger('slow')
    file, _ = self.next_file(process)
    self.end(process)
    self.assertNotIn(b'of app', file.read_bytes())
    self.assertIn('', self.slices(file))

  def test_burst_makes_one_file_with_what_comes_after_it(self):
    def work(process):
      for _ in range(3):
        self.trigger('slow')
      self.write(process, 5)

    process, end = self.trace_in_time(
        ('--on-trigger', 'slow', '--before', '1m', '--after'), work)
    trace, _ = self.next_file(process)
    self.assertGreater(time.monotonic(), end)
    self.assertEqual(self.slices(trace).count('of net.io'), 6)
    self.end(process)
    self.assertEqual(len(list(self.files.iterdir())), 2)

  def test_keeps_the_last_files(self):
    process = self.start_tracer('--on-trigger', 'slow', '--keep', '2')
    names = []
    for _ in range(4):
      self.trigger('slow')
      names.append(self.next_file(process)[0].name)
    self.end(process)
    self.assertEqual({path.name for path in self.files.iterdir()},
                     {*names[2:], self.trace.name})

  def test_of_a_recording_of_all_programs(self):
    process = self.start_tracer('--on-trigger', 'slow', command=())
    process.stderr.readline()
    self.trigger('slow')
    trace, _ = self.next_file(process)
    self.assertEqual(self.slices(trace), [])

  def test_of_a_configuration(self):
    self.trace = self.folder / 'stopped'
    config = self.encode_config('''
        buffers { size_kb: 200 }
        data_sources { config { name: "track_event" } }
        trigger_config {
          trigger_mode: STOP_TRACING
          triggers { name: "halt" stop_delay_ms: 10 }
          trigger_timeout_ms: 60000
        }''')
    process = self.start_tracer('--config', config)
    self.trigger('halt')
    # The recorder waits for the command, and has written the trace before.
    self.next_file(process)
    self.assertEqual(self.slices(self.trace).count('of net.io'), 1)
    self.end(process)

  def test_rules_make_a_file_for_a_burst(self):
    process, _ = self.trace_in_time(
        ('--when', 'slice of * > 1h', '--when', 'slice of net.io > 0', '--before',
         '1h', '--after'), lambda process: self.write(process, 20))
    file, report = self.next_file(process)
    self.assertIn('nothing lost', report)
    self.assertEqual(self.slices(file).count('of net.io'), 21)
    # Later matches have another file an hour later, or at the end.
    self.write(process, 5)
    time.sleep(0.9)
    self.write(process, 5)
    self.assertEqual(self.end(process).count('slice of net.io'), 1)
    self.assertEqual(self.slices(self.trace).count('of net.io'), 31)
    self.assertEqual(len(list(self.files.iterdir())), 3)

  def test_rules_make_the_next_file_where_the_last_one_ends(self):
    first = None

    def work(process):
      nonlocal first
      self.assertIn('category net.i*: of net.io\n', process.stderr)
      first, _ = self.next_file(process)
      self.write(process, 20)

    process, end = self.trace_in_time(
        ('--when', 'category net.i*', '--keep', '1', '--before'), work)
    second, _ = self.next_file(process)
    self.assertGreater(time.monotonic(), end)
    self.assertGreaterEqual(self.slices(second).count('of net.io'), 20)
    self.end(process)
    self.assertFalse(first.exists())

  def test_a_rule_sees_what_goes_on(self):
    process = self.start_tracer('--when', 'slice hang > 10ms',
                                command=('--', EVENT_TRACER, '--hang'))
    self.assertRegex(process.stderr.readline(),
                     r'^slice hang > 10ms: hang has not ended after [\d.]+ m?s\n$')
    file, _ = self.next_file(process)
    self.assertEqual(self.numbers(file), ([], 1, 0))
    # Its end is no further match.
    self.assertNotIn('hang', self.end(process))

  def test_rules_print_no_text_that_files_do_not_have(self):
    process = self.start_tracer('--when', 'category net.i*', '--before', '1s',
                                '--drop-strings', 'of net')
    self.assertIn('a rule of --when\n', process.stderr)
    self.assertNotIn('of net', self.end(process))

  def test_rules_and_a_trigger(self):
    process = self.start_tracer('--when', 'counter of app > 5', '--when',
                                'task of app > 0', '--on-trigger', 'slow')
    self.trigger('slow')
    file, _ = self.next_file(process)
    self.assertIn('of net.io', self.slices(file))
    self.end(process)
    self.assertEqual(len(list(self.files.iterdir())), 2)

  def test_usage(self):
    code, _, error = self.run_pztrace('trigger', 'slow')
    self.assertEqual(code, 1)
    self.assertTrue(error.startswith('pztrace: '), error)
    for options, problem in (
        (('--before', '1s'),
         '--before and --after are of no use without --on-trigger'),
        (('--on-trigger', 'a', '--ring', '1s'),
         '--on-trigger keeps what --before says; give no --ring or --rotate'),
        (('--on-trigger', 'a', '--config', 'f'),
         '--config replaces --on-trigger; give one'),
        (('--on-trigger', 'a', '-o', '-'), '--on-trigger needs a file, not -o -'),
        (('--on-trigger', 'a', '--before', 'b'), '--before takes a time'),
        (('--when', 'a', '--ring', '1s'),
         '--when keeps what --before says; give no --ring or --rotate'),
        (('--when', 'category a', '--when', 'slice a > b'),
         'the limit of --when takes a time'),
        (('--when', 'slice a > 5'), 'the limit of --when needs a unit, as in 5ms'),
        (('--when', 'task a > 1.5'), 'the limit of --when needs a unit, as in 1.5ms'),
        (('--when', 'slice a'), "--when takes 'slice NAME > TIME', ")):
      code, _, error = self.run_pztrace('record', '-o', self.trace, *options)
      self.assertEqual(code, 2, error)
      self.assertIn(problem, error)


if __name__ == '__main__':
  sys.exit(main())
