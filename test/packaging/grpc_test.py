#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Builds examples/grpc from a copy outside of the tree, with Debian's gRPC, runs it,
and looks whether its header copies.

Runs in a build directory, which has protozero_plugin. Skipped where gRPC is not
installed.
"""

import pathlib
import shutil
import subprocess
import sys

from cases import run_cases
from projects import PLUGIN, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Exits with 0 if the slices are the message's memory, and end its life.
NO_COPY = '''
#include "byte_buffer.h"

#include <string>

#include "protozero/message.h"

int main() {
  const std::string payload(200000, 'x');
  auto message = std::make_shared<protozero::HeapBuffered<>>(64, 64);
  for (int i = 0; i < 100; ++i)
    (*message)->AppendVarInt(1, i);
  (*message)->AppendBorrowedBytes(2, payload.data(), payload.size());
  const auto ranges = (*message).GetRanges();
  if (reinterpret_cast<const char*>(ranges.back().begin) != payload.data())
    return 5;
  grpc::ByteBuffer buffer = ToByteBuffer(message);
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok() || slices.size() != ranges.size() ||
      ranges.size() < 2)
    return 1;
  for (size_t i = 0; i < slices.size(); ++i) {
    if (slices[i].begin() != ranges[i].begin ||
        slices[i].size() != ranges[i].size())
      return 2;
  }
  const std::weak_ptr<protozero::HeapBuffered<>> alive = message;
  message.reset();
  if (alive.expired())
    return 3;
  slices.clear();
  buffer.Clear();
  return alive.expired() ? 0 : 4;
}
'''
CHECK = '''
add_executable(no_copy no_copy.cc)
target_link_libraries(no_copy PRIVATE greeter_protos PkgConfig::grpc)
'''


class GrpcTest(ProjectsTest):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.folder = cls.scratch / 'grpc'
    prefix = cls.install_library('prefix')
    shutil.copytree(ROOT / 'examples' / 'grpc', cls.folder)
    (cls.folder / 'no_copy.cc').write_text(NO_COPY)
    with open(cls.folder / 'CMakeLists.txt', 'a', encoding='utf-8') as file:
      file.write(CHECK)
    cls.must('cmake', '-S', cls.folder, '-B', cls.folder / 'build', '-G', 'Ninja',
             '-DCMAKE_PREFIX_PATH=%s' % prefix, PLUGIN)
    cls.must('cmake', '--build', cls.folder / 'build')

  def test_a_service_and_a_client_send_what_setters_have_encoded(self):
    printed = self.must(self.folder / 'build/greeter').decode().splitlines()
    self.assertEqual(printed, ['ok: a reply of 12 characters: Hello, xxxxx',
                               'ok: a reply of 100007 characters: Hello, xxxxx'])

  def test_nothing_is_copied(self):
    self.must(self.folder / 'build/no_copy')


if __name__ == '__main__':
  found = subprocess.run(['pkg-config', '--exists', 'grpc++'], check=False)
  if found.returncode != 0 or not shutil.which('grpc_cpp_plugin'):
    print('gRPC is not there; tools/install-build-deps --packaging installs it')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit()
  sys.exit(run_cases())
