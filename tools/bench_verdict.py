# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes the verdict of tools/bench from what was measured: a sentence and two
tables."""

import collections
import re
import statistics
import textwrap

import bench_runs
import bench_tracers
from measuring import Error, Table

# Their names in those of benchmarks, and in the table.
WORKLOADS = {
    ('Simple', 'L1'): 'Simple',
    ('Nested', 'L1'): 'Nested',
    ('Simple', 'L1Random'): 'Simple, random',
    ('Nested', 'L1Random'): 'Nested, random',
}
HARNESS = 'Empty'
DEFAULT = 'ProtozeroCalled'
IN_PLACE = 'ProtozeroReused'
OURS = {
    DEFAULT: 'protozero, default build',
    IN_PLACE: 'protozero, setters in place',
}

Peer = collections.namedtuple('Peer', 'name rows command')
PEERS = [
    Peer('libprotobuf', {'LibprotobufReused': 'libprotobuf, message reused',
                         'Libprotobuf': 'libprotobuf, message new'},
         'tools/install-build-deps'),
    Peer("Mapbox's protozero", {'Mapbox': "Mapbox's protozero"},
         'tools/install-build-deps'),
    Peer("Perfetto's protozero", {'PerfettoReused': "Perfetto's protozero"},
         'tools/install-build-deps --perfetto-sdk'),
]

# Their names in what track_event_rows prints, and in the table.
EVENTS = {
    'off': 'slice, 1 value, off',
    'instant': 'instant',
    'slice': 'slice',
    'slice, 1 value': 'slice, 1 value',
    'slice, 3 values': 'slice, 3 values',
    'counter': 'counter',
}
EVENT_LIBRARIES = {'protozero': 'protozero', 'perfetto': "Perfetto's SDK",
                   'perfetto c': "Perfetto's C SDK"}
# The rows of ours in the same program, for a library that has one of its own.
EVENT_BASES = {'perfetto c': 'protozero beside c'}
PACKETS_LOST = 'packets lost in a round'

# Messages that end in a string, or in a buffer: the bytes of the sizes, and the
# names of the rows and in the table.
STRING_SIZES = ('58', '276', '4096', '200000')
STRING_ROWS = {
    'ProtozeroCalled': 'HeapBuffered new, default build',
    'Protozero': 'HeapBuffered new, in place',
    'ProtozeroReusedCalled': 'HeapBuffered reused, default build',
    'ProtozeroReused': 'HeapBuffered reused, in place',
    'ProtozeroSameString': 'the same to one string',
    'StringBufferedReused': 'StringBuffered to one string',
    'VectorBufferedReused': 'VectorBuffered to one vector',
    'Stack': 'StackBuffered and a string of it',
    'HeapFinalize': 'HeapBuffered reused, no string',
    'StaticFinalize': 'StaticBuffered, no string',
    'Libprotobuf': 'libprotobuf new',
    'LibprotobufArena': 'libprotobuf on an arena',
    'LibprotobufReused': 'libprotobuf reused',
    'LibprotobufSameString': 'libprotobuf reused, to one string',
    'Perfetto': "Perfetto's HeapBuffered new",
    'PerfettoReused': "Perfetto's HeapBuffered reused",
    'Mapbox': "Mapbox's to a new string",
    'MapboxSameString': "Mapbox's to one string",
}

NOTES = '''\
Simple: four integers and a string. Nested: four of these, each inside the one
before. Random: integers of random widths. Output goes to the L1 cache, and the
time of the harness is subtracted. A slice is two events; a session in the
process records them. In brackets: the least time.'''


def benchmark_filter():
  """The regular expression of the rows that decide."""
  rows = [HARNESS, *OURS, *(row for peer in PEERS for row in peer.rows)]
  workloads, harnesses = (sorted(set(parts)) for parts in zip(*WORKLOADS))
  return (f"^BM_Protozero_(({'|'.join(workloads)})_({'|'.join(rows)})_"
          f"({'|'.join(harnesses)})|"
          f"String_({'|'.join((HARNESS, *STRING_ROWS))})/"
          f"({'|'.join(STRING_SIZES)}))$")


class Messages:
  """The times of messages without those of the harness."""

  def __init__(self, samples):
    self.samples = samples

  def find(self, row, workload):
    name = '_'.join(('BM_Protozero', workload[0], row, workload[1]))
    return self.samples.get(name)

  def has(self, row):
    return all(self.find(row, workload) for workload in WORKLOADS)

  def medians(self, row, workload):
    """By round."""
    return bench_runs.net_of(self.find(row, workload),
                             self.find(HARNESS, workload))

  def median(self, row, workload):
    return statistics.median(self.medians(row, workload).values())

  def least(self, row, workload):
    empty = self.find(HARNESS, workload).medians()
    return min(time - empty[number]
               for number, times in self.find(row, workload).rounds.items()
               if number in empty for time in times)

  def ratios(self, row, base):
    """The time of the row as a multiple of that of the base, for each workload."""
    for workload in WORKLOADS:
      ratios = bench_runs.ratios(self.medians(row, workload),
                                 self.medians(base, workload))
      if ratios:
        yield statistics.median(ratios)


def as_range(values, decimals):
  """From the least to the greatest value, as text."""
  texts = [f'{value:.{decimals}f}' for value in sorted(values)]
  if not texts:
    return '-'
  return texts[0] if texts[0] == texts[-1] else f'{texts[0]} to {texts[-1]}'


def installed(messages):
  return [peer for peer in PEERS if all(map(messages.has, peer.rows))]


def sentence(messages):
  times = [as_range([messages.median(row, workload) for workload in WORKLOADS
                     if workload[0] == 'Simple'], 0) for row in OURS]
  text = ('On this machine, a message of four integers and a string takes '
          f'{times[0]} ns in the default build and {times[1]} ns with setters '
          'in place')
  peers = []
  for peer in installed(messages):
    ranges = [as_range([ratio for row in peer.rows
                        for ratio in messages.ratios(row, base)], 1)
              for base in OURS]
    takes, as_long = ('', '') if peers else (' takes', ' as long')
    peers.append(f'{peer.name}{takes} {" and ".join(ranges)} times{as_long}')
  if peers:
    text += '; for it and for nested ones, ' + ', '.join(peers)
  return text + '.'


def message_table(messages):
  table = Table(['ns a message', *WORKLOADS.values(), 'x default',
                 'x in place'])
  rows = dict(OURS)
  for peer in installed(messages):
    rows.update(peer.rows)
  for row, label in rows.items():
    table.add(
        label,
        *(f'{messages.median(row, workload):.1f} '
          f'({messages.least(row, workload):.1f})' for workload in WORKLOADS),
        *(as_range(list(messages.ratios(row, base)), 1) for base in OURS))
  return table


def has_strings(samples):
  return any(name.startswith('BM_Protozero_String_') for name in samples)


def string_table(samples):
  """The medians of messages that end in a string; of the rows that there are."""
  def net(row, size):
    found = samples.get(f'BM_Protozero_String_{row}/{size}')
    empty = samples.get(f'BM_Protozero_String_{HARNESS}/{size}')
    if not found or not empty:
      return '-'
    return f'{statistics.median(bench_runs.net_of(found, empty).values()):.0f}'

  table = Table(['ns to a string', *(f'{size} bytes' for size in STRING_SIZES)])
  for row, label in STRING_ROWS.items():
    cells = [net(row, size) for size in STRING_SIZES]
    if set(cells) != {'-'}:
      table.add(label, *cells)
  return table


def parse_events(text):
  """(least, median) for each row that track_event_rows has printed."""
  rows = {}
  for line in text.splitlines()[1:]:
    match = re.fullmatch(r'(.+?) +(-?[\d.]+) +(-?[\d.]+)', line)
    if not match:
      raise Error(f'track_event_rows printed: {line}')
    rows[match[1]] = float(match[2]), float(match[3])
  return rows


def beside_c(row):
  """The name of a row of the program that has Perfetto's C SDK, among those of
  both programs."""
  return row.replace('protozero:', EVENT_BASES['perfetto c'] + ':')


def event_libraries(events):
  return [library for library in EVENT_LIBRARIES
          if all(f'{library}: {row}' in events for row in EVENTS)]


def event_table(events):
  libraries = event_libraries(events)
  ours, *peers = libraries
  table = Table(['ns, recorded', *map(EVENT_LIBRARIES.get, libraries),
                 *('times as long' for _ in peers)])
  for row, label in EVENTS.items():
    times = {library: events[f'{library}: {row}'] for library in libraries}
    bases = {peer: events[f'{EVENT_BASES.get(peer, ours)}: {row}']
             for peer in peers}
    table.add(label,
              *(f'{median:.1f} ({least:.1f})'
                for least, median in times.values()),
              *(as_range([time / base for time, base in
                          zip(times[peer], bases[peer]) if base > 0], 1)
                for peer in peers))
  return table


def missing(messages, events):
  """A line for each command that installs what was not measured."""
  names = {}
  for peer in PEERS:
    if peer not in installed(messages):
      names.setdefault(peer.command, []).append(peer.name)
  if 'perfetto' not in event_libraries(events):
    names.setdefault(PEERS[-1].command, []).append("Perfetto's trace events")
  if 'perfetto c' not in event_libraries(events):
    names.setdefault(bench_tracers.INSTALL, []).append(
        "trace events of Perfetto's C SDK")
  return [f'Not measured: {", ".join(found)}. To install: {command}'
          for command, found in names.items()]


def losses(events):
  return [f'WARNING: {name} lost packets, and such an event takes less time.'
          for library, name in EVENT_LIBRARIES.items()
          if events.get(f'{library}: {PACKETS_LOST}', (0, 0))[1] > 0]


def verdict(context, samples, events):
  """All that tools/bench prints: of the context and samples by name that
  bench_runs.read_result() returns, and of what parse_events() returns."""
  messages = Messages(samples)
  for row in (HARNESS, *OURS):
    if not messages.has(row):
      raise Error(f'perfetto_benchmarks lacks rows of {row}')
  if 'protozero' not in event_libraries(events):
    raise Error('track_event_rows lacks rows of protozero')
  notes = [
      bench_runs.machine(context),
      *([context['peers']] if context.get('peers') else []),
      NOTES,
      f'Medians of {bench_runs.repetitions(samples)} interleaved repetitions.',
      *bench_runs.warnings(context),
      *losses(events),
      *missing(messages, events),
  ]
  return '\n\n'.join([
      '\n'.join(notes),
      textwrap.fill(sentence(messages), 88),
      message_table(messages).as_text(),
      event_table(events).as_text(),
      *([string_table(samples).as_text()] if has_strings(samples) else []),
  ])
