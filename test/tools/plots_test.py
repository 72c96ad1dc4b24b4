#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/plot_bytes, plot_latency and plot_rows, on results with round
numbers. Also expects that the tools draw the pictures in docs/.

Drawing needs Debian's python3-matplotlib; these tests are skipped without it.
"""

import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / 'docs' / 'performance'
HAS_MATPLOTLIB = importlib.util.find_spec('matplotlib') is not None
needs_matplotlib = unittest.skipUnless(
    HAS_MATPLOTLIB,
    'matplotlib is missing; tools/install-build-deps --plots installs it')


class PlotTest(unittest.TestCase):
  """A test of a tool, with a folder of its own."""

  TOOL = ''

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.image = self.folder / 'plot.svg'
    self.figures = self.folder / 'plot.txt'

  def run_tool(self, *args, image=None):
    return subprocess.run(
        [ROOT / 'tools' / self.TOOL, '-o', image or self.image, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

  def plot(self, result, *args):
    """Runs the tool on a result; returns what it prints."""
    path = self.folder / 'result.json'
    path.write_text(json.dumps(result))
    run = self.run_tool(f'--json={path}', *args)
    self.assertEqual(run.returncode, 0, run.stderr)
    return run.stdout

  def texts(self):
    drawing = xml.dom.minidom.parse(str(self.image))
    return [node.firstChild.data
            for node in drawing.getElementsByTagName('text')]

  def points(self, name):
    """(x, y) of each point of a line."""
    drawing = xml.dom.minidom.parse(str(self.image))
    group, = [node for node in drawing.getElementsByTagName('g')
              if node.getAttribute('id') == name]
    path = group.getElementsByTagName('path')[0].getAttribute('d')
    return [tuple(map(float, point))
            for point in re.findall(r'[ML] ([\d.]+) ([\d.]+)', path)]

  def check_within(self, name):
    drawing = xml.dom.minidom.parse(str(self.image)).documentElement
    _, _, width, height = map(float, drawing.getAttribute('viewBox').split())
    for x, y in self.points(name):
      self.assertTrue(0 < x < width and 0 < y < height, (x, y))

  def check_theme(self):
    text = self.image.read_text()
    light, dark = text.split('@media (prefers-color-scheme: dark)')
    names = set(re.findall(r'var\(--(\w+)\)', text))
    self.assertGreater(len(names), 4)
    for name in names:
      self.assertIn(f'--{name}: #', light)
      self.assertIn(f'--{name}: #', dark)
    # Every color is one of those.
    self.assertNotRegex(text.split('</style>')[1], '#[0-9a-f]{6};')

  def check_committed(self, name):
    """The tool draws the picture in docs/ from the figures beside it."""
    shutil.copy(PAGES / (name + '.txt'), self.figures)
    run = self.run_tool('--draw')
    self.assertEqual(run.returncode, 0, run.stderr)
    expected = [line.split('\t')[1:] for line in
                self.figures.read_text().splitlines() if '\t' in line]
    for column, line in enumerate(expected[0]):
      self.assertEqual(len(self.points(line)),
                       sum(row[column] != '-' for row in expected[1:]), line)
    self.check_drawn_as(name)

  def check_drawn_as(self, name):
    """Expects that the drawing is the picture in docs/."""
    drawn, texts = self.image.read_text(), self.texts()
    committed = (PAGES / (name + '.svg')).read_text()
    self.image.write_text(committed)
    # Versions of matplotlib may place things differently, but the texts are the
    # same.
    self.assertEqual(self.texts(), texts)
    import matplotlib  # pylint: disable=import-outside-toplevel
    if matplotlib.__version__.startswith('3.6.'):
      self.assertEqual(drawn, committed)
    self.assertLess(len(committed), 20000)

  def check_same_bytes_each_time(self):
    first = self.image.read_text()
    self.assertEqual(self.run_tool('--draw').returncode, 0)
    self.assertEqual(self.image.read_text(), first)
    self.assertNotIn('<dc:date>', first)

  def check_without_matplotlib(self):
    shutil.copy(next(PAGES.glob('*.txt')), self.figures)
    run = subprocess.run(
        ['/usr/bin/python3', '-S', ROOT / 'tools' / self.TOOL, '--draw', '-o',
         self.image], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)
    self.assertEqual(run.returncode, 1)
    self.assertIn('tools/install-build-deps --plots', run.stderr)
    self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)


# Per size: nanoseconds of the Empty row, ours and libprotobuf's, bytes.
SIZES = {16: (1, 33, 81), 1024: (1, 1025, 4097), 16 << 20: (1, 32e6, 96e6)}


def sizes_result():
  names = 'Empty', 'Protozero', 'Libprotobuf'
  runs = [{'name': f'BM_Protozero_Bytes_{name}/{size}',
           'run_name': f'BM_Protozero_Bytes_{name}/{size}',
           'family_index': index, 'run_type': 'iteration',
           'cpu_time': row[index], 'time_unit': 'ns', 'bytes': float(size)}
          for size, row in SIZES.items() for index, name in enumerate(names)
          for _ in range(3)]
  context = {'date': '2026-11-21', 'num_cpus': 2, 'load_avg': [0.1],
             'compiler': 'clang 19, optimized', 'processor': 'A processor',
             'peers': 'a peer 1.0'}
  return {'context': context, 'benchmarks': runs}


class PlotBytesTest(PlotTest):

  TOOL = 'plot_bytes'

  @needs_matplotlib
  def test_cost_is_net_of_the_harness_and_per_byte(self):
    output = self.plot(sizes_result())
    rows = {line[:12].strip(): line[12:].split()
            for line in output.splitlines()}
    self.assertEqual(rows['ns per byte'], ['Libprotobuf', 'Protozero'])
    self.assertEqual(rows['16 B'], ['5.00', '2.00'])
    self.assertEqual(rows['1 KiB'], ['4.00', '1.00'])
    self.assertEqual(rows['16 MiB'], ['5.72', '1.91'])
    self.assertEqual(
        [line for line in self.figures.read_text().splitlines()
         if not line.startswith('#')],
        ['bytes\tLibprotobuf\tProtozero', '16\t5.00\t2.00', '1024\t4.00\t1.00',
         '16777216\t5.72\t1.91'])

  @needs_matplotlib
  def test_sizes_are_spread_by_their_logarithm_and_costs_are_not(self):
    self.plot(sizes_result())
    (x1, y1), (x2, y2), (x3, _) = self.points('Protozero')
    self.assertAlmostEqual((x2 - x1) / (x3 - x1), 6 / 20, places=2)
    (_, y3), (_, y4), _ = self.points('Libprotobuf')
    # 5 is as far above 4 as 2 is above 1.
    self.assertAlmostEqual(y4 - y3, y2 - y1, delta=0.2)
    self.assertGreater(y2, y1)

  @needs_matplotlib
  def test_axes_legend_and_caption_say_what_is_shown(self):
    self.plot(sizes_result())
    texts = self.texts()
    for text in ('size of the message', 'nanoseconds per byte', 'protozero',
                 'libprotobuf, new message', '16 B', '1 KiB', '16 MiB',
                 '0', '1'):
      self.assertIn(text, texts)
    # There is no such row.
    self.assertNotIn('libprotobuf, reused message', texts)
    caption = ' '.join(texts)
    for text in ('A processor, 2 CPUs', 'clang 19, optimized', '2026-11-21',
                 'of 3 interleaved'):
      self.assertIn(text, caption)

  @needs_matplotlib
  def test_picture_is_whole_themed_and_the_same_each_time(self):
    self.plot(sizes_result())
    for name in 'Protozero', 'Libprotobuf':
      self.check_within(name)
    self.check_theme()
    self.check_same_bytes_each_time()

  @needs_matplotlib
  def test_names_are_escaped(self):
    result = sizes_result()
    result['context']['processor'] = 'R&D <1>'
    self.plot(result)
    self.assertIn('R&D <1>', ' '.join(self.texts()))

  @needs_matplotlib
  def test_committed_picture(self):
    self.check_committed('cost-per-byte')

  def test_missing_matplotlib_is_an_error_of_one_line(self):
    self.check_without_matplotlib()

  def test_what_cannot_be_plotted_is_an_error_of_one_line(self):
    no_rows = sizes_result()
    for run in no_rows['benchmarks']:
      run['run_name'] = 'BM_Protozero_Simple_Empty'
    no_empty = sizes_result()
    no_empty['benchmarks'] = [run for run in no_empty['benchmarks']
                              if 'Empty' not in run['name']]
    no_bytes = sizes_result()
    for run in no_bytes['benchmarks']:
      run['bytes'] = 0
    for result, message in ((no_rows, 'no BM_Protozero_Bytes rows'),
                            (no_empty, 'no Empty row'),
                            (no_bytes, 'wrote nothing')):
      path = self.folder / 'bad.json'
      path.write_text(json.dumps(result))
      run = self.run_tool(f'--json={path}')
      self.assertEqual(run.returncode, 1, message)
      self.assertIn(message, run.stderr)
      self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
      self.assertFalse(self.image.exists())

  def test_output_that_cannot_be_written_is_an_error_of_one_line(self):
    path = self.folder / 'result.json'
    path.write_text(json.dumps(sizes_result()))
    run = self.run_tool(f'--json={path}', image=self.folder / 'none' / 'x.svg')
    self.assertEqual(run.returncode, 1)
    self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)


def latency(median):
  figures = {'p10_ns': median / 2, 'p50_ns': median, 'p99_ns': 2 * median,
             'p99.9_ns': 1000 * median, 'max_ns': 1e9, 'mean_ns': median}
  return {'ns_per_operation': median, 'operations': 2000, 'figures': figures}


def latencies():
  """The median is the one in the middle of three repetitions."""
  return {'processor': 'Pentium', 'cpus': 2, 'load': 0.5, 'rows': {
      'PingPong_SpinValue_Untraced': [latency(t) for t in (100, 900, 200)],
      'PingPong_PacketCallback_Untraced': [latency(t) for t in (1, 600, 400)],
      'PingPong_SpinValue_Off': [latency(1)] * 3}}


class PlotLatencyTest(PlotTest):

  TOOL = 'plot_latency'

  @needs_matplotlib
  def test_figures_are_medians_from_the_median_on(self):
    output = self.plot(latencies(), '--markdown')
    self.assertIn('| ns | 50 % | 99 % | 99.9 % |', output)
    self.assertIn('| SpinValue_Untraced | 200 | 400 | 200000 |', output)
    self.assertIn('| PacketCallback_Untraced | 400 | 800 | 400000 |', output)
    self.assertNotIn('SpinValue_Off', output)

  @needs_matplotlib
  def test_plot_has_a_line_for_each_row(self):
    self.plot(latencies())
    value = self.points('SpinValue_Untraced')
    packet = self.points('PacketCallback_Untraced')
    for line in value, packet:
      self.assertEqual(len(line), 3)
      self.assertEqual(line, sorted(line))
    # Longer is higher.
    self.assertLess(packet[0][1], value[0][1])
    self.assertLess(value[2][1], value[1][1])
    text = ' '.join(self.texts())
    for words in ('2,000 round trips, medians of 3', 'Pentium, 2 CPUs',
                  'packet: callback', '99.9 %', '100 µs'):
      self.assertIn(words, text)

  @needs_matplotlib
  def test_picture_is_whole_themed_and_the_same_each_time(self):
    self.plot(latencies())
    for name in 'SpinValue_Untraced', 'PacketCallback_Untraced':
      self.check_within(name)
    self.check_theme()
    self.check_same_bytes_each_time()

  @needs_matplotlib
  def test_committed_picture(self):
    self.check_committed('ping-pong')

  def test_missing_matplotlib_is_an_error_of_one_line(self):
    self.check_without_matplotlib()

  def test_other_files_are_errors(self):
    for text, error in (
            ('', 'result.json'), ('[]', 'tools/workloads --save'),
            ('{"rows": {"PingPong_SpinValue_Untraced": [{}]}}',
             'tools/workloads --save'),
            ('{"rows": {"Chains_A_On": []}}', 'no PingPong rows')):
      path = self.folder / 'result.json'
      path.write_text(text)
      run = self.run_tool(f'--json={path}')
      self.assertEqual(run.returncode, 1)
      self.assertIn(error, run.stderr)
      self.assertNotIn('Traceback', run.stderr)


ROWS_PAGE = 'text\n' + '\n'.join(
    f'| {workload} | bytes | in L1, harness subtracted: ns | x light |\n'
    '|---|--:|--:|--:|\n' + ''.join(
        f'| {row} | 58 | 7.0 | {first + index}.44 |\n'
        for index, row in enumerate((
            'SpeedOfLight', 'Fused', 'ProtozeroReused', 'ProtozeroCalled',
            'PerfettoReused', 'Mapbox', 'LibprotobufReused', 'Libprotobuf')))
    for workload, first in (('Simple', 0), ('Nested', 10)))


class PlotRowsTest(PlotTest):

  TOOL = 'plot_rows'

  def draw(self, text):
    page = self.folder / 'page.md'
    page.write_text(text)
    return self.run_tool(page)

  @needs_matplotlib
  def test_bars_have_the_ratios_of_the_tables(self):
    run = self.draw(ROWS_PAGE)
    self.assertEqual(run.returncode, 0, run.stderr)
    texts = self.texts()
    for ratio in [*range(1, 8), *range(11, 18)]:
      self.assertIn(f'{ratio}.4', texts)
    self.assertNotIn('0.4', texts)  # SpeedOfLight itself.
    for text in 'Simple', 'Nested', 'one call', 'libprotobuf, new':
      self.assertIn(text, texts)
    self.check_theme()

  @needs_matplotlib
  def test_committed_picture(self):
    run = self.run_tool(PAGES / 'rows.txt')
    self.assertEqual(run.returncode, 0, run.stderr)
    self.check_drawn_as('rows')
    # A phone shows it at full size.
    width = xml.dom.minidom.parse(str(self.image)).documentElement.getAttribute('width')
    self.assertLessEqual(float(width.removesuffix('pt')), 340)

  def test_pages_without_the_tables_are_errors_of_one_line(self):
    for text, error in (
        ('', 'no table of Simple'),
        (ROWS_PAGE.replace('| Nested', '| Deep'), 'no table of Nested'),
        (ROWS_PAGE.replace('Fused', 'Other'), "lacks a row: 'Fused'"),
        (ROWS_PAGE.replace('3.44', '-'), 'lacks a row')):
      run = self.draw(text)
      self.assertEqual(run.returncode, 1)
      self.assertIn(error, run.stderr)
      self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
