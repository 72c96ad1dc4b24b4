# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The schema of the interop tests, and messages of it as trees.

A tree is the form in which all programs of run.py exchange messages, as JSON:
an object with a member for each field that is set, whose name is the field's
number. Values are

  integers and enums    decimal, as a string
  bool                  true, false
  float, double         the bits, as 8 or 16 hexadecimal digits
  string                a string
  bytes                 hexadecimal
  messages, groups      an object
  repeated              an array
  map                   an array of entries, objects of fields "1" and "2"

Descriptions of messages, in vectors.json, are the same for people, see
Schema.tree().
"""

import json
import random
import struct

from google.protobuf import descriptor_pb2  # Debian's python3-protobuf.

# FieldDescriptorProto.Type
(DOUBLE, FLOAT, INT64, UINT64, INT32, FIXED64, FIXED32, BOOL, STRING, GROUP,
 MESSAGE, BYTES, UINT32, ENUM, SFIXED32, SFIXED64, SINT32,
 SINT64) = range(1, 19)

RANDOM_TREES = 4  # For each type.


class Enum:

  def __init__(self, name, descriptor, closed):
    self.name = name
    self.closed = closed
    self.values = {value.name: value.number for value in descriptor.value}

  def is_unnamed(self, number):
    """Whether parsers may have this value among the unknown fields."""
    return self.closed and int(number) not in self.values.values()


class Field:

  def __init__(self, descriptor, proto3):
    self.name = descriptor.name
    self.number = descriptor.number
    self.required = descriptor.label == descriptor.LABEL_REQUIRED
    self.repeated = descriptor.label == descriptor.LABEL_REPEATED
    self.type = descriptor.type
    self.type_name = descriptor.type_name[1:]
    has_oneof = descriptor.HasField('oneof_index')
    # The name of its oneof; the one that protoc makes for `optional` does not
    # count.
    self.oneof = None
    if has_oneof and not descriptor.proto3_optional:
      self.oneof = descriptor.oneof_index
    self.is_message = self.type in (MESSAGE, GROUP)
    self.has_presence = not self.repeated and (
        not proto3 or self.is_message or has_oneof)
    self.packable = self.repeated and self.type not in (STRING, BYTES, MESSAGE,
                                                        GROUP)
    options = descriptor.options
    self.packed = self.packable and (
        options.packed if options.HasField('packed') else proto3)
    self.is_map = False  # Known when all messages are.


class Message:

  def __init__(self, name, path, descriptor, proto3):
    self.name = name
    self.path = path
    self.is_nested = name.count('.') > 1
    self.is_map_entry = descriptor.options.map_entry
    self.fields = [Field(field, proto3) for field in descriptor.field]
    self.by_name = {field.name: field for field in self.fields}
    self.by_number = {str(field.number): field for field in self.fields}


class Schema:
  """The content of a FileDescriptorSet, as far as it matters here."""

  def __init__(self, path):
    self.messages = {}
    self.enums = {}
    with open(path, 'rb') as f:
      files = descriptor_pb2.FileDescriptorSet.FromString(f.read()).file
    for file in files:
      self._add(file, file.package, file.name, file.message_type,
                file.syntax == 'proto3')
    for message in self.messages.values():
      for field in message.fields:
        field.is_map = (field.type == MESSAGE and
                        self.messages[field.type_name].is_map_entry)

  def _add(self, scope, name, path, messages, proto3):
    for enum in scope.enum_type:
      enum_name = '%s.%s' % (name, enum.name)
      self.enums[enum_name] = Enum(enum_name, enum, closed=not proto3)
    for message in messages:
      message_name = '%s.%s' % (name, message.name)
      self.messages[message_name] = Message(message_name, path, message, proto3)
      self._add(message, message_name, path, message.nested_type, proto3)

  def has_groups(self, path):
    """Whether messages of a .proto file have groups."""
    return any(field.type == GROUP for message in self.messages.values()
               if message.path == path for field in message.fields)

  def tree(self, message, description):
    """The tree of a description.

    Descriptions have the names of fields and enum values, numbers as JSON has
    them, and maps as arrays of pairs. Floating-point numbers may be given as
    "0x" and their bits. {"$repeat": x, "times": n} stands for the string or
    array x that many times. {"$nest": path, "times": n, "around": x} stands for
    x within that many messages of the fields of "path", separated by dots.
    """
    result = {}
    for name, value in expand(description).items():
      field = message.by_name[name]
      value = expand(value)
      if field.is_map:
        entry = self.messages[field.type_name]
        value = [self.tree(entry, {'key': pair[0], 'value': pair[1]})
                 for pair in value]
      elif field.repeated:
        value = [self._value(field, element) for element in value]
      else:
        value = self._value(field, value)
      result[str(field.number)] = value
    return result

  def _value(self, field, value):
    if field.is_message:
      return self.tree(self.messages[field.type_name], value)
    if field.type in (FLOAT, DOUBLE):
      digits = 8 if field.type == FLOAT else 16
      if isinstance(value, str):
        assert len(value) == digits + 2, value
        return value[2:]
      return struct.pack('>f' if field.type == FLOAT else '>d', value).hex()
    if field.type == ENUM and isinstance(value, str):
      return str(self.enums[field.type_name].values[value])
    if field.type == BYTES:
      return bytes.fromhex(value).hex()
    if field.type in (BOOL, STRING):
      return value
    return str(int(value))

  def normal(self, message, tree, keeps_closed_enums=True):
    """A tree with one form only, so that equal messages have equal trees.

    Zeros of fields without presence are left out, entries of maps are complete
    and sorted. Without |keeps_closed_enums|, so are values of closed enums that
    the schema does not name: other parsers have them among the unknown fields.
    """
    result = {}
    for number, value in tree.items():
      field = message.by_number[number]
      if field.repeated:
        value = [self._normal_value(field, element, keeps_closed_enums)
                 for element in value]
        value = [element for element in value if element is not None]
        if field.is_map:
          value = list({repr(entry['1']): entry for entry in value}.values())
          value.sort(key=lambda entry: repr(entry['1']))
        if not value:
          continue
      else:
        value = self._normal_value(field, value, keeps_closed_enums)
        if value is None or (not field.has_presence and
                             value == zero_of(field)):
          continue
      result[number] = value
    if message.is_map_entry:
      for field in message.fields:
        result.setdefault(str(field.number), {} if field.is_message else
                          zero_of(field))
    return result

  def _normal_value(self, field, value, keeps_closed_enums):
    if field.is_message:
      return self.normal(self.messages[field.type_name], value,
                         keeps_closed_enums)
    if field.type == ENUM and not keeps_closed_enums and (
        self.enums[field.type_name].is_unnamed(value)):
      return None
    return value

  def project(self, message, tree):
    """The part of a tree that a program with |message| only, an older version,
    sees."""
    result = {}
    for number, value in tree.items():
      field = message.by_number.get(number)
      if field is None:
        continue
      if field.is_message:
        inner = self.messages[field.type_name]
        value = ([self.project(inner, element) for element in value]
                 if field.repeated else self.project(inner, value))
      result[number] = value
    return result


def zero_of(field):
  if field.type in (FLOAT, DOUBLE):
    return '0' * (8 if field.type == FLOAT else 16)
  if field.type == BOOL:
    return False
  return '' if field.type in (STRING, BYTES) else '0'


def expand(value):
  if isinstance(value, list):
    return [expand(element) for element in value]
  if isinstance(value, dict) and '$repeat' in value:
    return expand(value['$repeat']) * value['times']
  if isinstance(value, dict) and '$nest' in value:
    result = expand(value['around'])
    for _ in range(value['times']):
      for name in reversed(value['$nest'].split('.')):
        result = {name: result}
    return result
  return value


INTEGER_TYPES = {  # Bits, and whether they are signed.
    INT32: (32, True), SINT32: (32, True), SFIXED32: (32, True),
    INT64: (64, True), SINT64: (64, True), SFIXED64: (64, True),
    UINT32: (32, False), FIXED32: (32, False),
    UINT64: (64, False), FIXED64: (64, False),
}


class RandomTrees:
  """Makes up messages. The same seed makes the same ones."""

  def __init__(self, schema, seed):
    self.schema = schema
    self.random = random.Random(seed)

  def tree(self, message, depth=0):
    """At most four levels below the first."""
    tree = {}
    probability = self.random.choice((0.1, 0.5, 0.9))
    oneofs = set()
    for field in self.random.sample(message.fields, len(message.fields)):
      is_deep = field.is_message and depth == 4
      if message.is_map_entry or (
          not is_deep and self.random.random() < probability):
        if field.oneof is not None and field.oneof in oneofs:
          continue
        oneofs.add(field.oneof)
      elif not field.required:
        continue
      if field.repeated:
        count = self.random.choice((1, 2, 10)) if depth < 2 else 1
        value = [self._value(field, depth) for _ in range(count)]
      else:
        value = self._value(field, depth)
      tree[str(field.number)] = value
    return tree

  def _value(self, field, depth):
    if field.is_message:
      return self.tree(self.schema.messages[field.type_name], depth + 1)
    if field.type in INTEGER_TYPES:
      bits, signed = INTEGER_TYPES[field.type]
      # Values of any magnitude, not just of the largest.
      value = self.random.getrandbits(self.random.randint(0, bits - signed))
      return str(~value if signed and self.random.random() < 0.5 else value)
    if field.type in (FLOAT, DOUBLE):
      return struct.pack('>f' if field.type == FLOAT else '>d',
                         self.random.uniform(-1e9, 1e9)).hex()
    if field.type == BOOL:
      return self.random.random() < 0.5
    if field.type == ENUM:
      values = self.schema.enums[field.type_name].values
      return str(self.random.choice(sorted(values.values())))
    size = self.random.choice((0, 1, 10, 130))
    if field.type == BYTES:
      return bytes(self.random.choices(range(256), k=size)).hex()
    return ''.join(self.random.choices('abc \n\u00e9\u20ac\U0001f600', k=size))


def read_vectors(path, schema):
  """The vectors of a file, and random ones, as dictionaries of group, name,
  type, tree, and read_as: the type to read them as, if not as their own."""
  vectors = []
  with open(path, encoding='utf-8') as f:
    groups = json.load(f)
  for group, members in groups.items():
    for vector in members:
      message_type = 'interop.' + vector['type']
      tree = schema.tree(schema.messages[message_type], vector['fields'])
      vectors.append({
          'group': group,
          'name': '%s/%s' % (group, vector['name']),
          'type': message_type,
          'read_as': 'interop.' + vector.get('read_as', vector['type']),
          'tree': tree,
      })
  trees = RandomTrees(schema, seed=1)
  for message in schema.messages.values():
    if message.is_nested:
      continue
    for i in range(RANDOM_TREES):
      vectors.append({
          'group': 'random',
          'name': 'random/%s %d' % (message.name, i),
          'type': message.name,
          'read_as': message.name,
          'tree': trees.tree(message),
      })
  names = [vector['name'] for vector in vectors]
  assert len(set(names)) == len(names), 'two vectors of the same name'
  return vectors
