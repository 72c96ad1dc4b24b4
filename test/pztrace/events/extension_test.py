#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""A trace says what the fields are called that users add to events, and
`pztrace cat` shows them so. Whatever is in a description, cat survives it."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases
from extension_traces import (
    description_packet as described, is_description, packets_of, record,
    with_broken_descriptions)
from wire import delimited as message

PZTRACE = pathlib.Path.cwd() / 'pztrace'

QUERY = '[test.QueryEvent.query]: "select 1"'
PLAN = '''[test.QueryEvent.plan] {
      method: LOOKUP
      num_rows: 0
    }'''


class ExtensionTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = pathlib.Path(folder.name) / 'trace'

  def trace(self, *args):
    return record(self.path, *args)

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

  def test_flight_recorder_that_has_wrapped_is_described(self):
    self.trace('1', 'flight')
    recording = self.path.with_name('recording')
    self.path.rename(recording)
    subprocess.run([PZTRACE, 'recover', '-o', self.path, recording],
                   stderr=subprocess.DEVNULL, check=True)
    output, _ = self.cat(self.path.read_bytes())
    self.assertNotIn('num_rows: 0\n', output)
    self.assertIn('extension_descriptor {', output)
    self.assertIn(QUERY, output)
    self.assertNotIn('9900: ', output)

  def test_description_may_come_last(self):
    packets = list(packets_of(self.trace('1')))
    description = [p for p in packets if is_description(p)]
    others = [p for p in packets if not is_description(p)]
    self.assertEqual(len(description), 1)
    # Farther away than what is read at once.
    padding = message(1, message(36, bytes(1000))) * 1000
    output, _ = self.cat(b''.join([*others, padding, *description]))
    self.assertIn(QUERY, output)

  def test_without_a_description_numbers_are_shown(self):
    output, error = self.cat(b''.join(
        p for p in packets_of(self.trace('1')) if not is_description(p)))
    self.assertEqual(error, '')
    self.assertIn('9900: "select 1"', output)

  def test_malformed_descriptions_are_reported(self):
    trace = self.trace('1')
    output, error = self.cat(described(b'\x0a\xff') + trace)
    self.assertIn('1 description of extensions is malformed', error)
    self.assertIn(QUERY, output)

  def test_no_description_changes_the_schema(self):
    # Another Trace, and another field 11 of TracePacket.
    field = (message(1, b'evil') + b'\x18\x0b\x20\x01\x28\x05' +
             message(2, b'.perfetto.protos.TracePacket'))
    file = (message(2, b'perfetto.protos') +
            message(4, message(1, b'Trace')) + message(7, field))
    output, error = self.cat(described(message(1, file)) + self.trace('1'))
    self.assertIn('track_event {', output)
    self.assertIn('1 field or value is described again, differently '
                  '(perfetto.protos.evil); the first description counts', error)
    self.assertNotIn('evil:', output)

  def test_too_many_descriptions_are_not_read(self):
    trace = b''.join(described(message(1, message(1, b'%d' % i)))
                     for i in range(200))
    _, error = self.cat(trace)
    self.assertIn('some descriptions of extensions are not read', error)

  def test_any_description_is_survived(self):
    whole, _ = self.cat(self.trace('1'))
    for trace in with_broken_descriptions(self.trace('1'), 150):
      # The messages that Perfetto has are shown as ever.
      output, _ = self.cat(trace)
      for text in ('\npacket {', 'track_event {', 'track_descriptor {', 'type: TYPE_SLICE_END'):
        self.assertEqual(output.count(text), whole.count(text), text)


if __name__ == '__main__':
  sys.exit(run_cases())
