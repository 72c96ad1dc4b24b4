#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that each file of `pztrace record --rotate` is a trace of its own, and that all
of them are one. Runs in the build directory, as recording.py says."""

import collections
import re
import resource
import shutil
import subprocess
import sys
import time

from recording import (BUILD_DIR, LIMIT, PZTRACE, REPORT, WORKERS, PztraceTest,
                          main)

EVENT_TRACER = BUILD_DIR / 'event_tracer'
SCHEMA_TRACER = BUILD_DIR / 'schema_tracer'
NAME = re.compile(r'trace-\d{8}T\d{6}\.\d{3}Z\.pftrace$')
CLEARED = 1
NEEDS = 2


class RotationTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.files = self.folder / 'files'
    self.files.mkdir()
    self.output = self.files / 'trace.pftrace'
    self.packets = {}

  def decode(self, trace=None):
    # A finished file does not change.
    if trace not in self.packets:
      self.packets[trace] = super().decode(trace)
    return self.packets[trace]

  def finished(self):
    """The files that are, the oldest first."""
    return sorted(self.files.glob('*.pftrace'))

  def check_alone(self, path):
    """Expects that each event can be understood without other files. Returns how many events
    there are of each type."""
    events = collections.Counter()
    names, tracks = {}, {}
    described = set()
    packets = self.decode(path)
    # It begins as any trace does.
    self.assertTrue(packets[0].all('clock_snapshot'), path)
    self.assertTrue(packets[1].all('synchronization_marker'), path)
    for packet in packets:
      sequence = packet.get('trusted_packet_sequence_id')
      flags = packet.int('sequence_flags') or 0
      if flags & CLEARED:
        names[sequence] = set()
        tracks[sequence] = packet.get('trace_packet_defaults').get(
            'track_event_defaults').get('track_uuid')
      if flags & NEEDS:
        self.assertIn(sequence, names, path)
      for strings in packet.all('interned_data'):
        names[sequence].update(string.get('iid')
                               for string in strings.all('event_names'))
      for track in packet.all('track_descriptor'):
        described.add(track.get('uuid'))
      for event in packet.all('track_event'):
        events[event.get('type')] += 1
        self.assertIn(tracks[sequence], described, path)
        if event.get('name_iid') is not None:
          self.assertIn(event.get('name_iid'), names[sequence], path)
    return events

  def check_joined(self):
    """The files in their order are one trace, which goes to self.trace."""
    self.assertEqual(list(self.files.glob('*.part')), [])
    alone = collections.Counter()
    with open(self.trace, 'wb') as joined:
      for path in self.finished():
        self.assertRegex(path.name, NAME)
        alone += self.check_alone(path)
        with open(path, 'rb') as file:
          shutil.copyfileobj(file, joined)
    return alone

  def test_by_size(self):
    config = self.encode_config('''
        buffers { size_kb: 65536 }
        data_sources { config { name: "track_event" } }
        write_into_file: true
        file_write_period_ms: 10
        flush_period_ms: 10''')
    code, output, error = self.run_pztrace(
        'record', '-o', self.output, '--config', config, '--rotate', '25k', '--',
        WORKERS, '--threads', 4, '--items', 1000, '--size', 20000)
    self.assertEqual(code, 0, error)
    files = self.finished()
    self.assertGreater(len(files), 3)
    self.assertIn('trace-*.pftrace: %d files: %d bytes, ' % (
        len(files), sum(path.stat().st_size for path in files)), error)
    self.assertIn('nothing lost', error)
    alone = self.check_joined()
    self.assertEqual(alone['TYPE_SLICE_BEGIN'], 10000)
    self.assertEqual(alone['TYPE_SLICE_END'], 10000)
    # In order, each of them once.
    self.check_events([REPORT.match(line) for line in output.splitlines()],
                      threads=4, items=1000)

  def start_tracer(self, *options):
    """A recording of a program that traces for each line that it gets."""
    process = self.start('record', '-o', self.output, '--categories', 'app',
                         *options, '--', EVENT_TRACER, '--wait')
    self.assertEqual(process.stdout.readline(), 'registered\n')
    self.assertEqual(process.stdout.readline(), 'traced\n')
    return process

  def trace_again(self, process):
    process.stdin.write('\n')
    process.stdin.flush()
    self.assertEqual(process.stdout.readline(), 'traced\n')

  def wait_for_finished(self, number):
    while len(self.finished()) < number:
      time.sleep(0.01)

  def end(self, process):
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 0, error)
    return error

  def test_who_was_silent_says_again_what_it_had_said(self):
    process = self.start_tracer('--rotate', '50ms')
    # It says nothing while more than one file begins and ends.
    self.wait_for_finished(3)
    self.trace_again(process)
    self.wait_for_finished(6)
    self.trace_again(process)
    self.assertIn('nothing lost', self.end(process))
    alone = self.check_joined()
    # One is of the thread that has described extensions, and ended.
    self.assertEqual(alone['TYPE_SLICE_BEGIN'], 4)
    self.assertEqual(alone['TYPE_SLICE_END'], 4)
    with_events = [path for path in self.finished() if self.check_alone(path)]
    self.assertGreaterEqual(len(with_events), 3)
    for path in with_events:
      descriptions = [packet for packet in self.decode(path)
                      if packet.all('extension_descriptor')]
      self.assertGreaterEqual(len(descriptions), 1)

  def test_extensions_are_described_in_each_file(self):
    process = self.start('record', '-o', self.output, '--rotate', '50ms', '--',
                         SCHEMA_TRACER)
    self.assertEqual(process.stdout.readline(), 'described\n')
    # The packet is in one of these, or not read yet.
    described = len(self.finished())
    self.wait_for_finished(described + 3)
    process.stdin.write('\n')
    process.stdin.flush()
    self.assertEqual(process.stdout.readline(), 'described\n')
    described_again = len(self.finished())
    self.wait_for_finished(described_again + 3)
    self.assertIn('nothing lost', self.end(process))
    files = self.finished()
    for number, path in enumerate(files):
      sets = [packet.get('extension_descriptor').get('extension_set')
              for packet in self.decode(path) if packet.all('extension_descriptor')]
      self.check_alone(path)
      self.assertEqual(len(sets), len(set(sets)), path)
      if number > described:
        self.assertIn('\n\x03\x12\x01p', sets)
      if number > described_again:
        self.assertIn('\n\x04\x12\x02pp', sets)
      self.assertLessEqual(len(sets), 2)

  def test_the_last_ones_are_kept(self):
    process = self.start_tracer('--rotate', '30ms', '--keep', '2')
    seen = set()
    while len(seen) < 5:
      files = self.finished()
      # One more, for a moment.
      self.assertLessEqual(len(files), 3)
      seen.update(files)
      time.sleep(0.005)
    self.end(process)
    self.assertEqual(len(self.finished()), 2)
    self.assertGreater(self.finished()[0], min(seen))

  def test_files_of_others_are_not_replaced(self):
    for _ in range(2):
      code, _, error = self.run_pztrace('record', '-o', self.output, '--rotate',
                                        '1G', '--', 'true')
      self.assertEqual(code, 0, error)
      self.assertRegex(error, r'trace-\*\.pftrace: \d+ bytes, ')
    self.assertEqual(len(self.finished()), 2)

  def test_names_without_extension(self):
    hidden = self.files / '.trace'
    code, _, error = self.run_pztrace('record', '-o', hidden, '--rotate', '1G',
                                      '--', 'true')
    self.assertEqual(code, 0, error)
    name, = [path.name for path in self.files.iterdir()]
    self.assertRegex(name, r'^\.trace-[^.]*\.\d{3}Z$')

  def test_folder_that_is_gone(self):
    process = self.start_tracer('--rotate', '50ms')
    shutil.rmtree(self.files)
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 1, error)
    self.assertRegex(error, r'pztrace: .*: (No such file or directory|'
                     'the file has been removed)')

  def test_full_disk(self):
    # Beyond the size of the shared memory.
    limit = 1100000
    limited = subprocess.run(
        [str(PZTRACE), 'record', '-o', str(self.output), '--rotate', '3600s', '--',
         str(WORKERS), '--items', '8000', '--size', '100'],
        env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    error = limited.stderr.decode()
    self.assertEqual(limited.returncode, 1, error)
    self.assertIn('File too large', error)
    self.assertRegex(error, r'the last \d+ packets, \d+ bytes, are not in the file')
    file, = self.finished()
    self.check_alone(file)

  def test_wrong_usage(self):
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" } }''')
    for arguments, expected in (
        (('--rotate', '100'), "--rotate takes %s, not '100', which has no unit" % LIMIT),
        (('--rotate', '5m'),
         "--rotate takes %s, not '5m', which is either" % LIMIT),
        (('--rotate', 's'), "--rotate takes %s, not 's'" % LIMIT),
        (('--rotate', '0s'), '--rotate is 1 ms at least, not 0s'),
        (('--rotate', '5q'), "--rotate takes %s, not '5q'" % LIMIT),
        (('--keep', '3'), '--keep is of no use without --rotate'),
        (('--rotate', '1s', '-o', '-'), '--rotate needs a file, not -o -'),
        (('--rotate', '1s', '--config', config),
         '--rotate needs a configuration with write_into_file')):
      with self.subTest(arguments):
        code, _, error = self.run_pztrace('record', '-o', self.output, *arguments)
        self.assertEqual(code, 2, error)
        self.assertIn(expected, error)
        self.assertEqual(list(self.files.iterdir()), [])


if __name__ == '__main__':
  sys.exit(main())
