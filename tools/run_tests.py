# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Builds and runs all tests, in several configurations of the build.

Called by tools/test. The last line is "N passed, N failed", counted over all
GoogleTest cases and all cases of test scripts in all configurations; a
configuration that does not build and a program that crashes count as failed.
A few tests that fail beside others are run again alone; those that pass then
are named. So is each skipped case, with its reason: a reason that
tools/may_be_skipped.txt does not have is a failure. The exit code is zero if
something passed and nothing failed.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import test_inputs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAY_BE_SKIPPED = os.path.join(ROOT, 'tools', 'may_be_skipped.txt')
# The lines of skipped cases, of GoogleTest and of Python's unittest.
GTEST_SKIP = re.compile(r'^\[ RUN      \] (\S+)$(?:(?!^\[).)*?: Skipped\n(.*?)\s*'
                        r'^\[  SKIPPED \] ', re.M | re.S)
SCRIPT_SKIP = re.compile(r'^(\w+) \((?:__main__\.)?([\w.]+)\)(?:\n[^\n]*)?? \.\.\. '
                         r'skipped ([\'"])(.*)\3$', re.M)
COUNT_LINE = re.compile(r'(\d+) passed, (\d+) failed(?:, (\d+) skipped)?')


@dataclasses.dataclass
class Config:
  """One configuration of the build, in out/test/<name>."""
  name: str
  what: str
  gn_args: str
  group: str  # Root group of the tests to build and run.
  once: bool = False  # Also runs the tests that one configuration suffices for.
  plugin_of: str = ''  # The configuration that builds the plugin.


# Compiles faster. One configuration does without it, as those of users and
# developers do, and misses the #include that a file lacks.
UNITY = 'is_unity_build=true'

# The first two run everything; the others what can plausibly differ there.
CONFIGS = [
    Config('asan', 'debug, clang, setters in place, AddressSanitizer, '
           'UndefinedBehaviorSanitizer and libFuzzer',
           'is_debug=true is_asan=true is_ubsan=true is_fuzzer=true '
           'inline_setters=true ' + UNITY,
           'tests'),
    Config('release', 'release, clang', 'optimize_benchmarks=false', 'tests',
           once=True),
    Config('gcc', 'release, gcc, setters in place, C++20, without exceptions '
           'and RTTI',
           'is_clang=false cpp_standard=20 enable_exceptions=false '
           'enable_rtti=false inline_setters=true ' + UNITY, 'tests_core',
           plugin_of='release'),
    Config('tsan', 'debug, clang, ThreadSanitizer',
           'is_debug=true is_tsan=true ' + UNITY, 'tests_tsan',
           plugin_of='release'),
]

PYTHON_FOLDERS = ('test/testing', 'test/plugin', 'test/differential', 'test/pbz',
                  'tools')
SANITIZER_OPTIONS = {
    'ASAN_OPTIONS': 'check_initialization_order=1:strict_init_order=1:'
                    'strict_string_checks=1:detect_stack_use_after_return=1:'
                    # The default is 256. A test of a mistake is a fork of the
                    # process, which takes longer the more memory that has.
                    'quarantine_size_mb=32',
    'UBSAN_OPTIONS': 'print_stacktrace=1',
    'TSAN_OPTIONS': 'second_deadlock_stack=1',
}


@dataclasses.dataclass
class Outcome:
  passed: int = 0
  failed: int = 0
  skipped: int = 0
  seconds: float = 0
  cpu: float = 0  # Seconds, of all processors.
  output: str = ''
  # Names of failed tests, and of those that passed when they ran alone.
  failures: list = dataclasses.field(default_factory=list)
  unstable: list = dataclasses.field(default_factory=list)
  # (case, reason) of each skipped one; of a whole script, without a case.
  skips: list = dataclasses.field(default_factory=list)
  # (seconds of all processors, seconds, name) of each test.
  costs: list = dataclasses.field(default_factory=list)

  def add(self, other):
    self.passed += other.passed
    self.failed += other.failed
    self.skipped += other.skipped
    self.failures += other.failures
    self.unstable += other.unstable
    self.skips += other.skips
    self.costs += other.costs


def cpu_of_children():
  usage = resource.getrusage(resource.RUSAGE_CHILDREN)
  return usage.ru_utime + usage.ru_stime


def let_programs_be_interrupted():
  """Has programs that are run from now on not ignore the signals that tests
  send. Shells start what runs in the background so that it ignores them, and
  programs inherit that; they do not inherit a handler, though."""
  for number in signal.SIGINT, signal.SIGQUIT, signal.SIGHUP:
    if signal.getsignal(number) == signal.SIG_IGN:
      signal.signal(number, lambda *_: None)


def say(text=''):
  print(text, flush=True)


def run_process(command, cwd, env, timeout):
  """Returns the exit code (None: timed out), all output, and the seconds of
  processor time that it and what it waited for took."""
  with tempfile.TemporaryFile() as log:
    process = subprocess.Popen(command, cwd=cwd, env=env, stdout=log,
                               stderr=subprocess.STDOUT,
                               stdin=subprocess.DEVNULL,
                               start_new_session=True)
    timed_out = threading.Event()

    def kill():  # Kills its children, too.
      try:
        os.killpg(process.pid, signal.SIGKILL)
      except ProcessLookupError:
        pass

    def give_up():
      timed_out.set()
      kill()

    timer = threading.Timer(timeout, give_up)
    timer.start()
    try:
      # Leaves it to wait4(), which tells what it used.
      os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    finally:
      timer.cancel()
      kill()
      _, status, usage = os.wait4(process.pid, 0)
      process.returncode = os.waitstatus_to_exitcode(status)
    log.seek(0)
    return (None if timed_out.is_set() else process.returncode,
            log.read().decode(errors='replace'),
            usage.ru_utime + usage.ru_stime)


def reasons_to_skip():
  """Returns (test, pattern of reasons) of each line of MAY_BE_SKIPPED."""
  with open(MAY_BE_SKIPPED) as f:
    return [tuple(line.rstrip('\n').split(': ', 1)) for line in f
            if line.strip() and not line.startswith('#')]


def may_be_skipped(test_name, reason):
  return any(name in (test_name, '*') and fnmatch.fnmatchcase(reason, pattern)
             for name, pattern in reasons_to_skip())


def num_cases_of_script(path):
  """Returns how many cases a script of Python's unittest has, or 1."""
  try:
    with open(path, errors='replace') as f:
      return max(len(re.findall(r'^  def test_', f.read(), re.M)), 1)
  except OSError:
    return 1


def count_gtest(report, output):
  """Counts the cases of a GoogleTest JSON report."""
  outcome = Outcome()
  reasons = dict(GTEST_SKIP.findall(output))
  for suite in report['testsuites']:
    for case in suite['testsuite']:
      if case['status'] == 'NOTRUN' or case['result'] == 'SKIPPED':
        outcome.skipped += 1
        name = '%s.%s' % (case.get('classname', ''), case['name'])
        reason = 'disabled' if case['status'] == 'NOTRUN' else reasons.get(name, '')
        outcome.skips.append((name, ' '.join(reason.split())))
      elif case.get('failures'):
        outcome.failed += 1
      else:
        outcome.passed += 1
  return outcome


# A sanitizer's report ends the program with an error, even if the case in which
# it was found passes.
SANITIZER_REPORT = re.compile(r'Sanitizer: |: runtime error: ')


def without_passed_cases(output):
  """GoogleTest's output. Leaves out cases that passed, unless a sanitizer has
  found something there."""
  kept, case = [], None
  for line in output.splitlines(keepends=True):
    if line.startswith('[ RUN      ]'):
      case = [line]
    elif case is None:
      if line.strip() and not line.startswith('[-----'):
        kept.append(line)
    elif line.startswith('[       OK ]'):
      if SANITIZER_REPORT.search(''.join(case)):
        kept += case + [line]
      case = None
    else:
      case.append(line)
      if line.startswith('[  FAILED  ]'):
        kept += case
        case = None
  return ''.join(kept + (case or []))


def run_gtest(test, build_dir, env, options):
  with tempfile.TemporaryDirectory() as scratch:
    report = os.path.join(scratch, 'report.json')
    command = test['command'] + ['--gtest_output=json:' + report]
    if options.filter:
      command.append('--gtest_filter=' + options.filter)
    code, output, cpu = run_process(command, build_dir, env, options.timeout)
    try:
      with open(report) as f:
        outcome = count_gtest(json.load(f), output)
    except (OSError, ValueError):
      # It died. The cases before the last one are known from its output.
      outcome = Outcome(passed=len(re.findall(r'^\[       OK \] ', output,
                                              re.M)), failed=1)
    outcome.cpu = cpu
  if code != 0 and not outcome.failed:
    outcome.failed = 1  # For example a leak, found at exit.
  if not (outcome.passed or outcome.failed or outcome.skipped or
          options.filter):
    output += 'It contains no test.\n'
    outcome.failed = 1
  return code, without_passed_cases(output), outcome


def run_script(test, build_dir, env, options):
  code, output, cpu = run_process(test['command'], build_dir, env,
                                  options.timeout)
  lines = output.rstrip().splitlines()
  counts = COUNT_LINE.fullmatch(lines[-1]) if lines else None
  if counts:
    outcome = Outcome(passed=int(counts[1]), failed=int(counts[2]),
                      skipped=int(counts[3] or 0))
    outcome.skips = [('%s.%s' % (suite.split('.')[0], case), reason)
                     for case, suite, _, reason in SCRIPT_SKIP.findall(output)]
    if outcome.skipped and not outcome.skips:
      said = re.sub('^skipped: ', '', lines[-2]) if len(lines) > 1 else ''
      outcome.skips = [('', said)]
      if not outcome.passed and not outcome.failed:
        outcome.skipped = max(outcome.skipped,
                              num_cases_of_script(os.path.join(build_dir,
                                                               test['command'][0])))
    if (code != 0) != (outcome.failed > 0):
      output += 'Its exit code, %s, contradicts its counts.\n' % code
      outcome.failed = max(outcome.failed, 1)
  else:
    outcome = Outcome(passed=int(code == 0), failed=int(code != 0))
  outcome.cpu = cpu
  return code, output, outcome


def environment(build_dir, root=ROOT):
  """Returns the variables that tests find."""
  # Python tests find common modules, and leave no __pycache__ beside them.
  path = [os.path.join(root, folder) for folder in PYTHON_FOLDERS]
  return dict(os.environ, PROTOZERO_SOURCE_ROOT=root,
              PROTOZERO_BUILD_DIR=build_dir, PYTHONPATH=os.pathsep.join(path),
              PYTHONDONTWRITEBYTECODE='1', **SANITIZER_OPTIONS)


def run_test(test, build_dir, options):
  env = environment(build_dir)
  symbolizer = '/usr/bin/llvm-symbolizer-19'
  if os.path.exists(symbolizer):
    for sanitizer in ('ASAN', 'UBSAN', 'TSAN', 'LSAN'):
      env[sanitizer + '_SYMBOLIZER_PATH'] = symbolizer
  start = time.monotonic()
  run = run_gtest if test['kind'] == 'gtest' else run_script
  try:
    code, output, outcome = run(test, build_dir, env, options)
  except OSError as error:
    code, output, outcome = 127, '%s\n' % error, Outcome(failed=1)
  outcome.seconds = time.monotonic() - start
  if code is None:
    output += 'It took more than %d seconds.\n' % options.timeout
  elif code < 0:
    output += 'It died of %s.\n' % signal.Signals(-code).name
  outcome.output = output
  return outcome


def build(config, targets):
  """Returns the command that failed, None if none did."""
  build_dir = 'out/test/' + config.name
  gn_args = config.gn_args
  if config.plugin_of:
    provider, = [other for other in CONFIGS if other.name == config.plugin_of]
    failure = build(provider, ['protozero_plugin'])
    if failure:
      return failure
    gn_args += (' protozero_prebuilt_plugin="//out/test/%s/protozero_plugin"' %
                provider.name)
  # `gn gen --check` includes `gn check`. Ninja's progress is for terminals.
  quiet = [] if sys.stdout.isatty() else ['--quiet']
  for command in (['tools/gn', 'gen', '-q', '--check', build_dir,
                   '--args=' + gn_args],
                  ['tools/ninja', '-k0'] + quiet + ['-C', build_dir] + targets):
    if subprocess.call(command, cwd=ROOT, stdin=subprocess.DEVNULL):
      return command
  return None


def lines_of_costs(costs, count=20):
  """Returns a table of the `count` tests that took the most, largest first."""
  return (['   CPU s  wall s'] +
          ['%8.1f%8.1f  %s' % cost for cost in sorted(costs, reverse=True)[:count]
           if cost[0] >= 1])


def say_outcome(test, outcome):
  if outcome.failed:
    say('-- output of ' + ' '.join(test['command']))
    say(outcome.output.rstrip())
    say('-- end of output')
  if outcome.passed or outcome.failed or outcome.skipped:
    say('   %s %-32s %5d passed, %d failed%s  %.1f s, CPU %.1f s' %
        ('FAIL' if outcome.failed else 'ok  ', test['name'],
         outcome.passed, outcome.failed,
         ', %d skipped' % outcome.skipped if outcome.skipped else '',
         outcome.seconds, outcome.cpu))


# More failures than this are not due to a machine that was busy for a moment.
MAX_RUN_AGAIN = 3


def run_all(tests, config_name, build_dir, options):
  """Runs tests beside each other, and some of those that fail again, alone."""
  outcomes = []
  # Many tests wait for something most of their time.
  with concurrent.futures.ThreadPoolExecutor(os.cpu_count() + 1) as pool:
    jobs = {pool.submit(run_test, test, build_dir, options): test
            for test in tests}
    for job in concurrent.futures.as_completed(jobs):
      outcomes.append((jobs[job], job.result()))
      say_outcome(*outcomes[-1])
  total = Outcome()
  may_run_again = sum(outcome.failed > 0
                      for _, outcome in outcomes) <= MAX_RUN_AGAIN
  for test, outcome in outcomes:
    name = '%s: %s' % (config_name, test['name'])
    # A sanitizer's report does not depend on how busy the machine is.
    if (outcome.failed and may_run_again and
        not SANITIZER_REPORT.search(outcome.output)):
      outcome = run_test(test, build_dir, options)
      say_outcome(test, outcome)
      if not outcome.failed:
        total.unstable.append(name)
    for case, reason in outcome.skips:
      if not may_be_skipped(test['name'], reason):
        outcome.failed += 1
        say('   %s skips %s, and tools/may_be_skipped.txt does not have the '
            'reason: %s' % (name, case or 'all', reason))
    outcome.skips = [(('%s %s' % (test['name'], case)).strip(), reason)
                     for case, reason in outcome.skips]
    total.add(outcome)
    total.costs.append((outcome.cpu, outcome.seconds, name))
    if outcome.failed:
      total.failures.append(name)
  return total


def run_config(config, fetcher, options):
  """Builds one configuration and runs its tests."""
  build_dir = os.path.join(ROOT, 'out', 'test', config.name)
  say('== %s: %s' % (config.name, config.what))
  start, cpu_start = time.monotonic(), cpu_of_children()
  targets = [config.group] + (['default'] if config.group == 'tests' else [])
  failure = build(config, targets)
  if failure:
    say('FAILED %s: %s' % (config.name, ' '.join(failure)))
    return Outcome(failed=1, failures=['%s: the build' % config.name])
  built, cpu_built = time.monotonic(), cpu_of_children()
  say('   built in %.0f s, CPU %.0f s' % (built - start, cpu_built - cpu_start))
  if not fetcher.finish(say):
    return Outcome(failed=1, failures=['tools/install-build-deps'])

  with open(os.path.join(build_dir, config.group + '.json')) as f:
    tests = {test['label']: test for test in json.load(f)}.values()
  tests = [test for test in tests if config.once or not test['once']]
  # The longest ones are scripts: at the end, they would run alone.
  tests.sort(key=lambda test: test['kind'] != 'script')
  if options.filter:
    tests = [test for test in tests if test['kind'] == 'gtest' or
             any(fnmatch.fnmatch(test['name'], pattern)
                 for pattern in options.filter.split('-')[0].split(':'))]

  total = run_all(tests, config.name, build_dir, options)
  say('   ran in %.0f s, CPU %.0f s' % (time.monotonic() - built,
                                        cpu_of_children() - cpu_built))
  return total


def main():
  parser = argparse.ArgumentParser(
      prog='tools/test', description='Builds and runs all tests.',
      epilog='Configurations: ' +
      '; '.join('%s (%s)' % (c.name, c.what) for c in CONFIGS))
  parser.add_argument('--quick', action='store_true',
                      help='the first configuration only')
  parser.add_argument('--config', metavar='NAME', action='append',
                      choices=[config.name for config in CONFIGS],
                      help='this configuration only (repeatable)')
  parser.add_argument('--filter', metavar='PATTERN',
                      help='only the GoogleTest cases (Suite.Case) and the '
                      'scripts that match, as in --gtest_filter')
  parser.add_argument('--timeout', metavar='SECONDS', type=float, default=900,
                      help='for each test program (default: %(default)s)')
  options = parser.parse_args()

  configs = CONFIGS[:1] if options.quick else CONFIGS
  if options.config:
    configs = [config for config in CONFIGS if config.name in options.config]

  let_programs_be_interrupted()
  start = time.monotonic()
  total = Outcome()
  fetcher = test_inputs.Fetcher()
  for config in configs:
    total.add(run_config(config, fetcher, options))
  say()
  for line in lines_of_costs(total.costs):
    say(line)
  say('%d configurations in %.0f s, CPU %.0f s%s' %
      (len(configs), time.monotonic() - start, cpu_of_children(),
       ', %d cases skipped' % total.skipped if total.skipped else ''))
  for (name, reason), times in sorted(collections.Counter(total.skips).items()):
    say('SKIPPED %s: %s%s' % (name, reason,
                              '' if times == 1 else ' (%d times)' % times))
  for name in total.unstable:
    say('UNSTABLE %s failed beside other tests, and passed alone' % name)
  for failure in total.failures:
    say('FAILED ' + failure)
  if not total.passed and not total.failed:
    say('No test ran.')
  say('%d passed, %d failed' % (total.passed, total.failed))
  return 0 if total.passed and not total.failed else 1


if __name__ == '__main__':
  sys.exit(main())
