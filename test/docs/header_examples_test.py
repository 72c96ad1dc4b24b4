#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Compiles the examples in comments of our headers.

An example is a run of lines in a comment that are indented by three spaces or
more. One of them ends like code, by ";" or "{". header_examples.txt has the
code around it. An unlisted example is an error, and so is an entry without an
example.

Runs in a build directory, which has protoc and protozero_plugin. The last line of its
output is "N passed, N failed".
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = ROOT / 'include'
LIST = ROOT / 'test' / 'docs' / 'header_examples.txt'
PROTO = 'test/docs/header_examples.proto'
TRACE_PROTO = 'include/protozero/tracing/trace.proto'
COMPILER = os.environ.get('CXX', 'g++')
# Newer than the library needs, for coroutines.
FLAGS = ['-std=c++20', '-fsyntax-only', '-Wall', '-Wextra', '-Werror',
         '-Wno-unused']

INDENTED = re.compile(r'\s*// {3,}\S')
ENTRY = re.compile(
    r'EXAMPLE (?P<index>\d+)(?::(?P<first>\d+)-(?P<last>\d+))?'
    r'(?: \| (?P<rest>.*))?')
SKIP = re.compile(r'SKIP (?P<index>\d+): (?P<reason>.*)')
CODE_END = re.compile(r'[;{]\s*(//.*)?$')


def examples_of(text):
  """[(number of the first line, lines)]."""
  found = []
  lines = text.splitlines()
  at = 0
  while at < len(lines):
    start = at
    # A block goes on after an empty line of the comment.
    while at < len(lines) and (INDENTED.match(lines[at]) or (
        at > start and lines[at].strip() == '//' and at + 1 < len(lines) and
        INDENTED.match(lines[at + 1]))):
      at += 1
    block = [line.split('//', 1)[1] for line in lines[start:at]]
    if any(CODE_END.search(line) for line in block):
      found.append((start + 1, block))
    at = max(at, start + 1)
  return found


def code_of(header, examples, part, first_line, errors):
  """The C++ of a header's part of the list, and how many examples are in it."""
  path = header.relative_to(ROOT)
  code = ['#line %d "%s"' % (first_line, LIST.relative_to(ROOT))]
  listed, skipped = set(), set()
  for number, line in enumerate(part, first_line):
    match = ENTRY.fullmatch(line) or SKIP.fullmatch(line)
    if not match:
      code.append(line)
      continue
    index = int(match['index'])
    if index > len(examples):
      errors.append('%s has no example %d' % (path, index))
      continue
    if match.re is SKIP:
      skipped.add(index)
      code.append('')
      continue
    listed.add(index)
    start, block = examples[index - 1]
    first, last = int(match['first'] or 1), int(match['last'] or len(block))
    code.append('#line %d "%s"' % (start + first - 1, path))
    for text in block[first - 1:last]:
      if text.strip() == '...':
        text = match['rest'] or ';'
      code.append(text.replace('(...)', '(;;)'))
    code.append('#line %d "%s"' % (number + 1, LIST.relative_to(ROOT)))
  for index, (start, _) in enumerate(examples, 1):
    if index not in listed | skipped:
      errors.append('%s:%d: %s does not list this example' %
                    (path, start, LIST.name))
  return code, len(listed)


def program(errors):
  """All examples as one file, each header's in a namespace of its own."""
  parts = {}  # name: (first line, lines)
  for number, line in enumerate(LIST.read_text().splitlines(), 1):
    if line.startswith('== '):
      lines = []
      parts[line[3:]] = number + 1, lines
    elif parts:
      lines.append(line)

  includes = ['#include "%s"' % (
      PROTO.replace('.proto', '.pbzero.h')), '#include "%s"' % (
          TRACE_PROTO.replace('.proto', '.pbzero.h'))]
  code, compiled, skipped = [], 0, 0
  for header in sorted(INCLUDE.rglob('*.h')):
    examples = examples_of(header.read_text())
    includes.append('#include "%s"' % header.relative_to(INCLUDE))
    if not examples and header.name not in parts:
      continue
    first_line, part = parts.pop(header.name, (1, []))
    text, count = code_of(header, examples, part, first_line, errors)
    compiled += count
    skipped += len(examples) - count
    code += ['namespace examples_of_%s {' % header.stem,
             'using namespace examples::pbzero;',
             'namespace pbzero = perfetto::protos::pbzero;', *text, '}']
  errors += ['%s lists %s, which is not there' % (LIST.name, name)
             for name in parts]
  return '\n'.join(includes + code) + '\n', compiled, skipped


def main():
  errors = []
  text, compiled, skipped = program(errors)
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run(
        ['./protoc', '-I%s' % ROOT,
         '--plugin=protoc-gen-plugin=./protozero_plugin',
         '--plugin_out=wrapper_namespace=pbzero:' + folder, PROTO, TRACE_PROTO],
        check=True)
    namespace = re.search(r'ABI_NAMESPACE (pz_\d+_\d+)$', (
        INCLUDE / 'protozero/internal/macros.h').read_text(), re.M)[1]
    subprocess.run(
        ['./protoc', '-I%s' % INCLUDE,
         '--plugin=protoc-gen-plugin=./protozero_plugin',
         '--plugin_out=wrapper_namespace=%s:%s' % (namespace, folder),
         'protozero/tracing/trace.proto'], check=True)
    source = pathlib.Path(folder) / 'examples.cc'
    source.write_text(text)
    run = subprocess.run(
        [COMPILER, *FLAGS, '-I%s' % INCLUDE, '-I' + folder, source], cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if run.returncode != 0:
      errors.append(run.stdout)
  for error in errors:
    print('FAILED: ' + error)
  print('%d passed, %d failed, %d skipped' % (
      0 if errors else compiled, len(errors), skipped))
  return 1 if errors or not compiled else 0


if __name__ == '__main__':
  sys.exit(main())
