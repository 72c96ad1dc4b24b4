# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads traces from the text that protoc makes of them, without code of this library.

A trace that a viewer could not show is an error: an end without a beginning, an
unknown track or name, a field that the schema lacks.
"""

import collections
import dataclasses
import re

SEQ_INCREMENTAL_STATE_CLEARED = 1

ESCAPE = re.compile(r'\\([0-7]{1,3}|.)')
ESCAPED = {'n': '\n', 'r': '\r', 't': '\t'}


class Message:
  """A message of the text format: for each field, its values in order."""

  def __init__(self):
    self.fields = collections.defaultdict(list)

  def get(self, name, default=None):
    """The value of a field that is not repeated."""
    values = self.fields.get(name)
    return values[-1] if values else default

  def int(self, name, default=None):
    value = self.get(name)
    return default if value is None else int(value)

  def all(self, name):
    return self.fields.get(name, [])


def unescape(text):
  """Undoes the quoting of strings, which escapes bytes, not characters."""
  def replace(match):
    code = match[1]
    if code[0].isdigit():
      return chr(int(code, 8))
    return ESCAPED.get(code, code)
  return ESCAPE.sub(replace, text).encode('latin-1').decode(errors='replace')


def read_packets(text):
  """Returns the packets of a trace."""
  top = Message()
  stack = [top]
  for line in text.splitlines():
    line = line.strip()
    if line == '}':
      stack.pop()
      continue
    is_message = line.endswith(' {')
    name, _, value = line.partition(' ' if is_message else ': ')
    if name.isdigit():
      raise ValueError('the schema has no field ' + name)
    if is_message:
      value = Message()
    elif value.startswith('"'):
      value = unescape(value[1:-1])
    stack[-1].fields[name].append(value)
    if is_message:
      stack.append(value)
  if stack != [top] or set(top.fields) - {'packet'}:
    raise ValueError('not a whole trace')
  return top.all('packet')


@dataclasses.dataclass
class Slice:
  name: str
  category: str
  track: str
  begin: int
  end: int = 0

  @property
  def duration(self):
    return self.end - self.begin


@dataclasses.dataclass
class Clock:
  time: int
  is_incremental: bool


class Sequence:
  """What packets of a writer refer to: interned values, and defaults."""

  def __init__(self):
    self.categories = {}
    self.names = {}
    self.track = None
    self.clock = None
    self.clocks = {}

  def add(self, packet):
    if packet.int('sequence_flags', 0) & SEQ_INCREMENTAL_STATE_CLEARED:
      self.__init__()
    for defaults in packet.all('trace_packet_defaults'):
      self.clock = defaults.get('timestamp_clock_id')
      for of_events in defaults.all('track_event_defaults'):
        self.track = of_events.get('track_uuid')
    for snapshot in packet.all('clock_snapshot'):
      for clock in snapshot.all('clocks'):
        self.clocks[clock.get('clock_id')] = Clock(
            clock.int('timestamp'), clock.get('is_incremental') == 'true')
    for strings in packet.all('interned_data'):
      for known, field in ((self.categories, 'event_categories'),
                           (self.names, 'event_names')):
        for string in strings.all(field):
          known[string.get('iid')] = string.get('name')

  def time(self, packet):
    time = packet.int('timestamp')
    clock = self.clocks.get(packet.get('timestamp_clock_id', self.clock))
    if time is None or clock is None or not clock.is_incremental:
      return time
    clock.time += time
    return clock.time


class Trace:
  """The slices of a trace, put together from its packets."""

  def __init__(self, text):
    self.threads = {}  # (number of the process, name), by track.
    self.slices = []
    self.times = []  # Those of all events.
    self.open_slices = {}  # By track.
    self.sequences = collections.defaultdict(Sequence)
    for packet in read_packets(text):
      self.add_packet(packet)
    if any(self.open_slices.values()):
      raise ValueError('a slice has no end')

  def add_packet(self, packet):
    sequence = self.sequences[packet.get('trusted_packet_sequence_id')]
    sequence.add(packet)
    for track in packet.all('track_descriptor'):
      self.open_slices.setdefault(track.get('uuid'), [])
      for thread in track.all('thread'):
        self.threads[track.get('uuid')] = (
            thread.get('pid'), thread.get('thread_name', ''))
    for event in packet.all('track_event'):
      self.add_event(event, sequence.time(packet), sequence)

  def add_event(self, event, time, sequence):
    if time is None:
      raise ValueError('an event without a time')
    self.times.append(time)
    track = event.get('track_uuid', sequence.track)
    slices = self.open_slices[track]
    kind = event.get('type')
    if kind == 'TYPE_SLICE_BEGIN':
      name = event.get('name', '')
      if event.get('name_iid') is not None:
        name = sequence.names[event.get('name_iid')]
      slices.append(Slice(name, sequence.categories[event.get('category_iids')],
                          track, time))
      self.slices.append(slices[-1])
    elif kind == 'TYPE_SLICE_END':
      slices.pop().end = time
    elif kind != 'TYPE_COUNTER':
      raise ValueError('an event of type %s' % kind)
