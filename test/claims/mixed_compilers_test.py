#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: parts of a program may be compiled by different compilers.

Inline code and the library have to agree on calling conventions and on layouts.
Here each compiles the library, to an archive and to a shared one whose
functions are looked up when they are first called, and one half of a program
each, which write the same message in all lengths of buffers. Both must write
the same bytes.

  mixed_compilers_test.py
"""

import functools
import pathlib
import subprocess
import tempfile

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
FLAGS = ['-std=c++17', '-O2', '-DNDEBUG', '-fPIC',
         '-DPROTOZERO_INLINE_SETTERS=1', '-I%s' % (ROOT / 'include'),
         '-I%s' % (ROOT / 'src' / 'protozero')]

# Numbers short and long, so that registers are in use when inline code calls a
# function, and everything else that it calls.
UNIT = '''
#include "unit.h"

void %(unit)s(protozero::RootMessage<>* message,
              protozero::ScatteredStreamWriter* writer,
              const Values* values) {
  message->Reset(writer);
  for (int i = 0; i < 2; ++i) {
    message->AppendUint64(1, values->numbers[0]);
    message->AppendUint32(2, static_cast<uint32_t>(values->numbers[1]));
    message->AppendInt32(3, static_cast<int32_t>(values->numbers[2]));
    message->AppendFixed64(4, values->numbers[3]);
    message->AppendSint64(300, static_cast<int64_t>(values->numbers[4]));
    message->AppendFixed32(5, static_cast<uint32_t>(values->numbers[5]));
    message->AppendTinyVarInt(6, 1);
    message->AppendUint64(70000, values->numbers[6]);
    message->AppendInt64(7, static_cast<int64_t>(values->numbers[7]));
  }
  // Left open, for the next Reset() to find.
  message->BeginNestedMessage<protozero::Message>(8)->AppendUint64(
      9, values->numbers[0]);
}
'''

HEADER = '''
#include "protozero/root_message.h"

struct Values {
  uint64_t numbers[8];
};
'''

PROGRAM = '''
#include <stdio.h>
#include <string.h>

#include "protozero/static_buffer.h"
#include "unit.h"

using Unit = void(protozero::RootMessage<>*,
                  protozero::ScatteredStreamWriter*,
                  const Values*);
Unit ByClang;
Unit ByGcc;

struct Writing {
  explicit Writing(Unit* u) : unit(u), delegate(nullptr, 0), writer(&delegate) {}
  void Write(size_t room, const Values& values) {
    memset(bytes, 0, sizeof(bytes));
    writer.Reset({bytes, bytes + room});
    unit(&message, &writer, &values);
    size = writer.written() - before;
    before = writer.written();
  }
  Unit* unit;
  uint8_t bytes[256];
  uint64_t before = 0;
  uint64_t size = 0;
  protozero::StaticBufferDelegate delegate;
  protozero::ScatteredStreamWriter writer;
  protozero::RootMessage<> message;
};

int main() {
  Writing by_clang(ByClang);
  Writing by_gcc(ByGcc);
  int whole = 0;
  uint64_t random = 1;
  for (int i = 0; i < 200; ++i) {
    Values values;
    for (uint64_t& number : values.numbers) {
      random = random * 6364136223846793005 + 1442695040888963407;
      number = random >> (random >> 58);
    }
    for (size_t room = 1; room <= 256; ++room) {
      by_clang.Write(room, values);
      by_gcc.Write(room, values);
      if (by_clang.size != by_gcc.size ||
          by_clang.writer.status() != by_gcc.writer.status() ||
          memcmp(by_clang.bytes, by_gcc.bytes, sizeof(by_clang.bytes)) != 0) {
        printf("differ with %zu bytes of room\\n", room);
        return 1;
      }
      whole += by_gcc.writer.ok();
    }
  }
  printf("%d whole\\n", whole);
  return whole < 1000;
}
'''


def run(command, folder):
  result = subprocess.run(command, cwd=folder, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
  return '' if result.returncode == 0 else '%s:\n%s' % (
      ' '.join(map(str, command)), result.stdout)


def check(clang, gcc, library_compiler, folder):
  sources = sorted((ROOT / 'src' / 'protozero').glob('*.cc'))
  objects = [folder / (source.stem + '.o') for source in sources]
  units = [folder / 'clang.o', folder / 'gcc.o']
  (folder / 'unit.h').write_text(HEADER)
  (folder / 'main.cc').write_text(PROGRAM)
  (folder / 'clang.cc').write_text(UNIT % {'unit': 'ByClang'})
  (folder / 'gcc.cc').write_text(UNIT % {'unit': 'ByGcc'})
  include = FLAGS + ['-I.']
  commands = [[library_compiler] + FLAGS + ['-c', source, '-o', output]
              for source, output in zip(sources, objects)]
  commands += [
      [clang] + include + ['-c', 'clang.cc', '-o', units[0]],
      [gcc] + include + ['-c', 'gcc.cc', '-o', units[1]],
      [library_compiler, '-shared', '-o', 'library.so'] + objects,
  ]
  # The first definition is the one that the linker takes.
  for order in units, units[::-1]:
    for linker in clang, gcc:
      link = [linker] + include + ['main.cc'] + order + ['-o', 'program']
      commands += [link + objects, ['./program'],
                   link + ['library.so', '-Wl,-z,lazy', '-Wl,-rpath,.'],
                   ['./program']]
  for command in commands:
    error = run(command, folder)
    if error:
      return library_compiler, error
  return library_compiler, ''


def main():
  counter = compilers.Counter()
  clang, gcc = compilers.find_compilers()
  with tempfile.TemporaryDirectory() as temp:
    jobs = []
    for name, compiler in ('clang', clang), ('gcc', gcc):
      folder = pathlib.Path(temp) / name
      folder.mkdir()
      jobs.append(functools.partial(check, clang, gcc, compiler, folder))
    for name, error in compilers.run_all(jobs):
      counter.check(not error, 'library by ' + name, error)
  counter.finish()


if __name__ == '__main__':
  main()
