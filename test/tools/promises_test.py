#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether promises.txt fits the pages, the sources and the tests, and has the
promises of docs/security.md; and whether tools/mutants --promises has tried them as they
are there."""

import pathlib
import re
import sys
import tempfile
import unittest

import promises
from cases import defined_tests, run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = 'docs/security.md'
# A test, a fuzzer, or a script of tests.
TEST = re.compile(r'`(\w+Test\.\w+|\w+_fuzzer|pztrace_\w+)`')


def plain(text):
  """The words of a page or of comments."""
  return promises.words(re.sub(r'^\s*// ?', '', text, flags=re.M))


class PromisesTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.promises = promises.read_promises()

  def for_each(self, check):
    for promise in self.promises:
      with self.subTest('%s:%d' % (promises.TABLE.name, promise.line)):
        check(promise)

  def test_pages_make_them(self):
    self.for_each(lambda promise: self.assertIn(
        promises.words(promise.text), plain((ROOT / promise.page).read_text())))

  def test_each_change_has_one_place(self):
    def check(promise):
      self.assertTrue(promise.old)
      source = (ROOT / promise.file).read_text()
      changed = promises.broken(source, promise)
      self.assertIsNotNone(changed, 'not there once: ' + promise.old)
      self.assertNotEqual(changed, source)
    self.for_each(check)

  def test_each_test_is_there(self):
    known = {name for path in (ROOT / 'test').rglob('BUILD.gn')
             for name in re.findall(r'^\s*pz_\w+\("(\w+)"\)', path.read_text(), re.M)}
    cases = defined_tests()
    def check(promise):
      self.assertIn(promise.test, known)
      if promise.case:
        self.assertIn(promise.case, cases)
    self.for_each(check)

  def test_each_test_that_the_page_names_fails_for_one(self):
    named = set(TEST.findall((ROOT / PAGE).read_text()))
    self.assertGreater(len(named), 50)
    missing = named - {name for promise in self.promises for name in (
        promise.test, promise.case) if promise.page == PAGE}
    self.assertEqual(missing, set())

  def test_each_row_of_the_page_is_there(self):
    page = (ROOT / PAGE).read_text()
    texts = [promises.words(promise.text) for promise in self.promises
             if promise.page == PAGE]
    rows = 0
    for table in re.findall(r'(?:^\|.*\n)+', page, re.M):
      header, _, *lines = table.splitlines()
      if header.split('|')[-2].strip() not in ('test', 'what happens'):
        continue
      for line in lines:
        rows += 1
        row = promises.words(line)
        self.assertTrue(any(text in row for text in texts), line)
    self.assertGreater(rows, 30)

  def test_each_has_been_tried(self):
    results = promises.read_result()
    self.for_each(lambda promise: self.assertEqual(
        results.get(promise.key), 'noticed',
        'try: tools/mutants --promises %s' % (promise.case or promise.test)))

  def test_form(self):
    with tempfile.NamedTemporaryFile('w', suffix='.txt') as f:
      f.write('# Of a toy.\n\npromise: page.md: one: and two\ntest: program Suite.Case\n'
              'file: a.cc\n-   if (a) {\n-\n+ \n')
      f.flush()
      promise, = promises.read_promises(pathlib.Path(f.name))
      self.assertEqual((promise.page, promise.text), ('page.md', 'one: and two'))
      self.assertEqual((promise.test, promise.case), ('program', 'Suite.Case'))
      self.assertEqual((promise.old, promise.new), ('  if (a) {\n\n', '\n'))
      source = 'b\n  if (a) {\n\nc\n'
      self.assertEqual(promises.broken(source, promise), 'b\n\nc\n')
      self.assertIsNone(promises.broken(source * 2, promise))
      f.write('anything\n')
      f.flush()
      self.assertRaises(ValueError, promises.read_promises, pathlib.Path(f.name))


if __name__ == '__main__':
  sys.exit(run_cases())
