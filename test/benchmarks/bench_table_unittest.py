#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/bench_table, on results with round numbers.

The last line is "N passed, N failed".
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

import bench_runs
from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BENCH_TABLE = ROOT / 'tools' / 'bench_table'

CONTEXT = {
    'date': '2026-11-21', 'num_cpus': 2, 'load_avg': [0.1],
    'compiler': 'clang 19, optimized', 'processor': 'A processor',
    'peers': 'a peer 1.0', 'corpus': '7 packets',
}

# Three repetitions each, the median in the middle.
TIMES = {
    'BM_Protozero_Simple_Empty': [40, 39, 41],
    'BM_Protozero_Simple_SpeedOfLight': [50, 50, 50],
    'BM_Protozero_Simple_Protozero': [90, 60, 55],
    'BM_Protozero_Simple_Libprotobuf': [150, 151, 149],
    'BM_Protozero_Simple_Empty_L1': [2, 2, 2],
    'BM_Protozero_Simple_SpeedOfLight_L1': [6, 6, 6],
    'BM_Protozero_Simple_Protozero_L1': [12, 12, 12],
    'BM_Protozero_Simple_Libprotobuf_L1': [102, 102, 102],
}


def result(times, context=None):
  """The report of Google Benchmark: row after row in an order that is not
  that of registration, with aggregates in between."""
  runs = []
  for index, (name, row) in reversed(list(enumerate(times.items()))):
    for cpu_time in row:
      runs.append({
          'name': name, 'run_name': name, 'family_index': index,
          'run_type': 'iteration', 'cpu_time': cpu_time,
          'real_time': 1e6, 'time_unit': 'ns', 'bytes': 58.0,
      })
    runs.append({
        'name': name + '_mean', 'run_name': name, 'family_index': index,
        'run_type': 'aggregate', 'aggregate_name': 'mean',
        'cpu_time': 1e6, 'time_unit': 'ns',
    })
  return json.dumps({'context': {**CONTEXT, **(context or {})},
                     'benchmarks': runs})


class ToolTest(unittest.TestCase):
  """A test with a folder of its own."""

  TOOL = None

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)

  def run_tool(self, *args):
    return subprocess.run([sys.executable, self.TOOL, *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False)


class BenchTableTest(ToolTest):

  TOOL = BENCH_TABLE

  def table(self, text, *args):
    path = self.folder / 'result.json'
    path.write_text(text)
    run = self.run_tool(f'--json={path}', *args)
    self.assertEqual(run.returncode, 0, run.stderr)
    return run.stdout

  def row(self, output, label):
    lines = [line for line in output.splitlines()
             if line.startswith(label + ' ')]
    self.assertEqual(len(lines), 1, output)
    return lines[0][len(label):].split()

  def test_ring_shows_medians_and_ratios_as_measured(self):
    output = self.table(result(TIMES))
    # bytes, then ns, x light, x libpb, IQR: (75 - 57.5) / 60.
    self.assertEqual(self.row(output, 'Protozero')[:5],
                     ['58', '60.0', '1.20', '0.40', '29%'])
    self.assertEqual(self.row(output, 'SpeedOfLight')[1:4],
                     ['50.0', '1.00', '0.33'])

  def test_l1_is_net_of_the_harness(self):
    output = self.table(result(TIMES))
    self.assertEqual(self.row(output, 'Protozero')[5:],
                     ['10.0', '2.50', '0.10', '0%'])
    self.assertEqual(self.row(output, '(harness alone)'),
                     ['40.0', '2%', '2.0', '0%'])

  def test_l1_without_its_harness_has_no_figures(self):
    times = {name: row for name, row in TIMES.items()
             if name != 'BM_Protozero_Simple_Empty_L1'}
    output = self.table(result(times))
    self.assertEqual(self.row(output, 'Protozero')[5:],
                     ['-', '-', '-', '0%'])

  def test_rows_stand_in_order_of_registration(self):
    output = self.table(result(TIMES))
    labels = [line.split()[0] for line in output.splitlines()
              if '%' in line]
    self.assertEqual(labels, ['SpeedOfLight', 'Protozero', 'Libprotobuf',
                              '(harness'])

  def test_implementation_that_lacks_a_harness_leaves_cells_empty(self):
    times = {**TIMES, 'BM_Protozero_Simple_Peer_L1': [22]}
    output = self.table(result(times))
    self.assertEqual(self.row(output, 'Peer'),
                     ['58', '20.0', '5.00', '0.20'])

  def test_unknown_harness_gets_columns_of_its_own(self):
    times = {'BM_Protozero_Simple_Empty_Strange': [5],
             'BM_Protozero_Simple_Protozero_Strange': [25]}
    output = self.table(result(times))
    self.assertIn('Strange', output)
    self.assertEqual(self.row(output, 'Protozero'),
                     ['58', '20.0', '-', '-'])

  def test_workload_has_columns_for_its_harnesses_only(self):
    times = {**TIMES, 'BM_Protozero_Deep_Empty_L1': [2],
             'BM_Protozero_Deep_Libprotobuf_L1': [802]}
    output = self.table(result(times))
    deep = output[output.index('Deep'):]
    self.assertIn('in L1', deep)
    self.assertNotIn('ring', deep)
    self.assertEqual(self.row(deep, 'Libprotobuf'),
                     ['58', '800.0', '-', '1.00'])

  def test_harness_that_times_messages_itself_is_believed(self):
    cold = json.loads(result({'BM_Protozero_Simple_Empty_Cold': [5000],
                              'BM_Protozero_Simple_Protozero_Cold': [5000]}))
    for run in cold['benchmarks']:
      run['message_ns'] = 25 if 'Empty' in run['name'] else 175
    output = self.table(json.dumps(cold))
    self.assertIn('cold code', output)
    self.assertEqual(self.row(output, 'Protozero'),
                     ['58', '150.0', '-', '-'])

  def test_large_figures_have_no_decimals_and_keep_their_column(self):
    times = {'BM_Protozero_Large_Protozero': [1234567.8],
             'BM_Protozero_Large_Libprotobuf': [999.94]}
    output = self.table(result(times))
    self.assertEqual(self.row(output, 'Protozero')[1], '1234568')
    self.assertEqual(self.row(output, 'Libprotobuf')[1], '999.9')

  def test_messages_of_many_sizes_are_listed(self):
    times = {**TIMES, 'BM_Protozero_Bytes_Protozero/64': [2000]}
    output = self.table(result(times))
    self.assertIn('BM_Protozero_Bytes_Protozero/64: 2000 ns', output)
    self.assertEqual(len([line for line in output.splitlines()
                          if 'x light' in line]), 1)

  def test_many_harnesses_do_not_make_long_lines(self):
    times = {**TIMES, 'BM_Protozero_Simple_Protozero_L1Random': [4],
             'BM_Protozero_Simple_Protozero_Cold': [300],
             'BM_Protozero_Simple_Protozero_ColdL2': [900]}
    output = self.table(result(times))
    table = output[output.index('Simple'):].splitlines()
    self.assertTrue(all(len(line) <= 120 for line in table), output)
    second = table[[i for i, line in enumerate(table)
                    if line.startswith('Simple')][1]:]
    self.assertIn('cold code', second[0])
    self.assertIn('code cold in L2, too', second[0])
    # Without those that have no figures there.
    self.assertEqual([line.split()[0] for line in second[2:]],
                     ['Protozero'])

  def test_every_workload_gets_a_table(self):
    times = {**TIMES, 'BM_Protozero_Nested_SpeedOfLight': [70]}
    output = self.table(result(times))
    self.assertEqual(
        [line.split()[0] for line in output.splitlines()
         if 'ring' in line], ['Simple', 'Nested'])

  def test_packets_in_shared_memory_are_compared_with_a_flat_buffer(self):
    output = self.table(result({
        'BM_ProtoShm_Packet_Flat': [20, 20, 20],
        'BM_ProtoShm_Packet_Page4K': [30, 29, 90],
        'BM_ProtoShm_Threads_2xPage4K/threads:2': [31, 31, 31],
        'BM_ProtoShm_Empty_Flat': [5, 5, 5],
        'BM_ProtoShm_Empty_Page4K': [10, 10, 10],
    }))
    rows = [line.split() for line in output.splitlines()
            if ' Page4K' in line or 'Flat' in line or '2x' in line]
    self.assertEqual([row[:5] for row in rows],
                     [['Packet', 'Flat', '58', '20.0', '1.00'],
                      ['Packet', 'Page4K', '58', '30.0', '1.50'],
                      ['Threads', '2xPage4K', '58', '31.0', '1.55'],
                      ['Empty', 'Flat', '58', '5.0', '1.00'],
                      ['Empty', 'Page4K', '58', '10.0', '2.00']])

  def test_other_benchmarks_are_listed(self):
    output = self.table(result({**TIMES, 'BM_Other': [7, 8, 9]}))
    self.assertIn('BM_Other: 8.0 ns', output)

  def test_provenance_is_told(self):
    output = self.table(result(TIMES))
    for text in ('A processor, 2 CPUs', 'clang 19, optimized',
                 '2026-11-21', 'a peer 1.0', 'of 3 interleaved',
                 'MixedCorpus: 7 packets'):
      self.assertIn(text, output)
    self.assertNotIn('WARNING', output)

  def test_warns_of_debug_builds(self):
    for compiler in 'gcc 12, not optimized', 'gcc 12, with debug checks':
      output = self.table(result(TIMES, {'compiler': compiler}))
      self.assertIn('not a release build', output)

  def test_warns_of_a_busy_machine(self):
    output = self.table(result(TIMES, {'load_avg': [2.5]}))
    self.assertIn('busy', output)

  def test_markdown_has_as_many_cells_in_each_line(self):
    output = self.table(result(TIMES), '--markdown')
    lines = [line for line in output.splitlines() if line.startswith('|')]
    self.assertEqual(len(lines), 2 + 4)
    self.assertEqual({line.count('|') for line in lines}, {11})

  def test_bad_input_is_an_error_of_one_line(self):
    path = self.folder / 'bad.json'
    aggregates = json.loads(result(TIMES))
    aggregates['benchmarks'] = [
        run for run in aggregates['benchmarks']
        if run['run_type'] == 'aggregate'
    ]
    for text in '', '[]', '{}', json.dumps(aggregates):
      path.write_text(text)
      run = self.run_tool(f'--json={path}')
      self.assertEqual(run.returncode, 1, text)
      self.assertEqual(run.stdout, '')
      self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

  def test_failed_benchmark_is_an_error(self):
    failed = json.loads(result(TIMES))
    failed['benchmarks'][0].update(error_occurred=True,
                                   error_message='out of luck')
    path = self.folder / 'failed.json'
    path.write_text(json.dumps(failed))
    run = self.run_tool(f'--json={path}')
    self.assertEqual(run.returncode, 1)
    self.assertIn('out of luck', run.stderr)

  def test_missing_file_and_missing_binary_are_errors(self):
    run = self.run_tool(f'--json={self.folder}/none.json')
    self.assertEqual(run.returncode, 1)
    self.assertIn('none.json', run.stderr)
    run = self.run_tool(f'--binary={self.folder}/none')
    self.assertEqual(run.returncode, 1)
    self.assertIn('tools/ninja -C out/release perfetto_benchmarks',
                  run.stderr)

  def write_binary(self, body):
    """A stand-in for perfetto_benchmarks that notes how it was called."""
    binary = self.folder / 'binary'
    binary.write_text(f'#!{sys.executable}\n' + textwrap.dedent('''\
            import sys
            args = dict(arg[2:].split('=', 1) for arg in sys.argv[1:])
            if 'benchmark_list_tests' in args:
                print('BM_Protozero_Simple_Protozero')
                sys.exit()
            ''') + textwrap.dedent(body))
    os.chmod(binary, 0o755)
    return binary

  def test_measures_interleaved_and_saves(self):
    (self.folder / 'canned.json').write_text(result(TIMES))
    binary = self.write_binary(f'''
            open('{self.folder}/args', 'w').write(' '.join(sys.argv[1:]))
            canned = open('{self.folder}/canned.json').read()
            open(args['benchmark_out'], 'w').write(canned)
            ''')
    saved = self.folder / 'saved.json'
    run = self.run_tool(f'--binary={binary}', '--repetitions=3',
                        '--min_time=0.5', '--filter=Simple',
                        f'--save={saved}')
    self.assertEqual(run.returncode, 0, run.stderr)
    self.assertEqual(self.row(run.stdout, 'Protozero')[1], '60.0')
    self.assertIn('measuring 1 rows, 3 times each: 0 of 3 done\n', run.stderr)
    args = (self.folder / 'args').read_text()
    for flag in ('--benchmark_enable_random_interleaving=true',
                 '--benchmark_repetitions=3', '--benchmark_min_time=0.5',
                 '--benchmark_filter=Simple'):
      self.assertIn(flag, args)
    measured = json.loads(result(TIMES))
    for measured_run in measured['benchmarks']:
      measured_run['round'] = 0
    self.assertEqual(json.loads(saved.read_text()), measured)
    again = self.run_tool(f'--json={saved}')
    self.assertEqual(again.stdout, run.stdout)

  def test_progress_counts_repetitions(self):
    # Two short runs of A find out that a repetition takes 100 iterations.
    text = ''.join('-- LOG(2): Running %s for %d\n-- LOG(2): Ran in 0.1/0.1\n' % run
                   for run in (('A', 1), ('A', 10), ('A', 100), ('B', 7), ('A', 100)))
    path = self.folder / 'log'
    with open(path, 'w') as log, open(path) as written:
      finished = bench_runs.FinishedRepetitions(written)
      for piece, count in ((text[:20], 0), (text[20:], 3), ('-- LOG(2): Running B', 3),
                           (' for 7\n', 3), ('-- LOG(2): Ran in 0.1/0.1\n', 4)):
        log.write(piece)
        log.flush()
        self.assertEqual(finished.count(), count)

  def test_rounds_are_compared_one_by_one(self):
    # The machine is slower in all rounds but the first, for all rows.
    rounds = [{'BM_Protozero_Simple_SpeedOfLight': [light],
               'BM_Protozero_Simple_Protozero': [ours],
               'BM_Protozero_Simple_Libprotobuf': [500]}
              for light, ours in ((50, 60), (100, 110), (100, 130))]
    for number, times in enumerate(rounds):
      (self.folder / str(number)).write_text(result(times))
    binary = self.write_binary(f'''
            import os
            number = min(i for i in range(4)
                         if os.path.exists(f'{self.folder}/{{i}}'))
            os.rename(f'{self.folder}/{{number}}', args['benchmark_out'])
            ''')
    saved = self.folder / 'saved.json'
    run = self.run_tool(f'--binary={binary}', '--repetitions=1',
                        '--rounds=3', f'--save={saved}')
    self.assertEqual(run.returncode, 0, run.stderr)
    self.assertIn('Medians of 3 interleaved', run.stdout)
    self.assertIn('medians of 3 rounds', run.stdout)
    # 1.2, 1.1 and 1.3 times, not 110 / 100; (1.25 - 1.15) / 1.2.
    self.assertEqual(self.row(run.stdout, 'Protozero'),
                     ['58', '110.0', '1.20', '0.22', '8%'])
    self.assertEqual(self.row(run.stdout, 'SpeedOfLight')[2], '1.00')
    self.assertEqual(self.run_tool(f'--json={saved}').stdout, run.stdout)

  def test_rounds_of_packets_are_compared_one_by_one(self):
    flat = 'BM_ProtoShm_Packet_Flat'
    page = 'BM_ProtoShm_Packet_Page4K'
    measured = json.loads(result({flat: [50, 100, 100],
                                  page: [60, 110, 130]}))
    for name in flat, page:
      runs = [run for run in measured['benchmarks']
              if run['name'] == name]
      for number, run in enumerate(runs):
        run['round'] = number
    output = self.table(json.dumps(measured))
    self.assertIn('medians of 3 rounds', output)
    self.assertEqual(self.row(output, 'Packet Page4K')[:3],
                     ['58', '110.0', '1.20'])

  def test_row_that_a_round_lacks_is_compared_in_the_others(self):
    measured = json.loads(result({
        'BM_Protozero_Simple_SpeedOfLight': [50, 100],
        'BM_Protozero_Simple_Protozero': [60, 110]}))
    for run, number in zip(
            (run for run in measured['benchmarks']
             if run['run_type'] == 'iteration'), (0, 1, 0, 2)):
      run['round'] = number
    output = self.table(json.dumps(measured))
    self.assertEqual(self.row(output, 'Protozero')[2], '1.20')

  def test_failing_binary_shows_its_output(self):
    binary = self.write_binary('''
            print('the ring does not fit')
            sys.exit(3)
            ''')
    run = self.run_tool(f'--binary={binary}')
    self.assertEqual(run.returncode, 1)
    self.assertIn('failed (3)', run.stderr)
    self.assertIn('the ring does not fit', run.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
