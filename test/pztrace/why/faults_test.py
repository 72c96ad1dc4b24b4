#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace why` names each fault that examples/server plants, and no other one. Runs in
the build directory, as recording.py says."""

import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile

from recording import BUILD_DIR, PZTRACE, PztraceTest, main

SERVER = BUILD_DIR / 'server'
NOBODY = 65534
# On a busy machine, the recorder or the server may not get a processor for some time, so
# one of several recordings has to be right.
ATTEMPTS = 4
# In milliseconds: a fault takes 40.
LONG = 20
UNITS = {'ns': 1e-6, 'us': 1e-3, 'ms': 1, 's': 1000}

Block = collections.namedtuple('Block', 'ran ready waited text')


def ms(text):
  number, unit = text.split()
  return float(number) * UNITS[unit]


def parse(output):
  """The explained slices."""
  blocks = []
  for text in re.split(r'\n(?=\n|nothing lost)', output):
    shares = dict(re.findall(r'^ +(ran|ready|waited) +(\S+ [mun]?s) ', text, re.M))
    if shares:
      blocks.append(Block(*(ms(shares[name]) for name in ('ran', 'ready', 'waited')), text))
  return blocks


def is_lock(block):
  found = re.search(r'(\S+ [mun]?s) from \S+ \S+ on in lock cache\b.*\n +meanwhile '
                    r'timer \d+ ran for (\S+ [mun]?s) in empty cache {"pages":\d+}', block.text)
  return bool(found) and ms(found[1]) >= LONG and ms(found[2]) >= LONG / 2


def is_neighbour(block):
  found = re.search(r'its processor ran neighbour \d+ for (\S+ [mun]?s)', block.text)
  return bool(found) and block.ready >= LONG / 2 and ms(found[1]) >= LONG / 10


def is_hot(block, function):
  found = re.search(r' samples?: \d+ % (.*?)\(', block.text.replace('(anonymous namespace)', ''))
  return bool(found) and block.ran >= LONG and found[1].endswith('::' + function)


def is_hot_function(block):
  return is_hot(block, 'SlowSort') and 'in the kernel' not in block.text


def is_page_faults(block):
  # Without privileges, there may be no sample.
  return ((is_hot(block, 'TouchPages') or ' sample' not in block.text.split('in the kernel')[0])
          and block.ran >= LONG and 'in the kernel, as for page faults' in block.text)


def is_slow_disk(block):
  found = re.search(r'times; (\S+ [mun]?s) in write page {"file":"server.page"}', block.text)
  return bool(found) and ms(found[1]) >= LONG / 2


FAULTS = {'lock': is_lock, 'neighbour': is_neighbour, 'hot-function': is_hot_function,
          'page-faults': is_page_faults, 'slow-disk': is_slow_disk}


class FaultsTest(PztraceTest):

  def setUp(self):
    super().setUp()
    # The disk that the server writes to: not a file system in memory.
    folder = tempfile.TemporaryDirectory(dir=BUILD_DIR)
    self.addCleanup(folder.cleanup)
    self.work = folder.name
    self.as_user = []

  def problem_of(self, fault):
    """Records the server. Returns what is wrong with what is said of it; '' for nothing."""
    arguments = ['--fault', fault] if fault else []
    run = subprocess.run(
        [*self.as_user, PZTRACE, 'record', '-o', self.trace, '--why', '--', SERVER, *arguments],
        cwd=self.work, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    self.assertEqual(run.returncode, 0, run.stderr)
    if 'not recorded' in run.stderr:
      self.skipTest('perf_event_open is forbidden')
    if 'this build has no libdw' in run.stderr:
      self.skipTest('no libdw')
    if 'nothing lost' not in run.stderr:
      return run.stderr
    code, output, error = self.run_pztrace('why', self.trace, 'answer')
    self.assertEqual(code, 0, error)
    blocks = parse(output)
    self.assertEqual(len(blocks), 10, output)
    named = [name for name, is_named in FAULTS.items() if any(map(is_named, blocks))]
    return '' if named == ([fault] if fault else []) else '%s is said to be %s:\n%s' % (
        fault, named, output)

  def check(self):
    for fault in None, *FAULTS:
      for _ in range(ATTEMPTS):
        problem = self.problem_of(fault)
        if not problem:
          break
      else:
        self.fail(problem)

  def test_each_fault_is_named(self):
    self.check()

  def test_each_fault_is_named_without_privileges(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    for folder in self.folder, self.work:
      shutil.chown(folder, NOBODY, NOBODY)
    self.as_user = ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups']
    self.check()

  def test_a_fault_that_is_none(self):
    run = subprocess.run([SERVER, '--fault', 'any'], stderr=subprocess.PIPE, text=True)
    self.assertEqual(run.returncode, 2)
    self.assertIn('lock|neighbour|hot-function|page-faults|slow-disk', run.stderr)


if __name__ == '__main__':
  sys.exit(main())
