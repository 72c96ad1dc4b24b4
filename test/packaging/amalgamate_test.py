#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that what tools/amalgamate writes is the whole library, compiles without
a warning, and serves generated headers as they are.

  amalgamate_test.py --library obj/src/protozero/libprotozero.a [test...]

Runs in a build directory, which has protoc and protozero_plugin.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import compilers
from cases import load_tool, run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
amalgamate = load_tool('amalgamate')

BUILD = pathlib.Path.cwd()
PLUGIN = '--plugin=protoc-gen-plugin=%s' % (BUILD / 'protozero_plugin')
FLAGS = ['-std=c++17', '-fno-exceptions', '-fno-rtti', '-Wsign-conversion',
         *compilers.WARNINGS]
LIBRARY = None  # What GN built.

MAIN = '''
#include <stdio.h>

%s

int main() {
  uint8_t buffer[256];
  fwrite(buffer, 1, LogRequest(buffer, sizeof(buffer)), stdout);
}
'''

# Writes a packet to memory of its own, reads it back, and is a service.
TRACING_MAIN = '''
#include <stdio.h>
#include <stdint.h>

#include "protozero/tracing/in_place_endpoint.h"
#include "protozero/tracing/packet_reader.h"
#include "protozero/tracing/service_host.h"
#include "protozero/tracing/shared_memory_arbiter.h"
#include "protozero/tracing/trace_writer.h"
#include "protozero/tracing/tracing_service.h"

using namespace protozero;

alignas(4096) static uint8_t memory[65536];

int main() {
  InPlaceEndpoint endpoint(memory, sizeof(memory), 4096);
  SharedMemoryArbiter arbiter(memory, sizeof(memory), 4096, &endpoint);
  auto writer = arbiter.CreateTraceWriter(0);
  writer->NewTracePacket()->AppendString(1, "hello");
  writer->Flush();
  PacketReader reader(SharedMemoryABI(memory, sizeof(memory), 4096));
  PacketReader::Packet packet;
  if (reader.TryNext(&packet))
    fwrite(packet.bytes.data, 1, packet.bytes.size, stdout);
  TracingService service;
  ServiceHost host(&service, ServiceHost::Options());
}
'''


def run(*command, cwd=None, text=None):
  return subprocess.run(list(map(str, command)), cwd=cwd, input=text,
                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                        check=False)


def symbols(*objects):
  """The functions and objects that others link with."""
  out = subprocess.run(['nm', '--defined-only', '--extern-only', *objects],
                       check=True, capture_output=True, text=True).stdout
  return set(re.findall(r'^[0-9a-f]+ [TDRB] (.*)$', out, re.M))


class AmalgamationTest(unittest.TestCase):
  """The order of files, for any graph of #include."""

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name).resolve()

  def read(self, **files):
    """The first file, with those that it includes."""
    for name, text in files.items():
      (self.folder / (name + '.h')).write_text(
          '#ifndef {0}_H_\n#define {0}_H_\n{1}#endif\n'.format(name, text))
    result = amalgamate.Amalgamation([self.folder])
    result.add(self.folder / (next(iter(files)) + '.h'))
    return ''.join(result.text)

  def preprocessed(self, text, *flags):
    out = run('g++', '-E', '-P', '-x', 'c++', *flags, '-', text=text.encode())
    self.assertEqual(out.returncode, 0, out.stdout)
    return out.stdout.decode().split()

  def test_each_file_is_behind_those_it_includes(self):
    text = self.read(a='#include "b.h"\n#include "c.h"\nint a;\n',
                     b='#include "c.h"\nint b;\n', c='int c;\n')
    self.assertEqual(text.count('int c;'), 1)
    self.assertEqual(' '.join(self.preprocessed(text)),
                     'int c; int b; int a;')

  def test_include_under_a_condition(self):
    text = self.read(a='#if X\n#include "b.h"\n#endif\n#include "c.h"\nint a;\n',
                     b='int b;\n', c='#include "b.h"\nint c;\n')
    for flag in ('-DX=0', '-DX=1'):
      self.assertEqual(' '.join(self.preprocessed(text, flag)),
                       'int b; int c; int a;')

  def test_header_with_its_inline_code_at_its_end(self):
    text = self.read(a='int a;\n#include "b.h"\n',
                     b='#include "a.h"\nint b;\n')
    self.assertEqual(' '.join(self.preprocessed(text)), 'int a; int b;')

  def test_missing_file(self):
    with self.assertRaisesRegex(amalgamate.Error, 'b.h, which is nowhere'):
      self.read(a='#include "b.h"\n')

  def test_tracing_needs_the_plugin(self):
    out = run(ROOT / 'tools/amalgamate', '--out', self.folder / 'out',
              '--tracing')
    self.assertEqual(out.returncode, 1)
    self.assertIn(b'--tracing needs --protoc and --plugin', out.stdout)


class TwoFilesTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.scratch = tempfile.TemporaryDirectory()
    cls.folder = pathlib.Path(cls.scratch.name) / 'a project'
    cls.must(ROOT / 'tools/amalgamate', '--out', cls.folder, '--tracing',
             '--protoc', BUILD / 'protoc', '--plugin',
             BUILD / 'protozero_plugin')
    cls.must(BUILD / 'protoc', '-I', ROOT, PLUGIN,
             '--plugin_opt=wrapper_namespace=pbzero',
             '--plugin_out=%s' % cls.folder, 'test_msg.proto')
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    example = re.search(r'<!-- compile: readme -->\n```cpp\n(.*?)```', readme,
                        re.S).group(1)
    (cls.folder / 'main.cc').write_text(MAIN % example)
    (cls.folder / 'tracing_main.cc').write_text(TRACING_MAIN)

  @classmethod
  def tearDownClass(cls):
    cls.scratch.cleanup()

  @classmethod
  def must(cls, *command, cwd=None):
    out = run(*command, cwd=cwd)
    if out.returncode:
      raise AssertionError('%s\n%s' % (command, out.stdout.decode()))
    return out.stdout

  def build_and_run(self, compiler, sources, *flags):
    warnings = ['-Wuseless-cast'] if compiler == 'g++' else []
    printed = self.must(compiler, *FLAGS, *warnings, *flags, *sources, '-o',
                        'main', cwd=self.folder)
    self.assertEqual(printed, b'')
    return self.must('./main', cwd=self.folder)

  def check_example(self, compiler, *flags):
    out = self.build_and_run(compiler, ['main.cc', 'protozero.cc'], *flags)
    text = subprocess.run(
        [BUILD / 'protoc', '-I', ROOT, '--decode=protozero.example.Request',
         'test_msg.proto'], input=out, check=True, capture_output=True).stdout
    self.assertEqual(text.decode().split(), [
        'start_ns:', '123456789', 'path:', '"/index.html"', 'peer', '{',
        'host:', '"2001:db8::1"', 'port:', '443', '}'])

  def test_example(self):
    for compiler in compilers.find_compilers():
      with self.subTest(compiler=compiler):
        self.check_example(compiler)

  def test_example_with_setters_in_place(self):
    self.check_example('g++', '-DPROTOZERO_INLINE_SETTERS=1')

  def test_macros_of_perfetto_are_not_in_the_one_header(self):
    (self.folder / 'perfetto.cc').write_text('''
#include "protozero/tracing/track_event.h"
#if defined(TRACE_EVENT)
#error "Perfetto's macros are in a header without them"
#endif
#include "protozero/tracing/perfetto_macros.h"
void F();
void F() { TRACE_EVENT("category", "slice"); }
''')
    self.must('g++', *FLAGS, '-fsyntax-only', 'perfetto.cc', cwd=self.folder)

  def test_tracing(self):
    sources = ['tracing_main.cc', 'protozero_tracing.cc', 'protozero.cc']
    for compiler, *flags in ((compilers.find_compilers()[0],),
                             ('g++', '-DPROTOZERO_INLINE_SETTERS=1')):
      with self.subTest(compiler=compiler):
        self.assertEqual(
            self.build_and_run(compiler, sources, '-pthread', *flags),
            b'\x0a\x05hello')

  def test_every_header_is_there(self):
    headers = sorted(path.relative_to(ROOT / 'include')
                     for path in (ROOT / 'include').rglob('*.h')
                     if 'otlp' not in path.parts)  # A library of its own.
    # And what is made of the schema of traces.
    headers = sorted([*headers, pathlib.Path('protozero/tracing/trace.pbzero.h')])
    self.assertEqual(headers, sorted(
        path.relative_to(self.folder)
        for path in (self.folder / 'protozero').rglob('*.h')))
    text = ''.join('#include "%s"\n' % path for path in headers)
    # The headers of the amalgamation, not of the tree.
    for compiler in compilers.find_compilers():
      self.assertEqual(compilers.syntax_errors(
          compiler, ['-I', str(self.folder), *FLAGS], text), '')

  def test_nothing_of_the_tree_is_included(self):
    own = {'protozero.h': [], 'protozero.cc': ['protozero.h'],
           'protozero_tracing.h': ['protozero.h'],
           'protozero_tracing.cc': ['protozero_tracing.h']}
    for name, included in own.items():
      text = (self.folder / name).read_text(encoding='utf-8')
      # Generated code asks for this one.
      self.assertEqual(
          [path for path in re.findall(r'^#include "(.*)"', text, re.M)
           if not path.startswith('google/')], included)

  def test_no_macro_is_left(self):
    macros = set()
    for line in run('g++', '-std=c++17', '-dM', '-E', 'protozero_tracing.h',
                    cwd=self.folder).stdout.decode().splitlines():
      macros.update(re.findall(r'^#define (PROTOZERO_\w+)', line))
    # Events and tasks are written with macros; and a generated header has its guard.
    macros = {macro for macro in macros if not macro.startswith(
        ('PROTOZERO_TRACE_', 'PROTOZERO_TASK_', 'PROTOZERO_INTERNAL_',
         'PROTOZERO_TRACING_TRACE_PBZERO_H_'))}
    self.assertEqual(macros, {
        'PROTOZERO_DCHECK_IS_ON', 'PROTOZERO_GENERATION',
        'PROTOZERO_INLINE_SETTERS', 'PROTOZERO_SHARED',
        'PROTOZERO_USE_BIT_DEPOSIT', 'PROTOZERO_VERSION'})

  def test_same_symbols_as_the_library(self):
    compiler = compilers.find_compilers()[0]
    self.must(compiler, '-std=c++17', '-c', 'protozero.cc', '-o', 'runtime.o',
              cwd=self.folder)
    self.assertEqual(symbols(self.folder / 'runtime.o'), symbols(LIBRARY))


if __name__ == '__main__':
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--library', required=True)
  arguments, rest = parser.parse_known_args()
  LIBRARY = arguments.library
  sys.exit(run_cases(rest))
