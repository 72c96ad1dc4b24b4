#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/measure_instructions: with a stand-in for valgrind that counts
round numbers, and once for real.

  measure_instructions_unittest.py --binary=<out>/encode_rows
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap
import unittest

from fake_callgrind import callgrind

from cases import TOOLS, load_tool, run_cases

measure_instructions = load_tool('measure_instructions')

BINARY = None  # set by main()


class ParserTest(unittest.TestCase):

  def test_costs_of_callees_do_not_count_twice(self):
    profile = measure_instructions.parse_callgrind(callgrind(3))
    self.assertEqual(profile.instructions, {
        'main': 1500, 'Loop(int)': 21,
        'bench::EncodeOutOfLine(bench::Row*)': 300, 'memcpy': 120})
    self.assertEqual(profile.calls, {
        'Loop(int)': 1, 'bench::EncodeOutOfLine(bench::Row*)': 3,
        'memcpy': 6})

  def test_instructions_outside_of_functions_are_an_error(self):
    text = callgrind(3).replace('10 1000', '10 999')
    with self.assertRaisesRegex(measure_instructions.Error, '1941.*1940'):
      measure_instructions.parse_callgrind(text)

  def test_other_formats_are_an_error(self):
    for text in ('', 'summary: x', 'fn=(1)\nsummary: 1\n',
                 'events: Dr Ir\nsummary: 0\n', 'fn=(1) a\n1 x\n'):
      with self.assertRaises(measure_instructions.Error, msg=text):
        measure_instructions.parse_callgrind(text)

  def test_slope_is_without_the_loop_and_the_program(self):
    few, many = (measure_instructions.parse_callgrind(callgrind(count))
                 for count in (3, 13))
    slope = many.per_message(few, 10)
    self.assertEqual(slope.instructions, {
        'bench::EncodeOutOfLine(bench::Row*)': 100, 'memcpy': 40})
    self.assertEqual(slope.calls['memcpy'], 2)
    self.assertEqual(slope.total(), 140)

  def test_an_encoder_is_not_the_loop_around_its_own_cold_part(self):
    cold = textwrap.dedent('''\
            fn=(5) bench::EncodeOutOfLine(bench::Row*) [clone .cold]
            40 0
            cfn=(3)
            calls=1 30
            * 0

            totals:''')
    profile = measure_instructions.parse_callgrind(
        callgrind(3).replace('totals:', cold))
    self.assertEqual(profile.loops, {'Loop(int)'})

  def test_short_names(self):
    for name, short in (
        ('memcpy', 'memcpy'),
        ('protozero::bench::(anonymous namespace)::A<int>::B(int, C*)',
         'A<int>::B'),
        ("void protozero::Message::Set(unsigned)'2",
         'void protozero::Message::Set'),
        ('F::operator()(int) const', 'F::operator()')):
      self.assertEqual(measure_instructions.short_name(name), short)


class ToolTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.binary = self.write_binary('encode_rows')
    # Plays a row that takes 140, as above, and for random inputs 150; the
    # Empty one 2, the floor 10; "Slow" takes as much as its binary says.
    self.write_script('valgrind', f'''
            import sys
            sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
            from fake_callgrind import callgrind
            out = sys.argv[2].split('=', 1)[1]
            binary, row, inputs, count = sys.argv[3:]
            assert sys.argv[1] == '--tool=callgrind'
            count = int(count)
            implementation = row.split('_')[1].split('/')[0]
            cost = {{'Empty': -38, 'SpeedOfLight': -30}}.get(
                implementation, 100)
            if implementation == 'Slow':
                cost = int(open(binary + '.cost').read())
            if inputs == 'random' and cost >= 100:
                cost += 10
            open(out, 'w').write(callgrind(count, cost))
            print('%020d' % (58 * count))
            ''')

  def write_script(self, name, body):
    path = self.folder / name
    path.write_text(f'#!{sys.executable} -BES\n' + textwrap.dedent(body))
    os.chmod(path, 0o755)
    return path

  def write_binary(self, name, cost=300, build='clang 19, optimized'):
    (self.folder / f'{name}.cost').write_text(str(cost))
    return self.write_script(name, f'''
            import sys
            print({{'--build': '{build}', '--list': """
            Simple_Empty Simple_SpeedOfLight Simple_Libprotobuf Simple_Slow
            Other_Empty Other_Slow Lonely_Slow
            Sized_Empty/16 Sized_Slow/16 Sized_Slow/64"""}}[sys.argv[1]])
            ''')

  def run_tool(self, *args):
    env = dict(os.environ,
               PATH=f"{self.folder}{os.pathsep}{os.environ['PATH']}")
    return subprocess.run(
        [sys.executable, TOOLS / 'measure_instructions',
         f'--binary={self.binary}', *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False, env=env)

  def output(self, *args):
    run = self.run_tool(*args)
    self.assertEqual(run.returncode, 0, run.stderr)
    return run.stdout

  def row(self, output, label):
    lines = [line for line in output.splitlines()
             if line.startswith(label + ' ')]
    self.assertEqual(len(lines), 1, output)
    return lines[0][len(label):].split()

  def test_figures_are_net_of_the_empty_row(self):
    output = self.output()
    self.assertIn('clang 19, optimized', output)
    self.assertEqual(self.row(output, 'Libprotobuf'),
                     ['58', '138', '17.25', '1.00',
                      '58', '148', '18.50', '1.00'])
    self.assertEqual(self.row(output, 'SpeedOfLight')[1:3], ['8', '1.00'])
    self.assertEqual(self.row(output, 'Slow')[1:4],
                     ['338', '42.25', '2.45'])
    self.assertNotIn('Empty', output)
    self.assertNotIn('Other', output)

  def test_filter_chooses_rows_of_all_workloads(self):
    output = self.output('--filter=^(Simple|Other)_Slow',
                         '--inputs=constant')
    self.assertEqual([line.split() for line in output.splitlines()
                      if line.startswith('Slow')],
                     [['Slow', '58', '338', '-', '-']] * 2)

  def test_row_without_harness_to_subtract_is_an_error(self):
    run = self.run_tool('--filter=Lonely')
    self.assertEqual(run.returncode, 1)
    self.assertIn('Lonely has no Empty row', run.stderr)

  def test_arguments_make_workloads_of_their_own(self):
    output = self.output('--filter=^Sized_Slow/16', '--inputs=constant')
    self.assertIn('\nSized/16 ', output)
    self.assertEqual(self.row(output, 'Slow')[:2], ['58', '338'])
    run = self.run_tool('--filter=^Sized_Slow/64')
    self.assertIn('Sized/64 has no Empty row', run.stderr)

  def test_compares_with_a_binary_and_with_a_saved_result(self):
    before = self.write_binary('before', cost=638)
    saved = self.folder / 'before.json'
    self.output(f'--binary={before}', f'--save={saved}')
    for other in before, saved:
      output = self.output(f'--compare={other}')
      self.assertEqual(self.row(output, 'Slow'),
                       ['676', '338', '0.50', '686', '348', '0.51'])
      self.assertEqual(self.row(output, 'Libprotobuf')[:3],
                       ['138', '138', '1.00'])

  def test_rows_that_are_new_have_nothing_before(self):
    saved = self.folder / 'before.json'
    self.output('--filter=_SpeedOfLight', f'--save={saved}')
    output = self.output(f'--compare={saved}')
    self.assertEqual(self.row(output, 'Slow')[:3], ['-', '338', '-'])

  def test_saved_result_prints_the_same_again(self):
    saved = self.folder / 'saved.json'
    output = self.output(f'--save={saved}', '--functions')
    self.assertEqual(output,
                     self.output(f'--json={saved}', '--functions'))

  def test_functions_add_up(self):
    output = self.output('--functions', '--filter=Simple_Slow',
                         '--inputs=random')
    table = output[output.index('Simple_Slow, random'):]
    self.assertEqual(self.row(table, 'bench::EncodeOutOfLine'),
                     ['310', '1'])
    self.assertEqual(self.row(table, 'memcpy'), ['40', '2'])
    self.assertEqual(self.row(table, '(Empty, subtracted)'), ['-2'])
    self.assertEqual(self.row(table, '(all)'), ['348'])
    self.assertNotIn('Loop', table)

  def test_markdown_has_as_many_cells_in_each_line(self):
    lines = [line for line in self.output('--markdown').splitlines()
             if line.startswith('|')]
    self.assertEqual(len(lines), 2 + 3)
    self.assertEqual({line.count('|') for line in lines}, {10})

  def test_warns_of_debug_builds(self):
    binary = self.write_binary('debug', build='gcc 12, not optimized')
    self.assertIn('not a release build',
                  self.output(f'--binary={binary}'))
    self.assertNotIn('WARNING', self.output())

  def test_bad_input_is_an_error_of_one_line(self):
    path = self.folder / 'bad.json'
    for text in '', '[]', '{}', json.dumps(
            {'build': '', 'messages': 1, 'rows': {'a_b': {'random': 1}}}):
      path.write_text(text)
      run = self.run_tool(f'--json={path}')
      self.assertEqual(run.returncode, 1, text)
      self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
    run = self.run_tool(f'--json={self.folder}/none.json')
    self.assertEqual(run.returncode, 1)
    self.assertIn('none.json', run.stderr)

  def test_missing_and_failing_binaries_are_errors(self):
    run = self.run_tool(f'--binary={self.folder}/none')
    self.assertEqual(run.returncode, 1)
    self.assertIn('tools/ninja -C out/release encode_rows', run.stderr)
    failing = self.write_script('failing', '''
            import sys
            sys.exit('out of luck')
            ''')
    run = self.run_tool(f'--binary={failing}')
    self.assertEqual(run.returncode, 1)
    self.assertIn('out of luck', run.stderr)


class RealTest(unittest.TestCase):

  def shown(self, page, heading):
    """The numbers of the tables of a page below docs/performance/ whose first cell is
    `heading`, by the first cell of their rows."""
    text = (TOOLS.parent / 'docs/performance' / page).read_text()
    tables = re.findall(r'^\| %s \|.*\n\|[-:|]+\n((?:\|.*\n)+)' % heading, text, re.M)
    self.assertEqual(len(tables), 1)
    rows = [[cell.strip() for cell in line.split('|')[1:-1]]
            for line in tables[0].splitlines()]
    return {name: [float(cell or 'nan') for cell in cells] for name, *cells in rows}

  def assert_shown(self, shown, counted):
    """The pages have what clang 19 takes; a hundredth less or more is another build."""
    if self.compiler == 'clang 19':
      self.assertAlmostEqual(shown, counted, delta=1 + counted / 100)

  def measure(self, name_filter, messages=64):
    """(row, bytes, instructions) of each row, for constant inputs."""
    run = subprocess.run(
        [sys.executable, TOOLS / 'measure_instructions',
         f'--binary={BINARY}', '--inputs=constant', f'--messages={messages}',
         f'--filter={name_filter}'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)
    self.assertEqual(run.returncode, 0, run.stderr)
    self.compiler = re.search(r'; (\w+ \d+)', run.stdout)[1]
    return [(name, int(size), int(instructions))
            for name, size, instructions in
            re.findall(r'^(\w+) +(\d+) +(\d+)(?:\.\d)? ', run.stdout, re.M)]

  def test_counts_the_floor_and_this_library(self):
    rows = self.measure('^(Simple|Nested)_(SpeedOfLight|Protozero)$')
    self.assertEqual([row[0] for row in rows],
                     ['SpeedOfLight', 'Protozero'] * 2)
    # Nine slots, the cursor in one of them.
    self.assertEqual(rows[0][1], 72)
    floor, ours, nested_floor, nested = (row[2] for row in rows)
    # Five loads and stores at least; and nothing of the program.
    self.assertGreaterEqual(floor, 10)
    self.assertGreater(ours, floor)
    self.assertLess(ours, 1000)
    self.assertGreater(nested_floor, floor)
    self.assertGreater(nested, ours)
    self.assertEqual(self.measure('Simple_Protozero$'), [rows[1]])

  def test_pages_have_the_instructions_of_messages(self):
    for workload in 'Simple', 'Nested':
      shown = self.shown('messages.md', workload)
      rows = self.measure('^%s_(Slots|SpeedOfLight|Unchecked|(Protozero|Fused)(?!C$).*)$' %
                          workload)
      self.assertGreater(len(rows), 7)
      for name, size, instructions in rows:
        with self.subTest(workload + ' ' + name):
          self.assertEqual(shown[name][0], size)
          self.assert_shown(shown[name][1], instructions)

  def test_counts_events(self):
    # Now and then an event adjusts the clock, for thousands of instructions,
    # in one of the two runs perhaps.
    cost = {name: instructions
            for name, _, instructions in self.measure('^Event_', messages=4096)}
    self.assertEqual(list(cost), ['Instant', 'Slice', 'InstantInt', 'SliceInts',
                                  'FlightInstant', 'FlightSlice', 'TwiceInstant',
                                  'TwiceSlice', 'DroppedInstant', 'DroppedSlice'])
    self.assertGreater(cost['Instant'], 30)
    self.assertGreater(cost['Slice'], cost['Instant'])
    # While nothing can be written, nothing else is tried. A twentieth more than
    # clang 19 takes.
    self.assertLess(cost['DroppedInstant'], 0.825 * cost['Instant'])
    self.assertLess(cost['DroppedSlice'], 0.86 * cost['Slice'])
    # A value takes 39, and no event is split between chunks, a quarter more.
    self.assertLess(cost['InstantInt'], cost['Instant'] + 48)
    self.assertLess(cost['SliceInts'], cost['Slice'] + 3 * 48)
    # A flight recorder costs no more than a session with a service.
    self.assertLess(cost['FlightInstant'], 1.1 * cost['Instant'])
    self.assertLess(cost['FlightSlice'], 1.1 * cost['Slice'])
    # Each packet is written once for each session. A tenth more than clang 19 takes.
    for name in 'Instant', 'Slice':
      self.assertGreater(cost['Twice' + name], 1.5 * cost[name])
      self.assertLess(cost['Twice' + name], 2.9 * cost[name])
    shown = self.shown('track-events.md', 'instructions')
    for name in 'Instant', 'Slice':
      for column, variant in enumerate(('', 'Flight', 'Twice', 'Dropped')):
        self.assert_shown(shown[name.lower()][column], cost[variant + name])

  def test_counts_steps_of_tasks(self):
    cost = {name: instructions
            for name, _, instructions in self.measure('^Task_', messages=4096)}
    # A quarter more than clang 19 takes.
    bounds = {'Switch': 195, 'SwitchWaits': 255, 'Wake': 240, 'Spawn': 323,
              'Leaf': 1020, 'Dropped': 125}
    self.assertEqual(list(cost), list(bounds))
    for name, bound in bounds.items():
      self.assertLess(cost[name], bound, name)
      self.assertGreater(cost[name], bound / 4, name)
    # While nothing can be written, nothing else is tried.
    self.assertLess(cost['Dropped'], 0.9 * cost['Switch'])

  def test_counts_events_that_are_read(self):
    cost = {name: instructions
            for name, _, instructions in self.measure('^Read_', messages=1024)}
    # A quarter more than clang 19 takes. The fields alone take a quarter of it.
    # A repeated field that is decoded and nothing else: a tenth more.
    bounds = {'Instant': 1470, 'Slice': 3350, 'SliceWithArgs': 4240,
              'Counter': 1580, 'Repeated': 121}
    self.assertEqual(list(cost), list(bounds))
    for name, bound in bounds.items():
      self.assertLess(cost[name], bound, name)
      self.assertGreater(cost[name], bound / 4, name)
    # A slice is two events, and its order and nesting count.
    self.assertGreater(cost['Slice'], 1.5 * cost['Instant'])
    self.assertGreater(cost['SliceWithArgs'], cost['Slice'])

  def test_counts_levels_of_a_deep_message(self):
    cost = {name: instructions for name, _, instructions
            in self.measure('^Levels_', messages=16000)}
    self.assertEqual(list(cost), ['1000', '4000'])
    # A quarter more than clang 19 takes.
    self.assertLess(cost['1000'], 400)
    # A level takes as much at any depth.
    self.assertLess(cost['4000'], 1.05 * cost['1000'])

  def test_a_long_packet_takes_little_more_than_its_payload(self):
    def count(row):
      totals = []
      for packets in 512, 2560:
        with tempfile.NamedTemporaryFile() as out:
          subprocess.run(
              ['valgrind', '--tool=callgrind',
               f'--callgrind-out-file={out.name}', BINARY.parent / 'shm_rows',
               row, str(packets)], capture_output=True, check=True)
          profile = measure_instructions.parse_callgrind(
              pathlib.Path(out.name).read_text(encoding='utf-8'))
        totals.append(profile.total())
      return totals[1] - totals[0]

    self.assertLess(count('Long_Page32K'), 1.56 * count('Long_Flat'))

  def test_counts_packets_that_a_service_collects(self):
    cost = {name: instructions for name, _, instructions
            in self.measure('^Service_', messages=4096)}
    # A quarter more than clang 19 takes.
    bounds = {'Copy128': 54, 'Copy8': 376, 'Overwrite128': 52, 'Overwrite8': 319,
              'Read128': 131, 'Read8': 516, 'CopyEvents': 34, 'ReadEvents': 136,
              'RecordEvents': 150, 'Record128': 147}
    self.assertEqual(list(cost), list(bounds))
    for name, bound in bounds.items():
      self.assertLess(cost[name], bound, name)
      self.assertGreater(cost[name], bound / 4, name)
    # A commit leaves the packets to those who read them.
    self.assertLess(2 * cost['Copy128'], cost['Read128'])
    shown = self.shown('overhead.md', 'instructions a packet')
    for row, name in (('copied', 'Copy'), ('copied to a full ring', 'Overwrite'),
                      ('copied, read and stamped', 'Read')):
      for column, size in enumerate(('Events', '128', '8')):
        if name + size in cost:
          self.assert_shown(shown[row][column], cost[name + size])


def main():
  global BINARY
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--binary', required=True, type=pathlib.Path)
  args, others = parser.parse_known_args()
  BINARY = args.binary.resolve()
  return run_cases(others)


if __name__ == '__main__':
  sys.exit(main())
