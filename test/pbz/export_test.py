#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pbz export` writes what google.protobuf reads in the same bytes: over random
schemas and messages, from several files and the standard input, of any bytes and in
little memory. Runs in the build directory, with Debian's Python, which has
google.protobuf."""

import base64
import csv
import io
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory

import round_trip_test
import schema_generator
from cases import run_cases
from wire import delimited, integer, tag, varint

BUILD_DIR = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PBZ = BUILD_DIR / 'pbz'
PROTOC = BUILD_DIR / 'protoc'
SEED = 5
MB = 1 << 20

ROWS = '''
syntax = "proto3";
package p;
message File { repeated Row row = 1; Log log = 2; string other = 3; }
message Log { repeated Row row = 7; string name = 8; }
message Row {
  int64 id = 1;
  string text = 2;
  optional int32 maybe = 3;
  repeated uint64 many = 4;
  Peer peer = 5;
  map<string, Peer> by_name = 6;
  Row inner = 8;
  oneof choice { bool yes = 9; Peer someone = 10; }
  bytes raw = 11;
  enum Kind { ZERO = 0; ONE = 1; }
  Kind kind = 12;
  double ratio = 13;
}
message Peer { string host = 1; uint32 port = 2; }
'''


class Float32:
  """Equals what reads back as the same float."""

  def __init__(self, value):
    self.value = value

  def __eq__(self, other):
    return struct.pack('<f', other) == struct.pack('<f', self.value)

  def __repr__(self):
    return 'float %r' % self.value


class Schema:
  """A pool of .proto files, by protoc and google.protobuf."""

  def __init__(self, folder, proto):
    self.path = folder / 'schema.ds'
    subprocess.run([PROTOC, '-I%s' % folder, '--include_imports',
                    '--descriptor_set_out=%s' % self.path, proto], check=True)
    files = descriptor_pb2.FileDescriptorSet.FromString(self.path.read_bytes())
    self.pool = descriptor_pool.DescriptorPool()
    for file in files.file:
      self.pool.Add(file)
    self.factory = message_factory.MessageFactory(self.pool)

  def message(self, name):
    return self.factory.GetPrototype(self.pool.FindMessageTypeByName(name))()


# The expected rows, by google.protobuf's reflection.


def extensions_of(descriptor):
  return descriptor.file.pool.FindAllExtensions(descriptor)


def fields_of(descriptor):
  return sorted([*descriptor.fields, *extensions_of(descriptor)],
                key=lambda field: field.number)


def name_of(field):
  return '[%s]' % field.full_name if field.is_extension else field.name


def is_repeated(field):
  return field.label == field.LABEL_REPEATED


def is_map(field):
  return field.message_type and field.message_type.GetOptions().map_entry


def has_presence(field):
  return (field.message_type or field.containing_oneof or field.is_extension or
          field.containing_type.syntax == 'proto2')


def get(message, field):
  if field.is_extension:
    return message.Extensions[field]
  return getattr(message, field.name)


def has(message, field):
  return (message.HasExtension(field) if field.is_extension else
          message.HasField(field.name))


def json_scalar(field, value):
  if field.enum_type:
    found = field.enum_type.values_by_number.get(value)
    return found.name if found else value
  if field.type == field.TYPE_BYTES:
    return base64.b64encode(value).decode()
  if field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
    if math.isnan(value):
      return 'NaN'
    if math.isinf(value):
      return 'Infinity' if value > 0 else '-Infinity'
    if field.cpp_type == field.CPPTYPE_FLOAT:
      return Float32(value)
  return value


def present_fields(message):
  """By number. ListFields() of some versions lacks extensions that are messages."""
  extensions = [
      field for field in extensions_of(message.DESCRIPTOR)
      if (get(message, field) if is_repeated(field) else has(message, field))]
  fields = [field for field, _ in message.ListFields() if not field.is_extension]
  return sorted(fields + extensions, key=lambda field: field.number)


def json_value(field, value):
  if field.message_type:
    return {name_of(inner): json_field(inner, get(value, inner))
            for inner in present_fields(value)}
  return json_scalar(field, value)


def json_field(field, value):
  if is_map(field):
    key_type, value_type = field.message_type.fields
    return {json.dumps(key) if isinstance(key, bool) else str(key):
                json_value(value_type, value[key]) for key in value}
  if is_repeated(field):
    return [json_value(field, element) for element in value]
  return json_value(field, value)


def row_of(message, prefix='', around=()):
  """The default columns. Those of a message that is not there are null."""
  row = {}
  descriptor = message.DESCRIPTOR
  around = (*around, descriptor.full_name)
  for field in fields_of(descriptor):
    name = prefix + name_of(field)
    inner = field.message_type
    if (inner and not is_repeated(field) and fields_of(inner) and
        inner.full_name not in around):
      columns = row_of(get(message, field), name + '.', around)
      row.update(columns if has(message, field) else dict.fromkeys(columns))
    elif is_repeated(field):
      row[name] = json_field(field, get(message, field))
    elif has_presence(field) and not has(message, field):
      row[name] = None
    else:
      row[name] = json_field(field, get(message, field))
      if field.enum_type:  # Also those without a name: a column has one type.
        row[name] = str(row[name])
  return row


def differences(got, expected, path=()):
  """The place and the kind of the difference of two values."""
  if isinstance(got, dict) and isinstance(expected, dict):
    for key in {**got, **expected}:
      yield from differences(got.get(key), expected.get(key), (*path, key))
  elif (isinstance(got, list) and isinstance(expected, list) and
        len(got) == len(expected)):
    for i, value in enumerate(expected):
      yield from differences(got[i], value, (*path, i))
  elif got != expected:
    yield path, got, expected


def run(*arguments, stdin=b'', code=0):
  done = subprocess.run([PBZ, 'export', *map(str, arguments)], input=stdin,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        check=False)
  assert done.returncode == code, (done.returncode, done.stderr.decode())
  return done.stdout, done.stderr.decode()


def number_of(text):
  return -0.0 if text == '-0' else int(text)  # int() would lose the sign.


def objects(ndjson, parse_int=number_of, **options):
  return [json.loads(line, parse_int=parse_int, **options)
          for line in ndjson.decode().splitlines()]


def as_csv_cell(value):
  if value is None:
    return ''
  if isinstance(value, str):
    return re.sub(r'[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]',
                  lambda control: '\\u%04x' % ord(control[0]), value)
  return json.dumps(value) if isinstance(value, bool) else value


class ExportTest(unittest.TestCase):

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.folder = pathlib.Path(scratch.name)
    self.file = self.folder / 'file.pb'

  def schema_of_rows(self):
    (self.folder / 'rows.proto').write_text(ROWS)
    return Schema(self.folder, 'rows.proto')

  def both_formats(self, *arguments, **options):
    """The objects of NDJSON. CSV has to say the same."""
    lines, _ = run('--format', 'ndjson', *arguments, **options)
    table, _ = run('--format', 'csv', *arguments, **options)
    rows = csv.DictReader(io.StringIO(table.decode(), newline=''))
    # Numbers as the text that they are.
    texts = objects(lines, parse_int=str, parse_float=str)
    for row, text in zip(rows, texts, strict=True):
      self.assertEqual(list(row), list(text))
      for column, value in text.items():
        if isinstance(value, (dict, list)):
          self.assertEqual(
              json.loads(row[column], parse_int=str, parse_float=str), value)
        else:
          self.assertEqual(row[column], as_csv_cell(value))
    return objects(lines)

  # Random schemas and messages.

  def test_rows_of_random_schemas(self):
    rng = random.Random(SEED)
    schemas = schema_generator.Generator(
        SEED, 12, 'rnd', schema_generator.HostileNames(SEED)).schemas
    extensions = {}
    for schema in schemas:
      for message in schema.all_messages():
        if message.extends:
          extensions.setdefault(message.extends, []).append(message)
    roots = round_trip_test.write_schemas(schemas, self.folder, False, rng)
    schema = Schema(self.folder, round_trip_test.ALL)
    num_rows = 0
    for is_odd in False, True:
      maker = round_trip_test.Bytes(rng, is_odd, extensions)
      for number, root in enumerate(roots, 1):
        message = schema.message(root.full_name)
        if not fields_of(message.DESCRIPTOR):
          continue
        contents = [maker.message(root, 3) for _ in range(6)]
        if is_odd:  # Fields several times, which parsers merge.
          contents += [contents[i] + contents[i + 1] for i in range(3)]
        self.file.write_bytes(b''.join(delimited(number, content)
                                       for content in contents))
        rows = self.both_formats('--schema', schema.path, '--type', 'all.All',
                                 '--rows', 'm%d' % number, self.file)
        for row, content in zip(rows, contents, strict=True):
          message.Clear()
          message.MergeFromString(content)
          expected = row_of(message)
          self.assertEqual(list(row), list(expected))
          self.assertEqual(list(differences(row, expected)), [],
                           (root.full_name, content.hex()))
          num_rows += 1
        copied, _ = run('--delimited', '--rows', number, self.file)
        self.assertEqual(copied, b''.join(varint(len(content)) + content
                                          for content in contents))
    print('%d rows of %d types' % (num_rows, len(roots)))

  # Tests of each option.

  def test_columns_are_chosen(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(
        delimited(1, integer(1, -5) + delimited(5, delimited(1, b'h'))) +
        delimited(1, delimited(4, varint(1) + varint(2**64 - 1)) +
                  delimited(6, delimited(1, b'k') + delimited(2, integer(2, 7)))))
    rows = self.both_formats(
        '--schema', schema.path, '--rows', 'row', '--columns',
        'peer,peer.port,many,id,by_name,maybe,text', self.file)
    self.assertEqual(rows, [
        {'peer': {'host': 'h'}, 'peer.port': 0, 'many': [], 'id': -5,
         'by_name': {}, 'maybe': None, 'text': ''},
        {'peer': None, 'peer.port': None, 'many': [1, 2**64 - 1], 'id': 0,
         'by_name': {'k': {'port': 7}}, 'maybe': None, 'text': ''}])

  def test_members_of_a_oneof_replace_each_other(self):
    schema = self.schema_of_rows()
    someone = delimited(10, delimited(1, b'a'))
    for content, expected in (
        (someone + integer(9, 1), (True, None)),
        (integer(9, 1) + someone, (None, 'a')),
        (someone + integer(9, 1) + delimited(10, b''), (None, '')),
    ):
      self.file.write_bytes(delimited(1, content))
      row, = self.both_formats('--schema', schema.path, '--rows', 'row',
                               '--columns', 'yes,someone.host', self.file)
      self.assertEqual((row['yes'], row['someone.host']), expected)

  def test_rows_within_a_message(self):
    schema = self.schema_of_rows()
    row = delimited(7, integer(1, 3))
    self.file.write_bytes(delimited(2, row + row) + delimited(3, b'x') +
                          delimited(2, delimited(8, b'n') + row))
    for path in 'log.row', 'log.7', '2.row':
      self.assertEqual(
          [row['id'] for row in self.both_formats(
              '--schema', schema.path, '--rows', path, '--columns', 'id',
              self.file)], [3] * 3)
    self.assertEqual(run('--delimited', '--rows', '2.7', self.file)[0],
                     3 * (b'\2' + integer(1, 3)))

  def test_a_file_is_a_row_without_rows(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(3, b'a') + delimited(3, b'b'))
    arguments = ('--schema', schema.path, '--columns', 'other,row')
    self.assertEqual(self.both_formats(*arguments, self.file),
                     [{'other': 'b', 'row': []}])
    self.assertEqual(
        self.both_formats(*arguments, '--from-delimited', '-',
                          stdin=b'\3' + delimited(3, b'x') + b'\0'),
        [{'other': 'x', 'row': []}, {'other': '', 'row': []}])

  def test_several_files(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, integer(1, 1)) * 2)
    rows = self.both_formats(
        '--schema', schema.path, '--rows', 'row', '--columns', 'id',
        '--file-column', 'from', self.file, '-', self.file,
        stdin=delimited(1, integer(1, 2)))
    self.assertEqual([(row['from'], row['id']) for row in rows],
                     [(str(self.file), 1)] * 2 + [('-', 2)] +
                     [(str(self.file), 1)] * 2)
    _, error = run('--format', 'csv', '--schema', schema.path, '--rows', 'row',
                   '--file-column', 'id', self.file, code=2)
    self.assertEqual(error, 'pbz: --file-column: there is a column id already\n')

  def test_envelope(self):
    schema = self.schema_of_rows()
    content = delimited(1, integer(1, 1)) * 100
    self.file.write_bytes(content)
    output, _ = run('--envelope', self.file, self.file)
    self.assertEqual(output, varint(2 * len(content)) + 2 * content)
    # It is one message: protoc reads it.
    text = subprocess.run(
        [PROTOC, '--descriptor_set_in=%s' % schema.path, '--decode=p.File'],
        input=output[len(varint(2 * len(content))):], stdout=subprocess.PIPE,
        check=True).stdout
    self.assertEqual(text.count(b'row {'), 200)
    with open(self.file, 'rb') as stdin:  # A file, so its size is known.
      self.assertEqual(
          subprocess.run([PBZ, 'export', '--envelope', '-'], stdin=stdin,
                         stdout=subprocess.PIPE, check=True).stdout,
          varint(len(content)) + content)
    output, error = run('--envelope', self.file, '-', stdin=content, code=1)
    self.assertEqual(output, b'')
    self.assertIn('<stdin>: the size of what is no file', error)

  def test_types_in_types_without_end(self):
    count = 3000
    (self.folder / 'deep.proto').write_text('syntax = "proto3";\n' + ''.join(
        'message M%d { M%d m = 1; }\n' % (i, i + 1) for i in range(count)) +
        'message M%d { int32 n = 1; }\n' % count)
    schema = Schema(self.folder, 'deep.proto')
    self.file.write_bytes(b'')
    row, = self.both_formats('--schema', schema.path, self.file)
    self.assertEqual(row, {'.'.join(100 * 'm'): None})

  def test_numbers_that_are_not_finite(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(b''.join(
        delimited(1, tag(13, 1) + struct.pack('<d', value))
        for value in (math.nan, math.inf, -math.inf, 0.1, -0.0)))
    rows = self.both_formats('--schema', schema.path, '--rows', 'row',
                             '--columns', 'ratio', self.file)
    self.assertEqual([row['ratio'] for row in rows],
                     ['NaN', 'Infinity', '-Infinity', 0.1, 0])

  def test_text_that_is_no_utf8_or_has_quotes(self):
    schema = self.schema_of_rows()
    for text, expected in ((b'\xff\xc3a', '\ufffd\ufffda'),
                           (b'a,"b"\r\n\0', 'a,"b"\r\n\0')):
      self.file.write_bytes(delimited(1, delimited(2, text)))
      lines, _ = run('--format', 'ndjson', '--schema', schema.path, '--rows', 'row',
                     '--columns', 'text', self.file)
      self.assertEqual(objects(lines), [{'text': expected}])

  def test_csv_tells_null_from_an_empty_text(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, b'') + delimited(1, delimited(5, b'')))
    for columns, cells in (('peer.host,id', [b'', b'""']),
                           ('peer.host', [b'""', b'""'])):
      table, _ = run('--format', 'csv', '--schema', schema.path, '--rows', 'row',
                     '--columns', columns, self.file)
      self.assertEqual([line.split(b',')[0] for line in table.splitlines()[1:]],
                       cells)

  def test_formulas(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, delimited(2, b'=1') + integer(1, 7)))
    for option, cells in ((), b'=1'), (('--escape-formulas',), b"'=1"):
      table, _ = run('--format', 'csv', *option, '--schema', schema.path, '--rows', 'row',
                     '--columns', 'text,id', self.file)
      self.assertEqual(table.splitlines()[1], cells + b',7')

  # Bad input and usage.

  def test_rows_before_and_after_a_malformed_one(self):
    schema = self.schema_of_rows()
    row = delimited(1, integer(1, 1))
    bad = delimited(1, integer(1, 2) + tag(2, 2) + b'\x09')
    self.file.write_bytes(row + bad + row)
    for output in 'ndjson', 'csv':
      lines, error = run('--format', output, '--schema', schema.path, '--rows', 'row',
                         '--columns', 'id', self.file, code=1)
      self.assertEqual(lines.count(b'1'), 2)
      self.assertNotIn(b'2', lines)
      self.assertIn('%s: malformed at offset %d: ' % (
          self.file, len(row) + 2 + len(integer(1, 2))), error)
    copied, error = run('--delimited', '--rows', 1, self.file, code=1)
    self.assertEqual(copied, 2 * row[1:])
    self.assertIn('malformed at offset', error)
    self.assertIn('malformed at offset',
                  run('--envelope', self.folder / 'rows.proto', code=1)[1])

  def test_truncated_at_every_byte(self):
    schema = self.schema_of_rows()
    peer = delimited(1, b'h') + integer(2, 80)
    row = (integer(1, -1) + delimited(2, b'text') + delimited(4, b'\1\2') +
           delimited(5, peer) + delimited(6, delimited(1, b'k') +
                                          delimited(2, peer)) +
           delimited(10, peer) + delimited(11, b'\xff') + integer(12, 1))
    whole = delimited(1, row) + delimited(1, delimited(8, row))
    ends = {0, len(delimited(1, row)), len(whole)}
    # Each form once for a few lengths, all lengths for one form.
    forms = [('--format', 'ndjson', '--schema', schema.path, '--rows', 'row'),
             ('--format', 'csv', '--schema', schema.path),
             ('--delimited', '--rows', '1')]
    for size in range(len(whole) + 1):
      self.file.write_bytes(whole[:size])
      for form in forms:
        done = subprocess.run([PBZ, 'export', *form, self.file], check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0 if size in ends else 1,
                         (size, form, done.stderr))
        if size not in ends:
          self.assertIn(b'malformed at offset', done.stderr)
        if form[1] == 'ndjson':
          self.assertEqual(len(objects(done.stdout)),
                           sum(0 < end <= size for end in ends))

  def test_any_bytes_are_survived(self):
    schema = self.schema_of_rows()
    rng = random.Random(SEED)
    for i in range(150):
      content = bytearray(b''.join(
          delimited(rng.choice([1, 2]), integer(1, i) + delimited(
              rng.choice([2, 4, 5, 6, 8, 10]), integer(rng.randint(1, 2), i)))
          for _ in range(5)))
      for _ in range(rng.randint(0, 4)):
        content[rng.randrange(len(content))] = rng.randrange(256)
      done = subprocess.run(
          [PBZ, 'export', '--format', 'ndjson', '--schema', schema.path, '--rows',
           rng.choice(['row', 'log.row']), '-'], input=bytes(content),
          check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
      self.assertIn(done.returncode, (0, 1), done.stderr)
      objects(done.stdout)

  def test_memory_is_that_of_the_largest_row(self):
    schema = self.schema_of_rows()
    row = delimited(1, integer(1, 1) + delimited(2, b'x' * 1000))
    with open(self.file, 'wb') as file:
      for _ in range(128):
        file.write(row * (MB // len(row)))
    for form in (('--format', 'ndjson', '--schema', schema.path, '--rows', 'row'),
                 ('--delimited', '--rows', '1'), ('--envelope',)):
      with open(os.devnull, 'wb') as nowhere:
        process = subprocess.Popen([PBZ, 'export', *form, self.file],
                                   stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
      process.returncode = status
      self.assertEqual(status, 0)
      # Address sanitizer keeps what is freed for a while.
      self.assertLess(usage.ru_maxrss, 100 * 1024, form)

  def test_usage(self):
    schema = self.schema_of_rows()
    with_schema = '--schema', schema.path
    for arguments, error in (
        ((), 'one of --format'),
        (('--format', 'csv', '--delimited'), 'one of --format'),
        (('--format', 'xml', *with_schema), 'csv, ndjson, arrow or parquet'),
        (('--format', 'csv'), 'need --schema'),
        (('--format', 'arrow', *with_schema), 'built without Arrow'),
        (('--format', 'parquet', *with_schema), 'built without Arrow'),
        (('--delimited',), '--delimited needs --rows'),
        (('--delimited', '--rows', '1', '--columns', 'id'), 'are for tables'),
        (('--delimited', '--rows', 'row'), 'names need --schema'),
        (('--delimited', '--rows', '0'), "'0' is no field number"),
        (('--envelope', '--rows', '1'), 'without --rows'),
        (('--format', 'csv', *with_schema, '--rows', 'nope'), "no field 'nope'"),
        (('--format', 'csv', *with_schema, '--rows', 'other'), 'is no message'),
        (('--format', 'csv', *with_schema, '--columns', 'row.id'), 'row is repeated'),
        (('--format', 'csv', *with_schema, '--columns', 'other.x'), 'has no fields'),
        (('--format', 'csv', *with_schema, '--columns', 'other,other'), 'chosen twice'),
        (('--format', 'csv', *with_schema, '-'), 'can be read once'),
    ):
      self.assertIn(error, run(*arguments, '-', code=2)[1])

  def test_other_files(self):
    schema = self.schema_of_rows()
    form = '--format', 'ndjson', '--schema', schema.path
    self.file.write_bytes(b'\3' + delimited(3, b'x') + b'\3' + delimited(3, b'y'))
    self.assertIn('; try --from-delimited', run(*form, self.file, code=1)[1])
    self.assertIn('No such file', run(*form, self.folder / 'none', code=1)[1])
    self.assertIn('directory', run(*form, self.folder, code=1)[1])

  def test_output_that_cannot_be_written(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, integer(1, 1)) * 100000)
    with open('/dev/full', 'wb') as full:
      done = subprocess.run(
          [PBZ, 'export', '--format', 'csv', '--schema', schema.path, '--rows', 'row',
           self.file], stdout=full, stderr=subprocess.PIPE, check=False)
    self.assertEqual(done.returncode, 1)
    self.assertIn(b'No space left', done.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
