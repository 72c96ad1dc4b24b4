#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the CMake build: as a guest in another project, installed, and by what it
says where something is missing. test/install builds and installs all of it.

Runs in a build directory, which has protoc and protozero_plugin.
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

from cases import run_cases, version
from projects import (BUILD, GREET, GREETING, MAIN, MESSAGE, NO_PLUGIN, PLUGIN, QUICK,
                      ProjectsTest, execute)

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROJECT = '''cmake_minimum_required(VERSION 3.20)
project(my_project LANGUAGES CXX)
%s
protozero_generate(TARGET unit PROTOS unit.proto)
protozero_generate(TARGET my_protos PROTOS reading.proto other.proto
                   DEPS unit protozero::well_known_protos)
add_executable(my_program main.cc)
target_link_libraries(my_program PRIVATE my_protos)
'''
GUEST = PROJECT % ('add_subdirectory("%s" protozero)' % ROOT)
SERIALIZER = '''cmake_minimum_required(VERSION 3.20)
project(serializer LANGUAGES CXX)
add_subdirectory("%s" protozero)
protozero_generate(TARGET unit PROTOS unit.proto)
add_executable(greet main.cc)
target_link_libraries(greet PRIVATE unit)
''' % ROOT


def targets(build):
  """Parses the answer to ask_targets(): names and their sources."""
  reply = build / '.cmake/api/v1/reply'
  found = {}
  for path in reply.glob('target-*.json'):
    target = json.loads(path.read_text())
    found[target['name']] = {source['path']
                             for source in target.get('sources', [])}
  return found


def ask_targets(build):
  query = build / '.cmake/api/v1/query'
  query.mkdir(parents=True)
  (query / 'codemodel-v2').touch()


# An archive has no more than this of the tree.
FETCHED = PROJECT % '''include(FetchContent)
FetchContent_Declare(protozero URL "file://${CMAKE_SOURCE_DIR}/archive.tar.gz"
                     DOWNLOAD_EXTRACT_TIMESTAMP ON)
FetchContent_MakeAvailable(protozero)'''
# CPM.cmake adds fetched projects like this.
BY_CPM = PROJECT % (
    'add_subdirectory("%s" protozero EXCLUDE_FROM_ALL SYSTEM)' % ROOT)


class GuestTest(ProjectsTest):
  """add_subdirectory(), by the project or by what fetches packages for it."""

  def configure(self, generator, *options):
    folder = self.new_project('guest ' + generator, CMakeLists_txt=GUEST)
    build = folder / 'build'
    ask_targets(build)
    self.must('cmake', '-S', folder, '-B', build, '-G', generator, PLUGIN,
              NO_PLUGIN, *QUICK, *options)
    return folder, build

  def build(self, build):
    """The headers that are generated for it."""
    printed = self.must('cmake', '--build', build, '--target', 'my_program')
    return sorted(re.findall(r'Generating (\S+)[.]pbzero', printed.decode()))

  def check_generating(self, generator):
    folder, build = self.configure(generator)
    self.assertIn('google/protobuf/timestamp', self.build(build))
    self.assertEqual(self.must(build / 'my_program'), MESSAGE)
    self.assertEqual(self.build(build), [])
    self.change(folder / 'unit.proto')
    self.assertEqual(self.build(build), ['reading', 'unit'])
    self.assertEqual(self.build(build), [])
    self.change(folder / 'other.proto')
    self.assertEqual(self.build(build), ['other'])
    return folder, build

  def test_ninja_generates_what_has_changed(self):
    _, build = self.check_generating('Ninja')
    self.assertIn(b'no work to do', self.must('cmake', '--build', build,
                                              '--target', 'my_program'))

  def test_make_generates_what_has_changed(self):
    self.check_generating('Unix Makefiles')

  def build_fetched(self, name, project, standard):
    folder = self.new_project(name, CMakeLists_txt=project)
    with tarfile.open(folder / 'archive.tar.gz', 'w:gz', compresslevel=1) as tar:
      for path in ('CMakeLists.txt', 'cmake', 'include', 'src'):
        tar.add(ROOT / path, 'protozero-main/' + path)
    build = folder / 'build'
    self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN,
              '-DCMAKE_CXX_STANDARD=%d' % standard,
              '-DCMAKE_CXX_EXTENSIONS=OFF', *QUICK)
    self.must('cmake', '--build', build, '--target', 'my_program')
    self.assertEqual(self.must(build / 'my_program'), MESSAGE)
    self.assertNotIn('PROTOZERO_BUILD_PLUGIN:BOOL=ON',
                     (build / 'CMakeCache.txt').read_text())

  def test_fetch_content(self):
    self.build_fetched('fetched', FETCHED, 20)

  def test_cpm(self):
    self.build_fetched('by cpm', BY_CPM, 23)

  def test_a_serializer_builds_no_tracing(self):
    folder = self.new_project('small guest', CMakeLists_txt=SERIALIZER)
    build = folder / 'build'
    printed = self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja',
                        '-DPROTOZERO_BUILD_PLUGIN=ON')
    self.assertIn(b'CMAKE_BUILD_TYPE is empty: not optimized', printed)
    commands = self.must('ninja', '-C', build, '-t', 'commands', 'all').decode()
    sources = re.findall(r' -c (.*)$', commands, re.M)
    self.assertIn('main.cc', [pathlib.Path(source).name for source in sources])
    folders = {'/'.join(pathlib.Path(source).relative_to(ROOT).parts[:2])
               for source in sources if source.startswith(str(ROOT))}
    self.assertEqual(folders, {'src/protozero', 'src/protoc_plugin'})
    self.assertLessEqual(len(sources), 52)

  def test_brings_no_programs_and_no_install_rules(self):
    _, build = self.configure('Ninja Multi-Config')
    names = set(targets(build))
    self.assertIn('protozero', names)
    self.assertIn('protozero_tracing_ipc', names)
    self.assertFalse(names & {'pbz', 'pztrace', 'ninja_trace',
                              'traced_workers', 'protozero_program'}, names)
    self.assertNotIn('file(INSTALL', (build / 'protozero/cmake_install.cmake')
                     .read_text())
    cache = (build / 'CMakeCache.txt').read_text()
    self.assertNotIn('BUILD_SHARED_LIBS', cache)
    self.assertNotRegex(cache, 'CMAKE_BUILD_TYPE:[A-Z]+=.')
    self.assertIn('PROTOZERO_INSTALL:BOOL=OFF', cache)
    for config in ('Debug', 'Release'):
      self.must('cmake', '--build', build, '--config', config, '--target',
                'my_program')
      self.assertEqual(self.must(build / config / 'my_program'), MESSAGE)


# Exports a library that links privately with generated code, that code, and some
# in C, with the headers.
EXPORTING = '''cmake_minimum_required(VERSION 3.20)
project(exporting LANGUAGES C CXX)
%s
protozero_generate(TARGET unit PROTOS unit.proto)
protozero_generate(TARGET reading PROTOS reading.proto
                   DEPS unit protozero::well_known_protos)
protozero_generate(TARGET unit_in_c PROTOS unit.proto LANGUAGE c)
add_library(greet STATIC greet.cc)
target_link_libraries(greet PRIVATE unit)
install(TARGETS greet unit reading unit_in_c EXPORT exporting)
install(EXPORT exporting NAMESPACE exporting:: DESTINATION lib/cmake/exporting)
install(FILES exporting-config.cmake DESTINATION lib/cmake/exporting)
foreach(target unit reading unit_in_c)
  install(DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/${target}_gen/"
          DESTINATION include FILES_MATCHING PATTERN "*.h")
endforeach()
'''
EXPORTED = '''include(CMakeFindDependencyMacro)
find_dependency(protozero)
include("${CMAKE_CURRENT_LIST_DIR}/exporting.cmake")
'''
EXPORT_USER = '''cmake_minimum_required(VERSION 3.20)
project(user LANGUAGES C CXX)
find_package(exporting REQUIRED)
add_executable(greeting greeting.cc)
target_link_libraries(greeting PRIVATE exporting::greet)
add_executable(my_program main.cc)
target_link_libraries(my_program PRIVATE exporting::reading)
add_executable(in_c main.c)
target_link_libraries(in_c PRIVATE exporting::unit_in_c)
'''

C_PROJECT = '''cmake_minimum_required(VERSION 3.20)
project(user C)
set(CMAKE_C_STANDARD 99)
find_package(protozero REQUIRED COMPONENTS generate)
protozero_generate(TARGET unit PROTOS unit.proto LANGUAGE c)
add_executable(my_program main.c)
target_link_libraries(my_program unit)
'''
C_MAIN = '''#include <stdio.h>

#include "unit.pbzero_c.h"

int main(void) {
  uint8_t buffer[64];
  pbz_writer writer;
  consumer_Unit unit;
  pbz_writer_init_buffer(&writer, buffer, sizeof(buffer));
  consumer_Unit_begin(&unit, &writer);
  consumer_Unit_set_symbol(&unit, "degrees");
  fwrite(buffer, 1, consumer_Unit_end(&unit), stdout);
  return 0;
}
'''


class InstalledTest(ProjectsTest):
  """find_package(), with shared libraries."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.prefix = cls.install_library('a prefix', '-DBUILD_SHARED_LIBS=ON')

  def configure(self, name, find_package, *options):
    """(exit code, what CMake printed, the build folder)"""
    folder = self.new_project(name, CMakeLists_txt=PROJECT % find_package)
    build = folder / 'build'
    return (*execute('cmake', '-S', folder, '-B', build, '-G', 'Ninja',
                     '-DCMAKE_PREFIX_PATH=%s' % self.prefix, *options), build)

  def assert_refused(self, name, message, find_package, *options):
    status, printed, _ = self.configure(name, find_package, *options)
    self.assertNotEqual(status, 0)
    self.assertIn(message, ' '.join(printed.decode().split()))

  def test_shared_library(self):
    status, printed, build = self.configure(
        'user', 'find_package(protozero 0.1 REQUIRED COMPONENTS tracing '
        'tracing_ipc local_trace generate)', PLUGIN, '-DCMAKE_CXX_STANDARD=23')
    self.assertEqual(status, 0, printed.decode())
    self.must('cmake', '--build', build)
    self.assertEqual(self.must(build / 'my_program'), MESSAGE)
    needed = self.must('readelf', '-d', build / 'my_program').decode()
    self.assertIn('[libprotozero.so.%s]' % version().rpartition('.')[0], needed)

  def test_c(self):
    folder = self.new_project('c user', CMakeLists_txt=C_PROJECT, main_c=C_MAIN)
    build = folder / 'build'
    self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN,
              '-DCMAKE_PREFIX_PATH=%s' % self.prefix)
    self.must('cmake', '--build', build)
    self.assertEqual(self.must(build / 'my_program'), GREETING)
    self.change(folder / 'unit.proto')
    self.assertIn(b'Generating unit', self.must('cmake', '--build', build))
    self.assertNotIn(b'Generating', self.must('cmake', '--build', build))
    needed = self.must('readelf', '-d', build / 'my_program').decode()
    self.assertNotIn('protozero', needed)

  def check_export(self, name, library):
    folder = self.new_project(name, CMakeLists_txt=EXPORTING % library, greet_cc=(
        GREET.replace('int main', 'void Greet')))
    (folder / 'exporting-config.cmake').write_text(EXPORTED)
    build, prefix = folder / 'build', folder / 'installed'
    prefixes = '-DCMAKE_PREFIX_PATH=%s;%s' % (self.prefix, prefix)
    self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN, prefixes,
              '-DCMAKE_INSTALL_PREFIX=%s' % prefix, *QUICK)
    self.must('cmake', '--build', build)
    self.must('cmake', '--install', build)
    for path in (prefix / 'lib/cmake').rglob('*.cmake'):
      self.assertNotIn(str(build), path.read_text())

    user = self.new_project('user of ' + name, CMakeLists_txt=EXPORT_USER, main_c=C_MAIN,
                            greeting_cc='void Greet(); int main() { Greet(); }\n')
    (user / 'main.cc').write_text(MAIN.replace('#include "other.pbzero.h"\n', ''))
    shutil.rmtree(build)
    build = user / 'build'
    self.must('cmake', '-S', user, '-B', build, '-G', 'Ninja', PLUGIN, prefixes)
    self.must('cmake', '--build', build)
    self.assertEqual(self.must(build / 'greeting'), GREETING)
    self.assertEqual(self.must(build / 'my_program'), MESSAGE)
    self.assertEqual(self.must(build / 'in_c'), GREETING)

  def test_export_with_an_installed_library(self):
    self.check_export('exporting', 'find_package(protozero REQUIRED)')

  def test_export_with_a_subproject(self):
    self.check_export('exporting guest', 'add_subdirectory("%s" protozero '
                      'EXCLUDE_FROM_ALL)' % ROOT)

  def assert_refuses_proto(self, name, expected, arguments, **files):
    folder = self.new_project(name, CMakeLists_txt=(
        'cmake_minimum_required(VERSION 3.20)\nproject(user LANGUAGES CXX)\n'
        'find_package(protozero REQUIRED)\nprotozero_generate(TARGET unit %s)\n'
        % arguments), **files)
    build = folder / 'build'
    status, printed = execute(
        'cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN,
        '-DCMAKE_PREFIX_PATH=%s' % self.prefix)
    if not status:
      status, printed = execute('cmake', '--build', build)
    self.assertNotEqual(status, 0)
    self.assertIn(expected, ' '.join(printed.decode().split()))

  def test_wrong_proto_root(self):
    self.assert_refuses_proto(
        'missing', 'protos/unit.proto: PROTOS are relative to', 'PROTOS protos/unit.proto')
    self.assert_refuses_proto(
        'missing root', 'there is no folder PROTO_ROOT,',
        'PROTOS unit.proto PROTO_ROOT protos')
    self.assert_refuses_proto(
        'outside', 'unit.proto is outside of PROTO_ROOT,',
        'PROTOS unit.proto PROTO_ROOT build')
    self.assert_refuses_proto(
        'in imports', 'set PROTO_ROOT', 'PROTOS protos/unit.proto IMPORT_DIRS protos',
        **{'protos/unit_proto': 'syntax = "proto3";'})
    self.assert_refuses_proto(
        'import', 'looked for in PROTO_ROOT, ', 'PROTOS my.proto',
        my_proto='syntax = "proto3"; import "folder/unit.proto";')

  def test_shared_library_shows_no_other_symbol(self):
    # Optimized: no flag hides functions of the standard library that are not inlined.
    build = self.scratch / 'optimized'
    self.configure_library(build, self.prefix, '-DBUILD_SHARED_LIBS=ON',
                           '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG')
    self.must('cmake', '--build', build, '--target', 'protozero')
    symbols = self.must('nm', '-DC', '--defined-only', build / 'libprotozero.so').decode()
    self.assertIn('protozero::pz_0_1::internal::MessageRuntime::Finalize', symbols)
    for line in symbols.splitlines():
      self.assertIn('protozero::', line)

  def test_all_versions_agree(self):
    folder = self.new_project('versions', version_cc=(
        '#include "protozero/config.h"\n'
        'static_assert(PROTOZERO_VERSION == %d * 10000 + %d * 100 + %d);\n' %
        tuple(map(int, version().split('.')))))
    self.must('g++', '-std=c++17', '-I', self.prefix / 'include', '-c',
              'version.cc', cwd=folder)
    package = (self.prefix / 'lib/cmake/protozero/protozero-config-version.cmake')
    self.assertIn('set(PACKAGE_VERSION "%s")' % version(), package.read_text())
    library = self.prefix / 'lib/libprotozero.so'
    self.assertEqual(library.resolve().name, 'libprotozero.so.' + version())
    self.assertIn('[libprotozero.so.%s]' % version().rpartition('.')[0],
                  self.must('readelf', '-d', library).decode())

  def test_generated_code_of_another_generation(self):
    folder = self.new_project('generation')
    self.must('protoc', '-I', folder, '--plugin=protoc-gen-plugin=%s' %
              (BUILD / 'protozero_plugin'), '--plugin_out=%s' % folder,
              folder / 'unit.proto')
    compiler = ['g++', '-std=c++17', '-fsyntax-only', '-I',
                self.prefix / 'include', '-x', 'c++']
    header = folder / 'unit.pbzero.h'
    self.must(*compiler, header)
    header.write_text(re.sub(r'(PROTOZERO_GENERATION != )\d+', r'\1 99',
                             header.read_text()))
    status, printed = execute(*compiler, header)
    self.assertEqual(status, 1)
    self.assertIn('run the plugin of its release', printed.decode())

  def test_missing_plugin(self):
    self.assert_refused(
        'no plugin', 'protozero_generate(TARGET unit) lacks the plugin: set '
        'PROTOZERO_PLUGIN to the path', 'find_package(protozero REQUIRED)')
    self.assert_refused(
        'no such plugin', 'there is no PROTOZERO_PLUGIN=/nowhere/plugin',
        'find_package(protozero REQUIRED)', '-DPROTOZERO_PLUGIN=/nowhere/plugin')
    self.assert_refused(
        'component', "protozero's component generate lacks the plugin",
        'find_package(protozero REQUIRED COMPONENTS generate)')

  def test_missing_protoc(self):
    self.assert_refused(
        'no protoc', 'lacks protoc: install protobuf-compiler, or set '
        'Protobuf_PROTOC_EXECUTABLE',
        'set(CMAKE_FIND_USE_SYSTEM_ENVIRONMENT_PATH OFF)\n'
        'set(CMAKE_FIND_USE_CMAKE_SYSTEM_PATH OFF)\n'
        'find_package(protozero REQUIRED)', PLUGIN)

  def test_unknown_component(self):
    self.assert_refused('component x', 'protozero has no component x',
                        'find_package(protozero REQUIRED COMPONENTS x)', PLUGIN)


# A project that has protobuf_generate() for its other plugins.
BY_PROTOBUF_GENERATE = '''cmake_minimum_required(VERSION 3.20)
project(greet LANGUAGES CXX)
find_package(Protobuf REQUIRED)
find_package(protozero REQUIRED)
add_executable(greet greet.cc unit.proto)
protobuf_generate(TARGET greet LANGUAGE pbzero
                  GENERATE_EXTENSIONS .pbzero.h .pbzero.cc
                  PLUGIN "protoc-gen-pbzero=${PROTOZERO_PLUGIN}")
target_include_directories(greet PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
target_link_libraries(greet PRIVATE protozero::protozero)
'''

MISTAKEN = '''cmake_minimum_required(VERSION 3.20)
project(mistaken LANGUAGES CXX)
find_package(protozero REQUIRED)
add_executable(mistaken main.cc)
target_link_libraries(mistaken PRIVATE protozero::protozero)
'''
MISTAKE = '''#include "protozero/message.h"
#include "protozero/static_buffer.h"

int main() {
  uint8_t buffer[16];
  protozero::StaticBuffered<protozero::Message> message(buffer, sizeof(buffer));
  auto* ended = message->BeginNestedMessage<protozero::Message>(1);
  message->AppendVarInt(2, 1);
  ended->AppendVarInt(3, 1);
}
'''


class ProtobufGenerateTest(ProjectsTest):
  """CMake's own rule, which knows no options of a plugin before 3.28."""

  def test_a_target_and_its_schemas(self):
    prefix = self.install_library('prefix')
    folder = self.new_project(
        'greet', CMakeLists_txt=BY_PROTOBUF_GENERATE,
        greet_cc=GREET.replace('consumer::pbzero::', 'consumer::'))
    build = folder / 'build'
    self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja', PLUGIN,
              '-DCMAKE_PREFIX_PATH=%s' % prefix)
    self.must('cmake', '--build', build)
    self.assertEqual(self.must(build / 'greet'), GREETING)
    self.change(folder / 'unit.proto')
    self.assertIn(b'--pbzero_out', self.must('cmake', '--build', build, '-v'))


class BothLibrariesTest(ProjectsTest):
  """A library with checks and one without, in one folder."""

  def test_debug_builds_have_the_one_with_checks(self):
    for config in 'Debug', 'Release':
      prefix = self.install_library('both', '-DCMAKE_BUILD_TYPE=' + config)
    folder = self.new_project('mistaken', CMakeLists_txt=MISTAKEN, main_cc=MISTAKE)
    for config, stops in (('Debug', True), ('Release', False), ('', False),
                          ('RelWithDebInfo', False)):
      build = folder / ('build' + config)
      self.must('cmake', '-S', folder, '-B', build, '-G', 'Ninja',
                '-DCMAKE_PREFIX_PATH=%s' % prefix, '-DCMAKE_BUILD_TYPE=' + config)
      self.must('cmake', '--build', build)
      status, printed = execute(build / 'mistaken')
      self.assertEqual(status != 0, stops, (config, printed))


class SourceTest(ProjectsTest):
  """Tests of the tree itself."""

  def test_missing_libprotoc(self):
    printed = self.must('cmake', '-S', ROOT, '-B', self.scratch / 'bare',
                        '-DCMAKE_DISABLE_FIND_PACKAGE_Protobuf=ON').decode()
    self.assertIn('plugin: not built (install libprotoc-dev)', printed)
    self.assertNotIn('Python3', printed)

  def test_gn_and_cmake_build_the_same_sources(self):
    build = self.scratch / 'all'
    ask_targets(build)
    self.must('cmake', '-S', ROOT, '-B', build,
              '-DPROTOZERO_BUILD_PROGRAMS=ON', '-DPROTOZERO_BUILD_EXAMPLES=ON')
    by_cmake = {path for sources in targets(build).values()
                for path in sources
                if path.startswith(('src/', 'examples/')) and
                path.endswith('.cc')}
    described = json.loads(subprocess.run(
        [ROOT / 'tools/gn', 'desc', BUILD, '//:default', 'deps', '--all',
         '--format=json'], cwd=ROOT, check=True,
        capture_output=True).stdout)
    labels = [label for label in described['//:default']['deps']
              if label.startswith(('//src/', '//examples/'))]
    everything = json.loads(subprocess.run(
        [ROOT / 'tools/gn', 'desc', BUILD, '*', 'sources', '--format=json'],
        cwd=ROOT, check=True, capture_output=True).stdout)
    by_gn = {path[2:] for label in labels
             for path in everything.get(label, {}).get('sources', [])
             if path.startswith(('//src/', '//examples/')) and
             path.endswith('.cc')}
    self.assertGreater(len(by_gn), 100)
    self.assertEqual(by_cmake, by_gn)

  def test_without_sqlite_no_source_needs_it(self):
    build = self.scratch / 'no_sqlite'
    ask_targets(build)
    self.must('cmake', '-S', ROOT, '-B', build, '-DPROTOZERO_BUILD_PROGRAMS=ON',
              '-DPROTOZERO_SQLITE=OFF')
    sources = [path for path in targets(build)['pztrace'] if path.startswith('src/')]
    self.assertIn('src/pztrace/tables/database_none.cc', sources)
    self.assertEqual([path for path in sources
                      if '#include <sqlite3.h>' in (ROOT / path).read_text()], [])


if __name__ == '__main__':
  sys.exit(run_cases())
