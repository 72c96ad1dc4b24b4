#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace tasks` names the faults that task_tracer plants, with durations between
those that it prints, and `pztrace export --tasks` has the same tasks. Runs in the build
directory."""

import csv
import io
import json
import pathlib
import subprocess
import sys
import time

from cases import run_cases
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import MS, delimited, integer, packet

TRACER = pathlib.Path.cwd() / 'task_tracer'


class TasksTest(TimelineCommandTest):
  command = 'tasks'

  def record(self, *args):
    """Returns the trace, and the limits of durations by their names."""
    result = subprocess.run([TRACER, self.path, *args], stdout=subprocess.PIPE,
                            check=True)
    truth = {}
    for line in result.stdout.decode().splitlines():
      name, least, most = line.split()
      truth[name] = int(least), int(most)
    return self.path.read_bytes(), truth

  def assert_between(self, value, limits):
    self.assertGreaterEqual(value, limits[0])
    self.assertLessEqual(value, limits[1])

  def objects(self, trace, *args):
    output, error = self.run_command(trace, *args, '--format', 'ndjson')
    self.assertEqual(error, 'nothing lost\n')
    return [json.loads(line) for line in output.splitlines()]

  def test_each_planted_fault_is_named(self):
    trace, _ = self.record()
    output, error = self.run_command(trace)
    self.assertEqual(error, '')
    place = r' \(task_tracer\.cc:\d+\)'
    self.assertRegex(output, r'of hog #\d+ on .*; meanwhile could run: 1 time session' +
                     place + r', for \S+ ms; 5 times starved' + place)
    self.assertRegex(output, r'not resumed until the end of the trace:\n  1 task of '
                     'reader' + place + ' waits for lost wake' + place +
                     r' since \S+ \ws, for \S+ ms: reader #\d+\n\n')
    self.assertRegex(output, 'destroyed while they waited:\n  1 task of connection' +
                     place + ' waited for next request' + place + '\n\n')
    self.assertRegex(output, r' ms in 1 wait, \S+ ms at most: session' + place +
                     ' for answer' + place)
    self.assertEqual(output.splitlines()[-2:], [
        '10 tasks of 6 places, 1 of them had not ended', 'nothing lost'])

  def test_durations_are_those_of_the_program(self):
    trace, truth = self.record()
    rows = {row['place']: row for row in self.objects(trace)}
    self.assertEqual({place: row['tasks'] for place, row in rows.items()},
                     {'reader': 1, 'connection': 1, 'session': 1, 'query': 1, 'hog': 1,
                      'starved': 5})
    self.assert_between(rows['hog']['longest'], truth['hog'])
    self.assert_between(rows['session']['wait'], truth['wait'])
    self.assert_between(rows['session']['delay_max'], truth['delay'])
    self.assertEqual(rows['session']['delays'], 2)
    self.assertEqual([sum['count'] for sum in rows['hog']['delayed'].values()], [1, 5])
    self.assertEqual([row['not_ended'] for row in rows.values() if row['unresumed']],
                     [1])
    (unresumed,) = rows['reader']['unresumed'].values()
    self.assertGreater(unresumed['for'], truth['hog'][0])

  def test_a_hang_lasts_until_the_end_of_the_recording(self):
    trace, _ = self.record()
    end = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 100 * 1000 * MS
    trace += packet(9, delimited(6, delimited(1, integer(1, 6) + integer(2, end))))
    rows = {row['place']: row for row in self.objects(trace)}
    (unresumed,) = rows['reader']['unresumed'].values()
    self.assertGreater(unresumed['for'], 100 * 1000 * MS)
    self.assertIn('for 100', self.run_command(trace)[0])

  def test_path_of_a_request(self):
    trace, truth = self.record()
    path = self.objects(trace, '--request', 'req-1')
    self.assertEqual(self.objects(trace, '--slowest', '5'), path)
    for before, after in zip(path, path[1:]):
      self.assertEqual(before['ts'] + before['dur'], after['ts'])
    self.assert_between(sum(part['dur'] for part in path), truth['request'])
    names = [(part['name'].split()[0], part['state']) for part in path]
    self.assertEqual(names, [('session', 'running'), ('query', 'ready'),
                             ('query', 'running'), ('session', 'ready'),
                             ('session', 'running')])
    ((hog, hog_ns),) = path[3]['others'].items()
    self.assertRegex(hog, r'^hog #\d+$')
    self.assertEqual(hog_ns, path[3]['dur'])
    self.assert_between(hog_ns, truth['delay'])
    output, _ = self.run_command(trace, '--request', 'req-1')
    self.assertRegex(output, r'session 7 could run, but task_tracer \d+ ran hog #\d+ for')

  def test_a_request_that_no_task_works_on(self):
    trace, _ = self.record()
    self.assertIn("no task works on the request 'x'",
                  self.run_command(trace, '--request', 'x', code=1)[1])
    self.assertIn('no task works on a request',
                  self.run_command(b'\x0a\x00', '--slowest', '1', code=1)[1])
    self.assertIn('exclude each other',
                  self.run_command(trace, '--request', 'x', '--slowest', '1', code=2)[1])

  def test_formats_say_the_same(self):
    trace, _ = self.record()
    output, _ = self.run_command(trace, '--format', 'csv')
    rows = list(csv.DictReader(io.StringIO(output)))
    self.assertEqual([{name: str(value) for name, value in row.items()
                       if not isinstance(value, dict)} for row in self.objects(trace)],
                     [{name: value for name, value in row.items()
                       if not value.startswith('{')} for row in rows])
    self.assertIn('--format is csv', self.run_command(trace, '--format', 'x', code=2)[1])

  def test_export(self):
    trace, truth = self.record()
    self.path.write_bytes(trace)
    output = subprocess.run([PZTRACE, 'export', '--tasks', '--format', 'ndjson', '--host',
                             'h', self.path], stdout=subprocess.PIPE, check=True).stdout
    rows = [json.loads(line) for line in output.decode().splitlines()]
    self.assertEqual([row['place'] for row in rows],
                     ['reader', 'connection', 'session', 'query', 'hog'] +
                     5 * ['starved'])
    self.assertEqual(sorted(row['ts'] for row in rows), [row['ts'] for row in rows])
    by_place = {row['place']: row for row in rows}
    session = by_place['session']
    self.assertEqual((session['host'], session['name'], session['request'],
                      session['runs'], session['state'], session['result']),
                     ('h', 'session 7', 'req-1', 2, 'ended', 'done'))
    self.assertTrue(session['source'].endswith('test/pztrace/task_tracer.cc'))
    self.assert_between(session['wait'], truth['wait'])
    self.assertEqual(session['dur'], session['run'] + session['wait'] + session['ready'])
    self.assertEqual(by_place['query']['parent'], session['task'])
    self.assertEqual(by_place['query']['request'], 'req-1')
    self.assertIsNone(by_place['hog']['parent'])
    self.assertEqual(by_place['connection']['result'], 'destroyed')
    self.assertEqual((by_place['reader']['state'], by_place['reader']['dur']),
                     ('waiting', None))

  def test_several_files(self):
    trace, _ = self.record()
    other = self.path.with_suffix('.other')
    other.write_bytes(trace)
    output, _ = self.run_command(trace, other)
    self.assertIn('20 tasks of 6 places, 2 of them had not ended', output)
    output, error = self.run_command(trace, '/no/such', code=1)
    self.assertIn('10 tasks of 6 places', output)
    self.assertIn('/no/such: No such file', error)

  def test_a_trace_without_tasks(self):
    result = subprocess.run([PZTRACE, 'tasks', '-'], input=b'\x0a\x00',
                            stdout=subprocess.PIPE, check=True)
    self.assertIn(b'0 tasks of 0 places', result.stdout)

  def test_many_tasks(self):
    trace, _ = self.record('100000')
    rows = {row['place']: row for row in self.objects(trace)}
    self.assertEqual(rows['leaf']['tasks'], 100000)
    self.assertEqual(rows['leaf']['delays'], 100000)
    self.assertEqual(rows['root']['runs'], 100001)
    self.assertEqual(rows['leaf']['not_ended'], 0)

  def test_any_bytes_are_survived(self):
    trace, _ = self.record()
    for options in (), ('--slowest', '3'), ('--format', 'csv'):
      self.options = options
      for output in self.outputs_of_damaged(trace):
        self.assertNotIn('\x1b', output)


if __name__ == '__main__':
  sys.exit(run_cases())
