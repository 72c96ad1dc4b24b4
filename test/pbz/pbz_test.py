#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the program pbz on real files. Run in a build directory."""

import bz2
import gzip
import lzma
import os
import pathlib
import pty
import re
import resource
import subprocess
import sys
import tempfile
import unittest

from cases import run_cases, version
from wire import varint

ROOT = pathlib.Path(os.environ.get('PROTOZERO_SOURCE_ROOT', '.')).resolve()
BUILD_DIR = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PBZ = BUILD_DIR / 'pbz'
PROTOC = BUILD_DIR / 'protoc'
NINJA_TRACE = BUILD_DIR / 'ninja_trace'
TRACE_SCHEMA = 'include/protozero/tracing/trace.proto'
NINJA_LOG = ROOT / 'test' / 'examples' / 'sample.ninja_log'
DESCRIPTOR = 'google/protobuf/descriptor.proto'
DESCRIPTOR_DIR = pathlib.Path('/usr/include')


def run(*command, stdin=b'', **options):
  done = subprocess.run([str(word) for word in command], input=stdin,
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        check=False, **options)
  return done.returncode, done.stdout.decode(), done.stderr.decode()


def call(*command, stdin=b''):
  """The output of a program that must not fail."""
  code, output, error = run(*command, stdin=stdin)
  assert (code, error) == (0, ''), error
  return output


def is_sanitized():
  """Sanitizers need a lot of memory of their own."""
  return re.search('is_[at]san *= *true', (BUILD_DIR / 'args.gn').read_text())


def canonical(text):
  """Text format, such that all ways to write the same message are equal.

  Comments go away, lists are taken apart, strings are bytes again, and fields
  are sorted, but not those of one name among each other: protoc sorts by field
  number, pbz does not.
  """
  stack = [[]]
  for line in text.splitlines():
    line = line.strip()
    if not re.match(r'[^ :]*: "', line):
      line = re.sub(r'  # .*$', '', line)
    if line == '}':
      fields = tuple(sorted(stack.pop(), key=lambda field: field[0]))
      name = stack[-1].pop()
      stack[-1].append((name, fields))
    elif line.endswith(' {'):
      stack[-1].append(line[:-2])
      stack.append([])
    else:
      name, value = line.split(': ', 1)
      if value.startswith('['):
        stack[-1] += [(name, element)
                      for element in value[1:-1].split(', ') if element]
      elif value.startswith('"'):
        stack[-1].append((name, unescape(value)))
      else:
        stack[-1].append((name, value))
  assert len(stack) == 1
  return tuple(sorted(stack[0], key=lambda field: field[0]))


ESCAPES = {b'n': b'\n', b'r': b'\r', b't': b'\t'}


def unescape(quoted):
  assert quoted[-1] == '"'

  def replace(match):
    escaped = match[1]
    if escaped.isdigit():
      return bytes([int(escaped, 8)])
    return ESCAPES.get(escaped, escaped)
  return re.sub(rb'\\([0-7]{3}|.)', replace, quoted[1:-1].encode())


class Scratch(unittest.TestCase):

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.scratch = pathlib.Path(scratch.name)

  def file(self, name, content):
    path = self.scratch / name
    path.write_bytes(content)
    return path

  def descriptor_set(self, import_dir, *protos):
    path = self.scratch / 'schema.ds'
    call(PROTOC, '-I', import_dir, '--include_imports',
         '--descriptor_set_out=%s' % path, *protos)
    return path

  def trace(self):
    path = self.scratch / 'build.pftrace'
    call(NINJA_TRACE, '--all', '-o', path, NINJA_LOG)
    return path


class DecodeTest(Scratch):

  def check(self, import_dir, proto, message, path, has_unknown=False):
    """Compares with protoc, which also reads back what pbz writes."""
    content = path.read_bytes()
    schema = self.descriptor_set(import_dir, proto)
    expected = call(PROTOC, '-I', import_dir, '--decode=' + message, proto,
                    stdin=content)
    text = call(PBZ, 'decode', '--schema', schema, '--type', message, path)
    self.assertEqual(canonical(text), canonical(expected))
    if has_unknown:
      return  # Text format cannot express unknown fields.
    encoded = subprocess.run(
        [PROTOC, '-I', import_dir, '--encode=' + message, proto],
        input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
    again = call(PROTOC, '-I', import_dir, '--decode=' + message, proto,
                 stdin=encoded)
    self.assertEqual(again, expected)

  def test_trace(self):
    self.check(ROOT, TRACE_SCHEMA, 'perfetto.protos.Trace', self.trace())

  def test_trace_of_this_build(self):
    if not (BUILD_DIR / '.ninja_log').exists():
      self.skipTest('not in a build directory')
    path = self.scratch / 'build.pftrace'
    call(NINJA_TRACE, '--all', '-o', path, BUILD_DIR)
    self.check(ROOT, TRACE_SCHEMA, 'perfetto.protos.Trace', path)

  def test_descriptor_sets(self):
    protos = sorted(str(path.relative_to(DESCRIPTOR_DIR)) for path in
                    (DESCRIPTOR_DIR / 'google' / 'protobuf').rglob('*.proto'))
    self.assertIn(DESCRIPTOR, protos)
    path = self.scratch / 'all.ds'
    call(PROTOC, '-I', DESCRIPTOR_DIR, '--include_source_info',
         '--descriptor_set_out=%s' % path, *protos)
    self.check(DESCRIPTOR_DIR, DESCRIPTOR, 'google.protobuf.FileDescriptorSet',
               path)

  def test_corpus(self):
    corpus = (ROOT / 'third_party' / 'corpus' / 'node_modules' /
              'google-proto-files')
    if not corpus.is_dir():
      self.skipTest('tools/install-build-deps --corpus gets it')
    # Every one that stands on its own feet; as one set.
    protos = sorted(str(path.relative_to(corpus)) for path in
                    (corpus / 'google' / 'api').glob('*.proto'))
    path = self.scratch / 'corpus.ds'
    call(PROTOC, '-I', corpus, '--include_imports',
         '--descriptor_set_out=%s' % path, *protos)
    # Their options are unknown fields.
    self.check(DESCRIPTOR_DIR, DESCRIPTOR, 'google.protobuf.FileDescriptorSet',
               path, has_unknown=True)

  def test_raw_trace(self):
    path = self.trace()
    text = canonical(call(PBZ, 'decode', path))
    expected = canonical(call(PROTOC, '--decode_raw', stdin=path.read_bytes()))
    misread = []

    def compare(ours, theirs):
      # To protoc, all that parses as a message is one: "mtime", too.
      if isinstance(ours, bytes) and isinstance(theirs, tuple):
        misread.append(ours)
      elif isinstance(ours, tuple) and isinstance(theirs, tuple):
        self.assertEqual([name for name, _ in ours],
                         [name for name, _ in theirs])
        for (_, our_value), (_, their_value) in zip(ours, theirs):
          compare(our_value, their_value)
      else:
        self.assertEqual(ours, theirs)
    compare(text, expected)
    for string in misread:
      self.assertRegex(string, rb'^[ -~]+$')

  def test_large_file_in_little_memory(self):
    # Traces in a row are a trace.
    content = self.trace().read_bytes()
    path = self.scratch / 'large'
    sanitized = is_sanitized()
    with open(path, 'wb') as file:
      while file.tell() < (1 if sanitized else 40) << 20:
        file.write(10 * content)

    def limit():
      if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (32 << 20, 32 << 20))
    for command in 'stats', 'decode':
      done = subprocess.run([PBZ, command, path], stdout=subprocess.PIPE,
                            preexec_fn=limit, check=True)
      if command == 'stats':
        self.assertEqual(int(done.stdout.splitlines()[-1].split()[0]),
                         path.stat().st_size)

  def test_out_of_memory(self):
    if is_sanitized():
      self.skipTest('no limit holds')
    limit = 64 << 20
    # A field that is longer than that, of zeros.
    size = 4 * limit
    field = self.scratch / 'field'
    field.write_bytes(b'\x0a' + varint(size))
    os.truncate(field, field.stat().st_size + size)
    schema = self.descriptor_set(ROOT, TRACE_SCHEMA)
    packets = ('--schema=%s' % schema, '--type=Trace', '--rows=packet')
    for arguments in (('decode', field), ('stats', field),
                      ('decode', '--schema=auto', field),
                      ('export', '--envelope', field),
                      ('export', '--format', 'csv', *packets, field),
                      ('export', '--format', 'ndjson', *packets, field)):
      with self.subTest(arguments=arguments):
        done = subprocess.run(
            [PBZ, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            check=False, preexec_fn=lambda: resource.setrlimit(
                resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((done.returncode, done.stderr),
                         (1, b'pbz: out of memory\n'))

  def test_standard_input(self):
    content = self.trace().read_bytes()
    self.assertEqual(call(PBZ, 'decode', '-', stdin=content),
                     call(PBZ, 'decode', self.trace()))


class StatsTest(Scratch):

  def table(self, *arguments):
    header, *lines = call(PBZ, 'stats', *arguments).splitlines()
    self.assertEqual(' '.join(header.split()),
                     'bytes percent overhead with inner count path')
    rows = [line.split(None, 5) for line in lines]
    return rows[:-1], rows[-1]

  def test_trace(self):
    path = self.trace()
    schema = self.descriptor_set(ROOT, TRACE_SCHEMA)
    rows, total = self.table('--schema=%s' % schema, '--type=Trace', path)
    self.assertEqual(int(total[0]), path.stat().st_size)
    self.assertEqual(sum(int(row[0]) for row in rows), path.stat().st_size)
    sizes = [int(row[0]) for row in rows]
    self.assertEqual(sizes, sorted(sizes, reverse=True))
    # Counted by protoc.
    text = call(PROTOC, '-I', ROOT, '--decode=perfetto.protos.Trace',
                TRACE_SCHEMA, stdin=path.read_bytes())
    counts = {row[5]: int(row[4]) for row in rows}
    self.assertEqual(counts['packet'], text.count('packet {'))
    self.assertEqual(counts['packet.timestamp'], text.count('  timestamp: '))

  def test_malformed_files_sum_up_too(self):
    content = b'\x08\x01' + b'\x00' + 1000000 * b'x'
    code, output, error = run(PBZ, 'stats', '-', stdin=content)
    self.assertEqual(code, 1)
    self.assertIn('<stdin>: malformed at offset 2: ', error)
    self.assertEqual(output.splitlines()[-1].split()[0], str(len(content)))


class CommandLineTest(Scratch):

  def test_help(self):
    for flag in '--help', '-h':
      output = call(PBZ, flag)
      self.assertTrue(output.startswith('Usage: pbz [decode] '))
      self.assertLessEqual(max(map(len, output.splitlines())), 80)
    self.assertEqual(call(PBZ, 'decode', '--help'), call(PBZ, '--help'))
    output = call(PBZ, 'stats', '--help')
    self.assertTrue(output.startswith('Usage: pbz stats '))
    self.assertNotIn('--offsets', output)

  def test_version(self):
    self.assertEqual(call(PBZ, '--version'), 'pbz %s\n' % version())

  def test_wrong_usage(self):
    for arguments, reason in [
        ([], 'FILE is missing'),
        (['decode'], 'FILE is missing'),
        (['decode', 'a', 'b'], "'b' is one argument too many"),
        (['a', 'stats'], "'stats' is one argument too many"),
        (['a', 'b\033[31m'],
         "'b\\033[31m' is one argument too many"),
        (['decode', '--nonsense', 'a'], "unknown option '--nonsense'"),
        (['decode', 'a', '--type'], '--type needs a value'),
        (['decode', 'a', '--type='], '--type needs a value'),
        (['decode', 'a', '--type=x'],
         '--type needs --schema, which has the type'),
        (['a', '-I.'], '-I needs --schema, a .proto with imports'),
        (['a', '-I'], '-I needs a value'),
        (['-', '--schema', '-'],
         'the standard input is either the schema or the file'),
        (['decode', 'a', '--color=x'], '--color is auto, always or never'),
        (['decode', '--delimited=1', 'a'], '--delimited takes no value'),
        (['--', '--type', 'a'], "'a' is one argument too many"),
    ]:
      self.assertEqual(run(PBZ, *arguments),
                       (2, '', 'pbz: %s\nTry pbz --help.\n' % reason))
    self.assertEqual(run(PBZ, 'stats', 'a', '--offsets'),
                     (2, '', "pbz: unknown option '--offsets'\n"
                      'Try pbz stats --help.\n'))

  def test_types_that_are_not_there(self):
    schema = self.descriptor_set(DESCRIPTOR_DIR, DESCRIPTOR)
    path = self.file('a', b'')
    code, _, error = run(PBZ, 'decode', '--schema', schema, '--type', 'X', path)
    self.assertEqual((code, error), (
        2, "pbz: the schema has no message 'X'; it has "
        'google.protobuf.FileDescriptorSet, '
        'google.protobuf.GeneratedCodeInfo\n'))
    code, _, error = run(PBZ, 'decode', '--schema', path, '--type', 'X', path)
    self.assertEqual(code, 1)
    self.assertEqual(error, 'pbz: %s: not a descriptor set: it has no messages;'
                     ' make one with protoc --include_imports '
                     '--descriptor_set_out=SET X.proto\n' % path)

  def test_missing_imports_are_said(self):
    schema = self.scratch / 'schema.ds'
    (self.scratch / 'a.proto').write_text(
        'syntax = "proto3"; import "google/protobuf/any.proto";\n'
        'message A { google.protobuf.Any any = 1; }')
    call(PROTOC, '-I', self.scratch, '--descriptor_set_out=%s' % schema,
         'a.proto')
    code, output, error = run(PBZ, 'decode', '--schema', schema, '--type=A',
                              '-', stdin=b'\x0a\x02\x08\x01')
    self.assertEqual((code, output), (0, 'any {\n  1: 1\n}\n'))
    self.assertIn('lacks 1 type (google.protobuf.Any)', error)

  def test_files_that_cannot_be_read(self):
    for path, reason in [(self.scratch / 'missing',
                          'No such file or directory'),
                         (self.scratch, 'Is a directory')]:
      self.assertEqual(run(PBZ, 'decode', path),
                       (1, '', 'pbz: %s: %s\n' % (path, reason)))

  def test_output_that_cannot_be_written(self):
    path = self.file('a', b'\x08\x01')
    with open('/dev/full', 'w', encoding='utf-8') as full:
      done = subprocess.run([PBZ, 'decode', path], stdout=full,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stderr,
                     b'pbz: <stdout>: No space left on device\n')

  def test_malformed_input(self):
    path = self.file('a', b'\x08\x01\x12\x05ab')
    code, output, error = run(PBZ, 'decode', path)
    self.assertEqual(code, 1)
    self.assertTrue(output.startswith('1: 1\n# malformed: '), output)
    self.assertEqual(len(error.splitlines()), 1)
    self.assertRegex(error, r'^pbz: .*/a: malformed at offset 2: .*end')

  def test_a_lot_of_damage_is_reported_briefly(self):
    schema = self.descriptor_set(DESCRIPTOR_DIR, DESCRIPTOR)
    code, output, error = run(PBZ, 'decode', '--schema', schema,
                              '--type=FileDescriptorSet', '-',
                              stdin=1000 * b'\x0a\x01\x00')
    self.assertEqual(code, 1)
    self.assertEqual(output.count('# malformed: '), 1000)
    self.assertEqual(len(error.splitlines()), 6)
    self.assertTrue(error.endswith('pbz: <stdin>: 995 more\n'))

  def test_colors(self):
    path = self.file('a', b'\x08\x01')
    plain = '1: 1\n'
    self.assertEqual(call(PBZ, 'decode', path), plain)
    self.assertIn('\033[', call(PBZ, 'decode', '--color=always', path))
    self.assertIn('\033[', call(PBZ, 'stats', '--color', 'always', path))

    def on_terminal(*arguments, **variables):
      main, terminal = pty.openpty()
      env = {name: value for name, value in os.environ.items()
             if name not in ('NO_COLOR', 'TERM')}
      subprocess.run([PBZ, 'decode', *arguments, path], stdout=terminal,
                     env=dict(env, **variables), check=True)
      os.close(terminal)
      output = os.read(main, 1000).decode().replace('\r\n', '\n')
      os.close(main)
      return output
    self.assertIn('\033[', on_terminal(TERM='xterm'))
    self.assertEqual(on_terminal(TERM='dumb'), plain)
    self.assertEqual(on_terminal(TERM='xterm', NO_COLOR='1'), plain)
    self.assertIn('\033[', on_terminal(TERM='xterm', NO_COLOR=''))
    self.assertEqual(on_terminal('--color=never', TERM='xterm'), plain)


class InputTest(Scratch):
  """Files that are not what one might think."""

  def test_decode_is_what_is_meant(self):
    path = self.file('a', b'\x08\x01')
    self.assertEqual(call(PBZ, path), '1: 1\n')
    self.assertEqual(call(PBZ, '-', stdin=b'\x08\x01'), '1: 1\n')
    for name in 'stats', 'decode':
      self.file(name, b'\x08\x01')
      code, output, _ = run(PBZ, '--', name, cwd=self.scratch)
      self.assertEqual((code, output), (0, '1: 1\n'))
    self.assertEqual(run(PBZ, 'print'), (
        1, '', 'pbz: print: No such file or directory\n'
        'pbz: it is not a command, either: these are decode, export and stats\n'))
    for word, meant in ('dcode', 'decode'), ('exprot', 'export'), ('stat', 'stats'):
      for words in [word], [word, path]:
        self.assertEqual(run(PBZ, *words), (
            2, '', "pbz: unknown command '%s'; did you mean '%s'?\nTry pbz --help.\n" %
            (word, meant)))
    for words in [], ['stats'], ['export']:
      self.assertEqual(run(PBZ, 'help', *words), run(PBZ, *words, '--help'))
    self.assertEqual(run(PBZ, 'no.pb'), (
        1, '', 'pbz: no.pb: No such file or directory\n'))

  def test_compressed_files(self):
    content = 100 * b'\x08\x01'
    for name, bytes_ in [
        ('gzip', gzip.compress(content)), ('xz', lzma.compress(content)),
        ('bzip2', bz2.compress(content)),
        # The beginnings of files of `zstd` and `lz4`.
        ('zstd', bytes.fromhex('28b52ffd04584d000008010801') + 30 * b'\xff'),
        ('lz4', bytes.fromhex('04224d186440a7')),
    ]:
      path = self.file("it's " + name, bytes_)
      for command in 'decode', 'stats':
        self.assertEqual(run(PBZ, command, path), (
            1, '', "pbz: %s is compressed; try %s -dc '%s' | pbz ... -\n" %
            (path, name, str(path).replace("'", "'\\''"))))
      self.assertEqual(run(PBZ, '-', stdin=bytes_), (
          1, '', 'pbz: <stdin> is compressed; pipe it through %s -dc\n' % name))
      code, _, error = run(PBZ, '--schema', path, '-')
      self.assertEqual((code, error), (
          1, 'pbz: %s: is compressed; unpack it with %s -d first\n' %
          (path, name)))
    # Bytes that a message may begin with, too.
    self.assertEqual(call(PBZ, '-', stdin=bytes.fromhex('28b52ffd0101020304')),
                     '5: 6069\n31: 0x04030201\n')

  def test_text(self):
    path = self.file('a.proto', b'syntax = "proto3"; message M {}')
    code, _, error = run(PBZ, path)
    self.assertEqual(code, 1)
    self.assertTrue(error.endswith(
        'pbz: %s is text; protoc --encode makes a message of it\n' % path))

  def test_delimited(self):
    messages = [b'\x08\x01', b'', b'\x08\x02\x12\x01a']
    content = b''.join(bytes([len(m)]) + m for m in messages)
    path = self.file('a', content)
    text = '# message 1\n1: 1\n# message 2\n# message 3\n1: 2\n2: "a"\n'
    self.assertEqual(call(PBZ, '--delimited', path), text)
    self.assertEqual(
        call(PBZ, '--delimited', '--offsets', path),
        '          1          2  # message 1\n'
        '          1          2  1: 1\n'
        '          4          0  # message 2\n'
        '          5          5  # message 3\n'
        '          5          2  1: 2\n'
        '          7          3  2: "a"\n')
    table = call(PBZ, 'stats', '--delimited', path)
    self.assertEqual([line.split(None, 5) for line in table.splitlines()[1:]], [
        ['4', '40.00%', '2', '4', '2', '1'],
        ['3', '30.00%', '3', '3', '3', '(sizes of messages)'],
        ['3', '30.00%', '2', '3', '1', '2'],
        ['10', '100.00%', '7', '10', '6', 'all']])
    self.assertEqual(call(PBZ, '--delimited', '-'), '')

    # A trace of many blocks, with messages larger than one block.
    large = b'\x12\x80\x80\x40' + (1 << 20) * b'x'
    many = 100000 * content + b'\x84\x80\x40' + large
    output = call(PBZ, '--delimited', '-', stdin=many)
    self.assertEqual(output.count('# message'), 300001)
    self.assertEqual(len(output.splitlines()[-1]), 5 + (1 << 20))

  def test_delimited_files_are_recognised(self):
    message = b'\x08\x02\x12\x01a'
    for content in b'\x05' + message, 100000 * (b'\x05' + message):
      self.assertEqual(run(PBZ, '-', stdin=content), (
          1, '', 'pbz: <stdin> is a stream of messages, each after its size; '
          'try --delimited\n'))
    self.assertEqual(run(PBZ, '--delimited', '-', stdin=message), (
        1, '', 'pbz: <stdin> is one message, without its size; try without '
        '--delimited\n'))

  def test_delimited_files_are_damaged(self):
    for content, output, offset, reason in [
        (b'\x02\x08\x01\x05\x08\x02\x12', '1: 1\n', 3,
         'a message goes beyond the end of the input'),
        (b'\x02\x08\x01' + 11 * b'\xff', '1: 1\n', 3,
         'the size of a message is no varint'),
        (b'\x02\x08\x01' + b'\xff', '1: 1\n', 3,
         'the size of a message is no varint'),
        (b'\x02\x08\x01' + 8 * b'\xff' + b'\x01', '1: 1\n', 3,
         'the size of a message is above 2 GiB'),
        (b'\x02\x08\x01\x01\x00\x02\x08\x02', '1: 1\n', 4, ''),
    ]:
      code, got, error = run(PBZ, '--delimited', '-', stdin=content)
      self.assertEqual(code, 1)
      self.assertTrue(got.startswith('# message 1\n' + output), got)
      self.assertIn('malformed at offset %d: %s' % (offset, reason), error)
      # The bytes after it are read if their begin is known.
      self.assertEqual('1: 2' in got, b'\x08\x02' in content)
      _, table, _ = run(PBZ, 'stats', '--delimited', '-', stdin=content)
      self.assertEqual(int(table.splitlines()[-1].split()[0]), len(content))


class SchemaSourceTest(Scratch):
  """--schema with a .proto, and without --type."""

  def setUp(self):
    super().setUp()
    self.folder = self.scratch / 'schemas'
    self.folder.mkdir()
    (self.folder / 'b.proto').write_text(
        'syntax = "proto3"; package p; message B { int32 b = 1; }')
    (self.folder / 'a.proto').write_text(
        'syntax = "proto3"; package p; import "b.proto";\n'
        'message A { B b = 1; }')
    self.env = dict(os.environ, PATH='%s:/usr/bin' % BUILD_DIR)
    self.content = b'\x0a\x02\x08\x05'

  def decode(self, *arguments, **options):
    options.setdefault('env', self.env)
    return run(PBZ, *arguments, '-', stdin=self.content, **options)

  def test_protos_are_compiled(self):
    expected = 0, 'b {\n  b: 5\n}\n', ''
    self.assertEqual(self.decode('--schema', self.folder / 'a.proto'), expected)
    self.assertEqual(self.decode('--schema', 'a.proto', cwd=self.folder),
                     expected)
    self.assertEqual(self.decode('--schema', 'schemas/a.proto',
                                 cwd=self.scratch), expected)
    # Names that are options to protoc; any name, if it is text.
    for name in '-a.proto', '@a.proto', 'a.txt':
      (self.folder / name).write_bytes((self.folder / 'a.proto').read_bytes())
      self.assertEqual(self.decode('--schema=' + name, cwd=self.folder),
                       expected)

  def test_imports(self):
    inner = self.scratch / 'inner'
    inner.mkdir()
    (self.folder / 'a.proto').rename(inner / 'a.proto')
    for flags in [('-I', self.folder), ('-I%s' % self.folder,),
                  ('--proto_path=%s' % self.folder,),
                  ('-I', self.scratch, '-I', self.folder)]:
      self.assertEqual(
          self.decode('--schema', inner / 'a.proto', *flags),
          (0, 'b {\n  b: 5\n}\n', ''))
    # From the current directory.
    (inner / 'a.proto').write_text(
        'syntax = "proto3"; import "schemas/b.proto"; message A { p.B b = 1; }')
    self.assertEqual(
        self.decode('--schema', 'inner/a.proto', cwd=self.scratch),
        (0, 'b {\n  b: 5\n}\n', ''))

  def test_errors_are_those_of_protoc(self):
    (self.folder / 'b.proto').write_text('syntax = "proto3"; message {}')
    code, output, error = self.decode('--schema', self.folder / 'a.proto')
    self.assertEqual((code, output), (1, ''))
    self.assertRegex(error, r'(?s)b\.proto:1:\d+: .*pbz: .*/a\.proto: protoc '
                     'does not compile it; -I says where imports are\n$')
    path = self.folder / 'c.proto'
    path.write_text('edition = "2999"; message M {}')
    code, output, error = self.decode('--schema', path)
    self.assertEqual((code, output), (1, ''))
    self.assertTrue(error.endswith(
        '/c.proto: protoc does not compile it; editions need a protoc that '
        'knows them\n'), error)
    # A shell would make a file.
    path = self.folder / '$(touch made);.proto'
    path.write_text('import "\033[31m";')
    code, output, error = self.decode('--schema', path, cwd=self.scratch)
    self.assertEqual((code, output), (1, ''))
    self.assertNotIn('\033', error)
    self.assertFalse((self.scratch / 'made').exists())

  def test_no_protoc(self):
    path = self.folder / 'a.proto'
    code, output, error = self.decode('--schema', path,
                                      env={'PATH': str(self.scratch)})
    self.assertEqual((code, output), (1, ''))
    self.assertIn('%s: there is no protoc to compile it; install one' % path,
                  error)
    code, output, error = run(PBZ, '--schema', '-', path,
                              stdin=path.read_bytes())
    self.assertEqual((code, output), (1, ''))
    self.assertIn('<stdin>: a .proto has to be in a file', error)

  def test_type_of_the_file(self):
    path = self.folder / 'a.proto'
    path.write_text('syntax = "proto3"; package p; import "b.proto";\n'
                    'message A {} message C { B b = 1; }')
    schema = self.descriptor_set(self.folder, 'a.proto')
    for source in schema, path:
      self.assertEqual(
          self.decode('--schema', source),
          (2, '', 'pbz: the file may be one of several messages: '
           '--type p.A, --type p.C\n'))
    self.assertEqual(self.decode('--schema', schema, '--type', 'C')[1],
                     'b {\n  b: 5\n}\n')
    path.write_text('syntax = "proto3"; message A { C c = 1; }\n'
                    'message C { A a = 1; }')
    self.assertEqual(
        self.decode('--schema', path),
        (2, '', 'pbz: every message of the schema is in another one; give the '
         'type of the file, as --type NAME\n'))
    path.write_text('syntax = "proto3"; import "google/protobuf/descriptor.proto";'
                    '\nmessage M { string s = 1; }\n'
                    'extend google.protobuf.FieldOptions { M m = 50000; }\n'
                    'message R { M m = 1; }')
    self.content = b'\x0a\x03\x0a\x01a'
    self.assertEqual(self.decode('--schema', path),
                     (0, 'm {\n  s: "a"\n}\n', ''))


if __name__ == '__main__':
  sys.exit(run_cases())
