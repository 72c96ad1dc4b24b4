#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The headers of include/protozero/c, by C and C++ compilers.

Compiles all_functions.c as C99, as C11 and as C++, optimized or not, without a
warning, and expects the same output of all programs, which is that of the
documented format. The headers leave no macros, and no names but their own.

  c_compilers_test.py
"""

import functools
import os
import re
import subprocess
import tempfile

import compilers

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(compilers.SOURCE_ROOT, 'include')
HEADERS = ['protozero/c/pbz_writer.h', 'protozero/c/pbz_decoder.h',
           'protozero/c/pbz_stream.h', 'protozero/c/pbz_task.h']
# The macros that users write.
FOR_USERS = {'PBZ_TASK_SITE'}
INTERNAL = ['protozero/c/internal/%s.h' % name
            for name in ('pbz_encoding', 'pbz_message', 'pbz_packed')]
LANGUAGES = [['-x', 'c', '-std=c99'], ['-x', 'c', '-std=c11'],
             ['-x', 'c++', '-std=c++17']]
# C projects set these, like -Wmissing-prototypes and -Wcast-qual.
STRICT = compilers.WARNINGS + ['-Wsign-conversion', '-Wundef', '-Wcast-align']

# The bytes of the first fields of all_functions.c, and of the nested message in
# chunks of 16 bytes, with four bytes of size.
FIRST_BYTES = '08fbffffffffffffffff01' '10fbffffffffffffffff01' '1880bcc1960b'
NESTED = '8201' '10' '0b0a0a' '696e20612067726f7570' '0c' '0805'
NESTED_IN_CHUNKS = '8201' '90808000' '0b0a0a' '696e20612067726f7570' '0c' '0805'


def c_compilers():
  return {'g++': 'gcc', 'clang++-19': 'clang-19', 'clang++': 'clang'}


def run_program(compiler, flags):
  """Returns what the program prints, and what went wrong."""
  with tempfile.TemporaryDirectory() as temp:
    program = os.path.join(temp, 'program')
    command = [compiler, '-I' + INCLUDE] + flags + STRICT + [
        os.path.join(HERE, 'all_functions.c'), '-o', program]
    for step in (command, [program]):
      result = subprocess.run(step, capture_output=True, text=True)
      if result.returncode != 0:
        return '', result.stderr or 'it exited with %d' % result.returncode
    return result.stdout, ''


def preprocess(compiler, flags, text):
  return subprocess.run([compiler, '-I' + INCLUDE] + flags + ['-E', '-'],
                        input=text, capture_output=True, text=True,
                        check=True).stdout


def leaked_macros(compiler, header):
  """The macros of a header, but for its guard and those of C's headers."""
  flags = ['-dM'] + LANGUAGES[0]
  standard = '#include <stdbool.h>\n#include <stddef.h>\n' \
             '#include <stdint.h>\n#include <string.h>\n'
  def names(text):
    return set(re.findall(r'^#define (\w+)',
                          preprocess(compiler, flags, text), re.M))
  return names(standard + '#include "%s"\n' % header) - names(standard)


def declared_names(header):
  """Names at the beginning of a declaration's line."""
  with open(os.path.join(INCLUDE, header)) as f:
    text = re.sub(r'//.*', '', f.read())
  return (re.findall(r'^(?:PBZ_\w+|static inline) [\w* ]*?\*?(\w+)\(', text, re.M)
          + re.findall(r'^} (\w+);', text, re.M)
          + re.findall(r'^typedef (?:enum|struct) (\w+)', text, re.M)
          + re.findall(r'^  ([A-Z]\w+)(?: = \w+)?,?$', text, re.M))


def main():
  counter = compilers.Counter()
  jobs = []
  for compiler in compilers.find_compilers():
    for language in LANGUAGES:
      name = compiler if 'c++' in language else c_compilers()[compiler]
      for level in ('-O0', '-O2'):
        jobs.append((name, language + [level]))
  outputs = list(compilers.run_all(
      [functools.partial(run_program, *job) for job in jobs]))
  for job, (output, error) in zip(jobs, outputs):
    name = ' '.join([job[0]] + job[1])
    counter.check(output and output == outputs[0][0], name, error or output)
  whole, chunks = [line for line in outputs[0][0].splitlines()
                   if re.fullmatch('[0-9a-f]{100,}', line)]
  counter.check(whole.startswith(FIRST_BYTES) and NESTED in whole,
                'the bytes in one buffer', whole)
  counter.check(chunks == whole.replace(NESTED, NESTED_IN_CHUNKS),
                'the bytes in chunks', chunks)
  guards = {'INCLUDE_' + re.sub(r'\W', '_', header).upper() + '_'
            for header in HEADERS + INTERNAL}
  for header in HEADERS:
    for compiler in compilers.find_compilers():
      leaked = (leaked_macros(c_compilers()[compiler], header) - guards -
                FOR_USERS)
      counter.check(not leaked, 'macros of ' + header, ' '.join(sorted(leaked)))
  for header in HEADERS + INTERNAL:
    names = declared_names(header)
    foreign = [name for name in names if not name.startswith(('pbz_', 'PBZ_'))]
    counter.check(len(names) > 5 and not foreign, 'names of ' + header,
                  ' '.join(foreign))
  counter.finish()


if __name__ == '__main__':
  main()
