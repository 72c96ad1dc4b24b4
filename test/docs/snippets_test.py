#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Compiles and runs what README.md and the pages in docs/ show.

An HTML comment right before a fenced block says what the block is:

  <!-- compile: NAME -->     before ```cpp: part of the program NAME. The parts
                             are joined in their order. The program is run if
                             it has a main(), otherwise it is compiled only.
  <!-- compile C: NAME -->   the same before ```c: C99, as C
  <!-- output: NAME -->      before ```text: what that program prints
  <!-- proto: PATH -->       before ```proto: a file for the plugin
  <!-- console: TOPIC -->    before ```console: commands, each after "$ ", and
                             what they print. The commands of a page run in one
                             directory, with its programs in it (NAME.cc and
                             NAME); variables stay.
  <!-- console like: TOPIC -->  the same, where numbers and paths differ each time:
                             any will do. A line "..." stands for any lines
  <!-- file: PATH -->        before a block of any language: a file of a build
  <!-- run: TEXT -->         before ```sh: commands that succeed, and at the end
                             print TEXT, if any. The files and commands of a
                             section are in a folder of their own, with the
                             schemas and programs of the page.
  <!-- not compiled: WHY --> before ```cpp: what it says
  <!-- not run: WHY -->      before any other block: the same

Further lines of a "compile" comment are code of the program that readers need
not see; such a comment may stand alone. Those of a "console" comment are commands
that run first. A block of one of CHECKED without such a
comment is an error, and so are commands that are indented. test_msg.pbzero.h is
there in any case.

Readers have this repository in ~/protozero, and have installed it in ~/.local.

Runs in a build directory, which has protoc and protoc-gen-pbzero. The last line
of its output is "N passed, N failed".
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from projects import NO_PLUGIN, PLUGIN, QUICK, use_compiler_cache

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMPILER = os.environ.get('CXX', 'g++')
# The snippets have to be correct, not just to compile.
FLAGS = ['-std=c++17', '-pthread', '-Wall', '-Wextra', '-Werror', '-O0',
         '-fsanitize=address,undefined', '-fno-sanitize-recover=all']

C_COMPILER = ['gcc', '-std=c99'] + [
    flag for flag in FLAGS if not flag.startswith('-std')] + ['-Wpedantic']

COMMENT = re.compile(r'<!--\s*(compile C|compile|output|proto|console like|console|file|'
                     r'run|not compiled|not run):\s*'
                     r'(.*?)\s*(?:\n(.*?))?-->\s*\Z', re.S)
LANGUAGES = {'compile': 'cpp', 'compile C': 'c', 'output': 'text', 'proto': 'proto',
             'console': 'console', 'console like': 'console', 'run': 'sh',
             'not compiled': 'cpp'}
CODE = ('cpp', 'c++', 'cc', 'c')
# Languages of commands, and of files of builds.
CHECKED = ('console', 'sh', 'bash', 'shell', 'cmake', 'make', 'meson', 'gn', 'python')
# An indented block of commands begins like this.
COMMAND = re.compile(r'    (\$ |#? ?(tools|out|examples|build)/|(protoc|c\+\+|g\+\+|clang\+\+|'
                     r'cmake|make|meson|ninja|vcpkg|conan|pkg-config|pztrace|pbz|cat|cp|'
                     r'sed|git|export|clickhouse-client|apt-get)\b)')


class Error(Exception):
  """Something that is wrong with a page."""


class Page:
  """The marked snippets of a page."""

  def __init__(self, path, text):
    self.path = path
    self.programs = {}  # NAME: code
    self.in_c = set()  # Those of them that are C.
    self.outputs = {}  # NAME: text
    self.protos = {}  # PATH: text
    self.consoles = []  # (line, kind, hidden commands, text)
    self.steps = []  # (section, line, kind, path or output, text)
    self.section = 0
    # Lines to point at.
    self.lines = {}
    self.parse(text)
    for name in self.outputs:
      if name not in self.programs:
        raise Error('%s: the output of no program: %s' % (path, name))

  def fail(self, number, text):
    raise Error('%s:%d: %s' % (self.path, number, text))

  def parse(self, text):
    lines = text.splitlines(keepends=True)
    mark, mark_line = None, 0
    at = 0
    while at < len(lines):
      line, start = lines[at], at + 1
      at += 1
      self.section += line.startswith('## ')
      if line.startswith('<!--'):
        while '-->' not in line and at < len(lines):
          line += lines[at]
          at += 1
        self.check_used(mark, mark_line)
        match = COMMENT.match(line)
        mark, mark_line = match.groups() if match else None, start
        if mark and mark[0].startswith('compile') and mark[2]:
          self.add_code(mark, mark[2], start)
      elif line.startswith('```'):
        body = ''
        while at < len(lines) and not lines[at].startswith('```'):
          body += lines[at]
          at += 1
        if at == len(lines):
          self.fail(start, 'this block has no end')
        at += 1
        self.add_block(line[3:].strip(), body, mark, start)
        mark = None
      elif line.startswith('    ') and not lines[start - 2].strip():
        while at < len(lines) and (lines[at].startswith('    ') or not lines[at].strip()):
          at += 1
        if mark and mark[0] != 'not run':
          self.fail(start, 'a fenced block was expected')
        if not mark and COMMAND.match(line):
          self.fail(start, 'commands that are not run; see ' +
                    os.path.relpath(__file__, ROOT))
        mark = None
      elif line.strip():
        self.check_used(mark, mark_line)
        mark = None
    self.check_used(mark, mark_line)

  def check_used(self, mark, number):
    # Hidden code needs no block.
    if mark and not mark[2]:
      self.fail(number, 'no block follows this comment')

  def add_code(self, mark, code, number):
    name = mark[1]
    if mark[0] == 'compile C':
      self.in_c.add(name)
    if not re.fullmatch(r'\w+', name):
      self.fail(number, 'not a name for a program: %s' % name)
    self.lines.setdefault(name, number)
    # Errors of the compiler are told in lines of the page.
    self.programs[name] = (self.programs.get(name, '') + '#line %d "%s"\n' %
                           (number + 1, self.path) + code)

  def add_block(self, language, body, mark, number):
    if not mark:
      if language in CODE + CHECKED:
        self.fail(number, '%s; see %s' % (
            'code that is not compiled' if language in CODE else
            'commands that are not run', os.path.relpath(__file__, ROOT)))
      return
    kind, name, hidden = mark
    if kind in ('file', 'run'):
      self.steps.append((self.section, number, kind, name, body))
    if language != LANGUAGES.get(kind, language):
      self.fail(number, 'a block of %s was expected' % LANGUAGES[kind])
    if kind.startswith('compile'):
      self.add_code(mark, body, number)
    elif kind == 'output':
      self.outputs[name] = body
    elif kind == 'proto':
      self.protos[name] = body
    elif kind.startswith('console'):
      self.consoles.append((number, kind, hidden or '', body))


def execute(command, cwd, env=None, shell=False):
  """Returns (exit code, what it printed)."""
  process = subprocess.run(command, cwd=cwd, env=env, shell=shell,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, check=False)
  return process.returncode, process.stdout.decode(errors='replace')


def simplify(text):
  """Returns the words of `text` without what is different each time."""
  text = re.sub(r'/[/\w.-]+', '/PATH', text)
  text = re.sub(r'\d+(\.\d+)?( [mun]?s\b)?', 'N', text)
  return ''.join(' '.join(line.split()) + '\n' for line in text.splitlines())


def is_like(output, expected):
  pattern = re.escape(simplify(expected)).replace(
      re.escape('...\n'), '(?:.*\n)*?')
  return bool(re.fullmatch(pattern, simplify(output)))


class Results:

  def __init__(self):
    self.passed = self.failed = 0

  def add(self, what, error):
    if error:
      self.failed += 1
      print('FAIL %s\n%s' % (what, error.rstrip()))
    else:
      self.passed += 1
      print('ok   %s' % what)


class Tester:
  """Tests pages in a scratch directory."""

  def __init__(self, scratch, build_dir):
    self.scratch = scratch
    self.build_dir = build_dir
    self.headers = scratch / 'headers'
    self.library = scratch / 'runtime.o'
    self.results = Results()
    self.pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    self.env = dict(os.environ, LC_ALL='C', PATH='%s:%s' % (
        build_dir, os.environ['PATH']))
    # That of a reader, whose shell knows nothing of this library.
    self.home = scratch / 'home'
    self.prefix = self.home / '.local'
    # Without sanitizers: other tests have them in the tracing library.
    self.tracing = ['-Wl,--start-group', *(
        self.prefix / ('lib/libprotozero_%s.a' % name) for name in (
            'otlp', 'local_trace', 'track_event', 'tracing_ipc', 'tracing_service', 'tracing',
            'trace_rules', 'trace_reader', 'trace_schema')), '-Wl,--end-group']
    self.reader = dict(os.environ, LC_ALL='C', HOME=str(self.home))
    for name in ('PROTOZERO', 'PROTOZERO_BUILD_DIR', 'PKG_CONFIG_PATH'):
      self.reader.pop(name, None)

  def run(self, command, cwd=None):
    """Returns an error, or None."""
    code, output = execute([str(part) for part in command],
                           cwd or self.scratch, self.env)
    if code == 0:
      return None
    return '%s\nexit code %d:\n%s' % (' '.join(map(str, command)), code,
                                      output)

  def generate(self, import_dir, proto):
    return (self.run(['protoc', '-I', import_dir, '--pbzero_out='
                      'wrapper_namespace=pbzero:%s' % self.headers, proto]) or
            self.run(['protoc', '-I', import_dir, '--pbzero_out=lang=c:%s' %
                      self.headers, proto]))

  def prepare(self):
    """The runtime, with the flags of the snippets."""
    self.headers.mkdir()
    # One file is faster to compile.
    (self.scratch / 'runtime.cc').write_text(''.join(
        '#include "%s"\n' % source
        for source in sorted((ROOT / 'src' / 'protozero').glob('*.cc'))))
    error = self.run([COMPILER] + FLAGS + [
        '-I', ROOT / 'include', '-I', ROOT, '-c', 'runtime.cc', '-o',
        self.library]) or self.generate(ROOT, 'test_msg.proto')
    self.results.add('the runtime', error)
    return not error

  def generate_trace_schema(self):
    """Generates the messages that track_event.h includes. Returns an error."""
    namespace = re.search(r'ABI_NAMESPACE (pz_\d+_\d+)$', (
        ROOT / 'include/protozero/internal/macros.h').read_text(), re.M)[1]
    return self.run(['protoc', '-I', ROOT / 'include', '--pbzero_out='
                     'wrapper_namespace=%s:%s' % (namespace, self.headers),
                     'protozero/tracing/trace.proto'])

  def prepare_home(self):
    """Installs the library, as a reader does. Returns an error."""
    self.home.mkdir()
    (self.home / 'protozero').symlink_to(ROOT)
    prefix, build = self.prefix, self.scratch / 'build of the library'
    error = self.run(
        ['cmake', '-S', ROOT, '-B', build, '-G', 'Ninja', PLUGIN, NO_PLUGIN, *QUICK,
         '-DCMAKE_INSTALL_LIBDIR=lib', '-DCMAKE_INSTALL_PREFIX=%s' % prefix]) or (
             self.run(['cmake', '--build', build])) or (
                 self.run(['cmake', '--install', build]))
    if error:
      return error
    # The plugin and the programs take long to build, and test/install does it.
    (prefix / 'bin').mkdir(exist_ok=True)
    for name in ('protozero_plugin', 'protoc-gen-pbzero', 'pbz', 'pztrace',
                 'traced_workers'):
      (prefix / 'bin' / name).symlink_to(self.build_dir / name)
    with (prefix / 'lib/cmake/protozero/protozero-targets.cmake').open('a') as file:
      file.write('add_executable(protozero::protozero_plugin IMPORTED)\n'
                 'set_target_properties(protozero::protozero_plugin PROPERTIES '
                 'IMPORTED_LOCATION "%s/bin/protozero_plugin")\n' % prefix)
    return None

  def test(self, page):
    directory = self.scratch / page.path.replace('/', '_')
    directory.mkdir()
    for name, text in page.protos.items():
      (directory / name).parent.mkdir(parents=True, exist_ok=True)
      (directory / name).write_text(text)
      self.results.add('%s: %s' % (page.path, name),
                       self.generate(directory, name))
    names = sorted(page.programs)
    errors = self.pool.map(lambda name: self.test_program(
        directory, name, page.programs[name], page.outputs.get(name),
        name in page.in_c), names)
    for name, error in zip(names, errors):
      self.results.add('%s:%d: %s' % (page.path, page.lines[name], name),
                       error)
    variables = self.scratch / (directory.name + '.env')
    variables.touch()
    for number, kind, hidden, text in page.consoles:
      if hidden:
        variables.write_text(variables.read_text() + hidden)
      self.test_console(page.path, number, kind, text, directory, variables)
    for section, number, kind, name, text in page.steps:
      folder = self.scratch / ('%s.%d' % (directory.name, section))
      if not folder.exists():
        folder.mkdir()
        for name_of_page in [*page.protos, *(
            program + ('.c' if program in page.in_c else '.cc') for program in page.programs)]:
          (folder / name_of_page).parent.mkdir(parents=True, exist_ok=True)
          shutil.copy(directory / name_of_page, folder / name_of_page)
      if kind == 'file':
        (folder / name).write_text(text)
        continue
      code, output = execute(['bash', '-eo', 'pipefail', '-c', text], folder, self.reader)
      is_right = code == 0 and output.rstrip().endswith(name)
      self.results.add('%s:%d: %s' % (page.path, number, text.strip()), None if is_right
                       else 'exit code %d, it printed:\n%s' % (code, output))

  def test_program(self, directory, name, code, expected, is_c):
    source = directory / (name + ('.c' if is_c else '.cc'))
    source.write_text(code)
    command = (C_COMPILER if is_c else [COMPILER] + FLAGS) + ['-I', ROOT / 'include', '-I',
                                    self.headers, source]
    if not re.search(r'\bmain\(', code):
      return self.run(command + ['-c', '-o', directory / (name + '.o')])
    libraries = [] if is_c else [*self.tracing, self.library]
    error = self.run(command + libraries + ['-o', directory / name])
    if error:
      return error
    exit_code, output = execute([str(directory / name)], directory)
    if exit_code != 0:
      return 'exit code %d, output:\n%s' % (exit_code, output)
    if expected is not None and output != expected:
      return 'it printed:\n%sexpected:\n%s' % (output, expected)
    return None

  def test_console(self, path, number, kind, text, directory, variables):
    """Runs the commands of a block one after the other."""
    for part in re.split(r'^\$ ', text, flags=re.M)[1:]:
      command, _, expected = part.partition('\n')
      code, output = execute(
          ['bash', '-o', 'pipefail', '-c', 'set -a; . "$0"; eval "$1"; code=$?; '
           'export -p >"$0"; exit $code', variables, command], directory, self.reader)
      error = None
      is_right = (is_like(output, expected) if kind == 'console like'
                  else output == expected)
      if code != 0 or not is_right:
        error = 'exit code %d, it printed:\n%s' % (code, output)
      self.results.add('%s:%d: $ %s' % (path, number, command), error)


def test_parser(results):
  """The conventions themselves: mistakes in a page are found."""
  for text, expected in [
          ('```cpp\nint a;\n```\n', ':1: code that is not compiled'),
          ('<!-- compile: a -->\ntext\n', ':1: no block follows'),
          ('<!-- compile: a -->\n', ':1: no block follows'),
          ('<!-- output: a -->\n```text\n```\n', 'the output of no program'),
          ('<!-- compile: a -->\n```text\n```\n', ':2: a block of cpp was'),
          ('<!-- compile: a -->\n```cpp\n', ':2: this block has no end'),
          ('<!-- compile: a b -->\n```cpp\n```\n', ':2: not a name'),
          ('<!-- not compiled: why -->\n```cpp\n```\n', None),
          ('```sh\nls\n```\n', ':1: commands that are not run'),
          ('```cmake\n```\n', ':1: commands that are not run'),
          ('text\n\n    tools/run\n', ':3: commands that are not run'),
          ('<!-- run: -->\n\n    tools/run\n', ':3: a fenced block was'),
          ('<!-- not run: why -->\n\n    tools/run\n\ntext\n', None),
          ('text\n\n    some code\n', None),
          ('<!-- another comment -->\n\n```\nplain\n```\n', None),
  ]:
    try:
      Page('page', text)
      problem = ''
    except Error as error:
      problem = str(error)
    wrong = expected not in problem if expected else problem
    results.add('the parser: %s' % (expected or 'no error'),
                'got: %s' % problem if wrong else None)

  for output, expected, answer in [
          ('12 items in /tmp/1.x\n', '7 items in /run/user/1000/2.x\n', True),
          ('  1  2.50 ms  a\n', ' 10    3 ns  a\n', True),
          ('1 lost\n', '1 written\n', False),
          ('a\nb\nc\n', 'a\n...\n', True),
          ('b\nc\n', 'a\n...\n', False),
          ('a\nc\n', '...\nb\n', False),
  ]:
    results.add('the parser: %r is %slike %r' % (output, '' if answer else 'not ', expected),
                None if is_like(output, expected) == answer else 'it says otherwise')

  page = Page('page', 'x\n<!-- compile: a\nhidden\n-->\n\n```cpp\nshown\n```\n'
              '<!-- compile: a\nend\n-->\ny\n')
  lines = [line for line in page.programs['a'].splitlines()
           if not line.startswith('#')]
  results.add('the parser: hidden code', None if lines ==
              ['hidden', 'shown', 'end'] else 'got: %s' % lines)


def main():
  use_compiler_cache()
  pages = [ROOT / 'README.md'] + sorted((ROOT / 'docs').rglob('*.md'))
  with tempfile.TemporaryDirectory() as scratch:
    tester = Tester(pathlib.Path(scratch), pathlib.Path.cwd())
    results = tester.results
    test_parser(results)
    home = tester.pool.submit(tester.prepare_home)
    if tester.prepare():
      results.add('the schema of traces', tester.generate_trace_schema())
      results.add('the installed library', home.result())
      for path in pages:
        name = str(path.relative_to(ROOT))
        try:
          page = Page(name, path.read_text())
        except (Error, OSError) as error:
          results.add(name, str(error))
          continue
        tester.test(page)
  print('%d passed, %d failed' % (results.passed, results.failed))
  return 1 if results.failed else 0


if __name__ == '__main__':
  sys.exit(main())
