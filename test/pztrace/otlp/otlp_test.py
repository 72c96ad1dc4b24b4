#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads files of OpenTelemetry in each of their forms, as traces."""

import base64
import csv
import gzip
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

import cases
import wire
from html_page import Page
from timeline_command import PZTRACE, TimelineCommandTest, has_sqlite

BEGIN = 1_700_000_000_000_000_000  # Unix time in nanoseconds.
# Prints the memory that a command takes, in kilobytes.
MEASURE = '''
import os, subprocess, sys
with subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL) as process:
  _, status, usage = os.wait4(process.pid, 0)
  process.returncode = status
print(usage.ru_maxrss if status == 0 else 'failed')
'''


class Any:
  """A value, in both encodings."""

  def __init__(self, value):
    self.value = value

  def bytes(self):
    value = self.value
    if isinstance(value, str):
      return wire.delimited(1, value.encode())
    if isinstance(value, bool):
      return wire.integer(2, int(value))
    if isinstance(value, int):
      return wire.integer(3, value % 2**64)
    if isinstance(value, float):
      return wire.double(4, value)
    if isinstance(value, list):
      return wire.delimited(5, b''.join(wire.delimited(1, Any(one).bytes())
                                        for one in value))
    if isinstance(value, dict):
      return wire.delimited(6, b''.join(wire.delimited(1, pair)
                                        for pair in pairs_bytes(value)))
    return wire.delimited(7, value)

  def json(self):
    value = self.value
    if isinstance(value, str):
      return {'stringValue': value}
    if isinstance(value, bool):
      return {'boolValue': value}
    if isinstance(value, int):
      return {'intValue': str(value)}
    if isinstance(value, float):
      return {'doubleValue': value}
    if isinstance(value, list):
      return {'arrayValue': {'values': [Any(one).json() for one in value]}}
    if isinstance(value, dict):
      return {'kvlistValue': {'values': pairs_json(value)}}
    return {'bytesValue': base64.b64encode(value).decode()}

  def shown(self):
    """What JSON of a trace has."""
    value = self.value
    if isinstance(value, bytes):
      return base64.b64encode(value).decode()
    if isinstance(value, list):
      return [Any(one).shown() for one in value]
    if isinstance(value, dict):
      return {key: Any(one).shown() for key, one in value.items()}
    return value


def pairs_bytes(attributes):
  return [wire.delimited(1, key.encode()) + wire.delimited(2, Any(value).bytes())
          for key, value in attributes.items()]


def pairs_json(attributes):
  return [{'key': key, 'value': Any(value).json()} for key, value in attributes.items()]


class Span:

  def __init__(self, name, begin, end, span_id, parent=0, trace=1, attributes=None,
               events=(), links=(), status=0, message='', kind=0):
    self.name, self.begin, self.end = name, BEGIN + begin, BEGIN + end
    self.id, self.parent, self.trace = span_id, parent, trace
    self.attributes = attributes or {}
    self.events, self.links = events, links  # Names and times; traces and spans.
    self.status, self.message, self.kind = status, message, kind

  def bytes(self):
    content = (wire.delimited(1, self.trace.to_bytes(16, 'big')) +
               wire.delimited(2, self.id.to_bytes(8, 'big')) +
               wire.delimited(5, self.name.encode()) + wire.integer(6, self.kind) +
               wire.fixed64(7, self.begin) + wire.fixed64(8, self.end))
    if self.parent:
      content += wire.delimited(4, self.parent.to_bytes(8, 'big'))
    for pair in pairs_bytes(self.attributes):
      content += wire.delimited(9, pair)
    for name, time in self.events:
      content += wire.delimited(11, wire.fixed64(1, BEGIN + time) +
                                wire.delimited(2, name.encode()))
    for trace, span in self.links:
      content += wire.delimited(13, wire.delimited(1, trace.to_bytes(16, 'big')) +
                                wire.delimited(2, span.to_bytes(8, 'big')))
    if self.status:
      content += wire.delimited(15, wire.delimited(2, self.message.encode()) +
                                wire.integer(3, self.status))
    return content

  def json(self):
    result = {
        'traceId': '%032x' % self.trace, 'spanId': '%016X' % self.id, 'name': self.name,
        'startTimeUnixNano': str(self.begin), 'endTimeUnixNano': self.end,
        'kind': self.kind, 'attributes': pairs_json(self.attributes), 'unknown': [{'a': 1}],
        'events': [{'timeUnixNano': str(BEGIN + time), 'name': name}
                   for name, time in self.events],
        'links': [{'traceId': '%032x' % trace, 'spanId': '%016x' % span}
                  for trace, span in self.links],
        'status': {'code': self.status, 'message': self.message} if self.status else {}}
    if self.parent:
      result['parentSpanId'] = '%016x' % self.parent
    return result


class Document:
  """The spans of one program, by scopes."""

  def __init__(self, resource, **scopes):
    self.resource = resource
    self.scopes = scopes

  def bytes(self):
    content = wire.delimited(1, b''.join(wire.delimited(1, pair)
                                         for pair in pairs_bytes(self.resource)))
    for name, spans in self.scopes.items():
      content += wire.delimited(2, wire.delimited(1, wire.delimited(1, name.encode())) +
                                b''.join(wire.delimited(2, span.bytes())
                                         for span in spans))
    return wire.delimited(1, content)

  def json(self):
    return {'resourceSpans': [{
        'resource': {'attributes': pairs_json(self.resource)},
        'scopeSpans': [{'scope': {'name': name}, 'spans': [span.json() for span in spans]}
                       for name, spans in self.scopes.items()]}]}


def log(body, time, severity, trace=0, span=0):
  content = (wire.fixed64(1, BEGIN + time) + wire.integer(2, severity) +
             wire.delimited(5, Any(body).bytes()))
  if trace:
    content += wire.delimited(9, trace.to_bytes(16, 'big'))
    content += wire.delimited(10, span.to_bytes(8, 'big'))
  return content


def forms(documents):
  """The content of files with these documents, by the name of the form."""
  parts = [document.bytes() for document in documents]
  lines = [json.dumps(document.json()) + '\n' for document in documents]
  result = {
      'one message': b''.join(parts),
      'varints': b''.join(wire.varint(len(part)) + part for part in parts),
      'four bytes': b''.join(len(part).to_bytes(4, 'big') + part for part in parts),
      'lines': ''.join(lines).encode(),
      'snake case': ''.join(lines).replace('resourceSpans', 'resource_spans')
                    .replace('traceId', 'trace_id').encode(),
  }
  result['gzip'] = gzip.compress(result['lines'])
  if len(documents) == 1:
    result['pretty'] = json.dumps(documents[0].json(), indent=2).encode()
  return result


def random_spans(generator):
  """Spans of which children are mostly within their parents."""
  spans = []
  for number in range(1, generator.randrange(2, 60)):
    parent = generator.choice(spans) if spans and generator.random() < 0.8 else None
    begin, end = sorted(generator.randrange(1000) for _ in range(2))
    if parent is not None and generator.random() < 0.9:
      first, last = parent.begin - BEGIN, parent.end - BEGIN
      begin, end = sorted(generator.randint(first, last) for _ in range(2))
    attributes = {'number': number, 'text': 'x' * generator.randrange(5)}
    if generator.random() < 0.3:
      attributes['thread.id'] = generator.randrange(1, 3)
    spans.append(Span('span %d' % number, begin, end, number, parent.id if parent else 0,
                      attributes=attributes))
  generator.shuffle(spans)
  return spans


class OtlpTest(TimelineCommandTest):
  command = 'export'

  def rows(self, content, table='--slices', code=0):
    output, self.errors = self.run_command(content, table, code=code)
    return list(csv.DictReader(io.StringIO(output)))

  def test_each_form(self):
    attributes = {'text': 'é"', 'yes': True, 'int': -5, 'large': 2**63 - 1, 'double': 0.5,
                  'list': ['a', 'b'], 'map': {'x': 1, 'y': [True]}, 'bytes': b'\x00\xff',
                  'empty': ''}
    spans = [Span('outer', 0, 100, 1, attributes=attributes, kind=2,
                  events=[('at begin', 0), ('within', 40), ('at end', 100)]),
             Span('inner', 10, 30, 2, parent=1, status=2, message='broken'),
             Span('overlapping', 20, 90, 3, parent=1)]
    documents = [Document({'service.name': 'shop', 'process.pid': 77}, http=spans),
                 Document({'service.name': 'bank'},
                          db=[Span('other', 5, 6, 4, parent=3, links=[(1, 2)])])]
    for some in documents, documents[:1]:
      for form, content in forms(some).items():
        with self.subTest(form, documents=len(some)):
          rows = {row['name']: row for row in self.rows(content)}
          self.assertEqual(set(rows), {span.name for document in some
                                       for scope in document.scopes.values()
                                       for span in scope})
          outer, inner = rows['outer'], rows['inner']
          self.assertEqual((outer['process'], outer['pid'], outer['category']),
                           ('shop', '77', 'http'))
          self.assertEqual((outer['ts'], outer['dur'], outer['self'], outer['depth']),
                           (str(BEGIN), '100', '80', '0'))
          self.assertEqual(outer['time'], str(BEGIN))
          self.assertEqual((inner['dur'], inner['depth']), ('20', '1'))
          self.assertEqual(rows['overlapping']['depth'], '0')
          args = json.loads(outer['args'])
          for key, value in attributes.items():
            self.assertEqual(args[key], Any(value).shown())
          self.assertEqual(args['otel.kind'], 'server')
          self.assertEqual(args['otel.trace_id'], '%032x' % 1)
          args = json.loads(inner['args'])
          self.assertEqual((args['otel.status'], args['otel.status_message'],
                            args['otel.parent_span_id']), ('error', 'broken', '%016x' % 1))
          # A parent on another track is joined by a flow.
          self.assertEqual(len(set(json.loads(rows['overlapping']['flows'])) &
                               set(json.loads(outer['flows']))), 1)
          if len(some) == 2:
            other = rows['other']
            self.assertEqual((other['process'], other['pid'], other['category']),
                             ('bank', '1', 'db'))
            for end in inner, rows['overlapping']:
              self.assertEqual(len(set(json.loads(other['flows'])) &
                                   set(json.loads(end['flows']))), 1)
          instants = self.rows(content, '--instants')
          self.assertEqual([(row['name'], int(row['ts']) - BEGIN) for row in instants],
                           [('at begin', 0), ('within', 40), ('at end', 100)])

  def test_random_spans_keep_times_and_parents(self):
    for seed in range(15):
      generator = random.Random(seed)
      spans = random_spans(generator)
      content = generator.choice(list(forms([Document({}, scope=spans)]).values()))
      self.path.write_bytes(content)
      rows = self.rows(content)
      by_id = {span.id: span for span in spans}
      found = {}
      for row in rows:
        args = json.loads(row['args'])
        span = by_id[int(args['otel.span_id'], 16)]
        found[span.id] = row
        self.assertEqual((row['name'], int(row['ts']), int(row['dur'])),
                         (span.name, span.begin, span.end - span.begin))
        self.assertEqual(args['number'], span.id)
        self.assertEqual(int(args.get('otel.parent_span_id', '0'), 16), span.parent)
      self.assertEqual(set(found), set(by_id))
      self.check_nesting(spans)

  def check_nesting(self, spans):
    """Each slice is in its parent's, or joined with it by a flow."""
    query = ("select a.name, b.name, a.thread_id is not null from "
             "(select s.*, null thread_id from slice s) a join slice b on a.parent_id = b.id")
    result = subprocess.run([PZTRACE, 'sql', '--format', 'csv', self.path, query],
                            capture_output=True, text=True, check=False)
    if 'without SQLite' in result.stderr:
      return
    self.assertEqual(result.returncode, 0, result.stderr)
    nested = {tuple(row[:2]) for row in list(csv.reader(io.StringIO(result.stdout)))[1:]}
    by_id = {span.id: span for span in spans}
    for span in spans:
      if 'thread.id' in span.attributes:
        continue
      inner = [outer for name, outer in nested if name == span.name]
      if inner:
        self.assertEqual(inner, [by_id[span.parent].name])

  def test_logs(self):
    records = [log('in a span', 50, 9, 1, 1), log({'a': 1}, 60, 17), log('alone', 70, 0)]
    content = wire.delimited(1, wire.delimited(2, wire.delimited(1, wire.delimited(
        1, b'logger')) + b''.join(wire.delimited(2, record) for record in records)))
    for form in content, wire.varint(len(content)) + content:
      rows = self.rows(form, '--instants')
      self.assertEqual([(row['name'], int(row['ts']) - BEGIN, row['category'])
                        for row in rows],
                       [('in a span', 50, 'logger'), ('log', 60, 'logger'),
                        ('alone', 70, 'logger')])
      args = [json.loads(row['args']) for row in rows]
      self.assertEqual((args[0]['otel.severity'], args[0]['otel.span_id']),
                       (9, '%016x' % 1))
      self.assertEqual(args[1]['otel.body'], {'a': 1})
      self.assertEqual(args[2], {})
    # Beside its span, it is on the span's track.
    both = content + Document({}, scope=[Span('span', 0, 100, 1)]).bytes()
    rows = self.rows(both, '--instants')
    self.assertEqual({row['name']: row['track'] for row in rows},
                     {'in a span': 'spans', 'log': '', 'alone': ''})

  def output_of(self, *arguments):
    result = subprocess.run([PZTRACE, *arguments], capture_output=True, text=True, check=False)
    self.assertEqual(result.returncode, 0, result.stderr)
    return result.stdout

  def tasks(self, content, *arguments, code=0):
    self.path.write_bytes(content)
    result = subprocess.run([PZTRACE, 'tasks', *arguments, self.path], capture_output=True,
                            text=True, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stdout

  def path_of(self, content, trace):
    """The parts of a request's path: the state, the task, and what it waits for."""
    output = self.tasks(content, '--request', '%032x' % trace, '--format', 'csv')
    return [(int(row['ts']) - BEGIN, int(row['dur']), row['state'],
             row['name'].rsplit(' #', 1)[0]) for row in csv.DictReader(io.StringIO(output))]

  def programs(self):
    """Two requests, of which one goes through three programs."""
    return [
        Document({'service.name': 'front'}, http=[
            Span('GET', 0, 100, 1, kind=2), Span('call', 10, 80, 2, parent=1, kind=3),
            Span('other', 5, 15, 11, trace=2, kind=2)]),
        Document({'service.name': 'shop'}, rpc=[
            Span('Cart', 15, 75, 3, parent=2, kind=2), Span('parse', 16, 20, 4, parent=3),
            Span('query', 25, 60, 5, parent=3, kind=3)]),
        Document({'service.name': 'db'}, sql=[Span('SELECT', 30, 55, 6, parent=5, kind=2,
                                                   status=2)])]

  def test_requests_of_several_programs_are_tasks(self):
    for content in forms(self.programs()).values():
      self.assertEqual(self.path_of(content, 1), [
          (0, 10, 'running', 'front: GET'), (10, 5, 'ready', 'shop: Cart'),
          (15, 10, 'running', 'shop: Cart'), (25, 5, 'ready', 'db: SELECT'),
          (30, 25, 'running', 'db: SELECT'), (55, 5, 'ready', 'shop: Cart'),
          (60, 15, 'running', 'shop: Cart'), (75, 5, 'ready', 'front: GET'),
          (80, 20, 'running', 'front: GET')])
      self.assertEqual(self.path_of(content, 2), [(5, 10, 'running', 'front: other')])
    output = self.tasks(content)
    self.assertIn('65 ns at most: front: GET for call', output)
    self.assertIn('4 tasks of 4 places, 0 of them had not ended', output)

  def test_tasks_are_those_of_each_command(self):
    """In a file of OpenTelemetry, in a trace made of it, and from a pipe."""
    spans = forms(self.programs())['varints']
    self.path.write_bytes(spans)
    made = self.path.with_name('made')
    subprocess.run([PZTRACE, 'cut', '-o', made, self.path], check=True)
    request = '%032x' % 1
    for content in spans, made.read_bytes():
      path = self.tasks(content, '--request', request)
      explained = self.output_of('why', '--request', request, self.path)
      self.assertEqual(explained.splitlines()[:10], path.splitlines()[:10])
      self.assertIn('no states of threads', explained)
      result = subprocess.run([PZTRACE, 'tasks', '--request', request, '-'], input=content,
                              stdout=subprocess.PIPE, check=True)
      self.assertEqual(result.stdout.decode(), path)

      rows = [(row['process'], row['place'], row['request'] == request, row['result'],
               int(row['ts']) - BEGIN, int(row['dur']), int(row['run']), int(row['wait']),
               json.loads(row['waits'])) for row in self.rows(content, '--tasks')]
      self.assertEqual(rows, [
          ('front', 'front: GET', True, 'done', 0, 100, 30, 65,
           {'call': {'count': 1, 'total': 65, 'max': 65}}),
          ('front', 'front: other', False, 'done', 5, 10, 10, 0, {}),
          ('shop', 'shop: Cart', True, 'done', 10, 65, 25, 30,
           {'query': {'count': 1, 'total': 30, 'max': 30}}),
          ('db', 'db: SELECT', True, 'failed', 25, 30, 25, 0, {})])

      page = Page(self.output_of('html', self.path))
      self.assertEqual([row['label'] for row in page.rows if row['kind'] == 'tasks'],
                       ['tasks of front 1', 'front: GET', 'front: other', 'tasks of shop 2',
                        'shop: Cart', 'tasks of db 3', 'db: SELECT'])
      slices = [one for one in page.slices() if one['row'] == 'front: GET']
      self.assertEqual([(one['name'], one['begin'], one['duration']) for one in slices
                        if one['depth'] == 1],
                       [('running', 0, 10), ('waits: call', 10, 65), ('ready', 75, 5),
                        ('running', 80, 20)])
      # The spans of the task, with that in which it waits.
      self.assertEqual({one['name'] for one in slices if one['depth'] > 1}, {'GET', 'call'})

  def test_tasks_in_sql(self):
    if not has_sqlite():
      self.skipTest('pztrace was built without SQLite')
    self.path.write_bytes(forms(self.programs())['varints'])
    query = ('SELECT process.name, place, (SELECT place FROM task AS p WHERE p.task = t.parent), '
             'run, wait, ready FROM task AS t JOIN process USING (upid) '
             "WHERE request = '%032x' ORDER BY ts" % 1)
    database = self.path.with_name('database')
    self.output_of('export', '--format', 'sqlite', '-o', database, self.path)
    for path in self.path, database:
      rows = list(csv.reader(io.StringIO(self.output_of('sql', '--format', 'csv', path, query))))
      self.assertEqual(rows[1:], [['front', 'front: GET', '', '30', '65', '5'],
                                  ['shop', 'shop: Cart', 'front: GET', '25', '30', '10'],
                                  ['db', 'db: SELECT', 'shop: Cart', '25', '0', '5']])

  def test_tasks_of_clocks_apart_and_of_circles(self):
    # The program that is called is ahead of the others, or its clock is behind.
    for shift in -1000, 1000:
      documents = [
          Document({'service.name': 'a'}, http=[Span('outer', 0, 100, 1),
                                                Span('call', 10, 90, 2, parent=1, kind=3)]),
          Document({'service.name': 'b'}, http=[
              Span('inner', 5000 + shift, 5050 + shift, 3, parent=2, kind=2)])]
      output = self.tasks(forms(documents)['varints'], '--slowest', '3')
      self.assertIn('a: outer', output)
    circle = [Document({'service.name': name}, http=[Span(name, 0, 10, number, parent=parent)])
              for name, number, parent in (('a', 1, 3), ('b', 2, 1), ('c', 3, 2))]
    self.assertIn('3 tasks of 3 places', self.tasks(forms(circle)['varints']))
    # An id that is there twice; with one of zeros, a slice is no span.
    twice = [Document({'service.name': 'a'}, http=[Span('one', 0, 10, 1), Span('two', 5, 20, 1),
                                                   Span('zero', 7, 7, 0, parent=9)])]
    self.assertIn('2 tasks of 2 places', self.tasks(forms(twice)['varints']))

  def test_random_tasks(self):
    for seed in range(5):
      generator = random.Random(seed)
      spans = random_spans(generator)
      for span in spans:
        span.kind = generator.randrange(6)
      documents = [Document({'service.name': name}, http=spans[start::3])
                   for start, name in enumerate('abc')]
      output = self.tasks(forms(documents)['lines'], '--slowest', '9')
      self.assertIn('request %032x' % 1, output)

  def test_other_commands(self):
    documents = [Document({'service.name': 'shop'}, http=random_spans(random.Random(7)))]
    content = forms(documents)['varints']
    self.path.write_bytes(content)
    output = self.path.with_name('page.html')
    for command in (['top'], ['cat'], ['svg'], ['html', '-o', output], ['tasks'],
                    ['stat'], ['check', '--rule', 'each slice "span 1" has args {number}']):
      with self.subTest(command):
        result = subprocess.run([PZTRACE, *command, self.path], capture_output=True,
                                text=True, check=False)
        self.assertNotIn('is not a trace', result.stderr)
    result = subprocess.run([PZTRACE, 'diff', self.path, self.path], capture_output=True,
                            text=True, check=False)
    self.assertEqual(result.returncode, 0, result.stderr)

  def test_as_a_trace_for_perfetto(self):
    spans = [Span('outer', 0, 100, 1, attributes={'a': 1}), Span('inner', 10, 30, 2, parent=1)]
    self.path.write_bytes(Document({'service.name': 'shop'}, scope=spans).bytes())
    other = self.path.with_name('other.otlp')
    other.write_bytes(Document({'service.name': 'bank'}, scope=[
        Span('call', 20, 25, 3, parent=2)]).bytes())
    trace = self.path.with_name('all.pftrace')

    def export(*arguments, code=0):
      result = subprocess.run([PZTRACE, 'export', '--format', 'perfetto', *arguments],
                              capture_output=True, text=True, check=False)
      self.assertEqual(result.returncode, code, result.stderr)
      return result.stderr

    self.assertEqual(export('-o', trace, self.path, other), '')
    rows = self.rows(trace.read_bytes())
    self.assertEqual([(row['process'], row['name'], row['dur']) for row in rows],
                     [('bank', 'call', '5'), ('shop', 'inner', '20'), ('shop', 'outer', '100')])
    self.assertEqual(json.loads(rows[2]['args'])['a'], 1)
    self.path.write_bytes(b'')
    for arguments, expected in (((), 'needs -o'), (('-o', trace, '--slices'), 'no option'),
                                (('-o', trace, '--unfinished'), 'no option'),
                                (('-o', trace, '--endpoint', 'http://x'), '--format otlp')):
      self.assertIn(expected, export(*arguments, self.path, code=2))

  def test_a_trace_is_still_one(self):
    """Packets whose first field looks like a message."""
    packet = wire.integer(8, 5) + wire.integer(10, 1) + wire.delimited(
        11, wire.integer(9, 3) + wire.delimited(23, b'name'))
    self.assertEqual([row['name'] for row in self.rows(wire.delimited(1, packet),
                                                       '--instants')], ['name'])

  def test_broken_files(self):
    whole = forms([Document({'service.name': 'shop'}, scope=[
        Span('span %d' % i, i, i + 5, i + 1) for i in range(50)])])
    for form in 'varints', 'four bytes', 'one message':
      with self.subTest(form):
        _, errors = self.run_command(whole[form][:-30], '--slices', code=1)
        self.assertIn('truncated', errors)
    lines = whole['lines'] + b'{"resourceSpans": [\n' + whole['lines']
    rows = self.rows(lines, code=1)
    self.assertIn('line 2 is not JSON', self.errors)
    self.assertEqual(len(rows), 100)

  def test_a_large_message(self):
    """The varint of its size has four bytes, as the other form has."""
    documents = [Document({'service.name': 'shop'}, scope=[Span('large', 0, 5, 1)],
                          **{'x' * (3 << 20): []}),
                 Document({'service.name': 'shop'}, scope=[Span('small', 0, 5, 2)])]
    for form, content in forms(documents).items():
      with self.subTest(form):
        self.assertEqual(sorted(row['name'] for row in self.rows(content)), ['large', 'small'])

  def test_attributes_of_a_resource_are_labels(self):
    resource = {'service.name': 'shop', 'process.command_args': ['shop', '-v'], 'half': 0.5,
                'yes': True, 'map': {'a': 1, 'b': []}}
    self.path.write_bytes(Document(resource, scope=[Span('span', 0, 5, 1)]).bytes())
    result = subprocess.run([PZTRACE, 'cat', self.path], capture_output=True, text=True,
                            check=True)
    for label in ('service.name=shop', 'process.command_args=["shop","-v"]', 'half=0.5', 'yes=true',
                  'map={"a":1,"b":[]}'):
      self.assertIn('process_labels: %s' % json.dumps(label), result.stdout)

  def test_the_first_record_may_come_late(self):
    """Documents, resources and scopes without a span are before it."""
    spans = Document({'service.name': 'shop'}, scope=[Span('span', 0, 5, 1)])
    nothing = Document({'service.name': 'idle'}, scope=[])
    for form, content in forms([nothing, nothing, spans]).items():
      with self.subTest(form):
        self.assertEqual([row['name'] for row in self.rows(content)], ['span'])
    for content in (wire.delimited(1, b'') + spans.bytes(),
                    bytes(8) + len(spans.bytes()).to_bytes(4, 'big') + spans.bytes(),
                    b'\xef\xbb\xbf' + json.dumps(spans.json()).encode()):
      self.assertEqual([row['name'] for row in self.rows(content)], ['span'])
    # Neither does it have ids.
    record = wire.delimited(5, b'no ids') + wire.fixed64(7, BEGIN) + wire.fixed64(8, BEGIN + 3)
    rows = self.rows(wire.delimited(1, wire.delimited(2, wire.delimited(2, record))))
    self.assertEqual([(row['name'], row['dur']) for row in rows], [('no ids', '3')])

  def test_what_looks_like_spans(self):
    # A trace that begins with the names of threads, of as many bytes as an id.
    thread = wire.integer(1, 101) + wire.delimited(2, b'8 bytes!') + wire.integer(3, 100)
    names = wire.delimited(1, wire.delimited(2, wire.delimited(2, thread)))
    self.assertEqual(self.rows(names), [])
    # Metrics, whose names have as many bytes as ids, too.
    point = wire.delimited(1, wire.fixed64(3, BEGIN))
    for metric in (wire.delimited(7, point), wire.delimited(5, point), wire.delimited(9, point)):
      metric = wire.delimited(1, b'process.cpu.time') + wire.delimited(2, b'CPU time') + metric
      content = wire.delimited(1, wire.delimited(2, wire.delimited(2, metric)))
      for some in (content, wire.varint(len(content)) + content,
                   b'{"resourceMetrics": []}\n'):
        self.rows(some, code=1)
        self.assertIn('has metrics of OpenTelemetry', self.errors)

  def test_json_of_libraries_of_protobuf(self):
    """Ids in Base64, names of enumerations, and numbers in any form of JSON."""
    spans = [Span('outer', 0, 10000, 1, kind=2), Span('inner', 10, 30, 2, parent=1, status=2)]
    document = json.dumps(Document({}, scope=spans).json())
    for digits in '%032x' % 1, '%016X' % 1, '%016x' % 1, '%016X' % 2:
      document = document.replace('"%s"' % digits, '"%s"' % base64.b64encode(
          bytes.fromhex(digits)).decode())
    document = document.replace('"kind": 2', '"kind": "SPAN_KIND_SERVER"')
    document = document.replace('"code": 2', '"code": "STATUS_CODE_ERROR"')
    document = document.replace(str(BEGIN + 10000), '1.70000000000001E18')
    document = document.replace('"attributes": []', '"attributes": null')
    rows = {row['name']: row for row in self.rows(document.encode())}
    self.assertEqual(self.errors, '')
    outer, inner = (json.loads(rows[name]['args']) for name in ('outer', 'inner'))
    self.assertEqual((outer['otel.trace_id'], outer['otel.span_id'], outer['otel.kind']),
                     ('%032x' % 1, '%016x' % 1, 'server'))
    self.assertEqual((inner['otel.parent_span_id'], inner['otel.status'],
                      rows['inner']['depth']), ('%016x' % 1, 'error', '1'))
    # The nearest double.
    self.assertEqual(rows['outer']['dur'], str(int(1.70000000000001E18) - BEGIN))
    record = {'timeUnixNano': str(BEGIN), 'body': {'stringValue': 'text'},
              'severityNumber': 'SEVERITY_NUMBER_WARN3'}
    row, = self.rows(json.dumps({'resourceLogs': [{'scopeLogs': [
        {'logRecords': [record]}]}]}).encode(), '--instants')
    self.assertEqual(json.loads(row['args']), {'otel.severity': 15})

  def test_values_of_another_type(self):
    for wrong in [('"startTimeUnixNano": "%d"' % BEGIN, '"startTimeUnixNano": "now"'),
                  ('"startTimeUnixNano": "%d"' % BEGIN, '"startTimeUnixNano": 1.5'),
                  ('"startTimeUnixNano": "%d"' % BEGIN, '"startTimeUnixNano": 1e30'),
                  ('"kind": 2', '"kind": "server"'), ('"kind": 2', '"kind": true'),
                  ('"name": "span"', '"name": 7'), ('"traceId": "00', '"traceId": "0x'),
                  ('"traceId": "0', '"traceId": "'), ('{"intValue": "7"}', '{"intValue": ""}'),
                  ('{"doubleValue": 0.5}', '{"doubleValue": "half"}')]:
      with self.subTest(wrong):
        document = json.dumps(Document({}, scope=[
            Span('span', 0, 10, 1, kind=2, attributes={'a': 7, 'b': 0.5})]).json())
        self.assertIn(wrong[0], document)
        document = document.replace(*wrong, 1)
        field = wrong[1].split('"')[1]
        rows = self.rows((document + '\n' + document).encode(), code=1)
        self.assertEqual(len(rows), 2)
        self.assertIn('line 1: the value of %s is not of the type' % field, self.errors)

  def test_values_in_values(self):
    def document(depth):
      value = 7
      for _ in range(depth):
        value = [value]
      return Document({}, scope=[Span('span', 0, 5, 1, attributes={'deep': value})])
    for form, content in forms([document(20)]).items():
      with self.subTest(form):
        self.assertEqual(len(self.rows(content)), 1)
        self.assertEqual(self.errors, '')
    self.rows(forms([document(50)])['lines'], code=1)
    self.assertIn('line 1 is not JSON, or nests more than 128 levels', self.errors)

  def test_ends_before_beginnings(self):
    spans = [Span('a', 10, 5, 1), Span('b', 10, 20, 2), Span('c', 30, 0, 3)]
    for form, content in forms([Document({}, scope=spans)]).items():
      with self.subTest(form):
        rows = self.rows(content)
        self.assertEqual([row['dur'] for row in rows], ['0', '10', '0'])
        self.assertIn('2 spans without an end after the beginning', self.errors)

  def test_damaged_files(self):
    self.options = ('--slices',)
    documents = [Document({'service.name': 'shop'}, scope=random_spans(random.Random(3)))]
    for content in map(forms(documents).get, ('varints', 'lines')):
      for output in self.outputs_of_damaged(content):
        self.assertTrue(output == '' or output.startswith('host,'))

  def test_parents_in_a_circle(self):
    spans = [Span('a', 0, 10, 1, parent=3), Span('b', 0, 10, 2, parent=1),
             Span('c', 0, 10, 3, parent=2), Span('d', 0, 10, 4, parent=4)]
    self.assertEqual(len(self.rows(Document({}, scope=spans).bytes())), 4)

  def test_many_spans_at_once(self):
    spans = [Span('span', i, 1_000_000, i + 1, trace=i + 1) for i in range(20000)]
    self.assertEqual(len(self.rows(Document({}, scope=spans).bytes())), 20000)

  def test_many_links_of_a_span(self):
    link = wire.delimited(13, wire.delimited(1, (1).to_bytes(16, 'big')) +
                          wire.delimited(2, (2).to_bytes(8, 'big')))
    spans = Span('links', 0, 5, 1).bytes() + link * 100_000, Span('linked', 0, 5, 2).bytes()
    content = b''.join(wire.delimited(2, span) for span in spans)
    self.path.write_bytes(wire.delimited(1, wire.delimited(2, content)))
    result = subprocess.run([PZTRACE, 'top', self.path], capture_output=True, text=True,
                            check=True)
    self.assertIn('2 slices of 2 names', result.stdout)

  def test_memory(self):
    if re.search('is_[at]san *= *true', pathlib.Path('args.gn').read_text()):
      self.skipTest('sanitizers take memory')
    # One request after the other, of two programs.
    attributes = {'http.request.method': 'GET', 'http.response.status_code': 200,
                  'user.id': 'u12345'}
    times = (0, 90, 20, 80)
    request = b''.join(Document({'service.name': name}, http=[span]).bytes() for name, span in (
        ('front', Span('call', *times[:2], 1, kind=3, attributes=attributes)),
        ('shop', Span('answer', *times[2:], 2, 1, kind=2, attributes=attributes))))
    with open(self.path, 'wb') as file:
      for number in range(50_000):
        content = request.replace((1).to_bytes(16, 'big'), (number + 1).to_bytes(16, 'big'))
        for time in times:
          content = content.replace(wire.fixed64(7, BEGIN + time)[1:],
                                    wire.fixed64(7, BEGIN + time + 100 * number)[1:])
        file.write(wire.varint(len(content)) + content)
    for command, kilobytes in ('top', 60_000), ('tasks', 130_000):
      # That of a child of this process would be at least what this one takes.
      result = subprocess.run([sys.executable, '-S', '-c', MEASURE, PZTRACE, command, self.path],
                              capture_output=True, text=True, check=True)
      self.assertLess(int(result.stdout), kilobytes, command)


if __name__ == '__main__':
  sys.exit(cases.run_cases())
