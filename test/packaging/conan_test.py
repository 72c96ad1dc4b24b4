#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the recipe for Conan: makes a package of it and runs its test package.

Runs in a build directory, which has protozero_plugin. Conan comes from
`tools/install-build-deps --packaging`; without it the test is skipped.
"""

import json
import pathlib
import sys
import unittest

from cases import run_cases, version
from projects import BUILD, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONAN = ROOT / 'third_party/conan/bin/conan'
# The settings of QUICK in the other tests.
QUICK = {'tools.cmake.cmaketoolchain:generator': 'Ninja',
         'tools.build:cxxflags': ['-Wno-subobject-linkage'],
         'tools.cmake.cmaketoolchain:extra_variables': {
             'CMAKE_UNITY_BUILD': 'ON', 'CMAKE_UNITY_BUILD_BATCH_SIZE': '0',
             'CMAKE_CXX_FLAGS_RELEASE': '-O0 -DNDEBUG'}}


@unittest.skipUnless(CONAN.exists(),
                     'tools/install-build-deps --packaging fetches Conan')
class ConanTest(ProjectsTest):

  def test_package(self):
    env = {'CONAN_HOME': str(self.scratch / 'conan home')}
    self.copy_tree(self.scratch / 'tree', 'packaging/conan')
    self.must(CONAN, 'profile', 'detect', env=env)
    options = ['-c=%s=%s' % (name, json.dumps(value) if not
                             isinstance(value, str) else value)
               for name, value in QUICK.items()]
    printed = self.must(
        CONAN, 'create', 'packaging/conan', '--no-remote',
        '-c=user.protozero:plugin=%s' % (BUILD / 'protozero_plugin'),
        '-o=*:inline_setters=True', *options, cwd=self.scratch / 'tree',
        env=env).decode()
    self.assertIn('a greeting of 7 bytes', printed)
    self.assertIn('protozero/' + version(), printed)


if __name__ == '__main__':
  sys.exit(run_cases())
