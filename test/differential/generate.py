#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes up schemas, and the C++ that writes and reads messages of them.

Runs protoc and the plugin over the schemas. The output is the generated
headers, a driver*.cc for each part of the schemas, and all_cases.cc, which ties
them together. The same seed gives the same schemas.
"""

import argparse
import pathlib
import random
import shlex
import subprocess
import sys

import schema_generator

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


class Part:
  """Schemas that share a driver."""

  def __init__(self, index, schemas, wrapper, rng):
    self.schemas = schemas
    self.wrapper = wrapper
    self.function = 'Cases%d' % index
    self.driver = 'driver%d.cc' % index
    self.rng = rng

  def generate(self, protoc, plugin, folder):
    for schema in self.schemas:
      path = folder / schema.path
      path.parent.mkdir(parents=True, exist_ok=True)
      path.write_text(schema_generator.proto_text(schema), encoding='utf-8')
    option = 'wrapper_namespace=%s:' % self.wrapper if self.wrapper else ''
    call([protoc, '-I%s' % folder,
          '--plugin=protoc-gen-plugin=%s' % plugin,
          '--plugin_out=%s%s' % (option, folder)] + self.paths())
    call([protoc, '-I%s' % folder,
          '--plugin=protoc-gen-plugin=%s' % plugin,
          '--plugin_out=lang=c:%s' % folder] + self.paths())
    (folder / self.driver).write_text(schema_generator.driver_text(
        self.schemas, self.wrapper, self.function, self.rng))

  def paths(self):
    return [schema.path for schema in self.schemas]


def make_parts(seed, num_schemas, num_parts):
  parts = []
  hostile_names = schema_generator.HostileNames(seed)
  for i in range(num_parts):
    count = (num_schemas + i) // num_parts
    generator = schema_generator.Generator(
        seed * 1000003 + i, count, 'rnd%d_' % i, hostile_names)
    parts.append(Part(i, generator.schemas, WRAPPERS[i % len(WRAPPERS)],
                      random.Random(seed + i)))
  return parts


def generate(parts, protoc, plugin, folder):
  """Returns the names of the C++ sources in `folder`."""
  for part in parts:
    part.generate(protoc, plugin, folder)
  descriptors = folder / 'descriptors.bin'
  call([protoc, '-I%s' % folder, '--descriptor_set_out=%s' % descriptors]
       + [path for part in parts for path in part.paths()])
  (folder / 'all_cases.cc').write_text(schema_generator.all_cases_text(
      [part.function for part in parts], descriptors.read_bytes()))
  return ['all_cases.cc'] + [part.driver for part in parts]


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--plugin', required=True)
  parser.add_argument('--out', required=True, type=pathlib.Path)
  parser.add_argument('--seed', type=int, default=1)
  parser.add_argument('--schemas', type=int, default=20)
  parser.add_argument('--parts', type=int, default=2)
  args = parser.parse_args()
  args.out.mkdir(parents=True, exist_ok=True)
  generate(make_parts(args.seed, args.schemas, args.parts), args.protoc,
           args.plugin, args.out)


if __name__ == '__main__':
  main()
