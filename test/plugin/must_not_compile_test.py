#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Misuse of generated classes that the compiler must catch.

The file is compiled twice: with the good line of every case, which must give no
error at all, and with the bad line in the same place, which must give an error
about each of them. So no case can pass because something else does not compile.

  must_not_compile_test.py <folder of the generated headers>
"""

import functools
import os
import re
import sys

import compilers

# What is wrong, a line that is right, the line that is not.
CASES = [
    ('a string for a number',
     'm.set_field_int32(1);',
     'm.set_field_int32("1");'),
    ('a number for a string',
     'm.set_field_string("1");',
     'm.set_field_string(1);'),
    ('a number for bytes',
     'm.set_field_bytes("1");',
     'm.set_field_bytes(1);'),
    ('wide elements for bytes',
     'm.set_field_bytes(std::vector<uint8_t>{1});',
     'm.set_field_bytes(std::vector<int>{1});'),
    ('bytes for a string',
     'm.set_field_string(::protozero::ConstChars{});',
     'm.set_field_string(::protozero::ConstBytes{});'),
    ('a number for an enum',
     'm.set_field_enum(pz::ZERO);',
     'm.set_field_enum(1);'),
    ('a value of another enum',
     'm.set_field_enum(pz::ZERO);',
     'm.set_field_enum(pz::Everything_Nested_Deep::SOME);'),
    ('a value for a message',
     'm.set_field_message();',
     'm.set_field_message(1);'),
    ('set_ for a field that is not packed',
     'm.add_repeated_double(1);',
     'm.set_repeated_double(1);'),
    ('add_ for a field that is not repeated',
     'm.set_field_double(1);',
     'm.add_field_double(1);'),
    ('set_ for a map',
     'm.add_string_to_message();',
     'm.set_string_to_message();'),
    ('one value for a packed field',
     'm.set_packed_int32(::protozero::PackedVarInt());',
     'm.set_packed_int32(1);'),
    ('plain varints for a packed sint32',
     'm.set_packed_sint32(::protozero::PackedSignedVarInt());',
     'm.set_packed_sint32(::protozero::PackedVarInt());'),
    ('plain varints for a packed sint64',
     'm.set_packed_sint64(::protozero::PackedSignedVarInt());',
     'm.set_packed_sint64(::protozero::PackedVarInt());'),
    ('zigzag varints for a packed int32',
     'm.set_packed_int32(::protozero::PackedVarInt());',
     'm.set_packed_int32(::protozero::PackedSignedVarInt());'),
    ('fixed-size elements for varints',
     'm.set_packed_uint32(::protozero::PackedVarInt());',
     'm.set_packed_uint32(::protozero::PackedFixedSizeInt<uint32_t>());'),
    ('elements of another size',
     'm.set_packed_double(::protozero::PackedFixedSizeInt<double>());',
     'm.set_packed_double(::protozero::PackedFixedSizeInt<float>());'),
    ('elements of another type',
     'm.set_packed_sfixed32(::protozero::PackedFixedSizeInt<int32_t>());',
     'm.set_packed_sfixed32(::protozero::PackedFixedSizeInt<uint32_t>());'),
    ('a nested message that is none',
     'm.set_field_message<pz::Everything_Nested>();',
     'm.set_field_message<std::vector<int>>();'),
    ('a nested message that is only declared',
     'm.set_field_message();',
     'pz::Foreign().set_inner();'),
    ('an extension of a message that is not the extension class',
     'pz::Wrapper().set_extra(1);',
     'pz::Everything().set_extra(1);'),
    ('raw bytes for a field that is not lazy',
     'm.set_lazy_raw("");',
     'm.set_field_message_raw("");'),
    ('copying a message',
     'pz::Everything& copy = m; (void)copy;',
     'pz::Everything copy = m; (void)copy;'),
    ('assigning a message',
     'pz::Everything other; (void)other;',
     'pz::Everything other; other = m;'),
    ('moving a message',
     'pz::Everything* moved = &m; (void)moved;',
     'pz::Everything moved = std::move(m); (void)moved;'),
    ('the name of a value of another enum',
     '(void)pz::TopLevel_Name(pz::ZERO);',
     '(void)pz::TopLevel_Name(pz::Everything_Nested_Deep::SOME);'),
]

PREFIX = '''
#include <stdint.h>
#include <utility>
#include <vector>
#include "test/protos/plugin/golden.pbzero.h"
namespace pz = ::golden::main::pbzero;
void Function(pz::Everything& m);
void Function(pz::Everything& m) {
'''


def program(lines):
  """Line number N, from 1, has the position case.cc:N in error messages."""
  text = PREFIX
  for number, line in enumerate(lines, 1):
    text += '{\n#line %d "case.cc"\n%s\n}\n' % (number, line)
  return text + '}\n'


def main():
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  counter = compilers.Counter()
  flags = [
      '-std=c++17', '-I' + sys.argv[1],
      '-I' + os.path.join(compilers.SOURCE_ROOT, 'include')
  ]
  good = program([case[1] for case in CASES])
  bad = program([case[2] for case in CASES])
  jobs = []
  for compiler in compilers.find_compilers():
    no_limit = '-ferror-limit=0' if 'clang' in compiler else '-fmax-errors=0'
    for text in (good, bad):
      jobs.append(
          functools.partial(compilers.syntax_errors, compiler,
                            flags + [no_limit], text))
  results = compilers.run_all(jobs)
  for compiler in compilers.find_compilers():
    errors = next(results)
    counter.check(not errors, '%s: the good lines compile' % compiler, errors)
    errors = next(results)
    # An error inside a template names the line in a note that follows.
    found = set(re.findall(r'case\.cc:(\d+):', errors))
    for number, case in enumerate(CASES, 1):
      counter.check(str(number) in found,
                    '%s: %s: %s' % (compiler, case[0], case[2]))
  counter.finish()


if __name__ == '__main__':
  main()
