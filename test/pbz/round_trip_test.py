#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""pbz decode and protoc --decode print the same, over random schemas.

The schemas are those of test/differential, of proto2 and proto3, and rewritten
as an edition if third_party/modern_protobuf is there (tools/install-build-deps
--modern-protobuf). Messages are made up here, byte by byte, so that only protoc
says what their text is. Run in a build directory.

  round_trip_test.py [--seed N] [--schemas N] [--messages N]
"""

import argparse
import difflib
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PBZ = BUILD_DIR / 'pbz'
PROTOC = BUILD_DIR / 'protoc'
MODERN_PROTOC = ROOT / 'third_party' / 'modern_protobuf' / 'bin' / 'protoc'

import schema_generator
from wire import delimited, tag, varint

ALL = 'all.proto'
MAX_DEPTH = 4

# The cases of the rule which fields are groups to text format: `Sub` and `Two`.
DELIMITED = '''
edition = "2023";
package p;
import "elsewhere.proto";
option features.message_encoding = DELIMITED;
message M {
  message Sub { int32 x = 1; }
  Sub sub = 1;
  Sub other = 2;
  Top top = 3;
  .q.Far far = 4;
  map<int32, Sub> map = 5;
  message Two {}
  oneof choice { Two two = 6; }
  repeated Many many = 7;
  message Many {}
  Plain plain = 8 [features.message_encoding = LENGTH_PREFIXED];
  message Plain {}
  extensions 100 to 200;
}
message Top { int32 x = 1; }
message Far {
  extend M { Sub sub = 102; M.Sub of_other_scope = 103; }
  message Sub {}
}
extend M { Top top = 100; }
'''
ELSEWHERE = 'edition = "2023"; package q; message Far { int32 x = 1; }'
DELIMITED_BYTES = bytes.fromhex(
    '0b08010c 13080114 1b08011c 23080124 2a0608011202 0801 3334 3b3c 3b3c 4200'
    'a3060801a406 b306b406 bb06bc06')

MESSAGE_SET = '''
syntax = "proto2";
package p;
message Set { option message_set_wire_format = true; extensions 4 to max; }
message X {
  extend Set { optional X in_itself = 1000; optional Y of_other_type = 2000; }
  optional int32 v = 1;
}
message Y { optional string s = 1; }
extend Set { optional X in_file = 2147483646; }
'''
# Fields that the random schemas do not have.
GROUPS = '''
syntax = "proto2";
package p;
message M {
  extensions 100 to 200;
  map<int32, E> map = 1;
  enum E { A = 0; B = -1; }
}
extend M { repeated group InFile = 100 { optional int32 x = 1; } }
message Scope {
  extend M { optional group InScope = 101 { optional group Y = 1 {} } }
}
'''
GROUPS_BYTES = bytes.fromhex(
    '0a0408011000 0a0d080210ffffffffffffffffff01'
    'a3060801a406 a306a406 ab060b0cac06')

MESSAGE_SET_BYTES = bytes.fromhex(
    '0b 10e807 1a020805 0c  0b 10d00f 1a030a0161 0c  0b 10feffffff07 1a00 0c')


def run(*command, stdin=b''):
  done = subprocess.run([str(word) for word in command], input=stdin,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        check=False)
  if done.returncode != 0:
    sys.exit('%s\nFAILED: %s\n0 passed, 1 failed' %
             (done.stderr.decode()[-5000:], ' '.join(map(str, command))))
  return done.stdout


# Schemas


def make_edition(schema, rng):
  """Rewrites a proto2 or proto3 schema as an edition. Returns what says so.

  Features say which fields are optional, required, packed or groups.
  """
  is_delimited = rng.random() < 0.3
  lines = ['edition = "2023";']
  if schema.syntax == 2:
    lines += ['option features.enum_type = CLOSED;',
              'option features.repeated_field_encoding = EXPANDED;']
  else:
    lines.append('option features.field_presence = IMPLICIT;')
  if is_delimited:
    lines.append('option features.message_encoding = DELIMITED;')
  for message in schema.all_messages():
    if message.is_map_entry:
      continue
    for field in message.all_fields():
      if not field.is_map():
        give_features(field, schema.syntax == 3, is_delimited, rng)
  for message in schema.all_messages():
    message.is_group = False
  return lines


def give_features(field, is_implicit, is_delimited, rng):
  features = []
  if field.kind in ('message', 'group'):
    field.is_delimited = field.kind == 'group' or (
        not field.is_lazy and rng.random() < 0.4)
    field.kind = 'message'
    if field.is_delimited != is_delimited:
      features.append('message_encoding = ' + (
          'DELIMITED' if field.is_delimited else 'LENGTH_PREFIXED'))
  elif field.label == 'optional' and is_implicit:
    field.has_presence = True
    features.append('field_presence = EXPLICIT')
  if field.label == 'required':
    features.append('field_presence = LEGACY_REQUIRED')
  if field.label in ('optional', 'required'):
    field.label = ''
  packed = [option for option in field.options if option.startswith('packed')]
  if packed:
    field.options.remove(packed[0])
    features.append('repeated_field_encoding = ' +
                    ('PACKED' if field.is_packed else 'EXPANDED'))
  field.options += ['features.' + feature for feature in features]


def write_schemas(schemas, folder, has_editions, rng):
  """Writes them, and one message that has all others. Returns its fields."""
  roots = []
  for schema in schemas:
    edition = None
    if has_editions and rng.random() < 0.8:
      edition = make_edition(schema, rng)
    lines = schema_generator.proto_text(schema).splitlines()
    if edition:  # Instead of `syntax`.
      lines[:1] = edition
    path = folder / schema.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    roots += [message for message in schema.all_messages()
              if not (message.is_map_entry or message.extends)]
  lines = ['syntax = "proto2";', 'package all;']
  lines += ['import "%s";' % schema.path for schema in schemas]
  lines.append('message All {')
  lines += ['  repeated .%s m%d = %d;' % (root.full_name, i, i)
            for i, root in enumerate(roots, 1)]
  lines.append('}')
  (folder / ALL).write_text('\n'.join(lines) + '\n', encoding='utf-8')
  return roots


# Messages


class Bytes:
  """Makes up messages of a schema, as protoc would write them.

  If `is_odd`, as no good writer would: in any order, packed if it is not
  declared so, with unknown fields and unknown values of closed enums.
  """

  def __init__(self, rng, is_odd, extensions):
    self.rng = rng
    self.is_odd = is_odd
    self.extensions = extensions

  def message(self, message, depth):
    rng = self.rng
    fields = list(message.fields)
    fields += [rng.choice(oneof) for _, oneof in message.oneofs if oneof]
    for wrapper in self.extensions.get(message, ()):
      fields += wrapper.fields
    parts = []
    for field in sorted(fields, key=lambda field: field.number):
      if message.is_map_entry or rng.random() < 0.5:
        parts += self.field(field, message, depth)
    if self.is_odd:
      taken = {field.number for field in message.all_fields()}
      if not message.is_map_entry:
        rng.shuffle(parts)
      for _ in range(rng.choice([0, 0, 1, 2])):
        unknown = self.unknown(taken)
        parts.insert(rng.randint(0, len(parts)), unknown)
    return b''.join(parts)

  def unknown(self, taken):
    rng = self.rng
    number = rng.randint(200000, 2**29 - 1)
    while number in taken:
      number = rng.randint(200000, 2**29 - 1)
    return rng.choice([
        tag(number, 0) + varint(rng.choice([0, -1, rng.getrandbits(64)])),
        tag(number, 1) + rng.randbytes(8),
        tag(number, 5) + rng.randbytes(4),
        tag(number, 3) + delimited(7, b'x') + tag(number, 4),
        delimited(number, rng.randbytes(rng.randint(0, 4))),
        delimited(number, delimited(1, delimited(2, b'\x08\x01'))),
        delimited(number, rng.choice([b'', b'text', b'\n\1"', b'\n"'])),
    ])

  def field(self, field, message, depth):
    rng = self.rng
    number = field.number
    if field.message and depth == 0:
      return []
    if field.is_map():
      return self.map_entries(field, depth)
    count = 1
    if field.label == 'repeated':
      count = rng.choice([0, 1, 2, 5])
    if field.message:
      contents = [self.message(field.message, depth - 1) for _ in range(count)]
      if self.delimits(field):
        return [tag(number, 3) + content + tag(number, 4)
                for content in contents]
      return [delimited(number, content) for content in contents]
    values = [self.value(field, message) for _ in range(count)]
    if (field.label == '' and message.schema.syntax == 3 and
        not getattr(field, 'has_presence', False)):
      # Without presence, a default value is no value to protoc.
      values = [value for value in values if any(value[1].lstrip(b'\0'))]
    if values and field.label == 'repeated' and values[0][0] != 2:
      is_packed = field.is_packed
      if self.is_odd:
        is_packed = rng.random() < 0.5
      if is_packed:
        return [delimited(number, b''.join(value for _, value in values))]
    return [delimited(number, value) if wire_type == 2 else
            tag(number, wire_type) + value for wire_type, value in values]

  def delimits(self, field):
    return field.kind == 'group' or getattr(field, 'is_delimited', False)

  def map_entries(self, field, depth):
    entries = {}
    for _ in range(self.rng.choice([0, 1, 3])):
      key_field, value_field = field.message.fields
      key, sort_key = self.scalar(key_field)
      content = (delimited(1, key[1]) if key[0] == 2 else
                 tag(1, key[0]) + key[1])
      if value_field.message:
        content += delimited(2, self.message(value_field.message, depth - 1))
      else:
        value, _ = self.scalar(value_field)
        content += (delimited(2, value[1]) if value[0] == 2 else
                    tag(2, value[0]) + value[1])
      entries[sort_key] = delimited(field.number, content)
    return [entries[key] for key in sorted(entries)]

  def string(self):
    return ''.join(self.rng.choices('ab1 "\'\\\n\r\t\0\x1b\u00e9\u20ac'
                                    '\U0001f600', k=self.rng.randint(0, 6)))

  def value(self, field, message):
    if field.kind != 'enum':
      return self.scalar(field)[0]
    is_closed = field.enum.schema.syntax == 2
    # Old versions of protoc take some fields' enums for closed.
    may_be_unknown = self.is_odd if is_closed else message.schema.syntax == 3
    if may_be_unknown and self.rng.random() < 0.3:
      return 0, varint(self.rng.randint(-2**31, 2**31 - 1))
    return 0, varint(self.rng.choice(field.enum.values)[1])

  def scalar(self, field):
    """Returns the wire type and bytes, and what to sort keys of maps by."""
    rng = self.rng
    kind = field.kind
    if kind == 'string':
      value = self.string().encode()
      return (2, value), value
    if kind == 'bytes':
      value = rng.randbytes(rng.randint(0, 6))
      return (2, value), value
    if kind == 'bool':
      value = rng.choice([0, 1])
      return (0, varint(value)), value
    if kind in ('double', 'float'):
      code, size, wire_type = ('<d', 8, 1) if kind == 'double' else ('<f', 4, 5)
      value = rng.choice([0.0, -0.0, 1.5, 0.1, 1e30, float('inf'), -float('inf'),
                          float('nan'), 2.0**-140, 16777216.0, None])
      packed = rng.randbytes(size) if value is None else struct.pack(code, value)
      if struct.unpack(code, packed)[0] != struct.unpack(code, packed)[0]:
        # The text does not say which NaN.
        packed = struct.pack(code, float('nan'))
      return (wire_type, packed), packed
    bits = 64 if kind.endswith('64') else 32
    low, high = -2**(bits - 1), 2**(bits - 1) - 1
    if kind.startswith(('u', 'fixed')):
      low, high = 0, 2**bits - 1
    value = rng.choice([low, high, 0, 1, rng.randint(low, high)])
    if 'fixed' in kind:
      packed = (value & (2**bits - 1)).to_bytes(bits // 8, 'little')
      return (1 if bits == 64 else 5, packed), value
    if kind.startswith('s'):
      return (0, varint(value << 1 ^ value >> 63)), value
    return (0, varint(value)), value


# Text


def canonical(text):
  """Such that all orders of fields are equal."""
  stack = [[]]
  for line in text.splitlines():
    line = line.strip()
    if line == '}':
      fields = sorted(stack.pop())
      stack[-1][-1] += ''.join('\n' + field.replace('\n', '\n  ')
                               for field in fields)
    else:
      stack[-1].append(line)
      if line.endswith(' {'):
        stack.append([])
  return '\n'.join(sorted(stack[0])) + '\n'


class Checker:

  def __init__(self):
    self.passed = 0
    self.failed = 0

  def check(self, what, got, expected):
    if got == expected:
      self.passed += 1
      return
    self.failed += 1
    print('FAILED:', what)
    if isinstance(got, bytes):
      print('  %s\ninstead of\n  %s' % (got[:500].hex(), expected[:500].hex()))
      return
    print('\n'.join(list(difflib.unified_diff(
        expected.splitlines(), got.splitlines(), 'protoc', 'pbz', n=4,
        lineterm=''))[:40]))

  def round_trip(self, what, protoc, folder, proto, message, content):
    """Text is literally that of protoc, which turns it into the same bytes."""
    text, expected = both_texts(protoc, folder, proto, message, content)
    self.check(what + ': text', text, expected)
    encoded = run(protoc, '-I%s' % folder, '--deterministic_output',
                  '--encode=' + message, proto, stdin=text.encode())
    self.check(what + ': bytes', encoded, content)


def both_texts(protoc, folder, proto, message, content):
  schema = folder / 'schema.ds'
  run(protoc, '-I%s' % folder, '--include_imports',
      '--descriptor_set_out=%s' % schema, proto)
  text = run(PBZ, 'decode', '--schema', schema, '--type', message, '-',
             stdin=content)
  expected = run(protoc, '-I%s' % folder, '--decode=' + message, proto,
                 stdin=content)
  return text.decode(), expected.decode()


def test_random(checker, name, protoc, has_editions, args):
  rng = random.Random(args.seed)
  schemas = schema_generator.Generator(
      args.seed, args.schemas, 'rnd', schema_generator.HostileNames(args.seed)
  ).schemas
  extensions = {}
  for schema in schemas:
    for message in schema.all_messages():
      if message.extends:
        extensions.setdefault(message.extends, []).append(message)
  with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    roots = write_schemas(schemas, folder, has_editions, rng)
    for is_odd in False, True:
      maker = Bytes(rng, is_odd, extensions)
      content = b''.join(
          delimited(i, maker.message(root, MAX_DEPTH))
          for i, root in enumerate(roots, 1) for _ in range(args.messages))
      if is_odd:
        text, expected = both_texts(protoc, folder, ALL, 'all.All', content)
        checker.check(name + ', odd bytes', canonical(text),
                      canonical(expected))
      else:
        checker.round_trip(name, protoc, folder, ALL, 'all.All', content)
    print('%s: %d messages of %d types' %
          (name, args.messages * len(roots), len(roots)))


def test_file(checker, name, protoc, files, message, content):
  with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    for path, text in files.items():
      (folder / path).write_text(text)
    checker.round_trip(name, protoc, folder, 'a.proto', message, content)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--schemas', type=int, default=40)
  parser.add_argument('--messages', type=int, default=10, help='of each type')
  args = parser.parse_args()
  checker = Checker()
  protocs = [('protoc', PROTOC, False)]
  if MODERN_PROTOC.exists():
    protocs.append(('modern protoc', MODERN_PROTOC, False))
    protocs.append(('editions', MODERN_PROTOC, True))
    test_file(checker, 'delimited', MODERN_PROTOC,
              {'a.proto': DELIMITED, 'elsewhere.proto': ELSEWHERE}, 'p.M',
              DELIMITED_BYTES)
  else:
    print('There is no %s; tools/install-build-deps --modern-protobuf fetches '
          'it. Editions are left out.' % MODERN_PROTOC)
  for name, protoc, has_editions in protocs:
    test_random(checker, name, protoc, has_editions, args)
    test_file(checker, name + ', message set', protoc, {'a.proto': MESSAGE_SET},
              'p.Set', MESSAGE_SET_BYTES)
    test_file(checker, name + ', groups', protoc, {'a.proto': GROUPS}, 'p.M',
              GROUPS_BYTES)
  print('%d passed, %d failed' % (checker.passed, checker.failed))
  return 1 if checker.failed else 0


if __name__ == '__main__':
  sys.exit(main())
