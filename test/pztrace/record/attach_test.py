#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Programs and `pztrace record` meet without being told an address."""

import fcntl
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import time
import unittest

from recording import BUILD_DIR, PZTRACE, WORKERS, PztraceTest, main

LINE_TRACER = BUILD_DIR / 'line_tracer'
EVENT_TRACER = BUILD_DIR / 'event_tracer'
# Only what hangs takes this long.
TIMEOUT_S = 60
# The time in which switches are counted.
WINDOW_S = 4
IS_ROOT = os.geteuid() == 0
NOBODY = 65534
AS_NOBODY = ('setpriv', '--reuid=%d' % NOBODY, '--regid=%d' % NOBODY,
             '--clear-groups')


def can_unshare(*options):
  return subprocess.run(['unshare', *options, '--fork', 'true'],
                        stderr=subprocess.DEVNULL, check=False).returncode == 0


def switches(process):
  """The number of times that the main thread and the library's have slept so far.
  ThreadSanitizer has a thread of its own."""
  texts = {path.parent.name: path.read_text()
           for path in pathlib.Path('/proc/%d/task' % process.pid).glob('*/status')}
  return sum(int(re.search(r'^voluntary_ctxt_switches:\s*(\d+)', text, re.M)[1])
             for tid, text in texts.items()
             if tid == str(process.pid) or text.startswith('Name:\tprotozero\n'))


def wait_until_quiet(process):
  """Waits until all threads sleep for a while, and returns their switches."""
  end = time.monotonic() + TIMEOUT_S
  before = None
  while time.monotonic() < end:
    now = switches(process)
    if now == before:
      break
    before = now
    time.sleep(0.5)
  return now


class AttachTest(PztraceTest):

  def start_program(self, name, address=None, prefix=(), tracer=LINE_TRACER,
                    options=()):
    """A program that traces each line that it gets. With an address, it has no
    other variables."""
    env = self.env if address is None else {
        'PERFETTO_PRODUCER_SOCK_NAME': address, 'PATH': os.environ['PATH']}
    process = subprocess.Popen(
        [*prefix, str(tracer), *options, name], env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def end():
      process.kill()
      process.wait()
      process.stdin.close()
      process.stdout.close()
    self.addCleanup(end)
    return process

  def start_recorder(self, *options, prefix=()):
    """Returns the process, and the address that it names."""
    process = subprocess.Popen(
        [*prefix, str(PZTRACE), 'record', '-o', str(self.trace),
         *map(str, options)],
        env=self.env, text=True, stderr=subprocess.PIPE)
    def end():
      process.kill()
      process.wait()
      process.stderr.close()
    self.addCleanup(end)
    variable, address = process.stderr.readline().strip().split('=', 1)
    self.assertEqual(variable, 'PERFETTO_PRODUCER_SOCK_NAME')
    return process, address

  def trace_line(self, program, line):
    """Traces the line again and again, until it is recorded."""
    end = time.monotonic() + TIMEOUT_S
    while time.monotonic() < end:
      program.stdin.write(line + '\n')
      program.stdin.flush()
      if program.stdout.readline() == 'traced\n':
        return
      time.sleep(0.01)
    self.fail('nobody records it')

  def wait_for(self, recorder, pattern):
    """Reads messages until one matches."""
    for line in recorder.stderr:
      if re.search(pattern, line):
        return line
    return self.fail('no line matches ' + pattern)

  def interrupt(self, recorder):
    recorder.send_signal(signal.SIGINT)
    messages = recorder.stderr.read()
    self.assertEqual(recorder.wait(TIMEOUT_S), 0, messages)
    return messages

  def names(self):
    return {event.get('name') for packet in self.decode()
            for event in packet.all('track_event')}

  def test_programs_and_recorder_meet_in_either_order(self):
    early = self.start_program('early')
    recorder, address = self.start_recorder()
    self.assertEqual(address, '%s/pztrace-%d/producers' %
                     (self.folder, os.geteuid()))
    late = self.start_program('late')
    self.trace_line(early, 'of early')
    self.trace_line(late, 'of late')
    self.wait_for(recorder, r'^pztrace: late \(%d\) is connected$' % late.pid)
    self.assertIn('in 2 producers, nothing lost', self.interrupt(recorder))
    self.assertEqual(self.names(), {'of early\n', 'of late\n'})

  def test_next_recorder_is_found(self):
    program = self.start_program('server')
    for _ in range(2):
      recorder, _ = self.start_recorder()
      self.trace_line(program, 'again')
      self.wait_for(recorder, r'server \(%d\) is connected' % program.pid)
      self.interrupt(recorder)
      self.assertEqual(self.names(), {'again\n'})
    recorder, _ = self.start_recorder()
    self.wait_for(recorder, r'server \(%d\) is connected' % program.pid)
    program.kill()
    self.wait_for(recorder, r'server \(%d\) is gone' % program.pid)

  def test_programs_that_live_shortly_are_named(self):
    recorder, _ = self.start_recorder()
    programs = []
    for number in range(6):
      programs.append(self.start_program('brief-%d' % number))
      self.trace_line(programs[-1], 'line')
      programs[-1].kill()
      programs[-1].wait()
    messages = self.interrupt(recorder)
    for number, program in enumerate(programs):
      self.assertIn('pztrace: brief-%d (%d) is connected\n' %
                    (number, program.pid), messages)

  def test_programs_are_chosen(self):
    programs = [self.start_program(name)
                for name in ('server-1', 'server-2', 'client', 'other')]
    pids = [program.pid for program in programs]
    for options, chosen in (
        (('--name', 'server-*'), (0, 1)),
        (('--name', 'client', '--name', '*2'), (1, 2)),
        (('--pid', pids[3]), (3,)),
        (('--pid', pids[0], '--name', 'o*her'), (0, 3))):
      with self.subTest(options):
        recorder, _ = self.start_recorder(*options)
        for number in chosen:
          self.trace_line(programs[number], 'line %d' % number)
        for number, program in enumerate(programs):
          if number not in chosen:
            program.stdin.write('unwanted\n')
            program.stdin.flush()
            self.assertEqual(program.stdout.readline(), 'off\n')
        self.assertNotIn('wrote nothing', self.interrupt(recorder))
        self.assertEqual(self.names(), {'line %d\n' % i for i in chosen})

  def test_quiet_programs_and_recorders_sleep(self):
    quiet = self.start_program('quiet', options=['--commits'])
    other = self.start_program('other', options=['--commits'])
    recorder, _ = self.start_recorder('--name', 'quiet')
    self.trace_line(quiet, 'first')
    self.wait_for(recorder, 'other .* is connected')
    # The service asks a quiet program after 0.25, 0.75, 1.75 and 3.75 s, and
    # then every 2 s.
    time.sleep(2)
    before = {process: switches(process) for process in (quiet, recorder)}
    not_recorded = wait_until_quiet(other)
    time.sleep(WINDOW_S)
    self.assertEqual(switches(other), not_recorded)
    # The answer to a request may take several system calls.
    self.assertLess(switches(quiet) - before[quiet], 4 * WINDOW_S)
    self.assertLess(switches(recorder) - before[recorder], 10 * WINDOW_S)
    self.trace_line(quiet, 'second')
    self.assertIn('nothing lost', self.interrupt(recorder))
    self.assertEqual(self.names(), {'first\n', 'second\n'})

  def test_programs_without_a_recorder_sleep(self):
    program = self.start_program('alone')
    before = wait_until_quiet(program)
    time.sleep(WINDOW_S)
    # Every ten seconds, it looks for Perfetto's service.
    self.assertLessEqual(switches(program) - before, 1)
    self.start_recorder()
    self.trace_line(program, 'line')

  def test_choice_of_nobody(self):
    program = self.start_program('server')
    recorder, _ = self.start_recorder('--name', 'serv')
    self.wait_for(recorder, 'is connected')
    messages = self.interrupt(recorder)
    self.assertIn("no producer that is selected has offered 'track_event'",
                  messages)
    self.assertIn('1 producer connected and wrote nothing: server (%d)' %
                  program.pid, messages)

  def test_wrong_choices(self):
    for pid in ('0', '-1', 'x', '1x', '4294967296'):
      code, _, error = self.run_pztrace('record', '-o', self.trace,
                                        '--pid=' + pid)
      self.assertEqual(code, 2, pid)
      self.assertIn('--pid takes the number of a process', error)
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--pid', 1,
                                      '--', 'true')
    self.assertEqual(code, 2)
    self.assertIn('give --name or no command', error)
    self.assertFalse(self.trace.exists())

  def assert_not_recorded(self, pid, reason, *options):
    code, output, error = self.run_pztrace('record', '-o', self.trace, '--pid',
                                           pid, *options)
    self.assertEqual((code, output, error), (1, '', 'pztrace: %s\n' % reason))
    self.assertFalse(self.trace.exists())

  def test_processes_that_cannot_be_recorded(self):
    quiet = subprocess.Popen(['sleep', '1000'], env=self.env)
    self.assert_not_recorded(
        quiet.pid, 'process %d does not use the library, or has not started '
        'tracing' % quiet.pid)
    quiet.kill()
    # It remains as a zombie.
    os.waitid(os.P_PID, quiet.pid, os.WEXITED | os.WNOWAIT)
    program = self.start_program('server')
    for options in ((), ('--socket', self.folder / 'elsewhere')):
      self.assert_not_recorded(quiet.pid, 'there is no process %d' % quiet.pid,
                               '--pid', program.pid, *options)
    quiet.wait()
    self.assert_not_recorded(quiet.pid, 'there is no process %d' % quiet.pid)

  @unittest.skipUnless(IS_ROOT and shutil.which('setpriv'), 'needs root')
  def test_process_of_another_user(self):
    program = self.start_program('of_another_user', prefix=AS_NOBODY,
                                 tracer=self.copied_tracer())
    # It runs, as that user.
    program.stdin.write('line\n')
    program.stdin.flush()
    self.assertEqual(program.stdout.readline(), 'off\n')
    self.assert_not_recorded(
        program.pid, 'process %d belongs to another user; record it as that '
        'user, or give --socket' % program.pid)

  def test_stopped_process_is_waited_for(self):
    program = self.start_program('server')
    self.list_until('server')
    program.send_signal(signal.SIGSTOP)
    recorder, _ = self.start_recorder('--pid', program.pid)
    program.send_signal(signal.SIGCONT)
    self.trace_line(program, 'line')
    self.interrupt(recorder)

  def test_command_is_recorded_alone(self):
    other = self.start_program('other')
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--name',
                                      'traced*', '--', WORKERS, '--items', 1)
    self.assertEqual(code, 0, error)
    self.assertIn('in 2 producers, nothing lost', error)
    # A recorder of all programs may run beside.
    recorder, _ = self.start_recorder()
    code, _, error = self.run_pztrace('record', '-o', self.folder / 'beside',
                                      '--', WORKERS, '--items', 1)
    self.assertEqual(code, 0, error)
    self.trace_line(other, 'other')
    self.interrupt(recorder)

  def test_second_recorder_says_what_to_do(self):
    recorder, address = self.start_recorder()
    code, _, error = self.run_pztrace('record', '-o', self.folder / 'second')
    self.assertEqual(code, 1)
    self.assertIn('cannot listen on %s: Address already in use; another '
                  'recording has it' % address, error)
    self.assertFalse((self.folder / 'second').exists())
    self.interrupt(recorder)
    # A killed one is not in the way.
    recorder, _ = self.start_recorder()
    recorder.kill()
    recorder.wait()
    self.assertTrue(pathlib.Path(address).exists())
    recorder, _ = self.start_recorder()
    self.interrupt(recorder)

  def test_folder_of_others_is_not_trusted(self):
    folder = self.folder / ('pztrace-%d' % os.geteuid())
    folder.mkdir()
    folder.chmod(0o755)
    for command in (('record', '-o', self.trace), ('list',), ('stat',)):
      code, _, error = self.run_pztrace(*command)
      self.assertEqual(code, 1)
      self.assertIn("not a folder that is this user's alone", error)
    # A program takes nothing that listens in it for a recorder.
    with socket.socket(socket.AF_UNIX) as trap:
      trap.bind(str(folder / 'producers'))
      trap.listen()
      program = self.start_program('server')
      program.stdin.write('line\n')
      program.stdin.flush()
      self.assertEqual(program.stdout.readline(), 'off\n')
      trap.setblocking(False)
      with self.assertRaises(BlockingIOError):
        trap.accept()

  def list_until(self, pattern):
    """Programs may have begun a moment ago."""
    end = time.monotonic() + TIMEOUT_S
    while True:
      code, output, error = self.run_pztrace('list')
      self.assertEqual(code, 0, error)
      if re.search(pattern, output) or time.monotonic() > end:
        self.assertRegex(output, pattern)
        return output

  def test_running_programs_are_listed(self):
    code, output, error = self.run_pztrace('list')
    self.assertEqual((code, output), (0, ''))
    self.assertIn('no program in %s/pztrace-%d waits for a recorder' %
                  (self.folder, os.geteuid()), error)
    server = self.start_program('server')
    client = self.start_program('client\x1b')
    lines = ('client\\033 (%d): track_event\n' % client.pid,
             'server (%d): track_event\n' % server.pid)
    output = self.list_until('(?s)client.*server|server.*client')
    self.assertEqual(sorted(output.splitlines(True)), sorted(lines))
    # While a recorder has them.
    recorder, _ = self.start_recorder()
    self.trace_line(server, 'line')
    self.trace_line(client, 'line')
    self.assertEqual(self.list_until('client'),
                     'recorded now by process %d:\n' % recorder.pid + output)
    self.wait_for(recorder, r'client.* is connected')
    client.kill()
    self.wait_for(recorder, r'client.* is gone')
    self.assertEqual(self.list_until('server'),
                     'recorded now by process %d:\n' % recorder.pid + lines[1])
    self.interrupt(recorder)

  def test_programs_of_a_command_are_listed(self):
    code, output, error = self.run_pztrace('list', '--', EVENT_TRACER)
    self.assertEqual(code, 0, error)
    # The program gives its producer no name.
    self.assertRegex(output, r'^event_tracer \(\d+\): track_event\n'
                     r'  net\.io\n'
                     r'  net\.slow \[slow big\]: Seldom wanted\n$')
    code, output, error = self.run_pztrace('list', '--', WORKERS)
    self.assertEqual(code, 0, error)
    self.assertEqual(len(re.findall(r'\(\d+\): track_event\n', output)), 2)
    code, _, error = self.run_pztrace('list', '--', 'false')
    self.assertEqual(code, 1, error)

  def test_categories_that_are_not_listed_are_counted(self):
    code, output, error = self.run_pztrace('list', '--', EVENT_TRACER, '--many')
    self.assertEqual(code, 0, error)
    listed = len(re.findall(r'^  many\.', output, re.M))
    left_out = re.search(r'^  and (\d+) more, for which the program has no room$',
                         output, re.M)
    self.assertGreater(listed, 1000)
    self.assertEqual(listed + int(left_out[1]), 2000)

  def test_list_takes_no_address(self):
    code, _, error = self.run_pztrace('list', '--socket', self.folder / 'other')
    self.assertEqual(code, 2)
    self.assertIn('--socket is for the programs of a command', error)
    program = self.start_program('server')
    folder = self.folder / ('pztrace-%d' % os.geteuid())
    end = time.monotonic() + TIMEOUT_S
    while True:
      looking = subprocess.Popen([str(PZTRACE), 'list'], env=self.env, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
      with looking:
        while looking.poll() is None and not list(folder.glob('*.lister')):
          time.sleep(0.001)
        recorder, _ = self.start_recorder()
        was_looking = looking.poll() is None
        self.trace_line(program, 'meanwhile')
        self.assertIn('nothing lost', self.interrupt(recorder))
        looking.communicate()
        self.assertEqual(looking.returncode, 0)
      if was_looking:
        break
      self.assertLess(time.monotonic(), end)
    self.assertEqual(self.names(), {'meanwhile\n'})
    self.assertEqual([path.name for path in folder.iterdir()], [])

  def test_recorder_that_does_not_answer_is_left_alone(self):
    program = self.start_program('server')
    recorder, _ = self.start_recorder('--ring', '1M')
    self.wait_for(recorder, 'is connected')
    recorder.send_signal(signal.SIGSTOP)
    os.waitpid(recorder.pid, os.WUNTRACED)
    interval = ('stat', '--interval', '1ms')
    commands = [self.start(*command) for command in (('stat',), interval, ('list',))]
    for command, rest in zip(commands, (
        '', '', '; the programs that it records are not listed')):
      self.assertEqual(command.communicate(timeout=TIMEOUT_S), (
          '', 'pztrace: process %d: the recorder does not answer%s\n' %
          (recorder.pid, rest)))
      self.assertEqual(command.returncode, 1)
    recorder.send_signal(signal.SIGCONT)
    self.trace_line(program, 'later')
    for command in (('stat',), ('snapshot', '-o', self.folder / 'snapshot')):
      code, _, error = self.run_pztrace(*command)
      self.assertEqual(code, 0, error)
    self.list_until('recorded now by process %d:\nserver' % recorder.pid)
    self.interrupt(recorder)
    self.assertEqual(self.names(), {'later\n'})

  def test_one_of_many_that_start_at_once_gets_the_address(self):
    program = self.start_program('server')
    recorder, address = self.start_recorder()
    recorder.kill()
    recorder.wait()
    recorders = [self.start('record', '-o', self.folder / str(number))
                 for number in range(10)]
    # The others end by themselves.
    winners = [recorder for recorder in recorders
               if address in recorder.stderr.readline().split('=')[-1].split()]
    self.assertEqual(len(winners), 1)
    for recorder in recorders:
      if recorder not in winners:
        self.assertEqual(recorder.wait(TIMEOUT_S), 1)
    self.assertTrue(pathlib.Path(address).is_socket())
    self.trace_line(program, 'line')
    self.interrupt(winners[0])
    self.assertFalse(pathlib.Path(address).exists())

  def test_status_on_a_terminal(self):
    program = self.start_program('a_server_with_a_name_of_some_length')
    terminal, end = pty.openpty()
    self.addCleanup(os.close, terminal)
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 90, 0, 0))
    recorder = subprocess.Popen(
        [str(PZTRACE), 'record', '-o', str(self.trace)], env=self.env,
        stderr=end)
    os.close(end)
    text = ''
    def read_until(pattern):
      nonlocal text
      limit = time.monotonic() + TIMEOUT_S
      while not re.search(pattern, text) and time.monotonic() < limit:
        if select.select([terminal], [], [], 1)[0]:
          text += os.read(terminal, 4096).decode()
      self.assertRegex(text, pattern)
    read_until('no program yet')
    for _ in range(500):
      self.trace_line(program, 'x' * 1000)
    read_until(r'\r[1-9][0-9.]* [kM]B, [0-9.]+ ([kM]B|bytes)/s, nothing lost; '
               r'Ctrl-C ends; 1 program: a_server_with_')
    lines = [line.replace('\x1b[K', '') for line in re.split('[\r\n]', text)[2:]]
    self.assertLessEqual(max(map(len, lines)), 89)
    recorder.send_signal(signal.SIGINT)
    self.assertEqual(recorder.wait(TIMEOUT_S), 0)
    text = ''
    read_until(r'^\x1b\[K.*nothing lost\r\n$')

  def copied_tracer(self):
    """A copy where other users, and other mounts, see it."""
    self.folder.chmod(0o755)
    return shutil.copy(LINE_TRACER, self.folder)

  @unittest.skipUnless(IS_ROOT and can_unshare('-m', '-p'), 'needs namespaces')
  def test_recipe_for_a_container(self):
    # The container has processes and a /run of its own, in which the folder of
    # the socket is mounted.
    folder = self.folder / 'shared'
    folder.mkdir()
    recorder, address = self.start_recorder('--socket', folder / 'producers')
    self.assertEqual(address, str(folder / 'producers'))
    program = self.start_program(
        'contained', '/run/pztrace/producers', tracer=self.copied_tracer(),
        prefix=['unshare', '-m', '-p', '--fork', '--mount-proc', 'sh', '-c',
                'mount -t tmpfs none /run && mkdir /run/pztrace && '
                'mount --bind "$0" /run/pztrace && exec "$@"', str(folder)])
    self.trace_line(program, 'from inside')
    self.assertIn('nothing lost', self.interrupt(recorder))
    self.assertEqual(self.names(), {'from inside\n'})

  @unittest.skipUnless(IS_ROOT and can_unshare('-T'), 'needs namespaces')
  def test_programs_with_other_clocks_are_named(self):
    recorder, _ = self.start_recorder()
    here = self.start_program('here')
    self.wait_for(recorder, 'here .* is connected')
    for name, option, difference in (('ahead', '86400', '86400.0 s after'),
                                     ('behind', '-5', '5.0 s before')):
      # `unshare` runs the program in a child process, which is the one in the
      # namespace.
      program = self.start_program(name, prefix=(
          'unshare', '-T', '--fork', '--kill-child', '--boottime', option))
      self.wait_for(recorder, r'^pztrace: %s \(\d+\) is in another time namespace: '
                    'its times are %s those of the recorder$' % (name, difference))
      self.trace_line(program, 'line')
    self.trace_line(here, 'line')
    self.assertNotIn('namespace', self.interrupt(recorder))

  @unittest.skipUnless(IS_ROOT and shutil.which('setpriv'), 'needs root')
  def test_recipe_across_users(self):
    recorder, address = self.start_recorder('--socket',
                                            '@pztrace-test-%d' % os.getpid())
    program = self.start_program('of_another_user', address, prefix=AS_NOBODY,
                                 tracer=self.copied_tracer())
    self.trace_line(program, 'from another user')
    self.assertIn('nothing lost', self.interrupt(recorder))
    self.assertEqual(self.names(), {'from another user\n'})

  @unittest.skipUnless(IS_ROOT and shutil.which('setpriv'), 'needs root')
  def test_recipe_for_a_unit_of_systemd(self):
    # The unit's RuntimeDirectory= is a folder that belongs to its user. That
    # user records it.
    folder = self.folder / 'run'
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    tracer = self.copied_tracer()
    program = self.start_program('unit', str(folder / 'producers'),
                                 prefix=AS_NOBODY, tracer=tracer)
    self.folder.chmod(0o777)
    self.env.pop('XDG_RUNTIME_DIR')
    self.addCleanup(shutil.rmtree, '/tmp/pztrace-%d' % NOBODY, True)
    recorder, _ = self.start_recorder('--socket', folder / 'producers',
                                      prefix=AS_NOBODY)
    self.trace_line(program, 'of a unit')
    self.assertIn('nothing lost', self.interrupt(recorder))
    self.assertEqual(self.names(), {'of a unit\n'})


if __name__ == '__main__':
  sys.exit(main())
