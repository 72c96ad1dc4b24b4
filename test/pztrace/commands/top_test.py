#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace top` adds up slices: on traces of known content, and whatever the bytes
are. Runs in the build directory."""

import sys

from cases import run_cases
from timeline_command import TimelineCommandTest
from wire import delimited, integer
from track_events import (
    BEGIN, END, INSTANT, MS, THREAD, category, described, event, first_packet, name,
    packet)


def rows_of(output):
  """Count, total, self, mean, p99 and max as printed, by the slices' names."""
  rows = {}
  for line in output.splitlines()[1:]:
    # Ten characters of the count, eleven of each time.
    cells = [line[max(0, 11 * i - 1):11 * i + 10] for i in range(6)]
    if all(cell.strip() for cell in cells) and line[65:67] == '  ':
      rows[line[67:]] = [cell.strip() for cell in cells]
  return rows


class TopTest(TimelineCommandTest):
  command = 'top'

  def test_nested_slices(self):
    interned = (delimited(1, integer(1, 5) + delimited(2, b'app')) +
                delimited(2, integer(1, 7) + delimited(2, b'inner')))
    inner = integer(10, 7) + integer(3, 5)
    trace = (first_packet(1, track=3, interned=interned) +
             event(1, BEGIN, 0, name('outer'), category('app'), category('net')) +
             event(1, BEGIN, 2 * MS, inner) + event(1, END, 1 * MS) +
             event(1, INSTANT, 0, name('no slice')) +
             event(1, BEGIN, 0, inner, integer(11, 3)) + event(1, END, 3 * MS) +
             event(1, END, 4 * MS))
    output, error = self.run_command(trace)
    self.assertEqual(error, '')
    self.assertEqual(rows_of(output), {
        'outer (app,net)': ['1', '10.00 ms', '6.00 ms', '10.00 ms', '10.00 ms',
                             '10.00 ms'],
        'inner (app)': ['2', '4.00 ms', '4.00 ms', '2.00 ms', '3.00 ms',
                         '3.00 ms']})
    self.assertEqual(output.splitlines()[-1], '3 slices of 2 names')

  def test_another_track_may_be_of_several_sequences_in_any_order(self):
    absolute = integer(58, 6)
    def at(sequence, kind, time, *fields):
      return packet(sequence, integer(8, time), absolute, integer(13, 2),
                    delimited(11, integer(9, kind) + b''.join(fields) +
                              integer(11, 99)))
    trace = (first_packet(2) + at(2, END, 9 * MS) + at(2, END, 20 * MS) +
             first_packet(1) + at(1, BEGIN, 4 * MS, name('request')) +
             at(1, BEGIN, 10 * MS, name('request')))
    output, _ = self.run_command(trace)
    self.assertEqual(rows_of(output)['request'][:2], ['2', '15.00 ms'])

  def test_clock_with_a_multiplier(self):
    clock = integer(1, 64) + integer(2, 5) + integer(3, 1) + integer(4, 1000)
    trace = (first_packet(1, clock=clock) + event(1, BEGIN, 10, name('slice')) +
             event(1, END, 25))
    self.assertEqual(rows_of(self.run_command(trace)[0])['slice'][1], '25.00 us')

  def test_a_clock_whose_snapshot_comes_later(self):
    def clocks(boot, monotonic):
      return packet(9, delimited(6, b''.join(
          delimited(1, integer(1, clock) + integer(2, time))
          for clock, time in ((6, boot), (3, monotonic)))))

    trace = (first_packet(1) + packet(
        1, integer(8, 2 * MS), integer(58, 3),
        delimited(11, integer(9, BEGIN) + name('early'))) + clocks(105 * MS, 5 * MS) + packet(
            1, integer(8, 112 * MS), integer(58, 6), delimited(11, integer(9, END))))
    output, error = self.run_command(trace)
    self.assertEqual(error, '')
    self.assertEqual(rows_of(output)['early'][1], '10.00 ms')

  def test_losses_are_said(self):
    trace = (event(1, END, 1) + first_packet(1) +
             event(1, END, 1) + event(1, BEGIN, 1, name('a')) +
             event(1, BEGIN, 1, name('lost end')) +
             event(1, END, 1, dropped=1) +
             first_packet(1) + event(1, BEGIN, 1, name('a')) +
             event(1, END, 5) + event(1, BEGIN, 1, name('open')))
    output, _ = self.run_command(trace)
    self.assertEqual(rows_of(output), {'a': ['1'] + ['5 ns'] * 5})
    self.assertEqual(output.splitlines()[-8:], [
        '1 slice of 1 name',
        'packets are missing in 1 place',
        'track: packets are missing in 1 place, for 0 ns from 2 ns on',
        '1 slice had not ended',
        '2 slices had not ended, or their end is lost',
        '1 end without a beginning in the trace',
        '1 packet refers to others from before the trace',
        '1 packet is of no use, since others are lost'])

  def test_losses_do_not_add_up_to_none(self):
    half = 2**63
    for number, total in (2**32 + 7, 2**33 + 14), (half, 2**64 - 1):
      lost = delimited(1, delimited(1003, integer(1, 1) + integer(2, number)))
      output = self.run_command(packet(9, delimited(35, lost + lost)))[0]
      self.assertEqual(output.splitlines()[-1],
                       '%d packets lost: %d shared memory full' % (total, total))
    unknown = delimited(1, integer(1005, half))
    trace = packet(9, delimited(35, unknown + unknown))
    text = 'an unknown number of packets lost in %d places' % (2**64 - 1)
    for files in (), (self.path,):
      self.assertIn(text, self.run_command(trace, *files)[0].splitlines()[-1])

  def test_what_the_recording_did_not_see_is_no_loss(self):
    # A slice that had begun before, one that goes on, and a thread whose state is from
    # before.
    trace = (event(2, BEGIN, 1, name('x')) + first_packet(1) + event(1, END, 1) +
             event(1, BEGIN, 1, name('a')))
    for lost, text in ((b'', 'nothing lost'),
                       (integer(1005, 2), 'an unknown number of packets lost in 2 places'),
                       (integer(19, 3), '3 packets lost: 3 reason unknown'),
                       (delimited(1003, integer(1, 99) + integer(2, 4)),
                        '4 packets lost: 4 reason unknown')):
      output, _ = self.run_command(trace + packet(9, delimited(35, delimited(1, lost))))
      self.assertEqual(output.splitlines()[-5:], [
          '0 slices of 0 names', text, '1 slice had not ended',
          '1 end without a beginning in the trace',
          '1 packet refers to others from before the trace'])

  def test_losses_are_said_by_time(self):
    trace = described()
    for pause in 0, 3, 7:
      clock = integer(1, 64) + integer(2, 1000 + pause * MS) + integer(3, 1)
      trace += (first_packet(1, track=THREAD, clock=clock, dropped=pause != 0) +
                event(1, INSTANT, 0, name('x')) + event(1, INSTANT, 1 * MS, name('x')))
    output, _ = self.run_command(trace)
    self.assertEqual(output.splitlines()[-2:], [
        'packets are missing in 2 places',
        'main 42: packets are missing in 2 places, for 5.00 ms in all; the longest for '
        '3.00 ms from 4.00 ms on'])

  def test_which_rows_and_in_which_order(self):
    trace = first_packet(1)
    for text, group, times in (('often', 'app', [3] * 5), ('long', 'net.io', [9]),
                               ('short', 'net.dns', [1])):
      for time in times:
        trace += event(1, BEGIN, 1, name(text), category(group))
        trace += event(1, END, time)
    def names(*args):
      return [row.split()[0] for row in rows_of(self.run_command(trace, *args)[0])]
    self.assertEqual(names(), ['often', 'long', 'short'])
    self.assertEqual(names('--sort', 'max'), ['long', 'often', 'short'])
    self.assertEqual(names('--limit', '1'), ['often'])
    self.assertEqual(names('--categories', 'net.*'), ['long', 'short'])
    self.assertEqual(names('--categories=-net.io'), ['often', 'short'])
    self.assertIn('--sort is total', self.run_command(trace, '--sort', 'x', code=2)[1])

  def test_several_files(self):
    # Each is a trace of its own: a slice does not end in the next file.
    trace = (first_packet(1) + event(1, BEGIN, 1, name('a')) + event(1, END, 5) +
             event(1, BEGIN, 1, name('b')))
    other = self.path.with_suffix('.other')
    other.write_bytes(event(1, END, 1) + first_packet(1) + event(1, END, 3) +
                      event(1, BEGIN, 1, name('b')) + event(1, END, 2) +
                      event(1, BEGIN, 1, name('a')) + event(1, END, 6))
    output, _ = self.run_command(trace, other)
    self.assertEqual({row: cells[:2] for row, cells in rows_of(output).items()},
                     {'a': ['2', '11 ns'], 'b': ['1', '2 ns']})
    self.assertEqual(output.splitlines()[-4:], [
        '3 slices of 2 names',
        '%s: 1 end without a beginning in the trace' % other,
        '%s: 1 packet refers to others from before the trace' % other,
        '%s: 1 slice had not ended' % self.path])
    output, error = self.run_command(trace, '/no/such', code=1)
    self.assertIn('1 slice of 1 name', output)
    self.assertIn('/no/such: No such file', error)

  def test_percentile(self):
    trace = first_packet(1)
    for time in [*range(1000, 1099), 1 * MS]:
      trace += event(1, BEGIN, 1, name('slice')) + event(1, END, time)
    _, _, _, _, p99, longest = rows_of(self.run_command(trace)[0])['slice']
    self.assertEqual(longest, '1.00 ms')
    self.assertLessEqual(float(p99.split()[0]), 1.098 * 1.07)
    self.assertEqual(p99.split()[1], 'us')

  def test_long_names_are_cut_at_a_whole_character(self):
    trace = (first_packet(1) + event(1, BEGIN, 1, name('x' * 79 + '\u20ac')) +
             event(1, END, 1))
    self.assertIn('x' * 79 + '...\n', self.run_command(trace)[0])

  def test_names_are_no_orders(self):
    trace = (first_packet(1) + event(1, BEGIN, 1, name('\x1b[2Jevil')) +
             event(1, END, 1))
    self.assertNotIn('\x1b', self.run_command(trace)[0])

  def test_counts_what_programs_say(self):
    trace, items = self.record_workers()
    output, _ = self.run_command(trace)
    self.assertIn('%d slices of 5 names\n' % (5 * items), output)

  def test_any_bytes_are_survived(self):
    whole = (first_packet(1, interned=delimited(2, integer(1, 7) +
                                                delimited(2, b'x'))) +
             b''.join(event(1, kind, 3, integer(10, 7), integer(11, kind % 3))
                      for kind in (1, 1, 2, 3, 2, 2)))
    output, error = self.run_command(whole[:-3], code=1)
    self.assertIn('the trace is damaged', error)
    self.assertRegex(output, r'\d slices? of')
    # There is none if nothing can be read.
    for output in filter(None, self.outputs_of_damaged(whole)):
      self.assertRegex(output, r'\d slices? of')


if __name__ == '__main__':
  sys.exit(run_cases())
