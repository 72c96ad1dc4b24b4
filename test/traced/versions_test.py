#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Producers and services of different versions, in one session.

Our producer, one with Perfetto's SDK (v48.1) and one with its C SDK (v59) write
known packets at the same time. The service is ours, that of each SDK, or
Perfetto's own `traced` (v56). Compares every packet in the trace with the written
one. Skips what tools/install-build-deps --perfetto-sdk, --tracers and --traced
have not installed.

  versions_test.py [NAME...], in the build directory
"""

import argparse
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import perfetto

BUILD = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PACKETS = 300
# The largest packet. Most are smaller than a chunk, some larger than all of them.
MAX_SIZE = 300000
THREADS = 2
# The streams of a producer: one for each thread. A producer of the SDKs has one more,
# for a packet that it writes when the service asks for the last ones.
STREAMS = THREADS + 1
OURS = 'traced_producer'
PRODUCERS = [OURS, 'perfetto_sdk_producer', 'perfetto_c_sdk_producer']
SERVICES = ['pztrace', 'traced', 'perfetto_sdk_producer',
            'perfetto_c_sdk_producer']
CONFIG = '''
    buffers { size_kb: 65536 fill_policy: DISCARD }
    data_sources { config { name: "protozero.test" } }
    flush_timeout_ms: %d
    data_source_stop_timeout_ms: %d
''' % (perfetto.TIMEOUT * 1000, perfetto.TIMEOUT * 1000)
# All producers have to answer in the middle of their work, too. Only for our
# service: Perfetto's takes the answer to such a flush for that to the last one.
PERIODIC_FLUSHES = 'flush_period_ms: 20'
# Our service, which also records the states and stacks of the producers' threads.
WHY = 'pztrace --scheduling --samples 10000'
# By name: the service, and the producer that is killed while it writes.
SCENARIOS = {
    **{'service_of_' + service: (service, None) for service in SERVICES},
    **{'death_of_' + producer: ('pztrace', producer) for producer in PRODUCERS},
    'threads_of_all': (WHY, None),
}


class Failure(Exception):
  pass


def is_there(program):
  if program == 'traced':
    return perfetto.is_installed()
  if program == WHY:
    program = 'pztrace'
  return (BUILD / program).exists()


def is_possible(service):
  """True if its programs are there. Its consumer is that of `traced`."""
  return (all(map(is_there, [*PRODUCERS, service])) and
          (service in ('pztrace', WHY) or perfetto.is_installed()))


class OurSession:
  """A session of `pztrace record`."""

  def __init__(self, stack, folder, *options):
    self.env = dict(os.environ,
                    PERFETTO_PRODUCER_SOCK_NAME=str(folder / 'producer'))
    self._process = stack.enter_context(perfetto.killing(subprocess.Popen(
        [BUILD / 'pztrace', 'record', '-o', folder / 'trace', '--socket',
         folder / 'producer', '--config', folder / 'config', '--fail-on-loss', *options],
        stderr=subprocess.PIPE, text=True)))
    self._process.stderr.readline()
    self._num_events = self._count_events()

  def _count_events(self):
    """Returns how many events of the kernel it has. The kernel may forbid them."""
    links = []
    for link in pathlib.Path('/proc/%d/fd' % self._process.pid).iterdir():
      with contextlib.suppress(OSError):
        links.append(os.readlink(link))
    return links.count('anon_inode:[perf_event]')

  def wait_for_process(self):
    """Waits until it has more events, those of another process."""
    before = self._num_events
    deadline = time.monotonic() + perfetto.TIMEOUT
    while 0 < self._num_events < before + os.sysconf('SC_NPROCESSORS_ONLN'):
      self._num_events = self._count_events()
      if time.monotonic() > deadline:
        raise Failure('pztrace has no events of a producer')
      time.sleep(0.01)

  def end(self, has_death):
    # The background jobs of a shell may ignore SIGINT.
    self._process.terminate()
    said = self._process.communicate(timeout=perfetto.TIMEOUT)[1]
    print('  ' + said.rstrip())
    self.has_threads = 'not recorded' not in said
    if self._process.returncode != 0 and not has_death:
      raise Failure('pztrace says: ' + said)


class PerfettoSession:
  """A session of the command `perfetto` with some service of Perfetto's."""

  def __init__(self, stack, folder, service):
    command = None if service == 'traced' else [
        BUILD / service, 'serve', folder / 'producer', folder / 'consumer']
    traced = stack.enter_context(perfetto.Service(folder, command))
    self.env = traced.env
    self._consumer = stack.enter_context(traced.consumer(
        '--txt', '-c', folder / 'config', '-o', folder / 'trace'))

  def end(self, _):
    self._consumer.terminate()
    said = self._consumer.communicate(timeout=perfetto.TIMEOUT)[1]
    if self._consumer.returncode != 0:
      raise Failure('perfetto says: ' + said)


def read_until(process, last, lines=None):
  """Reads the lines before `last`."""
  for line in process.stdout:
    if line == last + '\n':
      return
    if lines is not None:
      lines.append(line)
  raise Failure('%s has ended before "%s"' % (process.args[0].name, last))


def run(stack, folder, service, victim):
  """Records; returns what the producers say they have written."""
  if service in ('pztrace', WHY):
    (folder / 'config').write_text(CONFIG + PERIODIC_FLUSHES)
    session = OurSession(stack, folder, *service.split()[1:])
  else:
    (folder / 'config').write_text(CONFIG)
    session = PerfettoSession(stack, folder, service)
  processes = {}
  for i, name in enumerate(PRODUCERS):
    processes[name] = stack.enter_context(perfetto.killing(subprocess.Popen(
        [BUILD / name, 'write', '--packets=%d' % PACKETS,
         '--max-size=%d' % MAX_SIZE, '--first-stream=%d' % (i * STREAMS),
         '--threads=%d' % (1 if name == victim else THREADS),
         *(['--pause-at=%d' % (PACKETS // 2)] if name == victim else []),
         *(['--pause-at=1'] if service == WHY else [])],
        env=session.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True)))
    if service == WHY:
      for _ in range(THREADS):
        read_until(processes[name], 'paused')
      session.wait_for_process()
  if victim is not None:
    dead = processes.pop(victim)
    read_until(dead, 'paused')
    dead.kill()
    dead.communicate()
  for process in processes.values() if service == WHY else ():
    process.stdin.write('\n' * THREADS)
    process.stdin.flush()
  written = []
  for process in processes.values():
    if service != WHY:
      read_until(process, 'registered')
    read_until(process, 'written', written)
  num_streams = sum(THREADS if name == OURS else STREAMS for name in processes)
  if len(written) != num_streams:
    raise Failure('written were %d streams, not %d' %
                  (len(written), num_streams))
  session.end(victim is not None)
  for name, process in processes.items():
    process.communicate('\n', timeout=perfetto.TIMEOUT)
    if process.returncode != 0:
      raise Failure('%s has exit code %d' % (name, process.returncode))
  if service == WHY and session.has_threads:
    check_threads(folder, processes)
  return written


def check_threads(folder, processes):
  """Expects states and stacks of the threads of each process."""
  for name, process in processes.items():
    for table, condition in ('thread_state', "state = 'Running'"), ('stack_sample', 'weight > 0'):
      query = ('SELECT count(DISTINCT utid) FROM %s JOIN thread USING (utid) JOIN process '
               'USING (upid) WHERE pid = %d AND %s' % (table, process.pid, condition))
      rows = subprocess.run([BUILD / 'pztrace', 'sql', '--format', 'csv', folder / 'trace', query],
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
      print('  %s: %s threads in %s' % (name, rows[-1], table))
      if int(rows[-1]) < (THREADS if table == 'thread_state' else 1):
        raise Failure('%s threads of %s are in %s' % (rows[-1], name, table))


def check(folder, written, victim):
  (folder / 'written').write_text(''.join(written))
  result = subprocess.run(
      [BUILD / 'traced_producer', 'check', folder / 'trace', folder / 'written',
       '--max-size=%d' % MAX_SIZE], stdout=subprocess.PIPE, text=True,
      check=False)
  print('  ' + result.stdout.rstrip().replace('\n', '\n  '))
  if result.returncode != 0:
    raise Failure('the trace is not what was written')
  total, received = (int(re.search(r'(\d+) ' + what, result.stdout).group(1))
                     for what in ('written', 'received'))
  if victim is not None and not 0 < received - total <= PACKETS // 2:
    raise Failure('%d packets are of the killed producer' % (received - total))


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('scenarios', metavar='NAME', nargs='*',
                      help='all: ' + ' '.join(SCENARIOS))
  args = parser.parse_args()
  unknown = set(args.scenarios) - set(SCENARIOS)
  if unknown:
    parser.error('there is no %s' % ' '.join(sorted(unknown)))
  counts = {'passed': 0, 'failed': 0, 'skipped': 0}
  for name in args.scenarios or SCENARIOS:
    service, victim = SCENARIOS[name]
    if not is_possible(service):
      print('Skipped: %s needs what tools/install-build-deps installs' % name)
      counts['skipped'] += 1
      continue
    print(name, flush=True)
    with tempfile.TemporaryDirectory() as temp:
      folder = pathlib.Path(temp)
      try:
        with contextlib.ExitStack() as stack:
          check(folder, run(stack, folder, service, victim), victim)
        counts['passed'] += 1
      except (Failure, subprocess.TimeoutExpired) as failure:
        print('FAILED: %s: %s' % (name, failure))
        counts['failed'] += 1
  print(', '.join('%d %s' % (count, what) for what, count in counts.items()))
  sys.exit(1 if counts['failed'] else 0)


if __name__ == '__main__':
  main()
