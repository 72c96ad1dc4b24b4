#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Editions: the plugin built against a libprotoc that knows them.

Debian 12's does not. If third_party/modern_protobuf is there, which
tools/install-build-deps --modern-protobuf makes, the plugin's sources are
compiled against it as they are, and what the plugin makes of schemas that say
`edition` is compiled and run. Otherwise the test counts as skipped.

Compiles changed files only, into <build directory>/editions; test/corpus/run.py
uses the program editions/protozero_plugin, too.

  editions_test.py [--build DIR] [--plugin-only]
"""

import argparse
import glob
import os
import re
import subprocess

import compilers

MODERN_PROTOBUF = os.path.join(compilers.SOURCE_ROOT, 'third_party',
                               'modern_protobuf')
PROTOC = os.path.join(MODERN_PROTOBUF, 'bin', 'protoc')
INCLUDE = os.path.join(MODERN_PROTOBUF, 'usr', 'include')
LIBRARIES = os.path.join(MODERN_PROTOBUF, 'usr', 'lib', 'x86_64-linux-gnu')
PROTOS = [
    'test/protos/plugin/editions.proto',
    'test/protos/plugin/editions_2024.proto',
    'test/protos/plugin/editions_2026.proto',
    'test/protos/plugin/editions_delimited.proto',
]
# The library was compiled with these: some of its containers differ in debug builds.
# The libraries want a newer C library than programs are linked with here, which
# is why those are started by the loader of that one.
# libstdc++ 12 warns of itself, inside std::stable_sort.
FLAGS = ['-std=c++17', '-O0', '-DNDEBUG', '-pthread'] + compilers.WARNINGS + [
    '-Wno-deprecated-declarations', '-I' + compilers.SOURCE_ROOT,
    '-I' + os.path.join(compilers.SOURCE_ROOT, 'include'), '-isystem', INCLUDE
]
LINK_FLAGS = [
    '-fuse-ld=lld-19', '-L' + LIBRARIES, '-Wl,-rpath=' + LIBRARIES,
    '-Wl,--dynamic-linker=' +
    os.path.join(LIBRARIES, 'ld-linux-x86-64.so.2'),
    '-Wl,--allow-shlib-undefined', '-Wl,--as-needed', '-lprotoc', '-lprotobuf',
    *sorted(glob.glob(os.path.join(LIBRARIES, 'libabsl_*.so')))
]


class BuildError(Exception):
  pass


def run(command):
  result = subprocess.run(command, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
  if result.returncode != 0:
    raise BuildError('%s\n%s' % (' '.join(command), result.stdout))
  return result.stdout


class Builder:

  def __init__(self, out):
    self.out = out
    self.gen = os.path.join(out, 'gen')
    os.makedirs(self.gen, exist_ok=True)
    self.compiler = compilers.find_compilers()[0]

  def is_current(self, target, depfile):
    if not os.path.exists(target) or not os.path.exists(depfile):
      return False
    with open(depfile, encoding='utf-8') as file:
      inputs = file.read().replace('\\\n', ' ').split(':', 1)[1].split()
    built = os.path.getmtime(target)
    return all(os.path.exists(path) and os.path.getmtime(path) <= built
               for path in inputs)

  def compile(self, source):
    """Returns the object file."""
    name = re.sub(r'\W', '_', os.path.relpath(source, compilers.SOURCE_ROOT))
    target = os.path.join(self.out, name + '.o')
    depfile = target + '.d'
    if not self.is_current(target, depfile):
      run([self.compiler, *FLAGS, '-I' + self.gen, '-MD', '-MF', depfile, '-c',
           source, '-o', target])
    return target

  def link(self, name, sources, libraries):
    jobs = [lambda source=source: self.compile(source) for source in sources]
    objects = list(compilers.run_all(jobs))
    target = os.path.join(self.out, name)
    run([self.compiler, '-pthread', *objects, *libraries, *LINK_FLAGS, '-o',
         target])
    return target

  def plugin(self):
    # One file, because the library's headers take long to read.
    source = os.path.join(self.out, 'protozero_plugin.cc')
    text = ''.join('#include "%s"\n' % path for path in sorted(glob.glob(
        os.path.join(compilers.SOURCE_ROOT, 'src', 'protoc_plugin', '**', '*.cc'),
        recursive=True)))
    if not os.path.exists(source) or open(source, encoding='utf-8').read() != text:
      with open(source, 'w', encoding='utf-8') as file:
        file.write(text)
    return self.link('protozero_plugin', [source], [])

  def unittests(self, runtime):
    tests = os.path.join(compilers.SOURCE_ROOT, 'test', 'plugin')
    return self.link('editions_unittests', [
        os.path.join(tests, 'dynamic_schema.cc'),
        os.path.join(tests, 'editions_unittest.cc')
    ], [runtime, '-lgmock_main', '-lgmock', '-lgtest'])


def check_messages(counter, plugin, older_plugin):
  """The error of a plugin that does not know the edition: the edition, and the
  remedy. protoc has nothing to add."""
  version = subprocess.run([plugin, '--version'], capture_output=True,
                           text=True, check=False).stdout
  counter.check(version.endswith(', editions up to 2026)\n'), 'version',
                version)
  if not older_plugin:
    return
  result = subprocess.run(
      [PROTOC, '-I' + compilers.SOURCE_ROOT,
       '--plugin=protoc-gen-plugin=' + os.path.abspath(older_plugin),
       '--plugin_out=/tmp', PROTOS[0]], capture_output=True, text=True,
      check=False)
  counter.check(
      result.returncode != 0 and re.fullmatch(
          r'--plugin_out: [^:]*:1: editions are unknown to .* \(libprotobuf '
          r'[\d.]+, without editions\), but not to protoc [\d.]+; build the '
          r'plugin with libprotobuf 27 or newer, .*\n', result.stderr), 'an older plugin', result.stderr)


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--build', default='.',
                      help='a build directory (default: the current one)')
  parser.add_argument('--older-plugin', metavar='PATH',
                      help='a plugin that was built with another libprotobuf')
  parser.add_argument('--plugin-only', action='store_true',
                      help='build the plugin, and no more')
  args = parser.parse_args()
  if not os.path.exists(PROTOC):
    print('There is no %s; tools/install-build-deps --modern-protobuf'
          ' fetches it' %
          os.path.relpath(PROTOC, compilers.SOURCE_ROOT))
    print('0 passed, 0 failed, 1 skipped')
    return

  counter = compilers.Counter()
  builder = Builder(os.path.join(os.path.abspath(args.build), 'editions'))
  try:
    plugin = builder.plugin()
    counter.check(True, 'the plugin compiles against a modern libprotoc')
    if not args.plugin_only:
      run([PROTOC, '-I' + compilers.SOURCE_ROOT,
           '--plugin=protoc-gen-plugin=' + plugin,
           '--plugin_out=wrapper_namespace=pbzero:' + builder.gen, *PROTOS])
      counter.check(True, 'the plugin takes editions')
      check_messages(counter, plugin, args.older_plugin)
      unittests = builder.unittests(
          os.path.join(args.build, 'obj', 'src', 'protozero',
                       'libprotozero.a'))
      result = subprocess.run(
          [unittests], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
          text=True, check=False,
          env=dict(os.environ, PROTOZERO_SOURCE_ROOT=compilers.SOURCE_ROOT))
      counter.passed += len(re.findall(r'^\[       OK \]', result.stdout,
                                       re.MULTILINE))
      counter.check(result.returncode == 0, 'code of editions', result.stdout)
  except BuildError as error:
    counter.check(False, 'editions', str(error))
  counter.finish()


if __name__ == '__main__':
  main()
