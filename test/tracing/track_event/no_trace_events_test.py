#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether PROTOZERO_NO_TRACE_EVENTS leaves nothing of events behind.

Runs in a build directory. The last line of the output is "N passed, N failed".
"""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]

CODE = '''
#include "protozero/tracing/track_event.h"

PROTOZERO_TRACE_CATEGORY("a_category", "a_description", "a_tag");

int Work(int value) {
  PROTOZERO_TRACE_EVENT("a_category", "a_name", "a_key", value);
  PROTOZERO_TRACE_EVENT_BEGIN("a_category", "a_name", protozero::Track(1));
  PROTOZERO_TRACE_EVENT_INSTANT(
      "a_category", "a_name", [&](protozero::trace::TrackEvent* event) {
        event->set_correlation_id(7);
      });
  PROTOZERO_TRACE_COUNTER("a_category", "a_name", value);
  PROTOZERO_TRACE_EVENT_END("a_category");
  return PROTOZERO_TRACE_CATEGORY_ENABLED("a_category") ? 1 : 2;
}
'''

# The same by Perfetto's names.
PERFETTO_CODE = '''
#include "protozero/tracing/perfetto_macros.h"

PERFETTO_DEFINE_CATEGORIES(
    perfetto::Category("a_category").SetDescription("a_description"));
PERFETTO_TRACK_EVENT_STATIC_STORAGE();

int Work(int value) {
  TRACE_EVENT("a_category", "a_name", "a_key", value);
  TRACE_EVENT_BEGIN("a_category", "a_name", perfetto::Track(1));
  TRACE_EVENT_INSTANT("a_category", "a_name", [&](perfetto::EventContext context) {
    context.event()->set_correlation_id(7);
  });
  TRACE_COUNTER("a_category", "a_name", value);
  TRACE_EVENT_END("a_category");
  return TRACE_EVENT_CATEGORY_ENABLED("a_category") ? 1 : 2;
}
'''


def compile_code(folder, code, flags):
  """Returns the undefined and defined symbols, and whether there is a string."""
  source = folder / 'code.cc'
  source.write_text(code)
  target = folder / 'code.o'
  subprocess.run([os.environ.get('CXX', 'c++'), '-std=c++17', '-Wall', '-Wextra',
                  '-Werror', '-Wno-unused-parameter', '-I', ROOT / 'include',
                  '-I', 'gen/include', *flags, '-c', source, '-o', target],
                 check=True)
  symbols = subprocess.run(['nm', '-C', target], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
  content = target.read_bytes()
  return symbols, any(text in content for text in (
      b'a_category', b'a_description', b'a_name', b'a_key', b'a_tag'))


def main():
  passed = failed = 0
  with tempfile.TemporaryDirectory() as name:
    for code, optimization in itertools.product((CODE, PERFETTO_CODE),
                                                ('-O0', '-O2')):
      for off in (False, True):
        flags = [optimization] + ['-DPROTOZERO_NO_TRACE_EVENTS'] * off
        symbols, has_text = compile_code(pathlib.Path(name), code, flags)
        lines = [line for line in symbols.splitlines() if 'Work' not in line]
        # Without optimization, headers leave a few constants of their own.
        events = [line for line in lines if 'Trace' in line]
        # With events, there has to be what is looked for.
        if (has_text or bool(events)) == (not off):
          passed += 1
        else:
          failed += 1
          print('FAIL %s: text: %s\\n%s' % (' '.join(flags), has_text, symbols))
  print('%d passed, %d failed' % (passed, failed))
  return 1 if failed else 0


if __name__ == '__main__':
  sys.exit(main())
