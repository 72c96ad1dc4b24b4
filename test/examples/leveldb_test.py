#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Records LevelDB's db_bench at full speed: a program that we have not written, built by
its own CMake, with an event in each of a few functions."""

import collections
import csv
import io
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from cases import run_cases
from projects import NO_PLUGIN, PLUGIN, ROOT, ProjectsTest, use_compiler_cache

SOURCES = ROOT / 'third_party/leveldb'
PZTRACE = pathlib.Path.cwd() / 'pztrace'
# The functions that get an event, by file.
TRACED = {
    'db/db_impl.cc': ('Status DBImpl::Write(', 'Status DBImpl::Get(',
                      'Status DBImpl::WriteLevel0Table(', 'void DBImpl::BackgroundCompaction('),
    'benchmarks/db_bench.cc': (),
}
PRODUCER = '''
#include "protozero/tracing/producer.h"
static const bool kIsTraced = [] {
  auto* const producer = new protozero::Producer(protozero::Producer::Options());
  return producer->RegisterDataSource(protozero::TrackEventDataSource());
}();
'''


def instrument(folder):
  """Adds an event to each function, at the beginning of its body."""
  for path, functions in TRACED.items():
    file = folder / path
    text = file.read_text()
    for function in functions:
      name = re.search(r'::(\w+)\(', function)[1]
      begin = text.index(' {\n', text.index('\n' + function)) + 3
      text = '%s  PROTOZERO_TRACE_EVENT("leveldb", "%s");\n%s' % (
          text[:begin], name, text[begin:])
    text = '#include "protozero/tracing/track_event.h"\n' + text
    if 'db_bench' in path:
      text += PRODUCER
    file.write_text(text)


@unittest.skipUnless(SOURCES.exists(), 'no LevelDB: tools/install-build-deps --leveldb')
class LeveldbTest(ProjectsTest):

  def test_every_operation_is_recorded(self):
    use_compiler_cache()
    folder = self.scratch / 'leveldb'
    shutil.copytree(SOURCES, folder)
    instrument(folder)
    build = self.scratch / 'build'
    self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja',
                '-DCMAKE_BUILD_TYPE=Release', '-DCMAKE_CXX_STANDARD=17',
                '-DLEVELDB_BUILD_TESTS=OFF', '-DLEVELDB_BUILD_BENCHMARKS=OFF',
                '-DLEVELDB_INSTALL=OFF', '-DPROTOZERO_ROOT=%s' % ROOT,
                '-DCMAKE_PROJECT_leveldb_INCLUDE=%s' %
                (ROOT / 'test/examples/leveldb.cmake'), NO_PLUGIN, PLUGIN)
    self.must('cmake', '--build', build, '--target', 'db_bench', '--', '-j2')
    trace = self.scratch / 'db.pftrace'
    result = subprocess.run(
        [PZTRACE, 'record', '-o', trace, '--', build / 'db_bench', '--num=100000',
         '--benchmarks=fillrandom,readrandom', '--db=%s' % (self.scratch / 'db')],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('nothing lost', result.stderr)
    output = subprocess.run([PZTRACE, 'export', '--slices', trace],
                            stdout=subprocess.PIPE, text=True, check=True).stdout
    counts = collections.Counter(
        row['name'] for row in csv.DictReader(io.StringIO(output)))
    self.assertEqual((counts['Write'], counts['Get']), (100000, 100000))
    # Each takes a log of 4 MB; a key and a value have 116 bytes.
    self.assertGreaterEqual(counts['WriteLevel0Table'], 2)
    self.assertGreaterEqual(counts['BackgroundCompaction'], counts['WriteLevel0Table'])


if __name__ == '__main__':
  sys.exit(run_cases())
