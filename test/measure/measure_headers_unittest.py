#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/measure_headers: its table of known figures, and a short run.

  measure_headers_unittest.py --build=<out>
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cases import TOOLS, load_tool, run_cases

tool = load_tool('measure_headers')

BUILD = None  # set by main()


class TableTest(unittest.TestCase):

  def row(self, table, label):
    rows = [row for row in table.rows if row[0].strip() == label]
    self.assertEqual(len(rows), 1, table.rows)
    return rows[0][1:]

  def table(self, compiler, messages, emitted, seconds):
    figures = tool.Figures(emitted, (100, 2000), seconds, 0.5)
    return tool.make_table(compiler, {tool.MANY: figures}, 0.5, messages)

  def test_times_are_net_and_in_units_of_the_standard_headers(self):
    table = self.table('clang', 100, (12800, 927000), 1.5)
    self.assertEqual(self.row(table, '100 messages'),
                     ['12800', '927', '100', '2', '1.000', '2.00'])
    self.assertEqual(self.row(table, 'standard headers')[-2:],
                     ['0.500', '1.00'])

  def test_half_of_perfettos_is_the_target(self):
    table = self.table('clang', 100, (12800, 927000), 1.1)
    self.assertEqual(self.row(table, 'Perfetto'),
                     ['25600', '927', '', '', '0.640', '2.46'])
    self.assertEqual(self.row(table, 'half of it'),
                     ['yes', '2.00 x', '', '', '', 'yes'])
    table = self.table('clang', 100, (12801, 1), 1.5)
    self.assertEqual(self.row(table, 'half of it'),
                     ['1.00 x', 'yes', '', '', '', '1.62 x'])

  def test_perfettos_times_are_for_clang(self):
    table = self.table('gcc', 100, (1, 1), 9)
    self.assertEqual(self.row(table, 'Perfetto')[-2:], ['', ''])
    self.assertEqual(self.row(table, 'half of it')[-1], '')

  def test_perfettos_figures_are_for_100_messages(self):
    table = self.table('clang', 99, (1, 1), 1)
    self.assertEqual([row[0] for row in table.rows],
                     ['99 messages', 'standard headers'])


class SchemaTest(unittest.TestCase):

  def test_messages_have_ten_scalars_and_a_repeated_message(self):
    text = tool.schema(3)
    self.assertEqual(text.count('message Message'), 3)
    self.assertEqual(text.count('  optional '), 30)
    self.assertEqual(re.findall(r'repeated (\w+) ', text),
                     ['Message1', 'Message2', 'Message0'])


class RealTest(unittest.TestCase):

  def run_tool(self, *args):
    return subprocess.run(
        [sys.executable, TOOLS / 'measure_headers', '--compiler=clang',
         '--runs=1', '--messages=3', *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)

  def test_measures_headers(self):
    run = self.run_tool(f'--build={BUILD}', '--markdown')
    self.assertEqual(run.returncode, 0, run.stderr)
    rows = {cells[1].strip(): cells[2:-1] for cells in
            (line.split('|') for line in run.stdout.splitlines())
            if len(cells) > 1}
    one, many = rows['1 message'], rows['3 messages']
    for column in range(4):
      self.assertGreaterEqual(int(many[column]), int(one[column]))
    # Eleven setters in each message, of a line at least.
    self.assertGreater(int(many[0]), int(one[0]) + 22)
    self.assertGreater(int(many[2]), int(one[2]) + 22)
    self.assertGreater(float(rows['standard headers'][-2]), 0)

  def test_header_that_does_not_compile_is_an_error(self):
    with tempfile.TemporaryDirectory() as name:
      folder = pathlib.Path(name)
      header = folder / 'bad.pbzero.h'
      header.write_text('int x = "not a number";\n')
      with self.assertRaisesRegex(tool.Error, 'bad.pbzero.h'):
        tool.measure(folder, {'bad': header}, 'clang', 1)

  def test_missing_plugin_is_an_error(self):
    with tempfile.TemporaryDirectory() as folder:
      run = self.run_tool(f'--build={folder}')
    self.assertEqual(run.returncode, 1)
    self.assertIn('tools/ninja -C out/release protoc', run.stderr)


def main():
  global BUILD
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--build', required=True, type=pathlib.Path)
  args, others = parser.parse_known_args()
  BUILD = args.build.resolve()
  return run_cases(others)


if __name__ == '__main__':
  sys.exit(main())
