#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests pztrace and traced_workers as users call them.

Runs in the build directory. Each test has a folder of its own for sockets and
files. Nothing waits for a certain time: where something has to be going on, it
goes on until the test says so.
"""

import lzma
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import sys
import time

from cases import version
from recording import PZTRACE, REPORT, SIZE, TIME, WORKERS, PztraceTest, main
from trace_text import Message, read_packets


class RecordTest(PztraceTest):

  def test_every_event_arrives_in_order(self):
    code, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--', WORKERS, '--threads', 4, '--items',
        2000, '--size', 500)
    self.assertEqual(code, 0, error)
    self.assertIn('in 2 producers, nothing lost\n', error)
    reports = [REPORT.match(line) for line in output.splitlines()]
    self.check_events(reports, threads=4, items=2000)

  def test_to_standard_output(self):
    code, _, error = self.run_pztrace('record', '-o', '-', '--', 'true')
    self.assertEqual(code, 0, error)
    self.assertIn('<stdout>: ', error)

  def test_trace_of_command_that_fails(self):
    code, _, error = self.run_pztrace(
        'record', '-o', self.trace, '--', 'sh', '-c',
        '%s --items 3; exit 7' % WORKERS)
    self.assertEqual(code, 1)
    self.assertIn('pztrace: sh: exit code 7\n', error)
    self.assertEqual(len(self.events()), len(set(self.events())))
    self.assertTrue(self.events())

  def test_command_that_is_killed(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--', 'sh',
                                      '-c', 'kill -9 $$')
    self.assertEqual(code, 1)
    self.assertIn('pztrace: sh: Killed\n', error)

  def test_command_that_does_not_exist(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--',
                                      '/no/such')
    self.assertEqual(code, 1)
    self.assertIn('pztrace: /no/such: No such file or directory\n', error)

  def test_stops_after_a_while(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--duration',
                                      '50ms')
    self.assertEqual(code, 0, error)
    self.assertIn('PERFETTO_PRODUCER_SOCK_NAME=%s' % self.folder, error)
    self.decode()

  def test_stops_when_interrupted(self):
    for number in signal.SIGINT, signal.SIGTERM:
      process = self.start('record', '-o', self.trace)
      socket = process.stderr.readline().rstrip('\n').partition('=')[2]
      # Any program that knows the socket is recorded.
      env = dict(self.env, PERFETTO_PRODUCER_SOCK_NAME=socket)
      output = subprocess.run([str(WORKERS), '--items', '5', '--threads', '1'],
                              env=env, stdout=subprocess.PIPE, check=True)
      process.send_signal(number)
      process.wait()
      self.assertEqual(process.returncode, 0, process.stderr.read())
      self.check_events(
          [REPORT.match(line) for line in output.stdout.decode().splitlines()],
          threads=1, items=5)

  def test_passes_termination_on(self):
    process = self.start('record', '-o', self.trace, '--', 'sh', '-c',
                         'echo ready; exec sleep 10000')
    self.assertEqual(process.stdout.readline(), 'ready\n')
    process.send_signal(signal.SIGTERM)
    error = process.stderr.read()
    self.assertEqual(process.wait(), 1, error)
    self.assertIn('pztrace: sh: Terminated\n', error)
    self.decode()

  def test_leaves_no_sockets(self):
    self.run_pztrace('record', '-o', self.trace, '--', 'true')
    self.assertEqual([path for path in self.folder.rglob('*')
                      if path.is_socket()], [])

  def test_own_socket_needs_no_folder_of_the_user(self):
    # Others may be first to make a folder of that name, or it is read-only.
    self.env['XDG_RUNTIME_DIR'] = str(self.folder)
    (self.folder / ('pztrace-%d' % os.getuid())).write_bytes(b'')
    remedy = (': not a folder that is this user\'s alone; set XDG_RUNTIME_DIR to a '
              'folder of yours')
    for socket in self.folder / 'here', '@pztrace-%s' % self.folder:
      for output in ('-o', self.trace), ('--flight-recorder', self.folder / 'flights'):
        with self.subTest(socket=socket, output=output):
          code, _, error = self.run_pztrace('record', *output, '--socket', socket, '--',
                                            WORKERS, '--items', 1)
          self.assertEqual(code, 0, error)
          self.assertIn('do not find this recording', error)
          self.assertIn(remedy, error)
          self.assertRegex(error, 'nothing lost|2 programs; ')
    another = self.folder / 'another'
    for command in ('record', '-o', another), ('stat',), ('snapshot',), ('list',):
      with self.subTest(command):
        code, _, error = self.run_pztrace(*command)
        self.assertEqual(code, 1)
        self.assertIn(remedy, error)
    self.assertEqual(
        self.run_pztrace('list', '--socket', self.folder / 'here', '--', 'true')[0], 0)
    # Or no socket can be made in it.
    self.env['XDG_RUNTIME_DIR'] = str(self.folder / ('long' * 50))
    os.mkdir(self.env['XDG_RUNTIME_DIR'])
    for output in ('-o', another), ('--flight-recorder', another):
      code, _, error = self.run_pztrace('record', *output, '--', 'true')
      self.assertEqual(code, 1)
      self.assertIn('; set XDG_RUNTIME_DIR to another folder, or give --socket\n', error)
      self.assertFalse(another.exists())
      code, _, error = self.run_pztrace('record', *output, '--socket', self.folder / 'here',
                                        '--', WORKERS, '--items', 1)
      self.assertEqual(code, 0, error)
      self.assertIn('do not find this recording', error)
      if another.is_file():
        another.unlink()

  def test_own_socket(self):
    socket = self.folder / 'here'
    code, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--socket=%s' % socket, '--', 'sh', '-c',
        'echo $PERFETTO_PRODUCER_SOCK_NAME')
    self.assertEqual(code, 0, error)
    self.assertEqual(output, '%s\n' % socket)

  def test_sockets_have_absolute_paths(self):
    # The command has another current folder, as has what it starts.
    command = ['--', 'sh', '-c', 'cd /; echo $PERFETTO_PRODUCER_SOCK_NAME; '
               '"%s" --items 1' % WORKERS]
    for variable, options, socket in (
        (None, ['--socket', 'here'], '%s/here' % self.folder),
        (None, ['--socket', '@pztrace-%s' % self.folder],
         '@pztrace-%s' % self.folder),
        # A relative path means another folder to each program.
        ('.', [], r'/(tmp|run/user/\d+)/pztrace-\d+/\d+\.producers'),
        ('', [], r'/(tmp|run/user/\d+)/pztrace-\d+/\d+\.producers')):
      if variable is not None:
        self.env['XDG_RUNTIME_DIR'] = variable
      process = subprocess.run(
          [str(PZTRACE), 'record', '-o', str(self.trace), *options, *command],
          env=self.env, cwd=self.folder, stdout=subprocess.PIPE,
          stderr=subprocess.PIPE, check=False)
      self.assertEqual(process.returncode, 0, process.stderr)
      self.assertRegex(process.stdout.decode(), '^%s\n' % socket)
      self.assertIn(b'in 2 producers', process.stderr)

  def test_largest_size_is_no_trouble(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--size',
                                      '4095G', '--', WORKERS, '--items', 1)
    self.assertEqual(code, 0, error)
    self.assertIn('nothing lost', error)

  def test_other_data_sources_are_not_recorded(self):
    code, _, error = self.run_pztrace(
        'record', '-o', self.trace, '--data-source', 'other', '--data-source',
        'another', '--', WORKERS, '--items', 1)
    self.assertEqual(code, 0, error)
    self.assertFalse(self.events())

  def test_small_buffer_loses_and_says_so(self):
    # A chunk for each thread at least.
    config = self.encode_config('''
        buffers { size_kb: 16 fill_policy: DISCARD }
        data_sources { config { name: "track_event" } }''')
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--config',
                                      config, '--', WORKERS, '--items', 1000,
                                      '--size', 100)
    self.assertEqual(code, 0, error)
    self.assertRegex(error, r', \d+ packets lost: \d+ no room in the buffer\n')
    self.assertLess(os.path.getsize(self.trace), 64 * 1024)
    # A larger one does not.
    code, output, error = self.run_pztrace(
        'record', '-o', self.trace, '--config', config, '--size=8M', '--',
        WORKERS, '--items', 1000, '--size', 100)
    self.assertEqual(code, 0, error)
    self.check_events([REPORT.match(line) for line in output.splitlines()],
                      threads=3, items=1000)

  def test_config_selects_producers(self):
    source = '''
        buffers { size_kb: 1024 }
        data_sources { config { name: "track_event" }
                       producer_name_filter: "%s" }'''
    for name, is_recorded in ('other', False), ('traced_workers', True):
      config = self.encode_config(source % name)
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--config',
                                        config, '--', WORKERS, '--items', 1)
      self.assertEqual(code, 0, error)
      self.assertEqual(bool(self.events()), is_recorded)

  def test_config_as_text(self):
    config = self.folder / 'config'
    # With the beginning and the line ends of Windows.
    config.write_text('''\ufeff
        # The form that Perfetto's command line takes.
        buffers { size_kb: 1024, fill_policy: DISCARD }
        data_sources: <
          config {
            name: 'track_' "event"
            ftrace_config { ftrace_events: ["sched/sched_switch"] }
            track_event_config { enabled_categories: ["worker"] }
          }
        >
        write_into_file: true
        file_write_period_ms: 100''', encoding='utf-8', newline='\r\n')
    code, output, error = self.run_pztrace('record', '-o', self.trace, '--config',
                                           config, '--', WORKERS, '--items', 3)
    self.assertEqual(code, 0, error)
    self.assertIn("pztrace: %s:7: 'ftrace_config' is no field of DataSourceConfig; "
                  'it is left out\n' % config, error)
    self.check_events([REPORT.match(line) for line in output.splitlines()],
                      threads=3, items=3)

  def test_config_as_text_that_is_not_valid(self):
    config = self.folder / 'config'
    for text, problem in (
        ('buffers { size_kb: many }',
         "1: expected a number from 0 to 4294967295, not 'many'"),
        ('buffers {\n  fill_policy: RING }',
         "2: expected one of UNSPECIFIED, RING_BUFFER, DISCARD, not 'RING'"),
        ('buffers {\n\n',
         "3: expected '}' for the bracket in line 1, not the end of the text"),
        ('int main() {}', "1: expected ':' or '{' after 'int', not 'main'")):
      config.write_text(text)
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--config',
                                        config)
      self.assertEqual(code, 1)
      self.assertEqual(error, 'pztrace: %s:%s\n' % (config, problem))
      self.assertFalse(self.trace.exists())

  def test_config_that_is_none(self):
    config = self.folder / 'config'
    for content, reason in ((b'\xff', 'not a serialized TraceConfig'),
                            (b'', 'the configuration is not valid')):
      config.write_bytes(content)
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--config',
                                        config)
      self.assertEqual(code, 1)
      self.assertIn(reason, error)
      self.assertFalse(self.trace.exists())

  def test_output_that_can_not_be_written(self):
    code, _, error = self.run_pztrace('record', '-o', '/no/such/trace', '--',
                                      'true')
    self.assertEqual(code, 1)
    self.assertEqual(error,
                     'pztrace: /no/such/trace: No such file or directory\n')
    code, _, error = self.run_pztrace('record', '-o', '/dev/full', '--',
                                      WORKERS)
    self.assertEqual(code, 1)
    self.assertIn('pztrace: /dev/full: No space left on device\n', error)

  def test_folder_of_somebody_else(self):
    os.mkdir(self.folder / ('pztrace-%d' % os.geteuid()))
    os.chmod(self.folder / ('pztrace-%d' % os.geteuid()), 0o777)
    code, _, error = self.run_pztrace('record', '-o', self.trace)
    self.assertEqual(code, 1)
    self.assertIn('not a folder that is this user\'s alone', error)


class StatTest(PztraceTest):

  def check_table(self, *arguments):
    """Two processes of two threads each, seven items in each process."""
    # The processes have ended, but what they wrote may be on its way.
    while True:
      code, output, error = self.run_pztrace('stat', *arguments)
      self.assertEqual(code, 0, error)
      head, blank, titles, *rows = output.splitlines()
      self.assertRegex(head, r'^%s: \d+ bytes after \d+\.\d s$' % self.trace)
      self.assertEqual(blank, '')
      self.assertEqual(titles.split(),
                       ['producer', 'writer', 'packets', 'lost', 'bytes',
                        'chunks', 'patches'])
      *rows, blank, total = rows
      self.assertEqual(blank, '')
      # The name of a producer is several words.
      rows = [row.split()[-6:] for row in rows if not row.endswith(' -')]
      self.assertLessEqual(len(rows), 4)
      sums = [sum(map(int, column)) for column in zip(*rows)]
      self.assertRegex(total, '^%d packets? of %d writers?, nothing lost$' %
                       (sums[1] if rows else 0, len(rows)))
      # An item is eleven events; a thread that has any begins with a packet, and
      # one for each of its three tracks.
      if rows and sums[1] == 2 * 7 * 11 + 4 * len(rows):
        break
    self.assertEqual(sums[2], 0)
    self.assertGreater(sums[3], sums[1])
    self.assertGreaterEqual(sums[4], len(rows))

  def test_while_running(self):
    process, reports = self.start_with_workers()
    self.assertEqual(len(reports), 2)
    self.check_table()
    self.check_table('--pid', process.pid)
    process.stdin.close()
    self.assertEqual(process.wait(), 1)  # `read` had nothing to read.
    self.check_events(reports, threads=2, items=7)

  def test_again_until_it_ends(self):
    process, _ = self.start_with_workers()
    stat = self.start('stat', '--interval=1ms')
    for _ in range(3):
      self.assertIn(str(self.trace), stat.stdout.readline())
      for _ in ('head', 'writers', 'sums'):
        while stat.stdout.readline().strip():
          pass
    process.stdin.write('\n')
    process.stdin.close()
    self.assertEqual(process.wait(), 0)
    stat.stdout.read()
    self.assertEqual(stat.wait(), 0)

  def test_producer_that_is_silent(self):
    process = self.start('record', '-o', self.trace)
    process.stderr.readline()
    code, output, error = self.run_pztrace('stat')
    self.assertEqual(code, 0, error)
    self.assertEqual(output.splitlines()[3:],
                     ['', '0 packets of 0 writers, nothing lost'])

  def test_nothing_is_running(self):
    code, _, error = self.run_pztrace('stat')
    self.assertEqual((code, error),
                     (1, 'pztrace: no pztrace record is running\n'))
    code, _, error = self.run_pztrace('stat', '--pid', 1)
    self.assertEqual(code, 1)
    self.assertIn('1.stats: No such file', error)

  def test_one_that_was_killed_does_not_count(self):
    process = self.start('record', '-o', self.trace)
    process.stderr.readline()
    process.kill()
    process.wait()
    code, _, error = self.run_pztrace('stat')
    self.assertEqual((code, error),
                     (1, 'pztrace: no pztrace record is running\n'))
    # The next recording takes the place of this one.
    self.assertEqual([path.name for path in self.folder.rglob('*')
                      if path.is_socket()], ['producers'])

  def test_which_one(self):
    for number in range(2):
      process = self.start('record', '-o', self.folder / ('trace%d' % number),
                           '--socket', self.folder / str(number))
      process.stderr.readline()
    code, output, error = self.run_pztrace('stat')
    self.assertEqual(code, 0, error)
    self.assertEqual(len(re.findall(r'(?m)^process \d+:$', output)), 2)
    self.assertEqual(self.run_pztrace('stat', '--pid', process.pid)[0], 0)

  def test_descriptors_run_out(self):
    process = self.start('record', '-o', self.trace)
    process.stderr.readline()
    folder = pathlib.Path('/proc') / str(process.pid)
    def rests(thread):
      status = (folder / 'task' / thread / 'status').read_text()
      return int(re.search(r'^voluntary_ctxt_switches:\s*(\d+)$', status,
                           re.M)[1])
    # UBSan takes descriptors when it sees a class first. The service uses its
    # classes when it writes and when it flushes, which is every fifth rest.
    at_first = rests(str(process.pid))
    while rests(str(process.pid)) < at_first + 16:
      time.sleep(0.01)
    # There is a socket before there is a thread.
    self.assertEqual(self.run_pztrace('stat')[0], 0)
    used = {int(fd) for fd in os.listdir(folder / 'fd')}
    first_free = min(set(range(len(used) + 1)) - used)
    before = resource.prlimit(process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE,
                     (first_free, before[1]))
    # One that is in no hurry.
    client = socket.socket(socket.AF_UNIX)
    self.addCleanup(client.close)
    client.connect(str(next(self.folder.rglob('*stat*'))))

    # TSan has one of its own.
    threads = set(os.listdir(folder / 'task')) - {str(process.pid)}
    # The thread that cannot accept gives up the processor, again and again, as
    # it would not if it tried without end: then this goes on for ever.
    at_first = sum(map(rests, threads))
    while sum(map(rests, threads)) < at_first + 4:
      pass
    resource.prlimit(process.pid, resource.RLIMIT_NOFILE, before)
    self.assertIn(str(self.trace).encode(), client.recv(4096))


class DamagedTraceTest(PztraceTest):

  def test_each_command_fails_for_what_it_does_not_read(self):
    self.start_with_workers()[0].communicate()
    whole = self.trace.read_bytes()
    rules = self.folder / 'rules'
    rules.write_text('nothing lost\n')
    output = ('-o', self.folder / 'output')
    commands = [(command, self.trace) for command in ('cat', 'top', 'tasks', 'svg', 'html')]
    commands += [('export', table, self.trace) for table in (
        '--slices', '--instants', '--counters', '--tasks', '--losses')]
    commands += [('check', rules, self.trace), ('cut', *output, self.trace),
                 ('merge', *output, self.trace), ('diff', self.trace, self.trace)]
    if self.run_pztrace('sql', self.trace, 'SELECT 1')[0] == 0:
      commands += [('sql', self.trace, 'SELECT 1'),
                   ('export', '--format', 'sqlite', *output, self.trace)]
    for command in commands:
      with self.subTest(command[:2]):
        self.trace.write_bytes(whole)
        code, _, error = self.run_pztrace(*command)
        self.assertEqual(code, 0, error)
        # A packet that ends beyond the end of the file.
        self.trace.write_bytes(whole + b'\x0a\x7f')
        code, _, error = self.run_pztrace(*command)
        self.assertEqual(code, 1, error)
        self.assertRegex(error, 'damaged|malformed')


class CatTest(PztraceTest):

  def setUp(self):
    super().setUp()
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--', WORKERS,
                                      '--items', 5)
    self.assertEqual(code, 0, error)

  def test_shows_what_protoc_shows(self):
    code, output, error = self.run_pztrace('cat', self.trace)
    self.assertEqual(code, 0, error)
    packets = read_packets(output)
    # protoc sorts fields, cat has them as they are.
    def flatten(message):
      return sorted((name, flatten(value) if isinstance(value, Message)
                     else value)
                    for name, values in message.fields.items()
                    for value in values)
    self.assertEqual([flatten(packet) for packet in packets],
                     [flatten(packet) for packet in self.decode()])

  def test_standard_input(self):
    expected = self.run_pztrace('cat', self.trace)
    self.assertEqual(self.run_pztrace('cat', '-',
                                      stdin=self.trace.read_bytes()), expected)
    self.assertEqual(self.run_pztrace('cat', '--', self.trace), expected)

  def test_options(self):
    _, output, _ = self.run_pztrace('cat', '--offsets', self.trace)
    self.assertRegex(output.splitlines()[0], r'^ *0 +\d+ +packet \{$')
    _, output, _ = self.run_pztrace('cat', '--color=always', self.trace)
    self.assertIn('\033[', output)

  def test_damaged_file(self):
    damaged = self.folder / 'damaged'
    damaged.write_bytes(self.trace.read_bytes()[:-1])
    code, output, error = self.run_pztrace('cat', damaged)
    self.assertEqual(code, 1)
    self.assertIn('packet {', output)
    self.assertRegex(error, r'^pztrace: %s: malformed at offset \d+: ' % damaged)

  def test_files_that_are_no_traces(self):
    other = self.folder / 'other'
    for content, reason in (
        (b'', 'is empty'),
        (lzma.compress(b'\x0a\x00'), 'is compressed; try xz -dc '),
        (b' {"traceEvents": []}', 'is JSON, not'), (b'\n\n[1]', 'is JSON, not'),
        (b'#include <stdio.h>\n\nint main() {}\n', 'is text, not'),
        (b'\n#include <stdio.h>\n', 'is text, not'),
        ('// é\n'.encode() * 60000, 'is text, not'),
        (b'\x7fELF\x02\x01\x01\x00', 'is not a trace: ')):
      other.write_bytes(content)
      for command in ('cat', 'cut -o x', 'merge -o x', 'top', 'svg', 'html',
                      'export --slices', 'export --losses --format ndjson'):
        for name in other, '-':
          code, output, error = self.run_pztrace(*command.split(), name, stdin=content)
          shown, said = other, reason
          if name == '-':
            shown = '<stdin>'
            said = reason.replace('try xz -dc ', 'pipe it through xz -dc')
          self.assertEqual((code, output), (1, ''))
          self.assertTrue(error.startswith('pztrace: %s %s' % (shown, said)), error)
          self.assertEqual(error.count('\n'), 1)
      if content:
        code, _, error = self.run_pztrace('record', '-o', self.trace, '--config', other)
        self.assertEqual(code, 1)
        # A text may be a configuration, as far as it can be parsed.
        if not reason.startswith('is text'):
          self.assertIn('not a' if 'not a' in reason else reason[:10], error)
    # One of several.
    self.assertEqual(self.run_pztrace('record', '-o', self.trace, '--', 'true')[0], 0)
    code, output, _ = self.run_pztrace('export', '--slices', other, self.trace)
    self.assertEqual(code, 1)
    self.assertIn('host,file', output)

  def test_missing_file(self):
    code, _, error = self.run_pztrace('cat', '/no/such')
    self.assertEqual((code, error),
                     (1, 'pztrace: /no/such: No such file or directory\n'))


class ArgumentsTest(PztraceTest):

  def test_help_and_version(self):
    for command, option in (('', '--socket'), ('record', '--data-source'),
                            ('stat', '--interval'), ('cat', '--offsets')):
      code, output, error = self.run_pztrace(*command.split(), '--help')
      self.assertEqual((code, error), (0, ''))
      self.assertTrue(
          output.startswith('Usage: %s ' % ('pztrace ' + command).strip()))
      self.assertEqual(option in output, command != '')
      self.assertLessEqual(max(map(len, output.splitlines())), 80)
      for same in ([*command.split(), '-h'], ['help', *command.split()]):
        self.assertEqual(self.run_pztrace(*same), (code, output, error))
    for arguments in ['--version'], ['stat', '--version']:
      self.assertEqual(self.run_pztrace(*arguments),
                       (0, 'pztrace %s\n' % version(), ''))

  def test_wrong_usage(self):
    *names, last, _ = re.findall(r'^  pztrace (\w+)', self.run_pztrace('--help')[1], re.M)
    for arguments, reason in (
        ([], 'a command is missing: %s or %s' % (', '.join(names), last)),
        (['play'], "unknown command 'play'"),
        (['recrod'], "unknown command 'recrod'; did you mean 'record'?"),
        (['record', '--ouput=x'],
         "unknown option '--ouput=x'; did you mean '--output'?"),
        (['record'], '-o FILE is missing'),
        (['record', '-o'], '-o needs a value'),
        (['record', '-o', ''], '-o needs a value'),
        (['record', '-o', 'x', 'ls'],
         "'ls' is one argument too many; a command stands after --"),
        (['record', '-o', 'x', '--size', 'big'], "--size takes %s, not 'big'" % SIZE),
        (['record', '-o', 'x', '--size=0'], '--size is 1 byte at least, not 0'),
        (['record', '-o', 'x', '--size=-1'], "--size takes %s, not '-1'" % SIZE),
        (['record', '-o', 'x', '--size=1TB'], "--size takes %s, not '1TB'" % SIZE),
        # These are fine, and what follows is not.
        (['record', '-o', 'x', '--size=64MB', '--duration=1h', '--rotate=1MiB',
          '--keep=x'], "--keep takes a number, not 'x'"),
        (['record', '-o', 'x', '--size=64kB', '--duration=1.5m', '--rotate=1h', 'ls'],
         "'ls' is one argument too many; a command stands after --"),
        (['record', '-o', 'x', '--size', '99999999G'],
         '--size is less than 4096G, not 99999999G'),
        (['record', '-o', 'x', '--size=4096G'],
         '--size is less than 4096G, not 4096G'),
        (['record', '-o', 'x', '--size=1e999'],
         '--size is less than 4096G, not 1e999'),
        (['record', '-o', 'x', '--duration', '71583m'],
         '--duration is 4294967 s at most, not 71583m'),
        (['stat', '--interval', '99999999999999999999'],
         '--interval is 4294967 s at most, not 99999999999999999999'),
        (['stat', '--pid', '4294967297'],
         '--pid takes the number of a process'),
        (['record', '-o', 'x', '--duration', '5 years'],
         "--duration takes %s, not '5 years'" % TIME),
        (['record', '-o', 'x', '--duration=0'], '--duration is 1 ms at least, not 0'),
        (['record', '-o', 'x', '--config=c', '--data-source=d'],
         '--config replaces --data-source; give one'),
        (['record', '-o', 'x', '--config=c', '--categories=d'],
         '--config replaces --categories; give one'),
        (['record', '-o', 'x', '--quick=1'], "unknown option '--quick=1'"),
        (['record', '-xo', 'x'], "unknown option '-x'"),
        (['record', '--data-source', 'a', '--data-source'],
         '--data-source needs a value'),
        (['stat', '--pid', 'me'], "--pid takes a number, not 'me'"),
        (['stat', '--pid', '1.5'], "--pid takes a number, not '1.5'"),
        (['stat', '--interval', 'x'], "--interval takes %s, not 'x'" % TIME),
        (['stat', 'x'], "'x' is one argument too many"),
        (['stat', '--', 'x'], "'x' is one argument too many"),
        (['cat'], 'FILE is missing'),
        (['cat', '--', 'a', 'b'], "'b' is one argument too many"),
        (['cat', '--offsets=1', 'a'], '--offsets takes no value'),
        (['cat', 'a', 'b'], "'b' is one argument too many"),
        (['cat', '--color=red', 'a'], '--color is auto, always or never'),
        (['cat', '--quick', 'a'], "unknown option '--quick'"),
    ):
      code, output, error = self.run_pztrace(*arguments)
      self.assertEqual((code, output, error),
                       (2, '', 'pztrace: %s\nTry %s --help.\n' % (
                           reason, ' '.join(['pztrace'] + [
                               word for word in arguments[:1]
                               if word in ('record', 'stat', 'cat')]))),
                       arguments)


class WorkersTest(PztraceTest):

  def run_workers(self, *arguments):
    process = subprocess.run([str(WORKERS), *arguments], env=self.env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             check=False)
    return (process.returncode, process.stdout.decode(),
            process.stderr.decode())

  def test_work_without_a_service(self):
    code, output, error = self.run_workers('--items', '3')
    self.assertEqual((code, error), (0, ''))
    self.assertEqual(len(REPORT.findall(output)), 2)

  def test_help(self):
    self.assertIn('--threads', self.run_workers('--help')[1])

  def test_wrong_usage(self):
    for arguments in ['--fast'], ['--items'], ['--items', '0'], [
        '--threads', '-1'], ['--threads', '5000'], ['--size', '1x']:
      code, _, error = self.run_workers(*arguments)
      self.assertEqual(code, 2, arguments)
      self.assertTrue(error.endswith('Try traced_workers --help.\n'))


if __name__ == '__main__':
  sys.exit(main())
