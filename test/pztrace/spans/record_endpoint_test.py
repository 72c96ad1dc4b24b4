#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace record --endpoint` sends spans while it records, loses nothing silently, and
does not wait for a server that takes nothing."""

import http.server
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

import cases
import wire

BUILD = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PZTRACE = BUILD / 'pztrace'
WORKERS = BUILD / 'traced_workers'
STEPS = BUILD / 'step_tracer'


class Server:
  """Keeps what it gets, and answers as it is told."""

  def __init__(self):
    server = self
    self.bodies = []
    self.answer = 200
    self.got = threading.Condition()

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = 'HTTP/1.1'

      def log_message(self, *_):
        pass

      def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        with server.got:
          answer = server.answer
          if answer == 200:
            server.bodies.append((self.path, body))
          server.got.notify_all()
        self.send_response(answer)
        self.send_header('Content-Length', '0')
        self.end_headers()

    self.server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    self.server.daemon_threads = True
    self.url = 'http://127.0.0.1:%d' % self.server.server_address[1]
    self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
    self.thread.start()

  def stop(self):
    self.server.shutdown()
    self.thread.join()
    self.server.server_close()

  def wait_for(self, condition):
    with self.got:
      assert self.got.wait_for(lambda: condition(self), timeout=60)


def environment():
  return {name: value for name, value in os.environ.items()
          if not name.startswith('OTEL_') and not name.lower().endswith('_proxy')}


class RecordEndpointTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.trace = self.folder / 'trace.pftrace'
    self.server = Server()
    self.addCleanup(self.server.stop)

  def record(self, *arguments, code=0):
    result = subprocess.run([PZTRACE, 'record', *arguments], capture_output=True, text=True,
                            env=environment(), timeout=120, check=False)
    self.skip_without_curl(result.stderr)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stderr

  def skip_without_curl(self, errors):
    if 'without libcurl' in errors:
      self.skipTest('there is no libcurl (Debian: libcurl4-openssl-dev)')

  def spans_of(self, trace):
    """The spans in a file, by id, as `pztrace export` writes them."""
    folder = self.folder / 'spans'
    subprocess.run([PZTRACE, 'export', '--format', 'otlp-json', '-o', folder, trace],
                   check=True, capture_output=True)
    return {span['spanId']: dict(span, resource=resource['resource'], scope=scope.get('scope'),
                                 attributes=sorted(span.get('attributes', []), key=str))
            for line in (folder / 'spans.jsonl').read_text().splitlines()
            for resource in json.loads(line)['resourceSpans']
            for scope in resource['scopeSpans'] for span in scope['spans']}

  def sent(self):
    """The same of what the server has got."""
    path = self.folder / 'sent.otlp'
    path.write_bytes(b''.join(wire.varint(len(body)) + body for place, body in
                              self.server.bodies if place == '/v1/traces'))
    return self.spans_of(path)

  def counts(self, errors):
    """The numbers of spans and logs that have arrived, and of all."""
    found = re.search(r'^--endpoint: (\d+)(?: of (\d+))? spans and logs have arrived', errors,
                      re.MULTILINE)
    self.assertTrue(found, errors)
    return int(found[1]), int(found[2] or found[1])

  def test_each_slice_arrives(self):
    errors = self.record('-o', self.trace, '--endpoint', self.server.url + '/', '--', WORKERS)
    exported = self.spans_of(self.trace)
    self.assertEqual(self.sent(), exported)
    self.assertEqual(self.counts(errors), (len(exported), len(exported)))
    self.assertGreater(len(exported), 500)

  def test_without_a_file(self):
    for arguments in ((), ('--compress', 'zstd')):
      self.server.bodies.clear()
      errors = self.record('--endpoint', self.server.url, *arguments, '--', WORKERS)
      self.assertEqual(self.counts(errors)[0], len(self.sent()))

  def test_rotated_and_filtered_files(self):
    # Threads that have ended do not go on to the next file. So there are two for a while,
    # and spans of both.
    errors = self.record(
        '-o', self.folder / 'r.pftrace', '--rotate', '1k', '--drop-strings', 'make',
        '--endpoint', self.server.url, '--', 'sh', '-c',
        'while [ $(ls "%s" | grep -c "[.]pftrace$") -lt 2 ]; do %s --items 10; done' % (
            self.folder, WORKERS))
    self.assertIn('nothing lost', errors)
    files = sorted(self.folder.glob('r-*.pftrace'))
    self.trace.write_bytes(b''.join(file.read_bytes() for file in files))
    sent, written = self.sent(), self.spans_of(self.trace)
    self.assertEqual(set(sent), set(written))
    self.assertEqual([(sent[i], written[i]) for i in sent if sent[i] != written[i]][:1], [])
    self.assertNotIn(b'make', b''.join(body for _, body in self.server.bodies))

  def test_a_server_that_refuses(self):
    self.server.answer = 400
    errors = self.record('-o', self.trace, '--endpoint', self.server.url, '--', WORKERS)
    self.assertEqual(self.counts(errors)[0], 0)
    self.assertIn('were not sent: ' + self.server.url, errors)
    self.assertIn('nothing lost', errors)
    self.record('-o', self.trace, '--fail-on-loss', '--endpoint', self.server.url, '--',
                WORKERS, code=1)

  def start(self, *arguments):
    """A recorder of a program that traces a step for each line that it gets."""
    return subprocess.Popen(
        [PZTRACE, 'record', '-o', self.trace, '--endpoint', self.server.url, *arguments, '--',
         STEPS], env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

  def step(self, process, name):
    process.stdin.write(name + '\n')
    process.stdin.flush()

  def names(self):
    return {span['name'] for span in self.sent().values()}

  def test_it_sends_while_it_records(self):
    process = self.start()
    self.step(process, 'first')
    self.server.wait_for(lambda server: any(b'first' in body for _, body in server.bodies))
    # Batches that the server refuses for some time are sent again.
    self.server.answer = 503
    self.step(process, 'second')
    self.server.wait_for(lambda server: server.answer == 503)
    with self.server.got:
      self.server.got.wait(timeout=60)
      self.server.answer = 200
    self.server.wait_for(lambda server: any(b'second' in body for _, body in server.bodies))
    self.step(process, 'third')
    _, errors = process.communicate(timeout=60)
    self.assertEqual(process.returncode, 0, errors)
    self.assertEqual(self.sent(), self.spans_of(self.trace))
    self.assertEqual(self.names(), {'first', 'second', 'third', 'step'})
    self.assertIn('not sent, since they had not ended: 1 slice, 0 tasks', errors)

  def test_interrupts_end_it(self):
    self.server.answer = 503
    for number in 1, 2:
      with self.subTest(number):
        process = self.start()
        self.step(process, 'step')
        with self.server.got:
          self.assertTrue(self.server.got.wait(timeout=60))
        # The first one ends the recording, and the second the sending.
        for _ in range(number):
          process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        arrived, written = self.counts(errors)
        self.assertEqual(arrived, 0)
        self.assertGreaterEqual(written, len(self.spans_of(self.trace)))

  def test_wrong_usage(self):
    for arguments, expected in (
        (('--endpoint', 'http://x', '--ring', '1s'), 'keep packets in memory'),
        (('--endpoint', 'http://x', '--on-trigger', 'a'), 'keep packets in memory'),
        (('--endpoint', 'http://x', '--when', 'slice a > 1ms'), 'keep packets in memory'),
        (('--endpoint', 'http://x', '--rotate', '1M'), '--rotate needs -o'),
        (('--endpoint', 'http://x', '--flight-recorder', self.folder), 'give no --endpoint'),
        ((), '-o FILE is missing')):
      with self.subTest(arguments):
        self.assertIn(expected, self.record(*arguments, code=2))
    for url in 'somewhere', 'ftp://x', 'http://', 'http://[::1', '://':
      errors = self.record('-o', self.trace, '--endpoint', url, '--', WORKERS, code=1)
      self.assertIn('is no URL of http or https', errors)
      # Nothing is replaced.
      self.assertFalse(self.trace.exists())


if __name__ == '__main__':
  sys.exit(cases.run_cases())
