#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace export` prints the events of traces as tables: on traces of known content,
and whatever the bytes are. Runs in the build directory."""

import csv
import io
import json
import subprocess
import sys

from cases import run_cases
from timeline_command import PZTRACE, TimelineCommandTest
from wire import delimited, double, fixed64, integer
from track_events import (
    BEGIN, COUNTER, END, INSTANT, MS, PROCESS, arg, category, described, event,
    first_packet, name, packet, track)

QUEUE = 9
TABLES = '--slices', '--instants', '--counters', '--tasks', '--losses'


class ExportTest(TimelineCommandTest):
  command = 'export'

  def rows(self, trace, *args):
    """The rows of both formats, which have to agree."""
    text, error = self.run_command(trace, '--host', 'h', *args)
    self.assertEqual(error, '')
    rows = list(csv.DictReader(io.StringIO(text, newline='')))
    lines, _ = self.run_command(trace, '--host', 'h', '--format', 'ndjson', *args)
    objects = [json.loads(line) for line in lines.splitlines()]
    for row, of_json in zip(rows, objects, strict=True):
      self.assertEqual(list(row), list(of_json))
      for column, value in of_json.items():
        if isinstance(value, (dict, list)):
          self.assertEqual(json.loads(row[column]), value)
        else:
          self.assertEqual(row[column], '' if value is None else str(value))
    return objects

  def test_slices(self):
    clocks = b''.join(delimited(1, integer(1, clock) + integer(2, time))
                      for clock, time in ((1, 5000000), (6, 3000)))
    trace = (packet(9, delimited(6, clocks)) + described() +
             event(1, BEGIN, 0, name('outer'), category('app'),
                   arg('n', integer(4, -5))) +
             event(1, BEGIN, 2 * MS, name('inner')) + event(1, END, 4 * MS) +
             event(1, END, 4 * MS, arg('result', integer(2, 1))))
    inner, outer = self.rows(trace, '--slices')
    self.assertEqual(outer, {
        'host': 'h', 'file': str(self.path), 'process': 'app', 'pid': 41,
        'tid': 42, 'thread': 'main', 'track': '', 'ts': 1000,
        'time': 1000 + 5000000 - 3000, 'dur': 10 * MS, 'self': 6 * MS, 'depth': 0, 'row': 0,
        'category': 'app', 'name': 'outer', 'args': {'n': -5, 'result': True},
        'flows': [], 'ended_flows': [], 'ran': None, 'ready': None, 'waited': None})
    self.assertEqual((inner['name'], inner['depth'], inner['ts']),
                     ('inner', 1, 1000 + 2 * MS))

  def test_thread_zero_is_a_thread(self):
    trace = described() + track(100, delimited(4, integer(1, 41) + integer(2, 0) +
                                               delimited(5, b'first')), parent=PROCESS)
    for uuid in 100, PROCESS:
      trace += event(1, INSTANT, MS, name('a'), integer(11, uuid))
    self.assertEqual([(row['process'], row['pid'], row['tid'], row['thread'])
                      for row in self.rows(trace, '--instants')],
                     [('app', 41, 0, 'first'), ('app', 41, 0, '')])
    self.path.write_bytes(trace)
    svg = subprocess.run([PZTRACE, 'svg', self.path], stdout=subprocess.PIPE, check=True)
    self.assertIn(b'first 0', svg.stdout)
    self.assertIn(b'app 41', svg.stdout)

  def test_values_of_all_types(self):
    interned = (delimited(3, integer(1, 1) + delimited(2, b'key')) +
                delimited(29, integer(1, 6) + delimited(2, b'interned')))
    nested = (delimited(11, delimited(10, b'a') + integer(3, 2**64 - 1)) +
              delimited(11, delimited(10, b'b') +
                        delimited(12, integer(3, 1)) +
                        delimited(12, delimited(6, b'x'))))
    instant = event(1, INSTANT, 0, name('all'),
                    delimited(4, integer(1, 1) + double(5, 1.5)),
                    arg('nan', double(5, float('nan'))),
                    arg('text', delimited(6, 'quote" \\ \u20ac\n'.encode())),
                    arg('bytes', delimited(6, b'\xff\xc3')),
                    arg('pointer', integer(7, 255)), arg('dict', nested),
                    arg('iid', integer(17, 6)), arg('nothing', b''),
                    fixed64(47, 2**64 - 1), fixed64(48, 7))
    row, = self.rows(described(interned) + instant, '--instants')
    self.assertEqual(row['args'], {
        'key': 1.5, 'nan': 'NaN', 'text': 'quote" \\ \u20ac\n',
        'bytes': '\ufffd\ufffd', 'pointer': '0xff',
        'dict': {'a': 2**64 - 1, 'b': [1, 'x']}, 'iid': 'interned',
        'nothing': None})
    self.assertEqual(row['flows'], [2**64 - 1, 7])
    self.assertIsNone(row['time'])

  def test_counters_of_tracks_in_tracks(self):
    unit = delimited(8, integer(3, 3) + integer(4, 1000))
    trace = (described() + track(10, delimited(2, b'pool'), parent=PROCESS) +
             track(QUEUE, delimited(2, b'queue'), unit, parent=10) +
             event(1, COUNTER, 5, integer(11, QUEUE), integer(30, 7)) +
             event(1, COUNTER, 5, integer(11, QUEUE), double(44, 0.25)))
    first, second = self.rows(trace, '--counters')
    self.assertEqual(
        [first[column] for column in ('track', 'pid', 'tid', 'unit', 'value')],
        ['pool/queue', 41, 0, 'bytes', 7000])
    self.assertEqual(second['value'], 250)

  def test_names_mean_another_thing_after_a_clear(self):
    def known_as(text):
      return first_packet(1, interned=delimited(2, integer(1, 3) +
                                                delimited(2, text)))
    instant = event(1, INSTANT, 1, integer(10, 3))
    trace = known_as(b'before') + instant + known_as(b'after') + instant
    self.assertEqual([row['name'] for row in self.rows(trace, '--instants')],
                     ['before', 'after'])

  def test_losses_by_reason_and_by_thread(self):
    lost = b''.join(delimited(1003, integer(1, reason) + integer(2, packets))
                    for reason, packets in ((1, 10), (6, 2)))
    stats = delimited(35, delimited(1, lost) + delimited(1, integer(19, 3)))
    # The first packet is no gap.
    trace = (described(dropped=1) + event(1, INSTANT, 0, name('x'), dropped=1) +
             described() + event(1, INSTANT, 0, name('x'), dropped=1) +
             packet(9, stats))
    rows = self.rows(trace, '--losses')
    self.assertEqual([(row['reason'], row['packets'], row['places'])
                      for row in rows],
                     [('reason unknown', 3, None), ('shared memory full', 10, None),
                      ('overwritten in the buffer', 2, None), ('', None, 2)])
    self.assertEqual(
        [rows[3][column] for column in ('process', 'pid', 'thread', 'tid')],
        ['app', 41, 'main', 42])

  def test_cells_are_quoted(self):
    evil = 'a,"b"\r\nc'
    trace = described() + event(1, INSTANT, 0, name(evil))
    self.assertEqual(self.rows(trace, '--instants')[0]['name'], evil)

  def test_csv_tells_null_from_an_empty_text_and_has_no_control_characters(self):
    trace = described() + event(1, INSTANT, 0, name('a\x00\x1b\x7f\x85\tb\u00e9'))
    text, _ = self.run_command(trace, '--instants')
    cells = text.splitlines()[1].split(',')
    self.assertEqual(cells[8:11], ['', '""', 'a\\u0000\\u001b\\u007f\\u0085\tb\u00e9'])
    row = json.loads(self.run_command(trace, '--instants', '--format', 'ndjson')[0])
    self.assertEqual(row['name'], 'a\x00\x1b\x7f\x85\tb\u00e9')

  def test_formulas(self):
    for text in '=1', '+1', '-1', '@a', '\t=1', '=a,"':
      trace = described() + event(1, INSTANT, 0, name(text))
      for args, before in ((), ''), (('--escape-formulas',), "'"):
        out, _ = self.run_command(trace, '--instants', *args)
        row, = csv.DictReader(io.StringIO(out, newline=''))
        self.assertEqual(row['name'], before + text)
    self.assertIn('is for --format csv', self.run_command(
        b'', '--instants', '--escape-formulas', '--format', 'ndjson', code=2)[1])

  def test_all_tables_in_one_reading(self):
    trace, _ = self.record_workers()
    folder = self.path.parent / 'tables'
    for suffix, args in ('csv', ()), ('ndjson', ('--format', 'ndjson')):
      self.assertEqual(self.run_command(trace, '-o', folder, *args), ('', ''))
      for table in TABLES:
        self.assertEqual((folder / (table[2:] + '.' + suffix)).read_bytes().decode(),
                         self.run_command(trace, table, *args)[0])
    # From a pipe, and some of them.
    some = self.path.parent / 'some'
    subprocess.run([PZTRACE, 'export', '-o', some, '--slices', '--losses', '-'],
                   input=trace, check=True)
    self.assertEqual(sorted(path.name for path in some.iterdir()),
                     ['losses.csv', 'slices.csv'])
    self.assertIn('trace: ', self.run_command(trace, '-o', self.path, code=1)[1])

  def test_siblings_of_one_name_share_rows(self):
    trace = described()
    # Each lasts 10, and begins 4 after the one before it.
    for i in range(20):
      trace += track(100 + i, parent=PROCESS)
      trace += event(1, BEGIN, 2, name('request'), integer(11, 100 + i))
      trace += event(1, BEGIN, 0, name('inner'), integer(11, 100 + i))
      trace += event(1, END, 1, integer(11, 100 + i))
      if i >= 2:
        trace += event(1, END, 1, integer(11, 98 + i))
    trace += (event(1, END, 3, integer(11, 118)) + event(1, END, 4, integer(11, 119)) +
              event(1, BEGIN, 0, name('main')) + event(1, END, 1))
    rows = self.rows(trace, '--slices')
    self.assertEqual({row['row'] for row in rows}, {0, 1, 2})
    roots = [row for row in rows if row['name'] == 'request']
    for row in range(3):
      ends = 0
      for root in sorted((r for r in roots if r['row'] == row), key=lambda r: r['ts']):
        self.assertGreaterEqual(root['ts'], ends)
        ends = root['ts'] + root['dur']
        inner = [r for r in rows if r['name'] == 'inner' and r['row'] == row and
                 root['ts'] <= r['ts'] < ends]
        self.assertEqual(len(inner), 1)
    self.assertEqual([r['row'] for r in rows if r['name'] == 'main'], [0])

  def test_slices_without_an_end(self):
    trace = (described() + event(1, BEGIN, 0, name('outer')) +
             event(1, BEGIN, 5, name('inner')) + event(1, INSTANT, 10, name('last')) +
             # The recording goes on for 100 ns.
             packet(9, delimited(6, delimited(1, integer(1, 6) + integer(2, 1115)))))
    for args, expected in ((), []), (('--unfinished',), [('inner', 1), ('outer', 0)]):
      out, error = self.run_command(trace, '--slices', '--format', 'ndjson', *args)
      rows = [json.loads(line) for line in out.splitlines()]
      self.assertEqual([(row['name'], row['depth']) for row in rows], expected)
      self.assertEqual([(row['dur'], row['self']) for row in rows],
                       [(110, None), (115, None)] if rows else [])
      self.assertEqual(error, '2 slices had not ended\n')

  def test_paths_of_tracks(self):
    trace = described()
    parent = PROCESS
    for i in range(100):
      trace += track(100 + i, delimited(2, b'%d' % i), parent=parent)
      parent = 100 + i
    # A circle, and a name that is cut at a whole character.
    trace += (track(300, delimited(2, b'a'), parent=301) +
              track(301, delimited(2, b'b'), parent=300) +
              track(302, delimited(2, b'x' * 1023 + '\u20ac\u20ac'.encode())))
    for number in 199, 300, 302:
      trace += event(1, INSTANT, 0, name('x'), integer(11, number))
    deep, circle, long = self.rows(trace, '--instants')
    self.assertEqual(deep['track'], '/'.join(str(i) for i in range(100)))
    self.assertEqual((deep['process'], deep['pid']), ('app', 41))
    self.assertEqual(circle['track'], 'b/a')
    self.assertEqual(long['track'], 'x' * 1023 + '...')

  def test_numbers_that_are_not_finite(self):
    trace = described() + track(QUEUE, delimited(2, b'queue'))
    for number in float('nan'), float('inf'), float('-inf'), -0.0, 1e15, 0.1, 7:
      trace += event(1, COUNTER, 0, integer(11, QUEUE), double(44, number))
    out, _ = self.run_command(trace, '--counters')
    self.assertEqual([row['value'] for row in csv.DictReader(io.StringIO(out, newline=''))],
                     ['NaN', 'Infinity', '-Infinity', '-0', '1e+15', '0.1', '7'])

  def test_deep_dictionaries_end(self):
    value = integer(3, 1)
    for _ in range(5000):
      value = delimited(11, value)
    trace = described() + event(1, INSTANT, 0, arg('deep', value))
    row, = self.rows(trace, '--instants')
    self.assertIn('deep', row['args'])

  def test_several_files(self):
    self.path.write_bytes(described() + event(1, INSTANT, 0, name('x')))
    for damaged in False, True:
      result = subprocess.run(
          [PZTRACE, 'export', '--instants', self.path, '-', self.path],
          input=self.path.read_bytes()[:-1] if damaged else described(),
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, int(damaged))
      self.assertEqual(b'<stdin>: the trace is damaged' in result.stderr, damaged)
      self.assertEqual(result.stdout.count(b',x,'), 2)

  def test_usage(self):
    for args in [], ['--slices', '--counters']:
      self.assertIn('one of --slices', self.run_command(b'', *args, code=2)[1])
    self.assertIn('--format is', self.run_command(
        b'', '--slices', '--format', 'xml', code=2)[1])

  def test_a_whole_recording(self):
    trace, items = self.record_workers()
    slices = self.rows(trace, '--slices')
    self.assertEqual(len(slices), 5 * items)
    self.assertEqual({row['process'] for row in slices}, {'traced_workers'})
    numbers = [row['args']['number'] for row in slices if row['name'] == 'item']
    self.assertEqual(sorted(numbers), sorted([*range(items // 2)] * 2))
    self.assertEqual(len(self.rows(trace, '--counters')), items)
    # `top` counts as many.
    top = subprocess.run([PZTRACE, 'top', self.path], stdout=subprocess.PIPE,
                         check=True).stdout.decode()
    self.assertIn('%d slices of 5 names\n' % len(slices), top)

  def test_any_bytes_are_survived(self):
    whole = described() + b''.join(
        event(1, kind, 3, name('x'), integer(11, kind % 3), integer(30, 7),
              arg('k', integer(3, 1)), fixed64(47, 1))
        for kind in (1, 1, 2, 3, 4, 2, 2))
    for table in TABLES:
      self.options = ('--format', 'ndjson', table)
      for output in self.outputs_of_damaged(whole):
        for line in output.splitlines():
          json.loads(line)


if __name__ == '__main__':
  sys.exit(run_cases())
