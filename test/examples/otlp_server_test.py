#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Sends requests to examples/otlp_server, and reads the spans that arrive over HTTP.

Runs in a build directory, which has protoc and the programs of the example.
"""

import collections
import contextlib
import http.client
import http.server
import importlib
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

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
MEASURE = ROOT / 'examples/otlp_server/measure'
BUILD = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
INTERNAL, SERVER, CLIENT = 1, 2, 3
ERROR = 2
# Each span with its kind and attributes, of a request that succeeds.
SPANS = {
    'GET /cart': (SERVER, {
        'http.request.method': 'GET', 'http.route': '/cart', 'url.path': '/cart',
        'client.address': '127.0.0.1', 'http.response.status_code': 200}),
    'authenticate': (INTERNAL, {'user.id': 'ada', 'session.is_new': False}),
    'GET cart': (CLIENT, {
        'db.system.name': 'redis', 'db.operation.name': 'GET', 'cache.hit': True}),
    'SELECT stock': (CLIENT, {
        'db.system.name': 'postgresql', 'db.response.returned_rows': 2,
        'db.query.text': 'SELECT count FROM stock WHERE item IN ($1)'}),
    'compute price': (INTERNAL, {'shop.cents': 2 * 1299 + 499, 'shop.currency': 'EUR'}),
    'POST /carriers': (CLIENT, {
        'server.address': 'carriers.example.com', 'http.response.status_code': 200}),
    'render': (INTERNAL, {'http.response.body.size': 32, 'shop.template': 'cart.json'}),
}
BODY = b'{"items": [3,5], "cents": 3097}\n'
PATH = '/cart?user=ada&items=3,5'


def attributes_of(record):
  return {attribute.key: getattr(attribute.value, attribute.value.WhichOneof('value'))
          for attribute in record.attributes}


class Receiver(http.server.ThreadingHTTPServer):
  """Keeps the requests that are sent to it, and answers all with one status."""

  def __init__(self, status=200):
    self.status = status
    self.bodies = []
    super().__init__(('127.0.0.1', 0), Handler)
    threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(http.server.BaseHTTPRequestHandler):

  def do_POST(self):
    body = self.rfile.read(int(self.headers['Content-Length']))
    assert self.path == '/v1/traces', self.path
    self.server.bodies.append(body)
    self.send_response(self.server.status)
    self.send_header('Content-Length', '0')
    self.end_headers()

  def log_message(self, *arguments):
    pass


class Server:
  """otlp_server, while it runs."""

  def __init__(self, receiver, *arguments, program='otlp_server', **variables):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('OTEL_') and not name.lower().endswith('_proxy')}
    environment['OTEL_EXPORTER_OTLP_ENDPOINT'] = (
        'http://127.0.0.1:%d' % receiver.server_port)
    environment.update(variables)
    self.process = subprocess.Popen(
        [BUILD / program, '--port', '0', *arguments], env=environment,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    self.port = int(self.process.stdout.readline().rpartition(' ')[2])
    self.account = None
    self.errors = None

  def get(self, path=PATH, **headers):
    """Returns the status and the body of an answer."""
    connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
    with contextlib.closing(connection):
      connection.request('GET', path, headers=headers)
      answer = connection.getresponse()
      return answer.status, answer.read()

  def stop(self, how=signal.SIGTERM):
    """Ends it by a signal, and returns its exit code."""
    if self.process.returncode is None:
      self.process.send_signal(how)
      printed, self.errors = self.process.communicate(timeout=60)
      self.account = {
          name: int(count)
          for count, name in re.findall(r'(\d+) (not wanted|\w+)', printed)}
    return self.process.returncode


class OtlpServerTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    folder = tempfile.TemporaryDirectory()
    cls.addClassCleanup(folder.cleanup)
    subprocess.run([BUILD / 'protoc', '-I', ROOT / 'src/otlp/protos',
                    '--python_out', folder.name, 'otlp.proto'], check=True)
    sys.path.insert(0, folder.name)
    cls.schema = importlib.import_module('otlp_pb2')

  def start(self, *arguments, status=200, **variables):
    receiver = Receiver(status)
    self.addCleanup(receiver.server_close)
    self.addCleanup(receiver.shutdown)
    server = Server(receiver, *arguments, **variables)
    self.addCleanup(server.stop)
    return receiver, server

  def spans(self, receiver):
    """The spans that have arrived, with their resource and scope looked at."""
    spans = []
    for body in receiver.bodies:
      request = self.schema.ExportTraceServiceRequest.FromString(body)
      for resource in request.resource_spans:
        self.assertEqual(attributes_of(resource.resource)['service.name'], 'shop')
        for scope in resource.scope_spans:
          self.assertEqual(scope.scope.name, 'shop.http')
          spans.extend(scope.spans)
    return spans

  def traces(self, receiver):
    """The spans by trace, each by name."""
    traces = collections.defaultdict(dict)
    for span in self.spans(receiver):
      self.assertNotIn(span.name, traces[span.trace_id])
      traces[span.trace_id][span.name] = span
    return traces

  def check_account(self, server, written, **others):
    account = {'exported': 0, 'rejected': 0, 'dropped': 0, 'not wanted': 0, 'kept': 0,
               **{name.replace('_', ' '): count for name, count in others.items()}}
    self.assertEqual(server.account, {'written': written, **account})
    self.assertEqual(written, sum(account[name] for name in (
        'exported', 'rejected', 'dropped', 'kept')))

  def test_all_spans_arrive(self):
    receiver, server = self.start()
    for _ in range(20):
      self.assertEqual(server.get(), (200, BODY))
    self.assertEqual(server.stop(), 0)
    self.check_account(server, 140, exported=140)
    traces = self.traces(receiver)
    self.assertEqual(len(traces), 20)
    self.assertEqual(len({span.span_id for span in self.spans(receiver)}), 140)
    for spans in traces.values():
      self.assertEqual({name: (span.kind, attributes_of(span))
                        for name, span in spans.items()}, SPANS)
      root = spans['GET /cart']
      self.assertEqual(root.parent_span_id, b'')
      for span in spans.values():
        self.assertEqual(span.status.code, 0)
        self.assertLessEqual(root.start_time_unix_nano, span.start_time_unix_nano)
        self.assertLessEqual(span.start_time_unix_nano, span.end_time_unix_nano)
        self.assertLessEqual(span.end_time_unix_nano, root.end_time_unix_nano)
        if span is not root:
          self.assertEqual(span.parent_span_id, root.span_id)
    self.assertEqual(sum(len(attributes) for _, attributes in SPANS.values()), 19)

  def test_a_trace_is_continued(self):
    receiver, server = self.start()
    trace, parent = '0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'
    server.get(traceparent='00-%s-%s-01' % (trace, parent), tracestate='a=1,b=2')
    server.get(traceparent='00-%s-%s-00' % (trace, parent))  # The caller does not sample.
    server.get(traceparent='00-%s-0000000000000000-01' % trace)  # Malformed.
    self.assertEqual(server.stop(), 0)
    traces = self.traces(receiver)
    self.assertEqual(len(traces), 2)
    spans = traces.pop(bytes.fromhex(trace))
    self.assertEqual(set(spans), set(SPANS))
    self.assertEqual(spans['GET /cart'].parent_span_id, bytes.fromhex(parent))
    for span in spans.values():
      self.assertEqual(span.trace_state, 'a=1,b=2')
    (spans, ) = traces.values()
    self.assertEqual(spans['GET /cart'].parent_span_id, b'')
    self.check_account(server, 14, exported=14)

  def test_a_failure_is_an_error(self):
    receiver, server = self.start()
    self.assertEqual(server.get(PATH + '&fail=1'), (503, BODY))
    self.assertEqual(server.stop(), 0)
    (spans, ) = self.traces(receiver).values()
    failed = {name: span.status.message for name, span in spans.items()
              if span.status.code == ERROR}
    self.assertEqual(failed, {'GET /cart': 'no carrier',
                              'POST /carriers': '500 Internal Server Error'})
    self.assertEqual(attributes_of(spans['GET /cart'])['http.response.status_code'], 503)
    self.assertEqual(attributes_of(spans['POST /carriers'])['http.response.status_code'],
                     500)

  def test_only_slow_and_failed_traces(self):
    # No request is so slow by chance. One is by its caller's wish.
    receiver, server = self.start('--only-slow', '20000')
    for _ in range(10):
      server.get()
    self.assertEqual(server.get(PATH + '&fail=1')[0], 503)
    self.assertEqual(server.stop(), 0)
    (spans, ) = self.traces(receiver).values()
    self.assertEqual(set(spans), set(SPANS))
    self.assertEqual(spans['GET /cart'].status.code, ERROR)
    self.check_account(server, 77, exported=7, dropped=70, not_wanted=70)

    receiver, server = self.start('--only-slow', '1')
    server.get(PATH + '&sleep=5')
    self.assertEqual(server.stop(), 0)
    slow = [spans['GET /cart'] for spans in self.traces(receiver).values()]
    self.assertEqual(len(slow), 1)
    self.assertGreater(slow[0].end_time_unix_nano - slow[0].start_time_unix_nano, 5e6)

  def test_signals_flush(self):
    # An interval and a batch that end later than the test.
    for how in signal.SIGTERM, signal.SIGINT:
      receiver, server = self.start(OTEL_BSP_SCHEDULE_DELAY='600000',
                                    OTEL_BSP_MAX_EXPORT_BATCH_SIZE='10000')
      server.get()
      self.assertEqual(receiver.bodies, [])
      self.assertEqual(server.stop(how), 0)
      self.assertEqual(len(self.spans(receiver)), 7)

  def test_a_receiver_that_refuses(self):
    _, server = self.start(status=400)
    server.get()
    self.assertEqual(server.stop(), 1)
    self.check_account(server, 7, dropped=7)
    self.assertIn('400', server.errors)

  def test_disabled(self):
    receiver, server = self.start(OTEL_SDK_DISABLED='true')
    self.assertEqual(server.get(), (200, BODY))
    self.assertEqual(server.stop(), 0)
    self.check_account(server, 0)
    self.assertEqual(receiver.bodies, [])

  def test_the_way_of_the_sdk_sends_the_same_spans(self):
    receiver, server = self.start(program='otlp_sdk_server')
    for _ in range(3):
      server.get()
    self.assertEqual(server.stop(), 0)
    self.assertEqual(server.account, {'written': 21, 'exported': 21, 'dropped': 0})
    for spans in self.traces(receiver).values():
      self.assertEqual({name: (span.kind, attributes_of(span))
                        for name, span in spans.items()}, SPANS)

  def test_load_and_receiver(self):
    receiver = subprocess.Popen([BUILD / 'otlp_receiver', '0'], stdout=subprocess.PIPE,
                                text=True)
    receiver.server_port = int(receiver.stdout.readline().rpartition(' ')[2])
    server = Server(receiver)
    self.addCleanup(server.stop)
    load = subprocess.run([BUILD / 'otlp_load', str(server.port), '3', '50', '10'],
                          capture_output=True, check=True)
    result = json.loads(load.stdout)
    self.assertEqual((result['ok'], result['failed'], result['unanswered']), (135, 15, 0))
    self.assertLessEqual(result['p50_us'], result['p99_us'])
    self.assertLessEqual(result['p99_us'], result['p999_us'])
    self.assertEqual(server.stop(), 0)
    self.check_account(server, 7 * 150, exported=7 * 150)
    receiver.terminate()
    self.assertEqual(receiver.communicate(timeout=60)[0], 'received 1050 spans\n')
    self.assertEqual(receiver.returncode, 0)

  def test_measure(self):
    printed = subprocess.run(
        [MEASURE, '--build', BUILD, '--rounds=1', '--requests=20', '--no-allocations'],
        capture_output=True, check=True, text=True, timeout=300).stdout
    rows = [[cell.strip() for cell in line.strip('|').split('|')]
            for line in printed.splitlines()]
    self.assertEqual([row[0] for row in rows[2:]],
                     ['off', 'all spans', 'only slow and failed traces', "the SDK's way"])
    for row in rows[2:]:
      self.assertEqual(len(row), len(rows[0]))
      for value in row[1:6]:
        self.assertRegex(value, r'^[\d,.]+ \([\d,.]+ to [\d,.]+\)$')
      self.assertEqual(row[7], '0.0 %')


if __name__ == '__main__':
  sys.exit(run_cases())
