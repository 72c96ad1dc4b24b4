#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what is installed with pkg-config and plain make.

Runs in a build directory, which has protozero_plugin.
"""

import shutil
import sys

from cases import run_cases, version
from projects import BUILD, GREET, GREETING, TRACED, ProjectsTest


# docs/building.md has the like.
MAKEFILE = '''PLUGIN := $(shell pkg-config --variable=plugin protozero)
CXXFLAGS := -std=c++17 -Wall -Wextra -Werror $(shell pkg-config --cflags protozero)
LDLIBS := $(shell pkg-config --libs protozero)

greet: greet.cc unit.pbzero.cc unit.pbzero.h
\t$(CXX) $(CXXFLAGS) -o $@ $(filter %.cc,$^) $(LDLIBS)

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
    # A build with a plugin installs it there; test/install looks for that.
    (cls.prefix / 'bin').mkdir(exist_ok=True)
    shutil.copy(BUILD / 'protozero_plugin', cls.prefix / 'bin')
    shutil.copy(BUILD / 'protozero_plugin', cls.prefix / 'bin/protoc-gen-pbzero')

  def test_make(self):
    folder = self.new_project('make', Makefile=MAKEFILE, greet_cc=GREET)
    for compiler in ('clang++-19', 'g++'):
      self.must('make', '-B', 'CXX=' + compiler, cwd=folder, env=self.env)
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
