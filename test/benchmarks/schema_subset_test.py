#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The traces of the benchmarks have the installed schema of traces.

The benchmarks' schema is a part of it that does not grow, so that figures stay
comparable. Each of its fields has to be one of the installed schema, with the
same number and type.
"""

import pathlib
import re
import sys
import unittest

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
PART = ROOT / 'test/benchmarks/perfetto_trace.proto'
WHOLE = ROOT / 'include/protozero/tracing/trace.proto'

BEGIN = re.compile(r'(message|enum|oneof) (\w+) {')
FIELD = re.compile(r'(?:optional )?((?:repeated )?[\w.]+) (\w+) = (\d+)(?: \[.*\])?;')
VALUE = re.compile(r'(\w+) = (\d+);')


def read_schema(path):
  """{full name of a field or an enum's value: (type, number)}."""
  parts = {}
  scopes = []
  line = ''
  for text in path.read_text().splitlines():
    line = (line + ' ' + text.split('//')[0].strip()).strip()
    if line and line[-1] not in ';{}':
      continue  # A field of two lines.
    scope = [name for kind, name in scopes if kind != 'oneof']
    if begin := BEGIN.fullmatch(line):
      scopes.append(begin.groups())
    elif line == '}':
      scopes.pop()
    elif field := FIELD.fullmatch(line):
      parts['.'.join([*scope, field[2]])] = (field[1], field[3])
    elif value := VALUE.fullmatch(line):
      parts['.'.join([*scope, value[1]])] = ('enum', value[2])
    elif line and not line.startswith(('syntax', 'package', 'extensions')):
      raise ValueError('%s: %s' % (path, line))
    line = ''
  return parts


class SchemaSubsetTest(unittest.TestCase):

  def test_benchmarks_have_a_part_of_the_schema(self):
    part = read_schema(PART)
    whole = read_schema(WHOLE)
    self.assertGreater(len(part), 50)
    self.assertEqual(part, {name: whole.get(name) for name in part})


if __name__ == '__main__':
  sys.exit(run_cases())
