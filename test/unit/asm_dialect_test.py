#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The inline assembly of the public headers, in both dialects of x86.

Compiles the runtime and a small program with clang and gcc, for AT&T syntax, as
all tests do, and for Intel's, optimized or not, and expects the same bytes of
all of them.

  asm_dialect_test.py
"""

import functools
import os
import platform
import subprocess
import tempfile

import compilers

FLAGS = [['-O2']]
if platform.machine() == 'x86_64':
  FLAGS += [['-O0', '-masm=intel'], ['-O2', '-masm=intel']]

PROGRAM = r'''
#include <stdio.h>

#include "protozero/internal/bit_deposit.h"
#include "protozero/scattered_heap_buffer.h"

int main() {
  protozero::HeapBuffered<protozero::Message> message;
  if (protozero::internal::kInlineEncodingMask != 0) {
    static const uint8_t bytes[8192] = {};
    protozero::internal::PrefetchForWriting<4096>(bytes);
  }
  for (unsigned bit = 0; bit < 64; ++bit) {
    message->AppendVarInt(1 + bit, uint64_t{1} << bit);
    message->AppendVarInt(1 + bit, (uint64_t{1} << bit) - 1);
    auto* child = message->BeginNestedMessage<protozero::Message>(1);
    child->AppendSignedVarInt(1, -int64_t{1} - bit);
    child->AppendVarInt(536870911, UINT64_MAX >> bit);
  }
  for (const uint8_t byte : message.SerializeAsArray())
    printf("%02x", byte);
}
'''


def output(compiler, flags):
  """Builds the program and returns what it prints, and what went wrong."""
  sources = os.path.join(compilers.SOURCE_ROOT, 'src', 'protozero')
  with tempfile.TemporaryDirectory() as temp:
    main = os.path.join(temp, 'main.cc')
    with open(main, 'w') as f:
      # In one file, which is faster.
      for name in sorted(os.listdir(sources)):
        if name.endswith('.cc'):
          f.write('#include "%s"\n' % os.path.join(sources, name))
      f.write(PROGRAM)
    program = os.path.join(temp, 'program')
    command = [
        compiler, '-std=c++17', '-I' + compilers.SOURCE_ROOT,
        '-I' + os.path.join(compilers.SOURCE_ROOT, 'include'), '-o', program,
        main
    ] + compilers.WARNINGS + flags
    for step in (command, [program]):
      result = subprocess.run(step, capture_output=True, text=True)
      if result.returncode != 0:
        return '', result.stderr or 'it exited with %d' % result.returncode
    return result.stdout, ''


def main():
  counter = compilers.Counter()
  names = []
  jobs = []
  for compiler in compilers.find_compilers():
    for flags in FLAGS:
      names.append('%s %s' % (compiler, ' '.join(flags)))
      jobs.append(functools.partial(output, compiler, flags))
  expected = ''
  for name, (bytes_written, errors) in zip(names, compilers.run_all(jobs)):
    expected = expected or bytes_written
    counter.check(bytes_written and bytes_written == expected, name, errors or
                  'it printed "%s"' % bytes_written)
  counter.finish()


if __name__ == '__main__':
  main()
