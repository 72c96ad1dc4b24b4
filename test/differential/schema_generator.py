# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Random schemas, and C++ that writes and reads messages of them.

Everything depends on the seed alone. Names are chosen so that nothing has to be
refused: two names of one scope never differ only by case and underscores, which
would clash in JSON or in C++.
"""

import random
import re

SCALARS = {
    # type: (C++ type, builder of a packed field)
    'double': ('double', 'PackedFixedSizeInt<double>'),
    'float': ('float', 'PackedFixedSizeInt<float>'),
    'int32': ('int32_t', 'PackedVarInt'),
    'int64': ('int64_t', 'PackedVarInt'),
    'uint32': ('uint32_t', 'PackedVarInt'),
    'uint64': ('uint64_t', 'PackedVarInt'),
    'sint32': ('int32_t', 'PackedSignedVarInt'),
    'sint64': ('int64_t', 'PackedSignedVarInt'),
    'fixed32': ('uint32_t', 'PackedFixedSizeInt<uint32_t>'),
    'fixed64': ('uint64_t', 'PackedFixedSizeInt<uint64_t>'),
    'sfixed32': ('int32_t', 'PackedFixedSizeInt<int32_t>'),
    'sfixed64': ('int64_t', 'PackedFixedSizeInt<int64_t>'),
    'bool': ('bool', 'PackedVarInt'),
}
MAP_KEYS = [t for t in SCALARS if t not in ('double', 'float')] + ['string']

# Words that mean something to C++ (the plugin adds an underscore where they
# stand bare), to its headers, and to the library and generated code.
KEYWORDS = '''
    alignas and asm auto bitor bool catch char class co_await concept const
    decltype default delete do double else enum explicit export false float for
    friend goto if inline int long mutable namespace new noexcept not nullptr
    operator or private protected public register requires return short signed
    sizeof static struct switch template this throw true try typedef typeid
    typename union unsigned using virtual void volatile while xor
'''.split()
MACROS = 'EOF INT32_MAX NULL errno linux major stdin unix'.split()
TYPES = 'size_t uint32_t'.split()
LIBRARY_WORDS = '''
    Append AppendFields AppendVarInt BeginNestedMessage Decoder EnumField
    FieldNumber FieldWriter Finalize GetName Int32Field Message MessageField
    Packed ProtoSchemaType Repeated Reset RollBackNestedMessage Singular data
    internal is_finalized kFoo message nested_message pbzero proto_utils
    protozero size size_field std string string_view value writer_
'''.split()
ESCAPED_WORDS = KEYWORDS + MACROS + TYPES
HOSTILE_WORDS = ESCAPED_WORDS + LIBRARY_WORDS
WORDS = '''
    alpha beta count delta event flags gauge hash index jitter key label mode
    name offset phase queue ratio span time unit vector weight
'''.split()

BOUNDARY_NUMBERS = [1, 2, 15, 16, 2047, 2048, 262143, 262144, 33554431,
                    33554432, 536870911]
RESERVED_NUMBERS = range(19000, 20000)
EXTENSION_NUMBERS = range(100000, 200000)
INT32_MIN, INT32_MAX = -2**31, 2**31 - 1


def normalize(name):
  return name.lower().replace('_', '')


def escape(name):
  """The plugin's name for a part of a package."""
  return name + '_' if name in ESCAPED_WORDS else name


class HostileNames:
  """Deals HOSTILE_WORDS out, all of them in turns, for each kind of name."""

  def __init__(self, seed):
    self.rng = random.Random(seed)
    self.left = {}

  def next(self, style):
    left = self.left.setdefault(style, [])
    if not left:
      left += HOSTILE_WORDS
      self.rng.shuffle(left)
    return left.pop()


class Scope:
  """Names of one scope that cannot be mixed up with each other."""

  def __init__(self, generator):
    self.rng = generator.rng
    self.hostile_names = generator.hostile_names
    self.taken = set()

  def claim(self, name):
    if normalize(name) in self.taken or not normalize(name):
      return False
    self.taken.add(normalize(name))
    return True

  def new_name(self, style, hostile=0.2):
    while True:
      if self.rng.random() < hostile:
        name = self.hostile_names.next(style)
      else:
        name = self.ordinary_name(style)
      if self.claim(name):
        return name

  def ordinary_name(self, style):
    rng = self.rng
    words = rng.choices(WORDS, k=rng.randint(1, 2))
    if style == 'type':
      name = ''.join(word.capitalize() for word in words)
    elif style == 'value':
      name = '_'.join(words).upper()
    else:
      name = rng.choice(['_', '']).join(words)
    name += rng.choice(['', '', str(rng.randint(0, 99))])
    if style in ('field', 'package') and rng.random() < 0.05:
      name = rng.choice(['_%s', '%s_', '__%s']) % name
    return name


class Enum:

  def __init__(self, schema, full_name, name, values):
    self.schema = schema
    self.full_name = full_name
    self.name = name
    self.values = values  # (name, number)


class Field:

  def __init__(self, name, number, type_name, kind, label):
    self.name = name
    self.number = number
    self.type_name = type_name  # As it is written in the schema.
    # A scalar's name, string, bytes, enum, message or group.
    self.kind = kind
    self.label = label  # '', optional, required, repeated, or oneof
    self.options = []
    self.is_packed = False
    self.is_lazy = False
    self.message = None  # The type of a message or group.
    self.enum = None  # The type of an enum.
    self.c_scope = None  # What precedes the names of its C functions.

  def cpp_name(self):
    """The base of the names of its functions."""
    return self.name.lower()

  def c_setter(self):
    """The name of its C function."""
    verb = 'set'
    if self.kind in ('message', 'group'):
      verb = 'begin'
    elif self.label == 'repeated' and not self.is_packed:
      verb = 'add'
    return '%s_%s_%s' % (self.c_scope, verb, self.cpp_name() if
                         self.kind == 'group' else self.name)

  def is_map(self):
    return self.type_name.startswith('map<')

  def is_number(self):
    return self.kind in SCALARS or self.kind == 'enum'


class Message:

  def __init__(self, schema, full_name, name):
    self.schema = schema
    self.full_name = full_name
    self.name = name
    self.scope = Scope(schema.generator)
    # In C++ a class is a name in itself.
    self.scope.claim(name)
    self.fields = []
    self.oneofs = []  # (name, fields)
    self.messages = []
    self.enums = []
    self.is_map_entry = False
    self.is_group = False
    self.extends = None  # An extension wrapper: the message that it extends.
    self.is_extendable = False
    self.index = schema.generator.next_index()

  def all_messages(self):
    yield self
    for message in self.messages:
      yield from message.all_messages()

  def all_fields(self):
    return self.fields + [field for _, oneof in self.oneofs for field in oneof]

  def c_root(self):
    """The C name of the type that its functions take."""
    return (self.extends or self).full_name.replace('.', '_')

  def decoder(self):
    """The C++ name of its decoder: made-up names yield to names of the
    schema."""
    names = [message.name for message in self.messages]
    if self.full_name == self.schema.package + '.' + self.name:
      names.append(self.name)  # Nested ones are Outer_Decoder.
    for enum in self.enums:
      names += [enum.name] + [name for name, _ in enum.values]
    return 'Decoder_' if 'Decoder' in names else 'Decoder'


class Schema:
  """One file."""

  def __init__(self, generator, path, package, syntax):
    self.generator = generator
    self.path = path
    self.package = package
    self.syntax = syntax
    self.imports = []
    self.enums = []
    self.messages = []

  def all_messages(self):
    for message in self.messages:
      yield from message.all_messages()


class Generator:
  """Makes `count` schemas, which may import earlier ones."""

  def __init__(self, seed, count, prefix, hostile_names):
    self.rng = random.Random(seed)
    self.hostile_names = hostile_names
    self.prefix = prefix
    self.num_messages = 0
    self.schemas = []
    for i in range(count):
      self.schemas.append(self.make_schema(i))

  def next_index(self):
    self.num_messages += 1
    return self.num_messages

  # Schemas

  def make_schema(self, i):
    rng = self.rng
    # The number makes the package unique, with any further parts.
    package = ['%s%d' % (self.prefix, i)]
    parts = Scope(self)
    for _ in range(rng.choice([0, 0, 1, 2])):
      package.append(parts.new_name('package', hostile=0.8))
    path = '%s/%s-%d.proto' % (self.prefix, rng.choice(['a', 'b.c', 'd_e']), i)
    schema = Schema(self, path, '.'.join(package), rng.choice([2, 3]))
    earlier = self.schemas[-10:]
    schema.imports = rng.sample(earlier, min(len(earlier),
                                             rng.choice([0, 0, 1, 2])))
    scope = Scope(self)
    # At the namespace level an enum is three more names.
    for _ in range(rng.randint(0, 2)):
      name = scope.new_name('type')
      if all(scope.claim(name + s) for s in ('MIN', 'MAX', 'Name')):
        schema.enums.append(self.make_enum(
            schema, schema.package, name, scope))
    for _ in range(rng.randint(1, 4)):
      name = scope.new_name('type')
      message = Message(schema, schema.package + '.' + name, name)
      schema.messages.append(message)
      self.add_nested_types(message, name, scope, depth=2)
    for message in list(schema.all_messages()):
      self.add_fields(message)
    for base in list(schema.messages):
      # (Other names have another name in C++.)
      if (schema.syntax == 2 and base.name not in HOSTILE_WORDS and
          rng.random() < 0.4):
        self.add_extensions(base, scope)
    return schema

  def add_extensions(self, base, scope):
    """A message that has only extensions of another one."""
    rng = self.rng
    base.is_extendable = True
    name = scope.new_name('type', hostile=0)
    wrapper = Message(base.schema, base.schema.package + '.' + name, name)
    wrapper.extends = base
    # A setter of the same name would hide the base's.
    wrapper.scope = base.scope
    numbers = set()
    for _ in range(rng.randint(1, 6)):
      field = self.make_field(wrapper, numbers)
      while field.label == 'required' or field.is_map():
        wrapper.messages.clear()
        field = self.make_field(wrapper, numbers)
      field.number = rng.choice(EXTENSION_NUMBERS)
      if field.number not in [other.number for other in wrapper.fields]:
        wrapper.fields.append(field)
    base.schema.messages.append(wrapper)

  def make_enum(self, schema, parent, name, value_scope):
    rng = self.rng
    values = []
    numbers = [rng.choice([0, 1, 2, 3, -1, 127, 128, INT32_MIN, INT32_MAX,
                           rng.randint(INT32_MIN, INT32_MAX)])
               for _ in range(rng.randint(1, 6))]
    if schema.syntax == 3:
      numbers[0] = 0
    for number in numbers:
      value_name = value_scope.new_name('value', hostile=0.1)
      # protoc refuses values that differ by the enum's name only.
      while normalize(value_name).startswith(normalize(name)):
        value_name = value_scope.new_name('value')
      values.append((value_name, number))
    return Enum(schema, parent + '.' + name, name, values)

  def add_nested_types(self, message, flat_name, file_scope, depth):
    """Types in types: at the namespace level they are Outer_Inner."""
    rng = self.rng
    for _ in range(rng.choice([0, 0, 1, 2])):
      name = message.scope.new_name('type')
      flat = flat_name + name
      if file_scope.claim(flat) and all(
          file_scope.claim(flat + s) for s in ('MIN', 'MAX', 'Name')):
        message.scope.claim(name + 'Name')
        message.enums.append(self.make_enum(
            message.schema, message.full_name, name, message.scope))
    if depth == 0:
      return
    for _ in range(rng.choice([0, 0, 1, 2])):
      name = message.scope.new_name('type')
      if file_scope.claim(flat_name + name):
        nested = Message(message.schema, message.full_name + '.' + name, name)
        message.messages.append(nested)
        self.add_nested_types(nested, flat_name + name, file_scope, depth - 1)
    if message.schema.syntax == 2 and rng.random() < 0.3:
      # A type and a field. The field has the type's name in lower case.
      name = message.scope.new_name('type', hostile=0)
      if file_scope.claim(flat_name + name):
        group = Message(message.schema, message.full_name + '.' + name, name)
        group.is_group = True
        message.messages.append(group)
        self.add_nested_types(group, flat_name + name, file_scope, depth - 1)

  # Fields

  def usable_messages(self, schema):
    for other in [schema] + schema.imports:
      for message in other.all_messages():
        if not (message.is_map_entry or message.is_group or message.extends):
          yield message

  def usable_enums(self, schema):
    for other in [schema] + schema.imports:
      # proto3 wants no enums of proto2.
      if schema.syntax == 3 and other.syntax == 2:
        continue
      yield from other.enums
      for message in other.all_messages():
        yield from message.enums

  def new_number(self, taken):
    rng = self.rng
    while True:
      number = rng.choice([
          rng.randint(1, 20), rng.randint(1, 3000),
          rng.choice(BOUNDARY_NUMBERS), rng.randint(1, 536870911)])
      if not (number in taken or number in RESERVED_NUMBERS or
              number in EXTENSION_NUMBERS):
        taken.add(number)
        return number

  def add_fields(self, message):
    rng = self.rng
    numbers = set()
    for _ in range(rng.choice([0, 1, 3, 6, 10, 15])):
      message.fields.append(self.make_field(message, numbers))
    for _ in range(rng.choice([0, 0, 0, 1])):
      name = message.scope.new_name('field')
      fields = [self.make_field(message, numbers, in_oneof=True)
                for _ in range(rng.randint(1, 4))]
      message.oneofs.append((name, fields))
    for group in message.messages:
      if group.is_group:
        field = Field(group.name.lower(), self.new_number(numbers), group.name,
                      'group', rng.choice(['optional', 'required', 'repeated']))
        field.message = group
        if message.oneofs and rng.random() < 0.3:
          field.label = 'oneof'
          message.oneofs[0][1].append(field)
        else:
          message.fields.append(field)

  def random_type(self, schema):
    """Returns the name in the schema, the kind and the type of messages and
    enums."""
    rng = self.rng
    choice = rng.random()
    if choice < 0.2:
      target = rng.choice(list(self.usable_messages(schema)))
      return '.' + target.full_name, 'message', target
    enums = list(self.usable_enums(schema))
    if choice < 0.3 and enums:
      target = rng.choice(enums)
      return '.' + target.full_name, 'enum', target
    if choice < 0.45:
      kind = rng.choice(['string', 'bytes'])
    else:
      kind = rng.choice(list(SCALARS))
    return kind, kind, None

  def make_field(self, message, numbers, in_oneof=False):
    rng = self.rng
    schema = message.schema
    name = message.scope.new_name('field')
    number = self.new_number(numbers)
    if not in_oneof and rng.random() < 0.08:
      return self.make_map_field(message, name, number)
    type_name, kind, target = self.random_type(schema)
    field = Field(name, number, type_name, kind, '')
    if kind == 'enum':
      field.enum = target
    else:
      field.message = target
    if in_oneof:
      field.label = 'oneof'
    elif rng.random() < 0.35:
      field.label = 'repeated'
    elif schema.syntax == 2:
      field.label = rng.choice(['optional', 'optional', 'required'])
    else:
      field.label = rng.choice(['', '', 'optional'])
    if field.label == 'repeated' and (kind in SCALARS or kind == 'enum'):
      packed = rng.choice([None, True, False])
      field.is_packed = schema.syntax == 3 if packed is None else packed
      if packed is not None:
        field.options.append('packed = %s' % str(packed).lower())
    if (schema.syntax == 2 and field.label != 'repeated' and
        kind != 'message' and rng.random() < 0.4):
      field.options.append('default = %s' % self.default_value(field))
    if (kind == 'message' and rng.random() < 0.1 and
        message.scope.claim(name + 'raw')):
      field.is_lazy = True
      field.options.append('lazy = true')
    return field

  def default_value(self, field):
    rng = self.rng
    if field.kind == 'enum':
      return rng.choice(field.enum.values)[0]
    if field.kind == 'string':
      return rng.choice(['"text"', r'"\"\\?\n"',
                         '"caf\u00e9 \U0001f600"', '""'])
    if field.kind == 'bytes':
      return rng.choice([r'"\000\001\377"', r'"\0009"', '"??/"'])
    if field.kind == 'bool':
      return rng.choice(['true', 'false'])
    if field.kind in ('double', 'float'):
      return rng.choice(['inf', '-inf', 'nan', '-0', '1e38', '-1.5', '3e-45',
                         '0.1', '7'])
    bits = 64 if field.kind.endswith('64') else 32
    is_unsigned = field.kind.startswith(('u', 'fixed'))
    low = 0 if is_unsigned else -2**(bits - 1)
    high = 2**bits - 1 if is_unsigned else 2**(bits - 1) - 1
    return str(rng.choice([low, high, 0, 1, rng.randint(low, high)]))

  def make_map_field(self, message, name, number):
    key = self.rng.choice(MAP_KEYS)
    value_name, value_kind, target = self.random_type(message.schema)
    while value_kind == 'enum':  # Would have to begin with zero.
      value_name, value_kind, target = self.random_type(message.schema)
    # In C++ and in libprotobuf an entry is a message of two fields.
    entry = Message(message.schema, '', '')
    entry.is_map_entry = True
    entry.fields = [Field('key', 1, key, key, 'optional'),
                    Field('value', 2, value_name, value_kind, 'optional')]
    entry.fields[1].message = target
    for part in entry.fields:
      # The name that protoc gives it.
      part.c_scope = (message.full_name.replace('.', '_') + '_' + re.sub(
          '(?:^_*|_+)(.?)', lambda match: match[1].upper(), name) + 'Entry')
    message.scope.claim(name + 'Entry')  # protoc makes it up.
    field = Field(name, number, 'map<%s, %s>' % (key, value_name), 'message',
                  'repeated')
    field.message = entry
    message.messages.append(entry)
    return field


# Text


def proto_text(schema):
  lines = ['syntax = "proto%d";' % schema.syntax,
           'package %s;' % schema.package]
  lines += ['import "%s";' % other.path for other in schema.imports]
  for enum in schema.enums:
    lines += enum_lines(enum)
  for message in schema.messages:
    lines += message_lines(message)
  return '\n'.join(lines) + '\n'


def enum_lines(enum):
  lines = ['enum %s {' % enum.name]
  numbers = [number for _, number in enum.values]
  if len(set(numbers)) < len(numbers):
    lines.append('  option allow_alias = true;')
  lines += ['  %s = %d;' % value for value in enum.values]
  return lines + ['}']


def field_line(field):
  label = field.label + ' '
  if field.label in ('', 'oneof') or field.is_map():
    label = ''
  options = ' [%s]' % ', '.join(field.options) if field.options else ''
  return '  %s%s %s = %d%s;' % (label, field.type_name, field.name,
                                field.number, options)


def field_lines(field):
  if field.kind != 'group':
    return [field_line(field)]
  label = '' if field.label == 'oneof' else field.label + ' '
  return (['  %sgroup %s = %d {' % (label, field.type_name, field.number)] +
          ['  ' + line for line in body_lines(field.message)] + ['  }'])


def message_lines(message):
  lines = ['message %s {' % message.name]
  if message.extends:
    lines.append('  extend .%s {' % message.extends.full_name)
    lines += ['  ' + line for line in body_lines(message)]
    lines.append('  }')
  else:
    lines += body_lines(message)
  return lines + ['}']


def body_lines(message):
  lines = []
  if message.is_extendable:
    lines.append('  extensions %d to %d;' % (EXTENSION_NUMBERS[0],
                                             EXTENSION_NUMBERS[-1]))
  for enum in message.enums:
    lines += ['  ' + line for line in enum_lines(enum)]
  for nested in message.messages:
    if not (nested.is_map_entry or nested.is_group):
      lines += ['  ' + line for line in message_lines(nested)]
  for field in message.fields:
    lines += field_lines(field)
  for name, fields in message.oneofs:
    lines.append('  oneof %s {' % name)
    for field in fields:
      lines += ['  ' + line for line in field_lines(field)]
    lines.append('  }')
  return lines


def map_argument(field):
  """C++ that records the key or value of a map's entry `c`, and returns it."""
  if field.kind in ('string', 'bytes'):
    return 'std::string(c.String(%d))' % field.number
  return 'c.Number<%s>(%d)' % (SCALARS[field.kind][0], field.number)


def set_statement(field, rng):
  """C++ that writes `field` of `m` and records it in `r`; and the same with the
  plugin's C functions, which records the same values."""
  cpp_type, builder = SCALARS.get(field.kind, (None, None))
  # In C, a field is set in one way.
  c_template = '{c}(m, r.Number<{cpp_type}>({id}));'
  if field.is_packed:
    c_template = ('{{ const Array<{cpp_type}> v(r.List<{cpp_type}>({id}));'
                  ' {c}(m, v.data(), v.size()); }}')
    if field.kind == 'enum':
      template = '{set}(r.PackedEnums({id}));'
      c_template = ('{{ const std::vector<int32_t> v = r.ListOfEnums({id});'
                    ' {c}(m, v.data(), v.size()); }}')
    elif field.kind != 'bool' and rng.random() < 0.5:
      template = ('{{ const std::vector<{cpp_type}> v ='
                  ' r.List<{cpp_type}>({id}); {set}(v.data(), v.size()); }}')
    else:
      template = '{set}(r.PackedNumbers<{builder}, {cpp_type}>({id}));'
  elif field.is_map() and rng.random() < 0.5:
    key, value = field.message.fields
    record = '{{ Recorder c = r.Child({id}); const auto k = %s;' % (
        map_argument(key))
    c_begin = (record + ' auto e = NewChild({c}); {c}(m, &e); ' +
               c_map_statement(key, 'k'))
    if value.message:
      template = record + ' auto* v = {set}(k); Write%d(v, c.Child(2)); }}' % (
          value.message.index)
      c_template = c_begin + (
          ' auto v = NewChild(%s); %s(&e, &v); WriteC%d(&v, c.Child(2));'
          ' pbz_end(&v.message); pbz_end(&e.message); }}' % (
              value.c_setter(), value.c_setter(), value.message.index))
    else:
      record_value = ' const auto v = %s;' % map_argument(value)
      template = record + record_value + ' {set}(k, v); }}'
      c_template = (c_begin + record_value + ' ' + c_map_statement(value, 'v') +
                    ' pbz_end(&e.message); }}')
  elif field.kind in ('message', 'group'):
    template = 'Write{index}({set}(), r.Child({id}));'
    c_template = ('{{ auto c = NewChild({c}); {c}(m, &c);'
                  ' WriteC{index}(&c, r.Child({id})); pbz_end(&c.message); }}')
    if field.is_lazy and rng.random() < 0.5:
      template = '{set}_raw(r.Raw({id}));'
      c_template = ('{{ const std::string& v = r.Raw({id});'
                    ' pbz_append_bytes(&m->message, {id}, v.data(),'
                    ' v.size()); }}')
  elif field.kind == 'enum':
    template = '{set}(r.Enum({id}));'
    c_template = '{c}(m, r.Enum({id}).number);'
  elif field.kind in ('string', 'bytes'):
    sized = '{c}' if field.kind == 'bytes' else '{c}_n'
    c_template = ('{{ const std::string& v = r.String({id}); %s(m, v.data(),'
                  ' v.size()); }}' % sized)
    templates = [
        '{set}(r.String({id}));',
        '{{ const std::string& v = r.String({id});'
        ' {set}(v.data(), v.size()); }}',
        '{set}(r.Chars({id}));',
    ]
    if field.kind == 'bytes':
      templates = templates[:1] + [
          '{set}(r.Bytes({id}));',
          '{{ const std::vector<uint8_t>& v = r.Bytes({id});'
          ' {set}(v.data(), v.size()); }}',
      ]
    template = rng.choice(templates)
    if 'r.Bytes' in template:
      c_template = ('{{ const std::vector<uint8_t>& v = r.Bytes({id});'
                    ' {c}(m, v.data(), v.size()); }}')
  else:
    template = '{set}(r.Number<{cpp_type}>({id}));'
  adds = field.label == 'repeated' and not field.is_packed
  return [t.format(
      set='m->%s_%s' % ('add' if adds else 'set', field.cpp_name()),
      c=field.c_setter(), id=field.number,
      index=field.message.index if field.message else None, builder=builder,
      cpp_type=cpp_type) for t in (template, c_template)]


def c_map_statement(field, value):
  """C that sets the key or value of the map's entry `e`."""
  if field.kind in ('string', 'bytes'):
    return '%s%s(&e, %s.data(), %s.size());' % (
        field.c_setter(), '_n' if field.kind == 'string' else '', value, value)
  return '%s(&e, %s);' % (field.c_setter(), value)


def read_statements(field):
  """C++ that reads `field` of `d`, tells `r`, and writes it to `m`."""
  cpp_type, builder = SCALARS.get(field.kind, (None, None))
  adds = field.label == 'repeated'
  if field.is_packed:
    if field.kind == 'enum':
      builder = 'PackedVarInt'
      values, value = 'd.{name}_enum(&error)', 'static_cast<int32_t>(*it)'
    else:
      values, value = 'd.{get}(&error)', '*it'
    lines = ['{{', '  bool error = false;', '  {builder} packed;',
             '  for (auto it = %s; it; ++it) {{' % values,
             '    r.Add({id}, %s);' % value,
             '    packed.Append(%s);' % value, '  }}', '  r.Packed(error);',
             '  if (packed.size() != 0)', '    {set}(packed);', '}}']
  elif field.is_number() and adds:
    lines = ['{{', '  bool error = false;',
             '  for (auto it = d.{get}(&error); it; ++it) {{',
             '    r.Add({id}, *it);']
    if field.kind == 'enum':
      lines.append('    {set}(AnyEnum{{*it}});')
    else:
      lines.append('    {set}(*it);')
    lines += ['  }}', '  r.Packed(error);', '}}']
  elif field.kind == 'enum':
    lines = ['if (r.Enum({id}, d.has_{name}(), d.{get}(), d.{name}_enum()))',
             '  {set}(d.{name}_enum());']
  elif field.kind in ('message', 'group') and adds:
    lines = ['for (auto it = d.{get}(); it; ++it)',
             '  Read{index}(r.Child({id}, *it), {set}());']
  elif field.kind in ('message', 'group'):
    lines = ['for (ConstBytes b : r.Messages({id}, d.has_{name}(), d.{get}()))',
             '  Read{index}(r.Child({id}, b), {set}());']
  elif adds:
    lines = ['for (auto it = d.{get}(); it; ++it) {{', '  r.Add({id}, *it);',
             '  {set}(*it);', '}}']
  else:
    lines = ['if (r.Value({id}, d.has_{name}(), d.{get}()))',
             '  {set}(d.{get}());']
  adds = adds and not field.is_packed
  return [line.format(
      set='m->%s_%s' % ('add' if adds else 'set', field.cpp_name()),
      name=field.cpp_name(), get=escape(field.cpp_name()), id=field.number,
      builder=builder, cpp_type=cpp_type,
      index=field.message.index if field.message else None) for line in lines]


def read_function(message, namespaces):
  """C++ of the function that reads all fields of a message."""
  lines = ['template <typename M>',
           'void Read%d([[maybe_unused]] Reader r, [[maybe_unused]] M* m) {' %
           message.index,
           '  if (r.IsTooDeep())',
           '    return;']
  if message.extends:
    # The decoder of a wrapper knows the extensions only.
    base = '::' + '::'.join(namespaces + [escape(message.extends.name)])
    lines.append('  Read%d<%s>(r, m);' % (message.extends.index, base))
  lines.append('  const typename M::%s d(r.bytes());' % message.decoder())
  for field in message.all_fields():
    lines += ['  ' + line for line in read_statements(field)]
  for name, _ in message.oneofs:
    lines.append('  r.Oneof("%s", static_cast<int32_t>(d.%s_case()));' %
                 (name, name))
  return lines + ['  r.Status(d);', '}']


def set_c_scopes(message):
  for field in message.all_fields():
    if field.c_scope is None:
      field.c_scope = message.full_name.replace('.', '_')


def driver_text(schemas, wrapper, function, rng):
  """C++ that writes and reads messages of all `schemas`. Defines `function`,
  which returns the list of them."""
  lines = ['#include "test/differential/differential_case.h"', '']
  lines += ['#include "%s"' % schema.path.replace('.proto', suffix)
            for suffix in ('.pbzero.h', '.pbzero_c.h') for schema in schemas]
  lines += ['', 'namespace protozero::test {', 'namespace {', '']
  messages = [message for schema in schemas
              for message in schema.all_messages()]
  for message in messages:
    set_c_scopes(message)
  for message in messages:
    lines += ['template <typename M> void Write%d(M* m, Recorder r);' %
              message.index,
              'template <typename M> void WriteC%d(M* m, Recorder r);' %
              message.index,
              'template <typename M> void Read%d(Reader r, M* m);' %
              message.index]
  for message in messages:
    fields = message.all_fields()
    if message.extends:
      fields = fields + message.extends.all_fields()
    statements = [set_statement(field, rng) for field in fields]
    for is_c in (False, True):
      lines += ['', '// %s' % (message.full_name or 'the entry of a map'),
                'template <typename M>',
                'void Write%s%d([[maybe_unused]] M* m, Recorder r) {' %
                ('C' if is_c else '', message.index)]
      if fields:
        lines += ['  const int count = r.Count(%d);' % len(fields),
                  '  for (int i = 0; i < count; ++i) {',
                  '    switch (r.Pick(%d, i)) {' % len(fields)]
        for i, statement in enumerate(statements):
          lines += ['      case %d:' % i,
                    '        ' + statement[is_c],
                    '        break;']
        lines += ['    }', '  }']
      else:
        lines.append('  r.Count(0);')
      lines += ['}', '']
    namespaces = [escape(part) for part in message.schema.package.split('.')]
    lines += read_function(message, namespaces + [wrapper] if wrapper else
                           namespaces)

  lines += ['', '}  // namespace', '',
            'std::vector<DifferentialCase> %s();' % function,
            'std::vector<DifferentialCase> %s() {' % function,
            '  return {']
  for schema in schemas:
    namespaces = [escape(part) for part in schema.package.split('.')]
    namespaces += [wrapper] if wrapper else []
    for message in schema.messages:
      if message.name in HOSTILE_WORDS:
        continue  # Has another name in C++. Written as part of others.
      root = '::' + '::'.join(namespaces + [escape(message.name)])
      lines.append(
          '      MakeDifferentialCase<%s, Write%d<%s>, Read%d<%s>, ::%s,'
          ' WriteC%d<::%s>>("%s", "%s"),' %
          (root, message.index, root, message.index, root,
           message.c_root(), message.index, message.c_root(),
           (message.extends or message).full_name,
           message.full_name if message.extends else ''))
  lines += ['  };', '}', '', '}  // namespace protozero::test']
  return '\n'.join(lines) + '\n'


def all_cases_text(functions, descriptor_set):
  """C++ that defines AllDifferentialCases() and DifferentialDescriptors()."""
  lines = ['#include "test/differential/differential_case.h"',
           'namespace protozero::test {']
  lines += ['std::vector<DifferentialCase> %s();' % f for f in functions]
  lines += ['std::vector<DifferentialCase> AllDifferentialCases() {',
            '  std::vector<DifferentialCase> all;',
            '  for (auto* cases : {%s}) {' % ', '.join(functions),
            '    for (const DifferentialCase& c : cases())',
            '      all.push_back(c);',
            '  }',
            '  return all;', '}',
            # Not a string literal: standard C++ limits their size.
            'static constexpr unsigned char kDescriptors[] = {',
            ','.join(str(byte) for byte in descriptor_set), '};',
            'std::string_view DifferentialDescriptors() {',
            '  return {reinterpret_cast<const char*>(kDescriptors),',
            '          sizeof(kDescriptors)};', '}',
            '}  // namespace protozero::test']
  return '\n'.join(lines) + '\n'
