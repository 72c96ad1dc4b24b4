# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs the programs that have another tracer beside this library, and makes one
table of what they print: for tools/bench --tracers."""

import collections
import json
import math
import os
import socket
import statistics
import subprocess
import sys

from measuring import Error, Table

PROGRAMS = ['tracer_rows_perfetto', 'tracer_rows_perfetto_c',
            'tracer_rows_lttng', 'tracer_rows_tracy',
            'tracer_rows_tracy_on_demand', 'tracer_rows_spdlog']
TARGET = 'test/benchmarks/tracers:tracers'
INSTALL = 'tools/install-build-deps --tracers'
OURS = 'protozero'
TURNS = 5
# Programs with LTTng take half a minute a turn on a machine that is not busy.
SECONDS = 600

KINDS = ['instant', 'instant, 1 int', 'slice', 'slice, 1 int', 'slice, 3 ints',
         'slice, string of 20', 'counter']
IN_THREADS = [f'{threads} threads: {kind}' for threads in (2, 16)
              for kind in ('instant', 'slice')]
# Rows of times, as programs name them.
TIMES = [*(f'warm: {kind}' for kind in KINDS),
         *(f'fresh: {kind}' for kind in KINDS),
         'first 20 ms', 'off', *IN_THREADS]
SUSTAINED = [f'sustained: {rate} M/s, {threads}' for threads in ('1 thread',
             '2 threads') for rate in (1, 2, 5, 10, 20)]
# Tracers that overwrite, or keep everything: they count no loss.
NOT_SUSTAINED = ['LTTng, snapshot', 'Tracy, no reader']
CALLS = ['call: instant', 'call: nothing']
PERCENTILES = ['p50', 'p99', 'p99.9', 'p99.99', 'p100']
# Rows of other figures, and how many decimals they have.
MEANS = {**{f'bytes: {kind}': 1 for kind in KINDS},
         'lost: bursts, %': 2, 'lost: warm': 0, 'memory, MB': 1}

NOTES = '''\
Nanoseconds an event; in brackets how many times as long as rdtsc takes in the
same program. Warm: after 600,000 events; fresh: a new session, after 1,000. A
slice is two events. Samples of 1,000 events during which another thread got the
processor are left out; samples in which the tracer slept are not. Call: single
instants with 256 KiB of other work between them, and the same without an event.
Faults are those of 1,000 events. Sustained: events of 3 s, written each
millisecond; percent lost, the processor time an event of everything but the
threads that write, and the rate if it was lower. Tracy counts no loss. Lost: of two threads that write 20,000 events
each 3 ms. Memory: after a million events, with that of other processes.'''

Figure = collections.namedtuple('Figure', 'value ratio')


class Results:
  """The figures of all runs, by tracer and row."""

  def __init__(self):
    self.tracers = {}  # what --list says, by name, in order
    self.rows = {}  # lists of what the runs say, by tracer and row

  def add_tracers(self, text):
    for line in parse(text):
      self.tracers.setdefault(line['tracer'], line)

  def add_run(self, text):
    lines = {(line['tracer'], line['row']): line for line in parse(text)}
    clock = lines.get(('', 'rdtsc'), {}).get('ns')
    for key, line in lines.items():
      if clock and line.get('ns') is not None:
        line['ratio'] = line['ns'] / clock
      self.rows.setdefault(key, []).append(line)

  def median(self, tracer, row, field):
    """None if no run has it."""
    values = [line[field] for line in self.rows.get((tracer, row), [])
              if line.get(field) is not None]
    return statistics.median(values) if values else None

  def total(self, tracer, rows, field):
    return sum(line.get(field, 0) for row in rows
               for line in self.rows.get((tracer, row), []))


def parse(text):
  try:
    return [json.loads(line) for line in text.splitlines()]
  except ValueError as error:
    raise Error(f'a program has printed no JSON: {error}') from error


def run(program, *arguments):
  """Returns the output of the program."""
  # Two clients of Tracy cannot listen to one port.
  with socket.socket() as free:
    free.bind(('127.0.0.1', 0))
    port = free.getsockname()[1]
  try:
    result = subprocess.run(
        [program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, check=False, timeout=SECONDS,
        env={**os.environ, 'TRACY_PORT': str(port)})
  except (OSError, subprocess.TimeoutExpired) as error:
    raise Error(f'{program}: {error}') from error
  if result.returncode != 0:
    raise Error(f'{program} failed ({result.returncode}):\n{result.stderr}')
  return result.stdout


def installed(folder):
  """The programs that are built: those whose tracer was there."""
  return [folder / name for name in PROGRAMS if (folder / name).exists()]


def missing(folder):
  return [name for name in PROGRAMS if not (folder / name).exists()]


def measure(folder, quick):
  """Runs all programs in turns. A process has one other tracer."""
  results = Results()
  peers = []  # pairs of a program and a tracer's name
  for program in installed(folder):
    listed = run(program, '--list')
    results.add_tracers(listed)
    peers += [(program, line['tracer']) for line in parse(listed)
              if line['tracer'] != OURS]
  effort = ['--quick'] * quick
  turns = 1 if quick else TURNS
  for turn in range(turns):
    for program, peer in peers:
      print(f'turn {turn + 1} of {turns}: {peer}', file=sys.stderr, flush=True)
      results.add_run(run(program, f'--peer={peer}', *effort))
      for tracer in OURS, peer:
        results.add_run(run(program, f'--first={tracer}', *effort))
  measure_sustained(results, peers, effort)
  return results


def measure_sustained(results, peers, effort):
  """Each tracer once, ours in the first program."""
  tracers = [(program, OURS) for program, _ in peers[:1]]
  tracers += [(program, peer) for program, peer in peers
              if peer not in NOT_SUSTAINED]
  for program, tracer in tracers:
    print(f'sustained: {tracer}', file=sys.stderr, flush=True)
    results.add_run(run(program, f'--sustained={tracer}', *effort))


def figure(value, decimals=1):
  if value is None or math.isnan(value):
    return '-'
  return f'{value:.{decimals}f}' if value < 1000 else f'{value:,.0f}'


def time_cell(results, tracer, row):
  time = figure(results.median(tracer, row, 'ns'),
                2 if row == 'off' else 1)
  ratio = results.median(tracer, row, 'ratio')
  return time if ratio is None or time == '-' else f'{time} ({ratio:.1f})'


def table_of(results):
  """A row for each figure, a column for each tracer."""
  names = list(results.tracers)
  table = Table(['ns', *names])
  for row in TIMES:
    table.add(row, *(time_cell(results, name, row) for name in names))
  for row in CALLS:
    for percentile in PERCENTILES:
      label = f'{row}, {percentile.replace("p100", "longest")}'
      table.add(label, *(figure(results.median(name, row, percentile), 0)
                         for name in names))
  for row in 'warm: slice', 'fresh: slice':
    table.add(f'faults, {row}', *(figure(results.median(name, row, 'faults'))
                                  for name in names))
  for row in SUSTAINED:
    table.add(row, *(sustained_cell(results, name, row) for name in names))
  for row, decimals in MEANS.items():
    table.add(row, *(mean_cell(results, name, row, decimals)
                     for name in names))
  table.add('waits', *(results.total(name, TIMES, 'waits') for name in names))
  table.add('samples left out', *(left_out(results, name) for name in names))
  return table


def aligned(table):
  """The table for a document, in columns that line up in a terminal, too."""
  lines = [line.strip('| ').split(' | ')
           for line in table.as_markdown().splitlines()
           if not line.startswith('|---')]
  widths = [max(map(len, column)) for column in zip(*lines)]
  rows = ['| ' + ' | '.join([line[0].ljust(widths[0])] + [
      cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]) + ' |'
          for line in lines]
  rows.insert(1, '|' + '-' * (widths[0] + 2) + '|' + ''.join(
      '-' * (width + 1) + ':|' for width in widths[1:]))
  return '\n'.join(rows)


def mean_cell(results, tracer, row, decimals):
  mean = results.median(tracer, row, 'mean')
  # A trace that is not kept has no size.
  if row.startswith('bytes') and not mean:
    return '-'
  return figure(mean, decimals)


def sustained_cell(results, tracer, row):
  lost = results.median(tracer, row, 'lost')
  if lost is None:
    return '-'
  rate = results.median(tracer, row, 'millions')
  asked = float(row.split()[1])
  slower = '' if rate > 0.9 * asked else f' at {figure(rate)} M/s'
  # 0.00 is said of nothing but nothing.
  percent = '<0.01' if 0 < lost < 0.005 else figure(lost, 2)
  return f"{percent} %, {figure(results.median(tracer, row, 'ns'))} ns{slower}"


def left_out(results, tracer):
  samples = results.total(tracer, TIMES, 'samples')
  if not samples:
    return '-'
  return f"{results.total(tracer, TIMES, 'left_out') / samples:.0%}"


def report(results, not_built):
  """All that is printed."""
  lines = [NOTES]
  clock = results.median('', 'rdtsc', 'ns')
  lines.append(f"rdtsc takes {figure(clock)} ns, clock_gettime() "
               f"{figure(results.median('', 'clock_gettime', 'ns'))} ns.")
  for name, tracer in results.tracers.items():
    lines.append(f"{name}: {tracer['description']}")
  if not_built:
    lines.append(f"Not measured: {', '.join(not_built)}. To install: {INSTALL}")
  return '\n'.join(lines) + '\n\n' + aligned(table_of(results))
