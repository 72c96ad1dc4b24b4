# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tests that record with pztrace."""

import collections
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest

from cases import run_cases
from trace_text import read_packets

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD_DIR = pathlib.Path.cwd()
PZTRACE = BUILD_DIR / 'pztrace'
WORKERS = BUILD_DIR / 'traced_workers'
PROTOC = BUILD_DIR / 'protoc'
TRACE_SCHEMA = 'include/protozero/tracing/trace.proto'

REPORT = re.compile(r'process (\d+): (\d+) items')
CLEARED = 1
# Messages describe them by these words.
LIMIT = ('a size, a number with B, k, M or G, or a time, a number with ns, us, ms, s, m '
         'or h')
TIME = 'a time: a number of seconds, or one with ns, us, ms, s, m or h'
SIZE = ('a size: a number of bytes, or one with k, M or G, which are powers of 1024 '
        '(kB and KiB are the same)')
PARTS = ['make', 'compress', 'check', 'primes']


def is_near(recorded, measured, turns):
  """True if a time of a thread is right. Each time that the thread gets a processor, the
  kernel counts its time from a moment that is some microseconds off its record."""
  return abs(recorded - measured) <= measured / 100 + 100000 + 5000 * max(turns, 0)


def never_right(attempt, attempts=12):
  """Calls `attempt`, which records and returns the keys of what has been measured, and what
  is wrong by key, until each key was right in one recording and three quarters of all were
  in one and the same. Returns what never was. A thread's own clock does not count the time
  that a virtual machine, or an interrupt, takes from it: on a busy machine some are wrong in
  each recording, but not the same ones."""
  never = None
  is_mostly_right = False
  for _ in range(attempts):
    keys, wrong = attempt()
    is_mostly_right = is_mostly_right or 4 * len(wrong) <= len(keys)
    never = wrong if never is None else {key: wrong.get(key, never[key]) for key in never
                                         if key in wrong or key not in keys}
    if not never and is_mostly_right:
      return {}
  return never or wrong


def with_small_rings():
  """A command that runs a recorder, whose rings of the kernel's events have 256 or 512 kB:
  other recorders of the user may have what the kernel allows for events."""
  limit = os.sysconf('SC_NPROCESSORS_CONF') * 300 * 1024
  drop = ['setpriv', '--bounding-set', '-ipc_lock', '--inh-caps', '-ipc_lock']
  return ['prlimit', '--memlock=%d' % limit, *(drop if os.geteuid() == 0 else [])]


class PztraceTest(unittest.TestCase):

  def setUp(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    self.folder = pathlib.Path(temporary.name)
    self.env = dict(os.environ, XDG_RUNTIME_DIR=temporary.name)
    self.env.pop('PERFETTO_PRODUCER_SOCK_NAME', None)
    self.trace = self.folder / 'trace'

  def run_pztrace(self, *arguments, stdin=b''):
    """Returns (exit code, standard output, standard error)."""
    process = subprocess.run([str(part) for part in (PZTRACE, *arguments)],
                             input=stdin, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, env=self.env, check=False)
    return (process.returncode, process.stdout.decode(errors='replace'),
            process.stderr.decode())

  def start(self, *arguments, prefix=()):
    """A pztrace that goes on, with pipes to it. |prefix| is a command that runs it."""
    process = subprocess.Popen(
        [str(part) for part in (*prefix, PZTRACE, *arguments)], env=self.env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        universal_newlines=True)
    def end():
      process.kill()
      process.wait()
      for pipe in process.stdin, process.stdout, process.stderr:
        pipe.close()
    self.addCleanup(end)
    return process

  def start_with_workers(self, *options):
    """One that has recorded all that its command writes, and goes on until its
    standard input ends."""
    process = self.start('record', '-o', self.trace, *options, '--', 'sh', '-c',
                         '%s --items 7 --threads 2; echo written; read line' %
                         WORKERS)
    lines = list(iter(process.stdout.readline, 'written\n'))
    return process, [REPORT.match(line) for line in lines]

  def decode(self, trace=None):
    """The packets, as protoc reads them."""
    with open(trace or self.trace, 'rb') as file:
      text = subprocess.run(
          [str(PROTOC), '-I', str(ROOT), '--decode=perfetto.protos.Trace',
           TRACE_SCHEMA], stdin=file, cwd=ROOT, stdout=subprocess.PIPE,
          check=True).stdout.decode()
    return read_packets(text)

  def encode_config(self, text):
    config = self.folder / 'config'
    with open(config, 'wb') as file:
      subprocess.run([str(PROTOC), '-I', str(ROOT),
                      '--encode=pztrace.TraceConfig',
                      'src/pztrace/record/record_config.proto'], cwd=ROOT,
                     input=text.encode(), stdout=file, check=True)
    return config

  def events(self):
    """By process and thread: (type, name, annotation) of each event."""
    threads = {}
    names = collections.defaultdict(dict)
    tracks = {}  # Of events that do not name one, by sequence.
    events = collections.defaultdict(list)
    times = collections.defaultdict(int)  # By sequence.
    for packet in self.decode():
      sequence = packet.get('trusted_packet_sequence_id')
      self.assertIsNotNone(sequence)
      self.assertNotEqual(packet.get('previous_packet_dropped'), '1')
      if packet.int('sequence_flags') == CLEARED:
        names[sequence] = {}
      for defaults in packet.all('trace_packet_defaults'):
        tracks[sequence] = defaults.get('track_event_defaults').get('track_uuid')
        clock = packet.get('clock_snapshot').all('clocks')[-1]
        self.assertGreaterEqual(clock.int('timestamp'), times[sequence])
        times[sequence] = clock.int('timestamp')
      for strings in packet.all('interned_data'):
        for string in strings.all('event_names'):
          self.assertNotIn(string.get('iid'), names[sequence])
          names[sequence][string.get('iid')] = string.get('name')
      for track in packet.all('track_descriptor'):
        for thread in track.all('thread'):
          threads[track.get('uuid')] = (thread.int('pid'),
                                        thread.get('thread_name'))
      for event in packet.all('track_event'):
        if event.get('type') == 'TYPE_COUNTER':
          continue
        # Known before: a viewer reads from the beginning, too.
        self.assertIsNone(event.get('track_uuid'))
        thread = threads[tracks[sequence]]
        self.assertEqual(packet.int('trusted_pid'), thread[0])
        name = event.get('name_iid')
        annotations = [annotation.int('uint_value')
                       for annotation in event.all('debug_annotations')]
        events[thread].append((event.get('type'),
                               name and names[sequence][name],
                               annotations[0] if annotations else None))
    return events

  def check_events(self, reports, threads, items):
    """Expects everything that was reported, in order."""
    events = self.events()
    numbers = collections.defaultdict(list)
    for (pid, _), thread_events in events.items():
      rest = iter(thread_events)
      for kind, name, number in rest:
        self.assertEqual((kind, name), ('TYPE_SLICE_BEGIN', 'item'))
        numbers[pid].append(number)
        for part in PARTS:
          self.assertEqual(next(rest)[:2], ('TYPE_SLICE_BEGIN', part))
          self.assertEqual(next(rest)[0], 'TYPE_SLICE_END')
        self.assertEqual(next(rest)[0], 'TYPE_SLICE_END')
    self.assertEqual(len(reports), 2)
    self.assertEqual(len(numbers), 2)
    self.assertLessEqual(len(events), 2 * threads)
    for report in reports:
      pid, reported_items = map(int, report.groups())
      self.assertEqual(reported_items, items)
      self.assertEqual(sorted(numbers[pid]), list(range(items)))


def main():
  # Shells start background programs so that they ignore interruptions, and
  # pztrace would inherit that.
  signal.signal(signal.SIGINT, signal.default_int_handler)
  return run_cases()
