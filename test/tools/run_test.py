#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what tools/run prints.

Runs in the build directory. The programs are real; the package manager, the
build and the benchmarks are played by scripts with as much to say as these have.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path.cwd()
sys.path.insert(0, str(ROOT / 'test' / 'testing'))
from cases import run_cases  # pylint: disable=wrong-import-position

PROGRAMS = ['protoc', 'protozero_plugin', 'ninja_trace', 'pztrace',
            'traced_workers']
MAX_LINES = 120
MAX_TABLE_LINES = 40

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
BENCHMARKS = r'''#!/usr/bin/env python3
import json, sys
args = dict(arg.split('=', 1) for arg in sys.argv[1:])
names = ['BM_Protozero_%s_%s_%s' % (workload, row, harness)
         for workload in ('Simple', 'Nested')
         for row in ('Empty', 'ProtozeroReused', 'ProtozeroCalled', 'Mapbox')
         for harness in ('L1', 'L1Random')]
if '--benchmark_list_tests' in args:
    print('\n'.join(names))
else:
    runs = [{'name': name, 'run_name': name, 'family_index': index,
             'run_type': 'iteration', 'cpu_time': 7.0 + index,
             'time_unit': 'ns', 'bytes': 58.0}
            for index, name in enumerate(names) for _ in range(3)]
    with open(args['--benchmark_out'], 'w') as f:
        json.dump({'context': {'num_cpus': 2}, 'benchmarks': runs}, f)
'''
EVENT_ROWS = '''#!/bin/sh
echo "ns  least  median"
for row in off instant slice "slice, 1 value" "slice, 3 values" counter; do
  echo "protozero: $row  7.0  8.0"
done
'''


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
    self.out.mkdir(parents=True)
    for name in PROGRAMS:
      (self.out / name).symlink_to(BUILD_DIR / name)
    shutil.copy(ROOT / 'test' / 'examples' / 'sample.ninja_log',
                self.out / '.ninja_log')
    self.write(self.out / 'perfetto_benchmarks', BENCHMARKS)
    self.write(self.out / 'track_event_rows', EVENT_ROWS)
    for name, text in (('apt-get', APT), ('gn', '#!/bin/sh\n'),
                       ('ninja', NINJA), ('dpkg-query', DPKG_QUERY),
                       ('sudo', AS_ROOT)):
      self.write(self.bin / name, text)

  def write(self, path, text):
    path.write_text(text)
    path.chmod(0o755)

  def run_it(self, *arguments, **env):
    return subprocess.run(
        [self.root / 'tools' / 'run', *arguments], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
        env={'PATH': '%s:/usr/local/bin:/usr/bin:/bin' % self.bin,
             'PYTHONDONTWRITEBYTECODE': '1', **env})

  def test_output_is_short_and_ends_with_the_traces(self):
    run = self.run_it()
    lines = run.stdout.splitlines()
    self.assertEqual(run.returncode, 0, run.stdout)
    self.assertLessEqual(len(lines), MAX_LINES, run.stdout)
    self.assertRegex(lines[-2], r'^  out/build\.pftrace ')
    self.assertRegex(lines[-1], r'^  out/session\.pftrace ')
    for name in 'build.pftrace', 'session.pftrace':
      self.assertTrue((self.root / 'out' / name).stat().st_size)

  def test_last_step_is_the_verdict(self):
    run = self.run_it()
    self.assertEqual(run.returncode, 0, run.stdout)
    verdict = run.stdout.split('== 5. ')[1]
    self.assertLessEqual(len(verdict.splitlines()), MAX_TABLE_LINES, verdict)
    self.assertIn('\nOn this machine, a message ', verdict)
    self.assertNotIn('== 5. ', self.run_it('--no-benchmarks').stdout)

  def test_failures_show_everything(self):
    run = self.run_it(NINJA_CODE='1')
    self.assertEqual(run.returncode, 1)
    self.assertIn('\n999\n1000\nerror: played\n', run.stdout)
    run = self.run_it(APT_CODE='100')
    self.assertNotEqual(run.returncode, 0)
    self.assertIn('apt-get failed', run.stdout)

  def test_wrong_usage(self):
    run = self.run_it('--nonsense')
    self.assertEqual(
        (run.returncode, run.stdout),
        (2, "run: unknown argument '--nonsense' (see --help)\n"))


if __name__ == '__main__':
  sys.exit(run_cases())
