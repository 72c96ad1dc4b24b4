#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace export --format otlp` writes the slices, tasks and instants of a trace as
OpenTelemetry has them, and a trace that is written so and read again is the same."""

import csv
import http.server
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import cases
from timeline_command import PZTRACE, TimelineCommandTest
from track_events import (BEGIN, END, INSTANT, NEEDS_STATE, arg, category, described, name,
                          packet)
from wire import delimited, double, fixed64, integer

TASKS = pathlib.Path.cwd() / 'task_tracer'
CLOCKS = packet(1, delimited(6, delimited(1, integer(1, 1) + integer(2, 10**18)) +
                             delimited(1, integer(1, 6) + integer(2, 1000))))


def at(kind, time, *fields):
  """An event at a time of the boot clock."""
  return packet(1, integer(8, time), integer(58, 6), integer(13, NEEDS_STATE),
                delimited(11, integer(9, kind) + b''.join(fields)))


def value(any_value):
  """What an AnyValue stands for."""
  for kind, content in any_value.items():
    if kind == 'intValue':
      return int(content)
    if kind == 'doubleValue':
      return float(content)
    if kind == 'arrayValue':
      return [value(one) for one in content.get('values', [])]
    if kind == 'kvlistValue':
      return attributes(content.get('values', []))
    return content
  return None


def attributes(pairs):
  return {pair['key']: value(pair['value']) for pair in pairs}


def any_value(content):
  for kind, field in ((bool, 'boolValue'), (float, 'doubleValue'), (str, 'stringValue')):
    if isinstance(content, kind):
      return {field: content}
  if isinstance(content, int):
    return {'intValue': str(content)}
  if isinstance(content, list):
    return {'arrayValue': {'values': [any_value(one) for one in content]}}
  return {'kvlistValue': {'values': pairs(content)}}


def pairs(dictionary):
  return [{'key': key, 'value': any_value(one)} for key, one in dictionary.items()]


class OtlpExportTest(TimelineCommandTest):
  command = 'export'

  def setUp(self):
    super().setUp()
    self.folder = self.path.with_name('spans')

  def export(self, trace, *args, form='otlp-json', code=0):
    """Returns the spans and the logs, each with its resource and its scope."""
    _, self.errors = self.run_command(trace, '--format', form, '-o', self.folder, *args,
                                      code=code)
    found = []
    for file, part, records in (('spans', 'Spans', 'spans'), ('logs', 'Logs', 'logRecords')):
      lines = (self.folder / (file + '.jsonl')).read_text().splitlines()
      found.append([
          dict(record, resource=attributes(resource['resource']['attributes']),
               scope=scope.get('scope', {}).get('name', ''),
               args=attributes(record.get('attributes', [])))
          for line in lines for resource in json.loads(line)['resource' + part]
          for scope in resource['scope' + part] for record in scope[records]])
    return found

  def test_what_is_written(self):
    trace = CLOCKS + described() + b''.join((
        at(BEGIN, 2000, category('http'), name('outer'), arg('text', delimited(6, b'x')),
              arg('large', integer(3, 2**64 - 1)), arg('list', delimited(
                  12, double(5, 0.5)) + delimited(12, integer(2, 1))),
              fixed64(47, 5)),
        at(BEGIN, 2100, category('db'), name('inner'), fixed64(47, 5)),
        at(INSTANT, 2150, name('row'), arg('number', integer(4, 3))),
        at(END, 2200), at(INSTANT, 2250, name('after')), at(END, 2300),
        at(INSTANT, 2400, category('log'), name('alone')),
        at(BEGIN, 2500, name('unfinished'))))
    spans, logs = self.export(trace, '--host', 'h')
    inner, outer = spans
    self.assertEqual((outer['name'], outer['scope'], outer['kind']), ('outer', 'http', 1))
    self.assertEqual(outer['resource'],
                     {'service.name': 'app', 'process.pid': 41, 'host.name': 'h'})
    self.assertEqual((outer['startTimeUnixNano'], outer['endTimeUnixNano']),
                     (str(10**18 + 1000), str(10**18 + 1300)))
    self.assertEqual(outer['args'], {'text': 'x', 'large': str(2**64 - 1),
                                     'list': [0.5, True], 'thread.id': 42,
                                     'thread.name': 'main'})
    self.assertEqual(inner['parentSpanId'], outer['spanId'])
    self.assertNotIn('parentSpanId', outer)
    self.assertEqual(inner['traceId'], outer['traceId'])
    self.assertEqual([(one['name'], attributes(one['attributes']))
                      for one in inner['events']], [('row', {'number': 3})])
    self.assertEqual([one['name'] for one in outer['events']], ['after'])
    self.assertEqual([(log['body'], log['scope'], log['timeUnixNano']) for log in logs],
                     [({'stringValue': 'alone'}, 'log', str(10**18 + 1400))])
    self.assertIn('1 slice had not ended', self.errors)
    # Ids depend on nothing but the content.
    self.assertEqual(self.export(trace, '--host', 'h')[0], spans)
    self.assertNotEqual(self.export(trace, '--host', 'i')[0][0]['spanId'], inner['spanId'])
    self.assertEqual(len(self.export(trace, '--unfinished')[0]), 3)

  def test_flows_are_links(self):
    flow = lambda number: fixed64(47, number)
    last = lambda number: fixed64(48, number)
    trace = CLOCKS + described() + b''.join((
        at(BEGIN, 2000, name('a'), flow(5)), at(END, 2100),
        at(BEGIN, 2200, name('b'), flow(5), flow(6)), at(END, 2300),
        at(BEGIN, 2400, name('c'), last(5)), at(END, 2500),
        # Another flow of that number.
        at(BEGIN, 2600, name('d'), flow(5), flow(6)), at(END, 2700)))
    spans, _ = self.export(trace)
    names = {span['spanId']: span['name'] for span in spans}
    self.assertEqual({span['name']: [names[link['spanId']] for link in span.get('links', [])]
                      for span in spans},
                     {'a': [], 'b': ['a'], 'c': ['b'], 'd': ['b']})

  def test_tasks_are_spans(self):
    subprocess.run([TASKS, self.path], stdout=subprocess.DEVNULL, check=True)
    trace = self.path.read_bytes()
    tasks, _ = self.run_command(trace, '--tasks')
    tasks = list(csv.DictReader(io.StringIO(tasks)))
    self.assertGreater(len(tasks), 5)
    spans, _ = self.export(trace)
    of_tasks = [span for span in spans if span['scope'] == 'pztrace.tasks']
    self.assertEqual(len(of_tasks), len(tasks))
    by_id = {span['spanId']: span for span in of_tasks}
    children = [span for span in of_tasks if 'parentSpanId' in span]
    self.assertTrue(children)
    for span in children:
      self.assertEqual(by_id[span['parentSpanId']]['traceId'], span['traceId'])
    # Slices are within the task that their thread ran.
    for span in spans:
      if span['scope'] != 'pztrace.tasks' and span.get('parentSpanId') in by_id:
        self.assertEqual(by_id[span['parentSpanId']]['traceId'], span['traceId'])
    self.assertIn('code.file.path', of_tasks[0]['args'])

  def test_round_trip(self):
    trace, items = self.record_workers()
    rows = lambda path: self.exported_rows(path, '--slices', ('file', 'ts', 'row', 'args'))
    expected = rows(self.path)
    self.assertEqual(len(expected), 5 * items)
    spans = {}
    for form, file in ('otlp', 'spans.otlp'), ('otlp-json', 'spans.jsonl'):
      self.run_command(trace, '--format', form, '-o', self.folder)
      self.assertEqual(rows(self.folder / file), expected)
      spans[form] = (self.folder / file).read_bytes()
    # A file of OpenTelemetry is written as it was read: ids and parents, too.
    once = self.export(trace)[0]
    again = self.export(spans['otlp-json'])[0]
    key = lambda span: span['spanId']
    self.assertEqual(sorted(again, key=key), sorted(once, key=key))

  def test_values_survive_the_round_trip(self):
    values = {'map': {'x': 1, 'y': [True, {'z': 0.5, 'none': []}], 'a': {'b': {'c': 't'}}},
              'lists': [[1, 2], [], ['a', [{'k': 'v'}]], {}], 'empty list': [],
              'empty map': {}, 'empty text': '', '': 'empty key', 'small': -2**63}

    span = {'traceId': '%032x' % 1, 'spanId': '%016x' % 2, 'name': 's', 'kind': 2,
            'startTimeUnixNano': '1000', 'endTimeUnixNano': '2000', 'attributes': pairs(values),
            'events': [{'timeUnixNano': '1500', 'name': 'e', 'attributes': pairs(values)}]}
    content = json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': [span]}]}]}).encode()
    for form, file in ('otlp-json', 'spans.jsonl'), ('otlp', 'spans.otlp'):
      self.run_command(content, '--format', form, '-o', self.folder)
      # The last reading shows what either form has.
      spans, _ = self.export((self.folder / file).read_bytes())
      self.assertEqual(spans[0]['args'], values)
      self.assertEqual(attributes(spans[0]['events'][0]['attributes']), values)

  def read_again(self, content):
    """The spans, and the logs, of a file that was written by way of a trace of Perfetto."""
    trace = self.path.with_name('between.pftrace')
    self.run_command(content, '--format', 'perfetto', '-o', trace)
    return self.export(trace.read_bytes())

  def test_resources_survive_the_round_trip(self):
    shared = {'service.name': 'shop', 'process.pid': 1, 'text': 'a = "b"', 'like.number': '3',
              'like.list': '[1]', 'yes': True, 'half': 0.5, 'whole': 5.0, 'args': ['shop', '-v'],
              'map': {'a': [1, {'b': 'c'}]}, 'empty': '', 'large': -2**63}
    # Processes of two containers: names and ids of both are the same.
    resources = [{**shared, 'host.name': host} for host in ('first', 'second')]
    resources.append({'service.name': 'no pid'})
    content = json.dumps({'resourceSpans': [
        {'resource': {'attributes': pairs(resource)}, 'scopeSpans': [{'spans': [{
            'traceId': '%032x' % 1, 'spanId': '%016x' % (i + 1), 'name': 's',
            'startTimeUnixNano': '1000', 'endTimeUnixNano': '2000'}]}]}
        for i, resource in enumerate(resources)]}).encode()
    for spans in self.export(content)[0], self.read_again(content)[0]:
      found = {int(span['spanId'], 16): span['resource'] for span in spans}
      for i, resource in enumerate(resources):
        self.assertEqual(found[i + 1], resource)
        self.assertEqual({key: type(one) for key, one in found[i + 1].items()},
                         {key: type(one) for key, one in resource.items()})

  def test_links_survive_the_round_trip(self):
    """To spans of the file, of another one, the parent, the span itself; with attributes."""
    details = {'attributes': pairs({'a': 1, 'otel.kind': 'x', 'map': {'b': [0.5]}}),
               'traceState': 'v=1', 'droppedAttributesCount': 3}
    link = lambda trace, span, **more: {'traceId': '%032x' % trace, 'spanId': '%016x' % span,
                                        **more}
    links = {1: [], 2: [link(1, 1)], 3: [link(7, 8), link(1, 1)], 4: [link(1, 4), link(1, 1)],
             5: [link(1, 1, **details), link(9, 9, **details), link(1, 2)]}
    content = json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': [
        {'traceId': '%032x' % 1, 'spanId': '%016x' % span, 'name': 's%d' % span, 'kind': 3,
         'startTimeUnixNano': str(1000 * span), 'endTimeUnixNano': str(1000 * span + 10),
         'links': of_span, **({'parentSpanId': '%016x' % 1} if span == 4 else {}), 'events': [{'timeUnixNano': str(1000 * span), 'name': 'e',
                                       'droppedAttributesCount': 2}]}
        for span, of_span in links.items()]}]}]}).encode()
    order = lambda all: sorted(all, key=json.dumps)
    for spans in self.export(content)[0], self.read_again(content)[0]:
      self.assertEqual({int(span['spanId'], 16): order(span.get('links', [])) for span in spans},
                       {span: order(of_span) for span, of_span in links.items()})
      for span in spans:
        self.assertEqual(span['kind'], 3)
        self.assertEqual(span['events'][0]['droppedAttributesCount'], 2)

  def test_links_that_are_none(self):
    """The argument of an event that only looks like links."""
    entry = lambda key, content: delimited(11, delimited(10, key.encode()) + content)
    text = lambda content: delimited(6, content)
    trace = CLOCKS + described() + b''.join((
        at(BEGIN, 2000, name('text'), arg('otel.links', text(b'x')), arg('a', integer(4, 1))),
        at(END, 2100),
        at(BEGIN, 2200, name('others'), arg('otel.links', b''.join((
            delimited(12, text(b'x')), delimited(12, delimited(12, text(b'y'))),
            delimited(12, entry('trace_id', integer(4, 5)) + entry('span_id', text(b'zz')) +
                      entry('more', entry('span_id', text(b'1' * 16))) +
                      entry('attributes', text(b'no')))))), arg('a', integer(4, 1))),
        at(END, 2300)))
    spans, _ = self.export(trace)
    self.assertEqual([span['args']['a'] for span in spans], [1, 1])
    self.assertEqual(spans[0]['args']['otel.links'], 'x')
    self.assertEqual(spans[1].get('links', []), [{}])

  def test_counts_of_what_was_dropped_survive(self):
    counts = {'droppedAttributesCount': 5, 'droppedEventsCount': 6, 'droppedLinksCount': 7}
    span = {'traceId': '%032x' % 1, 'spanId': '%016x' % 2, 'name': 's',
            'startTimeUnixNano': '1000', 'endTimeUnixNano': '2000', **counts}
    record = {'timeUnixNano': '1500', 'body': {'stringValue': 'text'},
              'droppedAttributesCount': 8, 'eventName': 'device.app.lifecycle'}
    content = json.dumps({'resourceSpans': [{'scopeSpans': [{'spans': [span]}]}],
                          'resourceLogs': [{'scopeLogs': [{'logRecords': [record]}]}]}).encode()
    self.run_command(content, '--format', 'otlp-json', '-o', self.folder)
    spans = json.loads((self.folder / 'spans.jsonl').read_text())
    again = spans['resourceSpans'][0]['scopeSpans'][0]['spans'][0]
    self.assertEqual({name: again.get(name) for name in counts}, counts)
    logs = json.loads((self.folder / 'logs.jsonl').read_text())
    again = logs['resourceLogs'][0]['scopeLogs'][0]['logRecords'][0]
    self.assertEqual({name: again.get(name) for name in record}, record)

  def test_texts_and_ids_that_a_collector_refuses(self):
    bad = lambda text: delimited(4, delimited(10, text) + delimited(6, text))
    trace = CLOCKS + described() + b''.join((
        at(BEGIN, 2000, category(b'c\xff'.decode('latin1')), delimited(23, b'name\xff'),
           bad(b'key\xfe'), arg('otel.trace_id', delimited(6, b'0' * 32)),
           arg('otel.span_id', delimited(6, b'0' * 16))), at(END, 2100)))
    spans, _ = self.export(trace)
    self.assertEqual(spans[0]['name'], 'name\ufffd')
    self.assertEqual(spans[0]['args']['key\ufffd'], 'key\ufffd')
    self.assertNotEqual(int(spans[0]['spanId'], 16), 0)
    self.assertNotEqual(int(spans[0]['traceId'], 16), 0)

  def test_without_a_wall_clock(self):
    trace = described() + at(BEGIN, 2000, name('a')) + at(END, 2100)
    spans, _ = self.export(trace)
    self.assertEqual(spans[0]['startTimeUnixNano'], '2000')
    self.assertIn('no times of the wall clock', self.errors)

  def test_a_damaged_trace(self):
    trace = CLOCKS + described() + at(BEGIN, 2000, name('a')) + at(END, 2100)
    spans, _ = self.export(trace + b'\x0a\x05x', code=1)
    self.assertEqual(len(spans), 1)
    self.assertEqual(self.errors.count('damaged'), 1, self.errors)

  def test_wrong_usage(self):
    for arguments, expected in (
        ((), 'needs -o or --endpoint'),
        (('--slices', '-o', self.folder), 'takes no option for them'),
        (('-o', self.folder, '--endpoint', 'http://127.0.0.1:1'), 'needs -o or --endpoint'),
        (('--escape-formulas', '-o', self.folder), 'takes no option for them')):
      with self.subTest(arguments):
        _, errors = self.run_command(b'\x0a\x00', '--format', 'otlp', *arguments, code=2)
        self.assertIn(expected, errors)
    _, errors = self.run_command(b'\x0a\x00', '--slices', '--endpoint', 'http://x', code=2)
    self.assertIn('--endpoint is for --format otlp', errors)

  def send(self, trace, endpoint, code=0, **environment):
    result = subprocess.run([PZTRACE, 'export', '--format', 'otlp', '--endpoint', endpoint,
                             self.path], capture_output=True, text=True, check=False,
                            env={**os.environ, **environment})
    if 'without libcurl' in result.stderr:
      self.skipTest('there is no libcurl (Debian: libcurl4-openssl-dev)')
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stderr

  def test_endpoint(self):
    self.path.write_bytes(CLOCKS + described() + at(BEGIN, 2000, name('a')) +
                          at(INSTANT, 2500, name('b')) + at(END, 2600) +
                          at(INSTANT, 2700, name('log')))
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):

      def log_message(self, *_):
        pass

      def do_POST(self):
        got.append((self.path, self.rfile.read(int(self.headers['Content-Length']))))
        self.send_response(200 if len(got) < 3 else 400)
        self.end_headers()

    server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    self.addCleanup(server.server_close)
    self.addCleanup(thread.join)
    self.addCleanup(server.shutdown)
    url = 'http://127.0.0.1:%d/' % server.server_address[1]
    self.send(None, url)
    self.assertEqual([path for path, _ in got], ['/v1/traces', '/v1/logs'])
    self.assertIn(b'main', got[0][1])
    self.assertIn('2 of 2 spans and logs are not there: ' + url,
                  self.send(None, url, code=1))
    self.assertIn('is no URL', self.send(None, 'somewhere', code=1))

  def test_libcurl_is_loaded_to_send(self):
    self.path.write_bytes(CLOCKS + described() + at(BEGIN, 2000, name('a')) + at(END, 2100))
    url = 'http://127.0.0.1:1'
    def libraries(*command):
      result = subprocess.run([PZTRACE, *command, self.path], capture_output=True, text=True,
                              env={**os.environ, 'LD_DEBUG': 'files'}, check=False)
      return set(re.findall(r'calling init: \S*/(lib[\w-]+)', result.stderr))
    self.assertIn('libz', libraries('top'))
    self.assertNotIn('libcurl', libraries('top'))
    self.send(None, url, code=1)  # May skip.
    # It may be the one with GnuTLS.
    self.assertTrue([library for library in libraries(
        'export', '--format', 'otlp', '--endpoint', url) if library.startswith('libcurl')])

  def test_without_libcurl(self):
    self.path.write_bytes(CLOCKS + described() + at(BEGIN, 2000, name('a')) + at(END, 2100))
    folder = self.path.with_name('libraries')
    folder.mkdir()
    names = [folder / name for name in ('libcurl.so.4', 'libcurl-gnutls.so.4')]
    for path in names:
      path.touch()
    self.assertRegex(self.send(None, 'http://127.0.0.1:1', code=1, LD_LIBRARY_PATH=str(folder)),
                     r'to send, libcurl is needed: \S+/libcurl.so.4: ')
    library = re.search(r'libz[.]so\S* => (\S+)', subprocess.run(
        ['ldd', PZTRACE], capture_output=True, text=True, check=True).stdout).group(1)
    names[0].unlink()
    names[0].symlink_to(library)
    self.assertIn('to send, a newer libcurl is needed: it has no curl_',
                  self.send(None, 'http://127.0.0.1:1', code=1, LD_LIBRARY_PATH=str(folder)))


if __name__ == '__main__':
  sys.exit(cases.run_cases())
