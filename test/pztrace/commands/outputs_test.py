#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""No output takes the place of what is read, of what another program writes, or of
the memory of a flight recorder. Runs in the build directory, as pztrace_test.py
does."""

import os
import shutil
import subprocess
import sys

from recording import BUILD_DIR, PZTRACE, WORKERS, PztraceTest, main

PBZ = BUILD_DIR / 'pbz'
LINE_TRACER = BUILD_DIR / 'line_tracer'
REPLACES_INPUT = 'the output cannot replace what is read'


class OutputsTest(PztraceTest):

  def setUp(self):
    super().setUp()
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--', WORKERS, '--items', 5)
    self.assertEqual(code, 0, error)
    self.old = self.trace.read_bytes()

  def names(self, file):
    """Other names of a file."""
    link = self.folder / 'link'
    hard = self.folder / 'hard'
    if not link.exists():
      link.symlink_to(file)
      os.link(file, hard)
    return file, link, hard, file.parent / '..' / file.parent.name / file.name

  def refuse(self, *command, why=REPLACES_INPUT, **pipes):
    """Expects that a command fails, and says so."""
    process = subprocess.run([str(part) for part in command], env=self.env, check=False,
                             stdout=pipes.pop('stdout', subprocess.PIPE),
                             stderr=subprocess.PIPE, **pipes)
    error = process.stderr.decode()
    self.assertIn(process.returncode, (1, 2), error)
    self.assertIn(why, error)

  def test_what_is_read_stays(self):
    other = self.folder / 'other'
    shutil.copy(self.trace, other)
    config = self.folder / 'config'
    config.write_text('buffers { size_kb: 64 }')
    for output in self.names(self.trace):
      for command in (('cut', self.trace), ('merge', self.trace, other),
                      ('merge', other, self.trace), ('merge', 'a=%s' % other,
                                                     'b=%s' % self.trace),
                      ('html', self.trace), ('export', '--format', 'sqlite', self.trace),
                      ('record', '--config', self.trace, '--', 'true')):
        with self.subTest(command=command, output=output):
          why = REPLACES_INPUT if command[0] != 'record' else 'trace'
          self.refuse(PZTRACE, *command, '-o', output, why=why)
          self.assertEqual(self.trace.read_bytes(), self.old)
    text = config.read_text()
    self.refuse(PZTRACE, 'record', '--config', config, '-o', config, '--', 'true')
    self.assertEqual(config.read_text(), text)

  def test_an_output_is_no_later_input(self):
    other = self.folder / 'other'
    shutil.copy(self.trace, other)
    for command in 'top', 'tasks':
      with self.subTest(command), open(self.trace, 'ab') as output:
        self.refuse(PZTRACE, command, other, self.trace, stdout=output)
        self.assertEqual(self.trace.read_bytes(), self.old)

  def test_the_standard_input_stays(self):
    for name in '-', '/dev/stdin', '/proc/self/fd/0':
      for command in 'html', 'cut':
        with self.subTest(name=name, command=command), open(self.trace, 'rb') as file:
          self.refuse(PZTRACE, command, name, '-o', self.trace, stdin=file)
          self.assertEqual(self.trace.read_bytes(), self.old)

  def test_tables_of_a_folder(self):
    for extension, options in ('csv', ()), ('ndjson', ('--format', 'ndjson')):
      for table in 'slices', 'losses':
        with self.subTest(extension=extension, table=table):
          folder = self.folder / extension / table
          folder.mkdir(parents=True)
          files = [folder / ('%s.%s' % (name, extension))
                   for name in ('slices', 'instants', 'counters', 'tasks')]
          for file in files:
            file.write_bytes(b'old')
          path = folder / ('%s.%s' % (table, extension))
          shutil.copy(self.trace, path)
          # The first of several, and the last.
          for inputs in (path, self.trace), (self.trace, path):
            self.refuse(PZTRACE, 'export', '-o', folder, *options, *inputs)
            self.assertEqual(path.read_bytes(), self.old)
          self.assertEqual([file.read_bytes() for file in files if file != path],
                           [b'old'] * (3 if path in files else 4))

  def test_the_standard_output_does_not_follow_what_is_read(self):
    database = self.folder / 'database'
    self.assertEqual(self.run_pztrace('export', '--format', 'sqlite', '-o', database,
                                      self.trace)[0], 0)
    for path, command in ((self.trace, (PZTRACE, 'cat')), (self.trace, (PZTRACE, 'top')),
                          (self.trace, (PZTRACE, 'svg')),
                          (self.trace, (PZTRACE, 'cut', '-o', '-')),
                          (self.trace, (PZTRACE, 'merge', '-o', '-')),
                          (self.trace, (PZTRACE, 'html')),
                          (self.trace, (PZTRACE, 'diff', '--html', self.trace)),
                          (self.trace, (PZTRACE, 'export', '--slices')),
                          (self.trace, (PBZ,)), (self.trace, (PBZ, 'stats')),
                          (database, (PZTRACE, 'sql'))):
      with self.subTest(command), open(path, 'ab') as file:
        old = path.read_bytes()
        more = ('select 1',) if 'sql' in command else ()
        self.refuse(*command, path, *more, stdout=file)
        self.assertEqual(path.read_bytes(), old)

  def test_a_failed_archive_replaces_nothing(self):
    archive = self.folder / 'all.tar'
    archive.write_bytes(b'old')
    self.refuse(PZTRACE, 'merge', '-o', archive, 'a=%s' % self.trace, 'b=/no/such',
                why='/no/such')
    self.assertEqual(archive.read_bytes(), b'old')

  def test_a_recording_stays(self):
    recorder = self.start('record', '-o', self.trace)
    recorder.stderr.readline()
    other = self.folder / 'other'
    other.write_bytes(self.old)
    while not self.trace.read_bytes():
      pass
    for output in self.names(self.trace):
      for command in (('record', '--', 'true'), ('cut', other), ('html', other),
                      ('export', '--format', 'sqlite', other)):
        with self.subTest(command=command, output=output):
          self.refuse(PZTRACE, command[0], '-o', output, *command[1:],
                      why='is being written already')
    recorder.terminate()
    error = recorder.stderr.read()
    self.assertEqual(recorder.wait(), 0, error)
    self.assertIn(': %d bytes, ' % self.trace.stat().st_size, error)

  def test_the_memory_of_a_flight_recorder_stays(self):
    flights = self.folder / 'flights'
    recorder = self.start('record', '--flight-recorder', flights, '--size', '2M')
    address = recorder.stderr.readline().rstrip('\n').partition('=')[2]
    tracer = subprocess.Popen([str(LINE_TRACER)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE,
                              env=dict(self.env, PERFETTO_PRODUCER_SOCK_NAME=address))
    def trace():
      tracer.stdin.write(b'line\n')
      tracer.stdin.flush()
      return tracer.stdout.readline()
    while trace() != b'traced\n':
      pass
    file, = flights.glob('*.flight')
    for output in (*self.names(file), flights / 'recorder'):
      for command in (('recover', flights), ('recover', file), ('snapshot',),
                      ('cut', self.trace), ('merge', self.trace), ('html', self.trace),
                      ('export', '--format', 'sqlite', self.trace), ('record', '--', 'true')):
        with self.subTest(command=command, output=output):
          size = output.stat().st_size
          self.refuse(PZTRACE, command[0], '-o', output, *command[1:], why='pztrace: ')
          self.assertEqual(output.stat().st_size, size)
    self.assertEqual(trace(), b'traced\n')
    tracer.stdin.close()
    self.assertEqual(tracer.wait(), 0)
    tracer.stdout.close()
    self.assertEqual(self.run_pztrace('recover', flights)[0], 0)


if __name__ == '__main__':
  sys.exit(main())
