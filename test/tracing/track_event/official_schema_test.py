#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads traces with Perfetto's own schema: those of track_event_unittests, and what
pztrace has recorded of other programs.

  official_schema_test.py

Runs in the build directory. The schema is that of the Python package perfetto. Where
that is not installed, the test is skipped:

  tools/install-build-deps --official-schema

The last line is "N passed, N failed".
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
# In front of Debian's protobuf, which is older.
sys.path[:0] = [str(path) for path in ROOT.glob(
    'third_party/official_schema/lib/python3*/site-packages')]

try:
  from google.protobuf import unknown_fields
  from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
  pb = None

CLEARED = 1
NEEDS_STATE = 2
ABOUT_THREADS = ('generic_kernel_task_state_event', 'generic_kernel_process_tree',
                 'generic_kernel_task_rename_event', 'stack_sample', 'module_symbols',
                 'ftrace_events')
# Root sees who wakes threads, if tracefs is mounted.
WITH_TRACEFS = ('unshare', '--mount', 'sh', '-c',
                'mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"', 'sh')
RECORDED = ('traced_workers', 'event_tracer')


class Sequence:
  """The state of a sequence that a viewer keeps."""

  def __init__(self):
    self.valid = False
    self.interned = collections.defaultdict(dict)
    self.track = None
    self.clock = 6
    self.time = 0


class Trace:
  """Checks packet by packet."""

  def __init__(self):
    self.sequences = collections.defaultdict(Sequence)
    self.tracks = {}
    self.stacks = collections.Counter()
    self.events = 0
    self.flows = collections.Counter()
    self.terminated = set()

  def check(self, packet):
    if not packet.trusted_packet_sequence_id:
      # The service says again what a ring buffer has overwritten. Names of functions
      # are for all sequences.
      if packet.WhichOneof('data') in ('extension_descriptor', 'module_symbols'):
        return
      raise ValueError('no sequence')
    sequence = self.sequences[packet.trusted_packet_sequence_id]
    if packet.previous_packet_dropped:
      sequence.valid = False
    if packet.sequence_flags & CLEARED:
      time = sequence.time
      sequence = self.sequences[packet.trusted_packet_sequence_id] = Sequence()
      sequence.valid, sequence.time = True, time
    if packet.sequence_flags & NEEDS_STATE and not sequence.valid:
      raise ValueError('a packet whose state is lost')
    if packet.HasField('trace_packet_defaults'):
      defaults = packet.trace_packet_defaults
      sequence.clock = defaults.timestamp_clock_id
      sequence.track = defaults.track_event_defaults.track_uuid
    for field, entries in packet.interned_data.ListFields():
      for entry in entries:
        known = sequence.interned[field.name]
        if entry.iid in known or not entry.iid:
          raise ValueError('interned twice: %s' % entry)
        known[entry.iid] = getattr(entry, 'name', None)
    if packet.HasField('clock_snapshot'):
      for clock in packet.clock_snapshot.clocks:
        if clock.clock_id == 64:
          if clock.timestamp < sequence.time:
            raise ValueError('time goes back')
          sequence.time = clock.timestamp
    elif packet.HasField('timestamp') and (
        packet.timestamp_clock_id or sequence.clock) == 64:
      sequence.time += packet.timestamp
    if packet.HasField('track_descriptor'):
      self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
    if packet.HasField('track_event'):
      self.check_event(sequence, packet.track_event)

  def check_event(self, sequence, event):
    self.events += 1
    uuid = event.track_uuid or sequence.track
    # A chain of known parents.
    while uuid:
      uuid = self.tracks[uuid].parent_uuid
    uuid = event.track_uuid or sequence.track
    if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
      self.stacks[uuid] += 1
    elif event.type == pb.TrackEvent.TYPE_SLICE_END:
      self.stacks[uuid] -= 1
      # An end that says which slice it is for has that one's name, as text.
      if event.name_iid or event.category_iids:
        raise ValueError('an end with interned texts')
    elif event.type == pb.TrackEvent.TYPE_COUNTER:
      if not self.tracks[uuid].HasField('counter'):
        raise ValueError('no counter: %s' % event)
    if event.name_iid:
      assert sequence.interned['event_names'][event.name_iid]
    for iid in event.category_iids:
      assert sequence.interned['event_categories'][iid]
    for annotation in event.debug_annotations:
      if annotation.name_iid:
        assert sequence.interned['debug_annotation_names'][annotation.name_iid]
      elif not annotation.name:
        raise ValueError('a value without a key')
    for flow in event.flow_ids:
      self.flows[flow] += 1
    for flow in event.terminating_flow_ids:
      if not self.flows[flow]:
        raise ValueError('a flow that ends without a beginning')

  def finish(self, is_ring):
    for uuid, depth in self.stacks.items():
      # A ring buffer forgets beginnings.
      if depth != 0 and not is_ring:
        raise ValueError('%d open slices on %s' % (depth, self.tracks[uuid]))


def check_official(message):
  if len(unknown_fields.UnknownFieldSet(message)) != 0:
    raise ValueError('fields that are not official: %s' % message)
  for field, value in message.ListFields():
    if field.message_type:
      for part in value if field.is_repeated else [value]:
        check_official(part)


def check_file(path):
  content = path.read_bytes()
  trace = pb.Trace.FromString(content)
  model = Trace()
  for packet in trace.packet:
    if len(unknown_fields.UnknownFieldSet(packet.track_event)) != 0:
      raise ValueError('fields that are not official: %s' % packet)
    if packet.WhichOneof('data') in ABOUT_THREADS:
      check_official(packet)
    model.check(packet)
  # The tests of what is lost, and of sessions that end in the midst of a slice,
  # leave some open.
  model.finish(any(name in path.name for name in
                   ('Ring', 'Loss', 'AtOnce', 'NotBalanced')))
  return model.events


def make_traces(folder):
  """Some may be lost in tests of that, but not in recordings."""
  subprocess.run(['./track_event_unittests', '--gtest_brief=1'], check=True,
                 env=dict(os.environ, PROTOZERO_TRACES_DIR=folder))
  can_mount = os.geteuid() == 0 and subprocess.run(
      ['unshare', '--mount', 'true'], stderr=subprocess.DEVNULL, check=False).returncode == 0
  for program in RECORDED:
    recording = subprocess.run(
        [*(WITH_TRACEFS if can_mount else ()), './pztrace', 'record', '--why', '-o', '%s/%s.pftrace' % (folder, program),
         '--', './' + program], check=True, stderr=subprocess.PIPE, text=True)
    if 'nothing lost' not in recording.stderr:
      raise ValueError(recording.stderr)


def main():
  if pb is None:
    print('the Python package perfetto is not installed')
    print('0 passed, 0 failed, 1 skipped')
    return 0
  passed = failed = events = 0
  with tempfile.TemporaryDirectory() as folder:
    make_traces(folder)
    for path in sorted(pathlib.Path(folder).glob('*.pftrace')):
      try:
        events += check_file(path)
        passed += 1
      except (ValueError, KeyError, AssertionError) as error:
        failed += 1
        print('FAIL %s: %s %s' % (path.name, type(error).__name__, error))
  print('%d events' % events)
  print('%d passed, %d failed' % (passed, failed))
  return 0 if passed and not failed else 1


if __name__ == '__main__':
  sys.exit(main())
