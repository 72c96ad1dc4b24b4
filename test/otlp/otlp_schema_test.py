#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads random spans and logs with the official schema of OpenTelemetry.

  otlp_schema_test.py

Runs in the build directory, with random_spans there. The schema is that of a package of
Rust's registry. Where that is not installed, the test is skipped:

  tools/install-build-deps --otlp-schema

The last line is "N passed, N failed".
"""

import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = ROOT / 'third_party/otlp_schema'
PACKAGE = 'opentelemetry/proto'
SEEDS = (1, 2, 3)


def value_of(any_value):
  """The value as random_spans writes it."""
  kind = any_value.WhichOneof('value')
  value = getattr(any_value, kind)
  if kind == 'array_value':
    return [value_of(element) for element in value.values]
  return {'double': value.hex()} if kind == 'double_value' else value


def normal(value):
  """The model's value, with doubles in Python's way of hexadecimal digits."""
  if isinstance(value, dict):
    return {'double': float.fromhex(value['double']).hex()}
  return [normal(element) for element in value] if isinstance(value, list) else value


def attributes_of(record):
  result = {attribute.key: value_of(attribute.value)
            for attribute in record.attributes}
  assert len(result) == len(record.attributes), 'a key stands twice'
  return result


def delimited(data, fixed):
  """The messages of a file, each after its size."""
  messages = []
  position = 0
  while position < len(data):
    if fixed:
      size = int.from_bytes(data[position:position + 4], 'big')
      position += 4
    else:
      size = shift = 0
      while True:
        byte = data[position]
        position += 1
        size |= (byte & 127) << shift
        shift += 7
        if byte < 128:
          break
    messages.append(data[position:position + size])
    position += size
  return messages


class Schema:
  """The classes that protoc makes of the official schema."""

  def __init__(self, out):
    protos = [str(path.relative_to(SCHEMA)) for path in SCHEMA.rglob('*.proto')
              if re.search(r'/(trace|logs|common|resource)/v1/', str(path))]
    subprocess.run(['protoc', '-I', SCHEMA, '--python_out', out, *protos], check=True)
    sys.path.insert(0, out)
    self.trace, self.logs = (
        importlib.import_module('opentelemetry.proto.%s.v1.%s_pb2' % (name, name))
        for name in ('trace', 'logs'))
    self.others = [
        importlib.import_module('opentelemetry.proto.' + name) for name in (
            'common.v1.common_pb2', 'resource.v1.resource_pb2',
            'collector.trace.v1.trace_service_pb2',
            'collector.logs.v1.logs_service_pb2')]

  def messages(self):
    found = {}
    def add(messages):
      for name, message in messages.items():
        found[name] = message
        add(message.nested_types_by_name)
    for module in [self.trace, self.logs, *self.others]:
      add(module.DESCRIPTOR.message_types_by_name)
    return found


class OtlpSchemaTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    cls.out = folder.name
    cls.schema = Schema(cls.out)

  def test_fields_are_those_of_the_official_schema(self):
    subprocess.run(['protoc', '-I', ROOT / 'src/otlp/protos', '--python_out', self.out,
                    'otlp.proto'], check=True)
    # In a process of its own: both have the same names.
    listing = subprocess.run(
        [sys.executable, '-c', LISTING, self.out], check=True, stdout=subprocess.PIPE,
        text=True).stdout
    official = self.schema.messages()
    ours = [line.split() for line in listing.splitlines()]
    assert len(ours) > 60
    for message, field, number, kind, label in ours:
      theirs = official[message].fields_by_name[field]
      # An enumeration, of which we need no names, may be an integer.
      same = theirs.type == int(kind) or (theirs.type, int(kind)) == (14, 5)
      assert (theirs.number, theirs.label) == (int(number), int(label)) and same, (
          message, field)

  def check_seed(self, seed):
    folder = pathlib.Path(self.out, str(seed))
    folder.mkdir()
    subprocess.run(['./random_spans', str(seed), folder], check=True)
    model = [json.loads(line) for line in
             (folder / 'model.jsonl').read_text().splitlines()]
    spans, logs = self.read(folder)
    expected = {m['span']: m for m in model if 'trace' in m}
    assert len(expected) > 20
    assert sorted(span.span_id.hex() for span in spans) == sorted(expected)
    for span in spans:
      self.compare(span, expected[span.span_id.hex()])
    found = [(log.body.string_value, log.span_id.hex(), log.dropped_attributes_count,
              attributes_of(log)) for log in logs]
    wanted = [(m['log'], m['span'], m['dropped'],
               {key: normal(value) for key, value in m['attributes'].items()})
              for m in model if 'log' in m]
    assert found == wanted
    self.check_json(folder, spans, logs)

  def read(self, folder):
    """Returns the spans and logs in the files, which are the same in both formats."""
    result = []
    for name, message, scopes, records in (
        ('spans', self.schema.trace.TracesData, 'scope_spans', 'spans'),
        ('logs', self.schema.logs.LogsData, 'scope_logs', 'log_records')):
      parts = delimited((folder / (name + '.delimited')).read_bytes(), False)
      assert parts == delimited((folder / (name + '.collector')).read_bytes(), True)
      found = []
      for part in parts:
        for resource in getattr(message.FromString(part), 'resource_' + name):
          assert attributes_of(resource.resource) == {'service.name': 'random', 'n': 5}
          for scope in getattr(resource, scopes):
            if name == 'spans':
              assert scope.scope.name == 'tracer' and scope.scope.version == '1.0'
              assert scope.schema_url == 'https://example.com/schema'
            found += getattr(scope, records)
      result.append(found)
    return result

  def compare(self, span, model):
    assert span.trace_id.hex() == model['trace']
    assert span.parent_span_id.hex() == model['parent']
    assert span.trace_state == model['state']
    assert span.name == model['name'] and span.kind == model['kind']
    assert 1.7e18 < span.start_time_unix_nano <= span.end_time_unix_nano
    assert attributes_of(span) == {
        key: normal(value) for key, value in model['attributes'].items()}
    assert span.dropped_attributes_count == model['dropped']
    assert [[event.name, event.time_unix_nano, attributes_of(event)]
            for event in span.events] == model['events']
    assert [link.span_id.hex() for link in span.links] == model['links']
    assert [span.status.code, span.status.message] == model['status']

  def check_json(self, folder, spans, logs):
    """Looks for the same in the lines of JSON."""
    for name, scopes, records, parsed in (
        ('Spans', 'scopeSpans', 'spans', spans), ('Logs', 'scopeLogs', 'logRecords', logs)):
      lines = (folder / (name.lower() + '.jsonl')).read_text().split('\n')
      assert lines.pop() == ''
      found = [record for line in lines
               for resource in json.loads(line)['resource' + name]
               for scope in resource[scopes] for record in scope[records]]
      assert len(found) == len(parsed)
      for record, message in zip(found, parsed):
        assert record['spanId'] == message.span_id.hex()
        assert record.get('name', '') == getattr(message, 'name', '')
        keys = [attribute.key for attribute in message.attributes]
        assert [one['key'] for one in record.get('attributes', [])] == keys

  def test_random_spans_are_read_as_they_were_written(self):
    for seed in SEEDS:
      self.check_seed(seed)


LISTING = '''
import sys
sys.path.insert(0, sys.argv[1])
import otlp_pb2
def show(messages):
  for message in messages:
    for field in message.fields:
      print(message.name, field.name, field.number, field.type, field.label)
    show(message.nested_types)
show(otlp_pb2.DESCRIPTOR.message_types_by_name.values())
'''


def main():
  if not SCHEMA.is_dir():
    print('the schema of OpenTelemetry is not installed')
    print('0 passed, 0 failed, 1 skipped')
    return 0
  return cases.run_cases()


if __name__ == '__main__':
  sys.exit(main())
