# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs export_batches, for the tests of this folder."""

import os
import pathlib
import subprocess

import wire

PROGRAM = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')) / 'export_batches'


def spans(*names, trace=1):
  """The bytes of an ExportTraceServiceRequest with these spans."""
  content = b''.join(
      wire.delimited(2, wire.delimited(1, trace.to_bytes(16, 'big')) +
                     wire.delimited(2, (number + 1).to_bytes(8, 'big')) +
                     wire.delimited(5, name.encode()) + wire.integer(6, 1) +
                     wire.fixed64(7, 1000 + number) + wire.fixed64(8, 2000 + number))
      for number, name in enumerate(names))
  return wire.delimited(1, wire.delimited(2, content))


def environment(endpoint, **variables):
  """The environment of a program: no settings but these."""
  clean = {name: value for name, value in os.environ.items()
           if not name.startswith('OTEL_') and not name.lower().endswith('_proxy')}
  if endpoint is not None:
    clean['OTEL_EXPORTER_OTLP_ENDPOINT'] = endpoint
  clean.update(('OTEL_EXPORTER_OTLP_' + name, value) for name, value in variables.items())
  return clean


class Result:
  """What a program printed: of each batch how many spans were exported and rejected,
  and the reason."""

  def __init__(self, output, errors):
    lines = [line.split(' ', 2) for line in output.splitlines()]
    self.batches = [(int(line[0]), int(line[1])) for line in lines]
    self.reasons = [line[2] for line in lines]
    self.errors = errors


def export(endpoint, batches, *arguments, deadline_ms=20000, **variables):
  """Exports batches: each a signal, a number of spans, and bytes."""
  lines = ''.join('%s %d %s\n' % (signal, count, data.hex())
                  for signal, count, data in batches)
  process = subprocess.run([PROGRAM, str(deadline_ms), *arguments], input=lines,
                           env=environment(endpoint, **variables), timeout=120,
                           capture_output=True, text=True, check=False)
  assert process.returncode == 0, (process.returncode, process.stderr)
  return Result(process.stdout, process.stderr)
