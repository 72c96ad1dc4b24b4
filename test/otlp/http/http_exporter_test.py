#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Exports to servers that answer as the protocol says, and to others."""

import base64
import gzip
import http.server
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import cases
import exporting
import wire

ONE = ('traces', 1, exporting.spans('one'))
TWO = ('traces', 2, exporting.spans('one', 'two'))


class Request:
  """What a server got."""

  def __init__(self, handler, body):
    self.path = handler.path
    self.headers = handler.headers
    self.port = handler.client_address[1]
    self.time = time.monotonic()
    self.body = body


class Server:
  """A server that gives one answer after the other, and the last one for good. An answer
  is a status, a dictionary of headers and a body; or bytes to send as they are, before
  the connection is closed; or a function."""

  def __init__(self, *answers, tls=None):
    self.requests = []
    server = self

    class Handler(http.server.BaseHTTPRequestHandler):
      protocol_version = 'HTTP/1.1'

      def log_message(self, *_):
        pass

      def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        answer = answers[min(len(server.requests), len(answers) - 1)]
        server.requests.append(Request(self, body))
        if callable(answer):
          answer = answer()
        if isinstance(answer, bytes):
          self.wfile.write(answer)
          self.close_connection = True
          return
        status, headers, content = answer
        self.send_response(status)
        for name, value in headers.items():
          self.send_header(name, value)
        self.send_header('Content-Length', str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    self.httpd = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    self.httpd.daemon_threads = True
    self.httpd.handle_error = lambda *_: None  # Clients that have gone.
    if tls is not None:
      context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
      context.load_cert_chain(*tls)
      self.httpd.socket = context.wrap_socket(self.httpd.socket, server_side=True)
    self.thread = threading.Thread(target=self.httpd.serve_forever, args=(0.02,))
    self.thread.start()

  @property
  def authority(self):
    return '127.0.0.1:%d' % self.httpd.server_address[1]

  @property
  def url(self):
    return 'http://' + self.authority

  def __enter__(self):
    return self

  def __exit__(self, *_):
    self.httpd.shutdown()
    self.thread.join()
    self.httpd.server_close()


OK = (200, {'Content-Type': 'application/x-protobuf'}, b'')


def partial(rejected, message):
  return (200, {}, wire.delimited(1, wire.integer(1, rejected) +
                                  wire.delimited(2, message.encode())))


def refusal(status, message='', **headers):
  return (status, {name.replace('_', '-'): value for name, value in headers.items()},
          wire.integer(1, 3) + wire.delimited(2, message.encode()) if message else b'')


def free_port():
  with socket.socket() as probe:
    probe.bind(('127.0.0.1', 0))
    return probe.getsockname()[1]


class RequestTest(unittest.TestCase):

  def test_what_is_sent(self):
    logs = ('logs', 1, b'\x0a\x00')
    with Server(OK) as server:
      result = exporting.export(server.url + '/', [TWO, logs],
                                HEADERS='api-key=a%20b, x-empty= ,x=y=z')
    self.assertEqual(result.batches, [(2, 0), (1, 0)])
    self.assertEqual([request.path for request in server.requests],
                     ['/v1/traces', '/v1/logs'])
    self.assertEqual([request.body for request in server.requests], [TWO[2], logs[2]])
    for request in server.requests:
      self.assertEqual(request.headers['Content-Type'], 'application/x-protobuf')
      self.assertIn('protozero', request.headers['User-Agent'])
      self.assertEqual(request.headers['api-key'], 'a b')
      self.assertEqual(request.headers['x-empty'], '')
      self.assertEqual(request.headers['x'], 'y=z')
      self.assertIsNone(request.headers['Content-Encoding'])

  def test_variables_of_a_signal_win(self):
    with Server(OK) as server:
      result = exporting.export(
          'http://127.0.0.1:1', [ONE, ('logs', 1, b'\x0a\x00')],
          TRACES_ENDPOINT=server.url + '/spans?tenant=1', LOGS_ENDPOINT=server.url,
          HEADERS='who=all', LOGS_HEADERS='who=logs', LOGS_COMPRESSION='GZIP')
    self.assertEqual(result.batches, [(1, 0), (1, 0)])
    spans, logs = server.requests
    self.assertEqual((spans.path, spans.headers['who']), ('/spans?tenant=1', 'all'))
    # The URL of a signal is taken as it is.
    self.assertEqual((logs.path, logs.headers['who']), ('/', 'logs'))
    self.assertEqual(logs.headers['Content-Encoding'], 'gzip')

  def test_gzip(self):
    batches = [('traces', 300, exporting.spans(*['name %d' % i for i in range(300)])),
               ONE, ('traces', 40000, exporting.spans(*['long ' * 9] * 40000))]
    with Server(OK) as server:
      result = exporting.export(server.url, batches, COMPRESSION='gzip')
    self.assertEqual([count for count, _ in result.batches], [300, 1, 40000])
    for request, (_, _, data) in zip(server.requests, batches):
      self.assertEqual(request.headers['Content-Encoding'], 'gzip')
      self.assertEqual(gzip.decompress(request.body), data)
    self.assertLess(len(server.requests[0].body), len(batches[0][2]) / 2)

  def test_connection_is_kept(self):
    with Server(OK) as server:
      exporting.export(server.url, [ONE] * 20)
    self.assertEqual(len({request.port for request in server.requests}), 1)

  def test_user_and_password(self):
    with Server(OK, refusal(400, 'no')) as server:
      result = exporting.export('http://ann:secret@' + server.authority, [ONE, ONE])
    self.assertEqual(result.batches, [(1, 0), (0, 0)])
    self.assertEqual(server.requests[0].headers['Authorization'],
                     'Basic ' + base64.b64encode(b'ann:secret').decode())
    self.assertNotIn('secret', result.reasons[1])
    self.assertIn('127.0.0.1', result.reasons[1])

  def test_settings_that_cannot_be_used(self):
    for endpoint, variables, expected in (
        ('localhost:4318', {}, "'localhost:4318/v1/traces': the endpoint is no URL"),
        ('no url', {}, 'the endpoint is no URL'),
        ('ftp://127.0.0.1', {}, 'the endpoint is no URL'),
        ('file:///etc/passwd', {}, 'the endpoint is no URL'),
        ('http://', {}, 'the endpoint is no URL'),
        ('gopher://ann:secret@x', {}, 'the endpoint is no URL'),
        ('http://127.0.0.1:99999', {}, 'the endpoint is no URL')):
      with self.subTest(endpoint):
        result = exporting.export(endpoint, [ONE], **variables)
        self.assertEqual(result.batches, [(0, 0)])
        self.assertIn(expected, result.reasons[0])
        self.assertNotIn('secret', result.reasons[0] + result.errors)
    with Server(OK) as server:
      for variables, expected in (
          ({'TIMEOUT': '10s'}, "OTEL_EXPORTER_OTLP_TIMEOUT=10s, which is no number"),
          ({'TIMEOUT': '-1'}, 'OTEL_EXPORTER_OTLP_TIMEOUT=-1, which is no number'),
          ({'TIMEOUT': '0'}, 'OTEL_EXPORTER_OTLP_TIMEOUT=0, which is no number'),
          ({'COMPRESSION': 'zstd'}, 'OTEL_EXPORTER_OTLP_COMPRESSION=zstd'),
          ({'TRACES_COMPRESSION': 'br'}, 'OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=br'),
          ({'HEADERS': 'secret'}, 'OTEL_EXPORTER_OTLP_HEADERS, which is not KEY=VALUE'),
          ({'HEADERS': 'a=%0d%0asecret'}, 'OTEL_EXPORTER_OTLP_HEADERS, which is not'),
          ({'HEADERS': 'a b=secret'}, 'OTEL_EXPORTER_OTLP_HEADERS, which is not'),
          ({'HEADERS': 'a=%4'}, 'OTEL_EXPORTER_OTLP_HEADERS, which is not'),
          ({'PROTOCOL': 'grpc'}, 'OTEL_EXPORTER_OTLP_PROTOCOL=grpc')):
        with self.subTest(variables):
          result = exporting.export(server.url, [ONE], **variables)
          self.assertEqual(result.batches, [(1, 0)])
          self.assertIn(expected, result.errors)
          self.assertNotIn('secret', result.errors)
      # An empty variable is none.
      result = exporting.export(server.url, [ONE], TIMEOUT='', TRACES_ENDPOINT='',
                                COMPRESSION='', HEADERS='')
      self.assertEqual((result.batches, result.errors), ([(1, 0)], ''))


class AnswerTest(unittest.TestCase):

  def test_partial_success(self):
    with Server(partial(1, 'too\nold'), partial(7, ''), partial(0, 'be careful'),
                partial(-5, ''), partial(2**63 - 1, 'all'), (200, {}, b'{}'), OK,
                (204, {}, b'')) as server:
      result = exporting.export(server.url, [TWO] * 8)
    self.assertEqual(result.batches, [(1, 1), (0, 2), (2, 0), (2, 0), (0, 2), (2, 0),
                                      (2, 0), (2, 0)])
    self.assertIn('/v1/traces: too old', result.reasons[0])
    self.assertIn('refused a part', result.reasons[1])
    self.assertIn('be careful', result.reasons[2])
    self.assertEqual(len(server.requests), 8)

  def test_statuses_that_are_final(self):
    statuses = (400, 401, 403, 404, 408, 413, 415, 500, 501, 505, 301, 307, 304)
    with Server(*(refusal(status, 'because') for status in statuses)) as server:
      result = exporting.export(server.url, [ONE] * len(statuses))
    self.assertEqual(result.batches, [(0, 0)] * len(statuses))
    self.assertEqual(len(server.requests), len(statuses))
    for status, reason in zip(statuses, result.reasons):
      self.assertIn('HTTP status %d' % status, reason)
    self.assertIn('HTTP status 400: because', result.reasons[0])

  def test_answers_that_are_no_protobuf(self):
    page = b'<html><body>no such page</body></html>'
    bodies = (b'invalid token\n', b'{"message": "no such tenant"}', page, b'\0\1', b'x' * 5000)
    with Server(*((403, {}, body) for body in bodies)) as server:
      result = exporting.export(server.url, [ONE] * len(bodies))
    endings = ('403: invalid token', '403: {"message": "no such tenant"}', '403', '403',
               '403: ' + 'x' * 256)
    for reason, ending in zip(result.reasons, endings):
      self.assertTrue(reason.endswith('HTTP status ' + ending), reason)

  def test_statuses_that_are_tried_again(self):
    with Server(*map(refusal, (429, 502, 503, 504, 503)), OK) as server:
      result = exporting.export(server.url, [ONE])
    self.assertEqual(result.batches, [(1, 0)])
    self.assertEqual(len(server.requests), 6)
    times = [request.time for request in server.requests]
    waits = [after - before for before, after in zip(times, times[1:])]
    # The first is 20 ms: at least half of that, and each time twice as long.
    for number, wait in enumerate(waits):
      self.assertGreater(wait, 0.0095 * 2**number)

  def test_retry_after_holds_for_the_next_batch_too(self):
    with Server(refusal(503, Retry_After='1'), refusal(429, Retry_After='2'),
                OK) as server:
      result = exporting.export(server.url, [ONE, ONE], deadline_ms=2900)
    # The first cannot be sent again before its time is over.
    self.assertEqual(result.batches, [(0, 0), (1, 0)])
    self.assertIn('HTTP status 429', result.reasons[0])
    self.assertIn('its time was over', result.reasons[0])
    times = [request.time for request in server.requests]
    self.assertEqual(len(times), 3)
    self.assertGreater(times[1] - times[0], 0.99)
    self.assertGreater(times[2] - times[1], 1.99)

  def test_retry_after_as_a_date(self):
    # Dates have whole seconds.
    soon = time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime(time.time() + 2.5))
    with Server(refusal(429, Retry_After=soon), OK) as server:
      result = exporting.export(server.url, [ONE])
    self.assertEqual(result.batches, [(1, 0)])
    self.assertGreater(server.requests[1].time - server.requests[0].time, 0.9)

  def test_strange_retry_after(self):
    for value in ('soon', '-5', '', '0', '1.5', '99999999999999999999'):
      with self.subTest(value), Server(refusal(503, Retry_After=value), OK) as server:
        result = exporting.export(server.url, [ONE], deadline_ms=3000)
        self.assertIn(result.batches, ([(1, 0)], [(0, 0)]))

  def test_connection_that_is_cut_off(self):
    """Before the status, the batch is sent again; after a 200 the server has it."""
    half = b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n\x0a'
    for answers, requests, expected in (
        ((b'', OK), 2, ''), ((b'HTTP/1.1 2', OK), 2, ''), ((b'HTTP/1.1 200 O', OK), None, ''),
        ((half,), 1, 'cut off'),
        ((b'HTTP/1.1 503 No\r\nContent-Length: 9\r\n\r\n', OK), 2, '')):
      with self.subTest(answers[0]), Server(*answers) as server:
        result = exporting.export(server.url, [ONE])
        self.assertEqual(result.batches, [(1, 0)])
        self.assertIn(expected, result.reasons[0])
        if requests is not None:
          self.assertEqual(len(server.requests), requests)

  def test_answers_that_are_none(self):
    for answer in (b'SSH-2.0-OpenSSH\r\n', b'\0' * 100000,
                   b'HTTP/1.1 200 OK\r\n\r\n' + b'x' * (6 << 20),
                   b'HTTP/1.1 999 What\r\n\r\n'):
      with self.subTest(answer[:20]), Server(answer) as server:
        result = exporting.export(server.url, [ONE], deadline_ms=300)
        self.assertEqual(len(result.batches), 1)
        self.assertNotEqual(result.reasons[0], '')

  def test_message_that_is_long(self):
    with Server(refusal(400, 'x' * 100000), partial(1, 'y\x1b' * 5000),
                partial(1, 'z' * 100000)) as server:
      result = exporting.export(server.url, [ONE] * 3)
    self.assertEqual(result.batches, [(0, 0), (0, 1), (1, 0)])
    self.assertIn('the answer was too long', result.reasons[2])
    for reason in result.reasons:
      self.assertLess(len(reason), 512)
      self.assertNotIn('\x1b', reason)


class TimeTest(unittest.TestCase):

  def test_nothing_listens(self):
    start = time.monotonic()
    result = exporting.export('http://127.0.0.1:%d' % free_port(), [ONE] * 2,
                              deadline_ms=300)
    self.assertEqual(result.batches, [(0, 0)] * 2)
    self.assertIn('its time was over', result.reasons[0])
    self.assertIn('127.0.0.1', result.reasons[0])
    self.assertGreater(time.monotonic() - start, 0.55)

  def test_server_that_comes_later(self):
    port = free_port()
    servers = []

    class Late(http.server.BaseHTTPRequestHandler):

      def do_POST(self):
        self.send_response(200)
        self.end_headers()

      def log_message(self, *_):
        pass

    def begin():
      server = http.server.HTTPServer(('127.0.0.1', port), Late)
      servers.append(server)
      server.handle_request()

    timer = threading.Timer(0.5, begin)
    timer.start()
    result = exporting.export('http://127.0.0.1:%d' % port, [ONE])
    timer.join()
    servers[0].server_close()
    self.assertEqual(result.batches, [(1, 0)])

  def test_server_that_never_answers(self):
    with Server(lambda: time.sleep(0.4) or OK) as server:
      result = exporting.export(server.url, [ONE], deadline_ms=250, TIMEOUT='100')
    self.assertEqual(result.batches, [(0, 0)])
    # Each attempt had its own time.
    self.assertGreater(len(server.requests), 1)

  def test_server_that_never_answers_an_attempt_without_a_time(self):
    release = threading.Event()
    with Server(lambda: release.wait(60) and OK) as server:
      result = exporting.export(server.url, [ONE], '--no-timeout', deadline_ms=250)
      release.set()
    self.assertEqual(result.batches, [(0, 0)])
    self.assertEqual(len(server.requests), 1)

  def test_interruption(self):
    release = threading.Event()
    with Server(lambda: release.wait(30) and OK) as server:
      start = time.monotonic()
      result = exporting.export(server.url, [ONE] * 3, '--interrupt', '300',
                                deadline_ms=60000)
      took = time.monotonic() - start
      release.set()
    self.assertEqual(result.batches, [(0, 0)] * 3)
    for reason in result.reasons:
      self.assertIn('the program shuts down', reason)
    self.assertLess(took, 20)
    # Also while it waits for the next attempt.
    with Server(refusal(503, Retry_After='50')) as server:
      start = time.monotonic()
      result = exporting.export(server.url, [ONE] * 3, '--interrupt', '300',
                                deadline_ms=60000)
      self.assertLess(time.monotonic() - start, 20)
    self.assertEqual(result.batches, [(0, 0)] * 3)
    self.assertEqual(len(server.requests), 1)


class ForkTest(unittest.TestCase):

  def test_connections_of_parent_and_children(self):
    with Server(OK) as server:
      result = exporting.export(server.url, [ONE] * 5, '--fork')
    self.assertEqual(result.batches, [(1, 0)] * 10)
    ports = [request.port for request in server.requests]
    # The parent goes on with its connection, and each child has one of its own.
    self.assertEqual(len(set(ports[::2])), 1)
    self.assertEqual(len(set(ports)), 6)


class TlsTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.TemporaryDirectory()
    cls.certificate = cls.folder.name + '/certificate.pem'
    cls.key = cls.folder.name + '/key.pem'
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days',
                    '1', '-subj', '/CN=test', '-addext', 'subjectAltName=IP:127.0.0.1',
                    '-keyout', cls.key, '-out', cls.certificate],
                   check=True, capture_output=True)

  @classmethod
  def tearDownClass(cls):
    cls.folder.cleanup()

  def test_certificates(self):
    with Server(OK, tls=(self.certificate, self.key)) as server:
      url = 'https://' + server.authority
      trusted = exporting.export(url, [ONE] * 2, '--fork', CERTIFICATE=self.certificate)
      self.assertEqual(trusted.batches, [(1, 0)] * 4)
      for variables in ({}, {'CERTIFICATE': self.key},
                        {'CERTIFICATE': self.folder.name + '/none.pem'}):
        with self.subTest(variables):
          result = exporting.export(url, [ONE], **variables)
          self.assertEqual(result.batches, [(0, 0)])
          self.assertIn('certificate', result.reasons[0].lower())
      # Tried once: no later attempt can mend it.
      self.assertEqual(len(server.requests), 4)


if __name__ == '__main__':
  sys.exit(cases.run_cases())
