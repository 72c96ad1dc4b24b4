# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tests that run compilers."""

import concurrent.futures
import functools
import os
import shutil
import subprocess
import sys
import tempfile

from cases import load_tool

SOURCE_ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

WARNINGS = [
    '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror'
]


def find_compilers():
  """The first clang and the first gcc there are. Both are build dependencies."""
  found = []
  for names in (['clang++-19', 'clang++'], ['g++']):
    for name in names:
      if shutil.which(name):
        found.append(name)
        break
    else:
      sys.exit('%s not found; run tools/install-build-deps' % names[0])
  return found


def tables_of_macros(counter):
  """Returns {table: names} of what system headers take, as the plugin has it. Checks
  that it is as tools/list_macros wrote it."""
  path = 'src/protoc_plugin/c_family/system_macros.cc'
  with open(os.path.join(SOURCE_ROOT, path), encoding='utf-8') as file:
    text = file.read()
  list_macros = load_tool('list_macros')
  tables = list_macros.tables_of(text)
  for name, words in tables.items():
    counter.check(list_macros.comment_of(words) + '\nconst std::string_view %s[]' % name
                  in text, name + ': as many names, and the same')
  return tables


def syntax_errors(compiler, flags, text):
  """Compiles `text` without making code. Returns what the compiler prints,
  which is empty for code without errors and warnings."""
  result = subprocess.run(
      [compiler, '-fsyntax-only', '-x', 'c++', '-'] + flags,
      input=text, capture_output=True, text=True)
  if result.returncode != 0 and not result.stderr:
    return '%s exited with %d' % (compiler, result.returncode)
  return result.stderr


def run_all(jobs, workers=0):
  """Runs functions concurrently; yields their results in order."""
  with concurrent.futures.ThreadPoolExecutor(workers or
                                             os.cpu_count()) as executor:
    yield from executor.map(lambda job: job(), jobs)


class Counter:
  """Counts cases, and prints the line that tools/test looks for."""

  def __init__(self):
    self.passed = 0
    self.failed = 0

  def check(self, ok, name, details=''):
    if ok:
      self.passed += 1
      return
    self.failed += 1
    print('FAILED: %s' % name)
    if details:
      print('\n'.join('    ' + line for line in details.splitlines()[:40]))

  def finish(self):
    print('%d passed, %d failed' % (self.passed, self.failed))
    sys.exit(1 if self.failed or not self.passed else 0)


def check_optimized(check):
  """A test of what compilers make: calls check(compiler, level, output) for
  each compiler at -O2 and -O3. `output` is the path for an object; check()
  returns errors."""
  counter = Counter()
  with tempfile.TemporaryDirectory() as temp:
    cases = [(compiler, level) for compiler in find_compilers()
             for level in ('-O2', '-O3')]
    jobs = [functools.partial(check, compiler, level,
                              os.path.join(temp, compiler + level + '.o'))
            for compiler, level in cases]
    for (compiler, level), errors in zip(cases, run_all(jobs)):
      counter.check(not errors, '%s %s' % (compiler, level), '\n'.join(errors))
  counter.finish()
