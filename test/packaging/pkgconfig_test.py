#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what is installed with pkg-config and plain make, and the files of
docs/building.md.

Runs in a build directory, which has protozero_plugin.
"""

import os
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'test' / 'testing'))
# pylint: disable=wrong-import-position
from cases import run_cases, version
from projects import BUILD, GREET, GREETING, TRACED, ProjectsTest

# docs/building.md has the like.
MAKEFILE = '''PLUGIN := $(shell pkg-config --variable=plugin protozero)
CXXFLAGS := -std=c++17 -Wall -Wextra -Werror $(shell pkg-config --cflags protozero)
LDLIBS := $(shell pkg-config --libs protozero)

greet: greet.cc unit.pbzero.cc
\t$(CXX) $(CXXFLAGS) -o $@ $^ $(LDLIBS)

greet: unit.pbzero.h

%.pbzero.cc %.pbzero.h: %.proto
\tprotoc -I. --plugin=protoc-gen-pbzero=$(PLUGIN) \\
\t  --pbzero_out=wrapper_namespace=pbzero:. $<
'''

TRACED_MAKEFILE = '''CXXFLAGS := -std=c++17 $(shell pkg-config --cflags protozero-tracing)
CXXFLAGS += -DSCHEMA=$(shell pkg-config --variable=trace_namespace protozero-tracing)
LDLIBS := $(shell pkg-config --libs protozero-tracing)

traced: traced.cc
\t$(CXX) $(CXXFLAGS) -o $@ $< $(LDLIBS)
'''

class PkgConfigTest(ProjectsTest):
  """A folder that was moved after the installation."""

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.prefix = cls.scratch / 'moved to'
    cls.install_library('prefix', '-DPROTOZERO_INLINE_SETTERS=ON').rename(
        cls.prefix)
    cls.env = {'PKG_CONFIG_PATH': str(cls.prefix / 'lib/pkgconfig')}
    # Where the build makes one, it is there; test/install looks for it.
    (cls.prefix / 'bin').mkdir(exist_ok=True)
    shutil.copy(BUILD / 'protozero_plugin', cls.prefix / 'bin')
    shutil.copy(BUILD / 'protozero_plugin', cls.prefix / 'bin/protoc-gen-pbzero')

  def test_make(self):
    folder = self.new_project('make', Makefile=MAKEFILE, greet_cc=GREET)
    self.must('make', cwd=folder, env=self.env)
    self.assertEqual(self.must(folder / 'greet'), GREETING)
    # The defines are those of the library.
    self.assertIn('pz_0_1_in_place',
                  self.must('nm', '-C', folder / 'greet').decode())

  def test_make_with_tracing(self):
    folder = self.new_project('traced', Makefile=TRACED_MAKEFILE,
                              traced_cc=TRACED)
    self.must('make', cwd=folder, env=self.env)
    self.must(folder / 'traced', cwd=folder)
    trace = (folder / 'out.pftrace').read_bytes()
    self.assertIn(b'main', trace)
    self.assertIn(b'answer', trace)

  def test_files_of_the_page(self):
    page = (ROOT / 'docs/building.md').read_text()

    def block(language):
      return re.search(r'^```%s\n(.*?)^```' % language, page, re.M | re.S)[1]

    commands = {name: re.search(r'^    (%s .*my_program)$' % name, page, re.M)[1]
                for name in ('cmake', 'make', 'meson')}
    files = {'cmake': ('CMakeLists.txt', block('cmake')),
             'make': ('Makefile', block('make')),
             'meson': ('meson.build', block('meson'))}
    for tool, (name, text) in files.items():
      if not shutil.which(tool):
        continue
      folder = self.scratch / ('page %s' % tool)
      folder.mkdir()
      (folder / name).write_text(text)
      (folder / 'my.proto').write_text(block('proto'))
      (folder / 'main.cc').write_text(block('cpp'))
      # Without the well-known types, which would be compiled here.
      (folder / name).write_text(text.replace(
          '\n                   DEPS protozero::well_known_protos', ''))
      # The package lacks the plugin, which another build has made.
      command = commands[tool].replace(
          'cmake -B', 'cmake "-DPROTOZERO_PLUGIN=$PLUGIN" -B')
      printed = self.must('sh', '-c', command, cwd=folder, env=dict(
          self.env, CMAKE_PREFIX_PATH=str(self.prefix),
          PLUGIN=str(BUILD / 'protozero_plugin'),
          PATH='%s:%s' % (self.prefix / 'bin', os.environ['PATH'])))
      self.assertTrue(printed.decode().endswith(block('text')), printed.decode())

  def test_versions(self):
    for name in ('protozero', 'protozero-tracing'):
      self.must('pkg-config', '--validate', name, env=self.env)
      self.assertEqual(self.must('pkg-config', '--modversion', name,
                                 env=self.env).decode().strip(), version())


class FoldersTest(ProjectsTest):
  """Configured only: what the file says."""

  def test_folders_outside_of_the_prefix(self):
    folder = self.scratch / 'else where'
    build = self.scratch / 'build'
    self.configure_library(build, self.scratch / 'prefix',
                           '-DCMAKE_INSTALL_LIBDIR=%s/lib' % folder,
                           '-DCMAKE_INSTALL_INCLUDEDIR=%s/include' % folder,
                           '-DBUILD_SHARED_LIBS=ON')
    printed = self.must('pkg-config', '--cflags', '--libs', 'protozero',
                        env={'PKG_CONFIG_PATH': str(build)}).decode()
    folder = str(folder).replace(' ', '\\ ')
    self.assertEqual(printed.strip(), '-I%s/include -DPROTOZERO_SHARED=1 '
                     '-L%s/lib -lprotozero' % (folder, folder))


if __name__ == '__main__':
  sys.exit(run_cases())
