#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/bench --tracers: its table, of figures that were made up, and
that it measures the tracers that are installed.

The last line is "N passed, N failed", and how many were skipped.
"""

import json
import pathlib
import subprocess
import sys
import unittest

import bench_tracers
from cases import load_tool, run_cases
from measuring import Error

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
BUILD = pathlib.Path('.')


def lines(*rows):
  return ''.join(json.dumps(row) + '\n' for row in rows)


def run_of(clock, **times):
  """The output of a program whose clock takes so long."""
  return lines(
      {'tracer': '', 'row': 'rdtsc', 'ns': clock, 'samples': 1},
      *({'tracer': name, 'row': 'warm: instant', 'ns': ns, 'samples': 10,
         'left_out': 1, 'waits': 2} for name, ns in times.items()))


def results_of(*runs):
  results = bench_tracers.Results()
  results.add_tracers(lines(
      {'tracer': 'protozero', 'description': 'small buffers'},
      {'tracer': 'other', 'description': 'large buffers'}))
  for text in runs:
    results.add_run(text)
  return results


def rows_of(report):
  """The cells of the table, by label."""
  cells = [[cell.strip() for cell in line.strip('|').split('|')]
           for line in report.splitlines() if line.startswith('| ')]
  return {row[0]: row[1:] for row in cells}


class ResultsTest(unittest.TestCase):

  def test_ratios_are_to_the_clock_of_the_same_run(self):
    # The second run's machine is half as fast. A third one has no other tracer.
    results = results_of(run_of(10, protozero=20, other=100),
                         run_of(20, protozero=40, other=200),
                         run_of(10, protozero=20))
    self.assertEqual(results.median('protozero', 'warm: instant', 'ratio'), 2)
    self.assertEqual(results.median('other', 'warm: instant', 'ratio'), 10)
    self.assertEqual(results.median('other', 'warm: instant', 'ns'), 150)
    self.assertEqual(results.total('other', ['warm: instant'], 'waits'), 4)

  def test_runs_without_a_figure_are_left_out(self):
    results = results_of(run_of(10, other=None), run_of(10, other=30),
                         run_of(10, other=None))
    self.assertEqual(results.median('other', 'warm: instant', 'ns'), 30)
    self.assertIsNone(results.median('protozero', 'warm: instant', 'ns'))

  def test_output_that_is_no_json_is_an_error(self):
    with self.assertRaisesRegex(Error, 'no JSON'):
      results_of('Segmentation fault\n')


class ReportTest(unittest.TestCase):

  def test_table_has_a_column_for_each_tracer(self):
    results = results_of(
        run_of(10, protozero=22, other=125),
        lines({'tracer': 'other', 'row': 'lost: bursts, %', 'mean': 0.5},
              {'tracer': 'other', 'row': 'bytes: instant', 'mean': 0},
              {'tracer': 'other', 'row': 'call: instant', 'p99.9': 1234.6}))
    rows = rows_of(bench_tracers.report(results, []))
    self.assertEqual(rows['ns'], ['protozero', 'other'])
    self.assertEqual(rows['warm: instant'], ['22.0 (2.2)', '125.0 (12.5)'])
    self.assertEqual(rows['warm: slice'], ['-', '-'])
    self.assertEqual(rows['lost: bursts, %'], ['-', '0.50'])
    self.assertEqual(rows['bytes: instant'], ['-', '-'])
    self.assertEqual(rows['call: instant, p99.9'], ['-', '1,235'])
    self.assertEqual(rows['waits'], ['2', '2'])
    self.assertEqual(rows['samples left out'], ['10%', '10%'])

  def test_sustained_rates_have_their_cells(self):
    row = {'row': 'sustained: 10 M/s, 1 thread', 'ns': 25.04}
    results = results_of(
        run_of(10, protozero=22),
        lines({'tracer': 'protozero', 'lost': 0, 'millions': 9.9, **row},
              {'tracer': 'other', 'lost': 0.001, 'millions': 5, **row}))
    rows = rows_of(bench_tracers.report(results, []))
    self.assertEqual(rows['sustained: 10 M/s, 1 thread'],
                     ['0.00 %, 25.0 ns', '<0.01 %, 25.0 ns at 5.0 M/s'])
    self.assertEqual(rows['sustained: 20 M/s, 2 threads'], ['-', '-'])

  def test_tracers_and_what_is_missing_are_named(self):
    report = bench_tracers.report(results_of(run_of(10, protozero=22)),
                                  ['tracer_rows_lttng'])
    self.assertIn('rdtsc takes 10.0 ns', report)
    self.assertIn('other: large buffers\n', report)
    self.assertIn('Not measured: tracer_rows_lttng. To install: '
                  'tools/install-build-deps --tracers\n', report)
    self.assertNotIn('Not measured',
                     bench_tracers.report(results_of(run_of(10)), []))


class ProgramsTest(unittest.TestCase):

  def bench(self, folder):
    return subprocess.run(
        [sys.executable, ROOT / 'tools' / 'bench', '--tracers', '--quick',
         f'--programs={folder}'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

  def test_folder_without_programs_is_an_error(self):
    run = self.bench('/nonexistent')
    self.assertEqual((run.returncode, run.stdout), (1, ''))
    self.assertIn('tools/install-build-deps --tracers', run.stderr)

  def test_installed_tracers_are_measured(self):
    programs = bench_tracers.installed(BUILD)
    if not programs:
      self.skipTest('no other tracer is installed')
    peers = [line['tracer'] for program in programs
             for line in bench_tracers.parse(bench_tracers.run(
                 program.resolve(), '--list'))
             if line['tracer'] != bench_tracers.OURS]
    run = self.bench('.')
    self.assertEqual(run.returncode, 0, run.stderr)
    rows = rows_of(run.stdout)
    self.assertEqual(rows['ns'], [bench_tracers.OURS, *peers])
    for row in 'warm: instant', 'fresh: slice', 'call: instant, p50':
      # Some samples of a busy machine all have a context switch.
      self.assertRegex(rows[row][0], r'^\d', row)
    # Events are recorded, and their sizes differ.
    for peer, instant, slice_bytes in zip(peers, rows['bytes: instant'][1:],
                                          rows['bytes: slice'][1:]):
      if peer not in ('Tracy, no reader', 'LTTng, snapshot'):
        self.assertNotEqual(instant, slice_bytes, peer)
    self.assertRegex(rows['bytes: instant'][0], r'^[12]\d\.\d$')

  def test_sustained_rates_are_measured(self):
    for program in bench_tracers.installed(BUILD):
      found = bench_tracers.parse(bench_tracers.run(
          program.resolve(), '--sustained=protozero', '--quick'))
      self.assertEqual([line['row'] for line in found], bench_tracers.SUSTAINED)
      self.assertTrue(all(line['millions'] > 0 for line in found))

  def test_first_events_and_memory_are_of_one_tracer(self):
    for program in bench_tracers.installed(BUILD)[:1]:
      found = bench_tracers.parse(bench_tracers.run(
          program.resolve(), '--first=protozero', '--quick'))
      self.assertEqual({line['row'] for line in found},
                       {'first 20 ms', 'memory, MB', 'rdtsc', 'clock_gettime'})
      memory, = [line['mean'] for line in found if 'mean' in line]
      self.assertTrue(0 < memory < 100, memory)

  def test_wrong_arguments_are_told(self):
    for program in bench_tracers.installed(BUILD):
      for arguments in [], ['--peer=nobody'], ['--peer=protozero',
                                               '--first=protozero']:
        run = subprocess.run([program.resolve(), *arguments],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, check=False)
        self.assertEqual((run.returncode, run.stdout), (2, ''))
        self.assertRegex(run.stderr, r'^usage: ')


class SitesTest(unittest.TestCase):

  def test_sites_of_installed_tracers_have_code(self):
    tool = load_tool('measure_trace_sites')
    for library, header in tool.HEADERS.items():
      if header.exists():
        code, _ = tool.measure_site('clang++-19', library, 'instant', BUILD)
        self.assertTrue(10 < code < 500, f'{library}: {code}')


if __name__ == '__main__':
  sys.exit(run_cases())
