# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Which comment of a header describes which line.

A comment describes the declarations below it, up to the next empty line or comment. One
behind a declaration describes that. A comment of a struct or an enum also describes the members
right below its brace. A comment with an empty line below it introduces what follows.
"""

import dataclasses
import re

COMMENT = re.compile(r'\s*//( ?)(.*)')
BEHIND = re.compile(r'[;,{]\s*//( ?)(.*)')
STRING = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|//.*')
# Braces after these words hold declarations, unless it is a function's.
SCOPE = re.compile(r'\b(?:namespace|class|struct|union|enum|extern)\b')
FUNCTION_OR_INTERNAL = re.compile(r'\w\s*\(|\bnamespace internal\b')
ACCESS = re.compile(r'\s*(public|protected|private):')
# The comment of such a type also describes its first members.
TRANSPARENT = re.compile(r'\b(?:struct|union|enum)\b[^()]*$')
ATTRIBUTE = re.compile(r'\b(?:alignas|__attribute__|decltype)\s*\(')


@dataclasses.dataclass
class Comment:
  """Lines without their slashes."""
  line: int
  lines: list


@dataclasses.dataclass
class Scope:
  """The content of an open brace."""
  kind: str  # 'scope' for declarations that users see, 'body', or 'value'.
  current: Comment = None  # The comment that was current outside of it.
  is_hidden: bool = False  # Behind "private:" or "protected:".


class Comments:
  """The comments of a header, by the lines that they describe."""

  def __init__(self, text):
    self.of_line = {}  # Line number: Comment
    self.introductions = []  # The comments that stand alone.
    self.current = None
    self.scopes = []
    self.statement = ''  # The code since the last ";", "{" or "}".
    lines = text.splitlines()
    at = 0
    while at < len(lines):
      start = at
      while at < len(lines) and COMMENT.match(lines[at]):
        at += 1
      if at > start:
        self.add_comment(start + 1, [COMMENT.match(line)[2] for line in
                                     lines[start:at]],
                         at < len(lines) and lines[at].strip())
      else:
        self.add_line(at + 1, lines[at])
        at += 1

  def is_in_body(self):
    return any(scope.kind == 'body' for scope in self.scopes)

  def add_comment(self, line, lines, describes):
    if self.is_in_body():
      return
    comment = Comment(line, lines)
    if describes:
      self.current = comment
      return
    self.current = None
    # The licence is the first line.
    if line > 1 and not (self.scopes and self.scopes[-1].is_hidden):
      self.introductions.append(comment)

  def add_line(self, number, line):
    if self.is_in_body():
      self.count_braces(line)
      return
    if not line.strip():
      self.current = None
      return
    access = ACCESS.match(line)
    if access and self.scopes:
      self.scopes[-1].is_hidden = access[1] != 'public'
    behind = BEHIND.search(line)
    if behind:
      self.of_line[number] = Comment(number, [behind[2]])
    elif self.current:
      self.of_line[number] = self.current
    if line.lstrip().startswith('#'):
      return
    self.count_braces(line)

  def count_braces(self, line):
    before = ' '
    for character in STRING.sub('""', line):
      in_value = bool(self.scopes) and self.scopes[-1].kind == 'value'
      if character == '{' and (in_value or before.isalnum() or before in '_>'):
        self.scopes.append(Scope('value'))  # As in `size_t{1}`.
      elif in_value:
        if character == '}':
          self.scopes.pop()
      else:
        self.count(character)
      before = character
    self.statement += ' '

  def count(self, character):
    if character == '{':
      code = ATTRIBUTE.sub('', self.statement)
      is_scope = SCOPE.search(code) and not FUNCTION_OR_INTERNAL.search(code)
      self.scopes.append(Scope('scope' if is_scope else 'body', self.current))
      if is_scope and not TRANSPARENT.search(code):
        self.current = None
    elif character == '}' and self.scopes:
      scope = self.scopes.pop()
      # Another comment describes what follows a type.
      if not self.is_in_body():
        self.current = scope.current if scope.kind == 'body' else None
    self.statement = '' if character in ';{}' else self.statement + character
