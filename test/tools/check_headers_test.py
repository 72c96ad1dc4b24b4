#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that tools/check_headers finds what it is there to find."""

import pathlib
import sys
import tempfile
import unittest

from cases import load_tool, run_cases

check_headers = load_tool('check_headers')

MACROS = {'PROTOZERO_COLD', 'PROTOZERO_ABI_BEGIN'}
FOR_USERS = 'include/protozero/message.h'
GENERATED = 'gen/my.pbzero.h'
INTERNAL = 'include/protozero/internal/varint.h'

GOOD = '''\
#include <string>
#include "protozero/const_bytes.h"
#include "protozero/internal/macros.h"
// PROTOZERO_COLD
PROTOZERO_COLD void F();
'''
UNDEF = '#include "protozero/internal/undef_macros.h"\n'


def order_errors(name, text):
  return check_headers.macro_order_errors(
      name, text, MACROS, for_users=name in (FOR_USERS, GENERATED))


class MacroOrderTest(unittest.TestCase):

  def assert_error(self, name, text, error):
    errors = order_errors(name, text)
    self.assertEqual(len(errors), 1, errors)
    self.assertIn(error, errors[0])

  def test_good_files(self):
    self.assertEqual(order_errors(FOR_USERS, GOOD + UNDEF), [])
    self.assertEqual(order_errors(GENERATED, GOOD + UNDEF), [])
    self.assertEqual(order_errors(INTERNAL, GOOD), [])
    self.assertEqual(order_errors('src/protozero/message.cc', GOOD), [])
    self.assertEqual(order_errors(FOR_USERS, '#include <string>\n'), [])

  def test_header_for_users_keeps_the_macros(self):
    self.assert_error(FOR_USERS, GOOD, 'does not end with')
    self.assert_error(GENERATED, GOOD, 'does not end with')
    self.assert_error(FOR_USERS, '#include "protozero/internal/varint.h"\n',
                      'leaves the macros')

  def test_internal_file_undefines_them(self):
    self.assert_error(INTERNAL, GOOD + UNDEF, 'undefines the macros of those')

  def test_another_header_behind_the_macros(self):
    # It undefines them, or not, by whether it was included before.
    text = GOOD.replace('// PROTOZERO_COLD', '#include "protozero/field.h"')
    self.assert_error(FOR_USERS, text + UNDEF, 'must be the last')
    self.assert_error('src/protozero/message.cc', text, 'must be the last')

  def test_internal_header_may_follow(self):
    text = GOOD + '#include "protozero/internal/varint.h"\n'
    self.assertEqual(order_errors(FOR_USERS, text + UNDEF), [])

  def test_macro_without_its_header(self):
    text = GOOD.replace('#include "protozero/internal/macros.h"\n', '')
    self.assert_error(INTERNAL, text, 'PROTOZERO_COLD without')

  def test_macro_too_late(self):
    self.assert_error(FOR_USERS, GOOD + UNDEF + 'PROTOZERO_COLD int i;\n',
                      'PROTOZERO_COLD behind')
    self.assert_error(FOR_USERS, GOOD + UNDEF + '#include <map>\n',
                      'an #include behind')


class InTree(unittest.TestCase):
  """With a tree of its own in place of the project."""

  def setUp(self):
    # pylint: disable=consider-using-with
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.root = pathlib.Path(folder.name)
    for name in 'ROOT', 'INTERNAL_USERS':
      self.addCleanup(setattr, check_headers, name,
                      getattr(check_headers, name))
    check_headers.ROOT = self.root
    check_headers.INTERNAL_USERS = set()
    self.write('include/protozero/README.md',
               '| [`config.h`](config.h), [`a.h`](a.h) | for users |\n')
    self.write('include/protozero/config.h', '#define PROTOZERO_KNOB 1\n')
    self.write('include/protozero/a.h', '#include "protozero/config.h"\n')

  def write(self, name, text):
    path = self.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

  def files(self):
    return sorted(path for path in self.root.rglob('*') if path.is_file())

  def assert_error(self, check, error):
    errors = check(self.files())
    self.assertEqual(len(errors), 1, errors)
    self.assertIn(error, errors[0])


class ToursTest(InTree):

  def test_nothing_to_find(self):
    self.write('include/protozero/internal/b.h', '')
    self.write('include/protozero/internal/README.md', '| [`b.h`](b.h) | B |')
    self.assertEqual(check_headers.check_tours(self.files()), [])

  def test_new_header(self):
    self.write('include/protozero/new.h', '')
    self.assert_error(check_headers.check_tours,
                      'include/protozero/README.md does not list new.h')

  def test_folder_without_a_page(self):
    self.write('include/protozero/tracing/b.h', '')
    self.assert_error(check_headers.check_tours,
                      'include/protozero/tracing/README.md does not list b.h')

  def test_header_that_is_gone(self):
    (self.root / 'include/protozero/a.h').unlink()
    self.assert_error(check_headers.check_tours, 'lists a.h, which is not there')

  def test_header_in_two_rows(self):
    with (self.root / 'include/protozero/README.md').open('a') as page:
      page.write('| [`a.h`](a.h) | the same again |\n')
    self.assert_error(check_headers.check_tours, 'lists a.h more than once')


class CommentsTest(InTree):

  def assert_fine(self, text):
    self.write('a.cc', text)
    self.assertEqual(check_headers.check_comments(self.files()), [])

  def test_verbs_and_nouns(self):
    self.assert_fine('// Returns what\n// What is behind it.\nint a;  // Bytes.\n')

  def test_riddles(self):
    for text in ('// What it is.\n', 'int a;\n  /// Of all.\n', '/* As such. */\n',
                 'int a;  // Whether.\n// That line is one comment, and this another.\n',
                 '// A line.\nint a;\n// How often.\n', 'a("//");  // Those.\n'):
      with self.subTest(text=text):
        self.write('a.h', text)
        self.assert_error(check_headers.check_comments, 'a comment begins with')

  def test_leaning_words(self):
    for text in ('// Does the same.\n', '// Starts anew.\n', '// At the begin.\n',
                 '// Nobody reads it.\n', '// In use by somebody else.\n'):
      self.write('a.h', text)
      self.assert_error(check_headers.check_comments, 'say it in other words')

  def test_strings(self):
    self.assert_fine('a("// What");\na("\\"// Of");\na(R"x(\n// As )"\n)x");\n')

  def test_files_that_are_generated_or_in_another_language(self):
    self.write('golden/a.h', '// What it is.\n')
    self.write('a.py', '# What it is.\n')
    self.assert_fine('')


class RoomsTest(InTree):

  def test_nothing_to_find(self):
    self.write('src/pztrace/main.cc', '#include "src/pztrace/commands/cut.h"\n')
    self.write('src/pztrace/tasks/a.cc', '#include "src/pztrace/tasks/a.h"\n'
               '#include "src/pztrace/events/b.h"\n'
               '#include "src/pztrace/program_name.h"\n')
    self.assertEqual(check_headers.check_rooms(self.files()), [])

  def test_wall(self):
    for room, other in (('events', 'tasks'), ('record', 'commands'),
                        ('page', 'tables')):
      self.write('src/pztrace/%s/a.cc' % room,
                 '#include "src/pztrace/%s/b.h"\n' % other)
      self.assert_error(check_headers.check_rooms,
                        'must not include "src/pztrace/%s/b.h"' % other)
      (self.root / 'src/pztrace' / room / 'a.cc').unlink()

  def test_new_room(self):
    self.write('src/pztrace/attic/a.h', '')
    self.assert_error(check_headers.check_rooms, 'attic is not in ROOMS')


class CirclesTest(InTree):

  def test_nothing_to_find(self):
    self.write('src/tracing/a.h', '')
    self.write('src/tracing/a.cc', '#include "src/tracing/a.h"\n'
                                   '#include "src/tracing/b.h"\n')
    self.write('src/tracing/b.h', '#include "src/tracing/c.h"\n')
    self.write('src/tracing/c.h', '')
    self.assertEqual(check_headers.check_circles(self.files()), [])

  def test_circle_by_way_of_a_source(self):
    self.write('src/pztrace/top.cc', '#include "src/tracing/a.h"\n')
    self.write('src/tracing/a.cc', '#include "src/tracing/b.h"\n')
    self.write('src/tracing/b.h', '#include "protozero/tracing/c.h"\n')
    self.write('include/protozero/tracing/c.h', '#include "src/tracing/a.h"\n'
                                                '#include "src/tracing/d.h"\n')
    self.write('src/tracing/d.h', '')
    self.assert_error(
        check_headers.check_circles, 'in a circle: include/protozero/tracing/c '
        'src/tracing/a src/tracing/b')


class UsersTest(InTree):

  def test_nothing_to_find(self):
    self.write('include/protozero/internal/b.h', '')
    self.write('src/protozero/a.cc', '#include "protozero/internal/b.h"\n')
    self.assertEqual(check_headers.check_internal_users(self.files()), [])

  def test_internal_header_included_elsewhere(self):
    for name in 'examples/x/main.cc', 'docs/page.md', 'test/y_unittest.cc':
      self.write(name, '#include "protozero/tracing/internal/b.h"\n')
      self.assert_error(check_headers.check_internal_users,
                        name + ': must not include')
      (self.root / name).unlink()

  def test_example_includes_a_source(self):
    self.write('examples/x/main.cc', '#include "src/program/io.h"\n')
    self.assert_error(check_headers.check_internal_users, 'must not include "src/program')

  def test_listed_user_without_a_use(self):
    check_headers.INTERNAL_USERS = {'test/y_unittest.cc'}
    self.write('test/y_unittest.cc', '')
    self.assert_error(check_headers.check_internal_users,
                      'includes nothing internal')


class VisibleMacrosTest(InTree):

  def leaks(self, text):
    self.write('include/protozero/a.h',
               '#ifndef INCLUDE_PROTOZERO_A_H_\n'
               '#define INCLUDE_PROTOZERO_A_H_\n%s#endif\n' % text)
    return [error.split(' (')[0] for error in
            check_headers.check_visible_macros(self.files())]

  def test_those_of_users_guards_and_the_standard_library(self):
    self.assertEqual(
        self.leaks('#include <limits.h>\n#include "protozero/config.h"\n'), [])

  def test_any_other(self):
    for name in 'PROTOZERO_LIKELY', 'HOT':
      found = self.leaks('#define %s 1\n' % name)
      self.assertEqual(set(found),
                       {'protozero/a.h: leaves the macro ' + name})

  def test_what_looks_like_a_guard(self):
    found = self.leaks('#ifndef HOT\n#define HOT\n#endif\n')
    self.assertEqual(set(found), {'protozero/a.h: leaves the macro HOT'})

  def test_undefined_ones(self):
    self.assertEqual(self.leaks('#define HOT\n#undef HOT\n'), [])

  def test_in_one_branch(self):
    found = self.leaks('#if PROTOZERO_INLINE_SETTERS && __OPTIMIZE__\n'
                       '#define HOT\n#endif\n')
    self.assertEqual(set(found), {'protozero/a.h: leaves the macro HOT'})


class HeavyHeadersTest(InTree):

  def heavy(self, text):
    self.write('include/protozero/a.h', text)
    return {pathlib.Path(path).name for path in
            check_headers.heavy_headers(['protozero/a.h'])}

  def test_light_and_own_headers(self):
    self.assertEqual(
        self.heavy('#include <string>\n#include "protozero/config.h"\n'), set())

  def test_heavy_header(self):
    self.assertIn('iterator', self.heavy('#include <iterator>\n'))

  def test_heavy_header_for_other_compilers(self):
    self.assertEqual(
        self.heavy('#if !defined(__GNUC__)\n#include <atomic>\n#endif\n'),
        set())


if __name__ == '__main__':
  sys.exit(run_cases())
