#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Where the queries of `pztrace sql` come from, and how a terminal shows what they find.
Runs in the build directory."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios

import sql_test
from timeline_command import PZTRACE, run_sql_cases

TRACE = '''thread
10 BEGIN name: "request"
20 END
30 BEGIN name: "render"
50 END'''


class SourcesTest(sql_test.SqlTest):

  def setUp(self):
    super().setUp()
    self.path.write_bytes(sql_test.trace_of(TRACE))

  def run_with(self, *args, stdin=b'', code=0):
    result = subprocess.run([PZTRACE, 'sql', *args], input=stdin, timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stdout.decode(), result.stderr.decode()

  def test_queries_of_files_and_pipes(self):
    query = b'-- all\nSELECT 7;\nSELECT count(*) AS n FROM slice;\n-- the end'
    file = self.path.with_suffix('.sql')
    file.write_bytes(b'\xef\xbb\xbf' + query)
    for args in ([self.path, query.decode()], ['-f', file, self.path],
                 [self.path, '--file=%s' % file]):
      self.assertEqual(self.run_with(*args)[0], 'n\n2\n')
    for args in [self.path, '-'], [self.path], ['-f', '-', self.path]:
      self.assertEqual(self.run_with(*args, stdin=query)[0], 'n\n2\n')
    self.assertEqual(self.run_with('-', query.decode(), stdin=self.path.read_bytes())[0],
                     'n\n2\n')
    for comment in '-- x\nSELECT 1', '--x\nSELECT 1', '/* x */ SELECT 1':
      self.assertEqual(self.run_with(self.path, comment)[0], '1\n1\n')

  def test_wrong_usage(self):
    for args, why in (([self.path, 'SELECT 1', '-f', 'x'], 'two queries'),
                      (['-'], 'QUERY is missing'), (['-', '-'], 'QUERY is missing'),
                      (['-', '-f', '-'], 'QUERY is missing'), ([], 'FILE is missing'),
                      ([self.path, '1', '2'], 'too many')):
      self.assertIn(why, self.run_with(*args, code=2)[1])
    self.assertIn('No such file', self.run_with('-f', '/no/such', self.path, code=1)[1])
    self.assertIn('the query is empty', self.run_with(self.path, code=1)[1])

  def test_wide_characters_are_aligned(self):
    output, _ = self.run_with(
        self.path, "SELECT '\u65e5\u672c' AS a, 1 AS b UNION ALL SELECT 'e\u0301', 2")
    self.assertEqual(output, 'a     b\n\u65e5\u672c  1\ne\u0301     2\n')


class TerminalTest(sql_test.SqlTest):

  def setUp(self):
    super().setUp()
    self.path.write_bytes(sql_test.trace_of(TRACE))

  def start(self, *args, columns=80, terminal='xterm'):
    pid, self.terminal = pty.fork()
    if pid == 0:
      fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 24, columns, 0, 0))
      os.execve(PZTRACE, [PZTRACE, 'sql', self.path, *args], {**os.environ, 'TERM': terminal})
    self.pid = pid
    self.addCleanup(os.close, self.terminal)

  def read_until(self, end):
    """What the terminal has got, without what moves its cursor."""
    text = ''
    while not text.endswith(end):
      self.assertTrue(select.select([self.terminal], [], [], 60)[0], text)
      try:
        text += os.read(self.terminal, 4096).decode(errors='replace')
      except OSError:
        break
    return text

  def answer(self, keys, prompt='sql> '):
    """A line as it is shown at last, and what follows it. After it stands a return, and the
    line up to the cursor."""
    os.write(self.terminal, keys.encode())
    text = ''
    while '\r\n' not in text:
      text += self.read_until(prompt)
    line, _, answer = text.partition('\r\n')
    return re.split('\r', line)[-2].split('\x1b')[0], answer[:answer.rfind('\r' + prompt)].split('\x1b[K')[0]

  def finish(self):
    os.write(self.terminal, b'\x04')
    self.read_until('nothing ends so')
    self.assertEqual(os.waitpid(self.pid, 0)[1], 0)

  def test_the_prompt(self):
    self.start()
    self.read_until('sql> ')
    self.assertIn('n\r\n2\r\n', self.answer('SELECT count(*) AS n FROM slice;\r')[1])
    self.assertIn('did you mean name?', self.answer('SELECT nam FROM slice;\r')[1])
    # A query of two lines, and what it makes stays.
    self.answer('CREATE VIEW v AS\r', '...> ')
    self.answer("SELECT 'of v' AS x;\r")
    self.assertIn('of v', self.answer('SELECT x FROM v;\r')[1])
    # The third line before, changed at its beginning and its end.
    line, answer = self.answer('\x1b[A\x1b[A\x1b[A\x1b[A\x1b[F\x7f LIMIT 0;\x01\x1b[C\x1b[C\r')
    self.assertEqual(line, 'sql> SELECT count(*) AS n FROM slice LIMIT 0;')
    self.assertNotIn('2', answer)
    # Words beyond ASCII are one key each.
    self.assertIn('xz', self.answer("SELECT '\u20acy\x1b[D\x1b[D\x1b[3~x\x1b[C\x7fz';\r")[1])
    self.answer('SELECT 1\x03')
    self.finish()

  def test_a_terminal_without_keys(self):
    self.start(terminal='dumb')
    self.read_until('sql> ')
    os.write(self.terminal, b'SELECT 6 * 7 AS x;\n')
    self.assertIn('42', self.read_until('\r\nsql> '))
    os.write(self.terminal, b'exit\n')
    self.read_until('nothing ends so')
    self.assertEqual(os.waitpid(self.pid, 0)[1], 0)

  def test_a_narrow_terminal_gets_a_value_a_line(self):
    query = "SELECT name, dur, 'a text that takes some columns' AS longer FROM slice"
    self.start(query, columns=40)
    text = self.read_until('nothing ends so').replace('\r', '')
    self.assertEqual(os.waitpid(self.pid, 0)[1], 0)
    value = 'longer  a text that takes some columns\n\n'
    self.assertEqual(text, 'name    request\ndur     10\n' + value +
                     'name    render\ndur     20\n' + value)
    self.start(query, columns=60)
    self.assertIn('name     dur  longer', self.read_until('nothing ends so'))
    os.waitpid(self.pid, 0)


if __name__ == '__main__':
  sys.exit(run_sql_cases())
