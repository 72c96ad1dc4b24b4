#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Trace events, with Perfetto's own tracing service and its own consumer.

Has the `traced` that tools/install-build-deps --traced has installed record
event_tracer, with several configurations, and looks which events are in the
trace, and which categories the service lists. Without it, all is skipped.

  track_event_test.py --tracer out/release/event_tracer
"""

import argparse
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile

import perfetto

# A TrackEventConfig, and the categories of the events that follow.
# event_tracer waits for "app", so that is always one of them.
CONFIGS = {
    '': {'app', 'net.io', 'net.dns'},
    'enabled_categories: "app" disabled_categories: "*"': {'app'},
    'enabled_categories: "app" enabled_categories: "net.d*" '
    'disabled_categories: "*"': {'app', 'net.dns'},
    'disabled_categories: "net.*"': {'app'},
    'enabled_tags: "big" enabled_categories: "net.slow"':
        {'app', 'net.io', 'net.dns', 'net.slow'},
}


def record(folder, tracer, config, expected):
  """Returns what went wrong, or an empty string."""
  (folder / 'config').write_text('''
      buffers { size_kb: 4096 fill_policy: DISCARD }
      data_sources { config { name: "track_event" track_event_config { %s } } }
      write_into_file: true
      file_write_period_ms: 86400000
  ''' % config)
  with contextlib.ExitStack() as stack:
    traced = stack.enter_context(perfetto.Service(folder))
    process = stack.enter_context(
        perfetto.killing(subprocess.Popen(
            [tracer, '--wait'], env=traced.env, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)))
    if process.stdout.readline() != 'registered\n':
      return 'the program has not connected'
    query = subprocess.run(
        perfetto.command('bin/perfetto', '--query-raw'), env=traced.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
        timeout=perfetto.TIMEOUT)
    for text in b'track_event', b'net.io', b'net.slow', b'Seldom wanted':
      if text not in query.stdout:
        return 'the service does not list %r: %r' % (text, query.stdout)
    consumer = stack.enter_context(traced.consumer(
        '--txt', '-c', folder / 'config', '-o', folder / 'trace'))
    if process.stdout.readline() != 'traced\n':
      return 'the program has not traced'
    consumer.terminate()
    if consumer.wait(perfetto.TIMEOUT) != 0:
      return 'the consumer says: ' + consumer.stderr.read()
    process.communicate('\n', timeout=perfetto.TIMEOUT)
    if process.returncode != 0:
      return 'the program has exit code %d' % process.returncode
  trace = (folder / 'trace').read_bytes()
  found = {name.decode() for name in re.findall(rb'of ([a-z.]+)', trace)}
  if found != expected:
    return 'recorded were %s, not %s' % (sorted(found), sorted(expected))
  return ''


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--tracer', type=pathlib.Path, required=True)
  args = parser.parse_args()
  if not perfetto.is_installed():
    print('0 passed, 0 failed, %d skipped' % len(CONFIGS))
    return
  failed = 0
  for config, expected in CONFIGS.items():
    with tempfile.TemporaryDirectory() as folder:
      error = record(pathlib.Path(folder), args.tracer.resolve(), config,
                     expected)
    if error:
      failed += 1
      print('FAILED: { %s }: %s' % (config, error))
  print('%d passed, %d failed' % (len(CONFIGS) - failed, failed))
  sys.exit(1 if failed else 0)


if __name__ == '__main__':
  main()
