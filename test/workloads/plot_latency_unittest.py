#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/plot_latency, on results with round numbers."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

ROOT = pathlib.Path(os.environ.get(
    'PROTOZERO_SOURCE_ROOT', pathlib.Path(__file__).parents[2])).resolve()
TOOL = ROOT / 'tools' / 'plot_latency'
sys.path.insert(0, str(ROOT / 'test' / 'testing'))
from cases import run_cases  # pylint: disable=wrong-import-position


def result(median):
  figures = {'p10_ns': median / 2, 'p50_ns': median, 'p99_ns': 2 * median,
             'p99.9_ns': 1000 * median, 'max_ns': 1e9, 'mean_ns': median}
  return {'ns_per_operation': median, 'operations': 2000, 'figures': figures}


def measured():
  """Three repetitions, of which the one in the middle is the median."""
  return {'processor': 'Pentium', 'cpus': 2, 'load': 0.5, 'rows': {
      'PingPong_SpinValue_Untraced': [result(t) for t in (100, 900, 200)],
      'PingPong_PacketCallback_Untraced': [result(t) for t in (1, 600, 400)],
      'PingPong_SpinValue_Off': [result(1)] * 3}}


class PlotLatencyTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)

  def run_tool(self, text, *args):
    path = self.folder / 'result.json'
    path.write_text(text)
    return subprocess.run(
        [sys.executable, TOOL, f'--json={path}', '-o',
         self.folder / 'plot.svg', *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)

  def test_figures_are_medians_from_the_median_on(self):
    run = self.run_tool(json.dumps(measured()), '--markdown')
    self.assertEqual(run.returncode, 0, run.stderr)
    self.assertIn('| ns | 50 % | 99 % | 99.9 % |', run.stdout)
    self.assertIn('| SpinValue_Untraced | 200 | 400 | 200000 |', run.stdout)
    self.assertIn('| PacketCallback_Untraced | 400 | 800 | 400000 |',
                  run.stdout)
    self.assertNotIn('SpinValue_Off', run.stdout)

  def test_plot_has_a_line_for_each_row(self):
    self.run_tool(json.dumps(measured()))
    svg = xml.dom.minidom.parse(str(self.folder / 'plot.svg'))
    lines = [[tuple(map(float, point.split(',')))
              for point in line.getAttribute('points').split()]
             for line in svg.getElementsByTagName('polyline')]
    self.assertEqual([len(line) for line in lines], [3, 3])
    for line in lines:
      xs = [x for x, _ in line]
      self.assertEqual(xs, sorted(xs))
      for x, y in line:
        self.assertTrue(84 <= x <= 736 and 96 <= y <= 366, (x, y))
    # Longer is higher.
    self.assertLess(lines[1][0][1], lines[0][0][1])
    self.assertLess(lines[0][2][1], lines[0][1][1])
    text = ' '.join(node.firstChild.data
                    for node in svg.getElementsByTagName('text'))
    for words in ('2,000 round trips, medians of 3', 'Pentium, 2 CPUs',
                  'packet: callback', '99.9 %', '100 µs'):
      self.assertIn(words, text)

  def test_other_files_are_errors(self):
    for text, error in (
            ('', 'result.json'), ('[]', 'tools/workloads --save'),
            ('{"rows": {"PingPong_SpinValue_Untraced": [{}]}}',
             'tools/workloads --save'),
            ('{"rows": {"Chains_A_On": []}}', 'no PingPong rows')):
      run = self.run_tool(text)
      self.assertEqual(run.returncode, 1)
      self.assertIn(error, run.stderr)
      self.assertNotIn('Traceback', run.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
