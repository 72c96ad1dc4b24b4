#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: messages and fields that are not used take no byte of a program.

Generates classes for 1,000 messages and links a program three times: without
them, with their headers included, and with one of them used. The first two
must be the same program, byte for byte; the third one must be larger.

  unused_messages_test.py --protoc PROTOC --plugin PLUGIN
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, 'plugin'))
import compilers  # pylint: disable=wrong-import-position

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
NUM_MESSAGES = 1000

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


def generate(args, folder):
  messages = ''.join(MESSAGE % {'i': i, 'next': (i + 1) % NUM_MESSAGES}
                     for i in range(NUM_MESSAGES))
  (folder / 'unused.proto').write_text(
      'syntax = "proto2";\npackage unused;\n' + messages)
  (folder / 'used.proto').write_text(
      'syntax = "proto2";\nmessage Used { optional int32 number = 1; }\n')
  (folder / 'main.cc').write_text(PROGRAM)
  call([os.path.abspath(args.protoc),
        '--plugin=protoc-gen-plugin=' + os.path.abspath(args.plugin),
        '--plugin_out=.', 'unused.proto', 'used.proto'], folder)


def check(compiler, level, schemas, temp):
  """Returns (name, sizes and errors) of one compiler at one level."""
  name = '%s %s' % (compiler, level)
  folder = pathlib.Path(tempfile.mkdtemp(dir=temp))
  flags = [compiler, '-std=c++17', level, '-DNDEBUG', '-I%s' % schemas,
           '-I%s' % (ROOT / 'include')]
  call(flags + ['-c', '-o', 'library.o', '-x', 'c++', '-'], folder,
       ''.join('#include "%s"\n' % source
               for source in sorted((ROOT / 'src/protozero').glob('*.cc'))))
  call(flags + ['-c', '-o', 'unused.o', str(schemas / 'unused.pbzero.cc')],
       folder)

  def link(program, *defines):
    # An id of the build would be a difference of its own.
    call(flags + [*defines, '-s', '-Wl,--build-id=none', '-o', program,
                  str(schemas / 'main.cc'), 'unused.o', 'library.o'], folder)
    sizes = call(['size', program], folder).splitlines()[1].split()
    return (folder / program).read_bytes(), [int(n) for n in sizes[:3]]

  without, without_sizes = link('without')
  included, included_sizes = link('included', '-DINCLUDE_UNUSED')
  _, one_used_sizes = link('one_used', '-DUSE_ONE')
  print('%s: text, data and bss %s without %d unused messages, %s with them, '
        '%s with one used' % (name, without_sizes, NUM_MESSAGES,
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
    schemas = pathlib.Path(temp)
    generate(args, schemas)
    # A thousand messages take a compiler half a minute.
    jobs = [functools.partial(check, compiler, level, schemas, temp)
            for compiler, level in zip(compilers.find_compilers(),
                                       ('-O2', '-Os'))]
    for name, errors in compilers.run_all(jobs):
      counter.check(not errors, name, '\n'.join(errors))
  counter.finish()


if __name__ == '__main__':
  main()
