#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether figures.tsv has all figures of README.md and docs/: times, rates, ratios,
counts and sizes that are measured. A figure that is changed on a page, or is new there,
fails until its line says how, when and where it was measured.

  test/docs/figures_test.py            runs the tests
  test/docs/figures_test.py --show     prints a line for each place that the list lacks, or
                                       has otherwise, as if it was measured here and now

A line of figures.tsv has, separated by tabs:

  page      README.md, or a file below docs/
  place     a heading of the page: what is below it, up to the next one; or "heading >
            beginning" of one paragraph, item or table below it; or * for the rest of the page
  figures   those of that place, or, if these are many, how many and a checksum
  kind      time    differs between machines and runs
            size    a measured size
            counted repeats exactly, and a test compares: the command is its name
            cited   somebody else's, or of code that is gone
            fixed   not measured: a limit, a default, or a part of an example
  command   gives the figures. The commit has the code that was measured, or else is the
            one that noted them; date and machine are those of the measurement. What is
            fixed has none of these four.
"""

import collections
import datetime
import hashlib
import pathlib
import re
import subprocess
import sys
import unittest

from cases import defined_tests, run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIST = ROOT / 'test' / 'docs' / 'figures.tsv'
KINDS = ('time', 'size', 'counted', 'cited', 'fixed')
# Pages of measurements. Their sizes are figures, too; elsewhere they are, too, where
# something takes them.
MEASURED = re.compile(r'docs/(performance\b|wire-format)')
NUMBER = r'(?<![\w.,-])-?\d+(?:,\d{3})*(?:\.\d+)?'
RANGE = r'%s(?:(?:,| to| or| and|, and) %s)*' % (NUMBER, NUMBER)
TIME = (r'(?:ns|[uµ]s|ms|s|(?:micro|milli|nano)?seconds?|minutes?|times|x|%|M/s|'
        r'(?:thousand |million )?instructions|million|of (?:the|our|its))(?!\w)')
SIZE = r'(?:bytes?|[kKMG]i?B)(?!\w)'
FIGURE = re.compile(r'%s %s' % (RANGE, TIME))
FIGURE_OR_SIZE = re.compile(r'%s (?:%s|%s)' % (RANGE, TIME, SIZE))
# All numbers of a sentence with a figure count: "1.4 times as long, and 2.5 with gcc".
NUMBERS = re.compile(r'%s(?: (?:%s|%s))?' % (RANGE, TIME, SIZE))
TAKES = re.compile(r'\b(?:takes?|took|keeps|suffices)\b')
# Blocks of code, and comments: other tests compare them with what programs print.
CODE = re.compile(r'^```.*?^```|<!--.*?-->|(?<=\n\n)(?: {4}[^\n]*\n|\n(?= {4}))+', re.M | re.S)

Block = collections.namedtuple('Block', 'page heading text')
Entry = collections.namedtuple('Entry', 'page place figures kind command commit date machine line')


def plain(text):
  """The words, without marks and the targets of links."""
  text = re.sub(r'\]\([^)]*\)', ']', text)
  text = re.sub(r'`[^`]*`', lambda match: re.sub(r'\d', '#', match[0]), text)
  return ' '.join(re.sub(r'[*`\[\]]', '', text).split())


def blocks_of(page):
  """The paragraphs, items and tables of a page, with the headings above them."""
  text = (ROOT / page).read_text()
  if page.endswith('.txt'):
    yield Block(page, '', '|--:|' + re.sub(r'^#.*', '', text, flags=re.M))
    return
  heading = ''
  lines = []
  def block():
    whole = '\n'.join(lines)
    lines.clear()
    return Block(page, heading, whole)
  for line in CODE.sub('', text).split('\n') + ['']:
    begins = re.match(r'\s*(?:[-*]|\d+\.) ', line)
    if lines and (not line or begins or line.startswith('#') or
                  line.startswith('|') != lines[0].startswith('|')):
      yield block()
    if line.startswith('#'):
      heading = plain(line.lstrip('# '))
    elif line:
      lines.append(line)


def figures_of(block):
  text = block.text
  if re.search(r'\|-+:\|', text):  # A table with columns of numbers.
    return re.findall(NUMBER, '\n'.join(map(plain, text.splitlines())))
  found = []
  for sentence in re.split(r'[.;:|](?:\s|$)', plain(text)):
    has_sizes = MEASURED.match(block.page) or TAKES.search(sentence)
    if (FIGURE_OR_SIZE if has_sizes else FIGURE).search(sentence):
      found += NUMBERS.findall(sentence)
  return found


def noted(figures):
  """The figures as the list has them."""
  text = '; '.join(figures)
  if len(text) <= 50:
    return text
  return '%d figures, %s' % (len(figures), hashlib.sha256(text.encode()).hexdigest()[:8])


def read_list():
  for number, line in enumerate(LIST.read_text().splitlines(), 1):
    if line and not line.startswith('#'):
      columns = line.split('\t')
      yield Entry(*(columns + [''] * 8)[:8], number)


def pages():
  return ['README.md'] + sorted(
      str(path.relative_to(ROOT)) for path in (ROOT / 'docs').rglob('*')
      if path.suffix in ('.md', '.txt'))


def place_of(block, places):
  """The place in the list that has the block, or that should have it."""
  text = re.sub(r'^(?:[-*]|\d+\.) ', '', plain(block.text))
  for place in sorted(places, key=len, reverse=True):
    heading, _, beginning = place.partition(' > ')
    if beginning and heading == block.heading and text.startswith(beginning):
      return place
  return block.heading if block.heading in places or '*' not in places else '*'


def figures_by_place(entries):
  places = collections.defaultdict(set)
  for entry in entries:
    places[entry.page].add(entry.place)
  found = collections.defaultdict(list)
  for page in pages():
    for block in blocks_of(page):
      figures = figures_of(block)
      if figures:
        found[page, place_of(block, places[page])] += figures
  return {key: noted(figures) for key, figures in found.items()}


def has_commit(commit):
  return not subprocess.run(['git', 'cat-file', '-e', commit + '^{commit}'], cwd=ROOT,
                            stderr=subprocess.DEVNULL, check=False).returncode


def has_history():
  run = subprocess.run(['git', 'rev-parse', '--is-shallow-repository'], cwd=ROOT,
                       capture_output=True, text=True, check=False)
  return run.stdout.strip() == 'false'


class FiguresTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.entries = list(read_list())
    cls.found = figures_by_place(cls.entries)

  def for_each(self, check):
    for entry in self.entries:
      with self.subTest('%s:%d' % (LIST.name, entry.line)):
        check(entry)

  def test_each_figure_is_in_the_list(self):
    known = {(entry.page, entry.place) for entry in self.entries}
    for key, figures in self.found.items():
      with self.subTest('%s: %s' % key):
        self.assertIn(key, known, 'figures without a line: ' + figures)

  def test_each_line_is_on_its_page(self):
    self.assertGreater(len(self.entries), 50)
    self.for_each(lambda entry: self.assertEqual(
        self.found.get((entry.page, entry.place)), entry.figures,
        '%s, %s: measure with: %s' % (entry.page, entry.place, entry.command)))

  def test_each_line_is_there_once(self):
    keys = collections.Counter((entry.page, entry.place) for entry in self.entries)
    self.assertEqual([key for key, count in keys.items() if count > 1], [])

  def test_each_line_says_how_and_where(self):
    def check(entry):
      self.assertIn(entry.kind, KINDS)
      where = (entry.command, entry.commit, entry.date, entry.machine)
      if entry.kind == 'fixed':
        self.assertEqual(''.join(where), '')
        return
      self.assertTrue(all(where), where)
      self.assertRegex(entry.date, r'^20\d\d-\d\d-\d\d$')
    self.for_each(check)

  def test_what_is_counted_has_a_test(self):
    tests = defined_tests()
    def check(entry):
      if entry.kind == 'counted':
        for name in entry.command.split(', '):
          self.assertIn(name, tests)
    self.for_each(check)

  def test_commits_are_there(self):
    if not has_history():
      self.skipTest('the repository has no history here')
    self.for_each(lambda entry: self.assertTrue(
        entry.kind == 'fixed' or has_commit(entry.commit), entry.commit))

  def test_figures_are_found(self):
    def figures(text, page='docs/performance/a.md'):
      return figures_of(Block(page, '', text))
    self.assertEqual(figures('It takes 1.4 to 1.6 times 3 ns, and 2,410 bytes.'),
                     ['1.4 to 1.6 times', '3 ns', '2,410 bytes'])
    self.assertEqual(figures('8 bytes and `3 ns` of [a](b-3%20ns) v48.1 in 4 steps'),
                     ['8 bytes', '4'])
    self.assertEqual(figures('8 steps. It takes 4 or 5.'), [])
    self.assertEqual(figures('at most 8 bytes; it takes about 9 bytes', 'docs/a.md'),
                     ['9 bytes'])
    self.assertEqual(figures('| a | b |\n|---|--:|\n| x4 | 5.0 (1.2) |\n| y | -3% |'),
                     ['5.0', '1.2', '-3'])

  def test_a_place_is_found(self):
    places = {'*', 'A', 'A > It takes'}
    for heading, text, place in (('A', '- **It** takes 3 ns', 'A > It takes'),
                                 ('A', 'It takes', 'A > It takes'), ('A', 'Or', 'A'),
                                 ('B', 'It takes', '*')):
      self.assertEqual(place_of(Block('', heading, text), places), place)
    self.assertEqual(place_of(Block('', 'B', ''), set()), 'B')


def show():
  entries = {(entry.page, entry.place): entry for entry in read_list()}
  now = subprocess.run(['git', 'log', '-1', '--format=%h'], cwd=ROOT, stdout=subprocess.PIPE,
                       text=True, check=False).stdout.strip()
  for (page, place), figures in figures_by_place(entries.values()).items():
    old = entries.get((page, place), Entry(page, place, '', 'time', '', '', '', '', 0))
    if old.figures != figures:
      where = (old.command, now, datetime.date.today().isoformat(), old.machine)
      print('\t'.join((page, place, figures, old.kind, *(where if old.kind != 'fixed' else ()))))


if __name__ == '__main__':
  sys.exit(show() if sys.argv[1:] == ['--show'] else run_cases())
