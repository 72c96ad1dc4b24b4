#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Exports to a real Collector, and reads what it writes to a file."""

import json
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import cases
import exporting

COLLECTOR = cases.TOOLS.parent / 'third_party/collector/otelcol'

CONFIGURATION = '''
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:%d"}}}}
exporters: {file: {path: "%s", flush_interval: 50ms, append: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [file]}
    logs: {receivers: [otlp], exporters: [file]}
'''


def free_port():
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    return probe.getsockname()[1]


class Collector:
  """A Collector that can be stopped and started again, at the same port."""

  def __init__(self, folder):
    self.port = free_port()
    self.url = 'http://127.0.0.1:%d' % self.port
    self.output = pathlib.Path(folder, 'collected.json')
    self.configuration = pathlib.Path(folder, 'collector.yaml')
    self.configuration.write_text(CONFIGURATION % (self.port, self.output))
    self.process = None

  def start(self, waits=True):
    self.process = subprocess.Popen([COLLECTOR, '--config', self.configuration],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while waits:
      assert self.process.poll() is None, 'the Collector has ended'
      try:
        socket.create_connection(('127.0.0.1', self.port)).close()
        return
      except ConnectionRefusedError:
        time.sleep(0.05)

  def stop(self):
    """It writes what it has taken."""
    if self.process is not None:
      self.process.terminate()
      self.process.wait()
      self.process = None

  def spans(self):
    """All spans in the file, as JSON says them."""
    return [span for line in self.output.read_text().splitlines()
            for resource in json.loads(line).get('resourceSpans', [])
            for scope in resource['scopeSpans'] for span in scope['spans']]


@unittest.skipUnless(COLLECTOR.exists(),
                     'no Collector: tools/install-build-deps --collector')
class CollectorTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.collector = Collector(folder.name)
    self.addCleanup(self.collector.stop)

  def test_random_spans_arrive(self):
    generator = random.Random(4318)
    self.collector.start()
    names = [['span %d.%d' % (batch, span) for span in range(generator.randrange(1, 200))]
             for batch in range(30)]
    batches = [('traces', len(some), exporting.spans(*some, trace=number + 1))
               for number, some in enumerate(names)]
    for compression in 'none', 'gzip':
      result = exporting.export(self.collector.url, batches, COMPRESSION=compression)
      self.assertEqual(result.batches, [(len(some), 0) for some in names])
    self.collector.stop()
    expected = sorted(
        (name, '%032x' % (trace + 1), '%016x' % (number + 1), str(1000 + number),
         str(2000 + number))
        for trace, some in enumerate(names) for number, name in enumerate(some))
    self.assertEqual(
        sorted((span['name'], span['traceId'], span['spanId'], span['startTimeUnixNano'],
                span['endTimeUnixNano']) for span in self.collector.spans()),
        sorted(expected * 2))

  def test_what_it_refuses(self):
    self.collector.start()
    result = exporting.export(
        self.collector.url,
        [('traces', 1, b'\x0a\xff\xff'), ('traces', 1, exporting.spans('right'))])
    self.assertEqual(result.batches, [(0, 0), (1, 0)])
    self.assertIn('HTTP status 400', result.reasons[0])

  def test_it_is_started_later_and_again(self):
    lines = lambda name: 'traces 1 %s\n' % exporting.spans(name).hex()
    program = subprocess.Popen(
        [exporting.PROGRAM, '60000'], env=exporting.environment(self.collector.url),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def export(name):
      program.stdin.write(lines(name))
      program.stdin.flush()

    def result():
      return program.stdout.readline()

    export('before it starts')
    self.collector.start()
    self.assertEqual(result(), '1 0 \n')
    self.collector.stop()
    export('while it is stopped')
    self.collector.start()
    self.assertEqual(result(), '1 0 \n')
    while 'while it is stopped' not in {span['name'] for span in self.collector.spans()}:
      time.sleep(0.05)
    self.collector.process.kill()
    self.collector.stop()
    self.collector.start()
    # The connection of before is broken.
    export('after it was killed')
    self.assertEqual(result(), '1 0 \n')
    program.stdin.close()
    self.assertEqual(program.wait(), 0)
    program.stdout.close()
    self.collector.stop()
    self.assertLessEqual({'while it is stopped', 'after it was killed'},
                         {span['name'] for span in self.collector.spans()})

  def test_a_recording_arrives_over_a_restart(self):
    build = exporting.PROGRAM.parent.resolve()
    trace = self.collector.output.with_name('trace.pftrace')
    self.collector.start()
    recorder = subprocess.Popen(
        [build / 'pztrace', 'record', '-o', trace, '--endpoint', self.collector.url, '--',
         build / 'step_tracer'], env=exporting.environment(None), stdin=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)

    def step(name):
      recorder.stdin.write(name + '\n')
      recorder.stdin.flush()

    def wait_for(name):
      while name not in {span['name'] for span in self.collector.spans()}:
        assert recorder.poll() is None
        time.sleep(0.05)

    step('first')
    wait_for('first')
    self.collector.stop()
    step('second')
    self.collector.start()
    wait_for('second')
    step('third')
    _, errors = recorder.communicate()
    self.collector.stop()
    self.assertEqual(recorder.returncode, 0, errors)
    self.assertNotIn('were not sent', errors)
    folder = trace.with_name('exported')
    subprocess.run([build / 'pztrace', 'export', '--format', 'otlp-json', '-o', folder, trace],
                   check=True, capture_output=True)
    exported = {span['spanId'] for line in (folder / 'spans.jsonl').read_text().splitlines()
                for resource in json.loads(line)['resourceSpans']
                for scope in resource['scopeSpans'] for span in scope['spans']}
    self.assertEqual({span['spanId'] for span in self.collector.spans()}, exported)


if __name__ == '__main__':
  sys.exit(cases.run_cases())
