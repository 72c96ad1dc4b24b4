# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The recipe for Conan 2:  conan create packaging/conan

The package has its own CMake files: find_package(protozero) and
protozero_generate() are as without Conan. The plugin is built where CMake finds
libprotoc; otherwise, or when compiling for another machine, the configuration
user.protozero:plugin is the path of one.
"""

import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir


class Protozero(ConanFile):
  name = 'protozero'
  license = 'Apache-2.0'
  description = 'Writes and reads protobuf messages; traces over shared memory'
  topics = ('protobuf', 'serialization', 'tracing')
  package_type = 'library'
  settings = 'os', 'compiler', 'build_type', 'arch'
  options = {'shared': [True, False], 'fPIC': [True, False],
             'inline_setters': [True, False]}
  default_options = {'shared': False, 'fPIC': True, 'inline_setters': False}
  implements = ['auto_shared_fpic']

  def _tree(self):
    return os.path.join(self.recipe_folder, '..', '..')

  def set_version(self):
    number = int(re.search(
        r'^#define PROTOZERO_VERSION (\d+)$',
        load(self, os.path.join(self._tree(), 'include/protozero/config.h')),
        re.M)[1])
    self.version = '%d.%d.%d' % (number // 10000, number // 100 % 100,
                                 number % 100)

  def export_sources(self):
    for pattern in ('CMakeLists.txt', 'LICENSE', 'cmake/*', 'include/*', 'src/*'):
      copy(self, pattern, self._tree(), self.export_sources_folder)

  def layout(self):
    cmake_layout(self)

  def generate(self):
    toolchain = CMakeToolchain(self)
    toolchain.cache_variables['PROTOZERO_INLINE_SETTERS'] = bool(
        self.options.inline_setters)
    plugin = self.conf.get('user.protozero:plugin', check_type=str)
    if plugin:
      toolchain.cache_variables['PROTOZERO_PLUGIN'] = plugin
    toolchain.generate()

  def build(self):
    cmake = CMake(self)
    cmake.configure()
    cmake.build()

  def package(self):
    CMake(self).install()
    copy(self, 'LICENSE', self.source_folder,
         os.path.join(self.package_folder, 'licenses'))
    # Conan makes these itself.
    rmdir(self, os.path.join(self.package_folder, 'lib', 'pkgconfig'))

  def package_info(self):
    # The package's own files for CMake, not those that Conan would make.
    self.cpp_info.set_property('cmake_find_mode', 'none')
    self.cpp_info.builddirs = [os.path.join('lib', 'cmake', 'protozero')]
    # For other generators: each library before those that it needs.
    present = os.listdir(os.path.join(self.package_folder, 'lib'))
    postfix = 'd' if self.settings.build_type == 'Debug' else ''
    self.cpp_info.libs = [
        name + postfix for name in (
            'protozero_otlp', 'protozero_local_trace', 'protozero_track_event',
            'protozero_tracing_ipc', 'protozero_tracing_service',
            'protozero_trace_rules', 'protozero_trace_reader',
            'protozero_trace_schema', 'protozero_tracing', 'protozero')
        if any(file.split('.')[0].removeprefix('lib') == name + postfix for file in present)]
    if self.options.inline_setters:
      self.cpp_info.defines.append('PROTOZERO_INLINE_SETTERS=1')
    if self.options.shared:
      self.cpp_info.defines.append('PROTOZERO_SHARED=1')
    if self.settings.os == 'Linux':
      self.cpp_info.system_libs = ['pthread']
