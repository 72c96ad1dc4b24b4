#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Random programs know how long their threads ran, were ready and waited: the numbers of
slices agree, and are unknown where records are lost. Runs in the build directory, as
recording.py says.

  truth_test.py [--runs N] [--seed S]    (default: 2 runs, from seed 1 on)
"""

import argparse
import collections
import json
import os
import shutil
import signal
import subprocess
import sys

from recording import BUILD_DIR, PZTRACE, PztraceTest, is_near, main, never_right, with_small_rings

PROGRAM = BUILD_DIR / 'random_threads'
NOBODY = 65534
Part = collections.namedtuple('Part', 'id kind begin end ran waited delayed turns')
seeds = range(1, 3)


def parse(text):
  return [Part(int(words[0]), words[1], *map(int, words[2:]))
          for words in map(str.split, text.splitlines()) if len(words) == 8]


def problem_of(part, row):
  """Returns what is wrong with the numbers of a slice; '' if they agree."""
  length = part.end - part.begin
  ran, ready, waited = row['ran'], row['ready'], row['waited']
  if row['dur'] != length or ran + ready + waited != length:
    return 'sum'
  if not is_near(ran, part.ran, part.turns):
    return 'ran'
  if part.kind == 'run' and not is_near(ready, length - part.ran, part.turns):
    return 'ready'
  # A fault may wait for another thread's change of the memory's map.
  if part.kind == 'run' and waited > length / 100 + 100000:
    return 'waited'
  if part.kind != 'run' and part.delayed >= 0:
    # It is also delayed between the moment when it is woken and the one when it runs.
    if ready > part.delayed and not is_near(ready, part.delayed, part.turns):
      return 'ready'
    # It may have been preempted before it waited.
    least = max(part.waited - part.delayed, 0)
    if waited < least and not is_near(waited, least, part.turns):
      return 'waited'
  return ''


class TruthTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.prefix = []
    code, _, error = self.run_pztrace('record', '-o', self.folder / 'try',
                                      '--scheduling', '--duration', '0.01')
    self.assertEqual(code, 0, error)
    if 'is not recorded' in error:
      self.skipTest('perf_event_open is forbidden')

  def record(self, seed, lines, act=lambda recorder, line: None):
    """Records a round for each line. Calls |act| before each. Returns the parts, and what
    the recorder says at its end."""
    recorder = subprocess.Popen(
        [*self.prefix, PZTRACE, 'record', '-o', self.trace, '--scheduling', '--', PROGRAM,
         str(seed)], env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    try:
      output = ''
      for line in lines:
        act(recorder, line)
        recorder.stdin.write(line + '\n')
        recorder.stdin.flush()
        output += ''.join(iter(recorder.stdout.readline, 'round\n'))
      recorder.stdin.close()
      error = recorder.stderr.read()
      self.assertEqual(recorder.wait(), 0, error)
    finally:
      recorder.kill()
      recorder.wait()
      recorder.stdout.close()
      recorder.stderr.close()
    return parse(output), error

  def compare(self, parts):
    """Returns the ids of parts that are known, and what is wrong with some of them, by id."""
    code, output, error = self.run_pztrace('export', '--slices', '--format', 'ndjson',
                                           self.trace)
    self.assertEqual(code, 0, error)
    rows = {row['args']['id']: row for row in map(json.loads, output.splitlines())}
    self.assertEqual(set(rows), {part.id for part in parts})
    known = [part for part in parts if rows[part.id]['ran'] is not None]
    wrong = {part.id: (problem_of(part, rows[part.id]), part,
                       {name: rows[part.id][name] for name in ('dur', 'ran', 'ready', 'waited')})
             for part in known if problem_of(part, rows[part.id])}
    return [part.id for part in known], wrong

  def check_seeds(self):
    for seed in seeds:
      def attempt():
        parts, error = self.record(seed, ['calm'])
        self.assertIn('nothing lost', error)
        known, wrong = self.compare(parts)
        self.assertEqual(known, [part.id for part in parts])
        return known, wrong
      with self.subTest(seed=seed):
        self.assertEqual(never_right(attempt), {})

  def test_numbers_are_what_threads_measured(self):
    self.check_seeds()

  def test_without_privileges(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    for folder in self.folder, *self.folder.iterdir():
      shutil.chown(folder, NOBODY, NOBODY)
    self.prefix = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups']
    self.check_seeds()

  def test_losses_make_numbers_unknown(self):
    """A stopped recorder does not read the kernel's rings, which the flood fills."""
    self.prefix = with_small_rings()
    def act(recorder, line):
      recorder.send_signal(signal.SIGSTOP if line == 'flood' else signal.SIGCONT)
    for seed in seeds:
      def attempt():
        parts, error = self.record(seed, ['calm', 'flood', 'calm', 'calm', 'calm'], act)
        self.assertRegex(error, r'the kernel has lost \d+ records')
        known, wrong = self.compare(parts)
        self.assertNotEqual(known, [])
        self.assertLess(len(known), len(parts))
        return known, wrong
      with self.subTest(seed=seed):
        self.assertEqual(never_right(attempt), {})


if __name__ == '__main__':
  parser = argparse.ArgumentParser(add_help=False)
  parser.add_argument('--runs', type=int, default=2)
  parser.add_argument('--seed', type=int, default=1)
  options, sys.argv[1:] = parser.parse_known_args()
  seeds = range(options.seed, options.seed + options.runs)
  sys.exit(main())
