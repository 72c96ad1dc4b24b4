#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace merge` on recorded traces, and its errors. Runs in the build directory."""

import gzip
import json
import subprocess
import sys
import tarfile
import zlib

from cases import run_cases
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import (
    BEGIN, END, INSTANT, MS, PROCESS, THREAD, delimited, described, event, first_packet, integer, name,
    packet, track)

SECOND = 1000 * MS
UNKNOWN = delimited(1000, b'unknown')


def clocks(realtime):
  """A snapshot of a service, 5 s after the boot."""
  def clock(number, value):
    return delimited(1, integer(1, number) + integer(2, value))
  return packet(9, delimited(6, clock(6, 5 * SECOND) + clock(1, realtime)))


def interned(number, text):
  return delimited(2, integer(1, number) + delimited(2, text.encode()))


def names_of_one(text):
  """A sequence with an interned name, and three slices in each other."""
  begins = b''.join(event(1, BEGIN, 2 * MS, integer(10, 5), UNKNOWN) for _ in range(3))
  return (described(interned=interned(5, text)) + begins +
          b''.join(event(1, END, MS) for _ in range(3)))


class MergeTest(TimelineCommandTest):
  command = 'merge'
  options = ('-o', '/dev/null')

  def setUp(self):
    super().setUp()
    self.merged = self.path.with_name('merged')

  def files(self, *traces):
    paths = [self.path.with_name(f'trace{i}') for i in range(len(traces))]
    for path, trace in zip(paths, traces):
      path.write_bytes(trace)
    return paths

  def merge(self, *files, code=0):
    """Returns what it prints on the standard error."""
    result = subprocess.run([PZTRACE, 'merge', '-o', self.merged, *files],
                            timeout=60, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    self.assertEqual(result.stdout, b'')
    return result.stderr.decode()

  def rows(self, path, table='--slices', is_whole=True):
    return self.exported_rows(path, table, ('host', 'file', 'time', 'row'), is_whole)

  def assert_rows_of_all(self, files):
    for table in ('--slices', '--instants', '--counters'):
      expected = [row for file in files for row in self.rows(file, table)]
      self.assertEqual(self.rows(self.merged, table),
                       sorted(expected, key=lambda row: sorted(row.items())))
    self.assertGreater(len(self.rows(self.merged)), 0)

  def test_recordings(self):
    files = self.files(self.record_workers()[0], self.record_workers()[0])
    self.assertEqual(self.merge(*files), '')
    self.assert_rows_of_all(files)
    # Nothing but the numbers of sequences has changed.
    merged = self.merged.read_bytes()
    self.assertLess(abs(len(merged) - sum(file.stat().st_size for file in files)),
                    len(merged) // 20)

  def test_one_trace_does_not_change(self):
    trace, _ = self.record_workers()
    self.merge(self.path)
    self.assertEqual(self.merged.read_bytes(), trace)

  def test_interned_names_stay_those_of_their_sequences(self):
    first = names_of_one('first')
    # Another thread, with the same sequence.
    second = (first_packet(1, track=9, interned=interned(5, 'second')) +
              track(PROCESS, delimited(3, integer(1, 41) + delimited(6, b'app'))) +
              track(9, delimited(4, integer(1, 41) + integer(2, 43)), parent=PROCESS) +
              event(1, BEGIN, 3 * MS, integer(10, 5), UNKNOWN) + event(1, END, MS))
    files = self.files(first, second)
    self.merge(*files)
    self.assert_rows_of_all(files)
    self.assertEqual({row['name'] for row in self.rows(self.merged)},
                     {'first', 'second'})
    self.assertEqual(self.merged.read_bytes().count(UNKNOWN), 4)

  def test_one_thread_in_two_sessions(self):
    # A slice of one is within that of the other, also in the file: readers put
    # only so many events into the order of time.
    outer = described() + event(1, BEGIN, 0, name('outer'))
    outer += b''.join(event(1, INSTANT, MS, name('i')) for _ in range(100))
    outer += event(1, END, 0)
    inner = first_packet(1, track=THREAD) + event(1, BEGIN, 10 * MS, name('inner'))
    inner += event(1, END, 50 * MS)
    files = self.files(outer, inner)
    self.merge(*files)
    rows = {row['name']: row for row in self.rows(self.merged)}
    self.assertEqual(rows['inner']['dur'], str(50 * MS))
    self.assertEqual(rows['outer']['dur'], str(100 * MS))
    merged = self.merged.read_bytes()
    self.assertLess(merged.index(b'inner'), merged.rindex(name('i')))

  def test_hosts_are_not_mixed_up(self):
    noon = 1800000000 * SECOND
    trace = described() + event(1, INSTANT, 0, name('a'))
    files = self.files(trace + clocks(noon), trace + clocks(noon + 60 * SECOND))
    self.assertIn('not of the host of', self.merge(*files, code=1))
    self.assertFalse(self.merged.exists())
    files = self.files(trace + clocks(noon), trace + clocks(noon + SECOND // 2))
    self.merge(*files)
    other = trace + track(THREAD, delimited(4, integer(1, 41) + integer(2, 99)), parent=PROCESS)
    self.assertIn('track 8 is another one in',
                  self.merge(*self.files(trace, other), code=1))

  def test_the_clock_was_set_in_between(self):
    noon = 1800000000 * SECOND
    def recording(sequence, boot, realtime):
      def snapshot(seconds):
        readings = ((6, boot + seconds * SECOND), (1, realtime + seconds * SECOND))
        return packet(sequence, delimited(6, b''.join(
            delimited(1, integer(1, clock) + integer(2, time))
            for clock, time in readings)))
      instant = packet(sequence, integer(8, boot + SECOND), delimited(
          11, integer(9, INSTANT) + integer(11, 77) + name(str(boot))))
      return snapshot(0) + instant + snapshot(2)
    hour = 3600 * SECOND
    first = recording(1, 100 * SECOND, noon)
    later = recording(2, 200 * SECOND, noon + 100 * SECOND + hour)
    for files in (first, later), (later, first):
      self.merge(*self.files(*files))
      rows = [(int(row['ts']), int(row['time'])) for row in
              self.exported_rows(self.merged, '--instants', ())]
      self.assertEqual(sorted(rows), [
          (101 * SECOND, noon + SECOND),
          (201 * SECOND, noon + 101 * SECOND + hour)])
    # The real time goes back, or is another one at the same boot time.
    for other in (recording(2, 50 * SECOND, noon + hour),
                  recording(2, 101 * SECOND, noon + hour)):
      self.assertIn('not of the host of', self.merge(*self.files(first, other), code=1))

  def test_archive(self):
    traces = [names_of_one('first'), names_of_one('second') * 50, names_of_one('third')]
    files = self.files(*traces)
    hosts = ('web', 'db.example', 'web')
    self.merge(*[f'{host}={file}' for host, file in zip(hosts, files)])
    with tarfile.open(self.merged, 'r:') as archive:
      members = {member.name: archive.extractfile(member).read() for member in archive}
    text = members.pop('perfetto_manifest.json')
    self.assertTrue(text.startswith(b'{"perfetto_manifest"'))
    manifest = json.loads(text)['perfetto_manifest']
    self.assertEqual(manifest['version'], 1)
    self.assertEqual([members[file['path']] for file in manifest['files']], traces)
    self.assertEqual(tuple(file['machine']['name'] for file in manifest['files']), hosts)
    self.assertEqual(len(members), 3)

  def test_compressed_traces(self):
    traces = [names_of_one('first'), first_packet(1, track=THREAD) + event(1, INSTANT, 0)]
    compressed = delimited(1, delimited(50, zlib.compress(traces[1])))
    self.merge(*self.files(*traces))
    merged = self.merged.read_bytes()
    files = self.files(gzip.compress(traces[0]), compressed)
    self.merge(*files)
    self.assertEqual(self.merged.read_bytes(), merged)
    self.merge(*[f'host={file}' for file in files])
    with tarfile.open(self.merged, 'r:') as archive:
      self.assertEqual(archive.extractfile('host-2.pftrace').read(), compressed)
    file, = self.files(delimited(1, delimited(50, b'?')))
    self.assertIn('cannot be read', self.merge(file, code=1))

  def test_wrong_usage(self):
    file, = self.files(names_of_one('a'))
    self.assertIn('each trace is HOST=TRACE', self.merge(f'a={file}', file, code=2))
    self.assertIn('a host has letters', self.merge(f'a"={file}', code=2))
    for args, message in ((('-o', file), 'cannot replace'), ((), '-o is missing')):
      result = subprocess.run([PZTRACE, 'merge', *args, file],
                              stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, 2)
      self.assertIn(message, result.stderr.decode())

  def test_failures(self):
    trace = names_of_one('a')
    file, = self.files(trace)
    for arguments, message in (([file, '-'], 'no pipe allows'), (['a=-'], 'needs a file')):
      result = subprocess.run([PZTRACE, 'merge', '-o', self.merged, *arguments],
                              input=trace, stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, 1)
      self.assertIn(message, result.stderr.decode())
    for argument in (file, f'a={file}'):
      result = subprocess.run([PZTRACE, 'merge', '-o', '/dev/full', argument],
                              stderr=subprocess.PIPE, check=False)
      self.assertEqual(result.returncode, 1)
      self.assertIn('No space left', result.stderr.decode())
    file.write_bytes(trace + b'\x0a\x7f')
    self.assertIn('the trace is damaged', self.merge(file, code=1))
    self.assertEqual(self.merged.read_bytes(), trace)

  def test_damaged_traces(self):
    self.options = ('-o', self.merged)
    num_rows = 0
    for number, _ in enumerate(self.outputs_of_damaged(names_of_one('a') * 4)):
      # The rows of one file are as they were. Looking at some of them is quicker.
      if number % 8 == 0 and self.merged.exists():
        rows = self.rows(self.merged, is_whole=False)
        num_rows += len(rows)
        self.assertEqual(rows, self.rows(self.path, is_whole=False))
      self.merged.unlink(missing_ok=True)
    self.assertGreater(num_rows, 100)


if __name__ == '__main__':
  sys.exit(run_cases())
