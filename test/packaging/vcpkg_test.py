#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the vcpkg port as far as that goes without vcpkg: CMake runs it with
functions of vcpkg's names, which configure and install as vcpkg's do.

Runs in a build directory, which has protozero_plugin.
"""

import json
import pathlib
import sys

from cases import run_cases, version
from projects import PLUGIN, QUICK, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VCPKG = '''cmake_minimum_required(VERSION 3.20)
function(vcpkg_check_features)
  set(feature_options -DPROTOZERO_BUILD_PLUGIN=OFF PARENT_SCOPE)
endfunction()
function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()
function(vcpkg_cmake_configure)
  cmake_parse_arguments(arg "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run("${CMAKE_COMMAND}" -S "${arg_SOURCE_PATH}" -B "${BUILD}" -G Ninja
      "-DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}" -DCMAKE_INSTALL_LIBDIR=lib
      ${arg_OPTIONS} ${EXTRA})
  run("${CMAKE_COMMAND}" --build "${BUILD}" --target protozero)
endfunction()
function(vcpkg_cmake_install)
endfunction()
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(arg "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  file(WRITE "${BUILD}/config_path" "${arg_CONFIG_PATH}")
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
function(vcpkg_install_copyright)
  cmake_parse_arguments(arg "" "" "FILE_LIST" ${ARGN})
  file(COPY ${arg_FILE_LIST} DESTINATION "${CURRENT_PACKAGES_DIR}")
endfunction()
'''


class PortTest(ProjectsTest):

  def test_manifest(self):
    manifest = json.loads(
        (ROOT / 'packaging/vcpkg/pbzero/vcpkg.json').read_text())
    self.assertEqual(manifest['version'], version())
    self.assertEqual(manifest['name'], 'pbzero')
    self.assertLessEqual(set(manifest['default-features']),
                         set(manifest['features']))

  def test_port(self):
    script = self.scratch / 'vcpkg.cmake'
    quick = ' '.join('"%s"' % option for option in [*QUICK, PLUGIN])
    script.write_text(
        'set(BUILD "%s")\nset(CURRENT_PACKAGES_DIR "%s")\nset(EXTRA %s)\n%s\n'
        'include("%s")\n' % (
            self.scratch / 'build', self.scratch / 'packages', quick, VCPKG,
            ROOT / 'packaging/vcpkg/pbzero/portfile.cmake'))
    self.must('cmake', '-P', script)
    self.assertTrue((self.scratch / 'build/libprotozero.a').exists())
    self.assertTrue((self.scratch / 'packages/LICENSE').exists())
    # The folder that it says is the one that CMake installs into.
    folder = (self.scratch / 'build/config_path').read_text()
    self.assertIn('"${CMAKE_INSTALL_PREFIX}/%s"' % folder,
                  (self.scratch / 'build/cmake_install.cmake').read_text())


if __name__ == '__main__':
  sys.exit(run_cases())
