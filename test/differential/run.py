#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Random schemas and messages, written and read by generated code and by
libprotobuf.

Makes up schemas, runs protoc and the plugin over them, compiles code that calls
every generated setter with random values, and compares these with the fields
that libprotobuf reads. Then calls every generated getter, and compares the
results with libprotobuf's: on the messages, on prefixes of them, and on
messages that generated setters write from the results.

The same seed gives the same schemas and messages. Run by tools/test with a
fixed seed; with others, and for longer, as

  tools/ninja -C out/release test/differential
  test/differential/run.py --build-dir out/release --seed 7 --schemas 2000
"""

import argparse
import functools
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

import compilers
import generate

# The drivers are compiled with the flags of this file.
LIKE_DRIVERS = 'differential/differential_main.cc'


def compile_flags(build_dir):
  """The compiler and flags that this build uses for our own code."""
  with open(build_dir / 'compile_commands.json') as f:
    commands = [entry['command'] for entry in json.load(f)
                if entry['file'].endswith(LIKE_DRIVERS)]
  words = shlex.split(commands[0])
  flags = []
  skip = False
  for word in words:
    if skip:
      skip = False
    elif word in ('-o', '-c', '-MF'):
      skip = word != '-c'
    elif word not in ('-MMD', '-MD') and not word.endswith(
        LIKE_DRIVERS):
      flags.append(word)
  return flags


def compile_file(flags, folder, build_dir, name):
  # The flags are relative to the build directory.
  generate.call(flags + ['-I%s' % folder, '-c', folder / name, '-o',
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

  folder = args.build_dir / 'differential'
  shutil.rmtree(folder, ignore_errors=True)
  folder.mkdir()
  # At least two, for two processors; not too large for a compiler.
  parts = generate.make_parts(
      args.seed, args.schemas, max(len(generate.WRAPPERS), args.schemas // 50))
  names = generate.generate(parts, args.build_dir / 'protoc',
                            args.build_dir / 'protozero_plugin', folder)

  flags = compile_flags(args.build_dir)
  objects = list(compilers.run_all([
      functools.partial(compile_file, flags, folder, args.build_dir, name)
      for name in names]))
  program = folder / 'differential'
  generate.call(flags + objects +
                ['-o', program, 'obj/test/differential/libharness.a',
                 '-lprotobuf', '-lz'], cwd=args.build_dir)

  print('%d schemas with %d messages and entries of maps, seed %d' %
        (args.schemas, sum(1 for part in parts for schema in part.schemas
                           for _ in schema.all_messages()), args.seed),
        flush=True)
  run = subprocess.run([program, str(args.seed), str(args.messages)],
                       check=False)
  if run.returncode < 0:
    print('0 passed, 1 failed: signal %d' % -run.returncode)
  if not args.keep:
    shutil.rmtree(folder)
  sys.exit(1 if run.returncode else 0)


if __name__ == '__main__':
  main()
