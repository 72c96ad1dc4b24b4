#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace export` has the right rows for each of the small traces in rows/, which
row_cases.py explains, and for random ones. Runs in the build directory."""

import os
import random
import subprocess
import sys
import tempfile
import zlib

from cases import run_cases
from row_cases import (
    cell_text, compressed, encode, mixed, parse, read_cases, sequence_of, text_of_line)
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import (
    BEGIN, END, INSTANT, name as encode_name, packet as encode_packet)
from wire import delimited, integer


def make_program(generator):
  """Packets, in any order, and the rows of their slices: of tracks that several
  sequences write to, with beginnings and ends or complete."""
  packets = []
  rows = []
  sequences = range(1, 4)

  def add_event(kind, time, track, *fields):
    packets.append(encode_packet(
        generator.choice(sequences), integer(8, time * 1000),
        delimited(11, (integer(9, kind) if kind else b'') + integer(11, track) +
                  b''.join(fields))))

  def add_slices(track, begin, end, depth):
    """Returns how long those between these times last."""
    total = 0
    while end - begin > 4 and generator.random() < 0.9:
      first, last = sorted(generator.sample(range(begin + 1, end), 2))
      name = 'f%d' % generator.randrange(9)
      if generator.random() < 0.3:
        add_event(0, first, track, encode_name(name), delimited(
            6, integer(2, ord('X')) + integer(3, last - first)))
      else:
        add_event(BEGIN, first, track, encode_name(name))
        add_event(END, last, track)
      inner = add_slices(track, first, last, depth + 1) if depth < 20 else 0
      rows.append((first * 1000, (last - first) * 1000, (last - first - inner) * 1000,
                   depth, name, 'track %d' % track))
      total += last - first
      begin = last + 1
    return total

  for track in range(20, 24):
    packets.append(encode_packet(1, delimited(60, (
        integer(1, track) + delimited(2, b'track %d' % track)))))
    add_slices(track, 0, 10000, 0)
  generator.shuffle(packets)
  return packets, rows


class RowsTest(TimelineCommandTest):
  command = 'export'

  def rows(self, trace, table, code=0):
    text, error = self.run_command(trace, '--format', 'ndjson', '--' + table, code=code)
    return [parse(line) for line in text.splitlines()], error.splitlines()

  def differences(self, case, trace):
    """The difference between the case and the program's output for these bytes."""
    for table, (columns, expected) in case.tables.items():
      found, errors = self.rows(trace, table)
      found = sorted([cell_text(row[column]) for column in columns] for row in found)
      if found != expected:
        yield '%s are\n  %s\n not\n  %s' % (
            table, '\n  '.join(map(' | '.join, found)),
            '\n  '.join(map(' | '.join, expected)))
    if (len(errors) != len(case.notes) or
        not all(any(note in line for line in errors) for note in case.notes)):
      yield 'notes are %s, not %s' % (errors, case.notes)

  def test_random_programs(self):
    for seed in range(20):
      with self.subTest(seed):
        packets, expected = make_program(random.Random(seed))
        found, errors = self.rows(b''.join(packets), 'slices')
        self.assertEqual(errors, [])
        self.assertEqual(
            sorted((row['ts'], row['dur'], row['self'], row['depth'], row['name'],
                    row['track']) for row in found), sorted(expected))

  def test_details_that_no_table_shows_are_counted(self):
    def event(*fields):
      return encode_packet(1, integer(8, 1), delimited(11, (
          integer(9, INSTANT) + integer(11, 11) + b''.join(fields))))

    rows, errors = self.rows(event(delimited(32, b'')) + event() + event(
        delimited(32, b'')) + event(integer(56, 1)), 'instants')
    self.assertEqual(len(rows), 4)
    self.assertEqual(errors, ['1 fields callstack: not read',
                              '2 fields chrome_frame_reporter: not read'])

  def test_compressed_packets_that_are_none(self):
    packets = encode(text_of_line('thread') + text_of_line('100 INSTANT name: "a"'))
    data = zlib.compress(b''.join(packets))
    # More than the program takes at once, in 100 KB.
    deflater = zlib.compressobj()
    large = deflater.compress(packets[0]) + b''.join(
        deflater.compress(bytes(1 << 20)) for _ in range(100)) + deflater.flush()
    for broken, why in (
        (b'', 'they are truncated'), (data[:-1], 'they are truncated'),
        (data[:20], 'they are truncated'),
        (data[:-1] + bytes([data[-1] ^ 1]), 'they are broken'),
        (b'text', 'they are broken'), (delimited(50, data), 'they are broken'),
        (large, 'they are larger than 64 MiB')):
      trace = encode_packet(9, delimited(50, broken)) + b''.join(packets)
      rows, errors = self.rows(trace, 'instants', code=1)
      self.assertEqual([row['name'] for row in rows], ['a'])
      self.assertEqual(errors, [
          'pztrace: %s: the compressed packets at byte 0 cannot be read: %s' %
          (self.path, why), '1 compressed packets: not read'])

  def test_compressed_packets_are_not_within_others(self):
    packets = encode(text_of_line('thread') + text_of_line('100 INSTANT name: "a"'))
    nested = compressed(compressed(packets))
    rows, errors = self.rows(b''.join(nested), 'instants')
    self.assertEqual(rows, [])
    self.assertEqual(['%d compressed packets: not read' % len(compressed(packets))],
                     errors)

  def test_long_texts_take_no_memory_of_each_event(self):
    text = b'x' * 2**19
    interned = encode_packet(1, integer(13, 1), delimited(12, (
        delimited(3, integer(1, 1) + delimited(2, text)) +
        delimited(4, integer(1, 1) + delimited(2, text)) +
        delimited(29, integer(1, 1) + delimited(2, text)))))
    # No slice ends.
    event = delimited(11, integer(9, 1) + integer(11, 11) + integer(34, 1) +
                      delimited(4, integer(1, 1) + integer(17, 1)))
    self.path.write_bytes(interned + b''.join(
        encode_packet(1, integer(8, time), event) for time in range(60000)))
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
      process = subprocess.Popen([PZTRACE, 'export', '--slices', self.path],
                                 stdout=output, stderr=errors)
      _, status, usage = os.wait4(process.pid, 0)
      process.returncode = os.waitstatus_to_exitcode(status)
      output.seek(0)
      errors.seek(0)
      self.assertEqual(errors.read(), b'60000 slices had not ended\n')
      self.assertEqual(output.read().count(b'\n'), 1)
    self.assertEqual(process.returncode, 0)
    # This process counts, too, which the program was a part of.
    self.assertLess(usage.ru_maxrss, 100 << 10)

  def test_events_do_not_grow_by_long_texts(self):
    text = b'x' * 2**19
    interned = encode_packet(1, integer(13, 1), delimited(12, (
        delimited(29, integer(1, 1) + delimited(2, text)) +
        delimited(3, integer(1, 1) + delimited(2, b'k' * 100)))))

    def event(*annotations):
      return encode_packet(1, integer(8, 1), delimited(11, (
          integer(9, INSTANT) + integer(11, 11) +
          b''.join(delimited(4, annotation) for annotation in annotations))))

    value = integer(17, 1)
    trace = interned + event(
        delimited(10, b'list') + delimited(12, value) * 50000) + event(
            *(integer(1, 1) + value for _ in range(50000))) + event(
                integer(1, 1) + value, delimited(10, b'k' * 100) + integer(3, 1))
    (many, repeated, two), errors = self.rows(trace, 'instants')
    self.assertEqual(errors, [])
    texts = many['args']['list']
    self.assertEqual(len(texts), 50000)
    self.assertEqual({len(text) for text in texts}, {4096, 3})
    self.assertLess(sum(map(len, texts)), 20 << 20)
    self.assertEqual(repeated['args'], {'k' * 100: 'x' * 4096})
    self.assertEqual(two['args'], {'k' * 100: 1})

  def test_cases(self):
    generator = random.Random(46)
    seen = set()
    for case in read_cases():
      self.assertNotIn(case.name, seen)
      seen.add(case.name)
      packets = encode(case.text)
      orders = [packets, compressed(packets)]
      if not case.is_in_order and len(set(map(sequence_of, packets))) > 1:
        orders += [mixed(packets, generator) for _ in range(3)]
      found = [difference for order in orders
               for difference in self.differences(case, b''.join(order))]
      with self.subTest(case.name):
        self.assertFalse(found, '\n'.join(found))


if __name__ == '__main__':
  sys.exit(run_cases())
