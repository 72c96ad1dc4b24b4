#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Random schemas and messages, written by generated code, read by libprotobuf.

Makes up schemas, runs protoc and the plugin over them, compiles code that calls
every generated setter with random values, and compares what libprotobuf reads
with what was meant. The same seed gives the same schemas and messages. Run by
tools/test with a fixed seed; with others, and for longer, as

  tools/ninja -C out/release test/differential
  test/differential/run.py --build-dir out/release --seed 7 --schemas 2000
"""

import argparse
import functools
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                os.pardir, 'plugin'))
import compilers  # pylint: disable=wrong-import-position
import schema_generator  # pylint: disable=wrong-import-position

# The plugin's option; each part of the schemas gets another one.
WRAPPERS = ['pbzero', '', 'pbzero', 'some_wrapper']


def call(command, **options):
  result = subprocess.run([str(word) for word in command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, **options)
  if result.returncode != 0:
    output = [line for line in result.stdout.splitlines()
              if 'is unused' not in line]  # Imports of random schemas are.
    sys.exit('FAILED: %s\n%s\n0 passed, 1 failed' %
             (shlex.join(str(word) for word in command),
              '\n'.join(output)[:10000]))
  return result.stdout


def compile_flags(build_dir):
  """The compiler and flags that this build uses for our own code."""
  with open(build_dir / 'compile_commands.json') as f:
    commands = [entry['command'] for entry in json.load(f)
                if entry['file'].endswith('differential/recorder.cc')]
  words = shlex.split(commands[0])
  flags = []
  skip = False
  for word in words:
    if skip:
      skip = False
    elif word in ('-o', '-c', '-MF'):
      skip = word != '-c'
    elif word not in ('-MMD', '-MD') and not word.endswith('recorder.cc'):
      flags.append(word)
  return flags


class Part:
  """Schemas that share a driver."""

  def __init__(self, index, schemas, wrapper, rng):
    self.schemas = schemas
    self.wrapper = wrapper
    self.function = 'Cases%d' % index
    self.driver = 'driver%d.cc' % index
    self.rng = rng

  def generate(self, args, folder):
    for schema in self.schemas:
      path = folder / schema.path
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(schema_generator.proto_text(schema))
    option = 'wrapper_namespace=%s:' % self.wrapper if self.wrapper else ''
    call([args.protoc, '-I%s' % folder,
          '--plugin=protoc-gen-plugin=%s' % args.plugin,
          '--plugin_out=%s%s' % (option, folder)] + self.paths())
    (folder / self.driver).write_text(schema_generator.driver_text(
        self.schemas, self.wrapper, self.function, self.rng))

  def paths(self):
    return [schema.path for schema in self.schemas]


def compile_file(flags, folder, build_dir, name):
  # The flags are relative to the build directory.
  call(flags + ['-I%s' % folder, '-c', folder / name, '-o',
                folder / (name + '.o')], cwd=build_dir)
  return folder / (name + '.o')


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--build-dir', default='.', type=pathlib.Path)
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--schemas', type=int, default=100)
  parser.add_argument('--messages', type=int, default=100,
                      help='of each type that is not nested')
  parser.add_argument('--keep', action='store_true',
                      help='leave the generated files where they are')
  args = parser.parse_args()
  args.build_dir = args.build_dir.resolve()
  args.protoc = args.build_dir / 'protoc'
  args.plugin = args.build_dir / 'protozero_plugin'

  folder = args.build_dir / 'differential'
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir()
  # At least two, for two processors; not too large for a compiler.
  num_parts = max(len(WRAPPERS), args.schemas // 50)
  parts = []
  hostile_names = schema_generator.HostileNames(args.seed)
  for i in range(num_parts):
    count = (args.schemas + i) // num_parts
    generator = schema_generator.Generator(
        args.seed * 1000003 + i, count, 'rnd%d_' % i, hostile_names)
    parts.append(Part(i, generator.schemas, WRAPPERS[i % len(WRAPPERS)],
                      random.Random(args.seed + i)))
  for part in parts:
    part.generate(args, folder)
  descriptors = folder / 'descriptors.bin'
  call([args.protoc, '-I%s' % folder, '--descriptor_set_out=%s' % descriptors]
       + [path for part in parts for path in part.paths()])
  (folder / 'all_cases.cc').write_text(schema_generator.all_cases_text(
      [part.function for part in parts]))

  flags = compile_flags(args.build_dir)
  names = ['all_cases.cc'] + [part.driver for part in parts]
  objects = list(compilers.run_all([
      functools.partial(compile_file, flags, folder, args.build_dir, name)
      for name in names]))
  program = folder / 'differential'
  call(flags + objects + ['-o', program, 'obj/test/differential/libharness.a',
                          '-lprotobuf', '-lz'], cwd=args.build_dir)

  print('%d schemas with %d messages and entries of maps, seed %d' %
        (args.schemas, sum(1 for part in parts for schema in part.schemas
                           for _ in schema.all_messages()), args.seed),
        flush=True)
  run = subprocess.run([program, descriptors, str(args.seed),
                        str(args.messages)])
  if run.returncode < 0:
    print('0 passed, 1 failed: signal %d' % -run.returncode)
  if not args.keep:
    shutil.rmtree(folder)
  sys.exit(1 if run.returncode else 0)


if __name__ == '__main__':
  main()
