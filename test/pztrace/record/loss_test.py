#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that pztrace counts as the programs do that it records.

Runs in the build directory, as recording.py says.
"""

import os
import re
import subprocess
import sys

from recording import BUILD_DIR, PztraceTest, main

LOSING_TRACER = BUILD_DIR / 'losing_tracer'
SUMMARY = re.compile(
    r': \d+ bytes, (\d+) packets, (\d+) of them of (\d+) writers? in '
    r'(\d+) producers?, (.*)\n', re.MULTILINE)


class LossTest(PztraceTest):

  def record(self, *mode, code=0):
    """Returns what the program says, and what pztrace says; begun and lost."""
    status, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--size=64M', '--', LOSING_TRACER, *mode)
    self.assertEqual(status, code, error)
    begun, lost = map(int, re.fullmatch(r'(\d+) begun, (\d+) lost\n',
                                        output).groups())
    # On a busy machine, a warning comes before it.
    summary = SUMMARY.search(error)
    self.assertIsNotNone(summary, error)
    self.assertEqual(int(summary[4]), 1)
    # The printed size is the file's size.
    status, text, error = self.run_pztrace('cat', self.trace)
    self.assertEqual((status, error), (0, ''))
    self.assertEqual(text.count('\npacket {') + text.startswith('packet {'),
                     int(summary[1]))
    self.assertEqual(text.count('track_event {'), int(summary[2]))
    return begun, lost, summary, text

  def check_exact(self, *mode, reason):
    begun, lost, summary, text = self.record(*mode)
    self.assertGreater(lost, 0)
    self.assertEqual(int(summary[2]), begun - lost)
    self.assertEqual(
        summary[5], '%d packet%s lost: %d %s' %
        (lost, '' if lost == 1 else 's', lost, reason))
    # The trace says so, too, by Perfetto's names and by ours.
    for name, number in (('trace_writer_packet_loss', lost),
                         ('packets_begun', begun),
                         ('packets_read', begun - lost), ('packets', lost)):
      self.assertRegex(text, r'\b%s: %d\n' % (name, number))
    return summary

  def test_memory_that_is_full(self):
    self.check_exact('drop', reason='shared memory full')

  def test_losses_are_a_failure_if_that_is_wanted(self):
    for tracer, code in (((LOSING_TRACER, 'drop'), 1), ((BUILD_DIR / 'traced_workers',), 0)):
      status, _, error = self.run_pztrace('record', '-o', self.trace, '--fail-on-loss',
                                          '--', *tracer)
      self.assertEqual(status, code, error)
      # All commands agree.
      losses = SUMMARY.search(error.splitlines(keepends=True)[-1])[5]
      self.assertIn('\n' + losses, self.run_pztrace('top', self.trace)[1])

  def test_packets_that_are_overwritten_are_a_failure_without_a_ring(self):
    # The buffer is too small for what comes between two reads.
    code, _, error = self.run_pztrace(
        'record', '-o', self.trace, '--size', '64k', '--fail-on-loss', '--',
        BUILD_DIR / 'traced_workers', '--items', 4000, '--size', 100)
    self.assertRegex(error, r' (\d+) packets lost: \1 overwritten in the buffer\n')
    self.assertEqual(code, 1, error)

  def test_wait_that_is_over(self):
    self.check_exact('stall',
                     reason='shared memory full until the wait was over')

  def test_thread_that_ends_while_it_loses(self):
    self.check_exact('ended', reason='shared memory full')

  def test_thread_that_loses_its_only_packet(self):
    summary = self.check_exact('one', reason='shared memory full')
    self.assertEqual(int(summary[3]), 2)

  def test_lost_event_is_one_packet(self):
    code, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--size=64M', '--', LOSING_TRACER, 'events')
    self.assertEqual(code, 0, error)
    written = int(output.split()[0])
    recorded = self.run_pztrace('cat', self.trace)[1].count('track_event {')
    self.assertLess(recorded, written)
    lost = written - recorded
    self.assertTrue(error.endswith(
        f', {lost} packets lost: {lost} shared memory full\n'), error)

  def test_short_programs_are_recorded_from_their_first_event(self):
    both = f'{LOSING_TRACER} short & {LOSING_TRACER} short; wait'
    for command, programs in (((LOSING_TRACER, 'short'), 1),
                              (('sh', '-c', both), 2)):
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--',
                                        *command)
      self.assertEqual(code, 0, error)
      text = self.run_pztrace('cat', self.trace)[1]
      self.assertEqual(text.count('track_event {'), 5 * programs)
      self.assertRegex(error, r' producers?, nothing lost\n$')
    # No service listens, and no thread waits.
    self.env.update(PROTOZERO_STARTED_BY_RECORDER='1',
                    PERFETTO_PRODUCER_SOCK_NAME=str(self.trace) + '.none')
    subprocess.run([LOSING_TRACER, 'short'], env=self.env, check=True,
                   stdout=subprocess.DEVNULL)

  def test_producer_that_writes_nothing_is_named(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--',
                                      LOSING_TRACER, 'threads', '0')
    self.assertEqual(code, 0, error)
    self.assertRegex(error, r'1 producer connected and wrote nothing: '
                     r'losing_tracer \(\d+\)\n')

  def test_killed_while_its_writers_are_not_announced(self):
    begun, lost, summary, _ = self.record('unannounced', code=1)
    self.assertEqual(int(summary[2]) + lost, begun)
    self.assertEqual(summary[5], 'nothing lost')

  def test_every_writer_counts(self):
    # More than the statistics list.
    begun, lost, summary, _ = self.record('threads', '1000')
    self.assertEqual((begun, lost), (1000, 0))
    self.assertEqual((int(summary[2]), int(summary[3])), (1000, 1000))
    self.assertEqual(summary[5], 'nothing lost')

  def test_losses_are_told_while_they_happen(self):
    recorder = self.start('record', '-o', self.trace, '--', LOSING_TRACER, 'again')
    line = next(line for line in recorder.stderr if 'lost' in line)
    self.assertRegex(
        line, r'^pztrace: losing_tracer \(\d+\) traces faster than this recorder '
        r'reads: [\d]+ packets lost, shared memory full; record fewer --categories')
    recorder.stdin.close()
    recorder.wait()

  def test_buffer_that_is_half_full_is_read_early(self):
    config = self.folder / 'config'
    config.write_text('''
      buffers { size_kb: 1024 fill_policy: DISCARD }
      data_sources { config { name: "track_event" } }
      write_into_file: true
      file_write_period_ms: 3600000''')
    status, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--config', config, '--fail-on-loss', '--',
        LOSING_TRACER, 'packets', '500000')
    self.assertEqual((status, output), (0, '500000 begun, 0 lost\n'), error)
    self.assertGreater(os.path.getsize(self.trace), 10 << 20)

  def test_process_that_ends_between_packets(self):
    for mode in 'exit', 'kill':
      begun, lost, summary, _ = self.record(mode, code=int(mode == 'kill'))
      self.assertEqual((begun, lost), (3, 0))
      self.assertEqual(int(summary[2]), 3)
      self.assertEqual(summary[5], 'nothing lost')

  def test_process_that_ends_in_a_packet(self):
    _, _, summary, _ = self.record('packet')
    self.assertEqual(int(summary[2]), 3)
    self.assertEqual(summary[5], '1 packet lost: 1 not finished')


if __name__ == '__main__':
  sys.exit(main())
