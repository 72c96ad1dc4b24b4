# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Traces of test/pztrace/extension_tracer.cc, whose events have fields of its own,
with other descriptions of these fields."""

import pathlib
import random
import subprocess

from wire import delimited, read_varint

TRACER = pathlib.Path.cwd() / 'extension_tracer'


def record(path, *args):
  """The bytes of a trace, which is at `path` then."""
  subprocess.run([TRACER, path, *args], check=True)
  return path.read_bytes()


def packets_of(trace):
  at = 0
  while at < len(trace):
    _, after_tag = read_varint(trace, at)
    size, begin = read_varint(trace, after_tag)
    yield trace[at:begin + size]
    at = begin + size


def description_packet(extension_set):
  """A packet with an ExtensionDescriptor."""
  return delimited(1, delimited(72, delimited(1, extension_set)))


def is_description(packet):
  return b'QueryPlan' in packet


def with_broken_descriptions(trace, count):
  """`count` traces, each with random damage in the description."""
  packets = list(packets_of(trace))
  description, = filter(is_description, packets)
  rest = b''.join(p for p in packets if not is_description(p))
  extension_set = description[description.index(b'test/pztrace/') - 8:]
  generator = random.Random(1)
  for _ in range(count):
    broken = bytearray(extension_set)
    for _ in range(generator.randint(1, 6)):
      at = generator.randrange(len(broken))
      kind = generator.randrange(3)
      if kind == 0:
        broken[at] = generator.randrange(256)
      elif kind == 1:
        del broken[at:at + generator.randint(1, 9)]
      else:
        broken[at:at] = broken[at:at + generator.randint(1, 30)]
      if not broken:
        break
    yield description_packet(bytes(broken)) + rest
