#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace cut` on recorded traces, and its errors. Runs in the build directory."""

import os
import pathlib
import re
import subprocess
import sys
import zlib

from cases import run_cases
from timeline_command import PZTRACE, WORKERS, TimelineCommandTest
from track_events import (
    BEGIN, END, INSTANT, MS, arg, category, delimited, described, event, name)

LARGE_TRACE = pathlib.Path.cwd() / 'large_trace'


class CutTest(TimelineCommandTest):
  command = 'cut'
  options = ('-o', '/dev/null', '--from', '5ms')

  def setUp(self):
    super().setUp()
    self.piece = self.path.with_name('piece')

  def cut(self, *args, code=0):
    """Returns what it prints on the standard error."""
    result = subprocess.run([PZTRACE, 'cut', *args, '-o', self.piece, self.path],
                            timeout=60, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    self.assertEqual(result.stdout, b'')
    return result.stderr.decode()

  def rows(self, path, table='--slices', is_whole=True):
    return self.exported_rows(path, table, ('host', 'file', 'self', 'time'), is_whole)

  def test_slices_of_pieces_are_those_of_the_whole(self):
    self.record_workers()
    whole = self.rows(self.path)
    first = min(int(row['ts']) for row in whole)
    last = max(int(row['ts']) + int(row['dur']) for row in whole)
    cuts = [(last - first) * i // 4 for i in range(4)] + [last - first + 1]
    found = []
    for begin, end in zip(cuts, cuts[1:]):
      self.assertEqual(self.cut('--from', f'{begin}ns', '--to', f'{end}ns'), '')
      found += self.rows(self.piece)
    self.assertEqual(sorted(found, key=lambda row: sorted(row.items())), whole)

  def test_an_event_at_the_end_of_a_piece_is_in_the_next_one_only(self):
    trace = (described() + event(1, INSTANT, 0, name('first')) +
             event(1, BEGIN, 10 * MS, name('slice')) +
             event(1, INSTANT, 10 * MS, name('second')) + event(1, END, 10 * MS) +
             event(1, INSTANT, 0, name('third')))
    self.path.write_bytes(trace)
    instants = [(int(row['ts']), row['name']) for row in self.rows(self.path, '--instants')]
    instants.sort()
    self.assertEqual([text for _, text in instants], ['first', 'second', 'third'])
    first_ns = instants[0][0]
    found = []
    slices = []
    ends = [time_ns - first_ns for time_ns, _ in instants] + [10**9]
    for begin, end in zip(ends, ends[1:]):
      self.cut('--from', f'{begin}ns', '--to', f'{end}ns')
      found.append([row['name'] for row in self.rows(self.piece, '--instants')])
      slices += self.rows(self.piece)
    self.assertEqual(found, [['first'], ['second'], ['third']])
    self.assertEqual(slices, self.rows(self.path))

  def test_without_options_nothing_changes(self):
    trace, _ = self.record_workers()
    self.cut()
    self.assertEqual(self.piece.read_bytes(), trace)

  def test_a_process(self):
    self.record_workers()
    whole = self.rows(self.path)
    pids = sorted({row['pid'] for row in whole})
    self.assertEqual(len(pids), 2)
    for args, wanted in (((pids[0],), pids[:1]), (('traced_w*',), pids),
                         (('other', pids[1]), pids[1:])):
      self.cut(*[arg for value in args for arg in ('--process', value)])
      self.assertEqual(self.rows(self.piece),
                       [row for row in whole if row['pid'] in wanted])
    error = self.cut('--process', 'other', code=1)
    self.assertRegex(error, 'no process .other.; there are traced_workers')
    self.assertIn('no events of these processes', error)
    # The process that is there is cut.
    error = self.cut('--process', 'other', '--process', pids[0])
    self.assertRegex(error, 'no process .other.; there are traced_workers')
    self.assertNotIn('no events', error)
    # Counters have none, and stay.
    self.assertIn("the piece has no event of the categories 'nosuch'",
                  self.cut('--categories', 'nosuch'))

  def test_categories(self):
    trace = (described() +
             event(1, BEGIN, 0, name('a'), category('app')) +
             event(1, BEGIN, 1 * MS, name('b'), category('net.dns')) +
             event(1, INSTANT, 1 * MS, name('c'), category('net')) +
             event(1, END, 1 * MS) + event(1, END, 1 * MS))
    self.path.write_bytes(trace)
    whole = self.rows(self.path)
    self.cut('--categories', 'net*')
    self.assertEqual([row['name'] for row in self.rows(self.piece)], ['b'])
    self.assertEqual(self.rows(self.piece, '--instants'),
                     self.rows(self.path, '--instants'))
    self.cut('--categories', 'app')
    self.assertEqual(self.rows(self.piece),
                     [row for row in whole if row['name'] == 'a'])

  def test_strings(self):
    secret = b'the secret of a user'
    trace = (described() + event(1, BEGIN, 0, name(secret.decode()), category('app')) +
             event(1, INSTANT, MS, name('kept'), arg('key', delimited(6, secret)),
                   delimited(1000, secret)) +
             event(1, END, MS))
    compressed = delimited(1, delimited(50, zlib.compress(trace)))
    for content in trace, compressed:
      self.path.write_bytes(content)
      for option in '--drop-strings', '--hash-strings':
        self.assertEqual(self.cut(option, 'secret*user'), '')
        self.assertNotIn(b'secret', self.piece.read_bytes())
        hashes = re.findall(b'#[0-9a-f]{16}', self.piece.read_bytes())
        self.assertEqual(len(hashes), 0 if option == '--drop-strings' else 2)
        self.assertEqual(len(set(hashes)), len(hashes) // 2)
        self.assertEqual([row['dur'] for row in self.rows(self.piece)], [str(2 * MS)])
        self.assertIn('kept', str(self.rows(self.piece, '--instants')))
      self.cut('--drop-strings', 'nothing', '--hash-strings', 'else')
      self.assertEqual(self.piece.read_bytes(), trace)
    self.assertIn('needs a value', self.cut('--drop-strings', '', code=2))

  def test_strings_of_recordings(self):
    trace, _ = self.record_workers()
    rows = self.rows(self.path)
    secret = rows[0]['name']
    self.assertIn(secret.encode(), trace)
    for args in ((), ('--rotate', '1G')):
      result = subprocess.run(
          [PZTRACE, 'record', '-o', self.piece, '--drop-strings', secret, *args, '--',
           WORKERS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, 0, result.stderr)
      path, = self.piece.parent.glob('piece*')
      self.assertNotIn(secret.encode(), path.read_bytes())
      names = {row['name'] for row in self.rows(path)}
      self.assertIn('', names)
      self.assertEqual(names - {''}, {row['name'] for row in rows if secret not in row['name']})
      path.unlink()

  def test_wrong_usage(self):
    self.path.write_bytes(described() + event(1, INSTANT, 0, name('a')))
    self.assertIn('--to has to be later',
                  self.cut('--from', '2s', '--to', '1s', code=2))
    for args, message in ((('-o', self.path), 'cannot replace'),
                          ((), '-o is missing')):
      result = subprocess.run([PZTRACE, 'cut', *args, self.path],
                              stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, 2)
      self.assertIn(message, result.stderr.decode())

  def test_failures(self):
    trace = described() + event(1, INSTANT, 0, name('a'))
    self.path.write_bytes(trace)
    self.assertIn('no events in that time', self.cut('--from', '1s', code=1))
    self.assertFalse(self.piece.exists())
    result = subprocess.run([PZTRACE, 'cut', '-o', self.piece, '-'], input=trace,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, 1)
    self.assertIn('no pipe', result.stderr.decode())
    result = subprocess.run([PZTRACE, 'cut', '-o', '/dev/full', self.path],
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, 1)
    self.assertIn('No space left', result.stderr.decode())
    self.path.write_bytes(trace + b'\x0a\x7f')
    self.assertIn('the trace is damaged', self.cut(code=1))
    self.assertEqual(self.piece.read_bytes(), trace)

  def test_damaged_traces(self):
    trace = described() + b''.join(
        event(1, kind, MS, name('a')) for kind in (BEGIN, INSTANT, END) * 10)
    self.options = ('-o', self.piece, '--from', '5ms')
    num_rows = 0
    for number, _ in enumerate(self.outputs_of_damaged(trace)):
      # Kept packets are as they were. Looking at some of them is quicker.
      for table in ('--slices', '--instants') if number % 8 == 0 else ():
        if self.piece.exists():
          whole = self.rows(self.path, table, is_whole=False)
          rows = self.rows(self.piece, table, is_whole=False)
          num_rows += len(rows)
          for row in rows:
            self.assertIn(row, whole)
      self.piece.unlink(missing_ok=True)
    self.assertGreater(num_rows, 100)

  def test_memory(self):
    if re.search('is_[at]san *= *true', pathlib.Path('args.gn').read_text()):
      self.skipTest('sanitizers take memory')
    with open(self.path, 'wb') as file:
      subprocess.run([LARGE_TRACE, 'slices', '1640000'], stdout=file, check=True)
    with subprocess.Popen([PZTRACE, 'cut', '--from', '10ms', '--categories', '*',
                           '-o', self.piece, self.path]) as process:
      _, status, usage = os.wait4(process.pid, 0)
      process.returncode = status
    self.assertEqual(status, 0)
    self.assertLess(usage.ru_maxrss, 100000)


if __name__ == '__main__':
  sys.exit(run_cases())
