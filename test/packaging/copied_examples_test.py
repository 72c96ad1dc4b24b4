#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Builds the examples that are made to be copied from copies outside of the tree, runs
them, and reads what they write with protoc and pztrace.

Runs in a build directory, which has protozero_plugin and pztrace.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from cases import run_cases
from projects import BUILD, NO_PLUGIN, PLUGIN, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WARNINGS = '-O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
REQUESTS = 300
PAGES = 16


class CopiedExamplesTest(ProjectsTest):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.prefix = cls.install_library('prefix')

  def copy(self, name):
    folder = self.scratch / self.id().rpartition('.')[2] / name
    shutil.copytree(ROOT / 'examples' / name, folder)
    return folder

  def make(self, name):
    """The folder in which make has built the example, and it has run."""
    folder = self.copy(name)
    self.must('make', 'CXXFLAGS=' + WARNINGS,
              'PLUGIN=%s' % (BUILD / 'protozero_plugin'), cwd=folder,
              env={'PKG_CONFIG_PATH': str(self.prefix / 'lib/pkgconfig')})
    self.must(folder / name, cwd=folder)
    return folder

  def rows(self, table, trace):
    printed = self.must(BUILD / 'pztrace', 'export', '--format', 'ndjson',
                        '--' + table, trace).decode()
    return [json.loads(line) for line in printed.splitlines()]

  def check_hello(self, folder):
    (row,) = self.rows('slices', folder / 'out.pftrace')
    self.assertEqual((row['category'], row['name'], row['args']),
                     ('app', 'main', {'answer': 42}))
    self.assertEqual(self.rows('losses', folder / 'out.pftrace'), [])

  def test_hello_with_make(self):
    self.check_hello(self.make('hello'))

  def test_message(self):
    folder = self.make('message')
    decoded = subprocess.run(
        [BUILD / 'protoc', '-I', folder, '--decode=sample.Request',
         folder / 'sample.proto'], input=self.must(folder / 'message'),
        capture_output=True, check=True).stdout.decode()
    self.assertEqual(decoded, '''start_ns: 123456789
path: "/index.html"
peer {
  host: "2001:db8::1"
  port: 443
}
part_sizes: 1460
part_sizes: 1460
part_sizes: 300
''')

  def test_hello_is_what_pages_show(self):
    code = (ROOT / 'examples/hello/hello.cc').read_text().partition('\n\n')[2]
    for page in 'README.md', 'docs/track-events.md':
      self.assertTrue('```cpp\n%s```\n' % code in (ROOT / page).read_text(), page)

  def test_with_an_installed_library(self):
    for name, traces in ('hello', 1), ('message', 0), ('server', 1):
      folder = self.copy(name)
      self.must('cmake', '-S', folder, '-B', folder / 'build', '-G', 'Ninja',
                '-DCMAKE_PREFIX_PATH=%s' % self.prefix, PLUGIN)
      self.must('cmake', '--build', folder / 'build')
      self.must(folder / 'build' / name, cwd=folder)
      self.assertEqual(len(list(folder.glob('*.pftrace'))), traces)

  def test_with_the_sources(self):
    # Configured only, because test/install and cmake_test build the libraries.
    folder = self.copy('hello')
    self.must('cmake', '-S', folder, '-B', folder / 'build', '-G', 'Ninja',
              '-DPROTOZERO_SOURCE=%s' % ROOT, PLUGIN, NO_PLUGIN)
    commands = self.must('ninja', '-C', folder / 'build', '-t', 'commands').decode()
    self.assertRegex(commands, r'-o hello .*libprotozero_local_trace')
    self.assertFalse(re.findall('src/(?:pztrace|pbz|protoc_plugin)/', commands))

  def test_otlp_server(self):
    folder = self.copy('otlp_server')
    self.must('cmake', '-S', folder, '-B', folder / 'build', '-G', 'Ninja',
              '-DCMAKE_PREFIX_PATH=%s' % self.prefix,
              '-DCMAKE_CXX_FLAGS=' + WARNINGS, PLUGIN)
    self.must('cmake', '--build', folder / 'build')
    def start(name, *arguments, **variables):
      process = subprocess.Popen([folder / 'build' / name, *arguments],
                                 env=dict(os.environ, **variables),
                                 stdout=subprocess.PIPE, text=True)
      return process, int(process.stdout.readline().rpartition(' ')[2])

    receiver, port = start('otlp_receiver', '0')
    server, server_port = start('otlp_server', '--port', '0', OTEL_EXPORTER_OTLP_ENDPOINT=(
        'http://127.0.0.1:%d' % port))
    self.must(folder / 'build/otlp_load', server_port, 2, 10)
    printed = []
    for process in server, receiver:
      process.terminate()
      printed.append(process.communicate(timeout=60)[0])
      self.assertEqual(process.returncode, 0)
    self.assertTrue(printed[0].startswith('spans: 140 written = 140 exported '), printed)
    self.assertEqual(printed[1], 'received 140 spans\n')

  def test_gld(self):
    folder = self.copy('gld')
    self.must('cmake', '-S', folder, '-B', folder / 'build', '-G', 'Ninja',
              '-DCMAKE_PREFIX_PATH=%s' % self.prefix, '-DCMAKE_BUILD_TYPE=Debug',
              '-DCMAKE_CXX_FLAGS=' + WARNINGS, PLUGIN)
    self.must('cmake', '--build', folder / 'build')
    log = self.must(folder / 'build/gld', '3', folder).decode().strip()
    rows = list(csv.DictReader(pathlib.Path(log).read_text().splitlines()))
    groups = {}
    for row in rows:
      self.assertEqual((row['Language'], row['StringOrStream'], row['FidelityScore'],
                        row['Repetitions']), ('cpp', 'bytes', '1', '3'))
      times = [int(row['Time' + name]) for name in ('Ser', 'Deser', 'SerAndDeser')]
      self.assertGreater(min(times), 0)
      self.assertEqual(times[0] + times[1], times[2])
      key = row['TestDataName'], row['DataTypeInstanceCount']
      groups.setdefault(key, []).append((row['RepetitionIndex'], row['Size']))
    self.assertEqual(sorted({name for name, _ in groups}),
                     ['document', 'event', 'message', 'strings', 'telemetry'])
    self.assertEqual({count for _, count in groups}, {'1', '100'})
    for group in groups.values():
      self.assertEqual([index for index, _ in group], ['0', '1', '2'])
      self.assertEqual(len({size for _, size in group}), 1)
    # The size of 32 doubles, and of no more than the suite's words.
    size = int(groups['telemetry', '1'][0][1])
    self.assertTrue(32 * 8 < size <= 32 * 8 + 3 + 7 + 3 * 12, size)

  def test_server(self):
    trace = self.make('server') / 'server.pftrace'
    slices = {}
    for row in self.rows('slices', trace):
      slices.setdefault(row['name'], []).append(row)
    for name in 'accept', 'request', 'answer':
      self.assertEqual(len(slices[name]), REQUESTS, name)
    self.assertEqual({row['args']['number'] for row in slices['request']},
                     set(range(REQUESTS)))
    self.assertEqual({row['args']['page'] for row in slices['render']},
                     set(range(PAGES)))
    # An arrow for each request, from the main thread to one of the pool.
    accepted, answered = ([flow for row in slices[name] for flow in row['flows']]
                          for name in ('accept', 'answer'))
    self.assertEqual(len(set(accepted)), REQUESTS)
    self.assertEqual(sorted(accepted), sorted(answered))
    self.assertEqual({row['thread'] for row in slices['accept']}, {'main'})
    self.assertLessEqual({row['thread'] for row in slices['answer']},
                         {'pool 0', 'pool 1', 'pool 2'})
    values = {}
    for row in sorted(self.rows('counters', trace), key=lambda row: row['ts']):
      values.setdefault(row['track'], []).append(row['value'])
    self.assertEqual(len(values['queued']), 2 * REQUESTS)
    self.assertEqual(values['queued'][-1], 0)
    self.assertEqual(len(set(values['sent'])), REQUESTS)
    self.assertEqual(self.rows('losses', trace), [])


if __name__ == '__main__':
  sys.exit(run_cases())
