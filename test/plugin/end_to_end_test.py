#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs the plugin as users do: through protoc.

Also compares its output with the golden files in test/plugin/golden. To accept
a change of the output, run this with --update and review the difference that
version control shows.

  end_to_end_test.py --protoc PROTOC --plugin PLUGIN --named PROTOC_GEN_PBZERO
                     [--update]
"""

import argparse
import difflib
import os
import subprocess
import tempfile

import compilers

from cases import version
from wire import delimited, integer

GOLDEN_DIR = os.path.join(compilers.SOURCE_ROOT, 'test', 'plugin', 'golden')
GOLDEN_PROTOS = [
    'test/protos/plugin/%s.proto' % name
    for name in ('golden', 'golden_import', 'golden_public')
]

BAD_SCHEMA = '''syntax = "proto2";
package p;
message set_x {
  optional int32 x = 1;
}
message A { message B {} }
message A_B {}
'''
BAD_SCHEMA_ERRORS = (
    '--plugin_out: bad.proto:4: p.set_x.x: its C++ name set_x is also that of '
    'the class itself; rename one of them\n'
    'bad.proto:7: p.A_B: its C++ name p::pbzero::A_B is also that of message '
    'p.A.B; rename one of them\n')


def read(path):
  with open(path, encoding='utf-8') as file:
    return file.read()


def write(path, text):
  with open(path, 'w', encoding='utf-8') as file:
    file.write(text)


class Protoc:

  def __init__(self, args, temp):
    self.args = args
    self.out = temp

  def run(self, *arguments, **kwargs):
    return subprocess.run([self.args.protoc] + list(arguments),
                          capture_output=True, text=True, check=False, **kwargs)

  def run_plugin(self, options, *arguments):
    return self.run('--plugin=protoc-gen-plugin=' + self.args.plugin,
                    '--plugin_out=%s:%s' % (options, self.out), *arguments)


def test_golden(counter, protoc, update):
  result = protoc.run_plugin('wrapper_namespace=pbzero',
                             '-I' + compilers.SOURCE_ROOT, *GOLDEN_PROTOS)
  counter.check(result.returncode == 0, 'golden files', result.stderr)
  if result.returncode != 0:
    return
  for proto in GOLDEN_PROTOS:
    header = proto.replace('.proto', '.pbzero.h')
    actual = read(os.path.join(protoc.out, header))
    golden = os.path.join(GOLDEN_DIR, os.path.basename(header))
    if update:
      write(golden, actual)
      print('Wrote %s' % golden)
    expected = read(golden) if os.path.exists(golden) else ''
    diff = '\n'.join(
        difflib.unified_diff(expected.splitlines(), actual.splitlines(),
                             'expected', 'actual', lineterm=''))
    counter.check(actual == expected, '%s (--update accepts it)' % golden, diff)
    source = os.path.join(protoc.out, header.replace('.h', '.cc'))
    counter.check(os.path.getsize(source) == 0, '%s is empty' % source)


def test_named_plugin(counter, protoc):
  out = os.path.join(protoc.out, 'named')
  os.mkdir(out)
  env = dict(os.environ)
  env['PATH'] = os.path.dirname(protoc.args.named) + ':' + env['PATH']
  result = protoc.run('--pbzero_out=wrapper_namespace=pbzero:' + out,
                      '-I' + compilers.SOURCE_ROOT, GOLDEN_PROTOS[1], env=env)
  counter.check(result.returncode == 0, 'protoc-gen-pbzero on the PATH',
                result.stderr)
  header = os.path.join(out, GOLDEN_PROTOS[1].replace('.proto', '.pbzero.h'))
  counter.check(
      os.path.exists(header) and
      read(header) == read(os.path.join(GOLDEN_DIR, os.path.basename(header))),
      'both names are of the same plugin')


def test_refusal(counter, protoc):
  write(os.path.join(protoc.out, 'bad.proto'), BAD_SCHEMA)
  write(os.path.join(protoc.out, 'good.proto'), 'syntax = "proto3";')
  result = protoc.run_plugin('wrapper_namespace=pbzero', '-I' + protoc.out,
                             'bad.proto', 'good.proto')
  counter.check(result.returncode != 0, 'protoc fails if the plugin refuses')
  counter.check(result.stderr == BAD_SCHEMA_ERRORS, 'text of the errors',
                result.stderr)
  counter.check(
      not [name for name in os.listdir(protoc.out) if name.endswith('.h')],
      'nothing is written if one file is refused')


def test_options(counter, protoc):
  write(os.path.join(protoc.out, 'options.proto'),
        'syntax = "proto3"; package p; message M { optional int32 x = 1; }')
  for options, expected in (
      ('nonsense', "--plugin_out: unknown option 'nonsense'; the known options "
       'are: wrapper_namespace=NAMESPACE, runtime_namespace=NAMESPACE, '
       'descriptors=true, '
       'comments=false, lang=LANGUAGE\n'),
      ('wrapper_namespace', "--plugin_out: option 'wrapper_namespace' has no "
       'value; write wrapper_namespace=NAMESPACE, or leave it out\n')):
    result = protoc.run_plugin(options, '-I' + protoc.out, 'options.proto')
    counter.check(result.returncode != 0 and result.stderr == expected,
                  'option %s' % options, result.stderr)

  # No options at all, and proto3 `optional`, which a plugin must opt into.
  result = protoc.run('--plugin=protoc-gen-plugin=' + protoc.args.plugin,
                      '--plugin_out=' + protoc.out, '-I' + protoc.out,
                      'options.proto')
  header = os.path.join(protoc.out, 'options.pbzero.h')
  counter.check(
      result.returncode == 0 and '\nnamespace p {\n' in read(header),
      'no options', result.stderr)


def test_version(counter, args):
  """Ours is that of config.h, libprotobuf's that of protoc."""
  protobuf = subprocess.run([args.protoc, '--version'], capture_output=True,
                            text=True, check=True).stdout.split()[1]
  for path in (args.plugin, args.named):
    result = subprocess.run([path, '--version'], capture_output=True,
                            text=True, check=False)
    start = '%s %s (libprotobuf %s, ' % (os.path.basename(path), version(),
                                             protobuf)
    counter.check(result.returncode == 0 and result.stdout.startswith(start),
                  'version', result.stdout + result.stderr)
  result = subprocess.run([args.plugin, 'nonsense'], capture_output=True,
                          text=True, check=False)
  counter.check(
      result.returncode == 1 and
      "unknown argument 'nonsense'; protoc calls this" in result.stderr,
      'an argument', result.stderr)


def test_unknown_editions(counter, args):
  """A request of a protoc that knows editions to a plugin that does not."""
  version = subprocess.run([args.plugin, '--version'], capture_output=True,
                           text=True, check=True).stdout.strip()
  if 'without editions' not in version:
    return
  protoc = integer(1, 7) + integer(2, 36) + integer(3, 2)
  schema = (delimited(1, b'new.proto') + delimited(12, b'editions') +
            integer(14, 1000))
  request = (delimited(1, b'new.proto') + delimited(3, protoc) +
             delimited(15, schema))
  result = subprocess.run([args.plugin], input=request, capture_output=True,
                          check=False)
  expected = ('new.proto:1: editions are unknown to %s, but not to protoc 36.2; '
              'build the plugin with libprotobuf 27 or newer, or write the '
              'schema as proto2 or proto3' % version)
  counter.check(
      result.returncode == 0 and not result.stderr and
      expected in result.stdout.decode('utf-8', 'replace'), 'unknown editions',
      repr(result.stdout + result.stderr))


def main():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--protoc', required=True)
  parser.add_argument('--plugin', required=True)
  parser.add_argument('--named', required=True)
  parser.add_argument('--update', action='store_true')
  args = parser.parse_args()
  args.protoc = os.path.abspath(args.protoc)
  args.plugin = os.path.abspath(args.plugin)
  args.named = os.path.abspath(args.named)

  counter = compilers.Counter()
  for test in (lambda p: test_golden(counter, p, args.update),
               lambda p: test_named_plugin(counter, p),
               lambda p: test_refusal(counter, p),
               lambda p: test_options(counter, p)):
    with tempfile.TemporaryDirectory() as temp:
      test(Protoc(args, temp))
  test_version(counter, args)
  test_unknown_editions(counter, args)
  counter.finish()


if __name__ == '__main__':
  main()
