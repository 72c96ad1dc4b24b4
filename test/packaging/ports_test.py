#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Compiles what is not for Linux only for other systems, and the rest for musl's
Linux, without warnings.

Runs in a build directory, which has the classes of the tracing library's messages,
protoc and protozero_plugin. The compilers come from
`tools/install-build-deps --packaging`; without them it is skipped.

With PORTS_RUN=1 in the environment the unit tests of the runtime also run: those for
musl here, those for Windows in Debian's wine64, if that is installed. The first time,
that takes minutes to build C++ libraries, which the compiler keeps.
"""

import concurrent.futures
import os
import pathlib
import sys
import unittest

from cases import run_cases
from projects import BUILD, PLUGIN, ProjectsTest, execute

ROOT = pathlib.Path(__file__).resolve().parents[2]
ZIG = next(ROOT.glob('third_party/ziglang/lib/python*/site-packages/ziglang/zig'),
           None)

# The folders of src/ that are compiled as one file.
RUNTIME = ['protozero']
PROGRAMS = ['protoc_plugin', 'program table pbz']
# A file of an option that needs a library.
NEEDS_MORE = ['arrow_rows.cc']
TRACING = ['tracing/shared_memory tracing/writer tracing/reader',
           'tracing/service']
LINUX_ONLY = ['tracing/ipc', 'tracing/track_event tracing/local tracing/scheduling']
# Processors differ in the runtime only, and macOS and FreeBSD hardly at all. What is
# for Linux only has 32 bits here: elsewhere it has 64.
TARGETS = {
    'x86_64-linux-musl': PROGRAMS + RUNTIME + TRACING,
    'x86-linux-musl': LINUX_ONLY,
    'aarch64-linux-musl': RUNTIME,
    'aarch64-macos': PROGRAMS + RUNTIME + TRACING,
    'x86_64-macos': RUNTIME,
    'x86_64-freebsd': PROGRAMS[1:] + RUNTIME + TRACING,
    'aarch64-freebsd': RUNTIME,
    'x86_64-windows-gnu': PROGRAMS + RUNTIME + TRACING,
    'aarch64-windows-gnu': RUNTIME,
}
# The compiler's defaults are those of debugging: symbols and a sanitizer, which take
# more than a quarter of the time.
QUICK = ['-O0', '-g0', '-fno-sanitize=undefined', '-Wno-unused-command-line-argument']
FLAGS = ['-std=c++17', *QUICK, '-Wall', '-Wextra', '-Wpedantic', '-Wconversion',
         '-Wshadow', '-Werror']

GOOGLETEST = pathlib.Path('/usr/src/googletest')
HELPERS = ('chunked_delegate.cc', 'delegates.cc', 'hex.cc', 'message_tree.cc')
# Tests that other C libraries, or a build without libprotobuf, cannot compile.
NOT_RUN = ('allocation_monitor.h', 'failing_allocations.h', 'tree_parser.h')
NOT_ON_WINDOWS = ('KilledBySignal',)
# The compiler's own detection of processors needs its run-time library; the other
# needs regular expressions of POSIX.
UNIT_TESTS = ('-BitDepositTest.TheMaskIsZeroWithoutTheInstructions:'
              'DcheckTest.SaysWhereWhatAndWhatToDo')
WINE = pathlib.Path('/usr/lib/wine/wine64')

CONSUMER = '''cmake_minimum_required(VERSION 3.20)
project(consumer LANGUAGES CXX)
add_subdirectory("%s" protozero)
protozero_generate(TARGET unit PROTOS unit.proto)
''' % ROOT


@unittest.skipUnless(ZIG, 'tools/install-build-deps --packaging fetches the compilers')
class PortsTest(ProjectsTest):
  maxDiff = None

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # Debian's folder of libprotobuf's headers has those of all else, too.
    protobuf = pathlib.Path('/usr/include/google/protobuf')
    (cls.scratch / 'include/google').mkdir(parents=True)
    (cls.scratch / 'include/google/protobuf').symlink_to(protobuf)
    cls.env = {'ZIG_GLOBAL_CACHE_DIR': str(cls.scratch / 'cache'),
               'ZIG_LOCAL_CACHE_DIR': str(cls.scratch / 'cache')}

  def compile(self, job):
    target, folders = job
    name = '%s %s' % (target, folders.replace('/', '_'))
    source = self.scratch / (name + '.cc')
    source.write_text(''.join(
        '#include "%s"\n' % path for folder in folders.split()
        for path in sorted((ROOT / 'src' / folder).rglob('*.cc'))
        if path.name not in NEEDS_MORE))
    status, printed = execute(
        ZIG, 'c++', '-target', target, *FLAGS, '-I', ROOT, '-I',
        ROOT / 'include', '-I', BUILD / 'gen', '-I', BUILD / 'gen/include',
        '-isystem', self.scratch / 'include', '-c', source, '-o',
        source.with_suffix('.o'), env=self.env)
    return '' if status == 0 else '%s: %s' % (name, printed.decode())

  def test_compiles(self):
    jobs = [(target, part) for target, parts in TARGETS.items()
            for part in parts]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
      self.assertEqual(''.join(pool.map(self.compile, jobs)), '')

  def run_unit_tests(self, target, missing, *runner):
    sources = {'typed.cc': [], 'units.cc': [], 'library.cc': []}
    for path in sorted((ROOT / 'test/unit').glob('*_unittest.cc')):
      if any(word in path.read_text() for word in missing):
        continue
      # One has a type of a name that others have.
      unit = 'typed.cc' if 'decoder_typed' in path.name else 'units.cc'
      sources[unit].append(path)
    sources['units.cc'] += [ROOT / 'test/testing' / name for name in HELPERS]
    sources['library.cc'] = sorted((ROOT / 'src/protozero').glob('*.cc'))
    folder = self.scratch / ('run ' + target)
    folder.mkdir()
    for name, paths in sources.items():
      (folder / name).write_text(''.join('#include "%s"\n' % path
                                         for path in paths))
    includes = [ROOT, ROOT / 'include']
    for part in ('googletest', 'googlemock'):
      includes += [GOOGLETEST / part, GOOGLETEST / part / 'include']
    program = folder / 'unittests.exe'
    self.must(ZIG, 'c++', '-target', target, '-std=c++17', '-O0', '-g0',
              *('-I%s' % path for path in includes),
              *(folder / name for name in sources),
              GOOGLETEST / 'googletest/src/gtest-all.cc',
              GOOGLETEST / 'googlemock/src/gmock-all.cc',
              GOOGLETEST / 'googletest/src/gtest_main.cc', '-o', program)
    printed = self.must(*runner, program, '--gtest_filter=' + UNIT_TESTS,
                        env={'WINEPREFIX': str(self.scratch / 'wine'),
                             'WINEDEBUG': '-all'}).decode(errors='replace')
    self.assertRegex(printed, r'PASSED  . [2-9]\d\d tests')

  @unittest.skipUnless(os.environ.get('PORTS_RUN') and GOOGLETEST.exists(),
                       'to run unit tests, set PORTS_RUN')
  def test_unit_tests_for_musl(self):
    self.run_unit_tests('x86_64-linux-musl', NOT_RUN)

  @unittest.skipUnless(os.environ.get('PORTS_RUN') and GOOGLETEST.exists() and
                       WINE.exists(),
                       'to run unit tests, set PORTS_RUN and install wine64')
  def test_unit_tests_for_windows(self):
    self.run_unit_tests('x86_64-windows-gnu', NOT_RUN + NOT_ON_WINDOWS, WINE)

  def test_cmake_cross_build(self):
    folder = self.new_project('windows', CMakeLists_txt=CONSUMER)
    build = folder / 'build'
    printed = self.must(
        'cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN,
        '-DCMAKE_SYSTEM_NAME=Windows', '-DCMAKE_SYSTEM_PROCESSOR=x86_64',
        '-DCMAKE_CXX_COMPILER=%s;c++' % ZIG,
        '-DCMAKE_CXX_COMPILER_TARGET=x86_64-windows-gnu',
        '-DCMAKE_AR=/usr/bin/llvm-ar-19', '-DCMAKE_RANLIB=/usr/bin/llvm-ranlib-19',
        # Nothing is linked, which would need a C++ library made first.
        '-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY',
        '-DCMAKE_UNITY_BUILD=ON', '-DCMAKE_UNITY_BUILD_BATCH_SIZE=0',
        '-DCMAKE_CXX_FLAGS_RELEASE=' + ' '.join(QUICK), env=self.env).decode()
    self.assertIn('protozero: plugin: ' + str(BUILD), printed)
    self.assertIn('tracing_ipc, track_event, local_trace, pztrace: not built '
                  '(Linux only)', printed)
    self.must('cmake', '--build', build, '--target', 'unit', env=self.env)
    self.assertTrue((build / 'libunit.a').exists())


if __name__ == '__main__':
  sys.exit(run_cases())
