#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Misuse of generated classes that the compiler must catch.

The file is compiled twice: with the good line of every case, which must give no
error at all, and with the bad line in the same place, which must give an error
about each of them. So no case can pass because something else does not compile.
Where the library has advice for the case, the bad line is compiled alone, and
the error must be that.

  must_not_compile_test.py <folder of the generated headers>
"""

import functools
import os
import re
import subprocess
import sys
import tempfile

import compilers

CONSTANT = ('MakeConstantMessage<Everything>('
            '[] { return FieldList(%s); });')
LIST = 'AppendFields(&m, Everything::kFieldMessage(FieldList(%s)));'

MESSAGE = ('::protozero::ScatteredStreamWriter* writer = nullptr; '
           '::protozero::AppendMessage<%s>(writer%s);')

BUFFER = ('uint8_t buffer[8]; '
          '::protozero::EncodeMessage<Everything>(buffer, 8, %s);')

# The mistake, a line that is right, and a line that is wrong; the expected
# error, where it is the library's own.
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
    ('an array of elements of another size',
     'm.set_packed_double(static_cast<const double*>(nullptr), 0);',
     'm.set_packed_double(static_cast<const float*>(nullptr), 0);'),
    ('an array of elements of another sign',
     'm.set_packed_int32(static_cast<const int32_t*>(nullptr), 0);',
     'm.set_packed_int32(static_cast<const uint32_t*>(nullptr), 0);'),
    ('an array of numbers for a packed enum',
     'm.set_packed_enum(static_cast<const pz::TopLevel*>(nullptr), 0);',
     'm.set_packed_enum(static_cast<const int32_t*>(nullptr), 0);'),
    ('a container of elements of another type',
     'm.set_packed_int32(std::vector<int32_t>{1});',
     'm.set_packed_int32(std::vector<uint32_t>{1});'),
    ('a container of bits',
     'const bool bits[] = {true}; m.set_packed_bool(bits);',
     'm.set_packed_bool(std::vector<bool>{true});'),
    ('characters for packed numbers',
     'm.set_packed_int32(std::vector<int32_t>{1});',
     'm.set_packed_int32("1");'),
    ('plain varints for a packed fixed32',
     'm.set_packed_fixed32(::protozero::PackedFixedSizeInt<uint32_t>());',
     'm.set_packed_fixed32(::protozero::PackedVarInt());'),
    ('a key of another type',
     'm.add_string_to_message("key");',
     'm.add_string_to_message(1);'),
    ('a value for a map of messages',
     'm.add_string_to_message("key");',
     'm.add_string_to_message("key", 1);'),
    ('a value of another type for a map',
     'm.add_sint_to_enum(1, pz::ZERO);',
     'm.add_sint_to_enum(1, 0);'),
    ('a map entry without a value',
     'm.add_sint_to_enum(1, pz::ZERO);',
     'm.add_sint_to_enum(1);'),
    ('a value for a group',
     'm.set_onegroup()->set_x(1);',
     'm.set_onegroup(1);'),
    ('the name of an enum for a value of another',
     'pz::TopLevel v; (void)pz::TopLevel_Parse("ZERO", &v);',
     'int v; (void)pz::TopLevel_Parse("ZERO", &v);'),
    ('writing through a decoder',
     'm.set_field_int32(1);',
     'Everything::Decoder("", 0).set_field_int32(1);'),
    ('reading through a message',
     '(void)Everything::Decoder("", 0).field_int32();',
     '(void)m.field_int32();'),
    ('reading a field of another message',
     '(void)pz::Service::Decoder("", 0).id();',
     '(void)pz::Service::Decoder("", 0).field_int32();'),
    ('a field that the schema does not have',
     '(void)pz::Service::Decoder("", 0).at<1>();',
     '(void)pz::Service::Decoder("", 0).at<2>();',
     'the schema has no such field'),
    ('the field of an extension in the decoder of its message',
     '(void)pz::Wrapper::Decoder("", 0).extra();',
     '(void)Everything::Decoder("", 0).extra();'),
    ('the case of another oneof',
     '(void)(Everything::Decoder("", 0).choice_case() == '
     'Everything::ChoiceCase::kText);',
     '(void)(Everything::Decoder("", 0).choice_case() == '
     'Everything::OtherChoiceCase::kChosenEnum);'),
    ('a decoder of a temporary string view in place of a message',
     'Everything::Decoder decoder(std::string_view{}); (void)decoder;',
     'Everything::Decoder decoder = std::string_view(); (void)decoder;'),
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
    ('a string as the value of a number',
     'pz::Everything::kFieldInt32(1);',
     'pz::Everything::kFieldInt32("1");',
     'this field is a number or a bool: give it one'),
    ('a string as the value of a bool',
     'pz::Everything::kFieldBool(true);',
     'pz::Everything::kFieldBool("true");',
     'this field is a number or a bool: give it one'),
    ('a number as the value of an enum',
     'pz::Everything::kFieldEnum(pz::ZERO);',
     'pz::Everything::kFieldEnum(0);',
     'this field is an enum: give it a value of its enum type'),
    ('a value of another enum as the value of an enum',
     'pz::Everything::kFieldEnum(pz::ZERO);',
     'pz::Everything::kFieldEnum(pz::Everything_Nested_Deep::SOME);',
     'this field is an enum: give it a value of its enum type'),
    ('a number as the value of a string',
     'pz::Everything::kFieldString("1");',
     'pz::Everything::kFieldString(1);',
     'this field is a string: give it a string'),
    ('bytes as the value of a string',
     'pz::Everything::kFieldString(::protozero::ConstChars{});',
     'pz::Everything::kFieldString(::protozero::ConstBytes{});',
     'this field is a string: give it a string'),
    ('a pointer to others as the value of a string',
     'pz::Everything::kFieldString("ab", 2);',
     'pz::Everything::kFieldString(u"ab", 2);',
     'this field is a string: give it a string'),
    ('no size as the value of bytes',
     'pz::Everything::kFieldBytes(nullptr, 0);',
     'pz::Everything::kFieldBytes(nullptr, 0.5);',
     'this field is bytes: give it a container of uint8_t'),
    ('no value',
     'pz::Everything::kFieldString("");',
     'pz::Everything::kFieldString();',
     'this field is a string: give it a string'),
    ('two values for a number',
     'pz::Everything::kFieldInt32(1);',
     'pz::Everything::kFieldInt32(1, 2);',
     'this field is a number or a bool: give it one'),
    ('wide elements as the value of bytes',
     'pz::Everything::kFieldBytes(std::vector<uint8_t>{1});',
     'pz::Everything::kFieldBytes(std::vector<int>{1});',
     'this field is bytes: give it a container of uint8_t'),
    ('a value for a packed field',
     'pz::Everything::kRepeatedDouble(1);',
     'pz::Everything::kPackedDouble(1);',
     'this field is packed'),
    ('a number as the value of a message',
     'm.set_field_message();',
     'pz::Everything::kFieldMessage(1);',
     'this field is a message: begin it with its setter'),
    ('a 64-bit value for a 32-bit field, with warnings',
     'pz::Everything::kFieldInt64(wide);',
     'pz::Everything::kFieldInt32(wide);',
     'onversion'),
    ('appending a field of another message',
     'AppendFields(&m, pz::Everything::kNumber(1));',
     'AppendFields(&m, pz::Service::kId(1));',
     'this field belongs to another message'),
    ('appending a field of a message to an extension of another',
     'pz::Wrapper w; AppendFields(&w, pz::Everything::kNumber(1));',
     'pz::Wrapper w; AppendFields(&w, pz::Service::kId(1));',
     'this field belongs to another message'),
    ('appending a field without a value',
     'AppendFields(&m, pz::Everything::kNumber(1));',
     'AppendFields(&m, pz::Everything::kNumber);',
     'write a field as AppendFields() takes it'),
    ('appending a value without a field',
     'AppendFields(&m, pz::Everything::kNumber(1));',
     '::protozero::AppendFields(&m, 1);',
     'write a field as AppendFields() takes it'),
    ('appending nothing',
     'AppendFields(&m, pz::Everything::kNumber(1));',
     '::protozero::AppendFields(&m);',
     'no fields to append'),
    ('appending to a message of no class',
     'AppendFields(&m, pz::Everything::kNumber(1));',
     '::protozero::Message& base = m; '
     'AppendFields(&base, pz::Everything::kNumber(1));',
     'takes a pointer to a generated message class'),
    ('a whole message with a field of another one',
     MESSAGE % ('Everything', ', Everything::kNumber(1)'),
     MESSAGE % ('Everything', ', pz::Service::kId(1)'),
     'this field belongs to another message'),
    ('a whole message of nothing',
     MESSAGE % ('Everything', ', Everything::kNumber(1)'),
     MESSAGE % ('Everything', ''),
     'no fields to append'),
    ('a whole message of no class',
     MESSAGE % ('Everything', ', Everything::kNumber(1)'),
     MESSAGE % ('::protozero::Message', ', Everything::kNumber(1)'),
     'takes fields of a generated message class'),
    ('a message in a buffer with a field of another one',
     BUFFER % 'Everything::kNumber(1)',
     BUFFER % 'pz::Service::kId(1)',
     'this field belongs to another message'),
    ('a constant of another class as the value of a message',
     'AppendFields(&m, Everything::kFieldMessage(kNested));',
     'AppendFields(&m, Everything::kFieldMessage(kConstant));',
     'this constant is a message of another class than the field'),
    ('a constant of another class as the value of a constant field',
     CONSTANT % 'Everything::kFieldMessage(kNested)',
     CONSTANT % 'Everything::kFieldMessage(kConstant)',
     'this constant is a message of another class than the field'),
    ('a constant of another class among fields',
     'AppendFields(&m, kConstant);',
     'AppendFields(&m, kNested);',
     'this field belongs to another message'),
    ('a field of another message in a constant',
     CONSTANT % 'Everything::kNumber(1)',
     CONSTANT % 'pz::Service::kId(1)',
     'this field belongs to another message'),
    ('a field of another message deep in a constant',
     CONSTANT % 'Everything::kFieldMessage(FieldList())',
     CONSTANT % 'Everything::kFieldMessage(FieldList(Everything::kNumber(1)))',
     'this field belongs to another message'),
    ('a value without a field in a constant',
     CONSTANT % 'Everything::kNumber(1)',
     CONSTANT % '1',
     'write a field of a constant as Event::kId(7)'),
    ('a constant without a list',
     'MakeConstantMessage<Everything>([] { return FieldList('
     'Everything::kNumber(1)); });',
     'MakeConstantMessage<Everything>([] { return Everything::kNumber(1); });',
     'return the fields of a constant as a FieldList'),
    ('a constant of no class',
     CONSTANT % '',
     'MakeConstantMessage<::protozero::Message>([] { return FieldList(); });',
     'makes messages of a generated class T'),
    ('a constant that is not constant',
     CONSTANT % 'Everything::kFieldInt64(7)',
     'MakeConstantMessage<Everything>([=] { return FieldList('
     'Everything::kFieldInt64(wide)); });',
     'takes a lambda without captures'),
    ('a constant that is not kept',
     'static constexpr auto kKept = MakeConstantMessage<Everything_Nested>([] {'
     'return FieldList(); });'
     'AppendFields(&m, Everything::kFieldMessage(kKept));',
     'AppendFields(&m, Everything::kFieldMessage('
     'MakeConstantMessage<Everything_Nested>([] { return FieldList(); })));',
     'this constant is gone before it is used'),
    ('a packed field in a constant',
     CONSTANT % 'Everything::kRepeatedDouble(1)',
     CONSTANT % 'Everything::kPackedDouble(1)',
     'this field is packed'),
    ('a stencil without values',
     'AppendFields(&m, kStencil(1, pz::ZERO));',
     'AppendFields(&m, kStencil);',
     'this stencil has holes: call it with values for them'),
    ('a stencil without values as the value of a message',
     'AppendFields(&m, Everything::kLazy(kStencil(1, pz::ZERO)));',
     'AppendFields(&m, Everything::kLazy(kStencil));',
     'this stencil has holes: call it with values for them'),
    ('too few values for a stencil',
     'AppendFields(&m, kStencil(1, pz::ZERO));',
     'AppendFields(&m, kStencil(1));'),
    ('too many values for a stencil',
     'AppendFields(&m, kStencil(1, pz::ZERO));',
     'AppendFields(&m, kStencil(1, pz::ZERO, 2));'),
    ('values for a stencil in another order',
     'AppendFields(&m, kStencil(1, pz::ZERO));',
     'AppendFields(&m, kStencil(pz::ZERO, 1));'),
    ('a 64-bit value for a 32-bit hole, with warnings',
     'kStencil(7, pz::ZERO);',
     'kStencil(wide, pz::ZERO);',
     'onversion'),
    ('a hole for a string',
     CONSTANT % 'Everything::kFieldString("")',
     CONSTANT % 'Everything::kFieldString(Hole())',
     'this field is a string'),
    ('a hole that is too wide',
     CONSTANT % 'Everything::kFieldInt32(Hole<5>())',
     CONSTANT % 'Everything::kFieldInt32(Hole<6>())',
     'this hole is wider than any value of its field'),
    ('a narrow hole for a fixed size',
     CONSTANT % 'Everything::kFieldFixed32(Hole<4>())',
     CONSTANT % 'Everything::kFieldFixed32(Hole<3>())',
     'only holes for varints have a choice of width'),
    ('a hole outside of a constant',
     'AppendFields(&m, Everything::kFieldInt32(1));',
     'AppendFields(&m, Everything::kFieldInt32(Hole()));',
     'a Hole is for MakeConstantMessage()'),
    ('a hole in a list of fields',
     LIST % 'Everything_Nested::kUp(FieldList(Everything::kNumber(1)))',
     LIST % 'Everything_Nested::kUp('
     'FieldList(Everything::kFieldInt32(Hole())))',
     'a Hole is for MakeConstantMessage()'),
    ('a field of another message in a list',
     LIST % 'Everything_Nested::kUp(FieldList(Everything::kNumber(1)))',
     LIST % 'Everything::kNumber(1)',
     'this field belongs to another message'),
    ('a value without a field in a list',
     LIST % 'Everything_Nested::kUp(FieldList(Everything::kNumber(1)))',
     LIST % '1',
     'write a field of a list as Event::kId(7)'),
    ('a constant in a list',
     LIST % 'Everything_Nested::kUp(FieldList(Everything::kNumber(1)))',
     LIST % 'kNested',
     'write a field of a list as Event::kId(7)'),
    ('a list for a number',
     LIST % 'Everything_Nested::kUp(FieldList(Everything::kNumber(1)))',
     'AppendFields(&m, Everything::kNumber(FieldList()));',
     'this field is a number or a bool: give it one'),
]

HEADER = '''
#include <stdint.h>
#include <string_view>
#include <utility>
#include <vector>
#include "protozero/append_fields.h"
#include "protozero/constant_message.h"
#include "test/protos/plugin/golden.pbzero.h"
'''

PREFIX = '''
namespace pz = ::golden::main::pbzero;
using protozero::FieldList;
using protozero::Hole;
using protozero::MakeConstantMessage;
using pz::Everything;
using pz::Everything_Nested;
constexpr auto kConstant =
    MakeConstantMessage<Everything>([] { return FieldList(); });
constexpr auto kNested =
    MakeConstantMessage<Everything_Nested>([] { return FieldList(); });
constexpr auto kStencil = MakeConstantMessage<Everything>(
    [] { return FieldList(Everything::kNumber(Hole()),
                          Everything::kFieldEnum(Hole())); });
void Function(pz::Everything& m, int64_t wide);
void Function(pz::Everything& m, int64_t wide) {
(void)wide;
'''


def program(lines):
  """Line number N, from 1, has the position case.cc:N in error messages."""
  text = PREFIX
  for number, line in enumerate(lines, 1):
    text += '{\n#line %d "case.cc"\n%s\n}\n' % (number, line)
  return text + '}\n'


def precompile(compiler, flags, path):
  """Reads the headers of all cases once. Returns the file to include."""
  with open(path + '.h', 'w', encoding='utf-8') as file:
    file.write(HEADER)
  subprocess.run([compiler] + flags + ['-x', 'c++-header', path + '.h', '-o',
                                       path + '.h.gch'], check=True)
  return path + '.h'


def main():
  if len(sys.argv) != 2:
    sys.exit(__doc__)
  counter = compilers.Counter()
  flags = [
      '-std=c++17', '-Wconversion', '-I' + sys.argv[1],
      '-I' + os.path.join(compilers.SOURCE_ROOT, 'include')
  ]
  good = program([case[1] for case in CASES])
  alone = [case for case in CASES if len(case) > 3]
  together = [case for case in CASES if len(case) == 3]
  texts = [good, program([case[2] for case in together])]
  texts += [program([case[2]]) for case in alone]
  folder = tempfile.TemporaryDirectory()
  jobs = []
  for compiler in compilers.find_compilers():
    no_limit = '-ferror-limit=0' if 'clang' in compiler else '-fmax-errors=0'
    header = precompile(compiler, flags, os.path.join(folder.name, compiler))
    for text in texts:
      jobs.append(
          functools.partial(compilers.syntax_errors, compiler,
                            flags + [no_limit, '-include', header], text))
  results = compilers.run_all(jobs)
  for compiler in compilers.find_compilers():
    errors = next(results)
    counter.check(not errors, '%s: the good lines compile' % compiler, errors)
    errors = next(results)
    # An error inside a template names the line in a note that follows.
    found = set(re.findall(r'case\.cc:(\d+):', errors))
    for number, case in enumerate(together, 1):
      counter.check(str(number) in found,
                    '%s: %s: %s' % (compiler, case[0], case[2]))
    for case in alone:
      errors = next(results)
      counter.check('case.cc:1:' in errors and case[3] in errors,
                    '%s: %s: %s' % (compiler, case[0], case[2]), errors)
  counter.finish()


if __name__ == '__main__':
  main()
