#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: setters that are to encode in place do, however large a file is.

Compilers stop inlining into a file that has grown by some share of its size. So
this compiles dozens of functions that set fields, and one that sets more than a
hundred, and looks for setters that were not inlined: functions in the object.

  setters_in_place_test.py --gen DIR
"""

import argparse
import functools
import pathlib
import subprocess

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)

# Values come from memory: constants are encoded by the compiler, in place or
# not.
PROGRAM = '''
#include "test/claims/claims.pbzero.h"

using protozero::claims::pbzero::Direction;
using protozero::claims::pbzero::Everything;

struct Values {
  double ratio;
  float small_ratio;
  int32_t small_number;
  int64_t number;
  uint32_t hash;
  uint64_t id;
  bool flag;
  Direction direction;
  const char* name;
  size_t name_size;
  protozero::ConstBytes bytes;
};

#define SET_ALL(message, values)                       \\
  (message)->set_double_value((values)->ratio);        \\
  (message)->set_float_value((values)->small_ratio);   \\
  (message)->set_int32_value((values)->small_number);  \\
  (message)->set_int64_value((values)->number);        \\
  (message)->set_uint32_value((values)->hash);         \\
  (message)->set_uint64_value((values)->id);           \\
  (message)->set_sint32_value((values)->small_number); \\
  (message)->set_sint64_value((values)->number);       \\
  (message)->set_fixed32_value((values)->hash);        \\
  (message)->set_fixed64_value((values)->id);          \\
  (message)->set_sfixed32_value((values)->small_number); \\
  (message)->set_sfixed64_value((values)->number);     \\
  (message)->set_bool_value((values)->flag);           \\
  (message)->set_direction((values)->direction);       \\
  (message)->add_numbers((values)->small_number);      \\
  (message)->set_number((values)->number);             \\
  (message)->set_string_value((values)->name, (values)->name_size); \\
  (message)->set_name({(values)->name, (values)->name_size}); \\
  (message)->set_bytes_value((values)->bytes);         \\
  (message)->set_child()->set_bool_value((values)->flag);

#define REPEAT_10(x) x x x x x x x x x x

void Large(Everything* message, const Values* values) {
  REPEAT_10(SET_ALL(message, values))
}

template <int>
void Small(Everything* message, const Values* values) {
  SET_ALL(message, values)
  message->Finalize();
}
'''
NUM_SMALL = 24
NUM_SETTERS = 20
# The functions that the same setters call where they are not in place, and inline
# code that was not inlined.
CALLS = ('AppendString', 'MessageInline::', 'MessageSteps::',
         'MessageRuntime::AppendBytes(', 'MessageRuntime::BeginByCall(',
         'MessageRuntime::Finalize(')


def check(gen, compiler, level, output):
  functions = '\n'.join(
      'template void Small<%d>(Everything*, const Values*);' % i
      for i in range(NUM_SMALL))
  subprocess.run([compiler, '-std=c++17', level, '-DNDEBUG',
                  '-DPROTOZERO_INLINE_SETTERS=1',
                  '-I%s' % (ROOT / 'include'), '-I%s' % gen, '-c', '-o', output,
                  '-x', 'c++', '-'],
                 input=PROGRAM + functions, text=True, check=True)
  symbols = subprocess.run(
      ['nm', '--demangle', '--print-size', output], check=True, text=True,
      stdout=subprocess.PIPE).stdout.splitlines()
  errors = [line for line in symbols
            if 'Everything::' in line or any(call in line for call in CALLS)]
  small = [line for line in symbols if ' void Small<' in line]
  if len(small) != NUM_SMALL:
    errors.append('%d functions instead of %d' % (len(small), NUM_SMALL))
  for line in small:
    # A setter in place takes more than the ten bytes or so of a call.
    if int(line.split()[1], 16) < 30 * NUM_SETTERS:
      errors.append('too small to have setters in place: ' + line)
  return errors


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--gen', type=pathlib.Path, required=True)
  args = parser.parse_args()
  compilers.check_optimized(functools.partial(check, args.gen))


if __name__ == '__main__':
  main()
