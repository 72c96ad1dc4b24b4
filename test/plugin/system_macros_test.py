#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Headers of ours compile after any header of Linux and Windows.

All macros of src/protoc_plugin/c_family/system_macros.cc that the C++ library and POSIX
headers do not define are defined as something that cannot be compiled. Then come
all public headers, system_macros_use.h, and what is generated for a schema whose
enum has every one of these names for a value, and whose message has some for
fields.

The same after real headers of this system, as many as go together.

  system_macros_test.py --gen DIR --protoc PROTOC --plugin PLUGIN
"""

import argparse
import functools
import glob
import os
import random
import subprocess
import tempfile

import compilers

# Headers that ours include. They come before the macros.
FIRST = ['bits/stdc++.h', 'fcntl.h', 'poll.h', 'pthread.h', 'sched.h',
         'signal.h', 'sys/mman.h', 'sys/socket.h', 'sys/stat.h',
         'sys/syscall.h', 'sys/types.h', 'sys/un.h', 'time.h', 'unistd.h',
         'linux/futex.h', 'linux/memfd.h']

# The headers that compile together.
REAL = ['arpa/inet.h', 'arpa/nameser.h', 'complex.h', 'dirent.h', 'elf.h',
        'errno.h', 'fenv.h', 'ifaddrs.h', 'langinfo.h', 'linux/audit.h',
        'linux/btrfs.h', 'linux/fs.h', 'linux/input.h', 'linux/io_uring.h',
        'linux/netlink.h', 'linux/nl80211.h', 'linux/perf_event.h',
        'linux/quota.h', 'linux/videodev2.h', 'math.h', 'net/if.h',
        'netdb.h', 'netinet/icmp6.h', 'netinet/in.h', 'netinet/ip_icmp.h',
        'netinet/tcp.h', 'poll.h', 'pwd.h', 'resolv.h', 'setjmp.h',
        'signal.h', 'spawn.h', 'sys/epoll.h', 'sys/ioctl.h', 'sys/mman.h',
        'sys/param.h', 'sys/ptrace.h', 'sys/resource.h', 'sys/socket.h',
        'sys/stat.h', 'sys/sysmacros.h', 'sys/wait.h', 'syslog.h',
        'termios.h', 'ucontext.h', 'utmpx.h', 'wchar.h']

MODE = '-std=gnu++20'
NUM_FIELDS = 300


def includes(headers, brackets):
  return ''.join('#include %s%s%s\n' % (brackets[0], header, brackets[1])
                 for header in headers)


def public_headers():
  root = os.path.join(compilers.SOURCE_ROOT, 'include')
  return sorted(os.path.relpath(path, root) for path in glob.glob(
      os.path.join(root, 'protozero', '**', '*.h'), recursive=True))


def schema(values, functions):
  """protoc compares values without case and underscores, in each enum."""
  seen = set()
  lines = ['syntax = "proto2"; package everything;', 'enum E {']
  for number, name in enumerate(values):
    key = name.replace('_', '').lower()
    if key not in seen and not key.startswith('e'):
      lines.append('%s = %d;' % (name, number))
    seen.add(key)
  lines += ['}', 'message M {']
  chosen = random.Random(1).sample(values, NUM_FIELDS) + random.Random(
      1).sample(functions, NUM_FIELDS)
  # Fields that differ in capitals alone have one name in JSON.
  chosen = {name.replace('_', '').lower(): name for name in chosen}
  for number, name in enumerate(chosen.values(), 1):
    lines.append('optional int32 %s = %d;' % (name, number))
  return '\n'.join(lines + ['}', ''])


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--gen', required=True)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--plugin', required=True)
  args = parser.parse_args()
  counter = compilers.Counter()
  names = compilers.tables_of_macros(counter)
  values, functions = names['kSystemValueMacros'], names['kSystemFunctionMacros']
  counter.check(len(values) > 10000 and len(functions) > 500, 'the list')

  with tempfile.TemporaryDirectory() as temp:
    with open(os.path.join(temp, 'everything.proto'), 'w',
              encoding='utf-8') as file:
      file.write(schema(values, functions))
    result = subprocess.run(
        [os.path.abspath(args.protoc), '-I' + temp,
         '--plugin=protoc-gen-plugin=' + os.path.abspath(args.plugin),
         '--plugin_out=wrapper_namespace=pbzero:' + temp, 'everything.proto'],
        capture_output=True, text=True, check=False)
    counter.check(result.returncode == 0, 'every name', result.stderr[:2000])

    simulated = includes(FIRST, '<>')
    for names, what in ((values, ' @ not C++ @'), (functions, '(x) @ no @ x')):
      for name in names:
        simulated += '#ifndef %s\n#define %s%s\n#endif\n' % (name, name, what)
    used = includes(['test/plugin/system_macros_use.h', 'everything.pbzero.h'],
                    '""')
    flags = ['-I' + temp, '-I' + args.gen,
             # The headers that are generated from our own schema.
             '-I' + os.path.join(args.gen, 'include'),
             '-I' + compilers.SOURCE_ROOT,
             '-I' + os.path.join(compilers.SOURCE_ROOT, 'include')]
    cases = []
    for compiler in compilers.find_compilers():
      cases += [
          ('all macros', compiler,
           simulated + includes(public_headers(), '""') + used),
          ('headers of this system', compiler, includes(REAL, '<>') + used),
      ]
    jobs = [functools.partial(compilers.syntax_errors, compiler,
                              [MODE] + flags + compilers.WARNINGS, text)
            for _, compiler, text in cases]
    for (name, compiler, _), errors in zip(cases,
                                           compilers.run_all(jobs)):
      counter.check(not errors, compiler + ': ' + name, errors)
  counter.finish()


if __name__ == '__main__':
  main()
