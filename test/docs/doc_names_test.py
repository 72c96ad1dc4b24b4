#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether the tests exist that docs/security.md names, and whether
test/README.md names every folder of tests.

The last line of its output is "N passed, N failed".
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def defined_tests():
  """Suite.Case of C++ and Python tests, and the names of fuzzers."""
  names = set()
  for path in (ROOT / 'test').rglob('*'):
    if path.suffix == '.cc':
      names.update(
          '.'.join(match) for match in re.findall(
              r'^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)', path.read_text(), re.M))
    elif path.suffix == '.py':
      suite = None
      for kind, name in re.findall(r'^(class|  def) (\w+)', path.read_text(),
                                   re.M):
        if kind == 'class':
          suite = name
        elif suite is not None:
          names.add('%s.%s' % (suite, name))
    elif path.name == 'BUILD.gn':
      names.update(re.findall(r'^pz_fuzzer\("(\w+)"\)', path.read_text(), re.M))
  return names


def main():
  page = (ROOT / 'docs' / 'security.md').read_text()
  named = re.findall(r'`(\w+Test\.\w+|\w+_fuzzer)`', page)
  defined = defined_tests()
  errors = ['docs/security.md names %s, which is not there' % name
            for name in named if name not in defined]
  listed = re.findall(r'\]\((\w+)\)', (ROOT / 'test' / 'README.md').read_text())
  folders = [path.parent.name for path in (ROOT / 'test').glob('*/BUILD.gn')]
  errors += ['test/README.md does not say what test/%s is for' % name
             for name in folders if name not in listed]
  for error in errors:
    print(error)
  checked = len(named) + len(folders)
  print('%d passed, %d failed' % (checked - len(errors), len(errors)))
  return 1 if errors or not named else 0


if __name__ == '__main__':
  sys.exit(main())
