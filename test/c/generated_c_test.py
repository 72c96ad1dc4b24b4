#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The plugin's C output for the schemas of test/protos.

Compares one header with test/c/golden, and compiles all of them as C99, as C11
and as C++ with gcc and clang, behind system headers that define macros of the
names in them, and several in one file. One more schema has a value of each name
that is taken in C, and comes behind all headers of ISO C. To accept changes of the golden file:

  generated_c_test.py --build-dir out/default --update
"""

import argparse
import difflib
import functools
import os
import subprocess
import tempfile

import compilers

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = 'test/protos/plugin/golden.proto'
PROTOS = ['test_msg.proto', 'test/protos/benchmark_messages.proto'] + [
    'test/protos/plugin/%s.proto' % name
    for name in ('golden', 'golden_base', 'golden_import', 'golden_public',
                 'hostile', 'hostile_global', 'macros', 'macros_import',
                 'no_wrapper', 'no_wrapper_import')]
# No generated name may be a macro of these.
SYSTEM = ''.join('#include <%s.h>\n' % name for name in (
    'assert', 'ctype', 'errno', 'fcntl', 'limits', 'math', 'pthread', 'signal',
    'stdio', 'stdlib', 'string', 'time', 'unistd', 'sys/mman', 'sys/stat',
    'sys/socket', 'netinet/in'))
# All of ISO C that both compilers have.
ISO_C = ''.join('#include <%s.h>\n' % name for name in (
    'complex', 'fenv', 'float', 'inttypes', 'iso646', 'locale', 'setjmp', 'stdalign',
    'stdarg', 'stdatomic', 'stdbool', 'stddef', 'stdint', 'stdnoreturn', 'tgmath',
    'threads', 'uchar', 'wchar', 'wctype')) + SYSTEM
C_COMPILERS = [(compiler, 'c', standard) for compiler in ('gcc', 'clang-19')
               for standard in ('c11', 'gnu17', 'gnu2x')]
COMPILERS = [('gcc', 'c', 'c99'), ('gcc', 'c', 'c11'), ('g++', 'c++', 'c++17'),
             ('clang-19', 'c', 'c99'), ('clang-19', 'c', 'c11'),
             ('clang++-19', 'c++', 'c++17')]
FLAGS = compilers.WARNINGS + ['-Wsign-conversion', '-Wcast-align',
                              '-D_GNU_SOURCE', '-O1', '-fsyntax-only',
                              '-I' + os.path.join(compilers.SOURCE_ROOT,
                                                  'include')]


def header_of(proto):
  return proto.replace('.proto', '.pbzero_c.h')


def names_of_c(counter):
  """A schema of one enum for each name: within one, case makes no difference."""
  names = compilers.tables_of_macros(counter)['kNamesOfC']
  assert len(names) > 1000
  return 'syntax = "proto2";\n' + ''.join(
      'enum ThisIsNumber%d { %s = 0; }\n' % row for row in enumerate(names)
      # These two begin something else in a schema.
      if row[1] not in ('option', 'reserved'))


def generate(counter, build_dir, out):
  with open(os.path.join(out, 'names_of_c.proto'), 'w') as file:
    file.write(names_of_c(counter))
  # One by one: they are not of one program.
  for proto in PROTOS + ['names_of_c.proto']:
    subprocess.run(
        [os.path.join(build_dir, 'protoc'), '-I' + compilers.SOURCE_ROOT, '-I' + out,
         '--plugin=protoc-gen-plugin=' + os.path.join(build_dir,
                                                      'protozero_plugin'),
         '--plugin_out=lang=c:' + out, proto], cwd=build_dir, check=True)


def check_golden(counter, out, update):
  golden = os.path.join(HERE, 'golden', os.path.basename(header_of(GOLDEN)))
  with open(os.path.join(out, header_of(GOLDEN))) as f:
    actual = f.read()
  if update:
    os.makedirs(os.path.dirname(golden), exist_ok=True)
    with open(golden, 'w') as f:
      f.write(actual)
  with open(golden) as f:
    expected = f.read()
  diff = ''.join(difflib.unified_diff(expected.splitlines(True),
                                      actual.splitlines(True)))
  counter.check(actual == expected, '%s (--update accepts it)' % golden, diff)


def compile_errors(compiler, language, standard, out, text):
  return subprocess.run(
      [compiler, '-x', language, '-std=' + standard, '-I' + out, *FLAGS, '-'],
      input=text + 'int main(void) { return 0; }\n', capture_output=True,
      text=True).stderr


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--build-dir', default='.')
  parser.add_argument('--update', action='store_true')
  args = parser.parse_args()
  counter = compilers.Counter()
  with tempfile.TemporaryDirectory() as out:
    generate(counter, os.path.abspath(args.build_dir), out)
    check_golden(counter, out, args.update)
    includes = ['#include "%s"\n' % header_of(proto) for proto in PROTOS]
    texts = includes + [SYSTEM + text for text in includes]
    texts.append(''.join(text for text in includes if 'golden' in text))
    jobs = [(compiler, out, text) for compiler in COMPILERS for text in texts]
    behind = ISO_C + '#include "%s"\n' % header_of('names_of_c.proto')
    jobs += [(compiler, out, behind) for compiler in C_COMPILERS]
    results = compilers.run_all([
        functools.partial(compile_errors, *compiler, folder, text)
        for compiler, folder, text in jobs])
    for (compiler, _, text), errors in zip(jobs, results):
      counter.check(not errors, '%s: %s' % (' '.join(compiler), text), errors)
  counter.finish()


if __name__ == '__main__':
  main()
