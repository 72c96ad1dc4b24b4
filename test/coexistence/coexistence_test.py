#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: nothing of ours meets anything of another library in one process.

Perfetto's SDK has a namespace `protozero` with classes of the same names. A
program of the two, in every way that they can be linked, writes what programs
of one write. Skipped where tools/install-build-deps --perfetto-sdk has not been.

  coexistence_test.py --plugin out/release/protozero_plugin
"""

import argparse
import functools
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, 'plugin'))
import compilers  # pylint: disable=wrong-import-position

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
SDK = ROOT / 'third_party' / 'perfetto_sdk'
SCHEMA = 'src/tracing/protos/perfetto_trace.proto'
# Not optimized: inline functions are functions then, with names that could meet.
FLAGS = ['-std=c++17', '-O0', '-fPIC', '-pthread']


class Failure(Exception):
  pass


class Build:
  """A folder in which things are compiled and linked."""

  def __init__(self, folder, compiler):
    self.folder = folder
    self.compiler = compiler

  def run(self, command):
    result = subprocess.run([str(word) for word in command], cwd=self.folder,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if result.returncode != 0:
      raise Failure('%s\nends with %d\n%s' %
                    (' '.join(map(str, command)), result.returncode,
                     result.stderr.decode(errors='replace')))
    return result.stdout

  def generate(self, plugin):
    self.run(['protoc', '--plugin=protoc-gen-plugin=' + plugin, '-I', ROOT,
              '--plugin_out=wrapper_namespace=ours:.', SCHEMA])

  def compile(self, output, source, flags=()):
    self.run([self.compiler, *FLAGS, *flags, '-c', ROOT / source, '-o', output])

  def compile_all(self, objects):
    """`objects`: (output, source, flags)."""
    jobs = [functools.partial(self.compile, *arguments)
            for arguments in objects]
    for _ in compilers.run_all(jobs):
      pass

  def library(self, name, flags=()):
    """Objects of all sources of ours, in a folder of that name."""
    (self.folder / name).mkdir()
    sources = sorted((ROOT / 'src' / 'protozero').glob('*.cc'))
    return [('%s/%s.o' % (name, source.stem), source,
             ['-I', ROOT / 'include', *flags]) for source in sources]

  def link(self, output, writers, objects, flags=()):
    """A program of main.cc and `writers`."""
    self.run([self.compiler, *FLAGS,
              *['-DWITH_' + writer.upper() for writer in writers],
              '-I', ROOT, ROOT / 'test' / 'coexistence' / 'main.cc', *objects,
              *flags, '-Wl,-rpath,.', '-o', output])

  def link_shared(self, output, objects, flags=()):
    self.run([self.compiler, *FLAGS, '-shared', *objects, *flags, '-o', output])


def check_perfetto(build, plugin):
  """Yields what was linked, and what is wrong with it."""
  build.generate(plugin)
  ours = build.library('ours')
  build.compile_all([
      ('sdk.o', SDK / 'perfetto.cc', ['-w']),
      ('by_perfetto.o', 'test/coexistence/perfetto_sdk.cc',
       ['-w', '-I', ROOT, '-isystem', SDK]),
      ('by_ours.o', 'test/coexistence/ours.cc',
       ['-I', ROOT, '-I.', '-I', ROOT / 'include']),
  ] + ours)
  parts = {
      'ours': ['by_ours.o'] + [output for output, _, _ in ours],
      'perfetto': ['by_perfetto.o', 'sdk.o'],
  }
  alone = {}
  for name, objects in parts.items():
    build.link('alone', [name], objects)
    alone[name] = build.run(['./alone', name])
    # More than a fixed part of each message.
    if len(alone[name]) < 200 * 1000:
      raise Failure('%s writes %d bytes' % (name, len(alone[name])))

  def differences(program):
    return [name for name in parts if build.run([program, name]) != alone[name]]

  for order in itertools.permutations(parts):
    build.link('program', parts, sum((parts[name] for name in order), []))
    yield 'static, first ' + order[0], differences('./program')


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--plugin', required=True)
  args = parser.parse_args()
  if not (SDK / 'perfetto.cc').exists():
    print("skipped: Perfetto's SDK is not installed, see "
          'tools/install-build-deps --perfetto-sdk')
    print('0 passed, 0 failed, 1 skipped')
    return
  counter = compilers.Counter()
  with tempfile.TemporaryDirectory() as temp:
    build = Build(pathlib.Path(temp), compilers.find_compilers()[0])
    try:
      for name, different in check_perfetto(build,
                                            os.path.abspath(args.plugin)):
        counter.check(not different, name,
                      'writes other bytes than alone: ' + ', '.join(different))
    except Failure as failure:
      counter.check(False, 'build', str(failure))
  counter.finish()


if __name__ == '__main__':
  main()
