#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace export` shows fields that programs of any kind have added to their events,
by the descriptions in the trace: what google.protobuf reads, by the schema."""

import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases
from extension_traces import description_packet, record, with_broken_descriptions
from track_events import BEGIN, END, INSTANT, described, event, name
from wire import delimited, integer

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Its namesake in this folder has no view of google.protobuf.
_spec = importlib.util.spec_from_file_location(
    'reflection', ROOT / 'test' / 'pbz' / 'export_test.py')
reflection = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reflection)

PZTRACE = pathlib.Path.cwd() / 'pztrace'
PROTOC = pathlib.Path.cwd() / 'protoc'
EVENT = 'perfetto.protos.TrackEvent'
PROTO = '''
syntax = "proto2";
package shop;
import "protozero/tracing/trace.proto";
message Order {
  optional int64 id = 1;
  repeated sint32 sizes = 2 [packed = true];
  repeated Item items = 3;
  map<string, double> prices = 4;
  oneof payment { string card = 5; uint64 cash = 6; }
  optional group Address = 7 { optional bytes door = 1; }
  optional Order parent = 8;
  message Item { optional string name = 1; optional State state = 2; }
}
enum State { NEW = 0; SENT = 1; LOST = -1; }
extend perfetto.protos.TrackEvent {
  optional Order order = 9900;
  repeated State states = 9901;
  repeated fixed64 numbers = 9902 [packed = true];
  optional string text = 9903;
  optional float ratio = 9904;
  optional bool is_last = 9905;
}
'''


class ExportExtensionsTest(unittest.TestCase):

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.folder = pathlib.Path(scratch.name)
    self.path = self.folder / 'trace'

  def schema(self, proto, *folders):
    """The schema for google.protobuf, and the description in a trace."""
    flags = ['-I%s' % folder for folder in (*folders, ROOT / 'include')]
    path = self.folder / 'schema.ds'
    subprocess.run([PROTOC, *flags, '--include_imports',
                    '--descriptor_set_out=%s' % path, proto], check=True)
    pool = reflection.descriptor_pool.DescriptorPool()
    files = reflection.descriptor_pb2.FileDescriptorSet.FromString(path.read_bytes())
    for file in files.file:
      pool.Add(file)
    message = reflection.message_factory.MessageFactory(pool).GetPrototype(
        pool.FindMessageTypeByName(EVENT))
    del files.file[0]  # The schema of traces.
    return message, files.SerializeToString()

  def rows(self, trace, table='--slices', stdin=None, error=b''):
    self.path.write_bytes(trace)
    result = subprocess.run(
        [PZTRACE, 'export', table, '--format', 'ndjson',
         '-' if stdin else self.path], input=stdin, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual((result.returncode, result.stderr), (0, error))
    return [json.loads(line) for line in result.stdout.decode().splitlines()]

  def expected(self, message):
    return {'[%s]' % field.full_name: reflection.json_field(
        field, reflection.get(message, field))
            for field in reflection.present_fields(message) if field.is_extension}

  def test_a_program_with_fields_of_its_own(self):
    trace = record(self.path, '3')
    of_event, _ = self.schema('test/pztrace/query.proto', ROOT)
    message = of_event()
    message.MergeFromString(
        delimited(9900, b'select 1') +
        delimited(9901, integer(1, 1) + integer(2, 0)))
    rows = self.rows(trace)
    self.assertEqual([row['args'] for row in rows], [self.expected(message)] * 3)
    self.assertEqual(rows[0]['args']['[test.QueryEvent.plan]']['method'], 'LOOKUP')
    # A pipe has the description in front of the events, as services write it.
    self.assertEqual([row['args'] for row in self.rows(b'', stdin=trace)],
                     [row['args'] for row in rows])

  def test_all_kinds_of_fields(self):
    (self.folder / 'shop.proto').write_text(PROTO)
    of_event, description = self.schema('shop.proto', self.folder)
    generator = random.Random(3)
    fields = [field for field in reflection.fields_of(of_event.DESCRIPTOR)
              if field.is_extension]
    self.assertEqual(len(fields), 6)

    def value_of(field):
      if field.enum_type:
        return generator.choice([-1, 0, 1])
      return {field.CPPTYPE_STRING: 'a"\u20ac' * generator.randrange(3),
              field.CPPTYPE_BOOL: generator.random() < .5,
              field.CPPTYPE_FLOAT: generator.choice([.5, 1e30, float('inf')]),
              field.CPPTYPE_DOUBLE: generator.choice([.1, float('nan')]),
              }.get(field.cpp_type, generator.randrange(1 << 30))

    def fill(message, depth):
      for field in reflection.fields_of(message.DESCRIPTOR):
        is_wanted = generator.random() < .6
        if message.DESCRIPTOR is of_event.DESCRIPTOR and not field.is_extension:
          continue
        if not is_wanted or (field.message_type and depth == 3):
          continue
        value = reflection.get(message, field)
        if reflection.is_map(field):
          value['key'] = .25
        elif field.message_type:
          fill(value.add() if reflection.is_repeated(field) else value, depth + 1)
          if not reflection.is_repeated(field):
            value.SetInParent()
        elif reflection.is_repeated(field):
          value.extend(value_of(field) for _ in range(generator.randint(1, 3)))
        elif field.is_extension:
          message.Extensions[field] = value_of(field)
        else:
          is_bytes = field.type == field.TYPE_BYTES
          setattr(message, field.name, b'\0\xff' if is_bytes else value_of(field))
    messages = []
    for _ in range(100):
      messages.append(of_event())
      fill(messages[-1], 0)
    events = b''.join(event(1, INSTANT, 1, name('x'), message.SerializeToString())
                      for message in messages)
    # The description comes last.
    rows = self.rows(described() + events + description_packet(description),
                     '--instants')
    for row, message in zip(rows, messages, strict=True):
      self.assertEqual(row['args'], self.expected(message))
    self.assertGreater(sum(bool(row['args']) for row in rows), 90)

  def test_beside_annotations_and_at_the_end(self):
    _, description = self.schema('test/pztrace/query.proto', ROOT)
    annotation = delimited(4, delimited(10, b'n') + integer(3, 1))
    trace = (description_packet(description) + described() +
             event(1, BEGIN, 0, name('x'), annotation) +
             event(1, END, 1, delimited(9900, b'at the end')) +
             event(1, BEGIN, 0, name('x'), delimited(9900, b'a'),
                   delimited(9900, b'b'), delimited(9999, b'unknown')) +
             event(1, END, 1) +
             # Not the type that is described.
             event(1, BEGIN, 0, name('x'), integer(9900, 1)) + event(1, END, 1))
    rows = self.rows(trace, error=b'1 extension that nothing describes: not read\n')
    self.assertEqual([row['args'] for row in rows], [
        {'n': 1, '[test.QueryEvent.query]': 'at the end'},
        {'[test.QueryEvent.query]': 'b'}, {}])

  def test_any_description_is_survived(self):
    for trace in with_broken_descriptions(record(self.path, '1'), 100):
      self.path.write_bytes(trace)
      result = subprocess.run(
          [PZTRACE, 'export', '--slices', '--format', 'ndjson', self.path],
          timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
      self.assertIn(result.returncode, (0, 1), result.stderr)
      self.assertNotIn(b'Sanitizer', result.stderr)
      for line in result.stdout.decode().splitlines():
        json.loads(line)


if __name__ == '__main__':
  sys.exit(run_cases())
