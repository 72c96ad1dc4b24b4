# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs the tests of a build that has mutants compiled in. Called by tools/mutants."""

import collections
import re
import signal
import tempfile

import run_tests

QUICK = 0.4  # Seconds of a processor; the other cases run after these.

# Prints the cases of the script that is its argument.
LIST_CASES = '''
import importlib.util, os, sys, unittest
sys.path.insert(0, os.path.dirname(sys.argv[1]))
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location('script', sys.argv[1])
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
def show(tests):
  for test in tests:
    if isinstance(test, unittest.TestSuite):
      show(test)
    else:
      print('case', test.id().split('.', 1)[1])
show(unittest.defaultTestLoader.loadTestsFromModule(script))
'''


class Tests:
  """The programs and scripts, and which case of theirs reaches which mutant."""

  def __init__(self, tree, build, known, programs, num_mutants):
    """`known` is what tests.json of the folder `build` says, by name."""
    self.build = build
    self.num_mutants = num_mutants
    self.commands = {name: known[name]['command'] if name in known
                     else ['./' + name] for name in programs}
    self.scripts = {name for name in programs
                    if name in known and known[name]['kind'] == 'script'}
    # A mutant that allocates without an end is stopped early.
    self.env = run_tests.environment(build, tree)
    self.env['ASAN_OPTIONS'] += ':hard_rss_limit_mb=2000'
    self.reached = collections.defaultdict(list)  # (program, case), by mutant.
    self.seconds = {}  # Of processors, by (program, case).

  def run(self, program, cases, cpu_seconds, **env):
    """Returns what run_tests.run_process() does. A loop without an end is known
    by the time that it computes, which does not depend on other programs."""
    arguments = (['--failfast'] + cases if program in self.scripts else
                 ['--gtest_filter=' + ':'.join(cases), '--gtest_fail_fast'])
    return run_tests.run_process(
        ['prlimit', '--cpu=%d' % cpu_seconds] + self.commands[program] +
        arguments, self.build, dict(self.env, **env), 60 + 4 * cpu_seconds)

  def cases_of(self, program):
    if program in self.scripts:
      _, output, _ = run_tests.run_process(
          ['python3', '-c', LIST_CASES, self.commands[program][0]], self.build,
          self.env, 60)
      for name in re.findall(r'^case (\S+)$', output, re.M):
        yield program, name
      return
    _, output, _ = run_tests.run_process(
        self.commands[program][:1] + ['--gtest_list_tests'], self.build, self.env,
        60)
    suite = ''
    for line in output.splitlines():
      name = line.split('#')[0].strip()
      if name.startswith('Running main'):
        continue
      if line.startswith(' '):
        if not name.startswith('DISABLED_'):
          yield program, suite + name
      else:
        suite = name

  def record(self, pool):
    """Runs each case by itself, without a mutant."""
    cases = [case for program in self.commands
             for case in self.cases_of(program)]
    for case, (passed, seconds, numbers) in zip(
        cases, pool.map(self.record_one, cases)):
      if not passed:
        run_tests.say('left out, fails without a mutant: %s %s' % case)
        continue
      self.seconds[case] = seconds
      for number in numbers:
        self.reached[number].append(case)

  def record_one(self, case):
    program, name = case
    with tempfile.NamedTemporaryFile() as f:
      f.truncate(self.num_mutants)
      code, _, seconds = self.run(program, [name], 60,
                                  PROTOZERO_MUTANTS_REACHED=f.name)
      numbers = [number for number, byte in enumerate(f.read()) if byte]
    return code == 0, seconds, numbers

  def killer(self, number, programs):
    """Returns what kills the mutant: a case, or how its program ends."""
    for program in programs:
      cases = [case for case in self.reached[number] if case[0] == program]
      quick = [case for case in cases if self.seconds[case] < QUICK]
      slow = [case for case in cases if self.seconds[case] >= QUICK]
      for together in quick, slow:
        killer = together and self.killer_of(number, program, together)
        if killer:
          return killer
    return ''

  def killer_of(self, number, program, cases):
    seconds = 5 + 3 * sum(self.seconds[case] for case in cases)
    code, output, _ = self.run(program, [name for _, name in cases], seconds,
                               PROTOZERO_MUTANT=str(number))
    if code is None or code in (-signal.SIGKILL, -signal.SIGXCPU):
      return program + ': no end'
    if code == 0:
      return ''
    failed = re.findall(r'\[  FAILED  \] (\S+)|^(?:FAIL|ERROR): (\S+)', output,
                        re.M)
    failed = [''.join(names) for names in failed]
    return '%s: %s' % (program, failed[0] if failed else code)
