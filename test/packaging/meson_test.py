#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the Meson build: as a subproject, and installed.

Runs in a build directory, which has protoc-gen-pbzero.
"""

import pathlib
import re
import shutil
import sys
import unittest

from cases import run_cases, version
from projects import BUILD, GREET, GREETING, TRACED, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# docs/building.md has the like.
PROJECT = '''project('my_project', 'cpp', default_options: ['cpp_std=c++17'])
protozero = dependency('protozero', fallback: 'protozero')
tracing = dependency('protozero-tracing', fallback: 'protozero')

unit = custom_target(
  'unit', input: 'unit.proto', output: ['unit.pbzero.cc', 'unit.pbzero.h'],
  command: [find_program('protoc'), '--plugin',
            find_program('protoc-gen-pbzero', dirs: protozero.get_variable('bindir')),
            '-I', '@CURRENT_SOURCE_DIR@',
            '--pbzero_out=wrapper_namespace=pbzero:@OUTDIR@', '@INPUT@'])
executable('greet', 'greet.cc', unit, dependencies: protozero)
executable('traced', 'traced.cc', dependencies: tracing,
           cpp_args: '-DSCHEMA=' + tracing.get_variable('trace_namespace'))
'''
TREE = ('meson.build', 'meson_options.txt', 'tools/print_version')
QUICK = ['-Dunity=on', '-Dunity_size=200', '-Doptimization=0']


@unittest.skipUnless(shutil.which('meson'), 'there is no meson (Debian: meson)')
class MesonTest(ProjectsTest):

  def new_meson_project(self, name):
    return self.new_project(name, meson_build=PROJECT, greet_cc=GREET,
                            traced_cc=TRACED)

  def check(self, folder, *options, env=None):
    build = folder / 'build'
    self.must('meson', 'setup', build, folder, *options, env=env)
    self.must('ninja', '-C', build, 'greet', 'traced')
    self.assertEqual(self.must(build / 'greet', env=env), GREETING)
    self.must(build / 'traced', cwd=folder, env=env)
    self.assertIn(b'answer', (folder / 'out.pftrace').read_bytes())
    return build

  def test_subproject(self):
    folder = self.new_meson_project('host')
    self.copy_tree(folder / 'subprojects/protozero', *TREE)
    build = self.check(folder, *QUICK,
                       '-Dprotozero:plugin_path=%s' % (BUILD / 'protoc-gen-pbzero'))
    self.assertIn(b'no work to do', self.must('ninja', '-C', build, 'greet'))

  def test_installed(self):
    source, prefix = self.scratch / 'source', self.scratch / 'a prefix'
    self.copy_tree(source, *TREE)
    build = self.scratch / 'build'
    self.must('meson', 'setup', build, source, *QUICK, '--prefix', prefix,
              '--libdir=lib', '-Ddefault_library=static', '-Dinline_setters=true',
              env={'CXX': 'clang++-19'})  # Is faster than gcc.
    self.must('meson', 'install', '-C', build, '--quiet')
    shutil.rmtree(source)
    shutil.rmtree(build)
    self.assertEqual([path for path in (prefix / 'include').rglob('*')
                      if path.is_file() and path.suffix not in ('.h', '.proto')], [])
    # pkg-config puts a backslash before each space in a variable.
    plain = self.scratch.parent / 'plain'
    plain.symlink_to(prefix)
    self.check(self.new_meson_project('user'), env={
        'PKG_CONFIG_PATH': str(plain / 'lib/pkgconfig'), 'PATH': '/usr/bin:/bin'})
    self.assertIn(version().encode(),
                  self.must(prefix / 'bin/protozero_plugin', '--version'))


class SourcesTest(unittest.TestCase):

  def test_lists_are_complete(self):
    listed = re.findall(r"'([^']+[.]cc)'", (ROOT / 'src/meson.build').read_text())
    found = {path.relative_to(ROOT / 'src').as_posix()
             for folder in ('otlp', 'otlp_http', 'protozero', 'protoc_plugin', 'tracing')
             for path in (ROOT / 'src' / folder).rglob('*.cc')}
    self.assertEqual(set(listed), found)
    self.assertEqual(len(listed), len(found))


if __name__ == '__main__':
  sys.exit(run_cases())
