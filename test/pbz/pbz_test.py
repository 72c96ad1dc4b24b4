#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests of the program pbz on real files. Run in a build directory."""

import os
import pathlib
import pty
import re
import resource
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(os.environ.get('PROTOZERO_SOURCE_ROOT', '.')).resolve()
BUILD_DIR = pathlib.Path(os.environ.get('PROTOZERO_BUILD_DIR', '.')).resolve()
PBZ = BUILD_DIR / 'pbz'
PROTOC = BUILD_DIR / 'protoc'
NINJA_TRACE = BUILD_DIR / 'ninja_trace'
TRACE_SCHEMA = 'src/tracing/protos/perfetto_trace.proto'
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
      return  # Of which no text format can be read.
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
    # Sanitizers need a lot of memory of their own.
    sanitized = re.search('is_[at]san *= *true',
                          (BUILD_DIR / 'args.gn').read_text())
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
      self.assertTrue(output.startswith('Usage: pbz decode '))
      self.assertLessEqual(max(map(len, output.splitlines())), 80)
    self.assertEqual(call(PBZ, 'decode', '--help'), call(PBZ, '--help'))

  def test_version(self):
    # One place says it to users of CMake, too.
    cmake = (ROOT / 'CMakeLists.txt').read_text()
    version = re.search(r'project\(protozero VERSION (\S+)', cmake)[1]
    self.assertEqual(call(PBZ, '--version'), 'pbz %s\n' % version)

  def test_wrong_usage(self):
    for arguments, reason in [
        ([], 'decode or stats?'),
        (['print'], "unknown command 'print'"),
        (['decode'], 'which file?'),
        (['decode', 'a', 'b'], 'exactly one file is expected'),
        (['decode', '--nonsense', 'a'], "unknown option '--nonsense'"),
        (['decode', 'a', '--type'], '--type needs a value'),
        (['decode', 'a', '--type=x'], '--schema and --type go together'),
        (['decode', 'a', '--schema=x'], '--schema and --type go together'),
        (['decode', 'a', '--color=x'], '--color is auto, always or never'),
        (['stats', 'a', '--offsets'], '--offsets is for decode'),
    ]:
      self.assertEqual(run(PBZ, *arguments),
                       (2, '', 'pbz: %s\nTry pbz --help.\n' % reason))

  def test_types_that_are_not_there(self):
    schema = self.descriptor_set(DESCRIPTOR_DIR, DESCRIPTOR)
    path = self.file('a', b'')
    code, _, error = run(PBZ, 'decode', '--schema', schema, '--type', 'X', path)
    self.assertEqual((code, error), (2, "pbz: the schema has no message 'X'\n"))
    code, _, error = run(PBZ, 'decode', '--schema', path, '--type', 'X', path)
    self.assertEqual((code, error),
                     (1, 'pbz: %s: not a descriptor set: it has no messages\n' %
                      path))

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
    self.assertIn('lacks 1 types (google.protobuf.Any)', error)

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


def main():
  program = unittest.main(
      exit=False, testRunner=unittest.TextTestRunner(sys.stdout, verbosity=2))
  result = program.result
  failed = len(result.failures) + len(result.errors)
  passed = result.testsRun - failed - len(result.skipped)
  print('%d passed, %d failed' % (passed, failed))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
