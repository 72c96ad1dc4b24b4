#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether a program with events, but without a LocalTrace and without tasks, has
the service or the code of tasks in it.

Runs in the build directory. The last line is "N passed, N failed".
"""

import subprocess

from compilers import Counter

PARTS = ['protozero::pz_0_1::%s::' % name
         for name in ('LocalTrace', 'ServiceHost', 'TracingService')]
TASKS = 'protozero::pz_0_1::internal::WriteTask'


def main():
  counter = Counter()
  for program, has_parts in ('lifetime_program', True), ('traced_workers', False):
    symbols = subprocess.run(['nm', '-C', program], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    counter.check('TraceWriter' in symbols, program + ' has no symbols')
    for part in PARTS:
      counter.check((part in symbols) == has_parts, '%s: %s' % (program, part))
    counter.check(TASKS not in symbols, '%s: %s' % (program, TASKS))
  symbols = subprocess.run(['nm', '-C', 'track_event_unittests'], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
  counter.check(TASKS in symbols, 'the name of the code of tasks is out of date')
  counter.finish()


if __name__ == '__main__':
  main()
