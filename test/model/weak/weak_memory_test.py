#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Checks lock-free code under C++'s memory model, and each memory order.

The program weak_memory runs scenarios of the library in all ways that the
memory model allows. None may fail. Then each acquire, release and stronger
order is weakened by itself, and a scenario has to fail that the table of
README.md in the folder above names: otherwise the order is stronger than
needed. The table has to have all such orders of the source.

  weak_memory_test.py                 from the build directory
  weak_memory_test.py --all           also orders for which the table has a
                                      reason; those that nothing needs fail
  weak_memory_test.py --steps NAME    shows a scenario's steps to its failure
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(os.environ.get(
    'PROTOZERO_SOURCE_ROOT',
    pathlib.Path(__file__).resolve().parents[3])).resolve()
PROGRAM = './weak_memory'
TABLE = 'test/model/README.md'
# The time for a scenario before others are tried: most fail at once, and weaker
# orders make some of the others very long.
QUICK_S = 0.3

RELAXED, CONSUME, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST = range(6)
NAMES = ('relaxed', 'consume', 'acquire', 'release', 'acq_rel', 'seq_cst')
# The orders that are the next weaker ones, by what an operation does.
WEAKER = {
    'load': {ACQUIRE: [RELAXED], SEQ_CST: [ACQUIRE]},
    'store': {RELEASE: [RELAXED], SEQ_CST: [RELEASE]},
    'modify': {ACQUIRE: [RELAXED], RELEASE: [RELAXED],
               ACQ_REL: [ACQUIRE, RELEASE], SEQ_CST: [ACQ_REL]},
}
WEAKER['fence'] = WEAKER['modify']

# An order in the source, and the innermost call that has it as an argument. A
# fence for signal handlers orders nothing between threads.
ORDER = re.compile(r'memory_order_(acquire|release|acq_rel|seq_cst)')
CALL = re.compile(
    r'(\w+)(?:\(\)|\[\w+\])?\s*(?:\.|->)\s*'
    r'(load|store|exchange|fetch_\w+|compare_exchange)(?:_weak|_strong)?\('
    r'|(\w+)\((?=[^()]*memory_order order =)|atomic_thread_(fence)\(')

# An atomic operation in the source: its file's name, the last name before the
# call, the operation, and the order.
Operation = collections.namedtuple('Operation', 'file atomic name order')

Mutant = collections.namedtuple('Mutant', 'place operation name order weaker')


def run(*arguments, timeout=None):
  return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE,
                        universal_newlines=True, timeout=timeout, check=False)


def symbolizer():
  for name in ('llvm-symbolizer-19', 'llvm-symbolizer'):
    if shutil.which(name):
      return name
  raise SystemExit('weak_memory_test.py: install llvm-19 '
                   '(tools/install-build-deps)')


def lines_of(addresses):
  """The path and line of the library's source that each call comes from."""
  process = subprocess.run(
      [symbolizer(), '--obj=' + PROGRAM, '--output-style=JSON'],
      input=''.join('0x%x\n' % (address - 1) for address in addresses),
      stdout=subprocess.PIPE, universal_newlines=True, check=True)
  found = {}
  for address, line in zip(addresses, process.stdout.splitlines()):
    frames = json.loads(line)['Symbol']
    # Others are of shared_ptr, and of static variables in functions.
    if not frames[0]['FileName'].endswith(('/atomic', '/atomic_base.h')):
      continue
    for frame in frames:
      path = frame['FileName']
      if path and not path.startswith('/usr/'):
        path = str(pathlib.Path(path).resolve().relative_to(ROOT))
        found[address] = (path, frame['Line'])
        break
  return found


def read_sources():
  """The strong operations of the library, by path and lines."""
  found = collections.defaultdict(list)
  for path in sorted((ROOT / 'include').rglob('*')) + \
      sorted((ROOT / 'src').rglob('*')):
    if path.suffix not in ('.h', '.cc'):
      continue
    text = path.read_text()
    for order in ORDER.finditer(text):
      calls = [call for call in CALL.finditer(text, 0, order.start())
               if text.count('(', call.end(), order.start()) ==
               text.count(')', call.end(), order.start())]
      if not calls or ';' in text[calls[-1].end():order.start()]:
        continue
      call = calls[-1]
      atomic = call[1] or call[3] or call[4]
      first = text.count('\n', 0, call.start()) + 1
      last = text.count('\n', 0, order.start()) + 1
      found[str(path.relative_to(ROOT))].append(
          (first, last + bool(call[3]),
           Operation(path.name, atomic, call[2] or ('load' if call[3] else
                                                    'fence'), order[1])))
  return found


def read_table():
  """The last cell of the table's rows, by operation."""
  rows = {}
  for line in (ROOT / TABLE).read_text().splitlines():
    match = re.match(r'\| `(\w+\.\w+)` \| `?(\w+)`? \| ([a-z_, ]+) \|'
                     r' .* \| (.*) \|$', line)
    for text in match[3].split(', ') if match else []:
      *name, order = text.split()
      rows[Operation(match[1], match[2], ' '.join(name), order)] = match[4]
  return rows


def names_in(cell):
  """The scenarios that a cell names. Without any, it has a reason."""
  return re.findall('`([^`]+)`', cell)


def stays(cell, mutant):
  """True if a cell says that what the mutant lacks stays without need."""
  if mutant.name.endswith('failure'):
    lacks = 'failure'
  elif mutant.order == ACQ_REL:
    lacks = 'release' if mutant.weaker == ACQUIRE else 'acquire'
  else:
    lacks = NAMES[mutant.order]
  return bool(re.search(r'; (\w+ and )?%s\b' % lacks, cell))


def check_table(rows, sources, scenarios):
  """Yields what the table and the source do not agree on."""
  operations = {operation for found in sources.values()
                for _, _, operation in found}
  for operation in sorted(operations - set(rows)):
    yield False, '%s: the source has it, and the table does not' % (operation,)
  for operation in sorted(set(rows) - operations):
    yield False, '%s: the table has it, and the source does not' % (operation,)
  for name in sorted({name for cell in rows.values()
                      for name in names_in(cell)} - scenarios):
    yield False, '%s: the table has this scenario, and the program does not' % name


def find_operation(operations, line, name, order):
  """The operation of that line. Returns None if there is none."""
  # The compiler may give an argument the line of the call that it is for. The
  # order of a failure may not be written down.
  found = [(not first <= line <= last, operation.order != NAMES[order], first,
            operation)
           for first, last, operation in operations
           if first - 3 <= line <= last and operation.name == name]
  return min(found)[-1] if found else None


def read_mutants(output, sources):
  """The sites to weaken for each mutant."""
  addresses = re.findall(r'^0x(\w+) ', output, re.M)
  lines = lines_of(sorted({int(address, 16) for address in addresses}))
  mutants = collections.defaultdict(set)
  for match in re.finditer(r'^0x(\w+) (\w+) (\d) (-?\d)$', output, re.M):
    path, line = lines.get(int(match[1], 16), ('', 0))
    name = match[2]
    kind = name if name in ('load', 'store', 'fence') else 'modify'
    for order, suffix, orders in ((int(match[3]), '', WEAKER[kind]),
                                  (int(match[4]), '!', WEAKER['load'])):
      operation = find_operation(sources.get(path, []), line, name, order)
      for weaker in orders.get(order, []) if operation else []:
        # The fences of a file are weakened together.
        place = path if kind == 'fence' else '%s:%s' % (path, line)
        mutant = Mutant(place, operation,
                        name + (' failure' if suffix else ''), order, weaker)
        mutants[mutant].add('--weaken=%s%s=%d' % (match[1], suffix, weaker))
  return mutants


def check_mutant(mutant, sites, scenarios):
  text = '%s %s %s %s -> %s' % (mutant.place, mutant.operation.atomic,
                                mutant.name, NAMES[mutant.order],
                                NAMES[mutant.weaker])
  waiting = list(scenarios)
  for timeout in (QUICK_S, None):
    slow = []
    for scenario in waiting:
      try:
        process = run('check', scenario, *sorted(sites), timeout=timeout)
      except subprocess.TimeoutExpired:
        slow.append(scenario)
        continue
      if process.returncode != 0:
        return True, '%s: %s' % (text, process.stdout.splitlines()[0][7:])
    waiting = slow
  return False, '%s: nothing fails of: %s' % (text, ', '.join(scenarios))


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--all', action='store_true')
  parser.add_argument('--steps', metavar='NAME')
  args = parser.parse_args()
  if args.steps:
    print(run('check', args.steps, '--steps').stdout)
    return 0
  results = []
  for line in run('litmus').stdout.splitlines():
    results.append((line.startswith('ok'), line[7:]))
  process = run('check', '--sites')
  for line in process.stdout.splitlines():
    if not line.startswith('0x'):
      results.append((line.startswith('ok'), line[7:]))
  if process.returncode == 0:
    scenarios = set(re.findall(r'^ok +(.*): \d+ executions', process.stdout,
                               re.M))
    sources = read_sources()
    rows = read_table()
    results += check_table(rows, sources, scenarios)
    mutants = read_mutants(process.stdout, sources)
    reached = {mutant.operation for mutant in mutants}
    for operation in sorted(set(rows) - reached):
      if names_in(rows[operation]):
        results.append((False, '%s: no scenario comes to it' % (operation,)))
    wanted = []
    for mutant, sites in sorted(mutants.items()):
      cell = rows.get(mutant.operation, '')
      names = [] if stays(cell, mutant) else names_in(cell)
      if names or args.all:
        wanted.append((mutant, sites, names or sorted(scenarios)))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as executor:
      results += executor.map(lambda item: check_mutant(*item), wanted)
  for passed, line in results:
    print('%s  %s' % ('ok    ' if passed else 'FAILED', line))
  failed = sum(not passed for passed, _ in results)
  print('%d passed, %d failed' % (len(results) - failed, failed))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
