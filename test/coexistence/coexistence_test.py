#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: nothing of ours meets anything of another library in one process.

Perfetto's SDK and Mapbox's library have a namespace `protozero`, too, and classes
of the same names; another build of ours has the same classes. A program of two of
them, in every way that they can be linked, writes what programs of one write.

Without tools/install-build-deps --perfetto-sdk, and without Debian's package
libprotozero-dev, these are skipped.

The runtime shows what src/protozero/exports.txt lists where it is a shared library
of its own, and nothing where it is a part of another one.

  coexistence_test.py --plugin out/release/protozero_plugin
"""

import argparse
import functools
import os
import pathlib
import re
import subprocess
import tempfile

import compilers

ROOT = pathlib.Path(compilers.SOURCE_ROOT)
HERE = ROOT / 'test' / 'coexistence'
SDK = ROOT / 'third_party' / 'perfetto_sdk'
MAPBOX = pathlib.Path('/usr/include/protozero/pbf_writer.hpp')
SCHEMA = 'include/protozero/tracing/trace.proto'
# Not optimized: inline functions are functions then, with names that could meet.
FLAGS = ['-std=c++17', '-O0', '-fPIC', '-pthread']
INCLUDE = ['-I', ROOT, '-I', ROOT / 'include']
# The folder of the header that track_event.h includes, as the build makes it.
TRACE_SCHEMA = pathlib.Path.cwd() / 'gen' / 'include'

LIBRARY_FLAGS = ['-fvisibility=hidden', '-fvisibility-inlines-hidden']
EXPORTS = ROOT / 'src' / 'protozero' / 'exports.txt'

# Builds of ours: the function of each, the namespace of its generated classes,
# and its flags. Two have different names for the linker, two have the same.
OURS = {
    'ours': ('WriteByOurs', 'ours', ['-DNDEBUG']),
    'ours_in_place': ('WriteByOursInPlace', 'ours_in_place',
                      ['-DNDEBUG', '-DPROTOZERO_INLINE_SETTERS=1']),
    'shared': ('WriteByOurs', 'ours', ['-DNDEBUG', '-DPROTOZERO_SHARED=1']),
    'ours_debug': ('WriteByOursDebug', 'ours', ['-O1']),
}


class Failure(Exception):
  pass


class Build:
  """A folder to compile, link and run programs in."""

  def __init__(self, folder, compiler, plugin):
    self.folder = folder
    self.compiler = compiler
    self.plugin = plugin

  def try_to(self, command):
    return subprocess.run([str(word) for word in command], cwd=self.folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)

  def run(self, command):
    result = self.try_to(command)
    if result.returncode != 0:
      raise Failure('%s\nends with %d\n%s' %
                    (' '.join(map(str, command)), result.returncode,
                     result.stderr.decode(errors='replace')))
    return result.stdout

  def generate(self, namespace, *options):
    (self.folder / namespace).mkdir(exist_ok=True)
    self.run(['protoc', '--plugin=protoc-gen-plugin=' + self.plugin, '-I', ROOT,
              '--plugin_opt=wrapper_namespace=' + namespace,
              *['--plugin_opt=' + option for option in options],
              '--plugin_out=' + namespace, SCHEMA])

  def compile_all(self, objects):
    """`objects`: (output, source, flags)."""
    jobs = [functools.partial(self.run, [self.compiler, *FLAGS, *flags,
                                         '-c', source, '-o', output])
            for output, source, flags in objects]
    for _ in compilers.run_all(jobs, workers=2):
      pass

  def link(self, output, objects, flags=()):
    self.run([self.compiler, '-pthread', *objects, *flags, '-Wl,-rpath,.',
              '-o', output])


def parts_of_ours(build, name):
  """The sources of a build of ours."""
  function, namespace, flags = OURS[name]
  build.generate(namespace)
  # One file is faster to compile.
  runtime = build.folder / 'runtime.cc'
  runtime.write_text(''.join('#include "%s"\n' % source for source in sorted(
      (ROOT / 'src' / 'protozero').glob('*.cc'))))
  return [('by_%s.o' % name, HERE / 'ours.cc',
           [*INCLUDE, '-I', namespace, '-DWRITE_BY=' + function,
            '-DNAMESPACE=' + namespace, *flags]),
          ('runtime_%s.o' % name, runtime, [*INCLUDE, *LIBRARY_FLAGS, *flags])]


def main_of(pair):
  return ('main_%s_%s.o' % pair, HERE / 'main.cc',
          ['-I', ROOT, *['-DWITH_' + name.upper() for name in pair]])


def check_alone(build, objects):
  """Returns what each library writes in a program of its own."""
  written = {}
  for name in objects:
    build.link('alone', [main_of((name, name))[0], *objects[name]])
    written[name] = build.run(['./alone', name])
    # More than the fixed part of each message.
    if len(written[name]) < 200 * 1000:
      raise Failure('%s writes %d bytes' % (name, len(written[name])))
  return written


def check_pair(build, pair, objects, written, static):
  """Yields how the two were linked, and those that write something else then."""
  main = main_of(pair)[0]

  def differences(program):
    found = []
    for name in pair:
      result = build.try_to([program, name])
      if result.returncode != 0:
        found.append('%s ends with %d' % (name, result.returncode))
      elif result.stdout != written[name]:
        found.append(name + ' writes other bytes than alone')
    return found

  both = pair, pair[::-1]
  if static:
    for first, second in both:
      build.link('program', [main, *objects[first], *objects[second]])
      yield 'static, %s first' % first, differences('./program')
  for binding in 'lazy', 'now':
    # A program that shows its symbols to its libraries: these are looked up
    # there first.
    flags = ['-Wl,-z,' + binding]
    for name in pair:
      build.link('lib%s.so' % name, objects[name], ['-shared', *flags])
    for first, second in both:
      build.link('program', [main, *objects[first], 'lib%s.so' % second],
                 ['-rdynamic', *flags])
      yield ('%s in the program, %s in a library, %s' % (first, second, binding),
             differences('./program'))
      build.link('program', [main, 'lib%s.so' % first, 'lib%s.so' % second],
                 ['-rdynamic', *flags])
      yield ('libraries %s and %s, %s' % (first, second, binding),
             differences('./program'))


def check_mixed_setters(build, objects):
  """Yields the problems of a program whose parts disagree."""
  for user, library in ('ours', 'ours_in_place'), ('ours_in_place', 'ours'):
    result = build.try_to([build.compiler, '-pthread',
                           main_of((user, user))[0], objects[user][0],
                           *objects[library][1:], '-o', 'program'])
    said = result.stderr.decode(errors='replace')
    yield ('setters of %s, library of %s' % (user, library),
           'links' if result.returncode == 0 else
           '' if 'undefined' in said and 'Message' in said else said)


def symbols_of(build, library):
  """The names that a library exports, without the ABI's namespace and without
  those of the standard library, which no flag hides."""
  mangled = [line.split()[2] for line in build.run(
      ['nm', '-D', '--defined-only', library]).decode().splitlines()]
  ours = [name for name in mangled
          if not re.match(r'_Z(T[VIS])?N?K?(S[tabdios]|9__gnu_cxx)', name)]
  names = build.run(['c++filt', *ours]).decode().splitlines() if ours else []
  return {re.sub(r'pz_\w+?::', '', name) for name in names}


def check_exports(build, objects, written):
  """Yields the problems with exported names."""
  build.link('libplain.so', objects['ours'][1:], ['-shared'])
  yield 'static: shows nothing', ', '.join(symbols_of(build, 'libplain.so'))

  build.link('libruntime.so', objects['shared'][1:], ['-shared'])
  listed = {line for line in EXPORTS.read_text().splitlines()
            if line and not line.startswith('#')}
  found = set()
  unlisted = set()
  for name in symbols_of(build, 'libruntime.so'):
    bare = re.sub(r'^(vtable|typeinfo|typeinfo name) for ', '', name)
    entries = {line for line in listed if re.match(
        re.escape(line[6:]) + r'(::|$)' if line.startswith('class ') else
        re.escape(line) + r'\b', re.sub(r'^void (?=protozero)', '', bare))}
    found |= entries
    if not entries:
      unlisted.add(name)
  yield 'shared: nothing else than listed', ', '.join(sorted(unlisted))
  yield 'shared: all that is listed', ', '.join(sorted(listed - found))

  # All that a program needs.
  build.link('program', [main_of(('ours', 'ours'))[0], objects['shared'][0],
                         'libruntime.so'])
  yield ('shared: enough', '' if build.run(['./program', 'ours']) ==
         written['ours'] else 'writes something else')


def check_one_file(build, parts, objects, written):
  """Yields the problems of a file that includes another library, too."""
  build.generate('in_one_file', 'runtime_namespace=pz')
  for name, folder, pattern in (('all_headers.h', ROOT / 'include', '**/*.h'),
                                ('all_mapbox_headers.h', MAPBOX.parent.parent,
                                 'protozero/*.hpp')):
    (build.folder / name).write_text(''.join(
        '#include <%s>\n' % path.relative_to(folder)
        for path in sorted(folder.glob(pattern))
        # One is for C++20, one takes the place of Perfetto's.
        if path.name not in ('async_packet_reader.h', 'perfetto_macros.h')))
  flags = [*INCLUDE, '-I', 'in_one_file', '-I', TRACE_SCHEMA, '-I.', '-DNDEBUG']
  renamed = '-DPROTOZERO_NAMESPACE=pz'
  one_file = HERE / 'one_file.cc'

  # Generated code is the same whether a file includes another library or not.
  build.compile_all([('one_file.o', one_file, flags),
                     ('renamed.o', one_file, [*flags, renamed])])
  for name in 'one_file.o', 'renamed.o':
    build.link('program', [main_of(('ours', 'ours'))[0], name,
                           *objects['ours'][1:]])
    yield ('ours in ' + name, '' if build.run(['./program', 'ours']) ==
           written['ours'] else 'writes something else')
  if 'perfetto' in parts:
    build.compile_all([('both.o', one_file,
                        ['-w', '-isystem', SDK, *flags, renamed,
                         '-DWITH_PERFETTO'])])
    build.link('program', [main_of(('ours', 'perfetto'))[0], 'both.o', 'sdk.o',
                           *objects['ours'][1:]])
    for name in 'ours', 'perfetto':
      yield ('one file with Perfetto, ' + name,
             '' if build.run(['./program', name]) == written[name] else
             'writes something else')
  if 'mapbox' in parts:
    for namespace in [], [renamed]:
      build.compile_all([('both.o', one_file,
                          [*flags, '-DWITH_MAPBOX', *compilers.WARNINGS,
                           *namespace])])
      yield 'one file with Mapbox, ' + ' '.join(namespace), ''


def check(build, counter):
  parts = {name: parts_of_ours(build, name) for name in OURS}
  pairs = {('ours', 'ours_in_place'): True, ('ours', 'ours_debug'): False}
  if (SDK / 'perfetto.cc').exists():
    parts['perfetto'] = [
        ('by_perfetto.o', HERE / 'perfetto_sdk.cc',
         ['-w', '-I', ROOT, '-isystem', SDK]),
        ('sdk.o', SDK / 'perfetto.cc', ['-w']),
    ]
    pairs['ours', 'perfetto'] = True
  if MAPBOX.exists():
    parts['mapbox'] = [('by_mapbox.o', HERE / 'mapbox.cc', ['-I', ROOT])]
    pairs['ours', 'mapbox'] = True
  objects = {name: [output for output, _, _ in parts[name]] for name in parts}
  # The longest tasks come first.
  build.compile_all(
      sum(reversed(list(parts.values())), []) +
      [main_of(pair) for pair in pairs] +
      [main_of((name, name)) for name in parts])

  written = check_alone(build, {name: objects[name] for name in parts
                                if name != 'shared'})
  for pair, static in pairs.items():
    for name, different in check_pair(build, pair, objects, written, static):
      counter.check(not different, name, ', '.join(different))
  for name, error in (*check_one_file(build, parts, objects, written),
                      *check_mixed_setters(build, objects),
                      *check_exports(build, objects, written)):
    counter.check(not error, name, error)
  return {'perfetto', 'mapbox'} - set(parts)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--plugin', required=True)
  args = parser.parse_args()
  counter = compilers.Counter()
  with tempfile.TemporaryDirectory() as temp:
    try:
      missing = check(Build(pathlib.Path(temp), compilers.find_compilers()[0],
                            os.path.abspath(args.plugin)), counter)
      for name in sorted(missing):
        print('Skipped: %s is not installed, see tools/install-build-deps' %
              name)
    except Failure as failure:
      counter.check(False, 'a program', str(failure))
  counter.finish()


if __name__ == '__main__':
  main()
