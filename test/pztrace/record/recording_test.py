#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what pztrace record leaves behind when something is in its way.

Runs in the build directory, as recording.py says, and waits as that does:
for things to happen, not for a time to pass.
"""

import array
import errno
import fcntl
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time

from recording import BUILD_DIR, PZTRACE, WORKERS, PztraceTest, main

LINE_TRACER = BUILD_DIR / 'line_tracer'
EVENT_TRACER = BUILD_DIR / 'event_tracer'
WITHOUT_CALL = BUILD_DIR / 'without_call'
# A name that a terminal would obey, and its printed form.
HOSTILE = '\x1b]0;x\x07\x9b31m\n\u202e"%s%n\udcff'
SHOWN = '\\033]0;x\\007\\302\\23331m\\n\\342\\200\\256\\"%s%n\\377'


class RecordingTest(PztraceTest):

  def test_categories_choose_events(self):
    for options, expected in (
        ((), {'app', 'net.io', 'net.dns'}),
        (('--categories', 'app,net.*'), {'app', 'net.io', 'net.dns'}),
        (('--categories', 'net.*,-net.dns'), {'net.io'}),
        (('--categories', ' app, net.* , -net.dns,'), {'app', 'net.io'}),
        (('--categories', '-app'), {'net.io', 'net.dns'}),
        (('--categories', 'net.slow'), {'net.slow'})):
      with self.subTest(options):
        code, _, error = self.run_pztrace('record', '-o', self.trace, *options,
                                          '--', EVENT_TRACER)
        self.assertEqual(code, 0, error)
        self.assertIn('nothing lost', error)
        names = re.findall('"of ([^"]*)"', self.check_readable())
        self.assertEqual(set(names), expected)

  def test_categories_that_nobody_has(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--categories',
                                      'nosuchcat', '--', EVENT_TRACER)
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: nothing was recorded of the categories 'nosuchcat'; "
                  "producers knew 'app', 'net.dns', 'net.io', 'net.slow', "
                  "and others may come with their first event\n", error)

  def test_a_category_that_nobody_has_beside_a_known_one(self):
    for wanted, unknown in (('app,nosuchcat', "'nosuchcat'"),
                            ('net.dn, net.*, other*,-none', "'net.dn', 'other*'"),
                            ('app, net.dns', None), ('*', None), ('-none', None)):
      with self.subTest(wanted):
        code, _, error = self.run_pztrace('record', '-o', self.trace, '--categories',
                                          wanted, '--', EVENT_TRACER)
        self.assertEqual(code, 0, error)
        if unknown is None:
          self.assertNotIn('knew', error)
        else:
          self.assertIn("pztrace: no producer knew %s; they knew 'app', 'net.dns', "
                        "'net.io', 'net.slow', and others may come with their first "
                        'event\n' % unknown, error)

  def start_tracer(self, *options, output=None, tracer=(), **kwargs):
    """A pztrace with a command that traces what it is told."""
    process = subprocess.Popen(
        [str(part) for part in (PZTRACE, 'record', '-o', output or self.trace,
                                *options, '--', LINE_TRACER, *tracer)],
        env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **kwargs)
    def end():
      process.kill()
      process.wait()
      for pipe in process.stdin, process.stdout, process.stderr:
        pipe.close()
    self.addCleanup(end)
    return process

  def write_line(self, process, line):
    process.stdin.write(line + b'\n')
    process.stdin.flush()

  def trace_line(self, process, line):
    self.write_line(process, line)
    self.assertEqual(process.stdout.readline(), b'traced\n')

  def wait_for(self, condition):
    while not condition():
      time.sleep(0.01)

  def read_trace(self):
    return self.trace.read_bytes() if self.trace.exists() else b''

  def check_readable(self, path=None):
    """Returns the content of the file, which ends with a whole packet."""
    code, output, error = self.run_pztrace('cat', path or self.trace)
    self.assertEqual((code, error), (0, ''))
    return output

  def check_summary(self, error, path=None):
    """Expects that the bytes that it names are in the file."""
    path = path or self.trace
    size = re.search(r'^%s: (\d+) bytes, ' % re.escape(str(path)), error, re.M)
    self.assertIsNotNone(size, error)
    self.assertEqual(int(size[1]), os.path.getsize(path))


class FileTest(RecordingTest):

  def content(self):
    """The files in the folder, but for sockets."""
    return {path.relative_to(self.folder): path.read_bytes()
            for path in self.folder.rglob('*') if path.is_file()}

  def test_nothing_is_replaced_if_a_recording_cannot_begin(self):
    old = b'of yesterday'
    config = self.folder / 'config'
    config.write_text('buffers { size_kb: 4096 } data_sources { config { name: "a" } }')
    text = self.folder / 'text'
    text.write_text('no program')
    text.chmod(0o755)
    link = self.folder / 'link'
    link.symlink_to(self.trace)
    dangling = self.folder / 'dangling'
    dangling.symlink_to(self.folder / 'nowhere')
    self.trace.write_bytes(old)
    before = self.content()
    for options in (), ('--ring', '1M'), ('--config', config), ('--on-trigger', 'a'), (
        '--when', 'slice a > 1s'), ('--rotate', '1s'):
      for output in self.trace, link, dangling, self.folder / 'new':
        for command in 'no such', self.folder, text, config:
          with self.subTest(options=options, output=output, command=command):
            code, _, error = self.run_pztrace('record', '-o', output, *options, '--', command)
            self.assertEqual(code, 1)
            self.assertIn('%s: ' % command, error)
            self.assertEqual(self.content(), before)
            self.assertTrue(dangling.is_symlink())
    # The sockets are there already, or cannot be.
    with socket.socket(socket.AF_UNIX) as taken:
      taken.bind('%s/taken' % self.folder)
      taken.listen()
      for options in ('--socket', self.folder / 'taken'), ('--socket', '/no/such/folder/s'), (
          '--config', text), ('--when', 'slice'), ('--size', '0'):
        code, _, error = self.run_pztrace('record', '-o', self.trace, *options, '--', 'true')
        self.assertNotEqual(code, 0, options)
        self.assertEqual(self.content(), before)

  def test_programs_that_do_not_answer_are_named(self):
    recorder = self.start('record', '-o', self.trace, '--', 'sh', '-c',
                          'echo $PERFETTO_PRODUCER_SOCK_NAME; read line; true')
    self.env['PERFETTO_PRODUCER_SOCK_NAME'] = recorder.stdout.readline().rstrip('\n')
    tracer = subprocess.Popen([str(LINE_TRACER)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, env=self.env)
    def end():
      tracer.kill()
      tracer.wait()
      tracer.stdin.close()
      tracer.stdout.close()
    self.addCleanup(end)
    answer = b'off\n'
    while answer == b'off\n':
      self.write_line(tracer, b'line')
      answer = tracer.stdout.readline()
    self.assertEqual(answer, b'traced\n')
    tracer.send_signal(signal.SIGSTOP)
    # All of its threads have to be stopped.
    self.assertTrue(os.WIFSTOPPED(os.waitpid(tracer.pid, os.WUNTRACED)[1]))
    recorder.stdin.close()
    self.assertEqual(recorder.stderr.readline(),
                     'pztrace: waiting for line_tracer (%d), which does not answer; a '
                     'stopped program does not, and an interrupt ends the wait\n' %
                     tracer.pid)
    recorder.send_signal(signal.SIGINT)
    self.assertEqual(recorder.wait(), 0)

  def test_what_is_traced_is_in_the_file_while_it_is_recorded(self):
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" } }
        write_into_file: true
        file_write_period_ms: 50''')
    for options in (), ('--config', config):
      process = self.start_tracer(*options)
      for line in b'first', b'second':
        # Nothing but a flush gets it out of the thread that writes it.
        self.trace_line(process, line)
        self.wait_for(lambda: line in self.read_trace())
      # The recorder has no occasion to do anything more.
      process.kill()
      process.wait()
      output = self.check_readable()
      self.assertIn('first', output)
      self.assertIn('second', output)
      process.stdin.close()

  def test_reader_of_the_output_sees_it_while_it_is_recorded(self):
    process = self.start_tracer(output='-')
    trace = b''
    self.write_line(process, b'text')
    while b'text' not in trace:
      trace += os.read(process.stdout.fileno(), 65536)
    process.stdin.close()
    trace += process.stdout.read()
    error = process.stderr.read().decode()
    self.assertEqual(process.wait(), 0, error)
    self.trace.write_bytes(trace)
    self.check_readable()
    # The trace does not have the command's output.
    self.assertEqual(error.splitlines()[0], 'traced')
    self.assertIn('<stdout>: %d bytes, ' % len(trace), error)
    self.assertIn('nothing lost\n', error)

  def test_output_by_another_name(self):
    with open(self.trace, 'wb') as file:
      subprocess.run([str(PZTRACE), 'record', '-o', str(self.trace), '--',
                      'sh', '-c', 'echo noise; echo more >&2'], stdout=file,
                     stderr=subprocess.PIPE, env=self.env, check=True)
    self.check_readable()
    # A terminal, or nowhere, is no place where it does harm.
    self.assertEqual(self.run_pztrace('record', '-o', '/dev/null', '--', 'echo',
                                      'text')[1], 'text\n')

  def check_full(self, code, output, error, reason):
    """Expects that the message tells the packets in the file from the
    others."""
    self.assertEqual(code, 1, error)
    self.assertIn('pztrace: %s: %s\n' % (self.trace, reason), error)
    self.assertRegex(error, r'pztrace: %s: the last \d+ packets, \d+ bytes, are '
                     r'not in the file\n' % self.trace)
    self.assertNotIn('nothing lost', error)
    # The command goes on, and is not told.
    self.assertEqual(len(output.splitlines()), 2)

  def test_file_that_may_not_grow(self):
    # The limit is in the middle of a packet, and beyond the shared memory's
    # size.
    for limit in 1100000, 1100001, 1100002:
      process = subprocess.run(
          [str(PZTRACE), 'record', '-o', str(self.trace), '--', str(WORKERS),
           '--items', '8000', '--size', '100'],
          env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          check=False, preexec_fn=lambda: resource.setrlimit(
              resource.RLIMIT_FSIZE, (limit, limit)))
      error = process.stderr.decode()
      self.check_full(process.returncode, process.stdout.decode(), error,
                      'File too large')
      self.check_summary(error)
      self.assertLessEqual(os.path.getsize(self.trace), limit)
      self.assertIn('packet {', self.check_readable())

  def test_disk_that_is_full(self):
    disk = self.folder / 'disk'
    disk.mkdir()
    self.trace = disk / 'trace'
    copy = self.folder / 'copy'
    # A disk of its own, which is gone with the shell.
    script = '''
        mount -t tmpfs -o size=64k none "$1" || exit 77
        trace="$1/trace" copy="$2"
        shift 2
        "$@"
        code=$?
        cp "$trace" "$copy"
        exit $code'''
    try:
      process = subprocess.run(
          ['unshare', '-rm', 'sh', '-c', script, 'sh', str(disk), str(copy),
           str(PZTRACE), 'record', '-o', str(self.trace), '--', str(WORKERS),
           '--items', '2000', '--size', '100'], env=self.env,
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except FileNotFoundError:
      self.skipTest('there is no unshare')
    error = process.stderr.decode()
    if 'unshare: ' in error or process.returncode == 77:
      self.skipTest('mounting is not allowed: ' + error)
    self.check_full(process.returncode, process.stdout.decode(), error,
                    'No space left on device')
    size = re.search(r'^%s: (\d+) bytes, ' % self.trace, error, re.M)
    self.assertEqual(int(size[1]), os.path.getsize(copy))
    self.assertIn('packet {', self.check_readable(copy))

  def test_nothing_can_be_written(self):
    code, output, error = self.run_pztrace('record', '-o', '/dev/full', '--',
                                           WORKERS)
    self.trace = '/dev/full'
    self.check_full(code, output, error, 'No space left on device')
    self.assertIn('/dev/full: 0 bytes, ', error)

  def test_part_of_a_file_that_is_full(self):
    # Earlier content is neither cut off nor counted.
    limit = 300000
    self.trace.write_bytes(b'before')
    for mode in 'ab', 'r+b':
      with open(self.trace, mode) as file:
        file.seek(6)
        process = subprocess.run(
            [str(PZTRACE), 'record', '-o', '-', '--', str(WORKERS),
             '--items', '2000', '--size', '100'],
            env=self.env, stdout=file, stderr=subprocess.PIPE,
            check=False, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_FSIZE, (limit, limit)))
        # The next output comes right after it.
        self.assertEqual(os.lseek(file.fileno(), 0, os.SEEK_CUR),
                         os.path.getsize(self.trace))
      error = process.stderr.decode()
      self.assertEqual(process.returncode, 1, error)
      content = self.trace.read_bytes()
      self.assertEqual(content[:6], b'before')
      self.assertIn('<stdout>: %d bytes, ' % (len(content) - 6), error)
      self.trace.write_bytes(content[6:])
      self.check_readable()
      os.truncate(self.trace, 0)
      self.trace.write_bytes(b'before')

  def test_reader_that_goes_away(self):
    process = self.start_tracer(output='-')
    self.write_line(process, b'text')
    process.stdout.close()
    process.stdout = open(os.devnull, 'rb')
    # It says so while the command goes on.
    error = b''
    while b'Broken pipe' not in error:
      line = process.stderr.readline()
      self.assertNotEqual(line, b'')
      error += line
      self.write_line(process, b'text')
    process.stdin.close()
    error += process.stderr.read()
    self.assertEqual(process.wait(), 1)
    self.assertIn(b'are not in the file\n', error)
    self.assertNotIn(b'nothing lost', error)

  def test_reader_that_does_not_read(self):
    fifo = self.folder / 'fifo'
    os.mkfifo(fifo)
    terminal, other_side = os.openpty()
    termios.tcflow(other_side, termios.TCOOFF)
    reader, pipe = os.pipe()
    near, far = socket.socketpair()
    for output, stdout, begins in (('-', pipe, True), (fifo, None, False),
                                   ('-', other_side, False),
                                   ('-', near, True)):
      with self.subTest(output=output, stdout=stdout):
        path = self.folder / 'socket'
        process = subprocess.Popen(
            [PZTRACE, 'record', '-o', output, '--socket', path], env=self.env,
            stdout=stdout or subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        process.stderr.readline()
        # More than a pipe holds. It waits until all is committed.
        for items in '400', '5':
          subprocess.run([WORKERS, '--items', items],
                         env=dict(self.env, PERFETTO_PRODUCER_SOCK_NAME=path),
                         stdout=subprocess.DEVNULL, timeout=60, check=True)
        process.send_signal(signal.SIGTERM)
        error = process.communicate(timeout=60)[1].decode()
        self.assertEqual(process.returncode, 1, error)
        self.assertRegex(error, r'the last \d+ packets, \d+ bytes, are not')
        self.assertRegex(error, r' \d+ not written to the file\n$')
        self.assertEqual(': 0 bytes, 0 packets' not in error, begins, error)
    for fd in terminal, other_side, reader, pipe:
      os.close(fd)
    near.close()
    far.close()

  def test_interrupt_does_not_wait_for_a_stopped_program(self):
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" } }
        flush_timeout_ms: 3600000
        data_source_stop_timeout_ms: 3600000''')
    path = self.folder / 'socket'
    process = subprocess.Popen(
        [PZTRACE, 'record', '-o', self.trace, '--socket', path, '--config', config],
        env=self.env, stderr=subprocess.PIPE)
    self.addCleanup(process.kill)
    process.stderr.readline()
    tracer = subprocess.Popen(
        [LINE_TRACER], env=dict(self.env, PERFETTO_PRODUCER_SOCK_NAME=path),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    self.addCleanup(tracer.kill)
    self.trace_line(tracer, b'a line')
    tracer.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, tracer.pid, os.WSTOPPED)
    process.send_signal(signal.SIGINT)
    error = process.communicate(timeout=300)[1].decode()
    self.assertEqual(process.returncode, 0, error)
    self.assertIn('a line', self.check_readable())
    tracer.kill()
    tracer.communicate()

  def test_reader_that_is_late(self):
    fifo = self.folder / 'fifo'
    os.mkfifo(fifo)
    process = self.start_tracer(output=fifo)
    for _ in range(2000):
      self.trace_line(process, b'text' * 20)
    process.stdin.close()
    content = fifo.read_bytes()
    self.assertEqual(process.wait(), 0)
    self.trace.write_bytes(content)
    self.assertEqual(self.check_readable().count('text' * 20), 2000)

  def test_reader_that_goes_away_in_the_middle_of_a_packet(self):
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" } }
        producers { producer_name: "line_tracer" shm_size_kb: 1024 }
        write_into_file: true
        file_write_period_ms: 10''')
    process = self.start_tracer('--config', config, output='-')
    # A page.
    pipe_size = fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 1)
    # Reads the bytes before the packet, so that the pipe is empty.
    header = os.read(process.stdout.fileno(), pipe_size)
    self.write_line(process, b'x' * 100000)
    def is_full():
      size = array.array('i', [0])
      fcntl.ioctl(process.stdout, termios.FIONREAD, size)
      return size[0] == pipe_size
    self.wait_for(is_full)
    process.stdout.close()
    process.stdout = open(os.devnull, 'rb')
    process.stdin.close()
    error = process.stderr.read().decode()
    self.assertEqual(process.wait(), 1)
    self.assertIn('pztrace: <stdout>: Broken pipe\n'
                  'pztrace: <stdout>: ends in the middle of a packet\n', error)
    self.assertIn('<stdout>: %d bytes, ' % (len(header) + pipe_size), error)

  def test_folder_that_is_removed(self):
    folder = self.folder / 'there'
    folder.mkdir()
    self.trace = folder / 'trace'
    process = self.start_tracer()
    self.trace_line(process, b'text')
    self.wait_for(lambda: b'text' in self.read_trace())
    self.trace.unlink()
    folder.rmdir()
    process.stdin.close()
    error = process.stderr.read().decode()
    self.assertEqual(process.wait(), 1)
    self.assertIn('pztrace: %s: the file has been removed\n' % self.trace, error)
    self.assertIn('%s: 0 bytes, ' % self.trace, error)
    self.assertNotIn('nothing lost', error)

  def test_file_that_never_had_a_name(self):
    with tempfile.TemporaryFile() as file:
      process = subprocess.run(
          [str(PZTRACE), 'record', '-o', '-', '--', 'true'], stdout=file,
          stderr=subprocess.PIPE, env=self.env, check=False)
      self.assertEqual(process.returncode, 0, process.stderr)
      self.assertIn('<stdout>: %d bytes, ' % os.fstat(file.fileno()).st_size,
                    process.stderr.decode())

  def test_streams_that_are_closed(self):
    # The trace must not take their place.
    code = subprocess.run(
        ['sh', '-c', '"$0" record -o "$1" -- sh -c "echo text" >&- 2>&- <&-',
         str(PZTRACE), str(self.trace)], env=self.env, check=False).returncode
    self.assertEqual(code, 1)  # `echo` had nowhere to write to.
    self.assertNotIn(b'text', self.read_trace())
    self.check_readable()
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--', 'true')
    self.assertEqual(code, 0, error)
    process = subprocess.run(
        ['sh', '-c', '"$0" record -o - -- true >&-', str(PZTRACE)],
        env=self.env, stderr=subprocess.PIPE, check=False)
    self.assertEqual(process.returncode, 1)
    self.assertIn(b'pztrace: <stdout>: Bad file descriptor\n', process.stderr)

  def test_command_has_the_signals_that_others_have(self):
    # They would not end it if it ignored them, as we do.
    for name in 'PIPE', 'XFSZ':
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--', 'sh',
                                        '-c', 'kill -%s $$' % name)
      self.assertEqual(code, 1)
      self.assertIn('pztrace: sh: ', error)

class ProducersTest(RecordingTest):

  def record(self, *options, command=(WORKERS, '--items', '3'), wrapper=(),
             **kwargs):
    """Returns exit code and standard error."""
    process = subprocess.run(
        [str(part) for part in (*wrapper, PZTRACE, 'record', '-o', self.trace,
                                *options, '--', *command)],
        env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, check=False, **kwargs)
    return process.returncode, process.stderr.decode()

  def test_no_memfd(self):
    for number, reason in ((errno.ENOSYS, 'Function not implemented'),
                           (errno.EPERM, 'Operation not permitted')):
      code, error = self.record(wrapper=(WITHOUT_CALL, 'memfd_create', number))
      if code == 77:
        self.skipTest(error)
      self.assertEqual(code, 1, error)
      self.assertRegex(error, r'pztrace: traced_workers \(\d+\) is not recorded: '
                       r'no shared memory: memfd_create of 1048576 bytes: %s\n' %
                       reason)
      self.assertIn('pztrace: 2 of 2 producers could not be recorded, for lack '
                    'of shared memory\n', error)
      self.assertTrue(error.endswith(
          ' 0 of them of 0 writers in 2 producers, producers are missing\n'), error)
      self.check_readable()

  def test_one_producer_without_memory(self):
    # The limit of a file's size holds for shared memory, too. The larger one
    # is too large.
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" } }
        producers { producer_name: "small" shm_size_kb: 2048 }
        producers { producer_name: "large" shm_size_kb: 4096 }''')
    code, error = self.record(
        '--config', config, command=(
            'sh', '-c', 'echo 1 | "$0" small; echo 2 | "$0" large; '
            'echo 3 | "$0" small', LINE_TRACER),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                              (2500000, 2500000)))
    self.assertEqual(code, 1, error)
    self.assertRegex(error, r'pztrace: large \(\d+\) is not recorded: '
                     r'no shared memory: ftruncate of 4194304 bytes: '
                     r'File too large\n')
    self.assertIn('pztrace: 1 of 3 producers could not be recorded, for lack '
                  'of shared memory\n', error)
    self.assertIn(', producers are missing\n', error)
    output = self.check_readable()
    self.assertIn('name: "1', output)
    self.assertNotIn('name: "2', output)
    self.assertIn('name: "3', output)

  def test_shared_memory_has_a_limit(self):
    process = self.start_tracer('--shared-memory', '2M')
    self.trace_line(process, b'text')
    with open('/proc/%d/maps' % process.pid) as maps:
      begin, end = re.search(r'^(\w+)-(\w+) .*/memfd:protozero', maps.read(), re.M).groups()
    self.assertEqual(int(end, 16) - int(begin, 16), 2 << 20)
    process.stdin.close()
    self.assertEqual(process.wait(), 0)

  def test_small_limit_of_files_holds_for_shared_memory(self):
    limit = 1000000
    code, error = self.record(
        command=('sh', '-c', 'echo 1 | "$0" name', LINE_TRACER),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    self.assertEqual(code, 0, error)
    self.assertIn('pztrace: a program gets at most %d bytes of shared memory, since '
                  '`ulimit -f` allows no larger files\n' % limit, error)
    self.assertIn(' 1 of them of 1 writer in 1 producer, nothing lost\n', error)

  def test_few_descriptors(self):
    # The loader needs some descriptors before main().
    complete = False
    for limit in range(3, 24):
      code, error = self.record(
          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE,
                                                (limit, limit)))
      # UBSan looks at objects by means of a pipe.
      if 'object has invalid vptr' in error:
        continue
      complete = code == 0
      if complete:
        self.assertIn(' in 2 producers, nothing lost\n', error)
      else:
        self.assertEqual(code, 127 if 'loading shared lib' in error else 1,
                         error)
        self.assertNotIn('nothing lost', error)
        self.assertRegex(error, 'Too many open files|Error 24')
    self.assertTrue(complete)

  def test_nobody_offers_what_is_asked_for(self):
    code, error = self.record(
        '--data-source', 'trak_event', '--data-source', 'my.events',
        '--data-source', 'other', '--data-source', 'other',
        command=(LINE_TRACER, 'name', 'track_event', 'my.events'))
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: no producer has offered 'trak_event', 'other'; "
                  "offered were 'my.events', 'track_event'\n", error)
    code, error = self.record(command=(LINE_TRACER, 'name', 'my.events'))
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: no producer has offered 'track_event'; "
                  "offered were 'my.events'\n", error)
    # Nothing of that kind if all is well.
    code, error = self.record('--data-source', 'my.events',
                              command=(LINE_TRACER, 'name', 'my.events'))
    self.assertEqual(code, 0, error)
    self.assertNotIn('has offered', error)

  def test_nobody_is_selected(self):
    config = self.encode_config('''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" }
                       producer_name_filter: "other" }''')
    code, error = self.record('--config', config)
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: no producer that is selected has offered "
                  "'track_event'\n", error)

  def test_nobody_connects(self):
    code, error = self.record(command=['true'])
    self.assertEqual(code, 0, error)
    self.assertIn('pztrace: no producer has connected, so nothing was recorded\n',
                  error)

  def start_in_background(self, has_terminal):
    """A script that waits for a recorder in its background, the recorder's number, and
    what it has printed."""
    main_end, terminal = os.openpty()
    self.addCleanup(os.close, main_end)
    def lead_session():
      os.setsid()
      if has_terminal:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
    process = subprocess.Popen(
        ['sh', '-c', '"$@" & echo $!; wait $!', 'sh', PZTRACE, 'record', '-o', self.trace],
        env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lead_session, universal_newlines=True)
    os.close(terminal)
    recorder = int(process.stdout.readline())
    def end():
      if process.poll() is None:
        os.kill(recorder, signal.SIGKILL)
      process.communicate()
    self.addCleanup(end)
    error = ''
    while 'PERFETTO_PRODUCER_SOCK_NAME=' not in error:
      line = process.stderr.readline()
      self.assertTrue(line, error)
      error += line
    return process, recorder, error

  def test_interrupt_in_the_background_of_a_script(self):
    process, recorder, error = self.start_in_background(has_terminal=False)
    self.assertNotIn('SIGINT', error)
    os.kill(recorder, signal.SIGINT)
    self.assertEqual(process.wait(timeout=60), 0)
    self.assertTrue(self.trace.exists())
    # Ctrl-C would reach the recorder.
    process, recorder, error = self.start_in_background(has_terminal=True)
    self.assertIn('pztrace: SIGINT is ignored, as in a script\'s background; `kill %d` ends '
                  'the recording\n' % recorder, error)
    os.kill(recorder, signal.SIGINT)
    self.assertIsNone(process.poll())
    os.kill(recorder, signal.SIGTERM)
    self.assertEqual(process.wait(timeout=60), 0)

  def test_names_are_no_orders(self):
    # Everybody who prints them: the messages,
    code, error = self.record(command=(LINE_TRACER, HOSTILE, HOSTILE, 'x' * 1000))
    self.assertEqual(code, 0, error)
    self.assertIn("offered were '%s', '%s...'\n" % (SHOWN, 'x' * 80), error)
    code, error = self.record(
        command=(LINE_TRACER, HOSTILE),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                              (10000, 10000)))
    self.assertIn('pztrace: %s (' % SHOWN, error)
    # `stat` and `cat`.
    process = self.start_tracer(tracer=[HOSTILE])
    self.trace_line(process, os.fsencode(HOSTILE.replace('\n', '')))
    _, output, error = self.run_pztrace('stat')
    self.assertIn('%s (' % SHOWN, output, error)
    process.stdin.close()
    self.assertEqual(process.wait(), 0)
    output = self.check_readable()
    self.assertIn('name: "%s\\n"\n' % SHOWN.replace('\\n', ''), output)
    self.assertTrue(output.replace('\n', '').isprintable())


if __name__ == '__main__':
  sys.exit(main())
