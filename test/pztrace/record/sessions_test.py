#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Several recorders of a user at once: `pztrace record --session NAME`."""

import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

from recording import BUILD_DIR, PZTRACE, PztraceTest, main

EVENT_TRACER = BUILD_DIR / 'event_tracer'
LINE_TRACER = BUILD_DIR / 'line_tracer'
# Only what hangs takes this long.
TIMEOUT_S = 60
# The most services that a program serves at once; one of them has no name.
MAX_SERVICES = 16
EVENTS = {'of app', 'of net.io', 'of net.dns', 'of net.slow'}


class SessionsTest(PztraceTest):

  def setUp(self):
    super().setUp()
    self.sockets = self.folder / ('pztrace-%d' % os.geteuid())

  def file(self, name):
    return self.folder / (name + '.pftrace')

  def start_recorder(self, name, *options, output=True, command=()):
    """A recorder of that name; None for none. It listens."""
    arguments = [str(PZTRACE), 'record']
    if output:
      arguments += ['-o', str(self.file(name or 'none'))]
    if name:
      arguments += ['--session', name]
    process = subprocess.Popen(
        [*arguments, *map(str, options), *map(str, command)], env=self.env,
        text=True, stderr=subprocess.PIPE, stdout=subprocess.PIPE,
        stdin=subprocess.PIPE)
    def end():
      process.kill()
      process.wait()
      for pipe in process.stdin, process.stdout, process.stderr:
        pipe.close()
    self.addCleanup(end)
    if not command:
      line = process.stderr.readline()
      self.assertIn('PERFETTO_PRODUCER_SOCK_NAME=', line)
    return process

  def start_tracer(self, *command):
    """A program that traces its events once, and again for each line. By
    default, waits until "app" is recorded."""
    process = subprocess.Popen(
        [*map(str, command or (EVENT_TRACER, '--wait'))], env=self.env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def end():
      process.kill()
      process.wait()
      process.stdin.close()
      process.stdout.close()
    self.addCleanup(end)
    if not command:
      self.assertEqual(process.stdout.readline(), 'registered\n')
      self.assertEqual(process.stdout.readline(), 'traced\n')
    return process

  def trace_once(self, tracer):
    tracer.stdin.write('\n')
    tracer.stdin.flush()
    self.assertEqual(tracer.stdout.readline(), 'traced\n')

  def wait_for(self, recorder, pattern):
    timer = threading.Timer(TIMEOUT_S, recorder.kill)
    timer.start()
    self.addCleanup(timer.cancel)
    lines = []
    for line in recorder.stderr:
      lines.append(line)
      if re.search(pattern, line):
        timer.cancel()
        return
    self.fail('no line matches %s: %s' % (pattern, lines))

  def wait_until(self, condition):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
      self.assertLess(time.monotonic(), end)
      time.sleep(0.01)

  def interrupt(self, recorder, code=0):
    recorder.send_signal(signal.SIGINT)
    messages = recorder.stderr.read()
    self.assertEqual(recorder.wait(TIMEOUT_S), code, messages)
    return messages

  def stop(self, process):
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)

  def names(self, path):
    """The number of slices of each name in a trace."""
    code, text, error = self.run_pztrace('export', '--slices', path)
    self.assertEqual(code, 0, error)
    return collections.Counter(name for row in text.splitlines()
                               for name in EVENTS if ',%s,' % name in row)

  def packets(self, name):
    text = self.run_pztrace('stat', '--session', name)[1]
    return int(re.search(r'^(\d+) packets? of', text, re.M)[1])

  def trace_until_all_have_some(self, tracer, *names):
    """Traces until each recorder has more packets than before."""
    before = {name: self.packets(name) for name in names}
    def all_have_some():
      self.trace_once(tracer)
      return all(self.packets(name) > before[name] for name in names)
    self.wait_until(all_have_some)

  def test_each_has_what_it_asked_for(self):
    app = self.start_recorder('app', '--categories', 'app')
    tracer = self.start_tracer()
    # These come when the program is recorded already.
    net = self.start_recorder('net', '--categories', 'net.*,net.slow')
    ring = self.start_recorder('ring', '--ring', '1M', '--categories', 'net.slow')
    plain = self.start_recorder(None)
    self.trace_until_all_have_some(tracer, 'app', 'net', 'ring')
    self.wait_for(plain, r'^pztrace: event_tracer \(%d\) is connected$' % tracer.pid)
    # The life of one does not touch the others.
    self.assertIn('nothing lost', self.interrupt(net))
    for _ in range(7):
      self.trace_once(tracer)
    for recorder in (app, ring, plain):
      self.assertIn('nothing lost', self.interrupt(recorder))
    app_names = self.names(self.file('app'))
    net_names = self.names(self.file('net'))
    self.assertEqual(app_names.keys(), {'of app'})
    self.assertEqual(net_names.keys(), {'of net.io', 'of net.dns', 'of net.slow'})
    self.assertGreaterEqual(app_names['of app'], net_names['of net.io'] + 7)
    self.assertEqual(self.names(self.file('ring')).keys(), {'of net.slow'})
    self.assertEqual(self.names(self.file('none')).keys(), EVENTS - {'of net.slow'})
    self.assertEqual(list(self.sockets.iterdir()), [])

  def test_killed_and_stopped_recorders_are_left_alone(self):
    good = self.start_recorder('good')
    killed = self.start_recorder('killed')
    stopped = self.start_recorder('stopped')
    tracer = self.start_tracer()
    self.trace_until_all_have_some(tracer, 'good', 'killed', 'stopped')
    self.stop(stopped)
    killed.kill()
    killed.wait()
    self.assertTrue((self.sockets / 'killed.session').exists())
    before = self.packets('good')
    for number in range(100):
      self.trace_once(tracer)
    self.wait_until(lambda: self.packets('good') >= before + 100)
    # It leaves no socket, and the name can be had again.
    self.assertFalse((self.sockets / 'killed.session').exists())
    again = self.start_recorder('killed')
    self.trace_until_all_have_some(tracer, 'good', 'killed')
    # A program that begins now finds the others at once.
    late = self.start_tracer(LINE_TRACER, '--commits', 'late')
    self.wait_for(good, r'^pztrace: late \(%d\) is connected$' % late.pid)
    for recorder in (good, again):
      self.assertIn('nothing lost', self.interrupt(recorder))
    stopped.send_signal(signal.SIGCONT)
    self.interrupt(stopped)

  def test_a_flight_recorder_beside_others(self):
    flights = self.folder / 'flights'
    flight = self.start_recorder('flight', '--flight-recorder', flights,
                                 output=False)
    tracer = self.start_tracer()
    app = self.start_recorder('app', '--categories', 'app')
    self.trace_until_all_have_some(tracer, 'app')
    self.assertIn('nothing lost', self.interrupt(app))
    before = self.names(self.file('app'))['of app']
    # Its files are written when it is gone, and while others come and go.
    flight.kill()
    flight.wait()
    again = self.start_recorder('app')
    self.trace_until_all_have_some(tracer, 'app')
    self.interrupt(again)
    self.trace_once(tracer)
    tracer.kill()
    tracer.wait()
    recovered = self.file('recovered')
    code, _, error = self.run_pztrace('recover', '-o', recovered, flights)
    self.assertEqual(code, 0, error)
    names = self.names(recovered)
    self.assertEqual(names.keys(), EVENTS - {'of net.slow'})
    self.assertGreater(names['of app'], before)

  def test_commands_choose_by_name(self):
    first = self.start_recorder('first', '--ring', '1M')
    second = self.start_recorder('second', '--on-trigger', 'now')
    plain = self.start_recorder(None)
    tracer = self.start_tracer()
    self.trace_until_all_have_some(tracer, 'first', 'second')
    shown = {name: '%s (process %d)' % (name, recorder.pid)
             for name, recorder in (('first', first), ('second', second))}
    code, text, error = self.run_pztrace('stat')
    self.assertEqual(code, 0, error)
    for title in (*shown.values(), 'process %d' % plain.pid):
      self.assertRegex(text, r'(?m)^%s:$' % re.escape(title))
    code, text, _ = self.run_pztrace('stat', '--session', 'second')
    self.assertEqual(code, 0)
    self.assertTrue(text.startswith(shown['second'] + ':\n'), text)
    self.assertNotIn('first', text)
    code, text, error = self.run_pztrace('list')
    self.assertEqual(code, 0, error)
    for title in shown.values():
      self.assertIn('recorded now by %s:\nevent_tracer' % title, text)
    code, text, _ = self.run_pztrace('list', '--session', 'first')
    self.assertEqual(code, 0)
    self.assertTrue(text.startswith('recorded now by ' + shown['first']), text)
    self.assertNotIn('second', text)
    # A snapshot of one, then of all that keep packets.
    one = self.file('one')
    code, _, error = self.run_pztrace('snapshot', '--session', 'first', '-o', one)
    self.assertEqual(code, 0, error)
    self.assertIn('of app', self.names(one))
    code, _, error = self.run_pztrace('snapshot', '-o', one)
    self.assertEqual(code, 1)
    self.assertIn('several recordings are running, and -o is for one', error)
    result = subprocess.run([str(PZTRACE), 'snapshot'], env=self.env, check=False,
                            cwd=self.folder, stderr=subprocess.PIPE, text=True)
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('process %d: the recording writes its packets to' % plain.pid,
                  result.stderr)
    for name in shown:
      self.assertEqual(len(list(self.folder.glob('snapshot-%s-*.pftrace' % name))), 1)
    # A trigger of one, and of all.
    code, _, error = self.run_pztrace('trigger', '--session', 'first', 'now')
    self.assertEqual(code, 0, error)
    written = lambda: list(self.folder.glob('second-*.pftrace'))
    self.assertEqual(written(), [])
    code, _, error = self.run_pztrace('trigger', 'now')
    self.assertEqual(code, 0, error)
    self.wait_until(written)
    for command in (('stat',), ('snapshot',), ('list',), ('trigger', 'now')):
      code, _, error = self.run_pztrace(*command, '--session', 'third')
      self.assertEqual(code, 1)
      self.assertIn('no recording has the name third; running: ', error)

  def test_a_name_is_of_one_recorder(self):
    first = self.start_recorder('web')
    # Also one that records a command only.
    for command in ((), ('--', 'true')):
      code, _, error = self.run_pztrace('record', '--session', 'web', '-o',
                                        self.file('second'), *command)
      self.assertEqual(code, 1)
      self.assertIn('another recording has', error)
      self.assertFalse(self.file('second').exists())
    self.interrupt(first)
    alone = self.start_recorder('web', command=('--', 'cat'))
    self.wait_until(lambda: (self.sockets / 'web.command').exists())
    code, _, error = self.run_pztrace('record', '--session', 'web', '-o',
                                      self.file('second'))
    self.assertEqual(code, 1)
    self.assertIn('another recording has the name web', error)
    alone.stdin.close()
    self.assertEqual(alone.wait(TIMEOUT_S), 0)
    self.assertEqual(list(self.sockets.iterdir()), [])

  def test_wrong_names(self):
    for name in ('.', '..', '.x', 'a/b', '../x', 'a b', 'a\n', '-x', 'é'):
      for command in (('record', '-o', self.file('x')), ('stat',), ('snapshot',),
                      ('list',), ('trigger', 'now')):
        code, _, error = self.run_pztrace(*command, '--session=' + name)
        self.assertEqual(code, 2)
        self.assertIn('--session takes a name of letters', error)
    for command in ('--session=',), ('--session', ''), ('--session', 'a', '--session', 'b'):
      self.assertEqual(self.run_pztrace('stat', *command)[0], 2)
    code, _, error = self.run_pztrace('record', '-o', self.file('x'), '--session',
                                      'x' * 200)
    self.assertEqual(code, 1)
    self.assertIn('File name too long; set XDG_RUNTIME_DIR to another folder, or '
                  'give another --session', error)
    code, _, error = self.run_pztrace('record', '-o', self.file('x'), '--session',
                                      'x', '--socket', '@x')
    self.assertEqual(code, 2)
    self.assertIn('give no --socket', error)
    self.assertFalse(self.file('x').exists())

  def test_a_command_is_recorded_by_others_with_names_too(self):
    always = self.start_recorder('always')
    code, _, error = self.run_pztrace('record', '--session', 'once', '-o',
                                      self.file('once'), '--', EVENT_TRACER)
    self.assertEqual(code, 0, error)
    self.assertEqual(self.names(self.file('once'))['of app'], 1)
    self.assertIn('1 producer, nothing lost', self.interrupt(always))
    self.assertEqual(self.names(self.file('always'))['of app'], 1)

  def test_a_recorder_without_a_place_says_so(self):
    recorders = [self.start_recorder('s%d' % number, '--size', '1M')
                 for number in range(MAX_SERVICES - 1)]
    tracer = self.start_tracer(LINE_TRACER, '--commits', 'crowded')
    for recorder in recorders:
      self.wait_for(recorder, 'crowded .* is connected')
    # The place of the service without a name is kept free for it.
    plain = self.start_recorder(None, '--size', '1M')
    self.wait_for(plain, 'crowded .* is connected')
    late = self.start_recorder('late', '--size', '1M')
    message = (r'^pztrace: crowded \(%d\) is not recorded: it has no place left for '
               r'another recording$' % tracer.pid)
    self.wait_for(late, message)
    later = self.start_recorder('later', '--size', '1M')
    self.wait_for(later, message)
    self.assertIn('1 program had no place for this recording',
                  self.interrupt(later, code=1))
    # It gets the place of another one.
    self.interrupt(recorders.pop())
    self.wait_for(late, 'crowded .* is connected')
    for recorder in (*recorders, plain):
      self.interrupt(recorder)
    self.interrupt(late, code=1)

  def test_recorders_that_come_and_go_leave_nothing_in_a_program(self):
    tracer = self.start_tracer(LINE_TRACER, '--commits', 'lasting')
    def count():
      process = pathlib.Path('/proc/%d' % tracer.pid)
      return (len(list((process / 'fd').iterdir())),
              len(list((process / 'task').iterdir())))
    always = self.start_recorder('always')
    self.wait_for(always, 'is connected')
    before = None
    for number in range(20):
      recorder = self.start_recorder('s%d' % number, '--size', '1M')
      self.wait_for(recorder, 'is connected')
      if number % 2:
        recorder.kill()
        recorder.wait()
      else:
        self.interrupt(recorder)
      if number == 3:
        before = count()
    # A descriptor of the recorder before may have been counted.
    self.wait_until(lambda: all(now <= then for now, then in zip(count(), before)))
    self.assertIn('nothing lost', self.interrupt(always))


if __name__ == '__main__':
  sys.exit(main())
