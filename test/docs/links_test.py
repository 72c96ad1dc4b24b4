#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether the files and headings exist that links of our pages name.

The last line of its output is "N passed, N failed".
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r'\]\(([^)\s]+)\)')
HEADING = re.compile(r'^#+ +(.*?) *$', re.M)
ID = re.compile(r'<a id="([\w-]+)"></a>')
BLOCK = re.compile(r'^```.*?^```', re.M | re.S)


def anchors(text):
  """The anchors of a page: those of its headings, as GitHub derives them, and
  those that it sets."""
  found = set(ID.findall(text))
  for heading in HEADING.findall(BLOCK.sub('', text)):
    words = re.sub(r'[^\w\- ]', '', heading.lower())
    anchor = words.replace(' ', '-')
    number = 1
    while anchor in found:  # A heading that stands twice.
      anchor = '%s-%d' % (words.replace(' ', '-'), number)
      number += 1
    found.add(anchor)
  return found


def pages():
  listed = subprocess.run(
      ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard',
       '*.md'], cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout
  found = [ROOT / name for name in listed.decode().split('\0') if name]
  return [path for path in found if path.exists()] or [
      path for path in ROOT.rglob('*.md')
      if path.relative_to(ROOT).parts[0] not in ('out', 'third_party')]


def check(page, link):
  """Returns the problem, or None."""
  name, _, anchor = link.partition('#')
  target = (page.parent / name).resolve() if name else page
  if not target.exists():
    return 'there is no such file'
  if anchor and target.suffix == '.md' and \
          anchor not in anchors(target.read_text()):
    return 'the page has no such heading'
  return None


def main():
  passed = failed = 0
  for page in pages():
    for link in LINK.findall(BLOCK.sub('', page.read_text())):
      if re.match(r'\w+:', link):
        continue  # An address of the web.
      error = check(page, link)
      passed += not error
      failed += bool(error)
      if error:
        print('FAILED: %s: %s: %s' %
              (page.relative_to(ROOT), link, error))
  print('%d passed, %d failed' % (passed, failed))
  return 0 if passed and not failed else 1


if __name__ == '__main__':
  sys.exit(main())
