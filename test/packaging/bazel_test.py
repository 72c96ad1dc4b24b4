#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the files for Bazel in a project without modules, which Debian's Bazel 4
builds. The path has no space: Bazel refuses such ones.

Runs in a build directory, which has protozero_plugin.
"""

import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from cases import run_cases, version
from projects import BUILD, GREET, GREETING, PROTOS, TRACED, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = pathlib.Path('/usr/share/bazel')

WORKSPACE = '''workspace(name = "consumer")
local_repository(name = "protozero", path = "protozero")
local_repository(name = "rules_cc", path = "rules_cc")
local_repository(name = "rules_java", path = "%s/rules/java")
local_repository(name = "platforms", path = "%s/tools/platforms")
''' % (RULES, RULES)

# docs/building.md has the like.
APP = '''load("@protozero//bazel:defs.bzl", "cc_pbzero_library")
cc_pbzero_library(name = "unit", srcs = ["unit.proto"])
cc_pbzero_library(name = "pair", srcs = ["pair.proto"], deps = [":unit"])
cc_binary(name = "greet", srcs = ["greet.cc"], deps = [":unit", ":pair"])
cc_binary(name = "traced", srcs = ["traced.cc"], copts = ["-DSCHEMA=pz_0_1"],
          deps = ["@protozero//:local_trace"])
'''
PAIR = '''syntax = "proto3";
package consumer;
import "app/unit.proto";
message Pair { Unit first = 1; Unit second = 2; }
'''


def has_bazel():
  return bool(shutil.which('bazel') and (RULES / 'rules/java').exists() and
              (RULES / 'tools/platforms').exists())


class BazelTest(ProjectsTest):

  def test_versions(self):
    self.assertIn('version = "%s"' % version(),
                  (ROOT / 'MODULE.bazel').read_text())
    self.assertEqual(
        re.search('^ABI_NAMESPACE = "(.*)"', (ROOT / 'BUILD.bazel').read_text(),
                  re.M)[1],
        'pz_' + version().rpartition('.')[0].replace('.', '_'))

  @unittest.skipUnless(has_bazel(), 'there is no Bazel (Debian: bazel-bootstrap, '
                       'bazel-rules-java, bazel-platforms)')
  def test_project(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.addCleanup(lambda: self.must('chmod', '-R', 'u+w', scratch.name))
    project = pathlib.Path(scratch.name) / 'project'
    self.copy_tree(project / 'protozero', 'BUILD.bazel', 'MODULE.bazel',
                   'WORKSPACE.bazel', 'bazel')
    (project / 'rules_cc/cc').mkdir(parents=True)
    (project / 'rules_cc/WORKSPACE').touch()
    (project / 'rules_cc/cc/BUILD').touch()
    # The rules themselves are for newer ones.
    (project / 'rules_cc/cc/defs.bzl').write_text(''.join(
        'cc_%s = native.cc_%s\n' % (rule, rule) for rule in
        ('binary', 'import', 'library', 'test', 'toolchain', 'toolchain_suite')))
    (project / 'WORKSPACE').write_text(WORKSPACE)
    (project / 'tools').mkdir()
    (project / 'tools/BUILD').write_text('exports_files(["protoc", "plugin"])\n')
    for name, program in (('protoc', shutil.which('protoc')),
                          ('plugin', BUILD / 'protozero_plugin')):
      (project / 'tools' / name).write_text('#!/bin/sh\nexec "%s" "$@"\n' % program)
      (project / 'tools' / name).chmod(0o755)
    (project / 'app').mkdir()
    for name, text in (('BUILD', APP), ('unit.proto', PROTOS['unit.proto']),
                       ('pair.proto', PAIR),
                       ('greet.cc', '#include "app/pair.pbzero.h"\n' +
                        GREET.replace('"unit.', '"app/unit.')),
                       ('traced.cc', TRACED)):
      (project / 'app' / name).write_text(text)
    self.must('bazel', '--batch', '--output_user_root=%s/root' % scratch.name,
              'build', '--symlink_prefix=out/', '--cxxopt=-std=c++17', '--copt=-O0',
              '--repo_env=CC=/usr/bin/gcc', '--action_env=CCACHE_DISABLE=1',
              '--@protozero//bazel:plugin=//tools:plugin',
              '--@protozero//bazel:protoc=//tools:protoc',
              '//app:greet', '//app:traced', cwd=project)
    self.assertEqual(self.must(project / 'out/bin/app/greet'), GREETING)
    self.must(project / 'out/bin/app/traced', cwd=project)
    self.assertIn(b'answer', (project / 'out.pftrace').read_bytes())


if __name__ == '__main__':
  sys.exit(run_cases())
