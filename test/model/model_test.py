#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Checks the models of how chunks are shared, and that they notice mistakes.

Spin turns a model into a C program that visits every state that the model can
be in. Those without a mistake have to be free of errors; each of those with a
mistake has to break the invariant that it is named with here. README.md says
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

FOLDER = pathlib.Path(__file__).resolve().parent

# Longer than any run of it has steps: the search would not be complete.
MAX_DEPTH = 10000

# (model, variant, whether to look for runs without an end, too)
CORRECT = [
    ('chunks.pml', 'FEW', False),
    ('chunks.pml', 'LIVES', True),
    ('commits.pml', 'FEW', False),
    ('idle.pml', 'FEW', False),
    ('ring.pml', 'FEW', False),
]
CORRECT_ALL = [
    ('chunks.pml', 'ALL', False),
    ('chunks.pml', 'LIVES', True),
    ('commits.pml', 'ALL', False),
    ('commits.pml', 'FEW', True),
    ('idle.pml', 'ALL', False),
    ('ring.pml', 'ALL', False),
]

TORN = 'assertion violated .*records.*first=='
TAKEN = r'assertion violated .*(is_taken|packets_sent|last_sent)'
NOT_SENT = r'assertion violated .*sent\[me\]=='
# The mistake, the runs to look at, and the expected finding.
MUTANTS = {
    'NON_ATOMIC_ACQUIRE':
        ('chunks.pml', 'DIES', r'assertion violated .*(owner|STATE|word>>)'),
    'FREE_BEFORE_COPY':
        ('chunks.pml', 'DIES', r'assertion violated .*writer<='),
    'KEEP_HEADER': ('chunks.pml', 'DIES', TORN),
    'KEEP_LAYOUT':
        ('chunks.pml', 'DIES', r'assertion violated \(page_word==0\)'),
    'COUNT_BEFORE_WRITING': ('chunks.pml', 'DIES', TORN),
    'SCRAPE_ALL_PACKETS': ('chunks.pml', 'DIES', TORN),
    'SCRAPE_NOTHING':
        ('chunks.pml', 'DIES', r'assertion violated .*arrived.*must_arrive'),
    'IGNORE_NEEDS_PATCHING': ('chunks.pml', 'DIES', TORN),
    'KEEP_CHUNK_WHILE_WAITING': ('chunks.pml', 'LIVES', 'invalid end state'),
    'NON_ATOMIC_PUSH':
        ('commits.pml', 'FEW', r'assertion violated .*is_free\[oldest\]'),
    'TAKE_CHUNKS_FIRST':
        ('commits.pml', 'FEW', r'assertion violated .*patch_of\[patch\]'),
    'SEND_ONCE': ('commits.pml', 'FEW', NOT_SENT),
    'WAIT_FOR_ONE_ROUND': ('commits.pml', 'FEW', NOT_SENT),
    'NO_BARRIER': ('idle.pml', 'FEW', TAKEN),
    'COMPARE_PARITY': ('idle.pml', 'FEW', TAKEN),
    'DO_NOT_WAIT': ('idle.pml', 'FEW', TAKEN),
    'TAKE_ANYWAY': ('idle.pml', 'FEW', 'invalid end state'),
    'IDLE_BEFORE_COUNT': ('idle.pml', 'FEW', TAKEN),
    'KEEP_COUNT': ('ring.pml', 'FEW', r'assertion violated .*ids\[p\]'),
    'LOOK_ONCE': ('ring.pml', 'FEW', r'assertion violated .*completed_at'),
    'NEVER_NEW': ('ring.pml', 'FEW', r'assertion violated .*completed_at'),
    'NEVER_KEPT': ('ring.pml', 'FEW', r'assertion violated .*keep_from'),
    'TAKE_CHUNK_IN_USE': ('ring.pml', 'FEW', r'assertion violated .*owner'),
    'COMPLETE_BEFORE_PATCH': ('ring.pml', 'FEW', TORN),
    'READ_LAST_PACKET': ('ring.pml', 'FEW', TORN),
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


def verify(folder, model, *variant, cycles=False, optimize=False):
  """The output of the program that Spin makes of a variant of the model."""
  shutil.copy(FOLDER / model, folder)
  call(folder, 'spin', '-a', *['-D' + name for name in variant], model)
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


def check_correct(model, variant, cycles):
  """Returns whether it passed, and a line to print."""
  with tempfile.TemporaryDirectory() as folder:
    output = verify(folder, model, variant, cycles=cycles, optimize=True)
  states = re.search(r'(\d+) states, stored', output)[1]
  passed = 'errors: 0' in output
  return passed, '%s, %s%s: %s states, %s' % (
      model, variant, ', cycles' if cycles else '', states,
      'no error' if passed else first_error(output))


def check_mutant(name):
  model, variant, expected = MUTANTS[name]
  with tempfile.TemporaryDirectory() as folder:
    error = first_error(verify(folder, model, variant, name))
  return bool(re.match(expected, error)), '%s, %s: %s' % (
      model, name, error or 'no error, although there is a mistake')


def print_trail(name):
  model, variant, _ = MUTANTS[name]
  with tempfile.TemporaryDirectory() as folder:
    verify(folder, model, variant, name)
    print(call(folder, 'spin', '-t', '-p', '-g', '-l', '-D' + variant,
               '-D' + name, model))


def check_all(correct):
  # The slowest first.
  tasks = [(check_correct, arguments) for arguments in correct]
  tasks += [(check_mutant, (name,)) for name in MUTANTS]
  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
    results = list(executor.map(lambda task: task[0](*task[1]), tasks))
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
    return check_all(CORRECT_ALL if args.all else CORRECT)
  except Error as error:
    print('model_test.py: %s' % error, file=sys.stderr)
    return 1


if __name__ == '__main__':
  sys.exit(main())
