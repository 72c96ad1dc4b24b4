# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The public surface of C++ headers, as a set of facts that can be compared.

A fact is something that a user's code can depend on: a class, a base class, a
function with certain parameters, a constant with its value. Facts are strings
without details that do not matter to callers: names of parameters, of template
parameters and of inline namespaces, noexcept, attributes.
"""

import ctypes
import dataclasses
import re

from clang import cindex
from clang.cindex import AccessSpecifier, CursorKind

LIBCLANG = '/usr/lib/llvm-19/lib/libclang-19.so.1'

_CLASSES = (
    CursorKind.CLASS_DECL,
    CursorKind.STRUCT_DECL,
    CursorKind.CLASS_TEMPLATE,
)
_TEMPLATE_PARAMETERS = (
    CursorKind.TEMPLATE_TYPE_PARAMETER,
    CursorKind.TEMPLATE_NON_TYPE_PARAMETER,
    CursorKind.TEMPLATE_TEMPLATE_PARAMETER,
)
_ALIASES = (
    CursorKind.TYPE_ALIAS_DECL,
    CursorKind.TYPEDEF_DECL,
    CursorKind.TYPE_ALIAS_TEMPLATE_DECL,
)
_FUNCTIONS = (
    CursorKind.CXX_METHOD,
    CursorKind.FUNCTION_DECL,
    CursorKind.CONSTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
    CursorKind.FUNCTION_TEMPLATE,
)
_HIDDEN = (AccessSpecifier.PRIVATE, AccessSpecifier.PROTECTED)

# Left out of the spelling of a type: two headers qualify the same type in
# different ways.
_NAMESPACES = re.compile(
    r'(?<![\w>])(?:::)?'
    r'(?:(?:protozero|proto_utils|std|__cxx11|perfetto|protos|pbzero|v\d\w*)'
    r'::)+')


@dataclasses.dataclass(frozen=True)
class Fact:
  """|name| is the name that users write, |text| the whole fact."""
  name: str
  text: str


def parse(source, arguments):
  """Parses |source|, the text of a file, and returns its cursor."""
  if not cindex.Config.loaded:
    _load_libclang()
  unit = cindex.Index.create().parse(
      'surface.cc',
      args=['-xc++', '-std=c++17', *arguments],
      unsaved_files=[('surface.cc', source)])
  for diagnostic in unit.diagnostics:
    if diagnostic.severity >= cindex.Diagnostic.Error:
      raise RuntimeError(f'does not compile: {diagnostic}')
  return unit.cursor


def facts_of_namespace(root, path):
  """The facts of the namespace |path|, a tuple of names, and of those in it.

  A class has the members of its base classes in the same namespace, too.
  """
  facts = set()
  for cursor in _namespaces(root, path):
    _add_scope(cursor, '::'.join(path), [], facts)
  return facts


def _load_libclang():
  cindex.Config.set_library_file(LIBCLANG)
  # Functions that the bindings lack.
  lib = cindex.conf.lib
  lib.clang_Cursor_isInlineNamespace.argtypes = [cindex.Cursor]
  lib.clang_getSpecializedCursorTemplate.argtypes = [cindex.Cursor]
  lib.clang_getSpecializedCursorTemplate.restype = cindex.Cursor
  lib.clang_Cursor_Evaluate.argtypes = [cindex.Cursor]
  lib.clang_Cursor_Evaluate.restype = ctypes.c_void_p
  lib.clang_EvalResult_getKind.argtypes = [ctypes.c_void_p]
  lib.clang_EvalResult_getAsLongLong.argtypes = [ctypes.c_void_p]
  lib.clang_EvalResult_getAsLongLong.restype = ctypes.c_longlong
  lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
  lib.clang_EvalResult_dispose.restype = None


def _namespaces(cursor, path):
  for child in cursor.get_children():
    if child.kind != CursorKind.NAMESPACE:
      continue
    if _is_inline(child):
      yield from _namespaces(child, path)
    elif child.spelling == path[0]:
      if len(path) == 1:
        yield child
      else:
        yield from _namespaces(child, path[1:])


def _is_inline(namespace):
  return bool(cindex.conf.lib.clang_Cursor_isInlineNamespace(namespace))


def _is_hidden(cursor):
  return (cursor.access_specifier in _HIDDEN or
          cursor.spelling.startswith('_') or cursor.spelling == 'internal')


def _add_scope(scope, path, template_names, facts):
  for cursor in scope.get_children():
    if _is_hidden(cursor):
      continue
    kind = cursor.kind
    if kind == CursorKind.NAMESPACE:
      inner = path
      if not _is_inline(cursor):
        inner += f'::{cursor.spelling}'
      _add_scope(cursor, inner, template_names, facts)
    elif kind in _CLASSES:
      _add_class(cursor, path, template_names, facts)
    elif kind == CursorKind.ENUM_DECL:
      _add_enum(cursor, path, facts)
    elif kind in _FUNCTIONS:
      _add_function(cursor, path, template_names, facts)
    elif kind in _ALIASES:
      _add(facts, 'type', f'{path}::{cursor.spelling}')
    elif kind == CursorKind.FIELD_DECL:
      type_ = _type(cursor.type, template_names)
      _add(facts, 'member', f'{path}::{cursor.spelling}', f': {type_}')
    elif kind == CursorKind.VAR_DECL:
      value = _value(cursor)
      _add(facts, 'constant', f'{path}::{cursor.spelling}',
           '' if value is None else f' = {value}')


def _add(facts, kind, name, rest=''):
  facts.add(Fact(f'{kind} {name}', f'{kind} {name}{rest}'))


def _add_class(cursor, path, template_names, facts):
  if not cursor.is_definition():
    return
  name = f'{path}::{cursor.spelling}'
  own_names = template_names + _template_names(cursor)
  _add(facts, 'class', name, _template_head(cursor))
  _add_bases(cursor, name, own_names, facts)
  _add_scope(cursor, name, own_names, facts)
  kinds = [child.kind for child in cursor.get_children()]
  if CursorKind.CONSTRUCTOR not in kinds:
    _add(facts, 'function', f'{name}::{cursor.spelling}', '()')
  _add_inherited_constructors(cursor, name, facts)


def _add_bases(cursor, name, names, facts):
  for base in cursor.get_children():
    if base.kind != CursorKind.CXX_BASE_SPECIFIER or (
            base.access_specifier != AccessSpecifier.PUBLIC):
      continue
    declaration = base.type.get_declaration()
    _add(facts, 'base', f'{name} : {declaration.spelling}')
    if _outermost_namespace(declaration) != name.split('::')[0]:
      continue
    declaration = _template_of(declaration)
    inner_names = _template_names(declaration)
    _add_bases(declaration, name, inner_names, facts)
    _add_scope(declaration, name, inner_names, facts)


def _template_of(declaration):
  """The template that |declaration| specializes, or |declaration| itself."""
  template = cindex.conf.lib.clang_getSpecializedCursorTemplate(declaration)
  is_none = template is None or template.kind.is_invalid()
  return declaration if is_none else template


def _outermost_namespace(cursor):
  name = ''
  while cursor is not None and cursor.kind != CursorKind.TRANSLATION_UNIT:
    name = cursor.spelling
    cursor = cursor.semantic_parent
  return name


def _add_inherited_constructors(cursor, name, facts):
  children = list(cursor.get_children())
  # A using declaration of constructors is called like the class.
  if not any(c.kind == CursorKind.USING_DECLARATION and
             c.spelling == cursor.spelling for c in children):
    return
  for base in children:
    if base.kind != CursorKind.CXX_BASE_SPECIFIER:
      continue
    declaration = base.type.get_declaration()
    constructors = set()
    for child in _template_of(declaration).get_children():
      if child.kind == CursorKind.CONSTRUCTOR and not _is_hidden(child):
        _add_function(child, declaration.spelling, [], constructors)
    for fact in constructors:
      arguments = fact.text.partition('(')[2]
      _add(facts, 'function', f'{name}::{cursor.spelling}',
           f'({arguments}')


def _add_enum(cursor, path, facts):
  name = f'{path}::{cursor.spelling}'
  if cursor.spelling and 'unnamed' not in cursor.spelling:
    _add(facts, 'enum', name)
  for value in cursor.get_children():
    if value.kind == CursorKind.ENUM_CONSTANT_DECL:
      # Values of an unscoped enum are found without its name.
      scope = name if cursor.is_scoped_enum() else path
      _add(facts, 'constant', f'{scope}::{value.spelling}',
           f' = {value.enum_value}')


def _add_function(cursor, path, template_names, facts):
  if cursor.is_deleted_method():
    return
  own_class = path.split('::')[-1]
  names = template_names + _template_names(cursor)
  name = re.sub(r'<.*', '', cursor.spelling)
  is_constructor = (cursor.kind == CursorKind.CONSTRUCTOR or
                    cursor.semantic_parent.spelling == name)
  if is_constructor and name != own_class:
    return  # A base class's.
  if cursor.kind == CursorKind.FUNCTION_TEMPLATE:
    parameters = [
        child for child in cursor.get_children()
        if child.kind == CursorKind.PARM_DECL
    ]
  else:
    parameters = list(cursor.get_arguments())
  types = [_type(parameter.type, names) for parameter in parameters]
  if cursor.kind == CursorKind.CONVERSION_FUNCTION:
    name = f'operator {_type(cursor.result_type, names)}'
  rest = ' const' if cursor.is_const_method() else ''
  if not is_constructor:
    rest += f' -> {_type(cursor.result_type, names)}'
  if cursor.is_static_method():
    rest += ', static'
  # One for each number of arguments that it can be called with.
  while True:
    text = f'({", ".join(types)}){rest}'
    _add(facts, 'function', f'{path}::{name}', _renumber(text))
    if not types or not _has_default(parameters[len(types) - 1]):
      return
    types.pop()


def _has_default(parameter):
  return any(c.kind.is_expression() for c in parameter.get_children())


def _renumber(text):
  """Numbers template parameters in the order in which they are used."""
  order = []
  for number in re.findall(r'\$\d+', text):
    if number not in order:
      order.append(number)
  return re.sub(r'\$\d+', lambda m: f'${order.index(m.group()) + 1}', text)


def _value(cursor):
  """The value of a constant that is an integer, else None."""
  lib = cindex.conf.lib
  result = lib.clang_Cursor_Evaluate(cursor)
  if not result:
    return None
  kind_of_integers = 1
  value = None
  if lib.clang_EvalResult_getKind(result) == kind_of_integers:
    value = lib.clang_EvalResult_getAsLongLong(result)
  lib.clang_EvalResult_dispose(result)
  return value


def _template_names(cursor):
  return [
      child.spelling for child in cursor.get_children()
      if child.kind in _TEMPLATE_PARAMETERS
  ]


def _template_head(cursor):
  kinds = [
      'typename' if child.kind == CursorKind.TEMPLATE_TYPE_PARAMETER else
      _type(child.type, []) for child in cursor.get_children()
      if child.kind in _TEMPLATE_PARAMETERS
  ]
  return f'<{", ".join(kinds)}>' if kinds else ''


def _type(type_, template_names):
  canonical = type_.get_canonical()
  spelling = type_.spelling
  if canonical.kind == cindex.TypeKind.ENUM:
    # Without scopes and aliases.
    spelling = canonical.spelling.rpartition('::')[2]
  elif spelling == 'auto':
    # The function has its body here, so the type is known.
    spelling = canonical.spelling
  spelling = _NAMESPACES.sub('', spelling)
  spelling = re.sub(r'\b(class|struct|enum|typename) ', '', spelling)
  spelling = re.sub(r'\b(make_(?:un)?signed|conditional)_t(<[^<>]*>)',
                    r'\1\2::type', spelling)
  for index, name in enumerate(template_names):
    if name:
      spelling = re.sub(rf'\b{name}\b', f'${index}', spelling)
  return re.sub(r' (?=[*&>])|(?<=[,<]) ', '', spelling)
