# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs the programs that tools/install-build-deps --traced installs."""

import contextlib
import os
import pathlib
import subprocess
import time

from google.protobuf import empty_pb2  # Debian's python3-protobuf.

INSTALLED = (pathlib.Path(__file__).resolve().parent.parent.parent /
             'third_party' / 'traced' / 'usr')
LIBRARIES = INSTALLED / 'lib' / 'x86_64-linux-gnu'
# An answer takes a second at most, unless the other side hangs.
TIMEOUT = 120

# Fields of TraceStats.BufferStats.
BUFFER_STATS = {
    'patches_succeeded': 5,
    'patches_failed': 6,
    'readaheads_succeeded': 7,
    'abi_violations': 9,
    'chunks_rewritten': 10,
    'chunks_committed_out_of_order': 11,
    'chunks_discarded': 18,
    'trace_writer_packet_loss': 19,
}


def is_installed():
  return (INSTALLED / 'sbin' / 'traced').exists()


def command(program, *args):
  """The command line of a program there, with the C library it needs."""
  loader = LIBRARIES / 'ld-linux-x86-64.so.2'
  libraries = '%s:%s' % (LIBRARIES, INSTALLED / 'lib' / 'perfetto')
  return [loader, '--library-path', libraries, INSTALLED / program, *args]


@contextlib.contextmanager
def killing(process):
  """Ends the process, if it has not ended by itself."""
  try:
    yield process
  finally:
    process.kill()
    process.communicate()


class Service:
  """A `traced`, or another service, with sockets in `folder`. A context
  manager."""

  def __init__(self, folder, other=None):
    self.env = dict(os.environ,
                    PERFETTO_PRODUCER_SOCK_NAME=str(folder / 'producer'),
                    PERFETTO_CONSUMER_SOCK_NAME=str(folder / 'consumer'))
    self._process = subprocess.Popen(
        other or command('sbin/traced'), env=self.env, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    self.pid = self._process.pid
    # Consumers connect once and give up.
    deadline = time.monotonic() + TIMEOUT
    while not (folder / 'consumer').exists() and time.monotonic() < deadline:
      time.sleep(0.01)

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self._process.kill()
    self._process.wait()

  def consumer(self, *args):
    """Starts `perfetto` with these arguments."""
    return killing(subprocess.Popen(
        command('bin/perfetto', *args), env=self.env, stderr=subprocess.PIPE,
        text=True))


def fields(message):
  """Yields the id and the value of each field: an int, or bytes."""
  # A message without fields of its own takes all of them for unknown ones.
  for field in empty_pb2.Empty.FromString(message).UnknownFields():
    yield field.field_number, field.data


def buffer_stats(trace):
  """The last statistics in a trace of one buffer, by name."""
  stats = {}
  for packet_id, packet in fields(trace):
    assert packet_id == 1
    for stats_id, trace_stats in fields(packet):
      if stats_id == 35:
        for buffer_id, buffer in fields(trace_stats):
          if buffer_id == 1:
            stats = dict(fields(buffer))
  assert stats, 'a trace without statistics'
  return {name: stats.get(field, 0) for name, field in BUFFER_STATS.items()}
