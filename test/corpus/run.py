#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs the plugin over thousands of real schemas, and compiles what it makes.

The schemas are those of protobuf itself, and the public API definitions of the
npm package google-proto-files. Each is generated or refused with a reason. The
refusals are listed in refusals.txt. The test fails if an unlisted schema is
refused, if a listed one is no longer refused, or if the reason is another one.

A sample of the headers is compiled (without making code), by default a small
one that depends on the seed alone. The corpus is installed if it is missing.

  run.py [--all] [--seed N] [--update] [...]     see --help

With --modern-protobuf all is done by a protobuf that knows editions, which
tools/install-build-deps --modern-protobuf fetches, and a plugin that uses it.
"""

import argparse
import concurrent.futures
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

SOURCE_ROOT = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODERN_PROTOBUF = os.path.join(SOURCE_ROOT, 'third_party', 'modern_protobuf')
# With Debian's protoc, and with that of third_party/modern_protobuf.
REFUSALS = 'refusals.txt'
MODERN_REFUSALS = 'refusals_modern_protobuf.txt'
REFUSALS_HEADER = '''\
# Schemas of the corpus that are refused, with the first line of the reason.
# "protoc:" stands before reasons of protoc's own parser, which ends before the
# plugin is asked: most of these files say `edition`, which protoc 3.21 does not
# know at all, and some import files that the npm package lacks. This list may
# only shrink; run.py --update removes schemas that are no longer refused, and
# adds nothing.
'''

# Per invocation of protoc. Large enough that shared imports are parsed once,
# small enough that a refusal, which fails a whole invocation, costs little.
FILES_PER_RUN = 800

WARNINGS = [
    '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror'
]


class Corpus:
  """A folder of schemas. Their imports are relative to it."""

  def __init__(self, name, root, subfolder=''):
    self.name = name
    self.root = root
    self.protos = []
    for folder, _, files in os.walk(os.path.join(root, subfolder)):
      for file in files:
        if file.endswith('.proto'):
          path = os.path.join(folder, file)
          self.protos.append(os.path.relpath(path, root))
    self.protos.sort()


def find_corpora(args):
  npm = os.path.join(SOURCE_ROOT, 'third_party', 'corpus', 'node_modules',
                     'google-proto-files')
  if not os.path.isdir(npm):
    print('Installing the corpus', flush=True)
    subprocess.run([
        os.path.join(SOURCE_ROOT, 'tools', 'install-build-deps'), '--corpus'
    ], check=True)
  system = args.system_protos
  return [
      Corpus('protobuf', system, os.path.join('google', 'protobuf')),
      Corpus('google-proto-files', npm)
  ]


def reason_of(stderr, proto):
  """The first line that says why, without positions, which may change."""
  for line in stderr.splitlines():
    if line.startswith('--plugin_out: '):
      return line[len('--plugin_out: '):]
  for line in stderr.splitlines():
    # protoc goes on after its first error; the first one is the reason. The
    # guess that a file without `syntax` is proto2 is not.
    if 'warning:' not in line and 'WARNING' not in line and line.strip():
      return 'protoc: ' + line
  return 'protoc: no reason given for %s' % proto


def generate(args, corpus, protos, out):
  """Generates headers; returns {proto: reason} of those that are refused.

  A file that is refused fails the whole invocation. The errors name it, so the
  others are tried again without it; where no file is named, by halves.
  """
  refused = {}
  remaining = list(protos)
  while remaining:
    result = subprocess.run([
        args.protoc, '-I' + corpus.root,
        '--plugin=protoc-gen-plugin=' + args.plugin,
        '--plugin_out=wrapper_namespace=pbzero:' + out
    ] + remaining, capture_output=True, text=True, check=False)
    if result.returncode == 0:
      break
    if len(remaining) == 1:
      refused[remaining[0]] = reason_of(result.stderr, remaining[0])
      break
    named = set(re.findall(r'^(?:--plugin_out: )?([^\s:]+\.proto):',
                           result.stderr, re.MULTILINE))
    suspects = [proto for proto in remaining if proto in named]
    if suspects and len(suspects) < len(remaining):
      for proto in suspects:
        refused.update(generate(args, corpus, [proto], out))
      remaining = [proto for proto in remaining if proto not in named]
    else:
      half = len(remaining) // 2
      refused.update(generate(args, corpus, remaining[:half], out))
      remaining = remaining[half:]
  return refused


def generate_all(args, corpus, out, executor, suspects):
  """Schemas that are probably refused go alone: the others need not be tried
  again."""
  rest = [proto for proto in corpus.protos if proto not in suspects]
  chunks = [
      rest[i:i + FILES_PER_RUN] for i in range(0, len(rest), FILES_PER_RUN)
  ]
  chunks += [[proto] for proto in corpus.protos if proto in suspects]
  refused = {}
  for result in executor.map(
      lambda chunk: generate(args, corpus, chunk, out), chunks):
    refused.update(result)
  return refused


def compile_headers(args, compiler, out, headers):
  """Returns what the compiler prints. Empty: everything is fine."""
  text = ''.join('#include "%s"\n' % header for header in headers)
  result = subprocess.run(
      [compiler, '-std=c++17', '-fsyntax-only', '-x', 'c++', '-'] + WARNINGS +
      ['-I' + os.path.join(SOURCE_ROOT, 'include'), '-I' + out],
      input=text, capture_output=True, text=True, check=False)
  return result.stderr if result.returncode != 0 else ''


def compile_batch(args, compiler, out, headers):
  """Compiles headers in one translation unit, for speed. If that fails, each by
  itself: a corpus may define the same message in two files. Returns a list of
  (header, errors)."""
  if not compile_headers(args, compiler, out, headers):
    return []
  failures = []
  for header in headers:
    errors = compile_headers(args, compiler, out, [header])
    if errors:
      failures.append((header, errors))
  return failures


def use_modern_protobuf(args):
  """Chooses the modern protobuf's protoc, and builds the plugin against it."""
  if not os.path.isdir(MODERN_PROTOBUF):
    sys.exit('No protobuf with editions; run tools/install-build-deps '
             '--modern-protobuf')
  build = os.path.dirname(args.plugin)
  subprocess.run([
      os.path.join(SOURCE_ROOT, 'test', 'plugin', 'editions_test.py'),
      '--build', build, '--plugin-only'
  ], check=True)
  args.protoc = os.path.join(MODERN_PROTOBUF, 'bin', 'protoc')
  args.plugin = os.path.join(build, 'editions', 'protozero_plugin')
  args.system_protos = os.path.join(MODERN_PROTOBUF, 'usr', 'include')


def path_of_refusals(args):
  return os.path.join(
      os.path.dirname(os.path.abspath(__file__)),
      MODERN_REFUSALS if args.modern_protobuf else REFUSALS)


def read_refusals(path):
  refusals = {}
  with open(path, encoding='utf-8') as file:
    for line in file:
      line = line.rstrip('\n')
      if line and not line.startswith('#'):
        name, reason = line.split(' | ', 1)
        refusals[name] = reason
  return refusals


def write_refusals(path, refusals):
  with open(path, 'w', encoding='utf-8') as file:
    file.write(REFUSALS_HEADER)
    for name, reason in sorted(refusals.items()):
      file.write('%s | %s\n' % (name, reason))


def compare_refusals(listed, actual):
  """Returns the problems."""
  problems = []
  for name, reason in sorted(actual.items()):
    if name not in listed:
      problems.append('refused, but not listed: %s | %s' %
                      (name, reason))
    elif listed[name] != reason:
      problems.append('refused for another reason than listed: '
                      '%s | %s' % (name, reason))
  for name in sorted(listed):
    if name not in actual:
      problems.append('listed, but no longer refused; remove it '
                      '(or run with --update): ' + name)
  return problems


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--protoc', default='protoc')
  parser.add_argument('--plugin', required=True)
  parser.add_argument('--system-protos', default='/usr/include',
                      help='what contains google/protobuf/*.proto')
  parser.add_argument('--all', action='store_true',
                      help='compile every header, not a sample')
  parser.add_argument('--sample', type=int, default=200,
                      help='how many headers to compile (default: 200)')
  parser.add_argument('--seed', type=int, default=1,
                      help='of the choice of the sample (default: 1)')
  parser.add_argument('--batch', type=int, default=50,
                      help='headers per translation unit (default: 50)')
  parser.add_argument('--compiler', action='append',
                      help='default: clang++-19 and g++, in turns')
  parser.add_argument('--jobs', type=int, default=os.cpu_count())
  parser.add_argument('--keep', metavar='DIR',
                      help='put the generated files here, and keep them')
  parser.add_argument('--update', action='store_true',
                      help='remove from refusals.txt what is no longer refused')
  parser.add_argument('--modern-protobuf', action='store_true',
                      help='with a modern protobuf, built beside --plugin')
  args = parser.parse_args()
  args.plugin = os.path.abspath(args.plugin)
  if os.path.exists(args.protoc):
    args.protoc = os.path.abspath(args.protoc)
  compilers = args.compiler or [
      name for name in ('clang++-19', 'g++') if shutil.which(name)
  ]
  if args.modern_protobuf:
    use_modern_protobuf(args)
  if not compilers:
    sys.exit('No compiler found; run tools/install-build-deps')

  refusals = path_of_refusals(args)
  listed = read_refusals(refusals)

  start = time.monotonic()
  problems = []
  refused = {}
  headers = []  # (output folder, header)
  total = 0
  with tempfile.TemporaryDirectory() as temp, \
      concurrent.futures.ThreadPoolExecutor(args.jobs) as executor:
    for corpus in find_corpora(args):
      out = os.path.join(args.keep or temp, corpus.name)
      os.makedirs(out, exist_ok=True)
      suspects = {
          name.split('/', 1)[1]
          for name in listed
          if name.startswith(corpus.name + '/')
      }
      reasons = generate_all(args, corpus, out, executor, suspects)
      generated = [proto for proto in corpus.protos if proto not in reasons]
      print('%s: %d schemas, %d generated, %d refused' %
            (corpus.name, len(corpus.protos), len(generated), len(reasons)),
            flush=True)
      if not corpus.protos:
        problems.append('no schemas in ' + corpus.root)
      total += len(corpus.protos)
      for proto, reason in reasons.items():
        refused[corpus.name + '/' + proto] = reason
      for proto in generated:
        header = proto[:-len('.proto')] + '.pbzero.h'
        if os.path.exists(os.path.join(out, header)):
          headers.append((out, header))
        else:
          problems.append('neither generated nor refused: ' + proto)

    if args.update:
      listed = {
          name: refused[name] for name in listed if name in refused
      }
      write_refusals(refusals, listed)
    problems += compare_refusals(listed, refused)

    sample = list(headers)
    random.Random(args.seed).shuffle(sample)
    if not args.all:
      sample = sample[:args.sample]
    by_out = {}
    for out, header in sample:
      by_out.setdefault(out, []).append(header)
    batches = []
    for out, group in sorted(by_out.items()):
      for i in range(0, len(group), args.batch):
        batches.append((compilers[len(batches) % len(compilers)], out,
                        group[i:i + args.batch]))
    compile_start = time.monotonic()
    for failures in executor.map(
        lambda batch: compile_batch(args, *batch), batches):
      for header, errors in failures:
        problems.append('does not compile: %s\n%s' % (header, errors[:2000]))
    print('%d of %d headers compiled by %s (seed %d) in %.0f s' %
          (len(sample), len(headers), ' and '.join(compilers), args.seed,
           time.monotonic() - compile_start))

  for problem in problems:
    print('FAILED: ' + problem)
  # A schema and a compiled header each are one case.
  cases = total + len(sample)
  print('%.0f s in all' % (time.monotonic() - start))
  print('%d passed, %d failed' % (cases - len(problems), len(problems)))
  sys.exit(1 if problems else 0)


if __name__ == '__main__':
  main()
