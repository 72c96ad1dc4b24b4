#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Traces of less than 1 MB, and a recording of 8 MB, made to be expensive, take little
memory and processor time. Each takes a second at most; if the work grew with the square
of the events, it would be minutes. Runs in the build directory."""

import os
import pathlib
import re
import resource
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

from cases import run_cases
from track_events import (
    BEGIN, CLEARED, END, INSTANT, event, first_packet, name, packet, track)
from wire import delimited, integer

PZTRACE = pathlib.Path.cwd() / 'pztrace'
SECONDS = 15
BYTES = 1 << 30
THREAD = 1001
TASKS = 1002
SWITCH = 5


def described(default=THREAD):
  return (track(1000, delimited(3, integer(1, 10) + delimited(6, b'process'))) +
          track(THREAD, delimited(4, integer(1, 10) + integer(2, 10)), parent=1000) +
          track(TASKS, delimited(2, b'tasks'), parent=THREAD) + first_packet(1, default))


def compressed(trace):
  return delimited(1, delimited(50, zlib.compress(trace)))


def interned(content):
  return packet(1, integer(13, 2), delimited(12, content))


def site(iid, text):
  return delimited(4101, integer(1, iid) + delimited(2, text.encode()))


def run(iid, task, place):
  return delimited(4102, integer(1, iid) + integer(2, task) + integer(3, place))


def nested_at_one_moment(count):
  named = interned(delimited(2, integer(1, 1) + delimited(2, b'x')))
  return compressed(described() + named + event(1, BEGIN, 5000, integer(10, 1)) * count +
                    event(1, END, 5000) * count)


def tasks_of_many_places(count):
  """They are all spawned, and then run one after the other on one thread."""
  trace = [described(TASKS)]
  for i in range(1, count + 1):
    trace.append(interned(site(i, 'p%d' % i)))
    trace.append(event(1, INSTANT, 1000 + i, integer(11, THREAD),
                       delimited(4100, integer(3, i) + integer(4, i) + integer(6, 0))))
  for i in range(1, count + 1):
    trace.append(interned(run(i, i, i)))
    trace.append(event(1, SWITCH, 1000 + count + 10 * i, integer(10, i)))
  return b''.join(trace)


def open_slices_in_a_run(count):
  named = interned(site(1, 'p') + run(1, 1, 1) +
                   delimited(2, integer(1, 9) + delimited(2, b'x')))
  begun = (event(1, BEGIN, 5000 + i, integer(11, THREAD), integer(10, 9))
           for i in range(count))
  return compressed(described(TASKS) + named + event(1, SWITCH, 1000, integer(10, 1)) +
                    b''.join(begun))


def losses_in_open_slices_of_others(count):
  begun = (event(1, BEGIN, 5000 + i, name('x')) for i in range(count))
  # The clock of this sequence counts nanoseconds.
  lost = (packet(2, integer(8, 10**12 + i), integer(13, CLEARED), integer(42, 1),
                 delimited(11, integer(9, INSTANT) + name('y'))) for i in range(count))
  defaults = packet(2, integer(13, CLEARED),
                    delimited(59, delimited(11, integer(11, THREAD))))
  return compressed(described() + b''.join(begun) + defaults + b''.join(lost))


def enum_of_a_long_name(count):
  value = delimited(1, b'X' * 500) + integer(2, 0)
  field = (delimited(1, b'e') + delimited(2, b'.perfetto.protos.TrackEvent') +
           integer(3, 9900) + integer(4, 3) + integer(5, 14) + delimited(6, b'.a.E'))
  file = (delimited(1, b'a.proto') + delimited(2, b'a') +
          delimited(5, delimited(1, b'E') + delimited(2, value)) + delimited(7, field))
  return (described() + packet(1, delimited(72, delimited(1, delimited(1, file)))) +
          event(1, INSTANT, 5000, name('x'), delimited(9900, b'\0' * count)))


def recording_of_open_slices(pages):
  """The file of a flight recorder, whose slices have one long name."""
  page_size = 16384
  def fragment(bytes_of_packet):
    size = len(bytes_of_packet)
    return bytes((size & 127 | 128, size >> 7 & 127 | 128, size >> 14 & 127 | 128,
                  size >> 21)) + bytes_of_packet
  def page(number, packets):
    content = b''.join(packets)
    # A page of one complete chunk.
    head = struct.pack('<IIIHH', 0x10000003, number, number, 1, len(packets))
    return (head + content).ljust(page_size, b'\0')
  def content_of(encoded):
    return encoded[len(encoded) - (encoded[1] if encoded[1] < 128 else
                                   (encoded[1] & 127) + (encoded[2] << 7)):]
  head = struct.pack('<8sIIIIIiIIQQQ', b'PZFLIGHT', 0x01020304, 1, 4096, page_size, pages,
                     10, 0, 0, 1000, 1000, 1000).ljust(4096, b'\0')
  first = packet(1, integer(13, CLEARED),
                 delimited(59, integer(58, 1) + delimited(11, integer(11, THREAD))),
                 delimited(12, delimited(2, integer(1, 1) + delimited(2, b'x' * 4096))))
  # The sequence is the recorder's business.
  sequence = integer(10, 1)
  strip = lambda encoded: content_of(encoded)[:-len(sequence)]
  begin = fragment(strip(event(1, BEGIN, 5000, integer(10, 1))))
  in_page = (page_size - 16) // len(begin)
  return head + page(0, [fragment(strip(first))]) + b''.join(
      page(number, [begin] * min(in_page, 1000)) for number in range(1, pages))


class LargeInputsTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.takes_memory = re.search('is_[at]san *= *true',
                                  pathlib.Path('args.gn').read_text())

  def run_pztrace(self, trace, *args):
    """Returns what it prints of the trace, within the limits."""
    path = self.folder / 'trace'
    path.write_bytes(trace)
    def limit():
      resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    with open(self.folder / 'out', 'w+b') as out:
      with subprocess.Popen([PZTRACE, *args, path], stdout=out, stderr=subprocess.PIPE,
                            preexec_fn=limit) as process:
        error = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
      self.assertEqual(status, 0, error)
      if not self.takes_memory:
        self.assertLess(usage.ru_maxrss << 10, BYTES)
      out.seek(0)
      return out.read() + error

  def test_slices_in_each_other_at_one_moment(self):
    rules = self.folder / 'rules'
    rules.write_text('in each x at least 0 x\nat least 400000 x\n')
    output = self.run_pztrace(nested_at_one_moment(400000), 'check', rules)
    self.assertIn(b'0 of 2 rules broken\n', output)

  def test_tasks_of_many_places(self):
    trace = tasks_of_many_places(11000)
    output = self.run_pztrace(trace, 'tasks')
    self.assertIn(b'\n11000 tasks of 11000 places, ', output)
    # Half of the tasks have not run yet when one in the middle does.
    self.assertRegex(output, br'; meanwhile could run: (1 time p\d+, for \S+ \ws; ){16}'
                     br'\d+ times other tasks\n')
    self.run_pztrace(trace, 'tasks', '--format', 'ndjson')

  def test_open_slices_in_a_run_of_a_task(self):
    self.assertIn(b'<html', self.run_pztrace(open_slices_in_a_run(250000), 'html'))

  def test_losses_in_open_slices_of_others(self):
    output = self.run_pztrace(losses_in_open_slices_of_others(200000), 'top')
    self.assertIn(b'200000 slices had not ended\n', output)

  def test_recording_of_open_slices(self):
    output = self.run_pztrace(recording_of_open_slices(512), 'recover')
    self.assertRegex(output, br'\n\d{6} slices had not ended:\n')

  def test_enum_of_a_long_name(self):
    output = self.run_pztrace(enum_of_a_long_name(900000), 'export', '--instants')
    # The first names are there, and numbers follow.
    self.assertIn(b'[a.e]"":[""' + b'X' * 500 + b'"",', output)
    self.assertIn(b'X"",0,0,0,', output)


if __name__ == '__main__':
  sys.exit(run_cases())
