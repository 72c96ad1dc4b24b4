#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/bench: its verdict, of figures that were made up, and that it
measures the programs of the build directory, in which this runs.

The last line is "N passed, N failed".
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

import bench_runs
import bench_verdict
from cases import run_cases
from measuring import Error

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONTEXT = {'processor': 'A processor', 'num_cpus': 2, 'load_avg': [0.1],
           'compiler': 'clang 19, optimized', 'date': '2026-11-21',
           'peers': 'a peer 1.0'}
# The harness takes 2 ns in the first round and 4 ns in the second.
EMPTY = [2, 4]
# By row: the net time of Simple. Nested takes four times as long, and random
# widths take half as long again.
SIMPLE = {'ProtozeroCalled': 10, 'ProtozeroReused': 8, 'LibprotobufReused': 40,
          'Libprotobuf': 80, 'Mapbox': 60, 'PerfettoReused': 32}
FACTORS = {('Simple', 'L1'): 1, ('Nested', 'L1'): 4, ('Simple', 'L1Random'): 1.5,
           ('Nested', 'L1Random'): 6}

EVENTS = '''\
ns                                                    least   median
clock_gettime()                                        20.0     21.0
perfetto c: counter                                   120.0    130.0
perfetto c: instant                                   110.0    120.0
perfetto c: off                                         0.4      0.4
perfetto c: packets lost in a round                     0.0      0.0
perfetto c: slice                                     190.0    200.0
perfetto c: slice, 1 value                            240.0    250.0
perfetto c: slice, 3 values                           310.0    320.0
perfetto: counter                                     150.0    160.0
perfetto: instant                                     140.0    150.0
perfetto: off                                           0.4      0.5
perfetto: packets lost in a round                       0.0      0.0
perfetto: slice                                       290.0    300.0
perfetto: slice, 1 value                              390.0    400.0
perfetto: slice, 3 values                             490.0    500.0
protozero beside c: counter                            30.0     32.5
protozero beside c: instant                            22.0     24.0
protozero beside c: off                                 0.2      0.2
protozero beside c: slice                              38.0     40.0
protozero beside c: slice, 1 value                     48.0     50.0
protozero beside c: slice, 3 values                    62.0     64.0
protozero: counter                                     38.0     40.0
protozero: instant                                     24.0     25.0
protozero: off                                          0.2      0.2
protozero: packets lost in a round                      0.0      0.0
protozero: slice                                       49.0     50.0
protozero: slice, 1 value                              79.0     80.0
protozero: slice, 3 values                             99.0    100.0
'''


def samples_of(simple, context=None):
  """The report of Google Benchmark on two rounds. In the second one all rows take
  twice as long. Each round's third repetition is an outlier, and the first one
  takes 1 ns less than the median."""
  runs = []
  for (workload, harness), factor in FACTORS.items():
    for row, net in {'Empty': 0, **simple}.items():
      for number, empty in enumerate(EMPTY):
        median = empty + net * factor * (number + 1)
        for time in (median - bool(net), median, 1000 + median):
          runs.append({
              'run_name': f'BM_Protozero_{workload}_{row}_{harness}',
              'run_type': 'iteration', 'cpu_time': time, 'time_unit': 'ns',
              'round': number,
          })
  # The same values as in a file that was written and read.
  result = json.loads(json.dumps({'context': {**CONTEXT, **(context or {})},
                                  'benchmarks': runs}))
  return bench_runs.read_result(result, 'made up')


def verdict(simple=None, events=EVENTS, context=None):
  context, samples = samples_of(SIMPLE if simple is None else simple, context)
  return bench_verdict.verdict(context, samples,
                               bench_verdict.parse_events(events))


def without(table, word):
  return {name: time for name, time in table.items() if word not in name}


def parts(output):
  """The notes, the sentence in one line, and the cells of both tables."""
  notes, sentence, *tables = output.split('\n\n')
  return notes, sentence.replace('\n', ' '), *(
      [re.split(r'  +', line) for line in table.splitlines()]
      for table in tables)


class VerdictTest(unittest.TestCase):

  def test_sentence_says_ranges_of_the_table(self):
    _, sentence, _, _ = parts(verdict())
    # It takes 10 and 20 ns in the two rounds, with random widths 15 and 30.
    self.assertEqual(
        sentence,
        'On this machine, a message of four integers and a string takes 15 to '
        '22 ns in the default build and 12 to 18 ns with setters in place; for '
        'it and for nested ones, libprotobuf takes 4.0 to 8.0 and 5.0 to 10.0 '
        "times as long, Mapbox's protozero 6.0 and 7.5 times, Perfetto's "
        'protozero 3.2 and 4.0 times.')

  def test_messages_are_net_of_the_harness_of_their_round(self):
    _, _, table, _ = parts(verdict())
    self.assertEqual(table[0], [
        'ns a message', 'Simple', 'Nested', 'Simple, random',
        'Nested, random', 'x default', 'x in place'])
    # Medians of 10 and 20, least of 9 and 19.
    self.assertEqual(table[1], [
        'protozero, default build', '15.0 (9.0)', '60.0 (39.0)', '22.5 (14.0)',
        '90.0 (59.0)', '1.0', '1.2'])
    self.assertEqual([row[0] for row in table[2:]], [
        'protozero, setters in place', 'libprotobuf, message reused',
        'libprotobuf, message new', "Mapbox's protozero",
        "Perfetto's protozero"])
    self.assertEqual(table[-1][1:], [
        '48.0 (31.0)', '192.0 (127.0)', '72.0 (47.0)', '288.0 (191.0)', '3.2',
        '4.0'])

  def test_strings_have_a_table_of_the_rows_that_are_there(self):
    context, samples = samples_of(SIMPLE)
    for name, times in {'Empty/58': [5, 5], 'Protozero/58': [50, 60],
                        'Mapbox/58': [105, 105], 'Empty/276': [6, 6],
                        'Protozero/276': [106, 106]}.items():
      row = bench_runs.Samples()
      row.rounds = dict(enumerate([time] for time in times))
      samples[f'BM_Protozero_String_{name}'] = row
    tables = parts(bench_verdict.verdict(
        context, samples, bench_verdict.parse_events(EVENTS)))
    self.assertEqual(tables[4], [
        ['ns to a string', '58 bytes', '276 bytes', '4096 bytes',
         '200000 bytes'],
        ['HeapBuffered new, in place', '50', '100', '-', '-'],
        ["Mapbox's to a new string", '100', '-', '-', '-']])

  def test_events_are_compared(self):
    _, _, _, table = parts(verdict())
    # The C SDK's ratios are to the rows of ours in its own program.
    self.assertEqual(table, [
        ['ns, recorded', 'protozero', "Perfetto's SDK", "Perfetto's C SDK",
         'times as long', 'times as long'],
        ['slice, 1 value, off', '0.2 (0.2)', '0.5 (0.4)', '0.4 (0.4)',
         '2.0 to 2.5', '2.0'],
        ['instant', '25.0 (24.0)', '150.0 (140.0)', '120.0 (110.0)',
         '5.8 to 6.0', '5.0'],
        ['slice', '50.0 (49.0)', '300.0 (290.0)', '200.0 (190.0)',
         '5.9 to 6.0', '5.0'],
        ['slice, 1 value', '80.0 (79.0)', '400.0 (390.0)', '250.0 (240.0)',
         '4.9 to 5.0', '5.0'],
        ['slice, 3 values', '100.0 (99.0)', '500.0 (490.0)', '320.0 (310.0)',
         '4.9 to 5.0', '5.0'],
        ['counter', '40.0 (38.0)', '160.0 (150.0)', '130.0 (120.0)',
         '3.9 to 4.0', '4.0'],
    ])

  def test_notes_say_where_figures_come_from(self):
    notes = parts(verdict())[0]
    for text in ('A processor, 2 CPUs', 'clang 19, optimized', 'a peer 1.0',
                 'Medians of 6 interleaved repetitions.'):
      self.assertIn(text, notes)
    for text in 'WARNING', 'Not measured':
      self.assertNotIn(text, notes)
    self.assertIn('WARNING: not a release build',
                  verdict(context={'compiler': 'gcc 12, not optimized'}))

  def test_peers_that_are_not_installed_are_named(self):
    events = '\n'.join(line for line in EVENTS.splitlines()
                       if not line.startswith('perfetto'))
    notes, sentence, table, event_table = parts(
        verdict(without(SIMPLE, 'Perfetto'), events))
    self.assertIn("Not measured: Perfetto's protozero, Perfetto's trace events. "
                  'To install: tools/install-build-deps --perfetto-sdk\n'
                  "Not measured: trace events of Perfetto's C SDK. To install: "
                  'tools/install-build-deps --tracers\n',
                  notes + '\n')
    self.assertTrue(sentence.endswith(
        "times as long, Mapbox's protozero 6.0 and 7.5 times."))
    self.assertEqual(table[-1][0], "Mapbox's protozero")
    self.assertEqual(event_table[:2], [
        ['ns, recorded', 'protozero'], ['slice, 1 value, off', '0.2 (0.2)']])

    alone = without(without(SIMPLE, 'Mapbox'), 'Libprotobuf')
    notes, sentence, table, _ = parts(verdict(alone))
    self.assertIn("Not measured: libprotobuf, Mapbox's protozero. To install: "
                  'tools/install-build-deps\n', notes + '\n')
    self.assertTrue(sentence.endswith(
        "ones, Perfetto's protozero takes 3.2 and 4.0 times as long."))
    self.assertEqual(len(table), 4)

    _, sentence, table, _ = parts(verdict(without(alone, 'Perfetto')))
    self.assertTrue(sentence.endswith('ns with setters in place.'))
    self.assertEqual(len(table), 3)

  def test_rows_of_ours_are_needed(self):
    for row in 'ProtozeroCalled', 'ProtozeroReused':
      with self.assertRaisesRegex(Error, row):
        verdict(without(SIMPLE, row))
    with self.assertRaisesRegex(Error, 'track_event_rows lacks'):
      verdict(events=EVENTS.replace('protozero: slice ', 'protozero: cut '))
    with self.assertRaisesRegex(Error, 'printed: no figures'):
      verdict(events=EVENTS + 'no figures\n')

  def test_time_below_the_harness_has_no_ratio(self):
    _, sentence, table, _ = parts(verdict({**SIMPLE, 'ProtozeroReused': -1}))
    self.assertEqual(table[1][-1], '-')
    self.assertIn("Mapbox's protozero 6.0 and - times,", sentence)

  def test_losses_are_told(self):
    lost = EVENTS.replace('protozero: packets lost in a round                '
                          '      0.0      0.0',
                          'protozero: packets lost in a round  0.0  7.0')
    self.assertIn('WARNING: protozero lost packets', verdict(events=lost))
    self.assertNotIn('WARNING', verdict())


class ProgramsTest(unittest.TestCase):

  def bench(self, *arguments):
    return subprocess.run(
        [sys.executable, ROOT / 'tools' / 'bench', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

  def test_programs_of_the_build_have_the_rows(self):
    run = self.bench('--quick', '--programs=.')
    self.assertEqual(run.returncode, 0, run.stderr)
    notes, sentence, messages, events, strings = parts(
        run.stdout.rstrip('\n'))
    self.assertIn('HeapBuffered new, in place', [row[0] for row in strings])
    for row in strings:
      self.assertNotIn('-', row)
    self.assertRegex(sentence, r'^On this machine, a message of .* takes \d')
    for row in messages[1:]:
      self.assertEqual(len(row), len(messages[0]), run.stdout)
    labels = [row[0] for row in messages]
    not_measured = ''.join(line for line in notes.splitlines()
                           if line.startswith('Not measured: '))
    for peer in bench_verdict.PEERS:
      measured = peer.name not in not_measured
      self.assertEqual(set(peer.rows.values()) <= set(labels), measured,
                       run.stdout)
      self.assertEqual(peer.name in sentence, measured, run.stdout)
    self.assertEqual([row[0] for row in events[1:]],
                     list(bench_verdict.EVENTS.values()))

  def test_missing_program_is_an_error(self):
    run = self.bench('--programs=/nonexistent')
    self.assertEqual((run.returncode, run.stdout), (1, ''))
    self.assertIn('/nonexistent/perfetto_benchmarks', run.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
