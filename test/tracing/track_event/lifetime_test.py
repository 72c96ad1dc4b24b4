#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Events before main() and after it, of programs that are killed, and of several
shared libraries in one program, each with the library linked into it.

Runs in a build directory.
"""

import csv
import io
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path.cwd()
PZTRACE = BUILD / 'pztrace'
PROGRAM = BUILD / 'lifetime_program'

TRACER = '''
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/track_event.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

// The same function in all of them, for the dynamic linker.
inline void TraceShared() {
  PROTOZERO_TRACE_EVENT("app", "shared");
}

extern "C" __attribute__((visibility("default"))) void
TRACE(const char* path, void (*inner)()) {
  protozero::LocalTrace trace(path);
  PROTOZERO_TRACE_EVENT("app", "slice of " TEXT(NAME));
  PROTOZERO_TRACE_EVENT_INSTANT("app", "instant of " TEXT(NAME));
  TraceShared();
  inner();
}
'''

MAIN = '''
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <semaphore.h>
#include <string>
#include <thread>

using Inner = void (*)();
using Trace = void (*)(const char*, Inner);

extern "C" void Trace_linked(const char* path, Inner inner);
extern "C" void Trace_program(const char* path, Inner inner);
static Trace loaded;
static std::string folder;

static void* Open() {
  void* const library =
      dlopen((folder + "/libloaded.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    puts(dlerror());
  else
    loaded = reinterpret_cast<Trace>(dlsym(library, "Trace_loaded"));
  return library;
}

int main(int, char** argv) {
  folder = argv[1];
  void* library = Open();
  if (library == nullptr)
    return 1;
  // A library that has not traced is unloaded.
  dlclose(library);
  if (dlopen((folder + "/libloaded.so").c_str(), RTLD_NOW | RTLD_NOLOAD) !=
      nullptr) {
    return 4;
  }
  library = Open();
  // Each traces while the others do.
  Trace_program((folder + "/program.trace").c_str(), [] {
    Trace_linked((folder + "/linked.trace").c_str(), [] {
      loaded((folder + "/loaded.trace").c_str(), [] {});
    });
  });
  // Threads that have traced in a library end when it has been closed.
  pthread_key_t key_before;
  if (pthread_key_create(&key_before, nullptr) != 0)
    return 2;
  pthread_key_delete(key_before);
  for (int i = 0; i < 3; ++i) {
    sem_t has_traced, is_closed;
    sem_init(&has_traced, 0, 0);
    sem_init(&is_closed, 0, 0);
    std::thread thread([&] {
      loaded("/dev/null", [] {});
      sem_post(&has_traced);
      sem_wait(&is_closed);
    });
    sem_wait(&has_traced);
    dlclose(library);
    sem_post(&is_closed);
    thread.join();
    library = Open();
  }
  pthread_key_t key;
  if (pthread_key_create(&key, nullptr) != 0)
    return 2;
  // The library has not taken others.
  return key == key_before ? 0 : 3;
}
'''


COROUTINE = '''
#include <coroutine>
#include "protozero/tracing/track_event.h"

struct Task {
  struct promise_type {
    Task get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() {}
  };
};

Task Run(int number, const protozero::Track& track) {
  PROTOZERO_TRACE_EVENT("app", "run", "number", number);
  co_await std::suspend_never();
  PROTOZERO_TRACE_EVENT("app", "go on", track, "twice", 2 * number);
  co_await std::suspend_never();
}
'''


def names_in(trace):
  """The names of the events, in the order of the file."""
  output = subprocess.run([PZTRACE, 'cat', trace], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
  return re.findall(r'^ +(?:event_names \{\n +iid: \d+\n +)?name: "(.*)"$',
                    output, re.M)


def slices_in(trace):
  """The names of the slices."""
  output = subprocess.run(
      [PZTRACE, 'export', '--slices', '--host', 'any', trace], check=True,
      stdout=subprocess.PIPE).stdout.decode()
  return [row['name'] for row in csv.DictReader(io.StringIO(output))]


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
      # Its events arrive with the next period.
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
    # A shell that runs the tests in the background may ignore the signal.
    with subprocess.Popen([PROGRAM, how], env=self.env, stdout=subprocess.PIPE,
                          preexec_fn=lambda: signal.signal(signum, signal.SIG_DFL)
                          ) as process:
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
  """A program, a library that it links with, and one that it loads: each has the
  two files of tools/amalgamate, compiled without any flags for visibility."""

  @classmethod
  def setUpClass(cls):
    temporary = tempfile.TemporaryDirectory()
    cls.addClassCleanup(temporary.cleanup)
    cls.folder = pathlib.Path(temporary.name)
    subprocess.run(
        [ROOT / 'tools/amalgamate', '--out', cls.folder, '--tracing',
         '--protoc', BUILD / 'protoc', '--plugin', BUILD / 'protozero_plugin'],
        check=True, stdout=subprocess.PIPE)
    (cls.folder / 'tracer.cc').write_text(TRACER)
    (cls.folder / 'main.cc').write_text(MAIN)
    (cls.folder / 'coroutine.cc').write_text(COROUTINE)

  def compile_with(self, *args):
    result = subprocess.run(
        [*args, '-Wall', '-Wextra', '-fPIC', '-pthread', '-I.'],
        cwd=self.folder, check=False, stderr=subprocess.PIPE)
    self.assertEqual((result.returncode, result.stderr.decode()), (0, ''))

  def check_each_has_events_of_its_own(self, *compiler):
    compiler += ('-std=c++17',)
    objects = ['protozero.o', 'protozero_tracing.o']
    for name in objects:
      self.compile_with(*compiler, '-O0', '-c', name[:-1] + 'cc', '-o', name)
    whose = 'linked', 'loaded', 'program'
    # Calls that are inlined, and calls that the dynamic linker binds, at once
    # or when they come.
    for optimization, binding in ('-O0', '-Wl,-z,now'), ('-O2', '-Wl,-z,lazy'):
      for name in whose:
        self.compile_with(*compiler, optimization, '-c', '-DNAME=' + name,
                          '-DTRACE=Trace_' + name, 'tracer.cc', '-o',
                          name + '.o')
      for name in 'linked', 'loaded':
        self.compile_with(*compiler, binding, '-shared', name + '.o', *objects,
                          '-o', 'lib%s.so' % name)
      self.compile_with(*compiler, binding, 'main.cc', 'program.o', *objects,
                        '-o', 'program', '-L.', '-llinked', '-ldl',
                        '-Wl,-rpath,$ORIGIN')
      subprocess.run([self.folder / 'program', self.folder], check=True)
      num_shared = 0
      for name in whose:
        slices = slices_in(self.folder / (name + '.trace'))
        num_shared += slices.count('shared')
        self.assertEqual(set(slices) - {'shared'}, {'slice of ' + name})
        self.assertEqual(slices.count('slice of ' + name), 1)
        names = names_in(self.folder / (name + '.trace'))
        for other in whose:
          self.assertEqual(names.count('instant of ' + other),
                           int(name == other), names)
      self.assertEqual(num_shared, len(whose))

  def test_gcc(self):
    # Otherwise, gcc would keep the libraries loaded by itself.
    self.check_each_has_events_of_its_own('g++', '-fno-gnu-unique')

  def test_clang(self):
    self.check_each_has_events_of_its_own(os.environ.get('CLANG', 'clang++-19'))

  def test_no_compiler_warns_of_visibility(self):
    for flags in ([], ['-fvisibility-inlines-hidden'],
                  ['-fvisibility=hidden', '-fvisibility-inlines-hidden']):
      self.compile_with('g++', '-std=c++20', *flags, '-fsyntax-only',
                        'coroutine.cc')


if __name__ == '__main__':
  sys.exit(run_cases())
