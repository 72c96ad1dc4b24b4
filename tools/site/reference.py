# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Writes a page for each public header: its symbols, with what comments say of them."""

import html
import itertools
import pathlib
import re
import tempfile
import textwrap

import comments
import doxygen

TYPES = ('class', 'struct', 'union')
# Words of comments that are code: calls, names with an underscore or a second capital.
CODE = re.compile(r'`[^`]+`|\|[\w ]+\||"[\w/]+\.h"|\b[KMG]iB\b|\b[\w:]*\w\(\)|'
                  r'\b\w+::\w[\w:]*|\bk[A-Z]\w+|\b[A-Z]\w*[a-z]\w*[A-Z]\w*|'
                  r'\b[A-Z]{4,}_\w+|\b[a-z]+_\w+\b')
LIST = re.compile(r'[-*] |\d+\. ')


class Header:
  """A public header, its symbols and its comments."""

  def __init__(self, name, text):
    self.name = name
    self.lines = text.splitlines()
    self.comments = comments.Comments(text)
    # Macros that users do not see.
    self.hidden = set(re.findall(r'^#undef (\w+)', text, re.M))
    self.symbols = []

  def comment_of(self, symbol):
    return self.comments.of_line.get(symbol.line)


def read_headers(folder):
  """The public headers below a folder, by their names."""
  headers = {}
  for path in sorted(folder.rglob('*.h')):
    name = path.relative_to(folder).as_posix()
    if 'internal' not in path.relative_to(folder).parts:
      headers[name] = Header(name, path.read_text())
  with tempfile.TemporaryDirectory() as work:
    for symbol in doxygen.read(folder, work):
      header = headers[symbol.path]
      if symbol.name in header.hidden:
        continue
      if symbol.name.startswith('@'):  # An enum without a name.
        value = re.search(r'\w+(?= =|,| })', header.lines[symbol.line - 1])
        symbol.name = value[0] if value else 'enum'
      header.symbols.append(symbol)
  return headers


def undocumented(headers):
  """A line for each symbol that no comment describes."""
  return ['%s:%d: no comment describes %s' % (
      header.name, symbol.line, symbol.qualified)
          for header in headers.values() for symbol in header.symbols
          if not (header.comment_of(symbol) or symbol.is_override or
                  symbol.is_plain)]


def wrapped(code):
  """A line for each parameter if there is no room for all."""
  begin = code.find('(')
  if len(code) <= 79 or begin < 0 or code.startswith(('#', 'using')):
    return code
  parts, depth, start = [], 0, begin + 1
  for at in range(begin, len(code)):
    depth += {'(': 1, '<': 1, '{': 1, ')': -1, '>': -1, '}': -1}.get(code[at], 0)
    if depth == 0:
      parts.append(code[start:at])
      return '%s\n    %s%s' % (code[:begin + 1], ',\n    '.join(
          part.strip() for part in parts), code[at:])
    if depth == 1 and code[at] == ',':
      parts.append(code[start:at])
      start = at + 1
  return code


class Writer:
  """Writes the pages. Links lead to the first symbol of a name."""

  def __init__(self, headers):
    self.headers = headers
    self.introductions = {}  # Comments of the page that are not written yet.
    self.targets = {}
    for header in headers.values():
      for symbol in header.symbols:
        if symbol.kind in TYPES:
          self.targets.setdefault(symbol.name, (header.name, symbol.qualified))

  def page(self, header):
    parts = ['---\ntitle: %s\n---\n\n# %s\n\n' % (
        pathlib.PurePath(header.name).name, header.name),
             '```cpp\n#include "protozero/%s"\n```\n\n' % header.name,
             '[Source](%s.source.md)\n\n' % pathlib.PurePath(header.name).name]
    self.place_introductions(header)
    types = {symbol.qualified for symbol in header.symbols
             if symbol.kind in TYPES}
    # The members of a type stand below it.
    groups = {}
    for symbol in header.symbols:
      groups.setdefault(symbol.scope if symbol.scope in types else None,
                        []).append(symbol)
    self.write_symbols(header, groups, None, parts)
    self.introduce(header, None, parts)
    return ''.join(parts)

  def place_introductions(self, header):
    """Finds the symbol that follows each comment that stands alone."""
    self.introductions = {}
    for comment in header.comments.introductions:
      line = next((symbol.line for symbol in header.symbols
                   if symbol.line > comment.line), None)
      self.introductions.setdefault(line, []).append(comment)

  def introduce(self, header, line, parts):
    """Writes the comments in front of a symbol's line; None: the last ones."""
    for comment in self.introductions.pop(line, []):
      parts.append(self.text(header, comment))

  def write_symbols(self, header, groups, scope, parts):
    symbols = groups.get(scope, [])
    if scope is not None:  # Types within a type have headings as large as its own.
      symbols = sorted(symbols, key=lambda symbol: symbol.kind in TYPES)

    def key(symbol):  # What one comment describes stands together.
      comment = header.comment_of(symbol)
      return (symbol.kind in TYPES and symbol.qualified,
              comment.line if comment else symbol.line)

    for _, run in itertools.groupby(symbols, key):
      run = list(run)
      first = run[0]
      for symbol in run:
        self.introduce(header, symbol.line, parts)
      if first.kind in TYPES:
        self.write_type(header, groups, first, parts)
      else:
        shown = [s for s in run if not s.is_plain or header.comment_of(s)]
        if shown:
          self.write_run(header, shown, scope is not None, parts)

  def write_type(self, header, groups, symbol, parts):
    parts.append('## %s\n\n%s' % (symbol.qualified, self.code(
        [symbol.declaration])))
    comment = header.comment_of(symbol)
    if comment:
      parts.append(self.text(header, comment))
    # Members that the type's own comment describes.
    own = [s for s in groups.get(symbol.qualified, [])
           if s.kind not in TYPES and header.comment_of(s) == comment]
    if own:
      parts.append(self.code([self.declaration(header, s) for s in own]))
      groups[symbol.qualified] = [s for s in groups[symbol.qualified]
                                  if s not in own]
    self.write_symbols(header, groups, symbol.qualified, parts)

  def write_run(self, header, run, is_member, parts):
    names = list(dict.fromkeys(symbol.name for symbol in run))
    parts.append('%s %s\n\n%s' % (
        '###' if is_member else '##',
        ', '.join('`%s`' % name for name in names),
        self.code([self.declaration(header, symbol) for symbol in run])))
    comment = header.comment_of(run[0])
    if comment:
      parts.append(self.text(header, comment))
    elif run[0].is_override:
      parts.append('As in the base class.\n\n')

  def declaration(self, header, symbol):
    if symbol.kind == 'enum':  # With the comments of its values.
      return textwrap.dedent('\n'.join(
          header.lines[symbol.line - 1:symbol.last_line]))
    lines = symbol.declaration.split('\n')
    lines[-1] = wrapped(lines[-1])
    return '\n'.join(lines) + ('' if symbol.kind == 'define' else ';')

  @staticmethod
  def code(declarations):
    return '```cpp\n%s\n```\n\n' % '\n'.join(declarations)

  def text(self, header, comment):
    """A comment as HTML, which Markdown leaves as it is, and blocks of code."""
    parts, lines = [], []

    def end_paragraph():
      if lines:
        tag = 'li' if LIST.match(lines[0]) else 'p'
        text = ' '.join(line.strip() for line in lines)
        text = self.inline(header, LIST.sub('', text, 1) if tag == 'li' else text)
        parts.append('<ul><li>%s</li></ul>\n\n' % text if tag == 'li' else
                     '<p>%s</p>\n\n' % text)
        lines.clear()

    rest = list(comment.lines)
    while rest:
      if rest[0].startswith('  ') and not (lines and LIST.match(lines[0])):
        end_paragraph()
        block = []
        while rest and (rest[0].startswith('  ') or not rest[0].strip() and
                        len(rest) > 1 and rest[1].startswith('  ')):
          block.append(rest.pop(0)[2:])
        is_code = any(re.search(r'[;{]\s*(//.*)?$', line) for line in block)
        parts.append('```%s\n%s\n```\n\n' % ('cpp' if is_code else 'text',
                                            '\n'.join(block)))
        continue
      line = rest.pop(0)
      if not line.strip() or LIST.match(line) or \
          lines and LIST.match(lines[0]) and not line.startswith(' '):
        end_paragraph()
      if line.strip():
        lines.append(line)
    end_paragraph()
    return ''.join(parts).replace('</ul>\n\n<ul>', '')

  def inline(self, header, text):
    parts, end = [], 0
    for match in CODE.finditer(text):
      parts.append(html.escape(text[end:match.start()], quote=False))
      parts.append(self.link(header, match[0]))
      end = match.end()
    parts.append(html.escape(text[end:], quote=False))
    return ''.join(parts).replace('REQUIRES:', '<strong>REQUIRES:</strong>')

  def link(self, header, word):
    if word.endswith('iB'):  # Units look like names.
      return word
    code = '<code>%s</code>' % html.escape(word.strip('|`'))
    target = self.targets.get(re.split(r'::|\(', word)[0])
    if not target:
      return code
    page, qualified = target
    depth = header.name.count('/')
    return '<a href="%s%s.html#%s">%s</a>' % (
        '../' * depth, page, re.sub(r'[^\w-]', '', qualified.lower()), code)
