# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs perfetto_benchmarks and reads what it reports: for the tools that make
something of the figures."""

import contextlib
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from measuring import Error, ROOT, write_text

# In the log of Google Benchmark, --v=2: the beginning and the end of a run.
RUNNING = re.compile(r'-- LOG\(2\): Running (.+) for (\d+)\n')
RAN = '-- LOG(2): Ran in '


class Samples:
  """The repetitions of one benchmark, in nanoseconds per message."""

  def __init__(self):
    self.rounds = {}  # lists of times, by the round they were measured in
    self.bytes = None

  def times(self):
    return [time for times in self.rounds.values() for time in times]

  def median(self):
    return statistics.median(self.times())

  def medians(self):
    """By round."""
    return {number: statistics.median(times)
            for number, times in self.rounds.items()}


def net_of(row, harness):
  """The row's medians without the harness's, by round; of the rounds that are in
  both."""
  empty = harness.medians()
  return {number: time - empty[number]
          for number, time in row.medians().items() if number in empty}


def ratios(times, base):
  """The ratios of two dictionaries by round, for each round that is in both."""
  return [time / base[number] for number, time in times.items()
          if base.get(number, 0) > 0]


def seconds(text):
  """The seconds in an argument; newer versions of Google Benchmark want the
  unit."""
  return float(text[:-1] if text.endswith('s') else text)


def add_arguments(parser, repetitions, min_time):
  """Adds the options for measuring, with these defaults."""
  parser.add_argument('--binary', default=ROOT /
                      'out/release/perfetto_benchmarks', type=pathlib.Path,
                      help='default: out/release/perfetto_benchmarks')
  parser.add_argument('--repetitions', default=repetitions, type=int,
                      help='default: %(default)s')
  parser.add_argument('--rounds', default=1, type=int,
                      help='run all repetitions so many times, and compare '
                      'what was measured in the same round: for machines '
                      'whose neighbours come and go; default: %(default)s')
  parser.add_argument('--min_time', default=min_time, type=seconds,
                      help='seconds per repetition, default: %(default)s')
  parser.add_argument('--json', type=pathlib.Path, metavar='FILE',
                      help='measure nothing, read this')
  parser.add_argument('--save', type=pathlib.Path, metavar='FILE',
                      help='write the result of Google Benchmark here')


def parse_args(parser, argv):
  args = parser.parse_args(argv)
  for name in 'repetitions', 'rounds':
    if getattr(args, name) < 1:
      parser.error(f'--{name} must be at least 1')
  return args


def count_rows(binary, name_filter):
  result = subprocess.run(
      [binary, '--benchmark_list_tests=true',
       f'--benchmark_filter={name_filter}'],
      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
  rows = len(result.stdout.split())
  if result.returncode != 0 or rows == 0:
    raise Error(f'{binary} has no benchmark that matches {name_filter}\n' +
                result.stderr)
  return rows


class FinishedRepetitions:
  """Counts, in a log that grows, the repetitions that have ended. A row begins with
  shorter runs, each with more iterations than the one before, until it is known
  how many a repetition takes: they are no repetitions."""

  def __init__(self, log):
    self.log = log
    self.rest = ''  # The beginning of a line whose end is not written yet.
    self.row = None  # The row that runs.
    self.iterations = {}  # of the last run, by row
    self.finished = {}  # runs of so many iterations, by row

  def count(self):
    lines = (self.rest + self.log.read()).splitlines(keepends=True)
    self.rest = lines.pop() if lines and not lines[-1].endswith('\n') else ''
    for line in lines:
      running = RUNNING.match(line)
      if running:
        self.row, iterations = running.groups()
        if self.iterations.get(self.row) != iterations:
          self.iterations[self.row] = iterations
          self.finished[self.row] = 0
      elif line.startswith(RAN) and self.row:
        self.finished[self.row] += 1
    return sum(self.finished.values())


class Progress:
  """Tells on stderr how many of the repetitions are done: on a terminal in one line
  that changes, elsewhere in a few lines."""

  def __init__(self, what, total):
    self.what = what
    self.total = total
    self.start = time.monotonic()
    self.on_terminal = sys.stderr.isatty()
    self.next_line = 0.0

  def show(self, done):
    elapsed = time.monotonic() - self.start
    text = f'{self.what}: {done} of {self.total} done'
    if self.on_terminal:
      print(f'\r{text} ', end='', file=sys.stderr, flush=True)
    elif elapsed >= self.next_line:
      print(text, file=sys.stderr, flush=True)
      # Always later: a slow machine gets a few lines more, not pages.
      self.next_line = elapsed + max(15, elapsed)

  def done(self):
    elapsed = time.monotonic() - self.start
    end = '\r' if self.on_terminal else ''
    print(f'{end}{self.what}: took {elapsed:.0f} s        ',
          file=sys.stderr)


def measure(args, name_filter):
  """Runs the benchmarks and returns the result of Google Benchmark, with the
  number of its round in each run."""
  if not os.access(args.binary, os.X_OK):
    raise Error(f'{args.binary} does not exist. Build it:\n'
                '  tools/gn gen out/release\n'
                '  tools/ninja -C out/release perfetto_benchmarks')
  rows = count_rows(args.binary, name_filter)
  in_round = rows * args.repetitions
  progress = Progress(f'measuring {rows} rows, '
                      f'{args.rounds * args.repetitions} times each',
                      args.rounds * in_round)
  results = [
      measure_once(args, name_filter,
                   lambda done, before=number * in_round: progress.show(before + done))
      for number in range(args.rounds)]
  progress.done()
  with reading(args.binary):
    runs = [{**run, 'round': number}
            for number, result in enumerate(results)
            for run in result['benchmarks']]
  return {**results[-1], 'benchmarks': runs}


def measure_once(args, name_filter, show):
  """Runs the benchmarks for one round. Calls show() with how many repetitions of it
  are done."""
  with tempfile.TemporaryDirectory() as folder:
    out = pathlib.Path(folder) / 'result.json'
    log = pathlib.Path(folder) / 'log'
    command = [
        args.binary, f'--benchmark_filter={name_filter}',
        '--benchmark_enable_random_interleaving=true',
        f'--benchmark_repetitions={args.repetitions}',
        f'--benchmark_min_time={args.min_time}',
        f'--benchmark_out={out}', '--benchmark_out_format=json', '--v=2'
    ]
    with open(log, 'wb') as log_file, open(log, errors='replace') as written:
      repetitions_done = FinishedRepetitions(written)
      process = subprocess.Popen(command, stdout=log_file,
                                 stderr=subprocess.STDOUT)
      try:
        while process.poll() is None:
          show(repetitions_done.count())
          time.sleep(0.2)
      finally:
        if process.poll() is None:
          process.kill()
          process.wait()
    if process.returncode != 0:
      raise Error(f'{args.binary} failed ({process.returncode}):\n' +
                  ''.join(line for line in log.read_text(errors='replace')
                          .splitlines(keepends=True)
                          if not line.startswith('-- LOG(')))
    return parse(out.read_text(), args.binary)


@contextlib.contextmanager
def reading(origin):
  try:
    yield
  except (ValueError, KeyError, TypeError) as error:
    raise Error(f'{origin} is not a result of Google Benchmark: '
                f'{type(error).__name__} {error}') from error


def parse(text, origin):
  with reading(origin):
    return json.loads(text)


def read_result(result, origin):
  """Returns the context and the samples, by name, in order."""
  with reading(origin):
    samples = {}
    # Interleaved rows are reported in the order in which they finish; the index
    # is the order in which they were registered.
    runs = [run for run in result['benchmarks']
            if run.get('run_type') == 'iteration']
    for run in sorted(runs, key=lambda run: run.get('family_index', 0)):
      if run.get('error_occurred'):
        raise Error(f"{run['name']}: {run.get('error_message')}")
      row = samples.setdefault(run['run_name'], Samples())
      # Harnesses that do more than run an encoder time it themselves.
      row.rounds.setdefault(run.get('round', 0), []).append(
          float(run.get('message_ns', run['cpu_time'])))
      row.bytes = run.get('bytes')
      if run['time_unit'] != 'ns':
        raise Error(f"{run['name']} is not in nanoseconds")
    context = result['context']
  if not samples:
    raise Error(f'{origin} has no single repetitions, only aggregates: '
                'run without --benchmark_report_aggregates_only')
  return context, samples


def load(args, name_filter):
  """Measures or reads the results that the arguments ask for: context and
  samples."""
  if args.json:
    try:
      text = args.json.read_text()
    except OSError as error:
      raise Error(f'{args.json}: {error.strerror}') from error
    origin = args.json
    result = parse(text, origin)
  else:
    origin = args.binary
    result = measure(args, name_filter)
  context, samples = read_result(result, origin)
  if args.save:
    write_text(args.save, json.dumps(result, indent=1))
  return context, samples


def machine(context):
  """The origin of the figures, in a line."""
  processor = context.get('processor') or 'unknown processor'
  return (f"{processor}, {context.get('num_cpus', '?')} CPUs; "
          f"{context.get('compiler', 'unknown compiler')}; "
          f"{context.get('date', 'no date')}")


def repetitions(samples):
  """The number of runs of each row, as text."""
  counts = sorted({len(row.times()) for row in samples.values()})
  return str(counts[0]) if len(counts) == 1 else \
      f'{counts[0]} to {counts[-1]}'


def warnings(context):
  """Reasons not to trust the figures."""
  lines = []
  compiler = context.get('compiler', '')
  if 'not optimized' in compiler or 'debug' in compiler:
    lines.append('WARNING: not a release build.')
  load_average = context.get('load_avg') or [0]
  if load_average[0] > 0.75 * context.get('num_cpus', 1):
    lines.append(f'WARNING: other programs kept the machine busy (load '
                 f'{load_average[0]:.1f}): the spread may be large.')
  return lines
