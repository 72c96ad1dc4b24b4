#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace record --flight-recorder` keeps what programs and the recorder have
finished, however they end. Runs in the build directory.
`flight_recorder_test.py --kills 1000` takes its time."""

import csv
import io
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

from recording import BUILD_DIR, PZTRACE, ROOT, PztraceTest, main

LINE_TRACER = BUILD_DIR / 'line_tracer'
EVENT_TRACER = BUILD_DIR / 'event_tracer'
FLIGHT_TRACER = BUILD_DIR / 'flight_tracer'
# Only what hangs takes this long.
TIMEOUT_S = 60
NOBODY = 65534
# In a flight recorder's file: see FlightHeader.
LOSSES_OFFSET = 64
KILLS = 5


class FlightRecorderTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.flights = self.folder / 'flights'

  def spawn(self, *command, **pipes):
    process = subprocess.Popen([str(part) for part in command], env=self.env, text=True,
                               **pipes)
    def end():
      process.kill()
      process.wait()
      for pipe in process.stdin, process.stdout, process.stderr:
        if pipe:
          pipe.close()
    self.addCleanup(end)
    return process

  def start_recorder(self, *options):
    recorder = self.spawn(PZTRACE, 'record', '--flight-recorder', self.flights, '--size',
                          '2M', *options, stderr=subprocess.PIPE)
    line = recorder.stderr.readline()
    self.assertIn('PERFETTO_PRODUCER_SOCK_NAME=', line)
    self.address = line.partition('PERFETTO_PRODUCER_SOCK_NAME=')[2].split()[0]
    return recorder

  def start_program(self, name):
    """A program that traces each line that it gets."""
    return self.spawn(LINE_TRACER, name, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

  def write(self, program, line):
    """The answer of the program to the line."""
    program.stdin.write(line + '\n')
    program.stdin.flush()
    return program.stdout.readline()

  def write_until(self, program, line, wanted):
    end = time.monotonic() + TIMEOUT_S
    while self.write(program, line) != wanted:
      self.assertLess(time.monotonic(), end)
      time.sleep(0.01)

  def wait_for(self, recorder, pattern):
    for line in recorder.stderr:
      if re.search(pattern, line):
        return
    self.fail('no line matches ' + pattern)

  def kill(self, *processes):
    for process in processes:
      process.kill()
      process.wait()

  def recover(self, folder=None):
    """Makes the trace. Returns what is said of it."""
    code, output, error = self.run_pztrace('recover', '-o', self.trace,
                                           folder or self.flights)
    self.assertEqual((code, output), (0, ''), error)
    return error

  def lines(self):
    """The lines by process."""
    lines = {}
    for packet in self.decode():
      for event in packet.all('track_event'):
        lines.setdefault(packet.int('trusted_pid'), set()).add(event.get('name').rstrip('\n'))
    return lines

  def last(self):
    return pathlib.Path(str(self.flights) + '.last')

  def test_all_is_there_after_kills(self):
    recorder = self.start_recorder()
    one = self.start_program('one')
    two = self.start_program('two')
    self.write_until(one, 'first', 'traced\n')
    self.write_until(two, 'first', 'traced\n')
    for number in range(1000):
      self.assertEqual(self.write(one, 'of one %d' % number), 'traced\n')
      self.assertEqual(self.write(two, 'of two %d' % number), 'traced\n')
    self.kill(recorder, one, two)
    error = self.recover()
    self.assertRegex(error, r'\A\d+ packets of 1 thread of process \d+\n'
                     r'\d+ packets of 1 thread of process \d+\n'
                     r'[\d.]+ [nmu]?s: nothing lost\n\Z')
    self.assertEqual(self.lines(), {
        program.pid: {'first'} | {'of %s %d' % (name, n) for n in range(1000)}
        for name, program in (('one', one), ('two', two))})
    sequences = {(packet.int('trusted_pid'), packet.get('trusted_packet_sequence_id'))
                 for packet in self.decode() if packet.all('track_event')}
    self.assertEqual(len({sequence for _, sequence in sequences}), 2)

  def test_programs_go_on_without_a_recorder(self):
    recorder = self.start_recorder()
    program = self.start_program('server')
    self.write_until(program, 'before', 'traced\n')
    self.kill(recorder)
    # Listing takes nothing from the program.
    listed = 'server (%d): track_event\n' % program.pid
    end = time.monotonic() + TIMEOUT_S
    while self.run_pztrace('list')[:2] != (0, listed):
      self.assertLess(time.monotonic(), end)
    for number in range(50):
      self.assertEqual(self.write(program, 'between'), 'traced\n')
      time.sleep(0.001)
    recorder = self.start_recorder()
    self.wait_for(recorder, r'server \(%d\) is connected' % program.pid)
    end = time.monotonic() + TIMEOUT_S
    while 'after' not in self.lines_of(self.flights):
      self.assertLess(time.monotonic(), end)
      self.write(program, 'after')
    self.assertLessEqual({'before', 'between'}, self.lines_of(self.last()))
    self.assertNotIn('between', self.lines_of(self.flights))
    # One that ends as the user wants it ends the recording.
    recorder.send_signal(signal.SIGINT)
    self.assertIn('%s: 1 program; `pztrace recover` makes a trace of it\n' % self.flights,
                  recorder.stderr.read())
    self.assertEqual(recorder.wait(TIMEOUT_S), 0)
    self.assertEqual(self.write(program, 'late'), 'off\n')
    self.assertNotIn('late', self.lines_of(self.flights))

  def test_a_service_that_does_not_answer_ends_nothing(self):
    recorder = self.start_recorder()
    program = self.start_program('server')
    self.write_until(program, 'before', 'traced\n')
    self.kill(recorder)
    # A recorder that is being killed has ended its connections, and still accepts.
    os.unlink(self.address)
    with socket.socket(socket.AF_UNIX) as listener:
      listener.bind(self.address)
      listener.listen()
      listener.settimeout(TIMEOUT_S)
      listener.accept()[0].close()
      for _ in range(50):
        self.assertEqual(self.write(program, 'between'), 'traced\n')
        time.sleep(0.001)
      listener.accept()[0].close()
    os.unlink(self.address)
    self.assertLessEqual({'before', 'between'}, self.lines_of(self.flights))

  def lines_of(self, folder):
    self.recover(folder)
    return set().union(*self.lines().values())

  def test_nothing_is_replaced_if_the_command_cannot_run(self):
    for line in 'first', 'second':
      recorder = self.start_recorder()
      program = self.start_program('server')
      self.write_until(program, line, 'traced\n')
      self.kill(recorder, program)
    entries = sorted(self.folder.rglob('*'))
    for _ in range(2):
      code, _, error = self.run_pztrace('record', '--flight-recorder', self.flights, '--',
                                        'no such')
      self.assertEqual((code, error), (1, 'pztrace: no such: No such file or directory\n'))
    self.assertEqual(sorted(self.folder.rglob('*')), entries)
    self.assertEqual(self.lines_of(self.flights), {'second'})
    self.assertEqual(self.lines_of(self.last()), {'first'})

  def test_only_silent_programs_are_named(self):
    # The shell ends before the programs that it has started.
    for options, lines, problem in (
        ((), ('', ''), r'2 producers connected and wrote nothing: [ab] \(\d+\), [ab] \(\d+\)'),
        ((), ('line\n', ''), r'1 producer connected and wrote nothing: b \(\d+\)'),
        ((), ('line\n', 'line\n'), '')):
      with self.subTest(lines):
        code, _, error = self.run_pztrace(
            'record', '--flight-recorder', self.flights, '--size', '2M', *options, '--', 'sh',
            '-c', "printf '%s' | '%s' a; printf '%s' | '%s' b" %
            (lines[0], LINE_TRACER.resolve(), lines[1], LINE_TRACER.resolve()))
        self.assertEqual(code, 0, error)
        self.assertRegex(error, r'\A%s%s: 2 programs; .*\n\Z' %
                         ('pztrace: %s\n' % problem if problem else '',
                          re.escape(str(self.flights))))

  def test_categories_that_no_program_has(self):
    record = 'record', '--flight-recorder', self.flights, '--size', '2M', '--categories'
    code, _, error = self.run_pztrace(*record, 'nosuchcat', '--', EVENT_TRACER)
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: nothing was recorded of the categories 'nosuchcat'; "
                  "producers knew 'app', 'net.dns', 'net.io', 'net.slow', "
                  "and others may come with their first event\n", error)
    code, _, error = self.run_pztrace(*record, 'net.*', '--', EVENT_TRACER)
    self.assertEqual(code, 0, error)
    self.assertNotIn('nothing', error)

  def test_programs_that_have_ended_make_room(self):
    recorder = self.start_recorder('--keep', 2)
    one = self.start_program('one')
    two = self.start_program('two')
    self.write_until(one, 'of one', 'traced\n')
    self.write_until(two, 'of two', 'traced\n')
    three = self.start_program('three')
    self.wait_for(recorder, r'three \(%d\) is not recorded: .*each file of the flight '
                  'recorder is in use' % three.pid)
    self.assertEqual(self.write(three, 'of three'), 'off\n')
    self.kill(two, one)
    self.recover()
    self.assertEqual(self.lines(), {one.pid: {'of one'}, two.pid: {'of two'}})
    four = self.start_program('four')
    self.write_until(four, 'of four', 'traced\n')
    self.recover()
    lines = self.lines()
    self.assertEqual(len(lines), 2)
    self.assertEqual(lines[four.pid], {'of four'})
    self.assertEqual(sum(path.stat().st_size for path in self.flights.iterdir()) // 2**20,
                     2)

  def test_the_last_lines_are_there(self):
    self.start_recorder('--size', '512k', '--keep', 2)
    program = self.start_program('server')
    self.write_until(program, 'x' * 1000, 'traced\n')
    for number in range(2000):
      self.assertEqual(self.write(program, '%d %s' % (number, 'x' * 1000)), 'traced\n')
    self.assertRegex(self.recover(), r': (\d+) packets lost: \1 overwritten in the buffer\n')
    numbers = [int(line.split()[0]) for line in self.lines()[program.pid]]
    self.assertGreater(len(numbers), 150)
    self.assertEqual(sorted(numbers), list(range(2000 - len(numbers), 2000)))

  def test_files_are_not_trusted(self):
    recorder = self.start_recorder()
    programs = [self.start_program(name)
                for name in ('good', 'liar', 'breaker', 'cutter', 'grower', 'larger')]
    for program in programs:
      self.write_until(program, 'line', 'traced\n')
    self.kill(recorder, *programs)
    liar, breaker, cutter, grower, larger = (
        next(self.flights.glob('*-%d.flight' % program.pid)) for program in programs[1:])
    with open(liar, 'r+b') as file:
      file.seek(28)
      file.write(struct.pack('iI', programs[0].pid, 12345))
    with open(breaker, 'r+b') as file:
      file.write(b'x')
    os.truncate(cutter, 8192)
    # A file that is larger, and says so, or not.
    for path in grower, larger:
      os.truncate(path, 1 << 43)
    with open(grower, 'r+b') as file:
      file.seek(24)
      file.write(struct.pack('I', 1 << 30))
    fifo, link, folder = (self.flights / ('0000000%d-1-1.flight' % i) for i in (7, 8, 9))
    os.mkfifo(fifo)
    link.symlink_to(liar)
    folder.mkdir()
    error = self.recover()
    self.assertIn('%s: the program has changed its size\n' % grower, error)
    for path in fifo, folder:
      self.assertIn('%s: no file of a flight recorder\n' % path, error)
    self.assertIn('%s: Too many levels of symbolic links\n' % link, error)
    self.assertIn('%s: no file of a flight recorder\n' % breaker, error)
    self.assertIn('%s: cut, or damaged at its beginning\n' % cutter, error)
    self.assertEqual(self.lines(), {program.pid: {'line'}
                                    for program in (*programs[:2], programs[5])})
    self.assertIn('an unknown number of packets lost in 6 places\n', error)
    uids = [packet.int('trusted_uid') for packet in self.decode()
            if packet.all('track_event')]
    self.assertEqual(uids, [os.geteuid()] * 3)

  def test_links_in_the_folder_are_not_followed(self):
    terminal, end = os.openpty()
    self.addCleanup(os.close, terminal)
    recorder = self.spawn(PZTRACE, 'record', '--flight-recorder', self.flights, stderr=end)
    os.close(end)
    programs = [self.start_program(name) for name in ('one', 'two')]
    for program in programs:
      self.write_until(program, 'line of %d' % program.pid, 'traced\n')
    self.kill(*programs)
    first, second = (next(self.flights.glob('*-%d.flight' % program.pid))
                     for program in programs)
    target = self.folder / 'target'
    second.rename(target)
    second.symlink_to(target)
    for path, losses in (first, 33), (target, 777):
      with open(path, 'r+b') as file:
        file.seek(LOSSES_OFFSET)
        file.write(struct.pack('Q', losses))
    status = ''
    while not re.search(r'\d+ packets lost', status):
      status += os.read(terminal, 4096).decode()
    self.assertEqual(re.search(r'(\d+) packets lost', status)[1], '33')
    self.kill(recorder)
    error = self.recover()
    self.assertIn('%s: Too many levels of symbolic links\n' % second, error)
    self.assertEqual(self.lines(), {programs[0].pid: {'line of %d' % programs[0].pid}})

  def test_nothing_recovered_replaces_nothing(self):
    trace = self.folder / 'old.pftrace'
    trace.write_bytes(b'old')
    recorder = self.start_recorder()
    recorder.terminate()
    recorder.wait()
    code, _, error = self.run_pztrace('recover', '-o', trace, self.flights)
    self.assertEqual(code, 1, error)
    self.assertIn('no program has left a recording', error)
    self.assertEqual(trace.read_bytes(), b'old')

  def test_snapshot_and_statistics(self):
    recorder = self.start_recorder()
    program = self.start_program('server')
    self.write_until(program, 'line', 'traced\n')
    self.write(program, 'another')
    code, _, error = self.run_pztrace('snapshot', '-o', self.trace)
    self.assertEqual(code, 0, error)
    self.assertRegex(error, r', 2 of them of 1 writer in 1 producer, nothing lost\n')
    self.assertEqual(self.lines(), {program.pid: {'line', 'another'}})
    code, output, error = self.run_pztrace('stat')
    self.assertEqual(code, 0, error)
    self.assertRegex(output, r'\A%s: 2097152 bytes after [\d.]+ s, with the last [\d.]+ s\n'
                     r'(?s:.*)server \(%d\) (?s:.*)\n2 packets of 1 writer, nothing lost\n'
                     % (self.flights, program.pid))
    # The same without a recorder.
    self.kill(recorder)
    code, output, error = self.run_pztrace('recover', self.flights)
    self.assertEqual((code, output), (0, ''))
    self.assertIn('2 packets of 1 thread of process %d\n' % program.pid, error)

  def test_folder_is_one_recorder_s(self):
    recorder = self.start_recorder()
    code, _, error = self.run_pztrace('record', '--flight-recorder', self.flights,
                                      '--', 'true')
    self.assertEqual((code, error),
                     (1, 'pztrace: %s: another recorder has it\n' % self.flights))
    self.kill(recorder)
    for name in 'absent', '.':
      code, _, error = self.run_pztrace('recover', '-o', self.trace, self.folder / name)
      self.assertEqual(code, 1)
      self.assertFalse(self.trace.exists())

  @unittest.skipUnless(os.geteuid() == 0 and shutil.which('setpriv'), 'needs root')
  def test_recipe_for_a_unit_of_systemd(self):
    self.folder.chmod(0o777)
    self.env.pop('XDG_RUNTIME_DIR')
    self.addCleanup(shutil.rmtree, '/tmp/pztrace-%d' % NOBODY, True)
    unit = re.search(r'```ini\n\[Service\]\n(.*?)```',
                     (ROOT / 'docs/pztrace/last-minutes.md').read_text(), re.S)[1]
    values = dict(line.split('=', 1) for line in unit.splitlines())
    folders = {'%S': values.pop('StateDirectory'), '%t': values.pop('RuntimeDirectory')}
    command = values.pop('ExecStart')
    self.assertEqual(values, {'User': 'web', 'Restart': 'always'})
    for place, name in folders.items():
      folder = self.folder / place / name
      folder.mkdir(parents=True)
      os.chown(folder, NOBODY, NOBODY)
      command = command.replace(place, str(self.folder / place))
    as_user = 'setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY, '--clear-groups'
    program, *arguments = command.split()
    self.assertEqual(program, 'pztrace')
    self.flights = self.folder / '%S' / folders['%S'] / 'now'
    self.env['PERFETTO_PRODUCER_SOCK_NAME'] = str(
        self.folder / '%t' / folders['%t'] / 'producers')
    server = self.spawn(*as_user, shutil.copy(LINE_TRACER, self.folder), 'server',
                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    for line in 'first', 'second':
      recorder = self.spawn(*as_user, shutil.copy(PZTRACE, self.folder), *arguments,
                            stderr=subprocess.PIPE)
      self.wait_for(recorder, 'server .* is connected')
      self.write_until(server, line, 'traced\n')
      # systemd starts it again.
      self.kill(recorder)
    self.assertIn('first', self.lines_of(self.last()))
    self.assertIn('second', self.lines_of(self.flights))

  def test_wrong_usage(self):
    for options, problem in (
        (('-o', self.trace), 'give no -o'),
        (('--ring', '10s'), 'give no --ring'),
        (('--when', 'category a'), 'give no --when'),
        (('--fail-on-loss',), 'give no --fail-on-loss'),
        (('--size', '64k', '--keep', 2), '--size has less than 64k for each of 2 programs')):
      code, _, error = self.run_pztrace('record', '--flight-recorder', self.flights,
                                        *options)
      self.assertEqual(code, 2)
      self.assertIn(problem, error)
      self.assertFalse(self.flights.exists())

  def events(self):
    """The numbers of the events by process and thread, in their order."""
    code, output, error = self.run_pztrace('export', '--instants', self.trace)
    self.assertEqual(code, 0, error)
    threads = {}
    for row in csv.DictReader(io.StringIO(output)):
      args = json.loads(row['args'])
      threads.setdefault((int(row['pid']), args['thread']), []).append(args['number'])
    return threads

  def counts(self, path):
    """The number of finished events of each thread."""
    content = path.read_bytes() if path.exists() else b''
    return struct.unpack('2q', content or bytes(16))

  def test_random_kills(self):
    for seed in range(KILLS):
      with self.subTest(seed=seed):
        dice = random.Random(seed)
        recorder = self.start_recorder('--keep', 2)
        counts = [self.folder / ('%d-%d.count' % (seed, i)) for i in range(2)]
        programs = [self.spawn(FLIGHT_TRACER, str(path)[:-len('.count')], 0, 2)
                    for path in counts]
        for path in counts:
          while not all(self.counts(path)):
            time.sleep(0.001)
        everybody = [recorder, *programs]
        dice.shuffle(everybody)
        for process in everybody:
          time.sleep(dice.random() * 0.1)
          process.kill()
        self.kill(*everybody)
        self.recover()
        events = self.events()
        for program, path in zip(programs, counts):
          for thread, count in enumerate(self.counts(path)):
            numbers = events.get((program.pid, thread), [])
            last = numbers[-1] + 1 if numbers else 0
            self.assertIn(last, (count, count + 1))
            self.assertEqual(numbers, list(range(last - len(numbers), last)))


if __name__ == '__main__':
  if len(sys.argv) > 2 and sys.argv[1] == '--kills':
    KILLS = int(sys.argv[2])
    del sys.argv[1:3]
  sys.exit(main())
