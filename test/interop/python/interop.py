# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads and writes messages with Python's protobuf, for run.py.

  interop.py DESCRIPTORS

libprotobuf_main.cc describes its input and output, line by line.
"""

import json
import struct
import sys

from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal import api_implementation

FORMATS = {FieldDescriptor.CPPTYPE_FLOAT: '>f',
           FieldDescriptor.CPPTYPE_DOUBLE: '>d'}


def tree_of_value(field, value):
  if field.message_type:
    return tree_of(value)
  if field.cpp_type in FORMATS:
    return struct.pack(FORMATS[field.cpp_type], value).hex()
  if field.type == FieldDescriptor.TYPE_BYTES:
    return value.hex()
  if isinstance(value, (bool, str)):
    return value
  return str(value)


def is_map(field):
  return bool(field.message_type and
              field.message_type.GetOptions().map_entry)


def tree_of(message):
  tree = {}
  for field, value in message.ListFields():
    if is_map(field):
      entry = field.message_type.fields_by_name
      value = [{'1': tree_of_value(entry['key'], key),
                '2': tree_of_value(entry['value'], value[key])}
               for key in value]
    elif field.is_repeated:
      value = [tree_of_value(field, element) for element in value]
    else:
      value = tree_of_value(field, value)
    tree[str(field.number)] = value
  return tree


def value_of(field, tree):
  if field.cpp_type in FORMATS:
    return struct.unpack(FORMATS[field.cpp_type], bytes.fromhex(tree))[0]
  if field.type == FieldDescriptor.TYPE_BYTES:
    return bytes.fromhex(tree)
  if field.type in (FieldDescriptor.TYPE_BOOL, FieldDescriptor.TYPE_STRING):
    return tree
  return int(tree)


def fill(message, tree):
  for number, value in tree.items():
    field = message.DESCRIPTOR.fields_by_number[int(number)]
    if is_map(field):
      entry = field.message_type.fields_by_name
      entries = getattr(message, field.name)
      for element in value:
        key = value_of(entry['key'], element['1'])
        if entry['value'].message_type:
          fill(entries[key], element['2'])
        else:
          entries[key] = value_of(entry['value'], element['2'])
    elif field.is_repeated:
      elements = getattr(message, field.name)
      for element in value:
        if field.message_type:
          fill(elements.add(), element)
        else:
          elements.append(value_of(field, element))
    elif field.message_type:
      child = getattr(message, field.name)
      child.SetInParent()
      fill(child, value)
    else:
      setattr(message, field.name, value_of(field, value))


def answer(pool, request):
  message = message_factory.GetMessageClass(
      pool.FindMessageTypeByName(request['type']))()
  result = {}
  if 'tree' in request:
    fill(message, request['tree'])
  else:
    message.ParseFromString(bytes.fromhex(request['hex']))
    result['tree'] = tree_of(message)
  result['hex'] = message.SerializeToString().hex()
  return result


def main():
  # Not the slow one in Python.
  assert api_implementation.Type() == 'upb', api_implementation.Type()
  files = descriptor_pb2.FileDescriptorSet()
  with open(sys.argv[1], 'rb') as f:
    files.ParseFromString(f.read())
  pool = descriptor_pool.DescriptorPool()
  for file in files.file:
    pool.Add(file)
  for line in sys.stdin:
    try:
      result = answer(pool, json.loads(line))
    except Exception as error:  # pylint: disable=broad-except
      result = {'error': '%s: %s' % (type(error).__name__, error)}
    print(json.dumps(result))


main()
