# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tools that measure: errors, files, tables, and work in
parallel."""

import concurrent.futures
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Error(Exception):
  """Something to tell the user without a stack trace."""


def write_text(path, text):
  try:
    path.write_text(text)
  except OSError as error:
    raise Error(f'{path}: {error.strerror}') from error


def build(folder, *targets):
  """Builds the targets. GN runs again, for it finds what was installed since."""
  for command in (['tools/gn', 'gen', '-q', folder],
                  ['tools/ninja', '--quiet', '-C', folder, *targets]):
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
      raise Error('the build has failed; tools/install-build-deps installs what '
                  'it needs')


class Table:
  """Rows of text under headings. The first column is a label, the others
  are figures."""

  def __init__(self, headings):
    self.headings = headings
    self.rows = []

  def add(self, *cells):
    if len(cells) != len(self.headings):
      raise ValueError(f'{cells} does not fit {self.headings}')
    self.rows.append([str(cell) for cell in cells])

  def as_text(self):
    lines = [self.headings] + self.rows
    widths = [max(map(len, column)) for column in zip(*lines)]
    return '\n'.join(
        '  '.join([line[0].ljust(widths[0])] +
                  [cell.rjust(width)
                   for cell, width in zip(line[1:], widths[1:])]).rstrip()
        for line in lines)

  def as_markdown(self):
    lines = [self.headings] + self.rows
    # A type like "const char*|size" must not end its cell.
    text = ['| ' + ' | '.join(cell.replace('|', '\\|') for cell in line) +
            ' |' for line in lines]
    text.insert(1, '|---|' + '--:|' * (len(self.headings) - 1))
    return '\n'.join(text)


def ratio(value, base):
  """A text; a dash where there is nothing to compare."""
  if value is None or not base:
    return '-'
  return f'{value / base:.2f}'


def spread(values):
  """Within how wide a range half of them lie, in percent of the median, as
  text: none of fewer than two."""
  if len(values) < 2:
    return ''
  low, _, high = statistics.quantiles(values, method='inclusive')
  return f'{(high - low) / statistics.median(values):.0%}'


def map_parallel(function, items, jobs, what):
  """Applies the function to all items, which start processes, and tells on
  stderr how far that is if it is a terminal."""
  results = []
  with concurrent.futures.ThreadPoolExecutor(jobs) as executor:
    futures = [executor.submit(function, item) for item in items]
    try:
      for future in futures:
        results.append(future.result())
        if sys.stderr.isatty():
          print(f'\r{what}: {len(results)} of {len(items)} ',
                end='', file=sys.stderr, flush=True)
    except BaseException:
      for future in futures:
        future.cancel()
      raise
  if sys.stderr.isatty():
    print('\r' + ' ' * 60 + '\r', end='', file=sys.stderr, flush=True)
  return results


def default_jobs():
  return len(os.sched_getaffinity(0))


def run_tool(main):
  """Runs main(argv), which returns an exit code, as a command line tool."""
  try:
    sys.exit(main(sys.argv[1:]))
  except Error as error:
    print(error, file=sys.stderr)
    sys.exit(1)
  except KeyboardInterrupt:
    sys.exit(130)
  except BrokenPipeError:  # as in `tools/bench_table | head`
    sys.stdout = None
    sys.exit(1)
