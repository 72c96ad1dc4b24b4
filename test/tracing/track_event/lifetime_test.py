#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Events before main() and after it, of programs that are killed, and of several
shared libraries in one program, each with the library linked into it.

Runs in a build directory.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / 'test' / 'testing'))
from cases import run_cases  # pylint: disable=wrong-import-position

BUILD = pathlib.Path.cwd()
PZTRACE = BUILD / 'pztrace'
PROGRAM = BUILD / 'lifetime_program'

LIBRARY = '''
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

extern "C" __attribute__((visibility("default"))) void
TRACE(const char* path, void (*inner)()) {
  protozero::LocalTrace trace(path);
  PROTOZERO_TRACE_EVENT("app", "slice of " TEXT(NAME));
  PROTOZERO_TRACE_EVENT_INSTANT("app", "instant of " TEXT(NAME));
  if (inner != nullptr)
    inner();
}
'''

MAIN = '''
#include <dlfcn.h>
#include <stdio.h>
#include <string>

using Inner = void (*)();
using Trace = void (*)(const char*, Inner);

extern "C" void Trace_linked(const char* path, Inner inner);
static Trace loaded;
static std::string path_of_loaded;

int main(int argc, char** argv) {
  if (argc < 4)
    return 2;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    puts(dlerror());
    return 1;
  }
  loaded = reinterpret_cast<Trace>(dlsym(library, "Trace_loaded"));
  path_of_loaded = argv[3];
  // The one traces while the other does.
  Trace_linked(argv[2], [] { loaded(path_of_loaded.c_str(), nullptr); });
  return 0;
}
'''


def names_in(trace):
  """The names of the events, in the order of the file."""
  output = subprocess.run([PZTRACE, 'cat', trace], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
  return re.findall(r'^ +(?:event_names \{\n +iid: \d+\n +)?name: "(.*)"$',
                    output, re.M)


class LifetimeTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = pathlib.Path(folder.name)
    self.trace = self.folder / 'trace'
    self.env = dict(os.environ, TRACE_FILE=str(self.trace))

  def test_static_objects_and_thread_local_ones(self):
    subprocess.run([PROGRAM, 'statics'], check=True, env=self.env)
    # A file has the events of each thread in their order.
    names = names_in(self.trace)
    for tracer, events in (('outside', []), ('inside', ['begins', 'ends']),
                           ('thread', ['begins', 'runs', 'ends'])):
      self.assertEqual([name.split()[1] for name in names
                        if name.startswith(tracer + ' ')], events)

  def test_killed_while_it_records_itself(self):
    with subprocess.Popen([PROGRAM, 'kill_local'], env=self.env,
                          stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
      self.assertEqual(process.stdout.readline(), b'traced\n')
      # What it has traced arrives with the next period.
      while self.count_slices() < 100:
        time.sleep(0.01)
      process.stdin.close()
      self.assertLess(process.wait(), 0)
    self.assertEqual(self.count_slices(), 100)

  def test_cancelled_thread(self):
    self.assertEqual(
        subprocess.run([PROGRAM, 'cancel'], check=False, env=self.env)
        .returncode, 0)
    self.assertEqual(self.count_slices(), 10000)

  def exit_code_of(self, how, signum):
    with subprocess.Popen([PROGRAM, how], env=self.env,
                          stdout=subprocess.PIPE) as process:
      if process.stdout.readline() == b'cannot\n':
        process.kill()
        self.skipTest('another library has a thread, too')
      process.send_signal(signum)
      return process.wait()

  def test_signals_end_a_program_without_threads(self):
    for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
                   signal.SIGALRM, signal.SIGUSR1):
      self.assertEqual(self.exit_code_of('end_main', signum), -signum)

  def test_signals_are_those_of_the_program(self):
    self.assertEqual(
        self.exit_code_of('wait_and_end_main', signal.SIGTERM), 5)

  def count_slices(self):
    output = subprocess.run([PZTRACE, 'top', self.trace], check=True,
                            stdout=subprocess.PIPE).stdout.decode()
    return int(re.search(r'^(\d+) slices of', output, re.M)[1])

  def test_killed_while_others_record_it(self):
    subprocess.run([PZTRACE, 'record', '-o', self.trace, '--', PROGRAM, 'kill'],
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual(self.count_slices(), 100)


class SharedLibrariesTest(unittest.TestCase):

  def test_each_has_events_of_its_own(self):
    temporary = tempfile.TemporaryDirectory()
    self.addCleanup(temporary.cleanup)
    folder = pathlib.Path(temporary.name)
    subprocess.run(
        [ROOT / 'tools/amalgamate', '--out', folder, '--tracing',
         '--protoc', BUILD / 'protoc', '--plugin', BUILD / 'protozero_plugin'],
        check=True, stdout=subprocess.PIPE)
    (folder / 'library.cc').write_text(LIBRARY)
    (folder / 'main.cc').write_text(MAIN)
    def compile_with(*args):
      result = subprocess.run(
          ['g++', '-std=c++17', '-O1', '-DNDEBUG', '-fPIC', '-pthread',
           '-fvisibility=hidden', '-fvisibility-inlines-hidden', '-I.', *args],
          cwd=folder, check=False, stderr=subprocess.PIPE)
      self.assertEqual(result.returncode, 0, result.stderr.decode())
    for source in 'protozero', 'protozero_tracing':
      compile_with('-c', source + '.cc', '-o', source + '.o')
    for name in 'linked', 'loaded':
      compile_with('-shared', '-DNAME=' + name, '-DTRACE=Trace_' + name,
                   'library.cc', 'protozero.o', 'protozero_tracing.o',
                   '-o', 'lib%s.so' % name)
    compile_with('main.cc', '-o', 'program', '-L.', '-llinked', '-ldl',
                 '-Wl,-rpath,$ORIGIN')
    traces = [folder / name for name in ('linked', 'loaded')]
    subprocess.run([folder / 'program', folder / 'libloaded.so',
                    *traces], check=True)
    for trace in traces:
      names = names_in(trace)
      for other in 'linked', 'loaded':
        for what in 'slice of ', 'instant of ':
          self.assertEqual(names.count(what + other),
                           1 if trace.name == other else 0, names)


if __name__ == '__main__':
  sys.exit(run_cases())
