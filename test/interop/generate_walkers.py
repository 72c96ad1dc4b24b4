#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Writes C++ that walks trees and the generated classes of the interop schema.

Generated classes have no reflection, so each field needs a line that calls its
setter and one that calls its getter. walker.h has the common part of those
lines. Also writes the schema as FileDescriptorSet, and the vectors as trees.
"""

import argparse
import json
import subprocess

import schema

CPP_TYPES = {
    schema.DOUBLE: 'double',
    schema.FLOAT: 'float',
    schema.INT64: 'int64_t',
    schema.UINT64: 'uint64_t',
    schema.INT32: 'int32_t',
    schema.FIXED64: 'uint64_t',
    schema.FIXED32: 'uint32_t',
    schema.BOOL: 'bool',
    schema.STRING: 'std::string',
    schema.BYTES: 'Bytes',
    schema.UINT32: 'uint32_t',
    schema.SFIXED32: 'int32_t',
    schema.SFIXED64: 'int64_t',
    schema.SINT32: 'int32_t',
    schema.SINT64: 'int64_t',
}

FIXED_SIZE = (schema.FIXED32, schema.FIXED64, schema.SFIXED32, schema.SFIXED64,
              schema.FLOAT, schema.DOUBLE)


def cpp_class(name):
  """interop.A.B is the class interop::pbzero::A_B."""
  package, *nested = name.split('.')
  return '%s::pbzero::%s' % (package, '_'.join(nested))


def cpp_type(field):
  if field.type == schema.ENUM:
    return cpp_class(field.type_name)
  return CPP_TYPES[field.type]


def constant(field):
  return 'k' + ''.join(word[:1].upper() + word[1:]
                       for word in field.name.split('_'))


def builder(field):
  if field.type in FIXED_SIZE:
    return 'protozero::PackedFixedSizeInt<%s>' % cpp_type(field)
  if field.type in (schema.SINT32, schema.SINT64):
    return 'protozero::PackedSignedVarInt'
  return 'protozero::PackedVarInt'


def write_map(field, key, value):
  """The lines that write a map with setters for entries as a whole."""
  setter = 'message->add_%s(Value<%s>(entry["1"])' % (field.name, cpp_type(key))
  if value.is_message:
    statement = 'Write(entry["2"], form, %s));' % setter
  else:
    statement = '%s, Value<%s>(entry["2"]));' % (setter, cpp_type(value))
  return ['  if (form.other_setters) {',
          '    Json storage;',
          '    for (const Json& entry : Elements(tree, "%d", &storage))' %
          field.number,
          '      ' + statement,
          '  }']


def write_function(message, messages):
  name = cpp_class(message.name)
  lines = ['void Write(const Json& tree, const Form& form, %s* message) {' %
           name]
  # All at once, if all of them are set.
  together = [field for field in message.fields
              if not field.repeated and not field.is_message and
              field.oneof is None]
  ids = ', '.join('"%d"' % field.number for field in together)
  if len(together) > 1:
    lines += ['  const bool together = form.fused && HasAll(tree, {%s});' % ids,
              '  if (together) {',
              '    protozero::AppendFields(message, %s);' % ', '.join(
                  '%s::%s(Value<%s>(tree["%d"]))' %
                  (name, constant(field), cpp_type(field), field.number)
                  for field in together),
              '  }']
  for field in message.fields:
    verb = 'add' if field.repeated else 'set'
    setter = 'message->%s_%s' % (verb, field.name)
    if field.is_map:
      lines += write_map(field, *messages[field.type_name].fields)
      lines.append('  if (!form.other_setters)')
    if field.is_message:
      lines.append('  WriteNested(tree, "%d", form, message, '
                   '[&] { return %s(); });' % (field.number, setter))
    elif field.packed:
      lines.append(
          '  WritePacked<%s, %s>(tree, "%d", form, [&](const auto&... args) { '
          'message->set_%s(args...); });' % (cpp_type(field), builder(field),
                                             field.number, field.name))
    else:
      condition = ('if (!together) ' if field in together and len(together) > 1
                   else '')
      lines.append(
          '  %sWriteScalars<%s>(tree, "%d", [&](const auto& value) { '
          'form.fused ? protozero::AppendFields(message, %s::%s(value)) : '
          '%s(value); });' % (condition, cpp_type(field), field.number, name,
                              constant(field), setter))
  return lines + ['}', '']


def read_function(message):
  lines = ['Json Read(const %s::Decoder& decoder, DecodeStatus* status) {' %
           cpp_class(message.name),
           '  Check(decoder, status);',
           '  Json tree = Json::object();']
  for field in message.fields:
    getter = 'decoder.%s' % field.name
    if field.is_message:
      value = 'Read(%s::Decoder(%%s), status)' % cpp_class(field.type_name)
    else:
      value = 'TreeOf(%s)'
    if field.packable:
      lines.append('  ReadScalars(&tree, "%d", status, [&](bool* error) '
                   '{ return %s(error); });' % (field.number, getter))
    elif field.repeated:
      lines += ['  for (auto it = %s(); it; ++it)' % getter,
                '    tree["%d"].push_back(%s);' % (field.number,
                                                   value % '*it')]
    else:
      lines += ['  if (decoder.has_%s())' % field.name,
                '    tree["%d"] = %s;' % (field.number, value %
                                          (getter + '()'))]
  return lines + ['  return tree;', '}', '']


def walkers_cc(messages_by_name):
  messages = list(messages_by_name.values())
  lines = ['// Generated by generate_walkers.py.', '',
           '#include "test/interop/walker.h"', '',
           '#include "protozero/append_fields.h"',
           '#include "protozero/packed_repeated_fields.h"']
  lines += ['#include "%s.pbzero.h"' % path[:-len('.proto')]
            for path in sorted({message.path for message in messages})]
  lines += ['', 'namespace protozero::test {', '']
  for message in messages:
    name = cpp_class(message.name)
    # Found by the templates of walker.h, which those in an unnamed namespace
    # would not be.
    lines += ['static void Write(const Json&, const Form&, %s*);' % name,
              'static Json Read(const %s::Decoder&, DecodeStatus*);' % name]
  lines.append('')
  for message in messages:
    lines += write_function(message, messages_by_name) + read_function(message)
  lines += ['const std::map<std::string, Walker>& Walkers() {',
            '  static const std::map<std::string, Walker> walkers = {']
  for message in messages:
    name = cpp_class(message.name)
    lines.append(
        '      {"%s", {[](const Json& tree, const Form& form) { '
        'return WriteRoot<%s>(tree, form); }, [](std::string_view bytes, '
        'DecodeStatus* status) { return Read(%s::Decoder(bytes), status); }}},'
        % (message.name, name, name))
  lines += ['  };', '  return walkers;', '}', '',
            '}  // namespace protozero::test', '']
  return '\n'.join(lines)


def nanopb_types_cc(messages):
  lines = ['// Generated by generate_walkers.py.', '',
           '#include "test/interop/nanopb_types.h"', '']
  lines += ['#include "%s.nanopb.h"' % path[:-len('.proto')]
            for path in sorted({message.path for message in messages})]
  lines += ['', 'namespace protozero::test {', '',
            'const std::map<std::string, NanopbType>& NanopbTypes() {',
            '  static const std::map<std::string, NanopbType> types = {']
  for message in messages:
    name = message.name.replace('.', '_')
    types = ', '.join('{%d, %d}' % (field.number, field.type)
                      for field in message.fields)
    # Those that nanopb3.options leaves out have no such macro.
    lines += ['#ifdef %s_init_zero' % name,
              '      {"%s", {&%s_msg, sizeof(%s), {%s}}},' % (
                  message.name, name, name, types),
              '#endif']
  lines += ['  };', '  return types;', '}', '',
            '}  // namespace protozero::test', '']
  return '\n'.join(lines)


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--proto-root', required=True)
  parser.add_argument('--vectors', required=True)
  parser.add_argument('--descriptors-out', required=True)
  parser.add_argument('--vectors-out', required=True)
  parser.add_argument('--walkers-out', required=True)
  parser.add_argument('--nanopb-types-out', required=True)
  parser.add_argument('protos', nargs='+')
  args = parser.parse_args()

  subprocess.run([args.protoc, '-I' + args.proto_root,
                  '--descriptor_set_out=' + args.descriptors_out] + args.protos,
                 check=True)
  described = schema.Schema(args.descriptors_out)
  with open(args.walkers_out, 'w', encoding='utf-8') as f:
    f.write(walkers_cc(described.messages))
  with open(args.nanopb_types_out, 'w', encoding='utf-8') as f:
    f.write(nanopb_types_cc([message for message in described.messages.values()
                             if not described.has_groups(message.path)]))
  with open(args.vectors_out, 'w', encoding='utf-8') as f:
    json.dump(schema.read_vectors(args.vectors, described), f, indent=1)


if __name__ == '__main__':
  main()
