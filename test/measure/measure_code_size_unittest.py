#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/measure_code_size: its arithmetic on known sections, and one
kind of call site for real.

  measure_code_size_unittest.py --build=<out>
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from cases import TOOLS, load_tool, run_cases

tool = load_tool('measure_code_size')
import object_code

BUILD = None  # set by main()

OBJDUMP = '''
a.o:     file format elf64-x86-64

Sections:
Idx Name                Size      VMA               LMA               File off  Algn  Flags
  0 .text               00000000  0000000000000000  0000000000000000  00000040  2**2  CONTENTS, ALLOC, LOAD, READONLY, CODE
  1 .text.Function0     00000031  0000000000000000  0000000000000000  00000040  2**4  CONTENTS, ALLOC, LOAD, RELOC, READONLY, CODE
  2 .text._Z3Setv       00000010  0000000000000000  0000000000000000  00000080  2**4  CONTENTS, ALLOC, LOAD, READONLY, CODE, LINK_ONCE_DISCARD
  3 .text.unlikely._Z4Slowv 00000005  0000000000000000  0000000000000000  00000090  2**0  CONTENTS, ALLOC, LOAD, READONLY, CODE
  4 .data.rel.ro        00000100  0000000000000000  0000000000000000  00000098  2**3  CONTENTS, ALLOC, LOAD, RELOC, DATA
  5 .eh_frame           00000200  0000000000000000  0000000000000000  00000198  2**3  CONTENTS, ALLOC, LOAD, RELOC, READONLY, DATA
'''

READELF = '''
COMDAT group section [    9] `.group' [_Z3Setv] contains 1 sections:
   [Index]    Name
   [   10]   .text.Function0
'''


class SectionsTest(unittest.TestCase):

  def setUp(self):
    self.sections = object_code.parse_sections(OBJDUMP)

  def test_all_code_counts_and_nothing_else(self):
    self.assertEqual([s.name for s in self.sections],
                     ['.text', '.text.Function0', '.text._Z3Setv',
                      '.text.unlikely._Z4Slowv'])

  def test_padding_counts(self):
    self.assertEqual([s.bytes for s in self.sections], [0, 64, 16, 5])
    self.assertEqual(object_code.total(self.sections), 85)

  def test_cold_code_is_known_by_its_section(self):
    self.assertEqual(object_code.total_cold(self.sections), 5)
    for name, is_cold in (('.text.unlikely', True), ('.text.cold.a', True),
                          ('.text.split.a', True), ('.text.hot.a', False),
                          ('.text.Function.cold', True),
                          ('.text.unlikelyhood', False), ('.text', False)):
      section = object_code.Section(name, 1, 1, False)
      self.assertEqual(section.is_cold, is_cold, name)

  def test_linking_keeps_inline_functions_once(self):
    linked = object_code.total_linked({'a.cc': self.sections,
                                'b.cc': self.sections})
    self.assertEqual(linked, {'objects': {'a.cc': 85, 'b.cc': 69},
                              'all': 154, 'cold': 10})

  def test_sections_of_groups_are_inline_functions(self):
    sections = object_code.parse_sections(OBJDUMP, object_code.parse_groups(READELF))
    linked = object_code.total_linked({'a.cc': sections, 'b.cc': sections})
    self.assertEqual(linked['objects'], {'a.cc': 85, 'b.cc': 5})

  def test_functions_of_one_name_in_one_object_both_count(self):
    section = object_code.Section('.text.f', 8, 1, False)
    self.assertEqual(
        object_code.total_linked({'a': [section, section]})['all'], 16)


class ArithmeticTest(unittest.TestCase):

  def test_slope_is_free_of_what_is_there_once(self):
    self.assertEqual(tool.slope({1: 110, 100: 1100, 200: 2100}), 10)

  def test_sites_that_are_not_alike_are_told(self):
    self.assertTrue(tool.is_linear({1: 110, 100: 1100, 200: 2100}))
    self.assertTrue(tool.is_linear({10: 1, 30: 1000}))
    sizes = {0: 0, 100: 20000, 200: 21000}
    self.assertFalse(tool.is_linear(sizes))
    self.assertEqual(tool.halves(sizes), (200, 10))

  def objects(self, sizes, cold=0):
    return {count: [object_code.Section('.text.a', size - cold * count, 1, False),
                    object_code.Section('.text.unlikely.a', cold * count, 1,
                                 False)]
            for count, size in sizes.items()}

  def test_functions_have_five_call_sites(self):
    figures = tool.figures_of(self.objects({10: 1000, 30: 2000}, cold=5),
                              tool.FUNCTIONS, False)
    self.assertEqual(figures, {'all': 10, 'cold': 1})

  def test_an_event_is_one_call_site(self):
    figures = tool.figures_of(self.objects({10: 1000, 30: 2000}),
                              tool.FUNCTIONS, True)
    self.assertEqual(figures, {'all': 50, 'cold': 0})

  def test_one_function_counts_its_call_sites(self):
    figures = tool.figures_of(
        self.objects({1: 0, 101: 20000, 201: 21000}), tool.ONE, False)
    self.assertEqual(figures, {'all': 105, 'cold': 0, 'halves': (200, 10)})

  def test_serializer_is_counted_by_field(self):
    sections = [object_code.Section(name, size, 1, False) for name, size in (
        ('.text._ZNK7measure3Few18_InternalSerializeEPh', 100),
        ('.text._ZNK7measure3Few12ByteSizeLongEv', 50),
        ('.text._ZNK7measure5Many018_InternalSerializeEPh', 300),
        ('.text.unlikely._ZNK7measure5Many018_InternalSerializeEPh', 20),
        ('.text._ZNK7measure5Many012ByteSizeLongEv', 80),
        ('.text._ZNK7measure5Many118_InternalSerializeEPh', 1000),
        ('.text._ZN7measure5Many09MergeFromEv', 1000))]
    self.assertEqual(tool.serializer_share(sections), 25)
    with self.assertRaises(tool.Error):
      tool.serializer_share(sections[2:])


class SourceTest(unittest.TestCase):

  def test_functions_set_the_same_fields(self):
    text = tool.source(tool.OURS, 'int32', tool.FUNCTIONS, 3)
    self.assertEqual(
        re.findall(r'(Many\d+)\*>\(message\)->set_(f\d+)\((.*)\);', text),
        [('Many0', f'f{i}', f'v.at[{i - 1}].value')
         for i in range(1, 6)] * 3)

  def test_new_fields_are_all_different(self):
    text = tool.source(tool.OURS, 'enum', tool.NEW_FIELD, 15)
    fields = re.findall(r'(Many\d+)\*>\(message\)->set_(f\d+)\(', text)
    self.assertEqual(len(fields), 75)
    self.assertEqual(len(set(fields)), 75)
    proto = tool.proto_of(tool.KINDS['enum'])
    for message, field in fields:
      self.assertIn(f'message {message} {{', proto)
      self.assertIn(f' Choice {field} = {field[1:]};', proto)

  def test_one_function_sets_one_field(self):
    text = tool.source(tool.PEER, 'string', tool.ONE, 20)
    calls = re.findall(
        r'set_f1\(v.at\[(\d+)\].value, v.at\[(\d+)\].size\);', text)
    self.assertEqual(calls, [(str(i % 15), str(i % 15))
                             for i in range(20)])
    self.assertEqual(text.count('asm volatile'), 20)
    self.assertEqual(text.count('extern "C"'), 2)

  def test_nested_messages_in_the_words_of_each_library(self):
    for implementation, call in (
        (tool.OURS, '->set_f3();'), (tool.PEER, '->mutable_f3();'),
        (tool.MAPBOX, '{ Writer child(writer, 3); }')):
      self.assertIn(call, tool.source(implementation, 'nested begin+end',
                                      tool.FUNCTIONS, 1))

  def test_an_event_is_the_workload_of_the_benchmark(self):
    text = tool.source(tool.MAPBOX, 'event', tool.FUNCTIONS, 1)
    self.assertEqual(
        [line.strip() for line in text.splitlines()
         if line.startswith('  writer.')],
        ['writer.add_int32(1, v.number_int32);',
         'writer.add_uint32(3, v.number_uint32);',
         'writer.add_int64(2, v.number_int64);',
         'writer.add_uint64(4, v.number_uint64);',
         'writer.add_string(500, v.string, v.string_size);'])


def figures(functions, one, **others):
  return {'functions': {'all': functions, 'cold': 0},
          'one': {'all': one, 'cold': 0}, **others}


class TableTest(unittest.TestCase):

  def rows(self, result, *args):
    """The lines printed of a saved result, by their first word."""
    with tempfile.TemporaryDirectory() as folder:
      path = pathlib.Path(folder) / 'result.json'
      path.write_text(json.dumps(result))
      run = subprocess.run(
          [sys.executable, TOOLS / 'measure_code_size',
           f'--json={path}', *args],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
          check=False)
    self.assertEqual(run.returncode, 0, run.stderr)
    return {line.split()[0]: line.split()[1:]
            for line in run.stdout.splitlines() if line}

  def test_larger_figure_decides_at_O2(self):
    for functions, one, met in ((60, 59, ['yes']), (59, 60, ['yes']),
                                (59, 90, ['1.50', 'x'])):
      result = {'clang -O2': {'sites': {tool.OURS: {
          'int32': figures(functions, one)}}}}
      self.assertEqual(self.rows(result)['int32'],
                       [str(functions), str(one), '0', '166', '60'] +
                       met)

  def test_perfetto_decides_at_Os(self):
    result = {'gcc -Os': {'sites': {tool.OURS: {
        'int32': figures(13, 26), 'bool': figures(100, 100)}}}}
    rows = self.rows(result)
    self.assertEqual(rows['int32'][-4:], ['13', '13', '2.00', 'x'])
    self.assertEqual(rows['bool'], ['100', '100', '0'])

  def test_sites_that_are_not_alike_are_explained(self):
    uneven = figures(205, 110)
    uneven['one']['halves'] = (200, 10)
    result = {'gcc -O2': {'sites': {tool.PEER: {'int32': uneven}}}}
    rows = self.rows(result)
    self.assertEqual(rows['int32'][:2], ['205', '110*'])
    self.assertEqual(rows['*'], ['Libprotobuf,', 'int32:', '200', 'up',
                                 'to', 'the', '100th,', '10', 'from',
                                 'there'])

  def test_runtime_has_a_target(self):
    for size, met in (8192, ['yes']), (9830, ['1.20', 'x']):
      for small, large in ('linked', 'all'), ('all', 'linked'):
        runtime = {'objects': {'message.cc': size}, 'cold': 7,
                   small: 8000, large: size}
        rows = self.rows({'clang -O2': {'sites': {},
                                        'runtime': runtime}})
        self.assertEqual(rows['message.cc'], [str(size)])
        self.assertEqual(rows[f'{large}:'], ['met'] + met)
        self.assertEqual(rows[f'{small}:'], ['met', 'yes'])

  def test_readers_do_not_count_as_writing(self):
    runtime = {'objects': {'message.cc': 8000, 'field.cc': 200,
                           'proto_decoder.cc': 300},
               'all': 8500, 'cold': 7, 'linked': 1}
    rows = self.rows({'clang -O2': {'sites': {}, 'runtime': runtime}})
    self.assertEqual(rows['writing'], ['8000'])
    self.assertEqual(rows['writing:'], ['met', 'yes'])

  def test_compares_with_before(self):
    result = {'clang -O2': {'sites': {tool.OURS: {
        'int32': figures(50, 40), 'bool': figures(5, 5)}}}}
    before = {'clang -O2': {'sites': {tool.OURS: {
        'int32': figures(100, 100)}}}}
    with tempfile.NamedTemporaryFile('w', suffix='.json') as saved:
      json.dump(before, saved)
      saved.flush()
      rows = self.rows(result, f'--compare={saved.name}')
    self.assertEqual(rows['int32'],
                     ['100', '50', '0.50', '100', '40', '0.40', '-'])
    self.assertEqual(rows['bool'], ['5', '-', '5', '-', '-'])


class RealTest(unittest.TestCase):

  def run_tool(self, *args):
    return subprocess.run(
        [sys.executable, TOOLS / 'measure_code_size', '--kind=bool',
         '--compiler=clang', '--level=O2', *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        check=False)

  def test_measures_a_call_site(self):
    with tempfile.TemporaryDirectory() as folder:
      saved = pathlib.Path(folder) / 'saved.json'
      run = self.run_tool('--implementation=Protozero',
                          '--implementation=Mapbox', f'--build={BUILD}',
                          f'--save={saved}', '--markdown')
      self.assertEqual(run.returncode, 0, run.stderr)
      config = json.loads(saved.read_text())['clang -O2']
    for implementation, kinds in config['sites'].items():
      for way in tool.FUNCTIONS, tool.ONE:
        # At least the store of a byte, at most a serializer.
        self.assertGreater(kinds['bool'][way]['all'], 3,
                           implementation)
        self.assertLess(kinds['bool'][way]['all'], 500,
                        implementation)
    self.assertGreater(config['runtime']['objects']['message.cc'], 500)
    self.assertLess(config['runtime']['all'], 100000)
    self.assertGreater(config['runtime']['linked'], 1000)
    self.assertLess(config['runtime']['linked'], config['runtime']['all'])
    lines = [line for line in run.stdout.splitlines()
             if line.startswith('| bool')]
    self.assertEqual(len(lines), 1, run.stdout)

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
