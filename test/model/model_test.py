#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Checks the model of the chunk protocol, and that it notices mistakes.

Spin turns chunks.pml into a C program that visits every state that the model
can be in. Those without a mistake have to be free of errors; each of those with
a mistake has to break the invariant that it is named with here. README.md says
what the invariants are.

  model_test.py           a few millions of states; some seconds
  model_test.py --all     also with more packets; some minutes, and gigabytes
  model_test.py --trail KEEP_HEADER
                          shows the steps that lead to an error
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).resolve().parent / 'chunks.pml'

# Longer than any run of it has steps: the search would not be complete.
MAX_DEPTH = 10000

TORN = 'assertion violated .*records.*first=='
# What is wrong, the runs that are looked at, and what is found.
MUTANTS = {
    'NON_ATOMIC_ACQUIRE': ('DIES', r'assertion violated .*(owner|STATE|word>>)'),
    'FREE_BEFORE_COPY': ('DIES', r'assertion violated .*writer<='),
    'KEEP_HEADER': ('DIES', TORN),
    'KEEP_LAYOUT': ('DIES', r'assertion violated \(page_word==0\)'),
    'COUNT_BEFORE_WRITING': ('DIES', TORN),
    'SCRAPE_ALL_PACKETS': ('DIES', TORN),
    'SCRAPE_NOTHING': ('DIES', r'assertion violated .*arrived.*must_arrive'),
    'IGNORE_NEEDS_PATCHING': ('DIES', TORN),
    'KEEP_CHUNK_WHILE_WAITING': ('LIVES', 'invalid end state'),
}


class Error(Exception):
  pass


def call(folder, *command):
  process = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, universal_newlines=True,
                           check=False)
  if process.returncode != 0:
    raise Error('%s:\n%s' % (' '.join(command), process.stdout))
  return process.stdout


def verify(folder, *variant, cycles=False, optimize=False):
  """What the program prints that Spin makes of a variant of the model."""
  shutil.copy(MODEL, folder)
  call(folder, 'spin', '-a', *['-D' + name for name in variant], MODEL.name)
  # Compressed without loss: no two states are taken for the same.
  call(folder, 'gcc', '-O1' if optimize else '-O0', '-w', '-DCOLLAPSE',
       '-DNP' if cycles else '-DSAFETY', '-o', 'pan', 'pan.c')
  output = call(folder, './pan', '-m%d' % MAX_DEPTH, *['-l'] * cycles)
  if 'max search depth too small' in output or 'Search not comp' in output and \
      'errors: 0' in output:
    raise Error('the search is not complete:\n' + output)
  return output


def first_error(output):
  found = re.search(r'^pan:1: (.*) \(at depth', output, re.M)
  return found[1] if found else ''


def check_correct(variant, cycles=False):
  """Returns whether it passed, and a line to print."""
  with tempfile.TemporaryDirectory() as folder:
    output = verify(folder, variant, cycles=cycles, optimize=True)
  states = re.search(r'(\d+) states, stored', output)[1]
  passed = 'errors: 0' in output
  return passed, '%s%s: %s states, %s' % (
      variant, ', cycles' if cycles else '', states,
      'no error' if passed else first_error(output))


def check_no_cycles(variant):
  return check_correct(variant, cycles=True)


def check_mutant(name):
  variant, expected = MUTANTS[name]
  with tempfile.TemporaryDirectory() as folder:
    error = first_error(verify(folder, variant, name))
  return bool(re.match(expected, error)), '%s: %s' % (
      name, error or 'no error, although there is a mistake')


def print_trail(name):
  with tempfile.TemporaryDirectory() as folder:
    variant = MUTANTS[name][0]
    verify(folder, variant, name)
    print(call(folder, 'spin', '-t', '-p', '-g', '-l', '-D' + variant,
               '-D' + name, MODEL.name))


def check_all(variant):
  # Those that take long first.
  tasks = [(check_correct, variant), (check_no_cycles, 'LIVES')]
  tasks += [(check_mutant, name) for name in MUTANTS]
  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
    results = list(executor.map(lambda task: task[0](task[1]), tasks))
  for passed, line in results:
    print('%s  %s' % ('ok    ' if passed else 'FAILED', line))
  failed = sum(not passed for passed, _ in results)
  print('%d passed, %d failed' % (len(results) - failed, failed))
  return 1 if failed else 0


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--all', action='store_true')
  parser.add_argument('--trail', metavar='MUTANT', choices=sorted(MUTANTS))
  args = parser.parse_args()
  missing = [tool for tool in ('spin', 'gcc') if not shutil.which(tool)]
  if missing:
    print('model_test.py: install %s (tools/install-build-deps)' %
          ' and '.join(missing), file=sys.stderr)
    return 1
  try:
    if args.trail:
      print_trail(args.trail)
      return 0
    return check_all('ALL' if args.all else 'FEW')
  except Error as error:
    print('model_test.py: %s' % error, file=sys.stderr)
    return 1


if __name__ == '__main__':
  sys.exit(main())
