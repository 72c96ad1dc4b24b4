# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The small traces of rows/, and the rows that are right.

A file in rows/ has cases:

  == name of the case
  thread
  100 BEGIN name: "a"
  2:200 END track_uuid: 11 ; timestamp_clock_id: 3
  packet { ... }
  -- slices
  ts  | dur | name
  100 | 100 | a
  -- notes
  1 slices had not ended

An event has a time, the type, and fields of a TrackEvent; those behind the semicolon are
the packet's. It is on sequence 1 if no other is in front of the time, which is "-" if the
packet has none. `thread` describes sequence 1: a thread of the track 11, tid 6, called T,
in the process of the track 10, pid 5, called P. Everything else is text format.

All rows of a table have to be there, and no others. A table that is not named is empty.
Columns that are not named may be anything. An empty cell is an empty text, null is null.
Notes are the lines of the standard error, in any order; each line has to have the text.
The packets of different sequences are also mixed in other ways, which must not change
anything, unless the first line is `in this order`."""

import json
import pathlib
import re
import subprocess
import zlib

from track_events import packet as encode_packet
from wire import delimited, read_varint

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / 'test' / 'pztrace' / 'tables' / 'rows'
TABLES = 'slices', 'instants', 'counters'

THREAD = '''
packet { trusted_packet_sequence_id: 1 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 11 } } }
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 10 process { pid: 5 process_name: "P" } } }
packet { trusted_packet_sequence_id: 1 track_descriptor {
  uuid: 11 parent_uuid: 10 thread { pid: 5 tid: 6 thread_name: "T" } } }
'''
EVENT = re.compile(r'(?:(\d+):)?(\d+|-) '
                   r'(?:(BEGIN|END|INSTANT|COUNTER|STATE)|EVENT)\b([^;]*)(?:;(.*))?$')
TYPES = {'BEGIN': 'TYPE_SLICE_BEGIN', 'END': 'TYPE_SLICE_END'}


def text_of_line(line):
  if line == 'thread':
    return THREAD
  match = EVENT.match(line)
  if not match:
    return line
  sequence, time, kind, fields, others = match.groups()
  return ('packet { trusted_packet_sequence_id: %s sequence_flags: 2 %s %s '
          'track_event { %s %s } }' %
          (sequence or 1, '' if time == '-' else 'timestamp: ' + time, others or '',
           'type: ' + TYPES.get(kind, 'TYPE_%s' % kind) if kind else '', fields))


def encode(text):
  """The packets, one by one."""
  result = subprocess.run(
      ['protoc', '-I', ROOT / 'include', '--encode=perfetto.protos.Trace',
       ROOT / 'include/protozero/tracing/trace.proto'],
      input=text.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
  if result.returncode != 0:
    raise ValueError(result.stderr.decode() + text)
  return list(split(result.stdout))


def fields_of(data):
  """The fields' numbers, and where they begin and end."""
  at = 0
  while at < len(data):
    begin = at
    key, at = read_varint(data, at)
    kind = key & 7
    value = None
    if kind in (0, 2):
      value, at = read_varint(data, at)
    at += {0: 0, 1: 8, 2: value, 5: 4}[kind]
    yield key >> 3, value, begin, at


def split(data):
  for _, _, begin, end in fields_of(data):
    yield data[begin:end]


def sequence_of(packet):
  (_, size, _, end), = fields_of(packet)
  body = packet[end - size:]
  return next((value for number, value, _, _ in fields_of(body) if number == 10), 0)


def mixed(packets, generator):
  """The same sequences, their packets mixed in another way."""
  sequences = {}
  for packet in packets:
    sequences.setdefault(sequence_of(packet), []).append(packet)
  order = [sequence_of(packet) for packet in packets]
  generator.shuffle(order)
  heads = {sequence: iter(each) for sequence, each in sequences.items()}
  return [next(heads[sequence]) for sequence in order]


def unique_members(pairs):
  members = dict(pairs)
  if len(members) != len(pairs):
    raise ValueError('a member is there twice: %s' % pairs)
  return members


def parse(text):
  return json.loads(text, object_pairs_hook=unique_members)


def compressed(packets):
  """Some packets at a time, as services compress them."""
  return [encode_packet(9, delimited(50, zlib.compress(b''.join(packets[i:i + 3]))))
          for i in range(0, len(packets), 3)]


def cell_text(value):
  if value is None:
    return 'null'
  if isinstance(value, (dict, list)):
    return json.dumps(value, sort_keys=True)
  return str(value)


def cells(line):
  row = [cell.strip() for cell in (line + ' ').split(' | ')]
  return [cell_text(parse(cell)) if cell[:1] in ('{', '[') else cell for cell in row]


class Case:
  """One of the folder."""

  def __init__(self, text):
    head, *parts = re.split(r'^-- ', text, flags=re.M)
    self.name, *lines = head.strip().splitlines()
    lines = [line for line in lines if not line.startswith('#')]
    self.is_in_order = lines[0] == 'in this order'
    self.text = '\n'.join(text_of_line(line.strip()) for line in lines[self.is_in_order:])
    self.tables = {table: ([], []) for table in TABLES}
    self.notes = []
    for part in parts:
      name, *lines = part.strip().splitlines()
      if name == 'notes':
        self.notes = lines
      else:
        self.tables[name] = cells(lines[0]), sorted(cells(line) for line in lines[1:])


def read_cases():
  for path in sorted(FOLDER.glob('*.txt')):
    _, *texts = re.split(r'^== ', path.read_text(), flags=re.M)
    for text in texts:
      yield Case(text)
