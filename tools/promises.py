# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Breaks promises, one at a time, and looks whether the tests that hold them fail.

Called by tools/mutants --promises. test/tools/promises.txt has the promises:
each with the page that makes it, in that page's words, a test, and a change of
the source that breaks it:

  promise: docs/security.md: the host disconnects a producer that does not read
  test: ipc_unittests IpcProtocolTest.ClientsThatDoNotReadAreDisconnected
  file: src/tracing/ipc/producer_ipc_service.cc
  - the lines of the source
  + the lines that break the promise

A test is the name that tools/test prints, and a case of it. There may be no case.
"""

import dataclasses
import fcntl
import hashlib
import json
import os
import pathlib
import re
import subprocess
import time

import run_tests

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / 'test' / 'tools' / 'promises.txt'
RESULT = ROOT / 'test' / 'tools' / 'promises_result.txt'
# The configuration of most tests, and that of fuzzers and of tests that other
# builds do not have.
GN_ARGS = 'optimize_benchmarks=false'
DEBUG_GN_ARGS = run_tests.CONFIGS[0].gn_args
DEBUG_TESTS = ('pbz_unittests',)
# A promise that is broken may leave a test waiting.
TIMEOUT_S = 90


@dataclasses.dataclass
class Promise:
  """One promise, how it is broken, and who notices."""
  page: str = ''
  text: str = ''
  test: str = ''
  case: str = ''
  file: str = ''
  old: str = ''
  new: str = ''
  line: int = 0  # Of the table.

  @property
  def needs_debug(self):
    return self.test.endswith('_fuzzer') or self.test in DEBUG_TESTS

  @property
  def name(self):
    return (self.test + ' ' + self.case).strip()

  @property
  def key(self):
    """Changes with everything that the result depends on, but for the code."""
    whole = '\0'.join((self.page, self.text, self.name, self.file, self.old, self.new))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def read_promises(path=TABLE):
  promises = []
  for number, line in enumerate(path.read_text().splitlines(), 1):
    kind, _, rest = line.partition(': ')
    if line.startswith('#') or not line:
      continue
    if kind == 'promise':
      page, _, text = rest.partition(': ')
      promises.append(Promise(page, text, line=number))
    elif kind == 'test':
      promises[-1].test, _, promises[-1].case = rest.partition(' ')
    elif kind == 'file':
      promises[-1].file = rest
    elif line[0] == '-' and line[1:2] in ('', ' '):
      promises[-1].old += line[2:] + '\n'
    elif line[0] == '+' and line[1:2] in ('', ' '):
      promises[-1].new += line[2:] + '\n'
    else:
      raise ValueError('%s:%d: %s' % (path.name, number, line))
  return promises


def broken(source, promise):
  """The source with the change, or None if the change has not one place."""
  text = promise.old
  # Without its last line's end, a change may be within a line.
  if source.count(text) == 1:
    return source.replace(text, promise.new)
  text = text[:-1]
  if source.count(text) == 1:
    return source.replace(text, promise.new[:-1])
  return None


def words(text):
  return ' '.join(text.split())


def read_result():
  """The keys of the promises that were tried, and what came of it."""
  if not RESULT.exists():
    return {}
  return {line.split()[0]: line.split()[1] for line in RESULT.read_text().splitlines()
          if line and not line.startswith('#')}


def write_result(known):
  """`known` are results by key."""
  lines = ['%s %s %s\n' % (promise.key, known[promise.key], promise.name)
           for promise in read_promises() if promise.key in known]
  RESULT.write_text('# The last result of tools/mutants --promises, for each promise '
                    'by its key.\n' + ''.join(lines))


class Tests:
  """The tests of one build of the copied tree."""

  def __init__(self, tree, name, gn_args):
    self.tree = tree
    self.folder = os.path.join(tree, 'out', name)
    subprocess.check_call([str(ROOT / 'tools' / 'gn'), 'gen', '-q', self.folder,
                           '--root=' + tree, '--args=' + gn_args], cwd=tree)
    with open(os.path.join(self.folder, 'tests.json')) as f:
      self.known = {test['name']: test for test in json.load(f)}
    self.env = run_tests.environment(self.folder, tree)

  def build(self, names):
    """Returns what the compilers say if that fails."""
    targets = [self.known[name]['label'][2:] for name in names]
    run = subprocess.run(['nice', str(ROOT / 'tools' / 'ninja'), '--quiet', '-C',
                          self.folder] + targets, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout if run.returncode else ''

  def passes(self, promise):
    """Returns whether the promise's test passes, and how many seconds it takes."""
    test = self.known[promise.test]
    command = list(test['command'])
    if promise.case and test['kind'] == 'gtest':
      command.append('--gtest_filter=%s:*/%s/*' % (promise.case, promise.case))
    elif promise.case:
      command.append(promise.case)
    start = time.monotonic()
    code, output, _ = run_tests.run_process(command, self.folder, self.env, TIMEOUT_S)
    has_run = not re.search(r'^\[  PASSED  \] 0 tests|^0 passed|^Ran 0 tests', output, re.M)
    return code == 0 and has_run, time.monotonic() - start


def try_all(promises, tree, say):
  """Breaks each promise in the copy of the sources, and mends it again. Yields
  promises and results."""
  builds = {}
  for promise in promises:
    if promise.needs_debug not in builds:
      builds[promise.needs_debug] = Tests(
          tree, 'debug' if promise.needs_debug else 'release',
          DEBUG_GN_ARGS if promise.needs_debug else GN_ARGS)
  for needs_debug, tests in builds.items():
    names = sorted({promise.test for promise in promises
                    if promise.needs_debug == needs_debug})
    output = tests.build(names)
    if output:
      raise SystemExit(output)
  # First of all: the programs of the last change would be there later.
  passes = {}
  for promise in promises:
    if promise.name not in passes:
      tests = builds[promise.needs_debug]
      # On a busy machine, one may fail once.
      passes[promise.name] = tests.passes(promise)[0] or tests.passes(promise)[0]
      if not passes[promise.name]:
        say('it fails without a change: ' + promise.name)
  for number, promise in enumerate(promises, 1):
    start = time.monotonic()
    result = (try_one(promise, builds[promise.needs_debug], say)
              if passes[promise.name] else 'fails-anyway')
    say('%d of %d: %-12s %s (%.0f s)' % (number, len(promises), result, promise.name,
                                         time.monotonic() - start))
    yield promise, result


def try_one(promise, tests, say):
  path = pathlib.Path(tests.tree) / promise.file
  source = path.read_text()
  changed = broken(source, promise)
  if changed is None:
    return 'no-place'
  try:
    path.write_text(changed)
    output = tests.build([promise.test])
    if output:
      say(output)
      return 'no-build'
    passes, seconds = tests.passes(promise)
    # Nor does a failure count that comes once.
    if not passes and seconds < 10:
      passes, _ = tests.passes(promise)
    return 'unnoticed' if passes else 'noticed'
  finally:
    path.write_text(source)


def run(make_tree, tree, say, wanted, again):
  """Tries the promises of whose lines one has a word of `wanted`, or all; with
  `again`, those that the last result does not have as noticed. The result goes
  to promises_result.txt. Returns the exit code."""
  os.makedirs(tree, exist_ok=True)
  # Two would break each other's promises.
  with open(tree + '.lock', 'w') as lock:
    try:
      fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      raise SystemExit('another one is at work in ' + tree)
    return run_locked(make_tree, tree, say, wanted, again)


def run_locked(make_tree, tree, say, wanted, again):
  known = read_result() if wanted or again else {}
  promises = [promise for promise in read_promises()
              if (not wanted or any(word in repr(promise) for word in wanted)) and
              not (again and known.get(promise.key) == 'noticed')]
  make_tree({}, tree)
  # A run that was broken off may have compiled a change that is gone from the file.
  for promise in read_promises():
    os.utime(os.path.join(tree, promise.file))
  start = time.monotonic()
  missed = []
  for promise, result in try_all(promises, tree, say):
    known[promise.key] = result
    write_result(known)
    if result != 'noticed':
      missed.append('promises.txt:%d: %s: %s: %s' % (
          promise.line, result, promise.name, promise.text))
  for line in missed:
    say(line)
  say('%d of %d broken promises are noticed; %.0f s' % (
      len(promises) - len(missed), len(promises), time.monotonic() - start))
  return 1 if missed else 0
