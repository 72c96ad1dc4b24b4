#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace recover` finds all that a killed program has finished. Runs in the build
directory. `recover_test.py --kills 1000` takes its time."""

import csv
import gzip
import io
import json
import pathlib
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from cases import run_cases

TRACER = pathlib.Path.cwd() / 'flight_tracer'
PZTRACE = pathlib.Path.cwd() / 'pztrace'
KILLS = 6
IS_SANITIZED = re.search('is_[at]san *= *true', pathlib.Path('args.gn').read_text())


class RecoverTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.recording = self.folder / 'recording'
    self.trace = self.folder / 'trace.pftrace'

  def run_pztrace(self, *args):
    """The exit code, output and error."""
    result = subprocess.run([PZTRACE, *args], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    return result.returncode, result.stdout.decode(), result.stderr.decode()

  def recover(self):
    """Makes the trace. Returns what is said of it."""
    code, output, error = self.run_pztrace('recover', '-o', self.trace, self.recording)
    self.assertEqual((code, output), (0, ''), error)
    return error

  def events(self):
    """The numbers of the events of each thread, in their order."""
    code, output, error = self.run_pztrace('export', '--instants', self.trace)
    self.assertEqual(code, 0, error)
    threads = {}
    for row in csv.DictReader(io.StringIO(output)):
      self.assertEqual(row['category'], 'app')
      if row['name'] == 'other':
        continue
      self.assertEqual(row['name'], 'event')
      args = json.loads(row['args'])
      threads.setdefault(args['thread'], []).append(args['number'])
    return threads

  def test_all_is_there_after_a_kill(self):
    result = subprocess.run([TRACER, self.recording, '1000000', '2', '5000'], check=False)
    self.assertEqual(result.returncode, -signal.SIGKILL)
    error = self.recover()
    self.assertRegex(
        error, r'\A\d+ packets of 2 threads of process \d+\n[\d.]+ [mu]?s: nothing lost\n'
        r'2 slices had not ended:\n  flight_tracer \d+: work\n'
        r'  flight_tracer \d+: work\n\Z')
    self.assertEqual(self.events(), {0: list(range(5000)), 1: list(range(5000))})
    # The place where the program was.
    code, output, _ = self.run_pztrace('export', '--slices', '--unfinished', self.trace)
    self.assertEqual(code, 0)
    self.assertEqual([row['name'] for row in csv.DictReader(io.StringIO(output))],
                     ['work', 'work'])

  def test_without_some_strings(self):
    subprocess.run([TRACER, self.recording, '1000000', '1', '100'], check=False)
    self.recover()
    self.assertIn(b'flight_tracer', self.trace.read_bytes())
    code, _, error = self.run_pztrace('recover', '-o', self.trace, '--hash-strings',
                                      'work', '--drop-strings', 'flight', self.recording)
    self.assertEqual(code, 0, error)
    self.assertEqual(self.events(), {0: list(range(100))})
    for text in 'work', 'flight':
      self.assertNotIn(text.encode(), self.trace.read_bytes())
      self.assertNotIn(text, error)

  def test_the_last_events_are_there_after_wraps(self):
    result = subprocess.run([TRACER, self.recording, '256000', '2',
                             '100000'], check=False)
    self.assertEqual(result.returncode, -signal.SIGKILL)
    error = self.recover()
    overwritten = int(re.search(r'(\d+) packets lost: \1 overwritten', error)[1])
    left = 0
    for numbers in self.events().values():
      self.assertGreater(len(numbers), 1000)
      self.assertEqual(numbers, list(range(100000 - len(numbers), 100000)))
      left += len(numbers)
    # Packets that are not events describe threads and names.
    read = int(re.match(r'(\d+) packets', error)[1])
    self.assertGreaterEqual(overwritten + read, 200000)
    # A thread describes itself again in each chunk: in a few packets of 4096 bytes.
    self.assertLess(overwritten + read, 200000 * 1.05)
    self.assertLess(read - left, left * 0.05)

  def test_the_last_events_of_idle_threads_stay(self):
    # The number of parts that an idle thread has used since it has described itself
    # depends on its events, and on the threads there were. The others go around the ring
    # more than twice.
    for threads, events in (4, 1500), (4, 5000), (12, 2500):
      result = subprocess.run([TRACER, self.recording, '64000000', str(threads), str(events),
                               '150000'], check=False)
      self.assertEqual(result.returncode, -signal.SIGKILL)
      self.recover()
      last = {thread: numbers[-1] for thread, numbers in self.events().items()}
      self.assertEqual(last, {thread: events - 1 for thread in range(threads)})

  def test_places_where_packets_are_missing_are_told(self):
    subprocess.run([TRACER, self.recording, '32000000', '1', '9000'], check=False)
    whole = self.recording.read_bytes()
    self.assertIn('slice had not ended', self.recover())
    page_size, num_pages = struct.unpack_from('<II', whole, 20)
    counts = {}  # The place of the number of packets of each chunk, by its id.
    for page in range(4096, 4096 + num_pages * page_size, page_size):
      chunk, writer, packets = struct.unpack_from('<IHH', whole, page + 8)
      if writer != 0 and packets & 1023:
        counts[chunk] = page + 14
    self.assertGreater(len(counts), 10)
    # After some of them, all packets of several chunks lack their state; in the end, all
    # of the last chunks.
    for chunk in sorted(counts)[1:-1]:
      recording = bytearray(whole)
      struct.pack_into('<H', recording, counts[chunk], 0)
      self.recording.write_bytes(recording)
      error = self.recover()
      # The slice may have ended there.
      self.assertNotIn('had not ended', error, chunk)
      code, output, _ = self.run_pztrace('export', '--losses', self.trace)
      self.assertEqual(code, 0)
      places = [row['places'] for row in csv.DictReader(io.StringIO(output))]
      self.assertEqual([number for number in places if number], ['1'], chunk)

  def test_recovers_while_the_program_runs(self):
    with subprocess.Popen([TRACER, self.recording, '256000', '3']) as process:
      while not self.recording.exists():
        time.sleep(0.001)
      counts = pathlib.Path(str(self.recording) + '.count')
      while min(struct.unpack('3q', counts.read_bytes())) < 20000:
        time.sleep(0.01)
      for _ in range(5):
        before = struct.unpack('3q', counts.read_bytes())
        self.recover()
        for thread, numbers in self.events().items():
          self.assertEqual(sorted(set(numbers)), numbers)
          self.assertGreaterEqual(numbers[-1] + 1, before[thread])
      process.kill()

  def core_dump(self, *segments):
    """A core dump with these segments, each as long as its header says."""
    table = b''
    content = b''
    for segment in segments:
      table += struct.pack('<IIQQQQQQ', 1, 6, 4096 + len(content), 0, 0, len(segment),
                           len(segment), 4096)
      content += segment
    elf = b'\x7fELF\2\1\1' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 4, 62, 1, 0, 64, 0, 0, 64, 56, len(segments), 0, 0, 0)
    return (elf + table).ljust(4096, b'\0') + content

  def test_reads_a_core_dump(self):
    subprocess.run([TRACER, self.recording, '100000', '1', '500'], check=False)
    memory = self.recording.read_bytes()
    core = self.core_dump(b'x' * 4096, memory)
    self.recording.write_bytes(core)
    self.recover()
    self.assertEqual(self.events(), {0: list(range(500))})
    for content in self.core_dump(b'x' * 4096), core[:100], core[:8192], core[:64]:
      self.recording.write_bytes(content)
      code, _, error = self.run_pztrace('recover', '-o', self.trace, self.recording)
      self.assertEqual(code, 1, error)
      self.assertRegex(error, 'a core dump (that is cut, )?without a flight recorder')
      self.assertEqual('cut' in error, content[:100] == core[:100] or len(content) == 64)

  def test_reads_all_recordings_of_a_core_dump(self):
    memories = []
    for events in 300, 400:
      subprocess.run([TRACER, self.recording, '100000', '1', str(events)], check=False)
      memories.append(self.recording.read_bytes())
    core = self.core_dump(memories[0], b'x' * 4096, memories[1])
    self.recording.write_bytes(core)
    error = self.recover()
    self.assertEqual(len(re.findall('packets of 1 thread of process', error)), 2, error)
    self.assertEqual(sorted(self.events()[0]), sorted([*range(300), *range(400)]))
    # The second one is cut off, and then the first one, too.
    self.recording.write_bytes(core[:4096 + len(memories[0]) + 4096])
    self.assertIn('may have had another recording', self.recover())
    self.assertEqual(self.events(), {0: list(range(300))})

  def test_reads_a_core_dump_that_is_cut(self):
    subprocess.run([TRACER, self.recording, '400000', '1', '5000'], check=False)
    memory = self.recording.read_bytes()
    core = self.core_dump(memory)
    # Each part of the ring is at its place, in the order of time.
    self.recording.write_bytes(core[:4096 + 4096 + 20 * 4096 + 100])
    error = self.recover()
    self.assertRegex(error, r'the core dump is cut: it has 20 of 97 parts of a recording')
    self.assertRegex(error, 'an unknown number .*in 1 place')
    numbers = self.events()[0]
    self.assertGreater(len(numbers), 1000)
    self.assertEqual(numbers, list(range(len(numbers))))

  def test_reads_a_core_dump_of_many_segments(self):
    subprocess.run([TRACER, self.recording, '100000', '1', '500'], check=False)
    memory = self.recording.read_bytes()
    # Their number is in the first section, or before the notes.
    number = 70000
    begin = 64 + number * 56
    load = struct.pack('<IIQQQQQQ', 1, 6, begin + 64, 0, 0, len(memory), len(memory), 4096)
    elf = b'\x7fELF\2\1\1' + bytes(9) + struct.pack(
        '<HHIQQQIHHHHHH', 4, 62, 1, 0, 64, begin, 0, 64, 56, 0xffff, 64, 1, 0)
    for kind, sections in (4, 0), (0, number):
      first = struct.pack('<IIQQQQQQ', kind, 0, begin, 0, 0, 64, 64, 4)
      section = bytes(44) + struct.pack('<I', sections) + bytes(16)
      self.recording.write_bytes(elf + first + bytes(56 * (number - 2)) + load + section +
                                 memory)
      self.recover()
      self.assertEqual(self.events(), {0: list(range(500))})

  def test_reads_a_compressed_core_dump(self):
    subprocess.run([TRACER, self.recording, '100000', '1', '500'], check=False)
    memory = self.recording.read_bytes()
    # The table of segments is longer than what is read of a file first.
    core = self.core_dump(*[b''] * 1500, memory)
    core = core[:64] + core[64:64 + 1501 * 56].ljust(100000, b'\0') + core[64 + 1501 * 56:]
    offset = len(core) - len(memory)
    core = bytearray(core)
    struct.pack_into('<Q', core, 64 + 1500 * 56 + 8, offset)
    for content in bytes(core), self.core_dump(memory), memory:
      self.recording.write_bytes(gzip.compress(content, 1))
      code, _, error = self.run_pztrace('recover', '-o', self.trace, self.recording)
      if 'this build' in error:
        self.skipTest(error)
      self.assertEqual(code, 0, error)
      self.assertEqual(self.events(), {0: list(range(500))})
    self.recording.write_bytes(gzip.compress(self.core_dump(memory), 0)[:60000])
    self.assertIn('the core dump is cut: it has ', self.recover())

  def test_a_core_dump_with_holes_takes_neither_time_nor_memory(self):
    subprocess.run([TRACER, self.recording, '100000', '1', '500'], check=False)
    header = bytearray(self.recording.read_bytes()[:4096])
    page_size, = struct.unpack_from('<I', header, 20)
    struct.pack_into('<I', header, 24, (1 << 40) // page_size)
    core = bytearray(self.core_dump(bytes(header)))
    struct.pack_into('<Q', core, 64 + 32, 1 << 40)
    with self.recording.open('wb') as file:
      file.write(core)
      file.truncate(3 << 30)
    def limit_memory():
      # Sanitizers reserve more than any limit.
      if not IS_SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (4 << 30, 4 << 30))
    result = subprocess.run([PZTRACE, 'recover', self.recording], stderr=subprocess.PIPE,
                            check=False, preexec_fn=limit_memory)
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn(b'the core dump is cut', result.stderr)

  def test_random_kills(self):
    for seed in range(KILLS):
      with self.subTest(seed=seed):
        with subprocess.Popen([TRACER, self.recording, str(2 << 20), '3']) as process:
          while not self.recording.exists():
            time.sleep(0.001)
          time.sleep(random.Random(seed).random() * 0.3)
          process.kill()
        counts = struct.unpack('3q', pathlib.Path(str(self.recording) +
                                                  '.count').read_bytes())
        self.recover()
        events = self.events()
        for thread, count in enumerate(counts):
          numbers = events.get(thread, [])
          last = numbers[-1] + 1 if numbers else 0
          self.assertIn(last, (count, count + 1))
          self.assertEqual(numbers, list(range(last - len(numbers), last)))
        for path in self.folder.iterdir():
          path.unlink()

  def test_other_files_are_refused(self):
    for content, reason in ((b'', 'no file of a flight recorder'),
                            (b'x' * 5000, 'no file of a flight recorder')):
      self.recording.write_bytes(content)
      code, output, error = self.run_pztrace('recover', '-o', self.trace, self.recording)
      self.assertEqual((code, output), (1, ''))
      self.assertEqual(error, 'pztrace: %s: %s\n' % (self.recording, reason))
      self.assertFalse(self.trace.exists())

  def test_the_recording_is_not_replaced(self):
    self.recording.write_bytes(b'x')
    link = self.folder / 'link'
    link.symlink_to(self.recording)
    for output in self.recording, link:
      code, _, error = self.run_pztrace('recover', '-o', output, self.recording)
      self.assertEqual(code, 2)
      self.assertIn('cannot replace', error)
    self.assertEqual(self.recording.read_bytes(), b'x')


if __name__ == '__main__':
  if len(sys.argv) > 2 and sys.argv[1] == '--kills':
    KILLS = int(sys.argv[2])
    del sys.argv[1:3]
  sys.exit(run_cases())
