#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: messages and fields that are not used take no byte of a program.

Generates classes for 1,000 messages and links a program three times: without
them, with their header included, and with one of them used (which needs only a
few of them). The first two must be the same program, byte for byte; the third
one must be larger.

  unused_messages_test.py --protoc PROTOC --plugin PLUGIN
"""

import argparse
import functools
import os
import pathlib
import subprocess
import tempfile

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
# gcc takes half a minute to read the header of a thousand.
NUM_MESSAGES = {'clang': 1000, 'gcc': 100}
FEW = 10

MESSAGE = '''
message Unused%(i)d {
  enum Kind {
    NONE_%(i)d = 0;
    SOME_%(i)d = 1;
  }
  message Part {
    optional string name = 1;
    repeated Unused%(i)d wholes = 2;
  }
  optional int32 number = 1;
  optional sint64 signed_number = 2;
  optional double ratio = 3;
  optional string text = 4;
  optional bytes data = 5;
  optional Kind kind = 6;
  repeated uint32 packed = 7 [packed = true];
  repeated Part parts = 8;
  map<string, Part> parts_by_name = 9;
  optional Unused%(next)d next = 536870911;
}
'''

PROGRAM = '''
#include "protozero/static_buffer.h"
#include "used.pbzero.h"
#if defined(INCLUDE_UNUSED) || defined(USE_ONE)
#include "unused.pbzero.h"
#endif

uint8_t buffer[100];

int main(int argc, char**) {
  protozero::StaticBuffered<Used> used(buffer, sizeof(buffer));
  used->set_number(argc);
#if defined(USE_ONE)
  unused::Unused7* seventh = used->BeginNestedMessage<unused::Unused7>(7);
  seventh->set_ratio(argc);
  seventh->set_text(unused::Unused7_Kind_Name(
      static_cast<unused::Unused7_Kind>(argc)));
#endif
  return static_cast<int>(used.Finalize());
}
'''


def call(command, cwd, text=None):
  return subprocess.run(command, cwd=cwd, check=True, input=text, text=True,
                        stdout=subprocess.PIPE).stdout


def generate(args, folder, num_messages):
  folder.mkdir()
  messages = ''.join(MESSAGE % {'i': i, 'next': (i + 1) % num_messages}
                     for i in range(num_messages))
  (folder / 'unused.proto').write_text(
      'syntax = "proto2";\npackage unused;\n' + messages)
  (folder / 'used.proto').write_text(
      'syntax = "proto2";\nmessage Used { optional int32 number = 1; }\n')
  (folder / 'main.cc').write_text(PROGRAM)
  call([os.path.abspath(args.protoc),
        '--plugin=protoc-gen-plugin=' + os.path.abspath(args.plugin),
        '--plugin_out=.', 'unused.proto', 'used.proto'], folder)


def check(args, compiler, level, folder):
  """Returns (name, sizes and errors) of one compiler at one level."""
  name = '%s %s' % (compiler, level)
  num_messages = NUM_MESSAGES['clang' if 'clang' in compiler else 'gcc']
  folder.mkdir()
  many, few = folder / 'many', folder / 'few'
  generate(args, many, num_messages)
  generate(args, few, FEW)
  flags = [compiler, '-std=c++17', level, '-DNDEBUG',
           '-I%s' % (ROOT / 'include')]
  call(flags + ['-c', '-o', 'library.o', '-x', 'c++', '-'], folder,
       ''.join('#include "%s"\n' % source
               for source in sorted((ROOT / 'src/protozero').glob('*.cc'))))

  def link(program, schemas, *defines):
    # An id of the build would be a difference of its own.
    call(flags + [*defines, '-s', '-Wl,--build-id=none', '-o', program,
                  '-I%s' % schemas, str(schemas / 'main.cc'), str(schemas / 'unused.pbzero.cc'),
                  'library.o'], folder)
    sizes = call(['size', program], folder).splitlines()[1].split()
    return (folder / program).read_bytes(), [int(n) for n in sizes[:3]]

  without, without_sizes = link('without', many)
  included, included_sizes = link('included', many, '-DINCLUDE_UNUSED')
  _, one_used_sizes = link('one_used', few, '-DUSE_ONE')
  print('%s: text, data and bss %s without %d unused messages, %s with them, '
        '%s with one used' % (name, without_sizes, num_messages,
                              included_sizes, one_used_sizes))
  errors = []
  if included != without:
    errors.append('a program that includes unused messages is another one')
  if one_used_sizes[0] <= without_sizes[0]:
    errors.append('a used message takes nothing either: what is measured?')
  return name, errors


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--plugin', required=True)
  args = parser.parse_args()
  counter = compilers.Counter()
  with tempfile.TemporaryDirectory() as temp:
    jobs = [functools.partial(check, args, compiler, level,
                              pathlib.Path(temp) / compiler)
            for compiler, level in zip(compilers.find_compilers(),
                                       ('-O2', '-Os'))]
    for name, errors in compilers.run_all(jobs):
      counter.check(not errors, name, '\n'.join(errors))
  counter.finish()


if __name__ == '__main__':
  main()
