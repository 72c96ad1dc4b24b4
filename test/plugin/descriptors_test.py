#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""With the option descriptors=true, classes hand out the schema of their file:
google.protobuf reads messages by it. It is in a program once, and not at all if
nothing asks for it, without optimization, too.

  descriptors_test.py --protoc PROTOC --plugin PLUGIN
"""

import argparse
import functools
import os
import pathlib
import subprocess
import tempfile

from google.protobuf import descriptor_pb2
from google.protobuf import descriptor_pool
from google.protobuf import message_factory

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
MARK = b'MarkOfTheSchema'

SCHEMAS = {
    'shop.proto': '''
syntax = "proto2";
package shop;
import "state.proto";
import public "item.proto";
import "base.proto";
message MarkOfTheSchema {
  optional State state = 1;
  repeated Item items = 2;
  message Part { optional string label = 1; }
  optional Part part = 3;
}
// Names that functions of classes would have.
message DescriptorSet {
  enum Kind { bytes = 0; }
  optional Kind kind = 1;
}
message Outer {
  message DescriptorSet { optional int32 number = 1; }
  enum Kind { DescriptorSet_ = 0; }
  optional DescriptorSet inner = 1;
}
message Extensions { extend Base { optional MarkOfTheSchema mark = 100; } }
extend Base { optional int32 number = 101; }
''',
    'state.proto': 'syntax = "proto3"; package shop; enum State { NO = 0; YES = 1; }',
    'item.proto': '''
syntax = "proto3"; package shop; import "deep.proto";
message Item { string name = 1; Deep deep = 2; }''',
    'deep.proto': 'syntax = "proto3"; package shop; message Deep { bool yes = 1; }',
    'base.proto': '''
syntax = "proto2"; package shop;
message Base { optional int32 id = 1; extensions 100 to 200; }''',
    # More than a literal may have.
    'large.proto': 'syntax = "proto3"; package shop;\n' + ''.join(
        'message L%d { string %s = 1; }\n' % (i, 'x' * 100) for i in range(700)),
    # Nothing but options.
    'options.proto': '''
syntax = "proto3"; package shop; import "google/protobuf/descriptor.proto";
extend google.protobuf.FieldOptions { string hint = 50000; }
message Hinted { int32 a = 1 [(hint) = "x"]; }''',
}

PROGRAM = '''
#include <stdio.h>
#include "protozero/scattered_heap_buffer.h"
#include "deep.pbzero.h"
#include "item.pbzero.h"
#include "large.pbzero.h"
#include "options.pbzero.h"
#include "shop.pbzero.h"
#include "state.pbzero.h"

void Print(const char* name, protozero::ConstBytes bytes) {
  printf("%s ", name);
  for (size_t i = 0; i < bytes.size; ++i)
    printf("%02x", bytes.data[i]);
  printf("\\n");
}

int main() {
  protozero::HeapBuffered<shop::MarkOfTheSchema> mark;
  mark->set_state(shop::State::YES);
  auto* item = mark->add_items();
  item->set_name("tea");
  item->set_deep()->set_yes(true);
  mark->set_part()->set_label("x");
  const std::string bytes = mark.SerializeAsString();
  Print("message", {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
#if defined(USE)
  using shop::MarkOfTheSchema;
  Print(MarkOfTheSchema::GetName(), MarkOfTheSchema::DescriptorSet());
  Print(MarkOfTheSchema::Part::GetName(), MarkOfTheSchema::Part::DescriptorSet());
  Print(shop::DescriptorSet::GetName(), shop::DescriptorSet::DescriptorSet_());
  Print(shop::Outer::GetName(), shop::Outer::DescriptorSet__());
  Print(shop::Outer::DescriptorSet::GetName(),
        shop::Outer_DescriptorSet::DescriptorSet());
  Print("Extensions", shop::Extensions::DescriptorSet());
  Print("Others", shop::shop_extends_Base::DescriptorSet());
  Print("Item", shop::Item::DescriptorSet());
  Print("Large", shop::L699::DescriptorSet());
  Print("Options", shop::Hinted::DescriptorSet());
#endif
}
'''


def call(command, cwd, text=None):
  return subprocess.run(command, cwd=cwd, check=True, input=text, text=True,
                        stdout=subprocess.PIPE).stdout


def generate(args, folder):
  for name, text in SCHEMAS.items():
    (folder / name).write_text(text)
  (folder / 'main.cc').write_text(PROGRAM)
  call([args.protoc, '--plugin=protoc-gen-plugin=' + args.plugin,
        '--plugin_opt=descriptors=true', '--plugin_out=.', *SCHEMAS], folder)


def files_of(args, folder, proto, without=()):
  """The files of a schema by name, as protoc says."""
  call([args.protoc, '-I.', '--include_imports', '--descriptor_set_out=set', proto],
       folder)
  result = descriptor_pb2.FileDescriptorSet.FromString((folder / 'set').read_bytes())
  return {name: file for name, file in by_name(result).items() if name not in without}


def by_name(files):
  for file in files.file:
    for message in [*file.message_type, *[inner for outer in file.message_type
                                          for inner in outer.nested_type]]:
      for field in [*message.field, *message.extension]:
        field.ClearField('json_name')
    for field in file.extension:
      field.ClearField('json_name')
  return {file.name: file for file in files.file}


def parse(files, name, content):
  pool = descriptor_pool.DescriptorPool()
  for file in files.file:
    pool.Add(file)
  message = message_factory.MessageFactory(pool).GetPrototype(
      pool.FindMessageTypeByName(name))()
  message.MergeFromString(content)
  return message


def check(args, compiler, level, folder):
  """Returns (name, errors) of one compiler at one level."""
  folder.mkdir()
  generate(args, folder)
  flags = [compiler, '-std=c++17', level, *compilers.WARNINGS,
           '-I%s' % (ROOT / 'include'), '-I.']
  call(flags[:3] + flags[-2:] + ['-c', '-o', 'library.o', '-x', 'c++', '-'], folder,
       ''.join('#include "%s"\n' % source
               for source in sorted((ROOT / 'src/protozero').glob('*.cc'))))
  for program in 'unused', 'used':
    call(flags + (['-DUSE'] if program == 'used' else []) +
         ['-o', program, 'main.cc', 'library.o'], folder)
  errors = []

  def expect(condition, error):
    if not condition:
      errors.append(error)

  unused, used = [(folder / name).read_bytes() for name in ('unused', 'used')]
  # Symbols have the name of the message with its size in front, or after.
  schema = b'\x0a%c' % len(MARK) + MARK
  expect(schema not in unused, 'the schema is in a program that does not ask for it')
  expect(b'DescriptorSet' not in unused.replace(b'FileDescriptorSet', b''),
         'an unused function is in the program')
  expect(used.count(schema) == 1, 'the schema is in the program %d times' %
         used.count(schema))

  lines = dict(line.split() for line in
               call([folder / 'used'], folder).splitlines())
  message = bytes.fromhex(lines.pop('message'))
  sets = {name: bytes.fromhex(text) for name, text in lines.items()}
  expected = {name: files_of(args, folder, proto, without)
              for name, proto, without in (
                  ('Shop', 'shop.proto', ['base.proto']),
                  ('Item', 'item.proto', []), ('Large', 'large.proto', []),
                  ('Options', 'options.proto',
                   ['google/protobuf/descriptor.proto']))}
  for name, content in sets.items():
    files = by_name(descriptor_pb2.FileDescriptorSet.FromString(content))
    expect(files == expected.get(name, expected['Shop']),
           'the schema of %s differs from that of protoc: %s' % (name, list(files)))
  expect(len(sets) == 10, 'sets are missing')

  # By nothing but the program's own schema, and the base that it extends.
  files = descriptor_pb2.FileDescriptorSet()
  files.file.append(files_of(args, folder, 'base.proto')['base.proto'])
  files.MergeFromString(sets['.shop.MarkOfTheSchema'])
  parsed = parse(files, 'shop.MarkOfTheSchema', message)
  expect((parsed.state, parsed.items[0].name, parsed.items[0].deep.yes,
          parsed.part.label) == (1, 'tea', True, 'x'),
         'google.protobuf reads: %s' % parsed)
  expect(parsed.SerializeToString() == message, 'not the bytes of the message')
  return '%s %s' % (compiler, level), errors


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--protoc', required=True, type=os.path.abspath)
  parser.add_argument('--plugin', required=True, type=os.path.abspath)
  args = parser.parse_args()
  counter = compilers.Counter()
  with tempfile.TemporaryDirectory() as temp:
    jobs = [functools.partial(check, args, compiler, level,
                              pathlib.Path(temp) / (compiler + level))
            for compiler in compilers.find_compilers()
            for level in ('-O0', '-O2')]
    for name, errors in compilers.run_all(jobs):
      counter.check(not errors, name, '\n'.join(errors))
  counter.finish()


if __name__ == '__main__':
  main()
