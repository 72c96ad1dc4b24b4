#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of compressed traces: Python's zlib, and the program zstd, say what is in them.
Runs in the build directory, as recording.py says."""

import functools
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import zlib

from cases import run_cases
from timeline_command import PZTRACE, WORKERS, TimelineCommandTest
from track_events import packet as encode_packet
from wire import delimited, integer, read_varint

DEFLATE = 50
ZSTD = 133
FIELDS = {'deflate': DEFLATE, 'zstd': ZSTD}


def records_of(trace):
  """Returns the packets, the number of each one's first field, and what is in that."""
  records = []
  at = 0
  while at < len(trace):
    begin = at
    size, at = read_varint(trace, at + 1)
    tag, field = read_varint(trace, at)
    end = at + size
    field_size, field = read_varint(trace, field)
    records.append((trace[begin:end], tag >> 3, trace[field:field + field_size]))
    at = end
  return records


def run_zstd(data, *options):
  if not shutil.which('zstd'):
    raise unittest.SkipTest('the program zstd is not installed')
  return subprocess.run(['zstd', '-q', '-c', *options], input=data,
                        stdout=subprocess.PIPE, check=True).stdout


def decompress(field, data):
  return zlib.decompress(data) if field == DEFLATE else run_zstd(data, '-d')


@functools.lru_cache(maxsize=None)
def require(codec):
  result = subprocess.run([PZTRACE, 'record', '-o', '/dev/null', '--compress', codec, '--',
                           'true'], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          check=False)
  if b'this build lacks' in result.stderr:
    raise unittest.SkipTest(result.stderr.decode())


def events(number):
  thread = encode_packet(1, integer(13, 1), delimited(60, integer(1, 11)))
  return thread + b''.join(
      encode_packet(1, integer(8, 100 + time), delimited(11, (
          integer(9, 3) + integer(11, 11) + delimited(23, b'event %d' % time))))
      for time in range(number))


class CompressionTest(TimelineCommandTest):
  command = 'export'
  table = ('--format', 'csv', '--instants')

  def record(self, *options, command=(WORKERS,), code=0):
    result = subprocess.run([PZTRACE, 'record', '-o', self.path, *options, '--', *command],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stderr.decode()

  def cat(self, trace):
    self.path.write_bytes(trace)
    return subprocess.run([PZTRACE, 'cat', '--offsets', self.path], stdout=subprocess.PIPE,
                          check=True).stdout

  def read_limited(self, trace, code=0):
    """Returns the errors of a command that takes a limited amount of memory."""
    self.path.write_bytes(trace)
    errors = self.path.with_name('errors')
    with open(errors, 'wb') as file:
      process = subprocess.Popen([PZTRACE, 'export', *self.table, self.path],
                                 stdout=subprocess.DEVNULL, stderr=file)
      _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    error = errors.read_text()
    self.assertEqual(process.returncode, code, error)
    self.assertLess(usage.ru_maxrss, 200 << 10)
    return error

  def test_recorded_packets_are_the_same_without_compression(self):
    for codec, field in FIELDS.items():
      require(codec)
      report = self.record('--compress', codec)
      trace = self.path.read_bytes()
      plain = b''
      for record, number, content in records_of(trace):
        self.assertLess(len(record), 512 << 10)
        if number == field:
          content = decompress(field, content)
          self.assertGreater(len(content), len(record))
        plain += content if number == field else record
      self.assertLess(2 * len(trace), len(plain))
      self.assertIn('%d bytes, %d packets,' % (len(trace), len(records_of(plain))),
                    report)
      self.assertEqual(self.cat(trace), self.cat(plain))

  def test_packets_that_are_not_written_are_counted_as_without_compression(self):
    require('deflate')
    self.path = pathlib.Path('/dev/full')
    # A ring is written at the end, so all packets are there. Threads that have
    # nothing to do write no packets of their own.
    counts = [int(re.search(r'the last (\d+) packets',
                            self.record('--ring', '8M', *options, code=1))[1])
              for options in ((), ('--compress', 'deflate'))]
    self.assertGreater(counts[0], 1000)
    self.assertAlmostEqual(*counts, delta=40)

  def test_rotated_files_have_all_packets(self):
    require('deflate')
    self.path = self.path.with_name('trace.pftrace')
    report = self.record('--compress', 'deflate', '--rotate', '100ms',
                         command=('sh', '-c', '%s; sleep 0.3; %s' % (WORKERS, WORKERS)))
    files = sorted(self.path.parent.glob('trace-*.pftrace'))
    self.assertGreater(len(files), 1)
    joined = b''.join(file.read_bytes() for file in files)
    packets = sum(len(records_of(zlib.decompress(content))) if number == DEFLATE else 1
                  for _, number, content in records_of(joined))
    self.assertIn('%d bytes, %d packets,' % (len(joined), packets), report)

  def test_configuration(self):
    require('deflate')
    require('zstd')
    config = self.path.with_name('config')
    for text, codec in (('compression_type: COMPRESSION_TYPE_DEFLATE', 'deflate'),
                        ('compression { deflate {} }', 'deflate'),
                        ('compression { zstd { level: 1 } deflate {} }', 'zstd')):
      with self.subTest(text):
        config.write_text('buffers { size_kb: 4096 } '
                          'data_sources { config { name: "track_event" } } ' + text)
        self.record('--config', config)
        self.assertIn(FIELDS[codec], [number for _, number, _ in
                                      records_of(self.path.read_bytes())])
    self.assertIn('--compress takes deflate or zstd',
                  self.record('--compress', 'lz4', code=2))

  def compressed_files(self, trace):
    return gzip.compress(trace), run_zstd(trace)

  def test_compressed_files(self):
    require('deflate')
    require('zstd')
    trace = events(20000)
    expected = self.run_command(trace, *self.table)
    self.assertEqual(expected[0].count('event'), 20000)
    half = len(events(10000))
    for data in (*self.compressed_files(trace),
                 gzip.compress(trace[:half]) + gzip.compress(trace[half:]),
                 run_zstd(trace[:half]) + run_zstd(trace[half:]),
                 gzip.compress(encode_packet(1, delimited(DEFLATE, zlib.compress(trace))))):
      self.assertEqual(self.run_command(data, *self.table), expected)
      piped = subprocess.run([PZTRACE, 'export', *self.table, '-'], input=data,
                             stdout=subprocess.PIPE, check=True).stdout
      self.assertEqual(piped.decode().count('event'), 20000)

  def test_pieces_of_compressed_traces(self):
    require('deflate')
    trace = events(100)
    compressed = encode_packet(1, delimited(DEFLATE, zlib.compress(trace)))
    pieces = []
    for data in (trace, compressed, gzip.compress(trace)):
      self.path.write_bytes(data)
      pieces.append(subprocess.run(
          [PZTRACE, 'cut', '--from', '10ns', '--to', '60ns', '-o', '-', self.path],
          stdout=subprocess.PIPE, check=True).stdout)
    self.assertEqual(pieces[0].count(b'event'), 50)
    self.assertEqual(pieces, [pieces[0]] * 3)
    damaged = encode_packet(1, delimited(DEFLATE, b'?'))
    self.path.write_bytes(trace + damaged)
    result = subprocess.run([PZTRACE, 'cut', '-o', '-', self.path],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual((result.returncode, result.stdout), (1, b''))
    self.assertRegex(result.stderr.decode(), '(?s)at byte %d cannot.*nothing is cut' %
                     len(trace))

  def test_damaged_files(self):
    require('deflate')
    require('zstd')
    trace = events(20000)
    for data in self.compressed_files(trace):
      for size in (len(data) - 1, len(data) // 2, 30):
        _, error = self.run_command(data[:size], *self.table, code=1)
        self.assertRegex(error, 'the compressed file is truncated|is not a trace')
      damaged = bytearray(data)
      damaged[len(data) // 2] ^= 0xff
      _, error = self.run_command(damaged, *self.table, code=1)
      # Without its checksum, a change may also look like other packets.
      self.assertRegex(error, r'the compressed file is broken before byte \d+|'
                       r'from about byte \d+ on')
      _, error = self.run_command(data + b'other', *self.table, code=1)
      self.assertRegex(error, r'the compressed file is (broken before byte|truncated)')

  def test_small_damaged_files_are_read_as_far_as_they_are_whole(self):
    require('deflate')
    require('zstd')
    # Each event differs, or the last bytes would hold all of them.
    trace = b''.join(events(1) + encode_packet(1, delimited(1000, os.urandom(40)))
                     for _ in range(100))
    text, error = self.run_command(gzip.compress(trace)[:-1000], *self.table, code=1)
    self.assertIn('the compressed file is truncated', error)
    self.assertGreater(text.count('event'), 40)
    for data in self.compressed_files(trace):
      text, error = self.run_command(data + b'x', *self.table, code=1)
      self.assertEqual(text.count('event'), 100)
      self.assertNotEqual(error, '')

  def test_damaged_packets(self):
    require('zstd')
    trace = events(100)
    good = encode_packet(1, delimited(ZSTD, run_zstd(trace)))
    data = run_zstd(trace)
    damaged = bytearray(data)
    damaged[len(data) // 2] ^= 0xff
    for content, why in ((data[:-1], 'truncated'), (damaged, 'broken'), (b'', 'truncated'),
                         (data + data, 'other bytes follow'),
                         (run_zstd(bytes(65 << 20)), 'larger than 64 MiB')):
      broken = encode_packet(1, delimited(ZSTD, bytes(content)))
      text, error = self.run_command(good + broken + broken, *self.table, code=1)
      self.assertEqual(text.count('event'), 100)
      self.assertIn('the compressed packets at byte %d and 1 more cannot be read: ' %
                    len(good), error)
      self.assertIn(why, error)
      self.assertIn('2 packets compressed with Zstandard: not read', error)

  def test_few_bytes_for_many(self):
    require('deflate')
    field = delimited(1, delimited(900, bytes(20 << 20)))
    packets = encode_packet(1, delimited(DEFLATE, zlib.compress(field)))
    # Twelve of them fit into one block that is read.
    self.read_limited(12 * packets)
    large = zlib.compressobj(1, wbits=31)
    data = large.compress(events(1) + b'\x0a\x80\x80\x80\xff\x07')
    for _ in range(300):
      data += large.compress(bytes(1 << 20))
    error = self.read_limited(data + large.flush(), code=1)
    self.assertIn('a field is larger than 64 MiB', error)


if __name__ == '__main__':
  sys.exit(run_cases())
