#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Generated headers compile without warnings in each mode of the compilers.

Compilers, language standards, GNU extensions (which define macros like `linux`
and reserve `typeof`), and no exceptions and RTTI, over every header in the
folder of the generated headers of test/protos/plugin, each by itself and all
together. A module of C++20 includes them, too, and clang compiles all with
libc++, and beside `import std`, if tools/install-build-deps --libcxx was here.

  compile_matrix_test.py --gen DIR --protoc PROTOC --plugin PLUGIN
"""

import argparse
import functools
import json
import os
import pathlib
import re
import subprocess
import tempfile

import compilers

# Together, these refuse everything that other combinations of standard and
# extensions refuse.
MODES = [
    ['-std=c++17'],
    ['-std=gnu++20'],
    ['-std=c++17', '-fno-exceptions', '-fno-rtti'],
]

HEADERS = [
    'test/protos/plugin/%s.pbzero.h' % name for name in (
        'golden', 'golden_base', 'golden_import', 'golden_public', 'hostile',
        'hostile_global', 'no_wrapper', 'no_wrapper_import')
]

# A module that includes the library's headers and generated ones. The second
# blank is for its imports.
MODULE = '''\
module;
%s#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"
export module users;
%sexport namespace users {
using golden::main::pbzero::Everything;
inline std::string Encode(int number) {
  PROTOZERO_TRACE_EVENT("app", "encode", "number", number);
  protozero::HeapBuffered<Everything> message;
  return message.SerializeAsString();
}
}
'''

# A program that compilers look at with flags that some projects use, beyond those of
# compilers.WARNINGS, for code that they optimize: only that has null dereferences.
STRICT = ['-O2', '-Wold-style-cast', '-Wnull-dereference', '-Wdouble-promotion',
          '-Wsign-conversion', '-Wswitch-enum', '-Wundef', '-Wcast-align', '-Wcast-qual']
USE = '''
#include "protozero/append_fields.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/protos/plugin/golden.pbzero.h"
using golden::main::pbzero::Everything;
std::string Write(int32_t number);
std::string Write(int32_t number) {
  protozero::HeapBuffered<Everything> message;
  protozero::AppendFields(message.get(), Everything::kFieldInt32(number));
  return message.SerializeAsString();
}
int64_t Sum(std::string_view bytes);
int64_t Sum(std::string_view bytes) {
  const Everything::Decoder decoder(bytes);
  int64_t sum = 0;
  for (const int64_t value : decoder.packed_sint64())
    sum += value;
  for (const uint64_t value : decoder.packed_fixed64())
    sum += static_cast<int64_t>(value);
  return sum;
}
'''

# System headers first: names clash with their macros and functions.
SYSTEM_HEADERS = [
    'assert.h', 'ctype.h', 'errno.h', 'fcntl.h', 'float.h', 'inttypes.h',
    'limits.h', 'locale.h', 'math.h', 'pthread.h', 'sched.h', 'signal.h',
    'stdio.h', 'stdlib.h', 'string.h', 'sys/mman.h', 'sys/socket.h',
    'sys/stat.h', 'sys/sysmacros.h', 'sys/time.h', 'sys/types.h', 'sys/wait.h',
    'time.h', 'unistd.h', 'wchar.h'
]


def includes(headers, brackets='""'):
  return ''.join('#include %s%s%s\n' % (brackets[0], header, brackets[1])
                 for header in headers)


def optimized_errors(compiler, flags, text):
  """Returns what the compiler prints of code that it makes."""
  result = subprocess.run([compiler, *flags, '-S', '-o', '/dev/null', '-x', 'c++', '-'],
                          input=text, capture_output=True, text=True)
  return result.stderr or ('exit code %d' % result.returncode if result.returncode else '')


def short_macros():
  """#defines of what the library's macros are called, without their prefix."""
  folder = os.path.join(compilers.SOURCE_ROOT, 'include', 'protozero')
  names = set()
  for path in pathlib.Path(folder).rglob('*.h'):
    names.update(re.findall(r'^ *# *define PROTOZERO_(\w+)', path.read_text(),
                            re.M))
  assert 'HOT' in names
  # Nothing that they would compile with.
  return ''.join('#define %s @\n' % name for name in sorted(names))


def libcxx_flags(compiler):
  """The flags with which it takes libc++; None if there is none."""
  flags = ['-stdlib=libc++']
  errors = compilers.syntax_errors(compiler, flags, '#include <string>')
  return None if errors else flags


def precompile_std(compiler, folder):
  """The flags with which it imports std; None if it cannot."""
  modules = pathlib.Path(subprocess.run(
      [compiler, '-print-file-name=libc++.modules.json'],
      stdout=subprocess.PIPE, text=True, check=True).stdout.strip())
  if not modules.exists():
    return None
  source = next(module['source-path']
                for module in json.loads(modules.read_text())['modules']
                if module['logical-name'] == 'std')
  compiled = os.path.join(folder, 'std.pcm')
  subprocess.run([
      compiler, '-std=c++20', '-stdlib=libc++',
      '-Wno-reserved-module-identifier', '--precompile', '-o', compiled,
      modules.parent / source
  ], check=True)
  return ['-fmodule-file=std=' + compiled]


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--gen', required=True)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--plugin', required=True)
  args = parser.parse_args()
  counter = compilers.Counter()

  include_flags = [
      '-I' + args.gen, '-I' + os.path.join(compilers.SOURCE_ROOT, 'include')
  ] + compilers.WARNINGS
  everything = includes(SYSTEM_HEADERS, '<>') + includes(HEADERS)
  beside_macros = (includes(SYSTEM_HEADERS + ['limits', 'string'], '<>') +
                   short_macros() + includes(HEADERS))
  names = []
  jobs = []

  def add(name, compiler, flags, text):
    names.append('%s %s: %s' % (compiler, ' '.join(flags[:3]), name))
    jobs.append(
        functools.partial(compilers.syntax_errors, compiler, flags, text))

  with tempfile.TemporaryDirectory() as temp:
    # The extensions of descriptor.proto's messages exist where its header does.
    plugin = os.path.abspath(args.plugin)
    subprocess.run([
        os.path.abspath(args.protoc), '--plugin=protoc-gen-plugin=' + plugin,
        '--plugin_out=wrapper_namespace=pbzero:' + temp,
        'google/protobuf/descriptor.proto'
    ], check=True)
    use_option = includes(['test/protos/plugin/golden.pbzero.h']) + '''
using Option = golden::main::pbzero::
    test_protos_plugin_golden_extends_google_protobuf_FieldOptions;
void Write(Option* option);
void Write(Option* option) {
  option->set_unit("ms");
  option->set_deprecated(true);
}
'''
    for compiler in compilers.find_compilers():
      for mode in MODES:
        add('all headers', compiler, mode + include_flags, everything)
        add('beside macros of users', compiler, mode + include_flags,
            beside_macros)
      # gcc 12 compiles modules in part.
      if 'clang' in compiler:
        cpp20 = ['-std=c++20', '-I' + os.path.join(args.gen, 'include')]
        cpp20 += include_flags
        includes_all = MODULE % (includes(HEADERS), '%s')
        add('module', compiler, cpp20, includes_all % '')
        libcxx = libcxx_flags(compiler)
        if libcxx is None:
          print('skipped: there is no libc++')
        else:
          for mode in MODES:
            add('all headers', compiler, libcxx + mode + include_flags,
                everything)
          std = precompile_std(compiler, temp)
          if std is not None:
            add('module that imports std', compiler, libcxx + cpp20 + std,
                includes_all % 'import std;\n')
      for header in HEADERS:
        add(header, compiler, MODES[0] + include_flags, includes([header]))
      strict = MODES[0] + STRICT + include_flags
      if compiler == 'g++':
        strict.append('-Wuseless-cast')
      names.append('%s: optimized, with more warnings' % compiler)
      jobs.append(functools.partial(optimized_errors, compiler, strict, USE))
      add('extension of an option', compiler,
          MODES[0] + include_flags + ['-I' + temp], use_option)

    for name, errors in zip(names, compilers.run_all(jobs)):
      counter.check(not errors, name, errors)
  counter.finish()


if __name__ == '__main__':
  main()
