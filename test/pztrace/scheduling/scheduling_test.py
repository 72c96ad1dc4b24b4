#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests what `pztrace record --scheduling` and `--samples` write about threads. Runs in
the build directory, as recording.py says."""

import collections
import errno
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

from recording import BUILD_DIR, PZTRACE, PztraceTest, is_near, main, never_right, with_small_rings

BUSY = BUILD_DIR / 'busy_threads'
WITHOUT_CALL = BUILD_DIR / 'without_call'
RUNNING = 'TASK_STATE_RUNNING'
WAITING = 'TASK_STATE_INTERRUPTIBLE_SLEEP', 'TASK_STATE_UNINTERRUPTIBLE_SLEEP'
IN_INTERRUPT = 8
NOBODY = 65534
SLEPT_S = 100000
# A program in it is its process 1.
CONTAINER = ('unshare', '-p', '--fork', '--kill-child', '--mount-proc')

Part = collections.namedtuple('Part', 'name tid begin end ran')


def parse_parts(text):
  return [Part(words[0], *map(int, words[1:]))
          for words in map(str.split, text.splitlines()) if len(words) == 5]


class States:
  """The states of threads in a trace, which keep the rules of their packets."""

  def __init__(self, test, packets):
    self.runs = collections.defaultdict(list)  # (begin, end) by thread.
    self.wakings = collections.defaultdict(list)  # (waker, flags) by thread.
    self.waits = set()  # (thread, time).
    self.unwoken = 0
    self.unknown = 0
    self.ends = collections.Counter()
    self.names = {}
    self.processes = {}
    self.first = {}
    last = {}
    on_cpu = {}
    now = 0
    sequences = set()
    for packet in packets:
      for tree in packet.all('generic_kernel_process_tree'):
        for thread in tree.all('threads'):
          self.names[thread.int('tid')] = thread.get('comm')
          self.processes[thread.int('tid')] = thread.int('pid')
      for event in packet.all('generic_kernel_task_rename_event'):
        self.names[event.int('tid')] = event.get('comm')
      for bundle in packet.all('ftrace_events'):
        for event in bundle.all('event'):
          # Only a thread that waits is woken.
          tid = event.all('sched_waking')[0].int('pid')
          test.assertIn(last[tid][0], WAITING)
          # It is known late if the thread had not left its processor.
          test.assertGreaterEqual(event.int('timestamp'), last[tid][1])
          last[tid] = 'woken', event.int('timestamp')
          self.wakings[tid].append((event.int('pid'), event.int('common_flags')))
      for event in packet.all('generic_kernel_task_state_event'):
        sequences.add(packet.get('trusted_packet_sequence_id'))
        tid, cpu = event.int('tid'), event.int('cpu')
        state = event.get('state')
        test.assertGreaterEqual(packet.int('timestamp'), now)
        now = packet.int('timestamp')
        self.first.setdefault(tid, now)
        before, since = last.get(tid, (None, 0))
        self.unwoken += state == RUNNING and before in WAITING
        if state in WAITING:
          self.waits.add((tid, now))
        if state == RUNNING:
          test.assertNotEqual(before, RUNNING)
          test.assertNotIn(cpu, on_cpu)
          on_cpu[cpu] = tid
        elif before == RUNNING:
          test.assertEqual(on_cpu.pop(cpu), tid)
          self.runs[tid].append((since, now))
          self.ends[tid, state] += 1
        self.unknown += state == 'TASK_STATE_UNKNOWN'
        last[tid] = state, now
    self.last = {tid: state for tid, (state, _) in last.items()}
    test.assertEqual(len(sequences), 1)

  def ran(self, part):
    """How long a thread ran in that time."""
    return sum(max(min(end, part.end) - max(begin, part.begin), 0)
               for begin, end in self.runs[part.tid])

  def agrees(self, part):
    """Whether that is as long as the thread says."""
    turns = sum(begin < part.end and end > part.begin for begin, end in self.runs[part.tid])
    return is_near(self.ran(part), part.ran, turns)

  def compare(self, parts):
    """Returns keys of the parts, and those that did not run as long as they say, by key."""
    keyed = dict(enumerate(sorted(parts, key=lambda part: (part.name, part.tid))))
    return list(keyed), {key: (self.ran(part), part) for key, part in keyed.items()
                         if not self.agrees(part)}


class SchedulingTest(PztraceTest):

  def setUp(self):
    super().setUp()
    code, _, error = self.run_pztrace('record', '-o', self.folder / 'try',
                                      '--scheduling', '--duration', '0.01')
    self.assertEqual(code, 0, error)
    if 'is not recorded' in error:
      self.skipTest('perf_event_open is forbidden')

  def check_truth(self, record):
    """Calls |record|, which returns the states and parts of a recording. Expects that
    threads ran as long as they say. Returns the last recording."""
    last = None
    def attempt():
      nonlocal last
      last = states, parts = record()
      self.assertEqual(states.unknown, 0)
      return states.compare(parts)
    self.assertEqual(never_right(attempt), {})
    return last

  def record_busy(self, *options, command=(BUSY,)):
    code, output, error = self.run_pztrace('record', '-o', self.trace, *options, '--',
                                           *command)
    self.assertEqual(code, 0, error)
    self.assertIn('nothing lost', error)
    return States(self, self.decode()), parse_parts(output)

  def test_command_ran_as_long_as_it_says(self):
    states, parts = self.check_truth(lambda: self.record_busy('--scheduling'))
    self.assertEqual(len(parts), 6)
    by_name = {part.name: part for part in parts}
    # They have one processor for both. One of them may be done before the other begins.
    self.assertGreater(
        sum(states.ends[part.tid, 'TASK_STATE_RUNNABLE']
            for part in parts if part.name == 'preempt'), 0)
    slept = states.ends[by_name['sleep'].tid, 'TASK_STATE_INTERRUPTIBLE_SLEEP']
    self.assertGreaterEqual(slept, 10)
    for part in parts:
      self.assertEqual(states.names[part.tid], 'busy_threads')
      self.assertEqual(states.last[part.tid], 'TASK_STATE_DEAD')
    self.assertEqual(len(set(states.processes[part.tid] for part in parts)), 1)

  def test_child_processes_are_recorded(self):
    states, parts = self.check_truth(lambda: self.record_busy(
        '--scheduling', command=('sh', '-c', '%s & %s; wait' % (BUSY, BUSY))))
    self.assertEqual(len(parts), 12)
    self.assertIn('sh', states.names.values())

  def attach(self, process, *options):
    """Starts a recorder, and waits until it has events of the process."""
    recorder = self.start('record', '-o', self.trace, '--pid', process.pid, *options)
    folder = pathlib.Path('/proc/%d/fd' % recorder.pid)
    processors = os.sysconf('SC_NPROCESSORS_ONLN')
    num_threads = len(os.listdir('/proc/%d/task' % process.pid))
    def num_events():
      names = []
      for link in folder.iterdir():
        try:
          names.append(os.readlink(link))
        except OSError:
          pass  # It is closed by now.
      return names.count('anon_inode:[perf_event]')
    while num_events() < processors * (num_threads + 1):
      self.assertIsNone(recorder.poll())
      time.sleep(0.01)
    return recorder

  def start_busy(self):
    process = subprocess.Popen([str(BUSY), '--rounds'], env=self.env,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    def end():
      process.kill()
      process.wait()
      process.stdin.close()
      process.stdout.close()
    self.addCleanup(end)
    return process

  def do_round(self, process):
    process.stdin.write(b'\n')
    process.stdin.flush()
    return b''.join(iter(process.stdout.readline, b'round\n')).decode()

  def test_attaches_to_threads_that_run_already(self):
    process = self.start_busy()
    self.do_round(process)
    def record():
      recorder = self.attach(process, '--scheduling')
      # The first one may be under way before threads are known.
      self.do_round(process)
      output = self.do_round(process)
      recorder.send_signal(signal.SIGINT)
      error = recorder.stderr.read()
      self.assertEqual(recorder.wait(), 0, error)
      # The recorder is no program that it records.
      self.assertRegex(error, r'(?m)^pztrace: busy_threads .* is connected$')
      self.assertNotRegex(error, r'(?m)^pztrace: pztrace .* is connected$')
      return States(self, self.decode()), parse_parts(output)
    self.check_truth(record)

  def test_states_are_known_before_the_first_record(self):
    process = self.start_busy()
    parts = parse_parts(self.do_round(process))
    recorder = self.attach(process, '--scheduling')
    recorder.send_signal(signal.SIGINT)
    error = recorder.stderr.read()
    self.assertEqual(recorder.wait(), 0, error)
    states = States(self, self.decode())
    for part in parts:
      self.assertEqual(states.last.get(part.tid), 'TASK_STATE_INTERRUPTIBLE_SLEEP')

  def test_samples_are_taken_by_processor_time(self):
    code, output, error = self.run_pztrace('record', '-o', self.trace, '--samples', 1000,
                                           '--', BUSY)
    self.assertEqual(code, 0, error)
    samples = collections.Counter()
    tables = collections.defaultdict(dict)
    has_path = False
    for packet in self.decode():
      self.assertEqual(packet.all('generic_kernel_task_state_event'), [])
      for data in packet.all('interned_data'):
        for name in ('stack_sample_task_contexts', 'mappings', 'frames', 'callstacks',
                     'mapping_paths', 'build_ids', 'stack_sample_execution_contexts'):
          for entry in data.all(name):
            self.assertNotIn(entry.get('iid'), tables[name])
            tables[name][entry.get('iid')] = entry
      for sample in packet.all('stack_sample'):
        self.assertEqual(sample.int('primary_weight'), 1000000)
        task = tables['stack_sample_task_contexts'][sample.get('task_context_iid')]
        samples[task.int('tid')] += 1
        self.assertIn(sample.get('execution_context_iid'),
                      tables['stack_sample_execution_contexts'])
        stack = tables['callstacks'][sample.get('callstack_iid')]
        for frame_id in stack.all('frame_ids'):
          frame = tables['frames'][frame_id]
          if frame.get('mapping_id') is not None:
            mapping = tables['mappings'][frame.get('mapping_id')]
            path = [tables['mapping_paths'][part].get('str')
                    for part in mapping.all('path_string_ids')]
            has_path |= path == str(BUSY).split('/')[1:]
    self.assertTrue(has_path)
    for part in parse_parts(output):
      # Time in the kernel may have no samples.
      self.assertLess(samples[part.tid], part.ran / 1e6 * 1.3 + 5, part)
      self.assertGreater(samples[part.tid], part.ran / 1e6 * 0.5 - 5, part)

  def names(self, trace=None):
    """The functions that a trace names."""
    return {line.get('function_name')
            for packet in self.decode(trace)
            for symbols in packet.all('module_symbols')
            for symbol in symbols.all('address_symbols')
            for line in symbol.all('lines')}

  def test_deep_stacks_do_not_lack_frame_pointers(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--samples', '1000', '--',
                                      BUSY, '--deep')
    self.assertEqual(code, 0, error)
    self.assertIn('lack their outermost functions', error)
    self.assertNotIn('frame pointers', error)

  def test_names_of_functions_are_added_at_the_end_or_later(self):
    name = '(anonymous namespace)::Compute(unsigned long)'
    program = self.folder / 'busy_threads'
    shutil.copy(BUSY, program)
    error = self.record_samples(program)
    if 'this build has no libdw' in error:
      self.skipTest('no libdw')
    self.assertIn(name, self.names())
    # Other names of a stripped program are in its dynamic symbol table.
    elsewhere = self.folder / 'elsewhere' / str(program)[1:]
    elsewhere.parent.mkdir(parents=True)
    shutil.move(program, elsewhere)
    subprocess.run(['strip', '-o', program, elsewhere], check=True)
    self.record_samples(program)
    self.assertNotIn(name, self.names())
    more = self.folder / 'more'
    code, _, error = self.run_pztrace('symbolize', '--root', self.folder / 'elsewhere',
                                      '-o', more, self.trace)
    self.assertEqual(code, 0, error)
    self.assertIn('names for ', error)
    self.assertIn(name, self.names(more))
    # All names are there now.
    again = self.folder / 'again'
    self.run_pztrace('symbolize', '--root', self.folder / 'elsewhere', '-o', again, more)
    self.assertEqual(again.read_bytes(), more.read_bytes())
    # A trace that is cut off gets them, too.
    self.trace.write_bytes(self.trace.read_bytes() + b'\x0a\x7f')
    code, _, error = self.run_pztrace('symbolize', '--root', self.folder / 'elsewhere',
                                      '-o', again, self.trace)
    self.assertEqual(code, 1, error)
    self.assertIn('the trace is damaged', error)
    self.assertEqual(again.read_bytes(), more.read_bytes())
    # A debug file beside the program.
    debug = self.folder / 'busy_threads.debug'
    subprocess.run(['objcopy', '--only-keep-debug', elsewhere, debug], check=True)
    subprocess.run(['objcopy', '--add-gnu-debuglink=%s' % debug, program], check=True)
    self.record_samples(program)
    self.assertIn(name, self.names())

  def test_names_of_files_that_are_gone(self):
    """They are deleted, or replaced, while they run."""
    name = '(anonymous namespace)::Compute(unsigned long)'
    program = self.folder / 'busy_threads'
    for change in 'rm "$0"', 'rm "$0"; cp /bin/true "$0"':
      program.unlink(missing_ok=True)
      shutil.copy(BUSY, program)
      # It still runs when the recorder looks at it, which is up to 0.2 s later.
      error = self.record_samples(
          'sh', '-c', '{ echo; sleep 0.5; echo; } | "$0" --rounds & sleep 0.05; %s; wait' %
          change, program)
      if 'this build has no libdw' in error:
        self.skipTest('no libdw')
      self.assertIn(name, self.names())

  def test_threads_of_a_container_have_states(self):
    if subprocess.run([*CONTAINER, 'true'], stderr=subprocess.DEVNULL, check=False).returncode:
      self.skipTest('needs namespaces')
    recorder = self.start('record', '-o', self.trace, '--scheduling', '--', *CONTAINER, BUSY,
                          '--rounds')
    recorder.stdin.write('\n')
    recorder.stdin.flush()
    lines = iter(recorder.stdout.readline, '')
    parts = parse_parts(''.join(itertools.takewhile('round\n'.__ne__, lines)))
    # The recorder asks for the ids of threads some time after they have begun.
    time.sleep(1)
    _, error = recorder.communicate()
    self.assertEqual(recorder.returncode, 0, error)
    self.assertEqual(len(parts), 6)
    states = States(self, self.decode())
    inner = {}
    for packet in self.decode():
      for tree in packet.all('process_tree'):
        for thread in tree.all('threads'):
          tid = thread.int('tid')
          self.assertEqual(thread.int('tgid'), states.processes[tid])
          inner[int(thread.get('nstid'))] = tid
        for process in tree.all('processes'):
          self.assertEqual(process.get('nspid'), '1')
    self.assertLessEqual({part.tid for part in parts}, set(inner))
    for part in parts:
      self.assertNotEqual(states.runs[inner[part.tid]], [])

  def record_samples(self, *program):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--samples', 1000, '--',
                                      *program)
    self.assertEqual(code, 0, error)
    return error

  def test_symbolize_refuses_to_replace_its_input(self):
    self.record_samples('true')
    before = self.trace.read_bytes()
    code, _, error = self.run_pztrace('symbolize', '-o', self.trace, self.trace)
    self.assertEqual(code, 2, error)
    self.assertEqual(self.trace.read_bytes(), before)
    code, _, error = self.run_pztrace('symbolize', self.trace)
    self.assertEqual(code, 2, error)

  def test_ring_has_names_and_whole_stacks(self):
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--why', '--ring',
                                      '100k', '--', 'sh', '-c', '%s; %s' % (BUSY, BUSY))
    self.assertEqual(code, 0, error)
    States(self, self.decode())

  def check_whole(self, trace):
    """Expects that a trace alone has states, named threads, and whole stacks."""
    packets = self.decode(trace)
    states = States(self, packets)
    self.assertIn('busy_threads', states.names.values())
    frames = set()
    stacks = {}
    num_samples = 0
    for packet in packets:
      for data in packet.all('interned_data'):
        frames.update(frame.get('iid') for frame in data.all('frames'))
        stacks.update((stack.get('iid'), stack) for stack in data.all('callstacks'))
      for sample in packet.all('stack_sample'):
        num_samples += 1
        for frame in stacks[sample.get('callstack_iid')].all('frame_ids'):
          self.assertIn(frame, frames)
    self.assertGreater(sum(map(len, states.runs.values())), 0)
    self.assertGreater(num_samples, 0)

  def test_rotated_files_are_whole(self):
    process = self.start('record', '-o', self.folder / 'part', '--why', '--rotate', '200ms',
                         '--', BUSY, '--rounds')
    while len(list(self.folder.glob('part*'))) < 4:
      process.stdin.write('\n')
      process.stdin.flush()
      for _ in iter(process.stdout.readline, 'round\n'):
        pass
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 0, error)
    files = sorted(self.folder.glob('part*'), key=lambda path: path.stat().st_mtime_ns)
    # A file that was begun when nothing ran for long has no states.
    files = [trace for trace in files[1:-1] if any(
        packet.all('generic_kernel_task_state_event') for packet in self.decode(trace))]
    self.assertGreater(len(files), 0)
    for trace in files:
      self.check_whole(trace)

  def test_snapshots_have_the_states_of_their_last_moments(self):
    def record():
      process = self.start('record', '-o', self.folder / 'rest', '--scheduling', '--ring',
                           '10s', '--', BUSY, '--rounds')
      process.stdin.write('\n')
      process.stdin.flush()
      lines = ''.join(iter(process.stdout.readline, 'round\n'))
      code, _, error = self.run_pztrace('snapshot', '-o', self.trace)
      self.assertEqual(code, 0, error)
      process.stdin.close()
      error = process.stderr.read()
      self.assertEqual(process.wait(), 0, error)
      return States(self, self.decode()), parse_parts(lines)
    _, parts = self.check_truth(record)
    self.assertEqual(len(parts), 6)

  def triggered_file(self, option):
    """Returns a file of what comes long after the names of threads were recorded."""
    process = self.start('record', '-o', self.folder / 'part', option, '--on-trigger', 'slow',
                         '--before', '300ms', '--after', '300ms', '--', BUSY, '--rounds')
    def do_round():
      process.stdin.write('\n')
      process.stdin.flush()
      for _ in iter(process.stdout.readline, 'round\n'):
        pass
    do_round()
    time.sleep(0.5)
    code, _, error = self.run_pztrace('trigger', 'slow')
    self.assertEqual(code, 0, error)
    while not list(self.folder.glob('part-*')):
      do_round()
    process.stdin.close()
    error = process.stderr.read()
    self.assertEqual(process.wait(), 0, error)
    (trace,) = self.folder.glob('part-*')
    return trace

  def test_triggered_files_are_whole(self):
    self.check_whole(self.triggered_file('--why'))

  def test_triggered_files_have_names_of_threads(self):
    states = States(self, self.decode(self.triggered_file('--scheduling')))
    self.assertIn('busy_threads', states.names.values())

  def lose_records(self, prefix=()):
    """Records more switches than rings have room for, while the recorder is stopped, and
    a process that goes on. Returns what the recorder says."""
    recorder = self.start(
        'record', '-o', self.trace, '--scheduling', '--', 'sh', '-c',
        'while sleep 0.01; do true; done > /dev/null 2>&1 & echo $!; read line; '
        '%s --switches; echo done; read line; sleep 0.2' % BUSY,
        prefix=[*prefix, *with_small_rings()])
    loop = recorder.stdout.readline()
    if not loop:
      self.assertIn(recorder.wait(), (1, 77))
      self.skipTest('no tracefs')
    self.addCleanup(os.kill, int(loop), signal.SIGKILL)
    recorder.send_signal(signal.SIGSTOP)
    recorder.stdin.write('\n')
    recorder.stdin.flush()
    self.assertEqual(recorder.stdout.readline(), 'done\n')
    recorder.send_signal(signal.SIGCONT)
    recorder.stdin.write('\n')
    recorder.stdin.close()
    error = recorder.stderr.read()
    self.assertEqual(recorder.wait(), 0, error)
    packets = self.decode()
    self.assertGreater(States(self, packets).unknown, 0)
    times = [packet.int('timestamp') for packet in packets
             if packet.all('generic_kernel_task_state_event')]
    self.assertLess(times[-1] - times[0], SLEPT_S * 1000000000)
    return error

  def test_lost_records_are_in_the_ledger(self):
    error = self.lose_records()
    lost = re.search(r'the kernel has lost (\d+) records', error)
    self.assertIsNotNone(lost, error)
    self.assertIn(' %s packets lost: %s shared memory full' % (lost[1], lost[1]), error)
    self.assertIn('1', [packet.get('previous_packet_dropped') for packet in self.decode()])

  def test_times_of_losses_after_the_machine_slept(self):
    """The clock of wakings stands still when the machine sleeps, the boot clock does not."""
    if os.geteuid() != 0:
      self.skipTest('needs root')
    self.lose_records(['unshare', '--mount', '--time', '--boottime', str(SLEPT_S), 'sh', '-c',
                       'mount -t tracefs tracefs /sys/kernel/tracing || exit 77; exec "$@"',
                       'sh'])

  def test_sums_are_recorded_where_events_are_forbidden(self):
    for number, reason in (errno.EPERM, 'filter of system calls'), (errno.EBADF, 'Bad file'):
      # Threads of several rounds live longer than the time between two looks.
      result = subprocess.run(
          [str(WITHOUT_CALL), 'perf_event_open', str(number), str(PZTRACE), 'record',
           '-o', str(self.trace), '--why', '--', str(BUSY), '--rounds'], input='\n' * 9,
          env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          universal_newlines=True, check=False)
      if result.returncode == 77:
        self.skipTest('no seccomp filter')
      self.assertEqual(result.returncode, 0, result.stderr)
      self.assertIn('--scheduling and --samples are not recorded: ', result.stderr)
      self.assertIn(reason, result.stderr)
      self.assertIn('nothing lost', result.stderr)
      parts = parse_parts(result.stdout)
      counters = {}
      sums = collections.Counter()
      threads = {}
      for packet in self.decode():
        for track in packet.all('track_descriptor'):
          for thread in track.all('thread'):
            threads[track.get('uuid')] = thread.int('tid')
          if track.get('name') == 'ran':
            counters[track.get('uuid')] = threads[track.get('parent_uuid')]
        for event in packet.all('track_event'):
          if event.get('track_uuid') in counters:
            tid = counters[event.get('track_uuid')]
            self.assertGreaterEqual(event.int('counter_value'), sums[tid])
            sums[tid] = event.int('counter_value')
      # The last look at a thread may be a tenth of a second before its end.
      self.assertTrue(set(sums) & {part.tid for part in parts}, sums)

  def test_samples_alone_are_forbidden_with_a_reason(self):
    result = subprocess.run(
        [str(WITHOUT_CALL), 'perf_event_open', str(errno.EACCES), str(PZTRACE), 'record', '-o',
         str(self.trace), '--samples', '100', '--', str(BUSY)], env=self.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
        check=False)
    if result.returncode == 77:
      self.skipTest('no seccomp filter')
    self.assertEqual(result.returncode, 0, result.stderr)
    self.assertIn('--samples is not recorded: ', result.stderr)
    self.assertNotIn('sums', result.stderr)

  def test_killed_recorder_leaves_the_program_alone(self):
    process = self.start_busy()
    recorder = self.attach(process, '--why')
    recorder.kill()
    recorder.wait()
    self.assertEqual(len(parse_parts(self.do_round(process))), 6)

  def test_flight_recorder_refuses_it(self):
    code, _, error = self.run_pztrace('record', '--flight-recorder', self.folder / 'f',
                                      '--why')
    self.assertEqual(code, 2)
    self.assertIn('give no --scheduling, --samples or --why', error)

  def test_wrong_rates_are_refused(self):
    for rate in '0', '10001', '-1', '1k', '':
      code, _, error = self.run_pztrace('record', '-o', self.trace, '--samples', rate)
      self.assertEqual(code, 2, error)

  def test_needs_no_privileges(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    for folder in self.folder, *self.folder.iterdir():
      os.chown(folder, NOBODY, NOBODY)
    def record(option):
      result = subprocess.run(
          ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups',
           str(PZTRACE), 'record', '-o', str(self.trace), option, '--', str(BUSY)],
          env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          universal_newlines=True, check=False)
      self.assertEqual(result.returncode, 0, result.stderr)
      self.assertNotIn('not recorded', result.stderr)
      return States(self, self.decode()), parse_parts(result.stdout)
    self.check_truth(lambda: record('--scheduling'))
    record('--why')
    self.assertTrue(any(packet.all('stack_sample') for packet in self.decode()))

  def test_root_sees_who_woke_a_thread_and_where_it_waited(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    # Some kernels count a waking, but do not write it, if it interrupts a thread of
    # process 1, as for a timer. So one of several recordings has to have all of them.
    for _ in range(6):
      result = subprocess.run(
          ['unshare', '--mount', 'sh', '-c',
           'mount -t tracefs tracefs /sys/kernel/tracing || exit 77; exec "$@"', 'sh',
           str(PZTRACE), 'record', '-o', str(self.trace), '--why', '--', str(BUSY)],
          env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
          universal_newlines=True, check=False)
      if result.returncode == 77 or result.stderr.startswith('unshare'):
        self.skipTest('no tracefs')
      self.assertEqual(result.returncode, 0, result.stderr)
      self.assertIn('nothing lost', result.stderr)
      self.assertNotIn('count as waiting', result.stderr)
      packets = self.decode()
      states = States(self, packets)
      if states.unwoken == 0:
        break
    self.assertEqual(states.unwoken, 0)
    parts = {part.name: part for part in parse_parts(result.stdout)}
    read, write, sleep = (parts[name].tid for name in ('read', 'write', 'sleep'))
    self.assertIn((write, False),
                  [(tid, flags & IN_INTERRUPT != 0) for tid, flags in states.wakings[read]])
    self.assertTrue([tid for tid, flags in states.wakings[sleep] if flags & IN_INTERRUPT])
    # Each wait has its stack, which samples of running time do not have.
    names = {}
    tasks = {}
    stacks = set()
    for packet in packets:
      for data in packet.all('interned_data'):
        for entry in data.all('stack_sample_counter_descriptors'):
          names[entry.get('iid')] = entry.get('name')
        for entry in data.all('stack_sample_task_contexts'):
          tasks[entry.get('iid')] = entry.int('tid')
      for sample in packet.all('stack_sample'):
        if names[sample.get('primary_descriptor_iid')] == 'context-switches':
          self.assertEqual(sample.int('primary_weight'), 1)
          stacks.add((tasks[sample.get('task_context_iid')], packet.int('timestamp')))
    self.assertEqual(stacks, states.waits)

  def test_root_is_told_what_wakings_need(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    if os.path.exists('/sys/kernel/tracing/events'):
      self.skipTest('tracefs is mounted')
    code, _, error = self.run_pztrace('record', '-o', self.trace, '--scheduling',
                                      '--duration', '0.01')
    self.assertEqual(code, 0, error)
    self.assertIn('tracefs is not mounted; `sudo mount -t tracefs tracefs '
                  '/sys/kernel/tracing` allows it', error)

  def test_another_user_is_a_reason(self):
    if os.geteuid() != 0:
      self.skipTest('needs root')
    os.chown(self.folder, NOBODY, NOBODY)
    socket = str(self.folder / 'socket')
    recorder = subprocess.Popen(
        ['setpriv', '--reuid', str(NOBODY), '--regid', str(NOBODY), '--clear-groups',
         str(PZTRACE), 'record', '-o', str(self.trace) + '2', '--why', '--socket', socket],
        env=self.env, stderr=subprocess.PIPE, universal_newlines=True)
    self.addCleanup(recorder.stderr.close)
    self.addCleanup(recorder.wait)
    self.addCleanup(recorder.kill)
    recorder.stderr.readline()  # It listens.
    self.env['PERFETTO_PRODUCER_SOCK_NAME'] = socket
    tracer = self.start_busy()
    for line in recorder.stderr:
      if 'not recorded' in line:
        self.assertIn("belongs to user 0; record as that user: `sudo -u '#0'", line)
        self.assertIn('process %d' % tracer.pid, line)
        return
    self.fail('no reason')


if __name__ == '__main__':
  sys.exit(main())
