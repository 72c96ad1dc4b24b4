#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace check` compares traces with rules: on traces of known content, and whatever
the bytes are. Runs in the build directory."""

import subprocess
import sys

from cases import run_cases
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import (
    BEGIN, END, INSTANT, MS, THREAD, described, event, first_packet, name, track)
from wire import delimited, integer

TRACE = (described() +
         event(1, BEGIN, 0, name('request')) + event(1, BEGIN, 1 * MS, name('db')) +
         event(1, END, 2 * MS) + event(1, END, 1 * MS) +
         event(1, BEGIN, 6 * MS, name('request')) + event(1, INSTANT, 1 * MS, name('db')) +
         event(1, BEGIN, 1 * MS, name('db')) + event(1, END, 1 * MS) +
         event(1, END, 0))


class CheckTest(TimelineCommandTest):
  command = 'check'

  def setUp(self):
    super().setUp()
    self.rules = self.path.parent / 'rules'

  def check(self, rules, code, trace=TRACE):
    """Returns what it prints, without the name of RULES."""
    self.rules.write_bytes(rules.encode())
    output, error = self.run_command(trace, self.rules, code=code)
    return (output + error).replace(str(self.rules), 'rules')

  def test_rules_that_are_kept(self):
    self.assertEqual(
        self.check('# All requests.\n\nin each request at least 1 db\r\n'
                   '  never lock inside request\nexactly 2 request # two', 0),
        'rules:3: kept: in each request at least 1 db\n'
        'rules:4: kept: never lock inside request\n'
        "  Nothing in the trace has the name 'lock'.\n"
        'rules:5: kept: exactly 2 request\n'
        '0 of 3 rules broken\n')

  def test_files_of_windows(self):
    self.assertEqual(
        self.check('\ufeffexactly 2 request\r\n\r\n# two\r\nnever lock', 0),
        'rules:1: kept: exactly 2 request\n'
        'rules:4: kept: never lock\n'
        "  Nothing in the trace has the name 'lock'.\n"
        '0 of 2 rules broken\n')

  def test_names_that_nothing_has(self):
    rules = 'never dbb inside request\nat most 3 db\nnever request inside rendr\nexactly 1 no'
    note = "  Nothing in the trace has the name '%s'.\n"
    verdicts = ('rules:1: %s: never dbb inside request\n' + note % 'dbb' +
                'rules:2: kept: at most 3 db\n'
                'rules:3: %s: never request inside rendr\n' + note % 'rendr')
    # The last one is broken in any case, and says why.
    output = self.check(rules, 1)
    self.assertTrue(output.startswith(verdicts % ('kept', 'kept')), output)
    self.assertTrue(output.endswith('\n1 of 4 rules broken\n'), output)
    self.rules.write_text(rules)
    output, _ = self.run_command(TRACE, '--strict', self.rules, code=1)
    output = output.replace(str(self.rules), 'rules')
    self.assertTrue(output.startswith(verdicts % ('broken', 'broken')), output)
    self.assertTrue(output.endswith('\n3 of 4 rules broken\n'), output)
    self.rules.write_text('never db inside db\nnothing lost')
    self.assertNotIn('Nothing in', self.run_command(TRACE, '--strict', self.rules, code=1)[0])

  def test_broken_rule_shows_the_slices(self):
    self.assertEqual(
        self.check('in each request exactly 1 db\nnever lock\n', 1),
        'rules:1: broken: in each request exactly 1 db\n'
        '  1 of 2 request break it.\n'
        '  2 db in this request:\n'
        '  process 41 app, thread 42 main:\n'
        '       10.000 ms     3.000 ms  request\n'
        '       11.000 ms      instant    db  <--\n'
        '       12.000 ms     1.000 ms    db  <--\n'
        'rules:2: kept: never lock\n'
        "  Nothing in the trace has the name 'lock'.\n"
        '1 of 2 rules broken\n')

  def test_times_are_reported_unless_strict(self):
    share = '100 % of request under 4 ms'
    text = ('  1 of 2 request under 4 ms; the longest takes 4.000 ms.\n'
            '  process 41 app, thread 42 main:\n'
            '        0.000 ms     4.000 ms  request\n')
    self.assertEqual(
        self.check(share, 0), 'rules:1: not kept, but not strict: %s\n%s'
        '0 of 1 rule broken\n' % (share, text))
    self.assertEqual(
        self.check('strictly ' + share, 1), 'rules:1: broken: strictly %s\n%s'
        '1 of 1 rule broken\n' % (share, text))

  def test_task_without_a_place_has_its_number(self):
    tasks = 9
    spawn = event(2, INSTANT, 5, integer(11, THREAD), delimited(4100, integer(3, 7)))
    trace = (described() + track(tasks, delimited(2, b'tasks'), parent=THREAD) +
             first_packet(2, track=tasks) + spawn)
    self.assertEqual(
        self.check('all tasks ended', 1, trace),
        'rules:1: broken: all tasks ended\n'
        '  1 of 1 tasks have not ended.\n'
        '  task 7, seen first at 0.000 ms\n'
        '1 of 1 rule broken\n')

  def test_tasks_and_losses(self):
    output = self.check('all tasks ended\nnothing lost', 1)
    self.assertIn('broken: all tasks ended\n  The trace has no task.\n', output)
    self.assertIn('broken: nothing lost\n  The trace has no count of what is lost.\n', output)
    trace, items = self.record_workers()
    self.assertIn('rules:1: kept: nothing lost\nrules:2: kept: at least %d item\n' % items,
                  self.check('nothing lost\nat least %d item' % items, 0, trace))

  def test_errors_name_the_line_and_what_to_write(self):
    self.assertEqual(
        self.check('never lock\nexactly one db\nnever\n', 2),
        "pztrace: rules:2: write a number of events where it says \"one db\"\n"
        'pztrace: rules:3: write a name at the end of the line\n')
    self.assertEqual(
        self.check('# nothing\n', 2),
        "pztrace: rules: has no rules; write one a line, such as 'never lock inside "
        "render'\n")
    for rules in '\0', 'never \x1b[2J \xff', 'x' * 1000000, '"' * 1000:
      error = self.check(rules, 2)
      self.assertLess(len(error), 1000)
      self.assertNotIn('\x1b', error)
      self.assertIn('pztrace: rules:1: write ', error)

  def test_inputs(self):
    self.rules.write_text('exactly 2 request\n')
    self.path.write_bytes(TRACE)
    for words, given in ((['-', self.path], self.rules), ([self.rules, '-'], self.path)):
      subprocess.run([PZTRACE, 'check', *words], input=given.read_bytes(),
                     stdout=subprocess.DEVNULL, check=True)
    for words, code, message in (
        (['-', '-'], 2, b'RULES and FILE are the same standard input'),
        ([self.rules], 2, b'FILE'),
        ([self.path.parent / 'none', self.path], 1, b'none'),
        ([self.rules, self.rules], 1, b'text')):
      done = subprocess.run([PZTRACE, 'check', *words], stdin=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, check=False)
      self.assertEqual(done.returncode, code, done.stderr)
      self.assertIn(message, done.stderr)

  def test_names_cannot_fake_lines(self):
    trace = described() + event(1, INSTANT, 0, name('a\nrules:1: kept: b\x1b[2J'))
    output = self.check('exactly 2 "a\\x0arules:1: kept: b\\x1b[2J"', 1, trace)
    self.assertNotIn('\x1b', output)
    self.assertEqual(len(output.splitlines()), 5)

  def test_damaged_traces(self):
    output = self.check('exactly 2 request', 1, TRACE + b'\x0a\x7f')
    self.assertIn('rules:1: kept: exactly 2 request\n', output)
    self.assertIn('damaged', output)
    self.rules.write_text('in each request exactly 1 db\nnever db inside request\n'
                          'strictly 50 % of db under 1 ms\nall tasks ended\nnothing lost\n')
    self.options = (self.rules,)
    for output in self.outputs_of_damaged(TRACE):
      self.assertRegex(output, r'\d of 5 rules broken\n|^$')


if __name__ == '__main__':
  sys.exit(run_cases())
