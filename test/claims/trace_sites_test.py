#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claims: an event that no session wants is a load, a test, and a branch that is
not taken, whatever its arguments are (gcc has a scoped one jump); and its call site
takes few bytes of code.
(For x86-64, whose code it reads.)

  trace_sites_test.py

Runs in the build directory.
"""

import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import compilers
from hot_path import disassemble, hot_path

ROOT = pathlib.Path(compilers.SOURCE_ROOT)

PROGRAM = r'''
#include <string>

#include "protozero/tracing/track_event.h"

void Next();
int Expensive();
std::string Text();

#define FUNCTION(name, ...) \
  extern "C" void name() {  \
    Next();                 \
    __VA_ARGS__;            \
    Next();                 \
    asm volatile(""); /* Not by a jump. */ \
  }
FUNCTION(Nothing, )
FUNCTION(Instant, PROTOZERO_TRACE_EVENT_INSTANT("app", "name"))
FUNCTION(Begin, PROTOZERO_TRACE_EVENT_BEGIN("app", "name", "key", Expensive()))
FUNCTION(End, PROTOZERO_TRACE_EVENT_END("app"))
FUNCTION(Values, PROTOZERO_TRACE_EVENT_INSTANT(
    "app", "name", "number", Expensive(), "text", Text(),
    protozero::Flow(static_cast<uint64_t>(Expensive()))))
FUNCTION(Names, PROTOZERO_TRACE_EVENT_INSTANT(
    "app", protozero::DynamicString(Text())))
FUNCTION(Fields, PROTOZERO_TRACE_EVENT_INSTANT(
    "app", "name", [](protozero::trace::TrackEvent* event) {
      event->set_correlation_id(static_cast<uint64_t>(Expensive()));
    }))
FUNCTION(Counter, PROTOZERO_TRACE_COUNTER("app", "name", Expensive()))

// The scope has two ends, so this has a second test: of what the first has
// found, which is in a register.
FUNCTION(Scoped, PROTOZERO_TRACE_EVENT("app", "name", "key", Expensive()))
'''

# The code of a site, with each compiler at -O2: tools/measure_trace_sites prints
# what they take.
MAX_BYTES = {
    'instant': 44, 'slice': 88, 'slice, 1 value': 120, 'slice, 3 values': 160,
    'counter': 70, 'name made at run time': 84,
}

LOAD = re.compile(r'(mov +\w+,|cmp +)DWORD PTR \[rip\+')
TEST = re.compile(r'(test|cmp) ')
BRANCH = re.compile(r'j(?!mp)\w+ ')
# The jump after a test of 0.
TAKEN = r'j(?:e|z|ns)\b'
# Without those that make room for what does not run.
INSTRUCTION = re.compile(r'(?!push|pop|leave|(sub|add|lea|mov) +r[bs]p,|'
                         r'mov +\w+,QWORD PTR \[rbp-)')


def count(pattern, path):
  return sum(1 for instruction in path if pattern.match(instruction))


def check(compiler, level, output):
  subprocess.run([compiler, '-std=c++17', level, '-DNDEBUG',
                  '-I%s' % (ROOT / 'include'), '-Igen/include', '-c', '-o', output,
                  '-x', 'c++', '-'], input=PROGRAM, text=True, check=True)
  disassembly = disassemble(output)
  errors = []
  nothing = count(INSTRUCTION, hot_path(disassembly, 'Nothing'))
  for function, tests, more in (
      ('Instant', 1, 0), ('Begin', 1, 0), ('End', 1, 0), ('Values', 1, 0),
      ('Names', 1, 0), ('Fields', 1, 0), ('Counter', 1, 0),
      # The register is set to 0, which takes gcc two instructions, and jumps.
      ('Scoped', 2, 4)):
    path = hot_path(disassembly, function, TAKEN)
    found = [count(LOAD, path), count(TEST, path), count(BRANCH, path)]
    taken = count(re.compile(TAKEN), path)
    # A comparison with memory is a load and a test.
    instructions = count(INSTRUCTION, path) - nothing
    if (found != [1, tests, tests] or (taken and function != 'Scoped') or
        not 2 * tests <= instructions <= 1 + 2 * tests + more):
      errors.append('%s: loads, tests and branches: %s, %d instructions\n%s' %
                    (function, found, instructions, '\n'.join(path)))
  if level == '-O2':
    errors += check_bytes(compiler)
  return errors


def check_bytes(compiler):
  loader = importlib.machinery.SourceFileLoader(
      'measure_trace_sites', str(ROOT / 'tools' / 'measure_trace_sites'))
  tool = importlib.util.module_from_spec(
      importlib.util.spec_from_loader(loader.name, loader))
  loader.exec_module(tool)
  errors = []
  for kind, limit in MAX_BYTES.items():
    code, _ = tool.measure_site(compiler, tool.OURS, kind, pathlib.Path(os.curdir))
    if not 10 < code <= limit:
      errors.append('%s: %d bytes of code' % (kind, code))
  return errors


if __name__ == '__main__':
  sys.dont_write_bytecode = True
  compilers.check_optimized(check)
