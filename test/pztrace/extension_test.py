#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""A trace says what the fields are called that users add to events, and
`pztrace cat` shows them so. Whatever is in a description, cat survives it."""

import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'test' / 'testing'))
from cases import run_cases  # pylint: disable=wrong-import-position
from wire import delimited as message  # pylint: disable=wrong-import-position

PZTRACE = pathlib.Path.cwd() / 'pztrace'
TRACER = pathlib.Path.cwd() / 'extension_tracer'

QUERY = '[test.QueryEvent.query]: "select 1"'
PLAN = '''[test.QueryEvent.plan] {
      method: LOOKUP
      num_rows: 0
    }'''


def read_varint(data, at):
  value = shift = 0
  while True:
    value |= (data[at] & 0x7f) << shift
    shift += 7
    at += 1
    if data[at - 1] < 0x80:
      return value, at


def packets_of(trace):
  at = 0
  while at < len(trace):
    _, after_tag = read_varint(trace, at)
    size, begin = read_varint(trace, after_tag)
    yield trace[at:begin + size]
    at = begin + size


def described(extension_set):
  """A packet with an ExtensionDescriptor."""
  return message(1, message(72, message(1, extension_set)))


class ExtensionTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = pathlib.Path(folder.name) / 'trace'

  def trace(self, *args):
    subprocess.run([TRACER, self.path, *args], check=True)
    return self.path.read_bytes()

  def cat(self, trace):
    self.path.write_bytes(trace)
    result = subprocess.run([PZTRACE, 'cat', self.path], timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            check=False)
    self.assertIn(result.returncode, (0, 1), result.stderr)
    self.assertNotIn(b'Sanitizer', result.stderr)
    return result.stdout.decode(), result.stderr.decode()

  def test_cat_shows_names_and_values(self):
    output, error = self.cat(self.trace('3'))
    self.assertEqual(error, '')
    self.assertEqual(output.count(QUERY), 3)
    self.assertEqual(' '.join(output.split()).count(' '.join(PLAN.split())), 3)
    self.assertEqual(output.count('extension_descriptor {'), 1)

  def test_ring_buffer_that_has_wrapped_is_described(self):
    output, _ = self.cat(self.trace('1', 'ring'))
    self.assertIn(QUERY, output)
    self.assertNotIn('num_rows: 0\n', output)
    self.assertNotIn('9900: ', output)

  def test_description_may_come_last(self):
    packets = list(packets_of(self.trace('1')))
    description = [p for p in packets if b'QueryPlan' in p]
    others = [p for p in packets if b'QueryPlan' not in p]
    self.assertEqual(len(description), 1)
    # Farther away than what is read at once.
    padding = message(1, message(36, bytes(1000))) * 1000
    output, _ = self.cat(b''.join([*others, padding, *description]))
    self.assertIn(QUERY, output)

  def test_without_a_description_numbers_are_shown(self):
    output, error = self.cat(b''.join(
        p for p in packets_of(self.trace('1')) if b'QueryPlan' not in p))
    self.assertEqual(error, '')
    self.assertIn('9900: "select 1"', output)

  def test_malformed_descriptions_are_reported(self):
    trace = self.trace('1')
    output, error = self.cat(described(b'\x0a\xff') + trace)
    self.assertIn('1 descriptions of extensions are malformed', error)
    self.assertIn(QUERY, output)

  def test_no_description_changes_the_schema(self):
    # Another Trace, and another field 11 of TracePacket.
    field = (message(1, b'evil') + b'\x18\x0b\x20\x01\x28\x05' +
             message(2, b'.perfetto.protos.TracePacket'))
    file = (message(2, b'perfetto.protos') +
            message(4, message(1, b'Trace')) + message(7, field))
    output, _ = self.cat(described(message(1, file)) + self.trace('1'))
    self.assertIn('track_event {', output)
    self.assertNotIn('evil:', output)

  def test_too_many_descriptions_are_not_read(self):
    trace = b''.join(described(message(1, message(1, b'%d' % i)))
                     for i in range(200))
    _, error = self.cat(trace)
    self.assertIn('some descriptions of extensions are not read', error)

  def test_any_description_is_survived(self):
    packets = list(packets_of(self.trace('1')))
    index = next(i for i, p in enumerate(packets) if b'QueryPlan' in p)
    at = packets[index].index(b'\x0a')
    description = packets[index]
    at = description.index(b'test/pztrace/') - 8
    extension_set = description[at:]
    del packets[index]
    rest = b''.join(packets)
    generator = random.Random(1)
    for _ in range(150):
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
      self.cat(described(bytes(broken)) + rest)


if __name__ == '__main__':
  sys.exit(run_cases())
