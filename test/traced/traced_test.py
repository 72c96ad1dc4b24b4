#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Our producer, with Perfetto's own tracing service and its own consumer.

Starts the `traced` that tools/install-build-deps --traced has installed, and
records sessions with its `perfetto` command while traced_producer writes known
packets. Compares every packet in the trace with the written one. Without it,
all of them are skipped.

  traced_test.py --producer out/release/traced_producer [NAME...]
"""

import argparse
import contextlib
import pathlib
import subprocess
import sys
import tempfile

import perfetto

# By name: the flags of traced_producer, and what the trace's own statistics must
# say: more than 0 of these.
SCENARIOS = {
    # Four threads. Packets span chunks, and the sizes of their messages become
    # known when the chunks are gone.
    'chunks_of_292_bytes': (['--packets=5000'], ['patches_succeeded']),
    'chunks_of_584_bytes': (['--packets=5000', '--layout=4'],
                            ['patches_succeeded']),
    'chunks_of_4088_bytes': (['--packets=5000', '--layout=1'],
                             ['patches_succeeded']),
    'pages_of_32_kilobytes': (['--packets=5000', '--layout=1',
                               '--page-size=32768', '--memory=1048576'], []),
    # A memory of 16 KB.
    'packets_larger_than_the_memory': (
        ['--packets=2000', '--memory=16384', '--max-size=200000'],
        ['patches_succeeded']),
    'packets_are_dropped': (['--packets=20000', '--memory=16384', '--drop=1'],
                            []),
    # In the middle of a packet, which ends by a chunk that says so.
    'writers_wait_in_vain': (
        ['--packets=3000', '--threads=1', '--memory=16384',
         '--max-size=60000', '--stop-service={pid}', '--stall-timeout-ms=20'],
        ['trace_writer_packet_loss']),
    'empty_fragments': (['--packets=3000', '--extend=3'], []),
    # Without a trigger, the session starts nothing.
    'trigger': (['--packets=100', '--trigger=go'], []),
    # There are 32,767 ids.
    'writer_ids_are_reused': (
        ['--packets=1', '--threads=1', '--writers=33500', '--max-size=100'],
        []),
}


def record(folder, producer, scenario):
  """Returns what went wrong, or an empty string."""
  flags, expected_stats = SCENARIOS[scenario]
  triggers = [flag.partition('=')[2] for flag in flags
              if flag.startswith('--trigger')]
  (folder / 'config').write_text('''
      buffers { size_kb: 262144 fill_policy: DISCARD }
      data_sources { config { name: "protozero.test" } }
      write_into_file: true
      # Only at the end: the last of several writes may have no statistics, and
      # earlier statistics do not count later packets.
      file_write_period_ms: 86400000
  ''' + ''.join('''
      trigger_config {
        trigger_mode: START_TRACING
        trigger_timeout_ms: 600000
        triggers { name: "%s" stop_delay_ms: 600000 }
      }
  ''' % name for name in triggers))
  with contextlib.ExitStack() as stack:
    traced = stack.enter_context(perfetto.Service(folder))
    flags = [flag.format(pid=traced.pid) for flag in flags]
    writer = stack.enter_context(
        perfetto.killing(subprocess.Popen(
            [producer, 'write', *flags], env=traced.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)))
    if writer.stdout.readline() != 'registered\n':
      return 'the producer has not connected'
    consumer = stack.enter_context(traced.consumer(
        '--txt', '-c', folder / 'config', '-o', folder / 'trace'))
    with open(folder / 'written', 'w') as written:
      for line in writer.stdout:
        if line == 'written\n':
          break
        written.write(line)
      else:
        return 'the producer has ended early'
    consumer.terminate()
    if consumer.wait(perfetto.TIMEOUT) != 0:
      return 'the consumer says: ' + consumer.stderr.read()
    writer.communicate('\n', timeout=perfetto.TIMEOUT)
    if writer.returncode != 0:
      return 'the producer has exit code %d' % writer.returncode
  max_size = [flag for flag in flags if flag.startswith('--max-size')]
  check = subprocess.run(
      [producer, 'check', folder / 'trace', folder / 'written', *max_size],
      stdout=subprocess.PIPE, text=True, check=False)
  print('  ' + check.stdout.rstrip().replace('\n', '\n  '))
  if check.returncode != 0:
    return 'the trace is not what was written'
  stats = perfetto.buffer_stats((folder / 'trace').read_bytes())
  print('  ' + ', '.join('%s: %d' % item for item in stats.items() if item[1]))
  for name in 'abi_violations', 'patches_failed':
    if stats[name] != 0:
      return 'the service counts %d %s' % (stats[name], name)
  for name in expected_stats:
    if stats[name] == 0:
      return 'the service counts no %s' % name
  return ''


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--producer', type=pathlib.Path, required=True)
  parser.add_argument('scenarios', metavar='NAME', nargs='*',
                      help='all: ' + ' '.join(SCENARIOS))
  args = parser.parse_args()
  unknown = set(args.scenarios) - set(SCENARIOS)
  if unknown:
    parser.error('there is no %s' % ' '.join(sorted(unknown)))
  names = args.scenarios or list(SCENARIOS)
  if not perfetto.is_installed():
    print('0 passed, 0 failed, %d skipped' % len(names))
    return
  failed = 0
  for name in names:
    print(name, flush=True)
    with tempfile.TemporaryDirectory() as folder:
      error = record(pathlib.Path(folder), args.producer.resolve(), name)
    if error:
      failed += 1
      print('FAILED: %s: %s' % (name, error))
  print('%d passed, %d failed' % (len(names) - failed, failed))
  sys.exit(1 if failed else 0)


if __name__ == '__main__':
  main()
