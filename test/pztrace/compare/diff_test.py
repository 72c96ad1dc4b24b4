#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace diff` compares runs: on traces of known content, and whatever the bytes
are. Runs in the build directory."""

import json
import os
import pty
import re
import subprocess
import sys

from cases import run_cases
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import BEGIN, END, MS, category, event, first_packet, name


def call(text, self_ns, *inner):
  """A slice that takes as long besides those within it."""
  return event(1, BEGIN, 0, name(text)) + b''.join(inner) + event(1, END, self_ns)


def run(*calls):
  return first_packet(1, track=3) + b''.join(calls)


def cells_of(output, heading, row):
  """The cells of the lines of a row of the list below `heading`, by their first one."""
  lines = iter(next(part for part in output.split('\n\n')
                    if part.startswith(heading)).splitlines())
  if not any(line[2:] == row for line in lines):
    raise AssertionError('no row %r in %s' % (row, output))
  cells = {}
  for line in lines:
    if not line.startswith('    '):
      break
    column, *rest = line.split()
    cells[column] = ' '.join(rest)
  return cells


class DiffTest(TimelineCommandTest):
  command = 'diff'

  def write(self, number, trace):
    path = self.path.with_suffix('.%d' % number)
    path.write_bytes(trace)
    return path

  def compare(self, before, after, *options, code=0):
    """Returns what it prints about these runs, and its errors."""
    files = [self.write(i, trace) for i, trace in enumerate([*before, *after[:-1]])]
    return self.run_command(after[-1], *options, *files[:len(before)], '--',
                            *files[len(before):], code=code)

  def rows(self, before, after):
    """The rows of a table, by path, and by name."""
    output, _ = self.compare(before, after, '--format', 'ndjson')
    rows = [json.loads(line) for line in output.splitlines()]
    return ({row['path']: row for row in rows if row['path'] is not None},
            {row['name']: row for row in rows if row['path'] is None})

  def test_one_run_a_side(self):
    before = run(call('main', 2 * MS, call('load', 4 * MS), call('load', 4 * MS)),
                 call('load', 2 * MS))
    after = run(call('main', 3 * MS, call('load', 5 * MS), call('load', 5 * MS)),
                call('load', 2 * MS))
    output, error = self.compare([before], [after])
    self.assertEqual(error, '')
    self.assertEqual(cells_of(output, 'by name', 'load')['count'], '3 3 0 +0.0 %')
    self.assertEqual(cells_of(output, 'by name', 'load')['self'],
                     '10.00 ms 12.00 ms +2.00 ms +20.0 %')
    self.assertEqual(cells_of(output, 'by name', 'main')['total'],
                     '10.00 ms 13.00 ms +3.00 ms +30.0 %')
    self.assertEqual(cells_of(output, 'by path', 'main > load')['total'],
                     '8.00 ms 10.00 ms +2.00 ms +25.0 %')
    self.assertEqual(cells_of(output, 'by path', 'load')['total'],
                     '2.00 ms 2.00 ms 0 ns +0.0 %')
    self.assertEqual(output.splitlines()[-2:], [
        '1 run before and 1 after: 2 names, 3 paths',
        'no intervals: so few runs do not say how much runs differ without a change; 4 '
        'of each side do'])

  def test_the_sides_are_said(self):
    traces = [run(call('a', 5 + i)) for i in range(5)]
    before, after = self.write(0, traces[0]), self.write(1, traces[1])
    output, error = self.run_command(traces[2], before, '--', after)
    sides = ['before: %s' % before, 'after: %s %s' % (after, self.path)]
    self.assertEqual(output.splitlines()[:3], [*sides, ''])
    self.assertEqual(error, '')
    self.assertIn('1 run before and 2 after', output)
    # Two files need no word between them.
    output, _ = self.run_command(traces[2], before)
    self.assertEqual(output.splitlines()[:2], [sides[0], 'after: %s' % self.path])
    _, error = self.run_command(traces[2], '--format', 'csv', before, '--', after)
    self.assertEqual(error.splitlines()[:2], sides)

  def test_pairs(self):
    levels = [(7 * i) % 30 + 10 for i in range(30)]
    before = [run(call('same', 1000 * level + level % 3), call('slower', 1000 * level))
              for level in levels]
    after = [run(call('same', 1000 * level + (level + 1) % 3), call('slower', 1030 * level))
             for level in levels]
    unpaired, _ = self.compare(before, after)
    self.assertIn('-', cells_of(unpaired, 'by name', 'slower')['self'].split('%')[1])
    paired, _ = self.compare(before, after, '--paired')
    rows = paired.split('\n\n')[1].splitlines()
    self.assertEqual([line for line in rows if line[2] != ' ' and rows.index(line)],
                     ['* slower', '  same'])
    difference, interval = re.search(
        r'\+(\S+) % \+(\S+ % to \+\S+) %', cells_of(paired, 'by name', 'slower')['self']).groups()
    low, high = interval.split(' % to ')
    self.assertTrue(2.9 < float(low) <= float(difference) <= float(high) < 3.1, interval)
    # A run without a slice: its pair has no percentile.
    without = [run(call('slower', 1)), *before[1:]]
    output, _ = self.compare(without, after, '--paired', '--format', 'ndjson')
    same = next(row for row in map(json.loads, output.splitlines()) if row['name'] == 'same')
    self.assertGreater(same['self_diff'], -5)
    self.assertLess(same['p50_high'], 5 + 0.06 * 39000)
    output, _ = self.compare(before[:5], after[:5], '--paired')
    self.assertIn('no intervals', output)
    self.assertTrue(output.endswith('; 6 pairs do\n'), output)
    # A pair of which a half is missing would move all after it.
    output, error = self.compare([before[0][:-3], *before[1:]], after, '--paired', code=1)
    self.assertEqual(output, '')
    self.assertIn('--paired: a run lacks the other of its pair', error)

  def test_p50_may_stand_out_alone(self):
    # Most calls have become slower, the sum has not.
    before = [run(*[call('a', 1000 + i)] * 9, call('a', 1000 * MS * (i % 5))) for i in range(8)]
    after = [run(*[call('a', 1400 + i)] * 9, call('a', 1000 * MS * (i % 5))) for i in range(8)]
    output, _ = self.compare(before, after)
    self.assertIn('\n* a\n', output)
    self.assertIn('-', cells_of(output, 'by name', 'a')['self'].split('%')[1])
    self.assertRegex(cells_of(output, 'by name', 'a')['p50'], r'\+3\d\.\d % to \+[34]\d\.\d %$')

  def test_new_and_vanished_names(self):
    output, _ = self.compare([run(call('old', 5), call('same', 1))],
                             [run(call('new', 7, call('newest', 2)), call('same', 1))])
    self.assertEqual(cells_of(output, 'by name', 'old: vanished'), {
        'count': '1 0 -1 -100.0 %', 'total': '5 ns 0 ns -5 ns -100.0 %',
        'self': '5 ns 0 ns -5 ns -100.0 %'})
    self.assertEqual(cells_of(output, 'by name', 'new: new')['total'], '0 ns 9 ns +9 ns')
    self.assertEqual(cells_of(output, 'by path', 'new > newest: new')['self'],
                     '0 ns 2 ns +2 ns')
    # The names that have changed most come first.
    self.assertEqual([line[2:] for line in output.split('\n\n')[1].splitlines()[1:]
                      if line[2] != ' '],
                     ['new: new', 'old: vanished', 'newest: new', 'same'])

  def test_names_without_an_end_are_not_new(self):
    ended = run(call('main', 9))
    runs = run(event(1, BEGIN, 1, name('main')))
    for before, after in ((ended, runs), (runs, ended)):
      output, _ = self.compare([before], [after])
      self.assertNotIn('vanished', output)
      self.assertNotIn(': new', output)

  def test_several_runs_a_side(self):
    # Both change as much. Of one, that is less than what its runs differ by.
    before = [run(call('sure', 100 + i), call('noisy', 100 * (i + 1))) for i in range(5)]
    after = [run(call('sure', 130 + i), call('noisy', 100 * (i + 1) + 30))
             for i in (4, 2, 0, 1, 3)]
    output, _ = self.compare(before, after)
    self.assertEqual([line for line in output.splitlines() if line[:2].strip() == '*'
                      or line.startswith('  noisy')], ['* sure', '  noisy'])
    self.assertEqual(cells_of(output, 'by name', 'sure')['self'],
                     '102 ns 132 ns +30 ns +29.4 % +26.2 % to +32.7 %')
    self.assertIn('-', cells_of(output, 'by name', 'noisy')['self'].split('%')[1])
    self.assertNotIn('by path', output)  # They would be the same.
    self.assertNotIn('no intervals', output)
    self.assertNotIn('\x1b', output)
    # The interval goes from the third of the 25 differences to the third from the end.
    rows, names = self.rows(before, after)
    self.assertEqual(set(rows), {'sure', 'noisy'})
    self.assertEqual([names['sure'][column] for column in (
        'runs_before', 'runs_after', 'stands_out', 'self_before', 'self_after', 'self_diff',
        'self_low', 'self_high')], [5, 5, True, 102, 132, 30, 27, 33])
    self.assertLess(names['noisy']['self_low'], 0)
    self.assertGreater(names['noisy']['self_high'], 0)
    self.assertFalse(names['noisy']['stands_out'])

  def test_a_run_without_a_slice_has_spent_no_time_in_it(self):
    before = [run(call('a', 10))] * 4
    after = [run(call('a', 10), call('rare', 8)), run(call('a', 10))] * 2
    _, names = self.rows(before, after)
    rare = names['rare']
    self.assertEqual([rare['was_there'], rare['is_there'], rare['self_before'],
                      rare['self_after'], rare['self_diff']], [False, True, 0, 4, 4])
    self.assertEqual([rare['self_low'], rare['self_high']], [0, 8])
    self.assertIsNone(rare['p50_diff'])
    self.assertEqual([names['a'][key] for key in ('self_diff', 'self_low', 'self_high')],
                     [0, 0, 0])

  def test_percentiles(self):
    before = run(*(call('a', 1000 + i) for i in range(100)))
    after = run(*(call('a', 2 * (1000 + i)) for i in range(99)), call('a', 1 * MS))
    _, names = self.rows([before], [after])
    for column, old, new in (('p50', 1050, 2100), ('p99', 1098, 2196)):
      self.assertAlmostEqual(names['a'][column + '_before'], old, delta=0.06 * old)
      self.assertAlmostEqual(names['a'][column + '_after'], new, delta=0.06 * new)

  def test_percentiles_of_short_slices(self):
    for duration in 0, 1, 2, 7:
      trace = run(call('call', duration))
      row = self.rows([trace], [trace])[1]['call']
      self.assertEqual((row['p50_before'], row['p99_before']), (duration, duration))

  def test_the_slice_around_may_not_end(self):
    trace = run(event(1, BEGIN, 1, name('main')), call('a', 5))
    rows, names = self.rows([trace], [trace])
    self.assertEqual(list(rows), ['main > a'])
    self.assertEqual(list(names), ['a'])

  def test_paths_differ_by_category(self):
    trace = (first_packet(1, track=3) +
             b''.join(event(1, BEGIN, 0, name('a'), category(group)) + event(1, END, 3)
                      for group in ('app', 'net')))
    output, _ = self.compare([trace], [trace])
    self.assertEqual(cells_of(output, 'by name', 'a (net)')['total'],
                     '3 ns 3 ns 0 ns +0.0 %')
    self.assertTrue(output.splitlines()[-2].endswith('2 names, 2 paths'))

  def test_long_paths_lose_outer_names(self):
    trace = call('last', 1)
    for i in range(40):
      trace = call('name %d' % i, 1, trace)
    output, _ = self.compare([run(trace)], [run(trace)], '--limit', '100')
    paths = [line for line in output.splitlines() if line.endswith('> last')]
    self.assertEqual(len(paths), 1)
    self.assertRegex(paths[0], r'^  \.\.\. > name \d+ > .* > name 0 > last$')
    self.assertLessEqual(len(paths[0]), 250)
    trace = run(call('outer', 1, call('x' * 1000, 1)))
    output, _ = self.compare([trace], [trace])
    self.assertIn('  ... > %s...\n' % ('x' * 240), output)

  def test_very_many_paths_are_folded(self):
    def trace(names):
      inner = b''
      for _ in range(3):
        inner = b''.join(call(text, 1, inner) for text in names)
      return run(inner)
    names = ['name %d' % i for i in range(47)]  # 106,079 paths.
    output, _ = self.compare([trace(names)], [trace(names[::-1])], '--limit', '1000000')
    self.assertEqual(cells_of(output, 'by name', 'name 46')['count'], '2257 2257 0 +0.0 %')
    self.assertEqual(cells_of(output, 'by path', 'name 44 > (other)'), {
        'count': '1536 1536 0 +0.0 %', 'total': '3.04 us 3.04 us 0 ns +0.0 %',
        'self': '1.54 us 1.54 us 0 ns +0.0 %'})
    self.assertFalse(': new\n' in output or ': vanished\n' in output)
    self.assertEqual(output.splitlines()[-1], '24316 slices of folded paths are in (other): a '
                     'run has more than 100000 paths')

  def test_a_terminal_has_colors(self):
    files = []
    for side, slower, faster in (0, 10, 30), (4, 20, 20):
      files += [self.write(side + i, run(call('slower', slower + i), call('faster', faster + i)))
                for i in range(4)]
    files.insert(4, '--')
    main, terminal = pty.openpty()
    environment = {**os.environ, 'TERM': 'xterm'}
    environment.pop('NO_COLOR', None)
    with os.fdopen(main, 'rb', buffering=0) as reader:
      # The output is smaller than what a terminal keeps.
      result = subprocess.run([PZTRACE, 'diff', *files], stdout=terminal, env=environment,
                              timeout=60, check=False)
      output = reader.read(1 << 16).decode().replace('\r\n', '\n')
      os.close(terminal)
    self.assertEqual(result.returncode, 0)
    self.assertRegex(output, r'slower\n    count [^\n]*\n\x1b\[31m    total .*\x1b\[0m\n')
    self.assertRegex(output, r'faster\n    count [^\n]*\n\x1b\[32m    total .*\x1b\[0m\n')

  def test_page(self):
    before = [run(call('main', 10 + i, call('parse', 100 + i), call('old', 5)))
              for i in range(4)]
    after = [run(call('main', 10 + i, call('parse', 130 + i), call('</script>', 5)))
             for i in range(4)]
    output, error = self.compare(before, after, '--html')
    self.assertEqual(error, '')
    page = json.loads(re.search(r'id="trace">(.*)</script>\n<script>', output)[1])
    self.assertEqual(page['summary'], '4 runs before and 4 after: 4 names, 4 paths')
    self.assertEqual([(path['path'], path['outer'], path['weight'], path['sign'],
                       path['state']) for path in page['paths']],
                     [('main', -1, 23, 0, ''), ('main > parse', 0, 233, 1, ''),
                      ('main > old', 0, 5, -1, 'vanished'),
                      ('main > </script>', 0, 5, 1, 'new')])
    self.assertIn(['self', '102 ns', '132 ns', '+30 ns', '+29.6 %', '+26.2 % to +33.0 %'],
                  page['paths'][1]['cells'])
    output, _ = self.compare(before[:1], after[:1], '--html')
    page = json.loads(re.search(r'id="trace">(.*)</script>\n<script>', output)[1])
    # It is unknown whether that is a change.
    self.assertEqual({path['sign'] for path in page['paths']}, {0})
    self.assertIn('no intervals', page['notes'][2])
    self.assertEqual(page['notes'][0], 'before: %s' % self.path.with_suffix('.0'))

  def test_names_are_no_orders(self):
    trace = run(call('\x1b[2Jevil', 1, call('in', 1)))
    self.assertNotIn('\x1b', self.compare([trace], [trace])[0])

  def test_losses_are_said(self):
    whole = run(call('a', 1))
    open_slice = whole + event(1, BEGIN, 1, name('a'))
    output, _ = self.compare([whole], [open_slice])
    self.assertEqual(output.splitlines()[-1], '%s: 1 slice had not ended' % self.path)
    output, _ = self.compare([open_slice], [open_slice])
    self.assertEqual(output.splitlines()[-1], '1 slice had not ended')

  def test_wrong_usage(self):
    trace = run(call('a', 1))
    how = 'which runs are before and after? Write: BEFORE ... -- AFTER ...'
    before = [self.write(i, trace) for i in range(3)]
    for files in [], before[:2], before:
      self.assertIn(how, self.run_command(trace, *files, code=2)[1], files)
    # Nothing matched the pattern of one side.
    result = subprocess.run([PZTRACE, 'diff', *before[:2], '--'], stderr=subprocess.PIPE,
                            timeout=60, check=False)
    self.assertEqual((result.returncode, how in result.stderr.decode()), (2, True))
    self.assertIn('--paired needs as many runs before as after, not 1 and 2',
                  self.compare([trace], [trace] * 2, '--paired', code=2)[1])
    self.assertIn('--format is csv', self.compare([trace], [trace], '--format', 'x',
                                                 code=2)[1])
    self.assertIn('--html and --format exclude each other',
                  self.compare([trace], [trace], '--html', '--format', 'csv', code=2)[1])
    output, error = self.run_command(trace, '/no/such', code=1)
    self.assertEqual(output, '')
    self.assertIn('/no/such: No such file', error)

  def test_any_bytes_are_survived(self):
    whole = run(call('a', 5, call('b', 3), call('b', 2)), call('c', 4))
    self.options = [self.write(0, whole)]
    output, error = self.run_command(whole[:-3], *self.options, code=1)
    self.assertIn('the trace is damaged', error)
    self.assertIn('left out: it has only a part of its run', error)
    self.assertEqual(output, '')
    output, _ = self.compare([whole, whole[:-3]], [whole, whole], code=1)
    self.assertIn('1 run before and 2 after: 3 names', output)
    for output in filter(None, self.outputs_of_damaged(whole)):
      self.assertIn('1 run before and 1 after', output)


if __name__ == '__main__':
  sys.exit(run_cases())
