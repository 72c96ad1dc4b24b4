#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Exchanges messages with the protobuf libraries of other languages.

Each of them reads the output of our generated classes and compares it with the
expected values. Then it writes the messages that it has read and messages of
its own, and our decoders read these. Prints how many messages of each group
came through, as a matrix. The messages are in test/interop/vectors.json, the
schema beside it.

Languages that this machine cannot run are named and left out. Their libraries
come from tools/install-build-deps --interop. The last line is "N passed, N
failed".
"""

import argparse
import concurrent.futures
import dataclasses
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import threading
import time

SOURCES = pathlib.Path(__file__).resolve().parent
ROOT = SOURCES.parents[1]
WORK = ROOT / 'third_party' / 'interop'

import schema as schema_lib

PROTOS = ['groups.proto', 'schema2.proto', 'schema3.proto']
MAX_FAILURES_SHOWN = 20


class Error(Exception):
  """Something that is not a difference, said to the user."""


def run(command, cwd, **environment):
  result = subprocess.run([str(word) for word in command], cwd=cwd,
                          env=dict(os.environ, **environment),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
  if result.returncode != 0:
    raise Error('%s\nfailed in %s:\n%s' % (
        ' '.join(str(word) for word in command), cwd, result.stdout[-5000:]))


def version_of(command):
  """The first version number that a program prints, None if there is none."""
  try:
    output = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                            text=True, check=True).stdout
  except (OSError, subprocess.CalledProcessError):
    return None
  match = re.search(r'(\d+)\.(\d+)', output)
  return match and (int(match[1]), int(match[2]))


# Features of messages that some libraries lack.
GROUPS = 'groups'
LARGE_IDS = 'field ids beyond 65,535'
ZERO_CHARACTERS = 'zero characters in strings'
MINUS_ZERO = 'minus zero without presence'
NAN_BITS = 'the bits of NaNs'
REPEATED_UNNAMED = 'values without a name in repeated closed enums'


class Language:
  """A library of a language, and the program of ours that uses it."""
  name = ''
  library = ''
  # The missing ones of the constants above, with the reason.
  lacks = {}
  # It writes unknown fields that it has read.
  keeps_unknown_fields = True
  # To it, values of closed enums that have no name are unknown fields.
  closes_enums = True

  def __init__(self, build_dir):
    self.build_dir = build_dir
    self.descriptors = build_dir / 'gen/test/interop/schema.bin'

  def missing(self):
    """The missing part of this machine, or None."""
    return None

  def prepare(self):
    pass

  def command(self):
    raise NotImplementedError


class Program(Language):
  """Built with the rest, with libraries of the system."""
  program = ''

  def command(self):
    return [self.build_dir / self.program]


class Cpp(Program):
  name = 'C++'
  library = 'libprotobuf'
  program = 'interop_libprotobuf'


class Nanopb(Program):
  name = 'nanopb'
  library = 'nanopb'
  program = 'interop_nanopb'
  keeps_unknown_fields = False
  closes_enums = False
  lacks = {
      GROUPS: 'it has none, and cannot skip them',
      LARGE_IDS: "Debian's is built without PB_FIELD_32BIT",
      ZERO_CHARACTERS: 'its strings end there',
  }


class Fetched(Language):
  """Has a folder in test/interop, and one of the same name in
  third_party/interop, with its library, a copy of the sources, and the
  build."""
  folder = ''
  locks = ()  # The files that name the library's version. Changes make it fetch again.
  tools = ()  # (command that prints a version, lowest version)

  def __init__(self, build_dir):
    super().__init__(build_dir)
    self.work = WORK / self.folder

  def fetch(self):
    raise NotImplementedError

  def build(self):
    pass

  def missing_tool(self):
    for command, lowest in self.tools:
      version = version_of(command)
      if version is None or version < lowest:
        return '%s %d.%d or newer' % (command[0], *lowest)
    return None

  def missing(self):
    tool = self.missing_tool()
    if not tool and not self._is_fresh('fetched', self._fetched_from()):
      return 'library (tools/install-build-deps --interop)'
    return tool

  def install(self):
    """Fetches the library if it is missing. Returns a report."""
    tool = self.missing_tool()
    if tool:
      return 'is left out: there is no %s' % tool
    if self._is_fresh('fetched', self._fetched_from()):
      return 'is installed'
    self._copy_sources()
    self.fetch()
    self._stamp('fetched', self._fetched_from())
    return 'was installed'

  def prepare(self):
    self._copy_sources()
    if not self._is_fresh('built', self._built_from()):
      self.build()
      self._stamp('built', self._built_from())

  def _sources(self):
    return sorted(path for path in (SOURCES / self.folder).rglob('*')
                  if path.is_file())

  def _copy_sources(self):
    # Those that are as they were keep their times, which builds go by.
    for source in self._sources():
      target = self.work / source.relative_to(SOURCES / self.folder)
      if not target.exists() or target.read_bytes() != source.read_bytes():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

  def _fetched_from(self):
    return [SOURCES / self.folder / lock for lock in self.locks]

  def _built_from(self):
    return self._sources() + [self.descriptors]

  @staticmethod
  def _digest(paths):
    digest = hashlib.sha256()
    for path in paths:
      digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()

  def _is_fresh(self, stamp, paths):
    path = self.work / stamp
    return path.exists() and path.read_text() == self._digest(paths)

  def _stamp(self, stamp, paths):
    (self.work / stamp).write_text(self._digest(paths))


class Python(Fetched):
  name = 'Python'
  library = 'protobuf (upb)'
  folder = 'python'
  locks = ('requirements.txt',)
  # Debian's own, as for all of our scripts.
  tools = ((('/usr/bin/python3', '--version'), (3, 10)),)

  def fetch(self):
    venv = self.work / 'venv'
    shutil.rmtree(venv, ignore_errors=True)
    run(['/usr/bin/python3', '-m', 'venv', venv], ROOT)
    run([venv / 'bin/pip', 'install', '--quiet', '--require-hashes',
         '--only-binary', ':all:', '-r', 'requirements.txt'], self.work)

  def command(self):
    return [self.work / 'venv/bin/python', self.work / 'interop.py',
            self.descriptors]


class Go(Fetched):
  name = 'Go'
  library = 'google.golang.org/protobuf'
  folder = 'go'
  locks = ('go.mod', 'go.sum')
  tools = ((('go', 'version'), (1, 23)),)
  closes_enums = False

  def _go(self, *words):
    # Without inlining and symbols it compiles in three quarters of the time.
    # Go's own library takes the largest part.
    run(['go'] + list(words), self.work,
        GOFLAGS='-modcacherw -gcflags=all=-l -ldflags=-w', CGO_ENABLED='0',
        GOTOOLCHAIN='local', GOMODCACHE=str(self.work / 'modules'),
        GOCACHE=str(self.work / 'cache'))

  def fetch(self):
    self._go('mod', 'download', 'google.golang.org/protobuf')

  def build(self):
    self._go('build', '-o', 'protoc-gen-go',
             'google.golang.org/protobuf/cmd/protoc-gen-go')
    run([self.build_dir / 'protoc', '-I%s' % ROOT,
         '--plugin=protoc-gen-go=./protoc-gen-go', '--go_out=.',
         '--go_opt=module=interop'] + [SOURCES / name for name in PROTOS],
        self.work)
    self._go('build', '-o', 'interop', '.')

  def command(self):
    return [self.work / 'interop']


class Java(Fetched):
  name = 'Java'
  library = 'protobuf-java'
  folder = 'java'
  locks = ('pom.xml', 'jars.sha256')
  # HexFormat came with 17.
  tools = ((('javac', '--version'), (17, 0)), (('mvn', '--version'), (3, 6)))

  def fetch(self):
    shutil.rmtree(self.work / 'jars', ignore_errors=True)
    run(['mvn', '--quiet', '--batch-mode', 'dependency:copy-dependencies',
         '-DoutputDirectory=jars'], self.work)
    run(['sha256sum', '--check', '--strict', '../jars.sha256'],
        self.work / 'jars')

  def build(self):
    run(['javac', '-cp', 'jars/*', '-d', 'classes', 'Interop.java'], self.work)

  def command(self):
    # Starting takes longer than running.
    return ['java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-cp',
            '%s/jars/*:%s/classes' % (self.work, self.work), 'Interop',
            self.descriptors]


class Rust(Fetched):
  """Both libraries share a folder."""
  folder = 'rust'
  locks = ('Cargo.toml', 'pinned.lock')
  tools = ((('cargo', '--version'), (1, 85)), (('cc', '--version'), (5, 0)))
  program = ''

  def fetch(self):
    # The first lock only tells which registry Cargo uses.
    lock = self.work / 'Cargo.lock'
    lock.unlink(missing_ok=True)
    run(['cargo', 'generate-lockfile', '--quiet'], self.work)
    source = re.search(r'^source = .*\n', lock.read_text(), re.M)[0]
    pinned = (self.work / 'pinned.lock').read_text()
    lock.write_text(pinned.replace('\nchecksum = ', '\n' + source + 'checksum = '))
    run(['cargo', 'fetch', '--quiet', '--locked'], self.work)

  def build(self):
    run(['cargo', 'build', '--quiet', '--locked', '--offline', '--target-dir',
         'target'], self.work, INTEROP_DESCRIPTORS=str(self.descriptors),
        INTEROP_ROOT=str(ROOT))

  def command(self):
    return [self.work / 'target/debug' / self.program, self.descriptors]


class Prost(Rust):
  name = 'prost'
  library = 'prost (Rust)'
  program = 'prost'
  keeps_unknown_fields = False
  closes_enums = False
  lacks = {MINUS_ZERO: 'it takes it for zero'}


class GoogleRust(Rust):
  name = 'Rust'
  library = "protobuf (Rust, Google's)"
  program = 'google'


class JavaScript(Fetched):
  """Both libraries share a folder."""
  folder = 'javascript'
  locks = ('package.json', 'package-lock.json')
  tools = ((('node', '--version'), (18, 0)), (('npm', '--version'), (8, 0)))
  lacks = {NAN_BITS: 'the language does not promise to keep them'}
  program = ''

  def fetch(self):
    run(['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund',
         '--silent'], self.work)

  def command(self):
    return ['node', self.work / self.program, self.descriptors]


class Bufbuild(JavaScript):
  name = 'bufbuild'
  library = '@bufbuild/protobuf (JavaScript)'
  program = 'bufbuild.js'
  lacks = {**JavaScript.lacks,
           REPEATED_UNNAMED: 'it takes the enum for an open one there'}


class Protobufjs(JavaScript):
  name = 'protobufjs'
  library = 'protobufjs (JavaScript)'
  program = 'protobufjs.js'
  keeps_unknown_fields = False


LANGUAGES = [Cpp, Python, Go, Java, GoogleRust, Prost, Bufbuild, Protobufjs,
             Nanopb]


class Vector:
  """A message to exchange."""

  def __init__(self, schema, group, name, message_type, read_as, tree):
    self.group = group
    self.name = name
    self.schema = schema
    self.type = schema.messages[message_type]
    self.read_as = schema.messages[read_as]
    self.tree = tree
    self.features = self._features(self.type, tree)
    self.read_features = self._features(
        self.read_as, schema.project(self.read_as, tree))
    self.read_features |= self.features & {GROUPS}
    self.has_unnamed_values = (
        schema.normal(self.type, tree) !=
        schema.normal(self.type, tree, keeps_closed_enums=False))

  def _features(self, message, tree):
    features = set()
    if self.schema.has_groups(message.path):
      features.add(GROUPS)
    for number, value in tree.items():
      field = message.by_number[number]
      if field.number > 0xffff:
        features.add(LARGE_IDS)
      for element in value if field.repeated else [value]:
        if field.is_message:
          features |= self._features(self.schema.messages[field.type_name],
                                     element)
        elif field.type == schema_lib.STRING and '\0' in element:
          features.add(ZERO_CHARACTERS)
        elif not field.repeated and not field.has_presence and element in (
            '80000000', '8' + '0' * 15):
          features.add(MINUS_ZERO)
        elif field.type in (schema_lib.FLOAT, schema_lib.DOUBLE) and is_odd_nan(
            element):
          features.add(NAN_BITS)
        elif field.repeated and field.type == schema_lib.ENUM and (
            self.schema.enums[field.type_name].is_unnamed(element)):
          features.add(REPEATED_UNNAMED)
    return features

  def difference(self, message, tree, keeps_closed_enums=True):
    """None if |tree|, of type |message|, is the content of this vector."""
    expected = self.schema.project(message, self.tree)
    try:
      return first_difference(
          self.schema.normal(message, expected, keeps_closed_enums),
          self.schema.normal(message, tree))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
      return 'not a tree: %r' % error


def is_odd_nan(bits):
  """Whether it is a NaN, and not the one that everybody has."""
  number, = struct.unpack('>f' if len(bits) == 8 else '>d', bytes.fromhex(bits))
  return math.isnan(number) and bits not in ('7fc00000', '7ff8' + '0' * 12)


def shortened(value):
  text = json.dumps(value, ensure_ascii=False)
  return text if len(text) <= 60 else text[:57] + '...'


def first_difference(expected, actual, where=''):
  """Where two trees differ, None if they do not."""
  if type(expected) is not type(actual):
    return 'at %s: %s, not %s' % (where or 'the top', shortened(actual),
                                  shortened(expected))
  if isinstance(expected, dict):
    for key in sorted(set(expected) | set(actual), key=int):
      here = '%s.%s' % (where, key) if where else key
      if key not in expected:
        return 'at %s: %s, which was not written' % (here,
                                                     shortened(actual[key]))
      if key not in actual:
        return 'at %s: nothing, not %s' % (here, shortened(expected[key]))
      found = first_difference(expected[key], actual[key], here)
      if found:
        return found
    return None
  if isinstance(expected, list):
    for i, (one, other) in enumerate(zip(expected, actual)):
      found = first_difference(one, other, '%s[%d]' % (where, i))
      if found:
        return found
    if len(expected) != len(actual):
      return 'at %s: %d elements, not %d' % (where, len(actual), len(expected))
    return None
  if expected != actual:
    return 'at %s: %s, not %s' % (where, shortened(actual), shortened(expected))
  return None


def exchange(command, requests):
  """The answers of a program. Those that it owes are errors."""
  if not requests:
    return []
  result = subprocess.run(
      [str(word) for word in command], stdout=subprocess.PIPE,
      stderr=subprocess.PIPE, text=True, encoding='utf-8', check=False,
      input=''.join(json.dumps(request) + '\n' for request in requests))
  answers = [json.loads(line) for line in result.stdout.splitlines()]
  if len(answers) > len(requests):
    raise Error('%s answers more than it was asked' % command[0])
  if result.returncode or len(answers) < len(requests):
    problem = 'the program stopped with exit code %d: %s' % (
        result.returncode, result.stderr.strip()[-500:])
    # The one that it was at, and if there is none, the last one.
    del answers[len(requests) - 1:]
    answers += [{'error': problem}] * (len(requests) - len(answers))
  return answers


@dataclasses.dataclass
class Check:
  """One message in one direction."""
  vector: Vector
  what: str
  problem: object  # None if it came through.


class Matrix:
  """Exchanges the vectors with languages."""

  def __init__(self, build_dir, vectors):
    self.ours = [build_dir / 'interop_pbzero']
    self.vectors = vectors
    self.encoded = []  # (vector, names of forms, bytes that these have)

  def write(self):
    """Writes all vectors with our classes. Equal bytes are exchanged once."""
    answers = exchange(self.ours, [{'type': vector.type.name,
                                    'tree': vector.tree}
                                   for vector in self.vectors])
    for vector, answer in zip(self.vectors, answers):
      if 'error' in answer:
        raise Error('our classes cannot write %s: %s' % (vector.name,
                                                         answer['error']))
      names = {}
      for form, data in answer['forms'].items():
        names.setdefault(data, []).append(form)
      for data, forms in names.items():
        self.encoded.append((vector, '; '.join(forms), data))

  def read(self, language, encoded):
    """|language| reads what we have written, and we read its copies."""
    encoded = [item for item in encoded
               if not item[0].read_features & set(language.lacks)]
    answers = exchange(language.command(),
                       [{'type': vector.read_as.name, 'hex': data}
                        for vector, _, data in encoded])
    checks = []
    copies = []
    for (vector, forms, _), answer in zip(encoded, answers):
      problem = answer.get('error')
      if not problem:
        problem = vector.difference(
            vector.read_as, answer['tree'],
            keeps_closed_enums=not language.closes_enums)
      checks.append(Check(vector, 'read from ' + forms, problem))
      copies.append(answer.get('hex', ''))
    for check, problem in zip(checks, self.read_ours(
        [(check.vector, copy, language) for check, copy in
         zip(checks, copies)])):
      if problem and not check.problem:
        check.problem = 'written again: ' + problem
    return checks

  def read_ours(self, items):
    """The errors that our decoders find in (vector, bytes, language or None),
    written by a language that has read it before; None without an error."""
    # A library that drops unknown fields does not write them.
    drops = [language is not None and not language.keeps_unknown_fields
             for _, _, language in items]
    messages = [vector.read_as if dropped else vector.type
                for (vector, _, _), dropped in zip(items, drops)]
    answers = exchange(self.ours, [{'type': message.name, 'hex': data}
                                   for message, (_, data, _) in zip(messages,
                                                                    items)])
    return [answer.get('error') or vector.difference(
        message, answer['tree'],
        keeps_closed_enums=not (dropped and language.closes_enums))
            for (vector, _, language), dropped, message, answer in zip(
                items, drops, messages, answers)]

  def written_by(self, language):
    """(vector, bytes or None, problem) for the output of |language|."""
    vectors = [vector for vector in self.vectors
               if not vector.features & set(language.lacks) and
               # Such a value cannot be set; read() has it written again.
               not (vector.has_unnamed_values and language.closes_enums)]
    answers = exchange(language.command(),
                       [{'type': vector.type.name, 'tree': vector.tree}
                        for vector in vectors])
    return [(vector, answer.get('hex'), answer.get('error'))
            for vector, answer in zip(vectors, answers)]

  def write_with(self, language):
    """|language| writes, and we read."""
    written = self.written_by(language)
    problems = self.read_ours([(vector, data or '', None)
                               for vector, data, _ in written])
    return [Check(vector, 'written', error or problem)
            for (vector, _, error), problem in zip(written, problems)]


def corrupted(data):
  """Bytes that must not pass for |data|: cut off, and changed at the end."""
  yield data[:-2]
  yield data[:-2] + '%02x' % (int(data[-2:], 16) ^ 1)


class SelfTest:
  """Checks that corrupted messages are noticed, in both directions."""

  def __init__(self, matrix):
    self.matrix = matrix
    # Some changes have no meaning, such as those beyond the last bit of an
    # int32, or leave the same zero.
    items = [(vector, forms, other) for vector, forms, data in matrix.encoded
             if data for other in corrupted(data)]
    problems = matrix.read_ours([(vector, data, None)
                                 for vector, _, data in items])
    self.encoded = [item for item, problem in zip(items, problems) if problem]

  def unnoticed(self, language):
    """Returns the number of corruptions and the checks that missed one."""
    # A library that drops unknown fields cannot notice a change in them.
    encoded = [item for item in self.encoded
               if language.keeps_unknown_fields or
               (item[0].read_as is item[0].type and
                not item[0].has_unnamed_values)]
    checks = self.matrix.read(language, encoded)
    items = [(vector, other, None)
             for vector, data, _ in self.matrix.written_by(language)
             if data for other in list(corrupted(data))[:1]]
    checks += [Check(vector, 'written, then corrupted', problem)
               for (vector, _, _), problem in zip(
                   items, self.matrix.read_ours(items))]
    return len(checks), [check for check in checks if not check.problem]


def print_table(title, groups, columns):
  """|columns| maps names to Check lists."""
  names = list(columns)
  widths = [max(len(name), 9) for name in names]
  first = max(len(group) for group in groups + [title])
  print('%-*s  %s' % (first, title, '  '.join(
      '%*s' % (width, name) for name, width in zip(names, widths))))
  for group in groups:
    cells = []
    for name in names:
      checks = [check for check in columns[name]
                if check.vector.group == group]
      passed = sum(not check.problem for check in checks)
      cells.append('%d/%d' % (passed, len(checks)) if checks else '-')
    print('%-*s  %s' % (first, group, '  '.join(
        '%*s' % (width, cell) for cell, width in zip(cells, widths))))
  print()


def build_programs():
  """Builds what we need in out/release, and returns that."""
  build_dir = ROOT / 'out' / 'release'
  if not (build_dir / 'build.ninja').exists():
    run(['tools/gn', 'gen', build_dir, '--args=is_debug=false'], ROOT)
  run(['tools/ninja', '-C', build_dir, 'test/interop:programs'], ROOT)
  return build_dir


def install():
  for language in LANGUAGES:
    if issubclass(language, Fetched):
      print('Interop: %s %s.' % (language.library,
                                 language(pathlib.Path('.')).install()))


def choose(kind, names, wanted):
  """The members of |names| that are |wanted|, by default all."""
  unknown = [name for name in wanted or [] if name not in names]
  if unknown:
    raise Error('no such %s: %s; there are %s' % (kind, ', '.join(unknown),
                                                  ', '.join(names)))
  return [name for name in names if not wanted or name in wanted]


def exchange_all(args):
  build_dir = args.build_dir.resolve() if args.build_dir else build_programs()
  schema = schema_lib.Schema(build_dir / 'gen/test/interop/schema.bin')
  vectors = [Vector(schema, vector['group'], vector['name'], vector['type'],
                    vector['read_as'], vector['tree'])
             for vector in schema_lib.read_vectors(SOURCES / 'vectors.json',
                                                   schema)]
  groups = choose('group', list(dict.fromkeys(v.group for v in vectors)),
                  args.group)
  languages = [language(build_dir) for language in LANGUAGES]
  chosen = choose('language', [language.name for language in languages],
                  args.language)
  languages = [language for language in languages if language.name in chosen]

  matrix = Matrix(build_dir, [v for v in vectors if v.group in groups])
  matrix.write()
  self_test = SelfTest(matrix) if args.self_test else None
  # Two of them share a folder.
  locks = {getattr(language, 'folder', language.name): threading.Lock()
           for language in languages}

  def visit(language):
    start = time.monotonic()
    missing = language.missing()
    if missing:
      return language, missing, None
    with locks[getattr(language, 'folder', language.name)]:
      language.prepare()
    prepared = time.monotonic()
    result = {
        'read': matrix.read(language, matrix.encoded),
        'written': matrix.write_with(language),
        'corrupted': self_test.unnoticed(language) if self_test else None,
    }
    if args.verbose:
      print('%s: prepared in %.1f s, exchanged in %.1f s' % (
          language.name, prepared - start, time.monotonic() - prepared))
    return language, None, result

  with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    visits = list(pool.map(visit, languages))
  return report(args, groups, matrix, visits)


def report(args, groups, matrix, visits):
  """Prints the matrix. Returns the numbers of checks passed and failed."""
  present = [(language, result) for language, missing, result in visits
             if not missing]
  print('%d messages, which our classes write in %d different ways' % (
      len(matrix.vectors), len(matrix.encoded)))
  print()
  if present:
    print_table('we write, they read', groups,
                {language.name: result['read']
                 for language, result in present})
    print_table('they write, we read', groups,
                {language.name: result['written']
                 for language, result in present})
  for language, missing, _ in visits:
    if missing:
      print('not installed: %s, which is %s: there is no %s' % (
          language.name, language.library, missing))
  for language, _ in present:
    for feature, reason in language.lacks.items():
      print('left out for %s: %s; %s' % (language.name, feature, reason))
  dropping = [language.name for language, _ in present
              if not language.keeps_unknown_fields]
  if dropping:
    print('not written again: unknown fields, by ' + ', '.join(dropping))

  passed = 0
  failures = []
  for language, result in present:
    for check in result['read'] + result['written']:
      if check.problem:
        failures.append('%s: %s (%s): %s' % (language.name, check.vector.name,
                                             check.what, check.problem))
      else:
        passed += 1
      if args.verbose:
        print('%-4s %s: %s (%s)' % ('FAIL' if check.problem else 'ok',
                                    language.name, check.vector.name,
                                    check.what))
    if result['corrupted']:
      total, unnoticed = result['corrupted']
      passed += total - len(unnoticed)
      failures += ['%s: a corruption of %s (%s) is not noticed' % (
          language.name, check.vector.name, check.what) for check in unnoticed]
      print('corrupted on purpose, and noticed: %s %d of %d' % (
          language.name, total - len(unnoticed), total))
  shown = failures if args.verbose else failures[:MAX_FAILURES_SHOWN]
  for failure in shown:
    print('FAILED ' + failure)
  if len(shown) < len(failures):
    print('and %d more; --verbose shows all' % (len(failures) - len(shown)))
  return passed, len(failures)


def main():
  parser = argparse.ArgumentParser(
      prog='test/interop/run.py', description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--language', action='append', metavar='NAME',
                      help='this one only (repeatable): ' + ', '.join(
                          language.name for language in LANGUAGES))
  parser.add_argument('--group', action='append', metavar='NAME',
                      help='these messages only (repeatable)')
  parser.add_argument('--verbose', action='store_true',
                      help='each message, all differences, and times')
  parser.add_argument('--self-test', action='store_true',
                      help='corrupted messages, too: they must be noticed')
  parser.add_argument('--build-dir', type=pathlib.Path, metavar='DIR',
                      help='where "test/interop:programs" is built (default: '
                      'out/release, after building it)')
  parser.add_argument('--install', action='store_true',
                      help='only fetch the libraries that are missing')
  args = parser.parse_args()
  try:
    if args.install:
      install()
      return 0
    passed, failed = exchange_all(args)
  except Error as error:
    print('interop: %s' % error, file=sys.stderr)
    print('0 passed, 1 failed')
    return 1
  print('%d passed, %d failed' % (passed, failed))
  return 1 if failed or not passed else 0


if __name__ == '__main__':
  sys.exit(main())
