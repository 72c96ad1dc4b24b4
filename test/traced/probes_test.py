#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Our service, with Perfetto's own producer.

Starts traced_host and the `traced_probes` that tools/install-build-deps --traced
has installed, lets it record processes and the system's statistics, and looks at
every packet: protoc must be able to decode it, and it must say who wrote it.
Says that it has been skipped if traced_probes is not installed.

  probes_test.py --host out/release/traced_host
"""

import argparse
import collections
import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

import perfetto

PACKETS = 40
# Fields of TracePacket.
PROCESS_TREE = 2
TRUSTED_UID = 3
SYS_STATS = 7
PROCESS_STATS = 9
SEQUENCE_ID = 10
TRUSTED_PID = 79


def record(host, folder):
  """Returns the trace, and the id of the process that wrote it."""
  env = dict(os.environ,
             PERFETTO_PRODUCER_SOCK_NAME=str(folder / 'producer'))
  with contextlib.ExitStack() as stack:
    service = stack.enter_context(perfetto.killing(subprocess.Popen(
        [host, folder / 'producer', folder / 'trace', str(PACKETS)],
        stdout=subprocess.PIPE, text=True)))
    assert service.stdout.readline() == 'listening\n'
    probes = stack.enter_context(perfetto.killing(subprocess.Popen(
        perfetto.command('sbin/traced_probes'), env=env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)))
    output, _ = service.communicate(timeout=perfetto.TIMEOUT)
    print(output.rstrip())
    assert service.returncode == 0, 'the host has failed'
    assert probes.poll() is None, 'traced_probes has ended'
    assert ' 0 invalid, 0 violations' in output, 'the service complains'
    assert ' 0 patches failed, final flush succeeded' in output
  return (folder / 'trace').read_bytes(), probes.pid


def check(trace, pid):
  kinds = collections.Counter()
  for packet_id, packet in perfetto.fields(trace):
    assert packet_id == 1, 'field %d in a trace' % packet_id
    decoded = subprocess.run(['protoc', '--decode_raw'], input=packet,
                             capture_output=True, check=False)
    assert decoded.returncode == 0, 'protoc: %s' % decoded.stderr.decode()
    values = dict(perfetto.fields(packet))
    assert values[SEQUENCE_ID] != 0
    kinds.update(values.keys())
    if values.keys() & {PROCESS_TREE, SYS_STATS, PROCESS_STATS}:
      assert values[TRUSTED_PID] == pid, values[TRUSTED_PID]
      assert values[TRUSTED_UID] == os.getuid(), values[TRUSTED_UID]
  print('%d process trees, %d process stats, %d system stats' %
        (kinds[PROCESS_TREE], kinds[PROCESS_STATS], kinds[SYS_STATS]))
  assert kinds[PROCESS_TREE] and kinds[PROCESS_STATS] and kinds[SYS_STATS]


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--host', type=pathlib.Path, required=True)
  args = parser.parse_args()
  if not perfetto.is_installed():
    print('0 passed, 0 failed, 1 skipped')
    return
  try:
    with tempfile.TemporaryDirectory() as folder:
      check(*record(args.host.resolve(), pathlib.Path(folder)))
  except AssertionError as error:
    print('FAILED: %s' % error)
    sys.exit('0 passed, 1 failed')
  print('1 passed, 0 failed')


if __name__ == '__main__':
  main()
