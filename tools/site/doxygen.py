# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The public symbols of our headers, as Doxygen's XML has them."""

import dataclasses
import pathlib
import re
import subprocess
import xml.etree.ElementTree as ElementTree

# Doxygen sees no macro of ours that is part of a declaration.
SETTINGS = r'''
INPUT = "%(headers)s"
OUTPUT_DIRECTORY = "%(out)s"
RECURSIVE = YES
EXCLUDE_PATTERNS = */internal/*
FILE_PATTERNS = *.h
EXTRACT_ALL = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
QUIET = YES
WARNINGS = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
SEARCH_INCLUDES = NO
PREDEFINED = PROTOZERO_ABI_BEGIN= PROTOZERO_ABI_END= PROTOZERO_EXPORT= \
    PROTOZERO_ALWAYS_INLINE=inline PROTOZERO_HOT= PROTOZERO_NOINLINE= \
    PROTOZERO_COLD= PROTOZERO_RUNTIME=::protozero \
    __x86_64__=1 __GNUC__=12 __cplusplus=202002L
'''


@dataclasses.dataclass
class Symbol:
  """Something that users may name."""
  kind: str  # As Doxygen calls it: class, function, enumvalue, ...
  scope: str  # 'StaticBuffered' for its members, '' outside of classes.
  name: str
  declaration: str
  path: str  # Below the folder of headers.
  line: int
  is_override: bool = False
  # A copy, a destructor, or what is defaulted or deleted: says itself what it does.
  is_plain: bool = False
  last_line: int = 0  # Of an enum.

  @property
  def qualified(self):
    return self.scope + '::' + self.name if self.scope else self.name


def text_of(element):
  return '' if element is None else ' '.join(''.join(element.itertext()).split())


def template_of(element):
  parameters = element.find('templateparamlist')
  if parameters is None:
    return ''
  parts = []
  for parameter in parameters.findall('param'):
    part = ' '.join(filter(None, (text_of(parameter.find('type')),
                                  text_of(parameter.find('declname')))))
    default = text_of(parameter.find('defval'))
    parts.append(part + (' = ' + default if default else ''))
  return 'template <%s>\n' % ', '.join(parts)


def tidy(code):
  for old, new in ((' *', '* '), (' &', '& '), ('< ', '<'), (' >', '>'),
                   ('* )', '*)'), ('& )', '&)'), ('* ,', '*,'), ('& ,', '&,'),
                   ('*  ', '* '), ('&  ', '& '), ('& &', '&&'), ('* >', '*>'),
                   ('* *', '**'), ('=default', ' = default'),
                   ('=delete', ' = delete'), (' =0', ' = 0'), (')=0', ') = 0'),
                   ('protozero::internal::', 'internal::')):
    code = code.replace(old, new)
  return re.sub(r' <<(?=\w)', ' << ', code).strip()


def declaration_of(member, kind, scope):
  name, arguments = (text_of(member.find(tag)) for tag in ('name', 'argsstring'))
  type_name = text_of(member.find('type'))
  if kind == 'define':
    parameters = [text_of(p.find('defname')) for p in member.findall('param')]
    return '#define %s%s' % (name, '(%s)' % ', '.join(parameters)
                             if parameters and any(parameters) else '')
  words = []
  for attribute in ('static', 'explicit', 'constexpr'):
    if member.get(attribute) == 'yes' and attribute not in type_name.split():
      words.append(attribute)
  if member.get('virt') in ('virtual', 'pure-virtual') and \
      'override' not in arguments:
    words.append('virtual')
  if kind == 'typedef' and 'using' in text_of(member.find('definition')):
    words += ['using', name, '=', type_name]
  else:
    if kind == 'typedef':
      words.append('typedef')
    if type_name:
      words.append(type_name)
    words.append(name + arguments)
    value = text_of(member.find('initializer'))
    if kind == 'variable' and value and len(value) < 60:
      words.append(value)
  code = template_of(member) + tidy(' '.join(words))
  return code.replace('protozero::' + scope + '::', '') if scope else code


def is_plain(name, arguments, scope):
  own = scope.rpartition('::')[2].partition('<')[0]
  if name.startswith('~') or arguments.endswith(('=default', '=delete')):
    return True
  taken = arguments.replace('const ', '').replace(' ', '')
  return name in (own, 'operator=') and (taken.startswith((
      '(%s&' % own, '(%s<' % own)) and ',' not in taken)


def read(headers, out):
  """The symbols of the headers in a folder, sorted. Leaves files in `out`."""
  # Paths are relative to where it runs, if they are below.
  subprocess.run(['doxygen', '-'], text=True, check=True, cwd=out,
                 input=SETTINGS % {'headers': headers, 'out': out})
  found = {}

  def add(symbol):
    found[(symbol.path, symbol.line, symbol.qualified, symbol.declaration)] = symbol

  for path in sorted((pathlib.Path(out) / 'xml').glob('*.xml')):
    if path.name in ('index.xml', 'Doxyfile.xml'):
      continue
    for compound in ElementTree.parse(path).getroot().iter('compounddef'):
      read_compound(compound, pathlib.Path(headers), add)
  return sorted(found.values(), key=lambda symbol: (symbol.path, symbol.line))


def read_compound(compound, headers, add):
  kind = compound.get('kind')
  full_name = text_of(compound.find('compoundname')).replace(' ', '')
  if kind not in ('class', 'struct', 'union', 'namespace', 'file') or \
      compound.get('prot', 'public') != 'public':
    return
  parts = full_name.split('::')
  if kind != 'file' and parts[0] == 'protozero':
    del parts[0]
  elif kind != 'file' and not text_of(compound.find('includes')).startswith('pbz_'):
    return  # Another namespace than ours, and not for C.
  if 'internal' in parts:
    return
  scope = '' if kind == 'file' else '::'.join(parts)

  def position(element):
    location = element.find('location')
    path = pathlib.Path(location.get('declfile') or location.get('file'))
    line = int(location.get('declline') or location.get('line'))
    try:
      path = path.relative_to(headers).as_posix()
    except ValueError:
      return None
    return None if 'internal/' in path else (path, line)

  if kind not in ('namespace', 'file') and position(compound):
    bases = ', '.join('public ' + tidy(text_of(base)).replace('protozero::', '')
                      for base in compound.findall('basecompoundref')
                      if base.get('prot') == 'public')
    outer, _, name = scope.rpartition('::')
    add(Symbol(kind, outer, name, '%s%s %s%s' % (
        template_of(compound), kind, name, ' : ' + bases if bases else ''),
               *position(compound)))

  for section in compound.findall('sectiondef'):
    for member in section.findall('memberdef'):
      member_kind = member.get('kind')
      # Doxygen lists the members of namespaces with the file, too. Others are
      # macros, and what is for C.
      definition = text_of(member.find('definition'))
      if kind == 'file' and 'protozero::' in definition or \
          member.get('prot') != 'public' or member_kind == 'friend' or \
          not position(member):
        continue
      name = text_of(member.find('name'))
      if text_of(member.find('type')) in ('struct ' + name, 'enum ' + name):
        continue  # C's other name of a type.
      # Include guards, helpers, and what is public for the library only.
      if name.endswith('_') or 'INTERNAL' in name or not name:
        continue
      arguments = text_of(member.find('argsstring'))
      symbol = Symbol(member_kind, scope, name,
                      declaration_of(member, member_kind, scope),
                      *position(member),
                      is_override='override' in arguments,
                      is_plain=is_plain(name, arguments, scope))
      if member_kind == 'enum':
        symbol.last_line = int(member.find('location').get('bodyend'))
      add(symbol)
