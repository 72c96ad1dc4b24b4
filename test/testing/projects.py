# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of these tests: a throw-away folder, and commands in it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path.cwd()  # Tests run in the build directory.

PLUGIN = '-DPROTOZERO_PLUGIN=%s' % (BUILD / 'protozero_plugin')
# The plugin takes long to build, and test/install builds it.
NO_PLUGIN = '-DPROTOZERO_BUILD_PLUGIN=OFF'
# Not optimized, without symbols, and one file for each target: only the build is
# tested. The flags are the same everywhere, so that each test finds in the cache below
# what another one has compiled. CMake's default configuration is Release.
WARNINGS = ('-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror '
            '-Wno-subobject-linkage')
QUICK = ['-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=0',
         '-DCMAKE_CXX_FLAGS=' + WARNINGS, '-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG',
         '-DCMAKE_CXX_FLAGS_DEBUG=-O0']


def use_compiler_cache():
  """Has the compilers ask ccache, if it is installed, in this process and those that
  it starts. Builds in temporary folders find what others have compiled."""
  compilers = pathlib.Path('/usr/lib/ccache')
  if compilers.exists():
    os.environ.update(PATH='%s:%s' % (compilers, os.environ['PATH']),
                      CCACHE_DIR=str(BUILD / 'ccache'), CCACHE_BASEDIR=tempfile.gettempdir(),
                      CCACHE_NOHASHDIR='1')


# Imports, and a message of the well-known ones.
PROTOS = {
    'unit.proto': '''syntax = "proto3";
package consumer;
message Unit { string symbol = 1; }
''',
    'reading.proto': '''syntax = "proto3";
package consumer;
import "unit.proto";
import "google/protobuf/timestamp.proto";
message Reading {
  int32 value = 1;
  Unit unit = 2;
  google.protobuf.Timestamp time = 3;
}
''',
    'other.proto': '''syntax = "proto3";
package consumer;
message Other { string name = 1; }
''',
}

MAIN = '''#include <stdio.h>

#include "google/protobuf/timestamp.pbzero.h"
#include "other.pbzero.h"
#include "protozero/static_buffer.h"
#include "reading.pbzero.h"
#include "unit.pbzero.h"

int main() {
  protozero::StackBuffered<consumer::pbzero::Reading, 64> reading;
  reading->set_value(7);
  reading->set_unit()->set_symbol("degrees");
  reading->set_time()->set_seconds(1);
  const size_t size = reading.Finalize();
  fwrite(reading.data(), 1, size, stdout);
}
'''
# The output of that program.
MESSAGE = b'\x08\x07\x12\x09\x0a\x07degrees\x1a\x02\x08\x01'

# One message, with unit.proto alone.
GREET = '''#include <stdio.h>

#include "protozero/static_buffer.h"
#include "unit.pbzero.h"

int main() {
  protozero::StackBuffered<consumer::pbzero::Unit, 64> unit;
  unit->set_symbol("degrees");
  const size_t size = unit.Finalize();
  fwrite(unit.data(), 1, size, stdout);
}
'''
GREETING = b'\x0a\x07degrees'

# Events in out.pftrace. SCHEMA is the namespace of the trace's classes.
TRACED = '''#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/trace.pbzero.h"
#include "protozero/tracing/track_event.h"

static_assert(perfetto::protos::SCHEMA::TracePacket::kTimestampFieldNumber == 8);

int main() {
  protozero::LocalTrace trace("out.pftrace");
  PROTOZERO_TRACE_EVENT("app", "main", "answer", 42);
}
'''


def execute(*command, cwd=None, env=None):
  """Returns (exit code, what it printed)."""
  out = subprocess.run(list(map(str, command)), cwd=cwd,
                       env=dict(os.environ, **(env or {})),
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, check=False)
  return out.returncode, out.stdout


class ProjectsTest(unittest.TestCase):
  """A suite of one folder, whose path has a space."""

  @classmethod
  def setUpClass(cls):
    scratch = tempfile.TemporaryDirectory()
    cls.addClassCleanup(scratch.cleanup)
    cls.scratch = pathlib.Path(scratch.name) / 'my projects'
    cls.scratch.mkdir()
    use_compiler_cache()

  @classmethod
  def must(cls, *command, cwd=None, env=None):
    status, printed = execute(*command, cwd=cwd, env=env)
    if status:
      raise AssertionError('%s\n%s' % (' '.join(map(str, command)),
                                       printed.decode()))
    return printed

  @classmethod
  def configure_library(cls, build, prefix, *options):
    cls.must('cmake', '-S', ROOT, '-B', build, '-G', 'Ninja', PLUGIN, NO_PLUGIN,
             '-DCMAKE_INSTALL_LIBDIR=lib', '-DCMAKE_INSTALL_PREFIX=%s' % prefix,
             *QUICK, *options)

  @classmethod
  def install_library(cls, name, *options):
    """The folder that it is installed in, without plugin and programs."""
    build, prefix = cls.scratch / 'build of the library', cls.scratch / name
    cls.configure_library(build, prefix, *options)
    cls.must('cmake', '--build', build)
    cls.must('cmake', '--install', build)
    shutil.rmtree(build)
    return prefix

  @staticmethod
  def copy_tree(folder, *paths):
    """A copy of what a build needs of the tree, and of `paths`."""
    for path in ('include', 'src', 'cmake', 'CMakeLists.txt', 'LICENSE', *paths):
      target = folder / path
      target.parent.mkdir(parents=True, exist_ok=True)
      if (ROOT / path).is_dir():
        shutil.copytree(ROOT / path, target)
      else:
        shutil.copy(ROOT / path, target)

  def new_project(self, name, **files):
    """A folder with the files above and `files`, whose names have _ for a dot."""
    folder = self.scratch / name
    folder.mkdir()
    for path, text in PROTOS.items():
      (folder / path).write_text(text)
    (folder / 'main.cc').write_text(MAIN)
    for name, text in files.items():
      path = folder / name.replace('_', '.')
      path.parent.mkdir(exist_ok=True)
      path.write_text(text)
    return folder

  def change(self, path):
    """Changes a file. Clocks of file systems are coarse: its time is later than
    that of all others here."""
    newest = max(p.stat().st_mtime_ns for p in self.scratch.rglob('*')
                 if p.is_file())
    path.write_text(path.read_text() + '// Changed.\n')
    while path.stat().st_mtime_ns <= newest:
      time.sleep(0.01)
      path.touch()
