# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Schemas, and sources with many call sites, for tools/measure_code_size."""

import re

# Ways to write call sites, and how many of them.
FUNCTIONS, ONE, NEW_FIELD = 'functions', 'one', 'new field'
SITES_PER_FUNCTION = 5
COUNTS = {FUNCTIONS: (10, 30), ONE: (1, 100, 200), NEW_FIELD: (5, 15)}

# Distinct fields per message, all with one-byte tags.
FIELDS = 15
MESSAGES = max(COUNTS[NEW_FIELD]) * SITES_PER_FUNCTION // FIELDS
FEW_FIELDS = 5


class Kind:
  """The field that a call site sets. |proto| and |cpp| are the types of the
  field and of the value; strings and messages have a form of their own."""

  def __init__(self, proto, cpp=None, form='scalar', mapbox=None):
    self.proto = proto
    self.cpp = cpp
    self.form = form
    self.mapbox = mapbox or f'add_{proto}'


EVENT, EVENT_CHARS = 'event', 'event, const char*'
KINDS = {
    'int32': Kind('int32', 'int32_t'),
    'uint64': Kind('uint64', 'uint64_t'),
    'bool': Kind('bool', 'bool'),
    'enum': Kind('Choice', 'int32_t', 'enum', 'add_enum'),
    'fixed64': Kind('fixed64', 'uint64_t'),
    'string': Kind('string', 'const char*', 'sized'),
    'const char*': Kind('string', 'const char*'),
    'nested begin+end': Kind('Child', form='nested'),
    EVENT: None,
    EVENT_CHARS: None,
}

OURS, PEER, MAPBOX = 'Protozero', 'Libprotobuf', 'Mapbox'
IMPLEMENTATIONS = (OURS, PEER, MAPBOX)

PROTO = '''\
syntax = "proto2";
package measure;

enum Choice {
  A = 0;
  B = 1;
}

message Child {
  optional int32 value = 1;
}
'''


def message_text(name, kind, fields):
  lines = [f'  optional {kind.proto} f{i} = {i};'
           for i in range(1, fields + 1)]
  return '\n'.join([f'\nmessage {name} {{'] + lines + ['}\n'])


def proto_of(kind):
  """Messages with a distinct field for each call site, and a small one."""
  return PROTO + message_text('Few', kind, FEW_FIELDS) + ''.join(
      message_text(f'Many{i}', kind, FIELDS) for i in range(MESSAGES))


# The schema of events is the benchmark's.
EVENT_PROTO = 'test/protos/benchmark_messages.proto'

PRELUDES = {
    OURS: '''\
#include "{stem}.pbzero.h"
namespace messages = {package}::pbzero;
''',
    PEER: '''\
#include "{stem}.pb.h"
namespace messages = {package};
''',
    MAPBOX: '''\
#include <protozero/basic_pbf_writer.hpp>
#include <protozero/buffer_fixed.hpp>
using Writer = protozero::basic_pbf_writer<protozero::fixed_size_buffer_adaptor>;
''',
}

VALUES = '''
#include <stddef.h>
#include <stdint.h>

// Side by side, so that the offsets of the first ones are small.
struct Value {{
  {cpp} value;{size}
}};
struct Values {{
  Value at[{fields}];
}};
'''

EVENT_VALUES = '''
#include <stddef.h>
#include <stdint.h>

struct Values {
  int32_t number_int32;
  uint32_t number_uint32;
  int64_t number_int64;
  uint64_t number_uint64;
  const char* string;
  size_t string_size;
};
'''

# Around the calls of two events. The buffer is visible: it must be written.
PROGRAM = ('''
Values v;
uint8_t buffer[1000];
int main() {
  protozero::StaticBuffered<messages::EveryField> event(buffer, sizeof(buffer));
  void* message = event.get();
''', '''
  message = event->set_field_nested();
''', '''
  return static_cast<int>(event.Finalize());
}
''')

EVENT_FIELDS = (('int32', 1), ('uint32', 3), ('int64', 2), ('uint64', 4))

# No instruction, but all stores before it must happen: without it, a compiler
# would drop what a setter of libprotobuf stores if the next message is set in
# the same function.
BARRIER = '  asm volatile("" : : : "memory");'


def site(implementation, kind, index, argument):
  """One call that sets the field number |index|, counted over all messages,
  to the value number |argument|."""
  field = index % FIELDS
  value, size = f'v.at[{argument}].value', f'v.at[{argument}].size'
  if implementation == MAPBOX:
    tag = field + 1
    if kind.form == 'nested':
      return f'  {{ Writer child(writer, {tag}); }}'
    if kind.form == 'sized':
      value += ', ' + size
    return f'  writer.{kind.mapbox}({tag}, {value});'
  message = f'static_cast<messages::Many{index // FIELDS}*>(message)'
  name = f'f{field + 1}'
  if kind.form == 'nested':
    prefix = 'mutable' if implementation == PEER else 'set'
    return f'  {message}->{prefix}_{name}();'
  if kind.form == 'sized':
    value += ', ' + size
  if kind.form == 'enum':
    value = f'static_cast<messages::Choice>({value})'
  return f'  {message}->set_{name}({value});'


def event(implementation, is_sized):
  """The calls of one event."""
  lines = []
  if implementation == MAPBOX:
    for name, number in EVENT_FIELDS:
      lines.append(f'  writer.add_{name}({number}, v.number_{name});')
    lines.append('  writer.add_string(500, v.string' +
                 (', v.string_size);' if is_sized else ');'))
    return lines
  message = 'static_cast<messages::EveryField*>(message)'
  for name, _ in EVENT_FIELDS:
    lines.append(f'  {message}->set_field_{name}(v.number_{name});')
  lines.append(f'  {message}->set_field_string(v.string' +
               (', v.string_size);' if is_sized else ');'))
  return lines


def function(implementation, index, lines):
  parameter = 'Writer& writer' if implementation == MAPBOX else \
      'void* message'
  return '\n'.join(
      [f'extern "C" void Function{index}({parameter}, const Values& v);',
       f'extern "C" void Function{index}({parameter}, const Values& v) {{'] +
      lines + ['}\n'])


def is_event(kind_name):
  return KINDS[kind_name] is None


def source(implementation, kind_name, way, count):
  """A translation unit with |count| functions, or call sites in one."""
  kind = KINDS[kind_name]
  if is_event(kind_name):
    stem, package = EVENT_PROTO[:-len('.proto')], 'protozero::benchmark'
    values = EVENT_VALUES
    lines = event(implementation, kind_name == EVENT)
    bodies = [lines] * count if way == FUNCTIONS else \
        [(lines + [BARRIER]) * count]
  else:
    stem, package = stem_of(kind_name), 'measure'
    values = VALUES.format(
        cpp=kind.cpp or 'int32_t', fields=FIELDS,
        size=' size_t size;' if kind.form == 'sized' else '')
    if way == ONE:
      bodies = [[line for i in range(count) for line in
                 (site(implementation, kind, 0, i % FIELDS), BARRIER)]]
    else:
      step = SITES_PER_FUNCTION if way == NEW_FIELD else 0
      bodies = [[site(implementation, kind, step * i + j, j)
                 for j in range(SITES_PER_FUNCTION)]
                for i in range(count)]
  prelude = PRELUDES[implementation].format(stem=stem, package=package)
  return prelude + values + '\n'.join(
      function(implementation, i, lines) for i, lines in enumerate(bodies))


def program(writes_event):
  """One that writes an event with another one in it, or nothing."""
  if not writes_event:
    return 'int main() {}\n'
  lines = event(OURS, True)
  return ''.join([
      PRELUDES[OURS].format(stem=EVENT_PROTO[:-len('.proto')],
                            package='protozero::benchmark'),
      '#include "protozero/static_buffer.h"\n', EVENT_VALUES, PROGRAM[0],
      '\n'.join(lines), PROGRAM[1], '\n'.join(lines), PROGRAM[2]])


def stem_of(kind_name):
  return 'measure/' + re.sub(r'\W+', '_', kind_name).strip('_')


def ways_of(implementation, kind_name):
  """The arrangement of call sites. Only our setters have anything that a field
  needs once, other than libprotobuf's serializer; events share fields."""
  if implementation == OURS and not is_event(kind_name):
    return list(COUNTS)
  return [FUNCTIONS, ONE]
