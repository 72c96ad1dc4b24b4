#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pbz --schema auto` reads traces by the descriptions in them: as protoc does by
the schemas. Whatever is in a description, it is survived. Runs in the build
directory."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases
from extension_traces import (
    description_packet, is_description, packets_of, record,
    with_broken_descriptions)
from wire import delimited, integer, varint

ROOT = pathlib.Path(__file__).resolve().parents[2]
PBZ = pathlib.Path.cwd() / 'pbz'
PROTOC = pathlib.Path.cwd() / 'protoc'
EVENT = b'.perfetto.protos.TrackEvent'
NOT_READ = 'some descriptions of extensions are not read'


def file_of(*fields):
  """A description of one file."""
  return description_packet(delimited(1, b''.join(fields)))


def named(name):
  return delimited(1, name)


def field(name, number, type_number, *more):
  return (named(name) + integer(3, number) + integer(4, 1) +
          integer(5, type_number) + b''.join(more))


def extension(name, number, type_number, *more):
  return delimited(7, field(name, number, type_number, delimited(2, EVENT),
                            *more))


class SchemaAutoTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = pathlib.Path(folder.name) / 'trace'
    self.trace = record(self.path, '3')

  def pbz(self, *args, content=None, code=0, **options):
    if content is not None:
      self.path.write_bytes(content)
    result = subprocess.run([PBZ, *args], timeout=60, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False, **options)
    error = result.stderr.decode()
    self.assertNotIn('Sanitizer', error)
    self.assertEqual(result.returncode, code, error)
    return result.stdout.decode(), error

  def auto(self, content, code=0):
    return self.pbz('--schema', 'auto', self.path, content=content, code=code)

  def test_the_text_is_that_of_protoc(self):
    output, error = self.auto(self.trace)
    self.assertEqual(error, '')
    self.assertEqual(output.count('[test.QueryEvent.query]: "select 1"'), 3)
    schema = self.path.with_name('schema.ds')
    flags = '-I%s' % (ROOT / 'include'), '-I%s' % ROOT
    proto = 'test/pztrace/query.proto'
    subprocess.run([PROTOC, *flags, '--include_imports',
                    '--descriptor_set_out=%s' % schema, proto], check=True)
    self.assertEqual(
        self.pbz('--schema', schema, '--type', 'Trace', self.path)[0], output)
    expected = subprocess.run(
        [PROTOC, *flags, '--decode=perfetto.protos.Trace', proto],
        input=self.trace, stdout=subprocess.PIPE, check=True).stdout.decode()
    # protoc sorts the fields of a message.
    self.assertEqual(sorted(output.splitlines()), sorted(expected.splitlines()))

  def test_stats_has_names(self):
    output, error = self.pbz('stats', '--schema', 'auto', self.path)
    self.assertEqual(error, '')
    self.assertIn(' packet.track_event.[test.QueryEvent.plan].num_rows\n', output)
    self.assertEqual(int(output.splitlines()[-1].split()[0]), len(self.trace))

  def export(self, *args, **options):
    return self.pbz('export', '--format', 'ndjson', '--schema', 'auto', '--rows', 'packet',
                    '--columns', 'track_event', *args, **options)

  def test_export_has_names(self):
    # A field that only the second file describes, after its events.
    packets = list(packets_of(self.trace))
    first = self.path.with_name('first')
    first.write_bytes(b''.join(p for p in packets if not is_description(p)))
    self.path.write_bytes(b''.join(sorted(packets, key=is_description)))
    output, error = self.export(first, self.path)
    self.assertEqual(error, '')
    rows = [json.loads(line)['track_event'] or {} for line in output.splitlines()]
    self.assertEqual(len(rows), 2 * len(packets) - 1)
    queries = [row['[test.QueryEvent.query]'] for row in rows
               if '[test.QueryEvent.query]' in row]
    self.assertEqual(queries, ['select 1'] * 6)
    for path, stdin, expected in (
        ('-', subprocess.PIPE, '<stdin>: --schema auto reads traces twice'),
        (__file__, None, 'is not a trace')):
      _, error = self.export(path, stdin=stdin, code=1)
      self.assertIn(expected, error)
    for args in ('--type', 'Trace'), ('-I', '.'), ('--from-delimited',):
      _, error = self.export(*args, self.path, code=2)
      self.assertIn('--schema auto is for traces', error)

  def test_pipes_are_read_once(self):
    expected = self.pbz('--schema', 'auto', self.path)[0]
    with open(self.path, 'rb') as file:
      self.assertEqual(self.pbz('--schema=auto', '-', stdin=file)[0], expected)
    output = subprocess.run([PBZ, '--schema', 'auto', '-'], input=self.trace,
                            stdout=subprocess.PIPE, check=True).stdout
    self.assertEqual(output.decode(), expected)

  def test_descriptions_may_come_last(self):
    packets = list(packets_of(self.trace))
    packets.sort(key=is_description)
    # Farther away than what is read at once.
    packets[-1:-1] = [delimited(1, delimited(36, bytes(1000)))] * 1000
    self.assertIn('[test.QueryEvent.query]: ', self.auto(b''.join(packets))[0])

  def test_offsets_are_those_of_the_file(self):
    output, _ = self.pbz('--offsets', '--schema', 'auto', self.path)
    self.assertEqual(output.split()[:2], ['0', str(len(next(packets_of(self.trace))))])

  def test_other_files_are_refused(self):
    for content in [b'\x08\x01', b'\x0a\x03abc', b'\x0a\x02\x08\x01' * 100,
                    b'\x0a\x09\x41' + bytes(8), b'text\n']:
      output, error = self.auto(content, code=1)
      self.assertEqual(output, '')
      self.assertEqual(error, 'pbz: %s is not a trace, and has no descriptors of '
                       'its own; give --schema FILE\n' % self.path)
    self.assertEqual(self.auto(b''), ('', ''))
    # One packet, larger than what is looked at.
    large = delimited(1, delimited(36, bytes(1 << 20)) + integer(10, 1))
    self.assertIn('synchronization_marker', self.auto(large)[0])

  def test_damaged_traces_are_shown(self):
    packets = list(packets_of(self.trace))
    packets[1:1] = [b'\x0a\x02\x58\xff']
    output, error = self.auto(b''.join(packets)[:-1], code=1)
    self.assertEqual(output.count('# malformed'), 2)
    self.assertEqual(error.count('malformed at offset'), 2)
    self.assertIn('[test.QueryEvent.query]', output)

  def test_usage(self):
    for args in ('--type', 'Trace'), ('-I', '.'), ('--delimited',):
      _, error = self.pbz('--schema', 'auto', *args, self.path, code=2)
      self.assertIn('--schema auto is for traces', error)
    # A file of that name.
    error = self.pbz('--schema', './auto', self.path, code=1,
                     cwd=self.path.parent)[1]
    self.assertIn('./auto: No such file or directory', error)

  def test_conflicts_are_reported_and_lose(self):
    events = delimited(1, integer(10, 1) + delimited(11, integer(9, 1) + integer(
        9950, 7) + integer(9951, 1) + integer(9960, 5)))
    enum = delimited(5, named(b'E') + delimited(2, named(b'GOOD') + integer(2, 1)))
    evil_enum = delimited(
        5, named(b'E') + delimited(2, named(b'EVIL') + integer(2, 1)))
    of_enum = delimited(6, b'.E')
    good = file_of(extension(b'count', 9950, 5),
                   extension(b'kind', 9951, 14, of_enum), enum)
    same = file_of(extension(b'more', 9952, 5), extension(b'count', 9950, 5), enum)
    output, error = self.auto(good + same + events)
    self.assertEqual(error, '')
    self.assertIn('[count]: 7\n    [kind]: GOOD\n    9960: 5', output)
    in_event = delimited(2, b'perfetto.protos')
    for evil, name in [
        (file_of(extension(b'evil', 9950, 5)), 'evil'),
        (file_of(extension(b'count', 9950, 3)), 'count'),
        (file_of(extension(b'count', 9960, 5)), 'count'),
        (file_of(extension(b'evil', 9, 5)), 'evil'),
        (file_of(evil_enum), 'E.EVIL'),
        (file_of(in_event, delimited(4, named(b'TrackEvent') + delimited(
            2, field(b'evil', 9, 5)))), 'perfetto.protos.TrackEvent.evil'),
        (file_of(in_event, delimited(4, named(b'TrackEvent') + delimited(
            2, field(b'type', 9960, 5)))), 'perfetto.protos.TrackEvent.type')]:
      got, error = self.auto(good + evil + events)
      self.assertIn('pbz: %s: 1 field or value is described again, differently '
                    '(%s); the first description counts\n' % (self.path, name),
                    error)
      self.assertEqual(got[got.index('track_event'):],
                       output[output.index('track_event'):])

  def test_an_extension_may_describe_what_the_schema_has(self):
    event = delimited(1, integer(10, 1) + delimited(11, delimited(23, b'x')))
    package = delimited(2, b'perfetto.protos')
    output, error = self.auto(file_of(package, extension(b'name', 23, 9)) + event)
    self.assertEqual(error, '')
    self.assertIn('  name: "x"', output)
    _, error = self.auto(file_of(package, extension(b'name', 23, 12)) + event)
    self.assertIn('described again, differently (perfetto.protos.name)', error)

  def test_fields_of_a_newer_schema_are_added(self):
    newer = file_of(delimited(2, b'perfetto.protos'),
                    delimited(4, named(b'TrackEvent') + delimited(
                        2, field(b'newest', 5000, 9))))
    event = delimited(1, integer(10, 1) + delimited(11, delimited(5000, b'x')))
    output, error = self.auto(newer + event)
    self.assertEqual(error, '')
    self.assertIn('newest: "x"', output)

  def test_hostile_descriptions(self):
    def nested(depth):
      content = named(b'M')
      for _ in range(depth):
        content = named(b'M') + delimited(3, content)
      return delimited(4, content)

    def many(content):
      return b''.join(content(varint(0x20000 + i).translate(
          bytes(b'abcdefghijklmnopqrstuvwxyz'[j % 26] for j in range(256))))
                      for i in range(40000))
    m = delimited(6, b'.M')
    cases = {
        # Files that import each other, and themselves.
        'cycle': (description_packet(
            delimited(1, named(b'a') + delimited(3, b'b') + delimited(3, b'a')) +
            delimited(1, named(b'b') + delimited(3, b'a'))), ''),
        'message in itself': (
            file_of(delimited(4, named(b'M') + delimited(2, field(
                b'm', 1, 11, m)) + delimited(2, field(b'n', 2, 10, m))),
                    extension(b'm', 9950, 11, m)), ''),
        'too deep': (file_of(nested(5000)), ' malformed'),
        'names': (file_of(delimited(4, named(b'A' * 500000) + many(
            lambda name: delimited(3, named(name))))), ' malformed'),
        'fields': (file_of(delimited(4, named(b'M') + many(
            lambda name: delimited(2, named(name))))), 'are described again'),
        'messages': (file_of(many(lambda name: delimited(4, named(name)))), ''),
        'too large': (file_of(delimited(4, named(b'M' * (1 << 20)))), NOT_READ),
        'too many': (b''.join(file_of(named(b'%d' % i)) for i in range(100)),
                     NOT_READ),
        'size': (b'\x0a\x08' + b'\xc2\x04\x05\x0a\xff\xff\xff\x0f', 'malformed'),
        'long name': (file_of(extension(b'x' * 600, 9900, 9)), ' malformed'),
        'many conflicts': (file_of(b''.join(extension(b'x%d' % i, 9900, 9)
                                            for i in range(1000))),
                           ': 999 fields and values are described again, '
                           'differently (x1, ...)'),
        'no type': (file_of(extension(b'm', 9900, 11, delimited(6, b'.None'))), ''),
        'control': (file_of(extension(b'\x1b[31m', 9900, 9)), ''),
    }
    for name, (description, expected) in cases.items():
      with self.subTest(name):
        rest = b''.join(p for p in packets_of(self.trace) if not is_description(p))
        output, error = self.auto(description + rest, code=int(name == 'size'))
        self.assertIn(expected, error)
        self.assertEqual(not error, not expected)
        self.assertIn('track_event {', output)
        self.assertNotIn('\x1b', output + error)

  def test_any_description_is_survived(self):
    for trace in with_broken_descriptions(self.trace, 150):
      for command in (['decode'], ['stats'],
                      ['export', '--format', 'csv', '--rows', 'packet',
                       '--columns', 'track_event']):
        self.path.write_bytes(trace)
        result = subprocess.run(
            [PBZ, *command, '--schema', 'auto', self.path], timeout=60,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.assertNotIn(b'Sanitizer', result.stderr)


if __name__ == '__main__':
  sys.exit(run_cases())
