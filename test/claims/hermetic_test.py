#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: the library and generated code need the standard library only.

Compilers are given a copy of the standard library's headers, include/ and the
generated headers, and no other include path, not even their own. With that they
compile every public header alone, all of them together, and a program with
every source of the runtime, without exceptions and RTTI, as C++17 and C++20.
The program is run.

  hermetic_test.py --gen DIR
"""

import argparse
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
FLAGS = ['-fno-exceptions', '-fno-rtti'] + compilers.WARNINGS

STANDARDS = ['-std=c++17', '-std=c++20']

# The headers of C++17, those of C among them. The headers that they include in
# turn are the standard library's business.
STANDARD_HEADERS = '''
    algorithm any array atomic bitset charconv chrono codecvt complex
    condition_variable deque exception execution filesystem forward_list
    fstream functional future initializer_list iomanip ios iosfwd iostream
    istream iterator limits list locale map memory memory_resource mutex new
    numeric optional ostream queue random ratio regex scoped_allocator set
    shared_mutex sstream stack stdexcept streambuf string string_view
    system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility valarray variant vector
    cassert cctype cerrno cfenv cfloat cinttypes climits clocale cmath csetjmp
    csignal cstdarg cstddef cstdint cstdio cstdlib cstring ctime cuchar cwchar
    cwctype
    assert.h ctype.h errno.h fenv.h float.h inttypes.h limits.h locale.h math.h
    setjmp.h signal.h stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h
    time.h uchar.h wchar.h wctype.h
'''.split()

# A standard header of C++20, for the one header of ours that is empty before.
NEWER_HEADERS = ['coroutine']

GENERATED = ['test/claims/claims.pbzero.h']

PROGRAM = '''
#include "protozero/scattered_heap_buffer.h"
#include "protozero/static_buffer.h"
#include "test/claims/claims.pbzero.h"

int main() {
  protozero::HeapBuffered<protozero::claims::pbzero::Everything> message;
  message->set_int32_value(-1);
  message->set_string_value("abc");
  message->set_child()->set_bool_value(true);
  message->add_counts()->set_key("key");
  return message.SerializeAsString().size() == 29 ? 0 : 1;
}
'''


def include_lines(headers):
  return ''.join('#include "%s"\n' % header for header in headers)


def run(command, text=None):
  return subprocess.run(command, input=text, capture_output=True, text=True)


def search_path(compiler, standard):
  """The folders that the compiler looks for <headers> in."""
  result = run([compiler, standard, '-x', 'c++', '-E', '-v', '-'], '')
  lines = result.stderr.splitlines()
  begin = lines.index('#include <...> search starts here:')
  end = lines.index('End of search list.')
  return [os.path.realpath(line.strip()) for line in lines[begin + 1:end]]


def dependencies(compiler, flags, text):
  result = run([compiler, '-x', 'c++', '-M', '-'] + flags, text)
  if result.returncode != 0:
    sys.exit(result.stderr)
  words = result.stdout.replace('\\\n', ' ').split()
  return [word for word in words[1:] if word != '-']


def copy_standard_library(compiler, standard, folder):
  """Links the standard library's headers into `folder`. Returns the flags for
  it to be the only place where headers are looked for."""
  headers = include_lines(
      STANDARD_HEADERS + (NEWER_HEADERS if standard == '-std=c++20' else []))
  files = dependencies(compiler, [standard, '-fno-exceptions', '-fno-rtti'],
                       headers)
  path = search_path(compiler, standard)
  for file in files:
    # Not further: a link has its own reasons to be where it is.
    file = os.path.join(os.path.realpath(os.path.dirname(file)),
                        os.path.basename(file))
    # More than once where folders of the path lie in each other.
    for index, root in enumerate(path):
      if not file.startswith(root + '/'):
        continue
      link = os.path.join(folder, str(index), os.path.relpath(file, root))
      os.makedirs(os.path.dirname(link), exist_ok=True)
      if not os.path.exists(link):
        os.symlink(file, link)
  flags = ['-nostdinc', '-nostdinc++']
  for index in range(len(path)):
    flags += ['-isystem', os.path.join(folder, str(index))]
  return flags


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--gen', required=True)
  args = parser.parse_args()
  counter = compilers.Counter()
  public = [path.relative_to(ROOT / 'include').as_posix()
            for path in sorted((ROOT / 'include/protozero').rglob('*.h'))]
  sources = sorted((ROOT / 'src/protozero').glob('*.cc'))

  with tempfile.TemporaryDirectory() as temp:
    for index, compiler in enumerate(compilers.find_compilers()):
      for standard in STANDARDS:
        mode = compiler + standard
        folder = os.path.join(temp, mode)
        flags = [standard] + copy_standard_library(
            compiler, standard, folder) + FLAGS + [
                '-I%s' % (ROOT / 'include'), '-I' + args.gen,
                # The headers that are generated from our own schema.
                '-I' + os.path.join(args.gen, 'include')]

        # Were anything else to be found, the rest would prove nothing.
        for header in ('google/protobuf/message.h', 'gtest/gtest.h',
                       'sys/socket.h', 'sys/mman.h'):
          errors = compilers.syntax_errors(compiler, flags,
                                           include_lines([header]))
          counter.check(header in errors, '%s: <%s> must not be found' %
                        (mode, header), errors)

        texts = [('everything', include_lines(public + GENERATED))]
        # A missing include shows with any of them.
        if index == 0 and standard == STANDARDS[0]:
          texts += [(header, include_lines([header, header]))
                    for header in public + GENERATED]
        jobs = [functools.partial(compilers.syntax_errors, compiler, flags,
                                  text) for _, text in texts]
        for (name, _), errors in zip(texts, compilers.run_all(jobs)):
          counter.check(not errors, '%s: %s' % (mode, name), errors)

        program = os.path.join(temp, 'program')
        link = run([compiler, '-x', 'c++', '-', '-o', program] + flags,
                   include_lines(sources) + PROGRAM)
        counter.check(link.returncode == 0 and run([program]).returncode == 0,
                      mode + ': program', link.stderr)
  counter.finish()


if __name__ == '__main__':
  main()
