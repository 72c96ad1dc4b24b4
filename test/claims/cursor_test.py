#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: setters in place keep what they share in registers.

Compiles functions with few and with many setters, and counts how often the way
that is taken while there is room loads and stores the message's cursor, and loads
its limit: once each, however many setters there are. The two constants that
varints are encoded with are loaded once for each row of setters of varints.
(For x86-64, whose code it reads.)

  cursor_test.py
"""

import pathlib
import re
import subprocess

import compilers
from hot_path import disassemble, hot_path

ROOT = pathlib.Path(compilers.SOURCE_ROOT)

# The cursor is the first member of a message, and its limit the second. So
# nothing else here is eight bytes at the very address that a register holds, or
# eight bytes after it: values are members of a struct after its first two,
# and tags take one byte.
PROGRAM = '''
#include "protozero/message.h"

struct Values {
  uint64_t unused[2];
  uint64_t number;
  int64_t signed_number;
  int32_t small_number;
  uint32_t hash;
  double ratio;
  bool flag;
};

#define SETTERS(message, values)                       \\
  (message)->AppendVarInt(1, (values)->number);        \\
  (message)->AppendSignedVarInt(2, (values)->signed_number); \\
  (message)->AppendVarInt(3, (values)->small_number);  \\
  (message)->AppendFixed(4, (values)->hash);           \\
  (message)->AppendFixed(5, (values)->ratio);          \\
  (message)->AppendTinyVarInt(6, (values)->flag);

extern "C" void Few(protozero::Message* message, const Values* values) {
  message->AppendVarInt(1, values->number);
  message->AppendFixed(4, values->hash);
}

extern "C" void Many(protozero::Message* message, const Values* values) {
  SETTERS(message, values)
  SETTERS(message, values)
  SETTERS(message, values)
}
'''

LOAD = re.compile(r'mov +r\w+,QWORD PTR \[r\w+(\+0x0)?\]$')
STORE = re.compile(r'mov +QWORD PTR \[r\w+(\+0x0)?\],')
LIMIT = re.compile(r'.*\[r(?!ip|sp)\w+\+0x8\]')
CONSTANT = re.compile(r'.*\[rip\+')


def check(compiler, level, output):
  subprocess.run([compiler, '-std=c++17', level, '-DNDEBUG',
                  '-DPROTOZERO_INLINE_SETTERS=1', '-I%s' % (ROOT / 'include'),
                  '-c', '-o', output, '-x', 'c++', '-'],
                 input=PROGRAM, text=True, check=True)
  disassembly = disassemble(output)
  errors = []
  for function, at_least, rows in ('Few', 15, 1), ('Many', 100, 3):
    path = hot_path(disassembly, function)
    if len(path) < at_least:
      errors.append('%s has %d instructions: what is measured?' %
                    (function, len(path)))
    for what, pattern, at_most in (
        ('the cursor is loaded', LOAD, 1), ('the cursor is stored', STORE, 1),
        ('the limit is loaded', LIMIT, 1),
        ('constants are loaded', CONSTANT, 2 * rows)):
      times = sum(1 for instruction in path if pattern.match(instruction))
      if not 0 < times <= at_most:
        errors.append('%s: %s %d times' % (function, what, times))
  return errors


if __name__ == '__main__':
  compilers.check_optimized(check)
