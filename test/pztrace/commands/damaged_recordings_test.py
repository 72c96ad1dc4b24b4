#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Each command that reads recordings reads what is left of damaged ones, or says what is
wrong with them.

  damaged_recordings_test.py [--runs N] [--seed S]    (default: 200 runs)

Runs in the build directory. The recordings are those of the programs there, and of
rows/. The damage is to fields of any depth: they are repeated, moved and cut, and have
other numbers, types, lengths and values. In files that are no message, it is to bytes.
A run that fails names its seed, and leaves its files in damaged-recordings/."""

import csv
import io
import itertools
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import xml.etree.ElementTree
import zlib

from cases import run_cases
from recording import BUILD_DIR, PZTRACE, PztraceTest
from row_cases import encode, read_cases
from thread_states import MS, divided_trace, interned_stacks, sample
from timeline_command import has_sqlite
from wire import tag, varint

PBZ = BUILD_DIR / 'pbz'
FAILED = BUILD_DIR / 'damaged-recordings'
# A run takes milliseconds. Only what hangs takes this long.
TIMEOUT_S = 60
# Repeated fields repeat fields. What is longer is cut.
MAX_SIZE = 300000
# Enough for compressed packets, which may have 64 MiB, and for AddressSanitizer.
MAX_MEMORY_KB = 512 << 10
# Between the traces of rows/.
MARK = '\npacket { trusted_packet_sequence_id: 4294967295 }\n'
EXTREMES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
TEXTS = [b'', b'\0\xff\xfe', 'é\u2028"<&\n'.encode(), b'x' * 5000]
RULES = '''\
at most 3 work
in each of* exactly 1 event
never event inside work
99 % of event under 16 ms
all tasks ended
nothing lost
'''
ARGS_QUERY = 'select * from slice left join args using (arg_set_id)'
COMPRESSED_PACKETS = 50

num_runs = 200
first_seed = 1


def read_varint(data, at):
  value = 0
  for shift in range(0, 70, 7):
    if at >= len(data):
      return None, at
    value |= (data[at] & 127) << shift
    at += 1
    if data[at - 1] < 128:
      return value & (2**64 - 1), at
  return None, at


def parse(data):
  """The fields of a message: lists of a number, a type and a value, which is bytes but
  for integers. None if it is no message."""
  fields = []
  at = 0
  while at < len(data):
    key, at = read_varint(data, at)
    if key is None or not 0 < key >> 3 < 2**29:
      return None
    kind = key & 7
    if kind == 0:
      value, at = read_varint(data, at)
      if value is None:
        return None
    elif kind in (1, 2, 5):
      size = {1: 8, 5: 4}.get(kind)
      if kind == 2:
        size, at = read_varint(data, at)
      if size is None or size > len(data) - at:
        return None
      value = data[at:at + size]
      at += size
    else:
      return None
    fields.append([key >> 3, kind, value])
  return fields


def serialize_field(field):
  number, kind, value = field
  if kind == 0:
    return tag(number, 0) + varint(value)
  return tag(number, kind) + (varint(len(value)) if kind == 2 else b'') + value


def serialize(fields):
  return b''.join(field if isinstance(field, bytes) else serialize_field(field)
                  for field in fields)


class Damage:
  """Damages bytes and messages, each time in one place."""

  def __init__(self, generator, others):
    self.random = generator
    self.others = others

  def any_bytes(self, data):
    """Returns them with damage that knows of no fields."""
    data = bytearray(data)
    if not data:
      return bytes(data)
    where = self.random.randrange(len(data))
    kind = self.random.randrange(7)
    if kind == 0:
      data[where] ^= 1 << self.random.randrange(8)
    elif kind == 1:
      data[where] = self.random.choice([0, 1, 127, 128, 255])
    elif kind == 2:
      del data[where:]
    elif kind == 3:
      del data[where:where + self.random.randint(1, 40)]
    elif kind == 4:
      data[where:where] = data[where:where + self.random.randint(1, 400)]
    elif kind == 5:
      other = self.random.choice(self.others)
      data[where:] = other[self.random.randrange(len(other)):]
    else:
      size = self.random.choice([4, 8])
      where &= ~(size - 1)
      data[where:where + size] = (self.random.choice(EXTREMES) % 256**size).to_bytes(
          size, 'little')
    return bytes(data)

  def fields(self, fields):
    """Changes one of them, or their order."""
    where = self.random.randrange(len(fields))
    number, kind, value = fields[where]
    choice = self.random.randrange(10)
    if choice == 0:
      del fields[where]
    elif choice == 1:
      fields[where:where] = [fields[where]] * self.random.choice([1, 2, 20, 1000])
    elif choice == 2:
      other = self.random.randrange(len(fields))
      fields[where], fields[other] = fields[other], fields[where]
    elif choice == 3:
      fields[where] = [self.random.choice([1, 2, 3, 4, 6, 8, 10, 11, 60, 1004, 2**29 - 1]),
                       kind, value]
    elif choice == 4:
      rest = serialize_field(fields[where])[len(tag(number, kind)):]
      fields[where] = tag(number, self.random.randrange(6)) + rest
    elif choice == 5:
      size = self.random.choice(EXTREMES)
      fields[where] = tag(number, 2) + varint(size) + (
          value if isinstance(value, bytes) else b'')
    elif choice == 6:
      fields[where] = [number, 0, self.random.choice(EXTREMES)]
    elif choice == 7:
      fields[where] = [number, 2, self.random.choice(TEXTS)]
    elif choice == 8:
      fields[where] = [number, 1, self.random.choice(EXTREMES).to_bytes(8, 'little')]
    elif kind == 0:
      delta = self.random.choice([1, -1, 256, -256, 2**32, 2**40])
      fields[where] = [number, 0, (value + delta) % 2**64]
    else:
      fields[where] = [number, kind, self.any_bytes(value)]

  def content(self, field, depth):
    """Returns what becomes of a field with a message or compressed packets."""
    if field[0] == COMPRESSED_PACKETS and self.random.random() < 0.8:
      try:
        return zlib.compress(self.message(zlib.decompress(field[2]), depth))
      except zlib.error:
        pass
    return self.message(field[2], depth + 1)

  def message(self, data, depth=0):
    fields = parse(data)
    if not fields:
      is_text = depth != 0 and self.random.random() < 0.7
      return self.random.choice(TEXTS) if is_text else self.any_bytes(data)
    if depth == 0 and self.random.random() < 0.03:
      self.random.shuffle(fields)
      return serialize(fields)
    inner = [at for at, field in enumerate(fields) if field[1] == 2 and field[2]]
    if inner and self.random.random() < (0.6 if depth else 0.97):
      # A large message, such as one of names, is worth more than one event.
      weights = [len(fields[at][2])**0.5 for at in inner]
      (at,) = self.random.choices(inner, weights)
      field = fields[at]
      field[2] = self.content(field, depth)
    else:
      self.fields(fields)
    return serialize(fields)


class DamagedRecordingsTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.output = self.folder / 'output'
    self.rules = self.folder / 'rules'
    self.rules.write_text(RULES)

  def run_program(self, *command):
    return subprocess.run([str(part) for part in command], env=self.env,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

  def record(self):
    """Returns small traces of programs."""
    traces = []
    for options in (), ('--compress', 'deflate'), ('--compress', 'zstd'):
      recorded = self.run_program(PZTRACE, 'record', *options, '-o', self.trace, '--',
                                  BUILD_DIR / 'event_tracer')
      if b'built without' not in recorded.stdout:
        traces.append(self.trace.read_bytes())
    log = self.folder / 'ninja_log'
    log.write_text('# ninja log v5\n' + ''.join(
        '%d\t%d\t0\tout/%d.o\t%x\n' % (at * 10, at * 10 + 35, at, at)
        for at in range(20)))
    for program, *options in (('task_tracer', self.trace),
                              ('async_server', '-o', self.trace),
                              ('extension_tracer', self.trace, '2'),
                              ('ninja_trace', '-o', self.trace, log)):
      self.run_program(BUILD_DIR / program, *options)
      fields = parse(self.trace.read_bytes())
      traces.append(serialize(fields[:300] + fields[300:][-50:]))
    traces.append(divided_trace(['a', 'b']) + interned_stacks(['main', 'sort']) +
                  sample(11 * MS, 1))
    # One run of protoc is enough for all.
    packets = encode(MARK.join(case.text for case in read_cases()))
    (mark,) = encode(MARK)
    return 10 * traces + [b''.join(case) for is_mark, case in itertools.groupby(
        packets, lambda packet: packet == mark) if not is_mark]

  def commands(self, generator, trace, other):
    """Returns commands that read a trace, and kinds of what they print."""
    text = generator.choice(['csv', 'ndjson'])
    table = generator.choice(['slices', 'instants', 'counters', 'tasks', 'losses'])
    cut = PZTRACE, 'cut', '-o', self.output, trace
    export = PZTRACE, 'export', trace
    commands = [
        (None, PZTRACE, 'cat', trace),
        (None, PZTRACE, 'cat', '--offsets', trace),
        ('trace', *cut),
        ('trace', *cut, '--from', '1ms', '--to', '3ms'),
        ('trace', *cut, '--categories', 'app*'),
        ('trace', *cut, '--process', '*er'),
        ('trace', *cut, '--drop-strings', 'a'),
        ('trace', *cut, '--hash-strings', 'e'),
        ('trace', PZTRACE, 'merge', '-o', self.output, trace, other),
        (None, PZTRACE, 'merge', '-o', self.output, 'a=%s' % trace, 'b=%s' % other),
        (None, PZTRACE, 'top', trace),
        (text, PZTRACE, 'diff', '--format', text, trace, trace, '--', other, other),
        (None, PZTRACE, 'diff', trace, other),
        (None, PZTRACE, 'diff', '--html', trace, other),
        (None, PZTRACE, 'why', trace),
        (None, PZTRACE, 'tasks', trace),
        (None, PZTRACE, 'tasks', '--slowest', '3', trace),
        (text, PZTRACE, 'tasks', '--format', text, trace),
        ('xml', PZTRACE, 'svg', trace),
        (None, PZTRACE, 'html', trace),
        (text, *export, '--' + table, '--format', text),
        (text, *export, '--slices', '--unfinished', '--format', text),
        (None, *export, '-o', self.output, '--format', text),
        (None, PZTRACE, 'check', self.rules, trace),
        (None, PBZ, '--schema', 'auto', trace),
        (None, PBZ, trace),
        (None, PBZ, '--delimited', trace),
        (None, PBZ, 'stats', '--schema', 'auto', trace),
        (None, PBZ, 'stats', trace),
        (None, PBZ, 'export', '--schema', 'auto', '--format', 'ndjson', trace),
    ]
    if has_sqlite():
      commands += [
          (None, *export, '-o', self.output, '--format', 'sqlite'),
          ('ndjson', PZTRACE, 'sql', '--format', 'ndjson', trace, ARGS_QUERY),
          (None, PZTRACE, 'sql', trace, 'select * from thread_track'),
          (None, PZTRACE, 'sql', trace, 'select * from thread_state, stack_sample'),
      ]
    return commands

  def run_limited(self, command):
    """Returns the exit code, what it prints, its errors, and its memory in kB."""
    with open(self.folder / 'stdout', 'w+b') as output, open(
        self.folder / 'stderr', 'w+b') as error:
      # wait4() has the memory of this one process.
      # pylint: disable=consider-using-with
      process = subprocess.Popen([str(part) for part in command], env=self.env,
                                 stdin=subprocess.DEVNULL, stdout=output, stderr=error)
      timer = threading.Timer(TIMEOUT_S, process.kill)
      timer.start()
      _, status, usage = os.wait4(process.pid, 0)
      timer.cancel()
      process.returncode = os.waitstatus_to_exitcode(status)
      output.seek(0)
      error.seek(0)
      return (process.returncode, output.read(), error.read().decode(errors='replace'),
              usage.ru_maxrss)

  def check_printed(self, kind, output):
    text = output.decode()
    if kind == 'ndjson':
      for line in text.split('\n')[:-1]:
        self.assertIsInstance(json.loads(line), dict)
    elif kind == 'csv':
      rows = list(csv.reader(io.StringIO(text, newline=''), strict=True))
      self.assertLessEqual(len({len(row) for row in rows}), 1)
    elif kind == 'xml' and text:
      xml.etree.ElementTree.fromstring(text)

  def check_run(self, kind, *command):
    """Returns the exit code."""
    code, printed, error, memory = self.run_limited(command)
    self.assertIn(code, (0, 1), error[-3000:])
    self.assertNotRegex(error, 'runtime error: |Sanitizer: ')
    if code == 1 and command[1] != 'check':
      self.assertRegex(error, '(?m)^(pztrace|pbz): |: malformed')
    self.assertLess(memory, MAX_MEMORY_KB)
    if kind == 'trace':
      if code == 0:
        self.check_run(None, PZTRACE, 'top', self.output)
    elif kind:
      self.check_printed(kind, printed)
    if self.output.is_dir():
      shutil.rmtree(self.output)
    else:
      self.output.unlink(missing_ok=True)
    return code

  def keep(self, seed, command):
    FAILED.mkdir(exist_ok=True)
    for part in command:
      path = pathlib.Path(part)
      if path.is_file() and self.folder in path.parents:
        shutil.copy(path, FAILED / ('%d-%s' % (seed, path.name)))

  def run_seeds(self, share, recordings, commands):
    damaged = self.folder / 'damaged'
    other = self.folder / 'other'
    for data in recordings:
      damaged.write_bytes(data)
      other.write_bytes(data)
      kind, *command = commands(random.Random(1), damaged, other)[0]
      self.assertEqual(self.check_run(kind, *command), 0)
    for seed in range(first_seed, first_seed + int(num_runs * share)):
      generator = random.Random(seed)
      damage = Damage(generator, recordings)
      data = generator.choice(recordings)
      other.write_bytes(data)
      for _ in range(generator.choice([1, 4, 16])):
        data = damage.message(data)[:MAX_SIZE]
      if generator.random() < 0.1:
        data = generator.choice(recordings) + data
      damaged.write_bytes(data)
      kind, *command = generator.choice(commands(generator, damaged, other))
      with self.subTest(seed=seed, command=' '.join(map(str, command[1:]))):
        try:
          self.check_run(kind, *command)
        except BaseException:
          self.keep(seed, command)
          raise

  def test_traces(self):
    self.run_seeds(0.8, self.record(), self.commands)

  def test_flight_recordings(self):
    recordings = []
    for arguments in ('20000', '1', '50'), ('40000', '3', '3000'):
      self.run_program(BUILD_DIR / 'flight_tracer', self.trace, *arguments)
      recordings.append(self.trace.read_bytes())
    folder = self.folder / 'folder'
    folder.mkdir()

    def commands(_, recording, other):
      shutil.copy(recording, folder / 'a-1.flight')
      shutil.copy(other, folder / 'b-2.flight')
      return [('trace', PZTRACE, 'recover', '-o', self.output, recording),
              ('trace', PZTRACE, 'recover', '-o', self.output, folder),
              (None, PZTRACE, 'recover', recording)]

    self.run_seeds(0.15, recordings, commands)

  def test_databases(self):
    if not has_sqlite():
      self.skipTest('pztrace was built without SQLite')
    self.run_program(BUILD_DIR / 'task_tracer', self.trace)
    self.run_program(PZTRACE, 'export', '--format', 'sqlite', '-o', self.output,
                     self.trace)
    database = self.output.read_bytes()
    self.run_seeds(0.05, [database], lambda _, path, __: [
        (None, PZTRACE, 'sql', path, 'select * from slice'),
        ('ndjson', PZTRACE, 'sql', '--format', 'ndjson', path, ARGS_QUERY)])


if __name__ == '__main__':
  arguments_left = sys.argv[1:]
  while arguments_left[:1] and arguments_left[0] in ('--runs', '--seed'):
    if arguments_left[0] == '--runs':
      num_runs = int(arguments_left[1])
    else:
      first_seed = int(arguments_left[1])
    del arguments_left[:2]
  sys.exit(run_cases(arguments_left))
