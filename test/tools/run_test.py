#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what tools/run prints.

Runs in the build directory. The programs are real; the package manager
and the build are played by scripts with as much to say as these have.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path.cwd()

from cases import run_cases

PROGRAMS = ['protoc', 'protozero_plugin', 'ninja_trace', 'pztrace',
            'traced_workers']
LIBRARY = 'obj/src/protozero/libprotozero.a'
MAX_LINES = 150

APT = '''#!/bin/sh
case "$1" in
  install) seq 1000 ;;
esac
exit ${APT_CODE:-0}
'''
NINJA = '#!/bin/sh\nseq 1000\necho "error: played"\nexit ${NINJA_CODE:-0}\n'
# No package is installed.
DPKG_QUERY = '#!/bin/sh\nexit 1\n'
AS_ROOT = '#!/bin/sh\nexec "$@"\n'


class RunTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.root = pathlib.Path(folder.name)
    tools = self.root / 'tools'
    tools.mkdir()
    for path in (ROOT / 'tools').iterdir():
      if path.is_file():
        shutil.copy(path, tools)
    (self.root / 'include').symlink_to(ROOT / 'include')
    self.bin = self.root / 'bin'
    self.out = self.root / 'out' / 'release'
    self.bin.mkdir()
    (self.root / 'examples').symlink_to(ROOT / 'examples')
    for name in [*PROGRAMS, LIBRARY]:
      (self.out / name).parent.mkdir(parents=True, exist_ok=True)
      (self.out / name).symlink_to(BUILD_DIR / name)
    shutil.copy(ROOT / 'test' / 'examples' / 'sample.ninja_log',
                self.out / '.ninja_log')
    for name, text in (('apt-get', APT), ('gn', '#!/bin/sh\n'),
                       ('ninja', NINJA), ('dpkg-query', DPKG_QUERY),
                       ('sudo', AS_ROOT)):
      self.write(self.bin / name, text)

  def write(self, path, text):
    path.write_text(text)
    path.chmod(0o755)

  def start(self, *arguments, **env):
    return subprocess.Popen(
        [self.root / 'tools' / 'run', *arguments], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={'PATH': '%s:/usr/local/bin:/usr/bin:/bin' % self.bin,
             'PYTHONDONTWRITEBYTECODE': '1', **env})

  def run_it(self, *arguments, **env):
    with self.start(*arguments, **env) as run:
      output = run.stdout.read()
    return subprocess.CompletedProcess(run.args, run.returncode, output)

  def test_output_is_short_and_ends_with_the_traces(self):
    run = self.run_it()
    lines = run.stdout.splitlines()
    self.assertEqual(run.returncode, 0, run.stdout)
    self.assertLessEqual(len(lines), MAX_LINES, run.stdout)
    self.assertRegex(lines[-3], r'^  out/build\.pftrace ')
    self.assertRegex(lines[-2], r'^  out/session\.pftrace ')
    for name in 'build.html', 'build.pftrace', 'session.pftrace':
      self.assertTrue((self.root / 'out' / name).stat().st_size)
    # The message's bytes, and what protoc makes of them.
    self.assertIn(' bytes:  08 95 9a ef 3a ', run.stdout)
    self.assertIn('\npeer {\n  host: "2001:db8::1"\n  port: 443\n}\n', run.stdout)

  def test_a_long_build_says_how_far_it_is(self):
    self.write(self.bin / 'ninja', '''#!/bin/sh
echo '[3/7] CXX three.o'
until [ -e "$GO_ON" ]; do sleep 0.1; done
''')
    go_on = self.root / 'go_on'
    with self.start(GO_ON=str(go_on), PROGRESS_SECONDS='1') as run:
      for line in run.stdout:
        if re.fullmatch(r'\d+ s: \[3/7\] CXX three\.o\n', line):
          go_on.touch()
      self.assertTrue(go_on.exists())
    self.assertEqual(run.returncode, 0)

  def test_failures_show_everything(self):
    run = self.run_it(NINJA_CODE='1')
    self.assertEqual(run.returncode, 1)
    self.assertIn('\n999\n1000\nerror: played\n', run.stdout)
    run = self.run_it(APT_CODE='100')
    self.assertNotEqual(run.returncode, 0)
    self.assertIn('apt-get failed', run.stdout)

  def test_wrong_usage(self):
    run = self.run_it('--nonsense')
    self.assertEqual((run.returncode, run.stdout),
                     (2, "run: unknown argument '--nonsense' (see --help)\n"))


if __name__ == '__main__':
  sys.exit(run_cases())
