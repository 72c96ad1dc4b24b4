# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Finds what can be mutated in a C++ file, and writes files with many mutants.

Called by tools/mutants. clang's syntax tree says where operators, constants,
conditions and statements are. A mutated file has all of its mutants compiled
in; the environment variable PROTOZERO_MUTANT has the number of the one that is
alive:

  if (size < limit)     if ((mutants::Is(17) ? (size <= limit) : size < limit))

Left out is what a compiler evaluates: static assertions, constexpr variables,
template arguments, case labels and bounds of arrays. So are the initializers of
members, operators that are functions, and macros (but not their arguments).
"""

import ctypes
import dataclasses
import re

OPERATORS = {
    '<': ('<=', '>='), '<=': ('<', '>'), '>': ('>=', '<='), '>=': ('>', '<'),
    '==': ('!=',), '!=': ('==',), '&&': ('||',), '||': ('&&',),
    '+': ('-',), '-': ('+',), '*': ('/',), '/': ('*',), '%': ('*',),
    '<<': ('>>',), '>>': ('<<',), '&': ('|',), '|': ('&',), '^': ('&',),
    '+=': ('-=',), '-=': ('+=',), '*=': ('/=',), '/=': ('*=',),
    '<<=': ('>>=',), '>>=': ('<<=',), '&=': ('|=',), '|=': ('&=',),
}
LITERAL = re.compile(r"(0|0[xX][0-9a-fA-F']+|[1-9][0-9']*)([uUlL]*)")
CONSTANT = re.compile(r'(?:\w+::)*k[A-Z]\w*')
# Text that is not code. (A quote between digits separates them.)
NO_CODE = re.compile(r'"(?:\\.|[^"\\])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\])*\''
                     r'|//[^\n]*|/\*.*?\*/', re.S)

# Included first by each mutated file. PROTOZERO_MUTANTS_REACHED is the path of
# a file with a byte for each mutant, which is 1 if the mutant was reached.
HEADER = r'''#ifndef PROTOZERO_MUTANTS_H_
#define PROTOZERO_MUTANTS_H_
#pragma clang diagnostic ignored "-Weverything"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
namespace mutants {
inline int alive = -1;
inline unsigned char* reached = nullptr;
__attribute__((constructor(101))) inline void Begin() {
  if (const char* number = getenv("PROTOZERO_MUTANT"))
    alive = atoi(number);
  const char* path = getenv("PROTOZERO_MUTANTS_REACHED");
  if (!path || reached)
    return;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  struct stat status;
  if (file < 0 || fstat(file, &status))
    return;
  void* bytes = mmap(nullptr, status.st_size, PROT_READ | PROT_WRITE,
                     MAP_SHARED, file, 0);
  if (bytes != MAP_FAILED)
    reached = static_cast<unsigned char*>(bytes);
  close(file);
}
inline bool Is(int number) {
  if (reached)
    reached[number] = 1;
  return alive == number;
}
// In functions that a compiler may evaluate. Is() makes a constant expression
// an error, so that no mutant is in one.
constexpr bool IsConstexpr(int number) {
  return !__builtin_is_constant_evaluated() && Is(number);
}
}  // namespace mutants
#endif
'''


@dataclasses.dataclass
class Mutant:
  """One change of one place."""
  path: str
  function: str
  start: int  # Of the expression or statement; bytes of the file.
  end: int
  operator: tuple  # Where in it the text is that changes, (start, end), or ().
  new: str  # What becomes of that text; of a condition; 'delete'.
  is_constexpr: bool
  text: str = ''  # Names it, together with path and function.

  @property
  def key(self):
    return '%s: %s: %s' % (self.path, self.function, self.text)


def flatten(text):
  """The code of a text in one line."""
  code = NO_CODE.sub(lambda m: ' ' if m[0].startswith('/') else m[0], text)
  return ' '.join(code.split())


class _Finder:
  """Finds the mutants of one file."""

  def __init__(self, cindex, path, text):
    self.cindex = cindex
    self.kinds = cindex.CursorKind
    self.path = path
    self.text = text
    self.found = []
    self.function = ''
    self.is_constexpr = False

  def extent(self, cursor):
    """The place in the text, or None. For a macro's argument, its text."""
    ends = []
    for location in cursor.extent.start, cursor.extent.end:
      file, offset = ctypes.c_void_p(), ctypes.c_uint()
      self.cindex.conf.lib.clang_getFileLocation(
          location, ctypes.byref(file), None, None, ctypes.byref(offset))
      ends.append(offset.value)
    start, end = ends
    text = self.text[start:end]
    if start >= end or '\n#' in text or text.count('(') != text.count(')'):
      return None
    return start, end

  def add(self, extent, operator, new):
    self.found.append(Mutant(self.path, self.function, *extent, operator, new,
                             self.is_constexpr))

  def find(self, cursor):
    """Walks declarations."""
    kinds = self.kinds
    for child in cursor.get_children():
      if str(child.location.file) != self.path_of_main:
        continue
      if child.kind in (kinds.FUNCTION_DECL, kinds.CXX_METHOD,
                        kinds.CONSTRUCTOR, kinds.DESTRUCTOR,
                        kinds.CONVERSION_FUNCTION, kinds.FUNCTION_TEMPLATE):
        self.find_in_function(child)
      elif child.kind in (kinds.NAMESPACE, kinds.CLASS_DECL, kinds.STRUCT_DECL,
                          kinds.CLASS_TEMPLATE, kinds.LINKAGE_SPEC,
                          kinds.CLASS_TEMPLATE_PARTIAL_SPECIALIZATION,
                          kinds.UNEXPOSED_DECL):
        self.find(child)

  def find_in_function(self, function):
    body = [child for child in function.get_children()
            if child.kind == self.kinds.COMPOUND_STMT]
    if not body:
      return
    names = []
    scope = function
    while scope and scope.kind != self.kinds.TRANSLATION_UNIT:
      if scope.kind != self.kinds.NAMESPACE:
        names.insert(0, re.sub(r'<.*>', '', scope.spelling))
      scope = scope.semantic_parent
    self.function = '::'.join(names)
    start = function.extent.start.offset
    self.is_constexpr = ('constexpr' in
                         self.text[start:body[0].extent.start.offset])
    for statement in body[0].get_children():
      self.visit(statement, is_statement=True)

  def visit(self, cursor, is_statement=False, is_literal_fixed=False):
    """Adds the mutants of a statement or expression and of its parts."""
    kinds = self.kinds
    kind = cursor.kind
    if kind in (kinds.STATIC_ASSERT, kinds.CXX_UNARY_EXPR, kinds.TYPE_REF,
                kinds.TEMPLATE_REF, kinds.TYPE_ALIAS_DECL, kinds.ENUM_DECL):
      return
    extent = self.extent(cursor)
    if is_statement and extent:
      self.add_deletion(cursor, extent)
    children = list(cursor.get_children())
    if kind == kinds.DECL_REF_EXPR:
      if extent and not is_literal_fixed:
        self.add_constant(cursor, extent)
      return  # The rest are arguments of templates.
    if kind == kinds.VAR_DECL:
      if 'constexpr' in self.text[cursor.extent.start.offset:
                                  cursor.location.offset]:
        return
      for child in children:
        if self.text[child.extent.start.offset - 1] != '[':  # Not of an array.
          self.visit(child)
      return
    if kind == kinds.CASE_STMT:
      for child in children[1:]:
        self.visit(child, is_statement=True)
      return
    if kind in (kinds.IF_STMT, kinds.WHILE_STMT, kinds.CONDITIONAL_OPERATOR):
      if kind == kinds.IF_STMT and extent and re.match(
          r'if\s+constexpr', self.text[extent[0]:]):
        children = children[1:]
      elif not children[0].kind.is_declaration() and (
          children[0].kind != kinds.DECL_STMT):
        self.add_condition(children[0], is_loop=kind == kinds.WHILE_STMT)
    elif kind == kinds.BINARY_OPERATOR or (
        kind == kinds.COMPOUND_ASSIGNMENT_OPERATOR):
      if extent and len(children) == 2:
        self.add_binary(children, extent)
    elif kind == kinds.UNARY_OPERATOR and extent:
      self.add_unary(extent)
    elif kind in (kinds.INTEGER_LITERAL, kinds.CXX_BOOL_LITERAL_EXPR):
      if extent and not is_literal_fixed:
        self.add_literal(extent)
    for number, child in enumerate(children):
      has_statements = kind in (kinds.COMPOUND_STMT, kinds.DEFAULT_STMT) or (
          kind in (kinds.IF_STMT, kinds.WHILE_STMT, kinds.FOR_STMT,
                   kinds.CXX_FOR_RANGE_STMT) and number == len(children) - 1 or
          kind == kinds.IF_STMT and number == len(children) - 2 and number > 0)
      self.visit(child, has_statements, kind == kinds.MEMBER_REF_EXPR)

  def add_deletion(self, cursor, extent):
    kinds = self.kinds
    text = self.text[extent[0]:extent[1]]
    if (cursor.kind in (kinds.CALL_EXPR, kinds.BINARY_OPERATOR,
                        kinds.COMPOUND_ASSIGNMENT_OPERATOR,
                        kinds.UNARY_OPERATOR, kinds.UNEXPOSED_EXPR,
                        kinds.BREAK_STMT, kinds.CONTINUE_STMT,
                        kinds.CXX_DELETE_EXPR) or
        text.startswith('PROTOZERO_DCHECK(') or
        cursor.kind == kinds.RETURN_STMT and text == 'return'):
      if re.match(r'\[\[|static_cast<void>', text) is None:
        self.add(extent, (), 'delete')

  def add_condition(self, cursor, is_loop):
    extent = self.extent(cursor)
    if not extent or self.text[extent[0]:extent[1]] in ('true', 'false'):
      return
    if not is_loop:
      self.add(extent, (), 'true')
    self.add(extent, (), 'false')

  def add_binary(self, operands, extent):
    left, right = [self.extent(operand) for operand in operands]
    if not left or not right or left[0] != extent[0] or right[1] != extent[1]:
      return
    between = self.text[left[1]:right[0]]
    operator = flatten(between)
    if operator not in OPERATORS or between.count(operator) != 1:
      return
    pointer = self.cindex.TypeKind.POINTER
    pointers = [operand.type.get_canonical().kind == pointer
                for operand in operands]
    if operator in ('+', '-') and pointers[1]:
      return  # The other one of the two has no meaning.
    at = left[1] + between.index(operator)
    for new in OPERATORS[operator]:
      self.add(extent, (at, at + len(operator)), new)

  def add_unary(self, extent):
    start, end = extent
    text = self.text[start:end]
    if text.startswith('!') or text.startswith('~'):
      self.add(extent, (start, start + 1), '!!' if text[0] == '!' else '+')
    for operator, new in ('++', '--'), ('--', '++'):
      if text.startswith(operator):
        self.add(extent, (start, start + 2), new)
      elif text.endswith(operator):
        self.add(extent, (end - 2, end), new)

  def add_literal(self, extent):
    text = self.text[extent[0]:extent[1]]
    if text in ('true', 'false'):
      self.add(extent, extent, 'false' if text == 'true' else 'true')
      return
    match = LITERAL.fullmatch(text)
    if match:
      value = int(match[1].replace("'", ''), 0)
      changed = [value + 1, value - 1] if value > 1 else [1 - value]
      for new in changed:
        self.add(extent, extent, '%d%s' % (new, match[2]))

  def add_constant(self, cursor, extent):
    text = self.text[extent[0]:extent[1]]
    kinds = self.cindex.TypeKind
    if (cursor.referenced and
        cursor.referenced.kind == self.kinds.VAR_DECL and
        CONSTANT.fullmatch(text) and cursor.type.get_canonical().kind in (
            kinds.CHAR_S, kinds.UCHAR, kinds.USHORT, kinds.UINT, kinds.ULONG,
            kinds.SHORT, kinds.INT, kinds.LONG)):
      self.add(extent, extent, text + ' + 1')

  def name_mutants(self):
    """Gives each the text of its lines, with the change in braces."""
    seen = {}
    for mutant in self.found:
      at, end = mutant.operator or (mutant.start, mutant.end)
      begin = self.text.rfind('\n', 0, at) + 1
      last = self.text.find('\n', end)
      if mutant.new == 'delete':
        text = '{delete} ' + flatten(self.text[at:end])
      else:
        text = flatten('%s{%s => %s}%s' % (
            self.text[begin:at], self.text[at:end], mutant.new,
            self.text[end:last]))
      key = (mutant.function, text)
      seen[key] = seen.get(key, 0) + 1
      mutant.text = text if seen[key] == 1 else '%s #%d' % (text, seen[key])


def find_mutants(root, path, flags):
  """Returns all mutants of the file |path| in the folder |root|."""
  # Missing on machines that mutate nothing.
  from clang import cindex  # pylint: disable=import-outside-toplevel
  if not cindex.Config.loaded:
    cindex.Config.set_library_file('libclang-19.so.1')
  full = '%s/%s' % (root, path)
  with open(full, encoding='latin-1') as f:
    text = f.read()
  unit = cindex.Index.create().parse(full, ['-x', 'c++'] + flags)
  errors = [str(each) for each in unit.diagnostics if each.severity >= 3]
  if errors:
    raise RuntimeError('%s: %s' % (path, errors[0]))
  finder = _Finder(cindex, path, text)
  finder.path_of_main = full
  finder.find(unit.cursor)
  unique = {}
  for mutant in finder.found:
    unique.setdefault((mutant.start, mutant.end, mutant.operator, mutant.new),
                      mutant)
  finder.found = sorted(unique.values(), key=lambda m: (m.start, -m.end))
  finder.name_mutants()
  return finder.found


def mutated_text(text, numbered, header):
  """Returns |text| with |numbered| mutants, (number, mutant), in its lines."""
  sites = {}
  for number, mutant in numbered:
    sites.setdefault((mutant.start, mutant.end), []).append((number, mutant))
  order = sorted(sites, key=lambda site: (site[0], -site[1]))

  def render(start, end, outer):
    """The text from start to end, with the sites within |outer| mutated."""
    result = []
    for site in order:
      if site[0] >= start and site[1] <= end and site != outer and (
          outer is None or outer[0] <= site[0] and site[1] <= outer[1]):
        result += [text[start:site[0]], render_site(site)]
        start = site[1]
    return ''.join(result) + text[start:end]

  def render_site(site):
    start, end = site
    code = render(start, end, site)
    prefix = ''
    for number, mutant in sites[site]:
      if mutant.operator:
        at, behind = mutant.operator
        changed = flatten(render(start, at, site) + mutant.new +
                          render(behind, end, site))
        code = '(%s ? (%s) : (%s))' % (is_alive(number, mutant), changed, code)
    for number, mutant in sites[site]:
      if mutant.new == 'true' and not mutant.operator:
        code = '(%s || (%s))' % (is_alive(number, mutant), code)
      elif mutant.new == 'false' and not mutant.operator:
        code = '(!%s && (%s))' % (is_alive(number, mutant), code)
      elif mutant.new == 'delete':
        prefix = 'if (%s) {} else ' % is_alive(number, mutant)
    return prefix + code

  def is_alive(number, mutant):
    return 'mutants::%s(%d)' % (
        'IsConstexpr' if mutant.is_constexpr else 'Is', number)

  return '#include "%s"\n#line 1\n%s' % (header, render(0, len(text), None))
