#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Processes and threads that share their ids, in every command that reads traces.
Runs in the build directory."""

import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import time
import unittest

from cases import run_cases
from timeline_command import PZTRACE, WORKERS, TimelineCommandTest, has_sqlite
from track_events import (BEGIN, COUNTER, END, INSTANT, MS, NEEDS_STATE, delimited, integer,
                          name)

EXTENSION_TRACER = pathlib.Path.cwd() / 'extension_tracer'
FLIGHT_TRACER = pathlib.Path.cwd() / 'flight_tracer'
TIMEOUT_S = 60
# A program in it is its process 1.
CONTAINER = ('unshare', '-p', '--fork', '--kill-child', '--mount-proc')


def has_namespaces():
  return subprocess.run([*CONTAINER, 'true'], stderr=subprocess.DEVNULL,
                        check=False).returncode == 0


class Program:
  """Packets of a program with a thread, a counter and another track, as the library
  writes them. A service that knows its pid says that it is `trusted`."""

  def __init__(self, sequence, pid, uuid, process='server', thread='main', tid=1, trusted=0):
    self.sequence, self.uuid, self.trusted = sequence, uuid, trusted
    self.thread_uuid = uuid ^ 16 * (tid + 1)
    self.process = delimited(3, integer(1, pid) + delimited(6, process.encode()))
    self.thread = delimited(4, integer(1, pid) + integer(2, tid) +
                            delimited(5, thread.encode()))

  def packet(self, *fields):
    trusted = integer(79, self.trusted) if self.trusted else b''
    return delimited(1, b''.join(fields) + integer(10, self.sequence) + trusted)

  def track(self, uuid, parent, fields):
    return self.packet(integer(8, 0), delimited(
        60, integer(1, uuid) + integer(5, parent) + fields))

  def begin(self):
    defaults = delimited(59, delimited(11, integer(11, self.thread_uuid)))
    return (self.packet(integer(13, 1), defaults) + self.track(self.uuid, 0, self.process) +
            self.track(self.thread_uuid, self.uuid, self.thread) +
            self.track(self.uuid + 2, self.uuid, delimited(2, b'queue')) +
            self.track(self.uuid + 3, self.uuid,
                       delimited(2, b'load') + delimited(8, integer(3, 3))))

  def event(self, kind, ms, *fields):
    return self.packet(integer(8, 1000 + ms * MS), integer(13, NEEDS_STATE),
                       delimited(11, integer(9, kind) + b''.join(fields)))

  def slice(self, text, begin, end):
    return self.event(BEGIN, begin, name(text)), self.event(END, end)

  def value(self, ms, value):
    return self.event(COUNTER, ms, integer(11, self.uuid + 3), integer(30, value))

  def on_queue(self, text, begin, end):
    track = integer(11, self.uuid + 2)
    return self.event(BEGIN, begin, track, name(text)), self.event(END, end, track)


def two_at_once(first, second):
  """The slice of the second is within the first one's, in time."""
  a_begin, a_end = first.slice('first', 0, 10)
  b_begin, b_end = second.slice('second', 2, 8)
  q_begin, q_end = first.on_queue('first waits', 1, 9)
  r_begin, r_end = second.on_queue('second waits', 3, 7)
  return (first.begin() + second.begin() + a_begin + q_begin + first.value(1, 5) + b_begin +
          r_begin + second.value(3, 7) + r_end + b_end + q_end + a_end)


def containers(same_uuid=False):
  return two_at_once(Program(2, 1, 100, trusted=4711),
                     Program(3, 1, 100 if same_uuid else 200, trusted=4712))


def used_again():
  """One pid and tid, without anything that a service knows."""
  first = Program(2, 7, 100, 'builder', 'lexer', 8)
  second = Program(3, 7, 200, 'deployer', 'uploader', 8)
  return (first.begin() + b''.join(first.slice('first', 0, 10)) +
          second.begin() + b''.join(second.slice('second', 20, 26)))


class IdentityTest(TimelineCommandTest):
  def read(self, trace, command, *args, code=0):
    self.command = command
    return self.run_command(trace, *args, code=code)[0]

  def table(self, trace, table):
    return list(csv.DictReader(io.StringIO(self.read(trace, 'export', '--' + table))))

  def sql(self, trace, query):
    self.path.write_bytes(trace)
    text = subprocess.run([PZTRACE, 'sql', '--format', 'csv', self.path, query], check=True,
                          stdout=subprocess.PIPE, timeout=TIMEOUT_S).stdout.decode()
    return [','.join(row) for row in csv.reader(io.StringIO(text))][1:]

  def selves(self, trace, *args):
    """The time of each slice without those within it."""
    text = self.read(trace, 'export', '--slices', *args)
    return {row['name']: int(row['self']) // MS for row in csv.DictReader(io.StringIO(text))}

  def assert_apart(self, trace):
    self.assertEqual(self.selves(trace), {
        'first': 10, 'second': 6, 'first waits': 8, 'second waits': 4})

  def test_slices_of_containers_do_not_nest(self):
    for same_uuid in (False, True):
      with self.subTest(same_uuid=same_uuid):
        trace = containers(same_uuid)
        self.assert_apart(trace)
        self.assertIn('4 slices of 4 names', self.read(trace, 'top'))
        rows = {row['name']: row for row in self.table(trace, 'slices')}
        for slice_name, process in (('first', 'server'), ('second', 'server (4712)'),
                                    ('first waits', 'server'),
                                    ('second waits', 'server (4712)')):
          row = rows[slice_name]
          self.assertEqual((row['process'], row['pid'], row['tid']),
                           (process, '1', '1' if 'waits' not in slice_name else '0'))
        self.assertEqual([(row['process'], row['value'], row['track'])
                          for row in self.table(trace, 'counters')],
                         [('server', '5', 'load'), ('server (4712)', '7', 'load')])

  def test_a_pipe_is_read_once(self):
    # The default track of a sequence is said before the descriptions.
    for same_uuid in (False, True):
      result = subprocess.run([PZTRACE, 'export', '--slices', '-'], check=True,
                              input=containers(same_uuid), stdout=subprocess.PIPE)
      rows = list(csv.DictReader(io.StringIO(result.stdout.decode())))
      self.assertEqual({row['name']: int(row['self']) // MS for row in rows},
                       {'first': 10, 'second': 6, 'first waits': 8, 'second waits': 4})
      self.assertEqual(len({row['process'] for row in rows}), 2)

  @unittest.skipUnless(has_sqlite(), 'pztrace was built without SQLite')
  def test_processes_of_sql(self):
    names = '''select s.name, th.name, p.name, pid, tid, is_main_thread from slice s
        join thread_track t on t.id = track_id join thread th using (utid)
        join process p using (upid) order by s.ts'''
    for same_uuid in (False, True):
      trace = containers(same_uuid)
      self.assertEqual(self.sql(trace, names), ['first,main,server,1,1,1',
                                                'second,main,server,1,1,1'])
      self.assertEqual(self.sql(trace, 'select count(*), count(distinct upid) from process'),
                       ['2,2'])
      self.assertEqual(self.sql(trace, 'select count(*), count(distinct utid), '
                                'count(distinct upid) from thread'), ['2,2,2'])
      self.assertEqual(self.sql(trace, '''select value, upid from counter c
          join process_counter_track t on t.id = track_id order by ts'''), ['5,1', '7,2'])
    self.assertEqual(self.sql(used_again(), names), ['first,lexer,builder,7,8,0',
                                                     'second,uploader,deployer,7,8,0'])

  def test_ids_that_are_used_again(self):
    trace = used_again()
    self.assertEqual([(row['process'], row['thread'], row['name'])
                      for row in self.table(trace, 'slices')],
                     [('builder', 'lexer', 'first'), ('deployer', 'uploader', 'second')])
    # A server is started again.
    first = Program(2, 7, 100, tid=7)
    second = Program(3, 7, 200, tid=7)
    again = (first.begin() + b''.join(first.slice('first', 0, 10)) +
             second.begin() + b''.join(second.slice('second', 20, 26)))
    self.assertEqual([row['process'] for row in self.table(again, 'slices')],
                     ['server', 'server (2nd)'])
    labels = self.labels(again)
    self.assertIn('server 7', labels)
    self.assertIn('server 7 (2nd)', labels)

  def labels(self, trace):
    """Those of the picture."""
    return re.findall('<text[^>]*>([^<]*)</text>', self.read(trace, 'svg'))

  def test_labels(self):
    for same_uuid in (False, True):
      trace = containers(same_uuid)
      labels = self.labels(trace)
      for label in 'server 1 (4711)', 'server 1 (4712)':
        self.assertEqual(labels.count(label), 1, labels)
      self.assertEqual(labels.count('main 1'), 2)
      self.assertLess(labels.index('server 1 (4711)'), labels.index('server 1 (4712)'))
      page = self.read(trace, 'html')
      for label in 'server 1 (4711)', 'server 1 (4712)':
        self.assertEqual(page.count(json.dumps(label)), 1)

  def test_a_thread_in_a_list_has_its_process(self):
    first, second = Program(2, 1, 100, trusted=4711), Program(3, 1, 200, trusted=4712)
    lost = integer(42, 1)
    trace = (two_at_once(first, second) +
             second.packet(integer(13, 1), lost) + second.begin() +
             second.event(INSTANT, 12, name('after')))
    self.assertIn('main 1 of server 1 (4712): packets are missing in 1 place',
                  self.read(trace, 'top'))

  def test_pieces_and_what_is_made_of_them(self):
    for same_uuid in (False, True):
      trace = containers(same_uuid)
      pieces = []
      for pid in '4711', '4712':
        piece = self.path.with_name('piece' + pid)
        self.read(trace, 'cut', '--process', pid, '-o', piece)
        pieces.append(piece)
      self.assertEqual(self.selves(pieces[0].read_bytes()), {'first': 10, 'first waits': 8})
      self.assertEqual(self.selves(pieces[1].read_bytes()), {'second': 6, 'second waits': 4})
      merged = self.path.with_name('merged')
      result = subprocess.run([PZTRACE, 'merge', '-o', merged, *pieces], check=False,
                              stderr=subprocess.PIPE, text=True)
      if same_uuid:
        # Nothing but the numbers of sequences changes: Perfetto sees one track.
        self.assertEqual(result.returncode, 1)
        self.assertIn('is another one in', result.stderr)
      else:
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_apart(merged.read_bytes())
      # Files of one recording.
      self.assert_apart(b''.join(piece.read_bytes() for piece in pieces))
      # Both, one in time after the other.
      halves = [self.path.with_name('half' + side) for side in '12']
      self.read(trace, 'cut', '--to', '9500us', '-o', halves[0])
      self.read(trace, 'cut', '--from', '5ms', '-o', halves[1])
      for half in halves:
        self.assertEqual(len({row['process'] for row in
                              self.table(half.read_bytes(), 'slices')}), 2)

  def test_one_process_in_several_files(self):
    program = Program(2, 1, 100, trusted=4711)
    same = Program(3, 1, 100, thread='worker', tid=2, trusted=4711)
    trace = (program.begin() + b''.join(program.slice('first', 0, 10)) + same.begin() +
             program.begin() + b''.join(program.slice('second', 20, 26)))
    self.assertEqual({row['process'] for row in self.table(trace, 'slices')}, {'server'})
    labels = self.labels(trace)
    self.assertEqual(labels.count('server 1 (4711)'), 1)
    self.assertEqual(labels.count('main 1'), 1)
    # A recorder in the container, one outside and none.
    for pid in 1, 4711, 0:
      files = []
      for i, trusted in enumerate((pid, 4711)):
        files.append(self.path.with_name('file%d' % i))
        part = Program(2, 1, 100, trusted=trusted)
        files[-1].write_bytes(part.begin() + b''.join(part.slice('s', 20 * i, 20 * i + 5)))
      merged = self.path.with_name('merged')
      subprocess.run([PZTRACE, 'merge', '-o', merged, *files], check=True)
      self.assertEqual({row['process'] for row in
                        self.table(merged.read_bytes(), 'slices')}, {'server'})

  def test_a_thread_zero(self):
    program = Program(2, 7, 100, thread='first', tid=0)
    other = Program(3, 8, 200, 'other')
    trace = (program.begin() + b''.join(program.slice('first', 0, 10)) +
             other.begin() + b''.join(other.slice('second', 0, 10)))
    rows = self.table(trace, 'slices')
    self.assertEqual([(row['process'], row['thread']) for row in rows],
                     [('server', 'first'), ('other', 'main')])
    self.command = 'cut'
    error = self.run_command(trace, '--process', 'none', '-o', '/dev/null', code=1)[1]
    self.assertIn('; there are server (7), other (8)', error)

  @unittest.skipUnless(has_sqlite(), 'pztrace was built without SQLite')
  def test_threads_zero_and_one_are_all_threads(self):
    program = Program(2, 7, 100, thread='first', tid=0)
    other = Program(3, 7, 100, thread='second', tid=1)
    trace = (program.begin() + b''.join(program.slice('a', 0, 10)) +
             other.begin() + b''.join(other.slice('b', 0, 10)))
    self.assertEqual(self.sql(trace, 'select tid, name, upid from thread order by tid'),
                     ['0,first,1', '1,second,1'])

  @unittest.skipUnless(has_namespaces(), 'needs namespaces')
  def test_recorded_containers(self):
    command = '%s "$0" & %s "$0"; wait' % ((' '.join(CONTAINER),) * 2)
    subprocess.run([PZTRACE, 'record', '-o', self.path, '--', 'sh', '-c', command, WORKERS],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
                   timeout=TIMEOUT_S)
    trace = self.path.read_bytes()
    processes = {(row['process'], row['pid']) for row in self.table(trace, 'slices')}
    # Each program starts another one.
    self.assertEqual(len(processes), 4, processes)
    labels = {label for label in self.labels(trace) if label.startswith('traced_workers ')}
    self.assertEqual(len(labels), 4, labels)
    # The slices of an item are within it, and take less time than it in all.
    for row in self.table(trace, 'slices'):
      self.assertLessEqual(int(row['self']), int(row['dur']))
      self.assertLess(int(row['depth']), 2, row)

  @unittest.skipUnless(has_namespaces(), 'needs namespaces')
  def test_local_traces_of_containers(self):
    # They are started at the same time, which is a part of a process's number.
    folders = [self.path.with_name(f'local{i}') for i in range(3)]
    programs = [subprocess.Popen([*CONTAINER, EXTENSION_TRACER, path, '5'])
                for path in folders]
    for program in programs:
      self.assertEqual(program.wait(TIMEOUT_S), 0)
    merged = self.path.with_name('merged')
    subprocess.run([PZTRACE, 'merge', '-o', merged, *folders], check=True)
    rows = self.table(merged.read_bytes(), 'slices') + self.table(
        merged.read_bytes(), 'instants')
    self.assertEqual({row['pid'] for row in rows}, {'1'})
    self.assertEqual(len({row['process'] for row in rows}), 3)

  @unittest.skipUnless(has_namespaces(), 'needs namespaces')
  def test_flight_recorders_of_containers(self):
    traces = []
    for i in range(2):
      flight = self.path.with_name(f'flight{i}')
      program = subprocess.Popen([*CONTAINER, FLIGHT_TRACER, flight, str(1 << 20), '1'])
      self.addCleanup(program.wait, TIMEOUT_S)
      self.addCleanup(program.kill)
      # The program counts what it has traced.
      count = flight.with_name(flight.name + '.count')
      until = time.monotonic() + TIMEOUT_S
      while not count.exists() or not any(count.read_bytes()):
        self.assertLess(time.monotonic(), until)
        time.sleep(0.01)
      program.kill()
      traces.append(self.path.with_name(f'recovered{i}'))
      subprocess.run([PZTRACE, 'recover', '-o', traces[-1], flight], check=True,
                     stderr=subprocess.DEVNULL)
    merged = self.path.with_name('merged')
    subprocess.run([PZTRACE, 'merge', '-o', merged, *traces], check=True)
    rows = self.table(merged.read_bytes(), 'instants')
    self.assertEqual({row['pid'] for row in rows}, {'1'})
    self.assertEqual(len({row['process'] for row in rows}), 2)


if __name__ == '__main__':
  sys.exit(run_cases())
