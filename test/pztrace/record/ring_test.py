#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what `pztrace record --ring` keeps. Runs in the build directory, as
recording.py says."""

import json
import re
import signal
import sys
import time

from recording import BUILD_DIR, REPORT, WORKERS, PztraceTest, main

EVENT_TRACER = BUILD_DIR / 'event_tracer'
CLEARED = 1
NEEDS = 2
OVERWRITTEN = re.compile(r' (\d+) packets lost: (\d+) overwritten in the buffer\n')


class RingTest(PztraceTest):

  def record(self, *options, items=4000):
    """Records more than a ring of 200 kB has room for, or |items| of each of two
    processes with four threads. Returns the standard error."""
    code, output, error = self.run_pztrace(
        'record', '-o', self.trace, *options, '--', WORKERS, '--threads', 4,
        '--items', items, '--size', 100)
    self.assertEqual(code, 0, error)
    self.reports = [REPORT.match(line) for line in output.splitlines()]
    return error

  def check_useful(self):
    """Expects that each packet can be understood. Returns how many there are."""
    known = set()
    packets = self.decode()
    for packet in packets:
      sequence = packet.get('trusted_packet_sequence_id')
      flags = packet.int('sequence_flags') or 0
      if flags & CLEARED:
        known.add(sequence)
      if flags & NEEDS:
        self.assertIn(sequence, known)
    return len(packets)

  def test_has_the_last_packets(self):
    error = self.record('--ring', '200k', '--fail-on-loss')
    lost = OVERWRITTEN.search(error)
    self.assertIsNotNone(lost, error)
    self.assertEqual(lost[1], lost[2])
    self.assertGreater(int(lost[1]), 20000)
    num_packets = self.check_useful()
    self.assertIn(' %d packets, ' % num_packets, error)
    size = self.trace.stat().st_size
    self.assertGreater(size, 100 * 1024)
    # Besides what producers wrote, packets have the ids of their processes.
    self.assertLess(size, 400 * 1024)
    # The threads' last packets are there.
    code, output, error = self.run_pztrace('top', self.trace)
    self.assertEqual(code, 0, error)
    self.assertIn('overwritten in the buffer', output)
    self.assertNotIn('refer to', output)

  def test_that_is_not_full_loses_nothing(self):
    error = self.record('--ring', '64M', items=300)
    self.assertIn('nothing lost', error)
    self.check_useful()
    self.check_events(self.reports, threads=4, items=300)

  def test_writes_all_of_it_after_an_interrupt(self):
    process, _ = self.start_with_workers('--ring', '1M')
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    error = process.stderr.read()
    process.wait()
    self.assertIn('nothing lost', error)
    self.assertGreater(self.check_useful(), 70)

  def test_describes_extensions_after_it_has_wrapped(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--ring', '1M', '--',
                                      EVENT_TRACER, '--wait', stdin=b'\n' * 60000)
    self.assertEqual(code, 0, error)
    self.assertRegex(error, OVERWRITTEN)
    code, output, error = self.run_pztrace('cat', self.trace)
    self.assertEqual((code, error), (0, ''))
    self.assertIn('extension_descriptor {', output)
    self.check_useful()

  def test_of_time(self):
    process = self.start('record', '-o', self.trace, '--ring', '300ms', '--',
                         EVENT_TRACER, '--wait')
    def trace():
      process.stdin.write('\n')
      process.stdin.flush()
      while process.stdout.readline() != 'traced\n':
        pass
    # The events of a thread that goes on become older than the ring.
    begin = time.monotonic()
    while time.monotonic() < begin + 1:
      trace()
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 0, error)
    # Older events are not lost.
    self.assertIn('nothing lost', error)
    self.check_useful()
    code, output, error = self.run_pztrace('export', '--slices', '--format',
                                           'ndjson', self.trace)
    self.assertEqual(code, 0, error)
    times = [json.loads(line)['ts'] for line in output.splitlines()]
    self.assertGreater(max(times) - min(times), 0.2e9)
    self.assertLess(max(times) - min(times), 0.7e9)

  def test_of_time_that_is_too_small(self):
    error = self.record('--ring', '1h', '--size', '200k')
    self.assertRegex(error, r' overwritten in the buffer; --size has room only for '
                     r'the last \d+\.\d s of 3600\.0 s\n')
    self.check_useful()

  def test_of_a_configuration(self):
    config = self.encode_config('''
        buffers { size_kb: 200 }
        data_sources { config { name: "track_event" } }''')
    error = self.record('--config', config, '--fail-on-loss')
    self.assertRegex(error, OVERWRITTEN)
    self.check_useful()

  def test_needs_no_other_option(self):
    for options, problem in (
        (('--size', '1M'), '--ring has a size; give no --size'),
        (('--config', 'file'), '--config replaces --ring; give one'),
        (('--rotate', '1M'),
         '--ring writes one file at the end, --rotate many; give one')):
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--ring', '1M',
                                        *options)
      self.assertEqual(code, 2, error)
      self.assertIn(problem, error)


if __name__ == '__main__':
  sys.exit(main())
