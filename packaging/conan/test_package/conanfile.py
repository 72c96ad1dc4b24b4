# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TestPackage(ConanFile):
  settings = 'os', 'compiler', 'build_type', 'arch'

  def requirements(self):
    self.requires(self.tested_reference_str)

  def layout(self):
    cmake_layout(self)

  def generate(self):
    toolchain = CMakeToolchain(self)
    plugin = self.conf.get('user.protozero:plugin', check_type=str)
    if plugin:
      toolchain.cache_variables['PROTOZERO_PLUGIN'] = plugin
    toolchain.generate()

  def build(self):
    cmake = CMake(self)
    cmake.configure()
    cmake.build()

  def test(self):
    if can_run(self):
      self.run(os.path.join(self.cpp.build.bindir, 'greet'), env='conanrun')
