#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of tools/mutant_points.py: that a mutant differs from its source, and
that nothing else does; and that tools/mutants_reasons.txt is about mutants that
there are. Runs in the build directory, whose headers the sources include.

The interpreter is Debian's, which has clang's bindings."""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import mutant_points
from cases import load_tool, run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]

# With a test that does not look at what is below 0.
SOURCE = '''#include <cstdio>
#define TWICE(x) ((x) + (x))
constexpr int kLimit = 10;
static_assert(kLimit > 3, "");
template <int kSize>
int Sized(int value) { return value + kSize; }
constexpr int Next(int value) { return value + 1; }
int Clamp(int value) {
  static const int offset = Next(0);
  int array[3 + 1] = {};
  switch (value) {
    case 7:
      array[0] = 5;
      break;
  }
  if (value < 0)  // Not < 0.
    value = 0;
  return TWICE(value >
               kLimit ? kLimit : value) + array[0] +
         Sized<4>(offset - 1);
}
int main() {
  return Clamp(3) == 10 && Clamp(10) == 24 && Clamp(11) == 24 &&
                 Clamp(7) == 23 && Next(3) == 4
             ? 0
             : 1;
}
'''
KILLED = [
    'toy.cc: Next: constexpr int Next(int value) { return value {+ => -} 1; }',
    'toy.cc: Clamp: if ({value < 0 => true})',
    'toy.cc: Clamp: {delete} array[0] = 5',
    'toy.cc: Clamp: {kLimit => kLimit + 1} ? kLimit : value) + array[0] +',
]
SURVIVE = [
    'toy.cc: Clamp: if ({value < 0 => false})',
    'toy.cc: Clamp: if (value {< => <=} 0)',
    'toy.cc: Clamp: {delete} value = 0',
    'toy.cc: Clamp: return TWICE(value {> => >=}',
]


def has_libclang():
  try:
    from clang import cindex  # pylint: disable=import-outside-toplevel
  except ImportError:
    return False
  return cindex is not None


@unittest.skipUnless(has_libclang(), 'there is no libclang (python3-clang-19)')
class MutantsTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(cls.folder.cleanup)
    folder = pathlib.Path(cls.folder.name)
    (folder / 'toy.cc').write_text(SOURCE)
    (folder / 'mutants.h').write_text(mutant_points.HEADER)
    found = mutant_points.find_mutants(str(folder), 'toy.cc', ['-std=c++17'])
    cls.numbers = {mutant.key: number for number, mutant in enumerate(found)
                   if mutant.function != 'main'}
    (folder / 'mutated.cc').write_text(mutant_points.mutated_text(
        SOURCE, [(number, found[number]) for number in cls.numbers.values()],
        str(folder / 'mutants.h')))
    subprocess.check_call(['clang++-19', '-std=c++17', folder / 'mutated.cc',
                           '-o', folder / 'mutated'])
    cls.program = folder / 'mutated'

  def run_program(self, **env):
    return subprocess.run([self.program], env=dict(os.environ, **env),
                          check=False).returncode

  def test_no_mutant(self):
    self.assertEqual(self.run_program(), 0)

  def test_killed(self):
    for key in KILLED:
      with self.subTest(key=key):
        self.assertEqual(
            self.run_program(PROTOZERO_MUTANT=str(self.numbers[key])), 1)

  def test_survivors(self):
    for key in SURVIVE:
      with self.subTest(key=key):
        self.assertEqual(
            self.run_program(PROTOZERO_MUTANT=str(self.numbers[key])), 0)

  def test_reached(self):
    with tempfile.NamedTemporaryFile() as f:
      f.truncate(len(self.numbers))
      self.assertEqual(
          self.run_program(PROTOZERO_MUTANTS_REACHED=f.name), 0)
      reached = f.read()
    for key, number in self.numbers.items():
      with self.subTest(key=key):
        self.assertEqual(reached[number],
                         0 if key == 'toy.cc: Clamp: {delete} value = 0' or
                         'value = {0 => 1}' in key else 1)

  def test_constants_of_compilers_are_left_out(self):
    for text in ('kLimit {', '{3 =>', '{7 =>', '<{4', 'int kLimit = {'):
      with self.subTest(text=text):
        self.assertEqual([key for key in self.numbers if text in key], [])


def keys_of(path):
  """The keys of the mutants of a source."""
  flags = ['-std=c++17', '-w', '-I%s' % ROOT, '-I%s/include' % ROOT,
           '-Igen/include', '-Igen']
  return {mutant.key for mutant in mutant_points.find_mutants(str(ROOT), path, flags)}


@unittest.skipUnless(has_libclang(), 'there is no libclang (python3-clang-19)')
class ReasonsTest(unittest.TestCase):

  def test_each_is_about_a_mutant_that_there_is(self):
    mutants = load_tool('mutants')
    reasons = mutants.read_reasons()
    self.assertGreater(len(reasons), 10)
    paths = sorted({key.split(': ')[0] for key in reasons})
    for path in paths:
      self.assertTrue(any(path in mutants.sources_of(part) for part in mutants.PARTS))
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
      keys = set().union(*pool.map(keys_of, paths))
    self.assertEqual(sorted(set(reasons) - keys), [])
    self.assertEqual([key for key, reason in reasons.items() if not reason], [])


if __name__ == '__main__':
  sys.exit(run_cases())
