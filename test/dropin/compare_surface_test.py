#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests that our surface differs from Perfetto's only in the listed facts."""

import contextlib
import io
import pathlib
import re
import sys
import unittest

import compare_surface
from cases import run_cases
from compare_surface import (check, find_differences, read_list, read_lists,
                             surface)


def skip_if(reason):
  if reason:
    raise unittest.SkipTest(reason)


def output_of_check(*args):
  output = io.StringIO()
  with contextlib.redirect_stdout(output):
    code = check(*args)
  return code, output.getvalue()


class SurfaceTest(unittest.TestCase):

  def check_version(self, version):
    skip_if(compare_surface.why_no_surface() or
            compare_surface.why_no_sdk(version))
    differences = compare_surface.compare(pathlib.Path.cwd(), version)
    code, output = output_of_check(differences, *read_lists(version))
    self.assertEqual(code, 0, output)

  def test_differences_are_the_listed_ones(self):
    self.check_version('v48.1')

  def test_differences_from_v59_are_the_listed_ones(self):
    self.check_version('v59')

  def test_what_needs_a_change_is_documented(self):
    page = (compare_surface.ROOT / 'docs' / 'coming-from-perfetto.md').read_text()
    reasons, _ = read_lists('v59')
    for difference, reason in reasons.items():
      if reason.startswith(('Compiles unchanged', 'Our schema')):
        continue
      name = re.search(r'::(?:proto_utils::)?([A-Za-z]+)|header (\S+)', difference)
      self.assertIn(name[1] or name[2], page, difference)

  def test_facts_of_a_header(self):
    skip_if(compare_surface.why_no_surface())
    root = surface.parse(
        '''
        namespace p { inline namespace v1 {
        namespace internal { template <class T> struct Hidden { void m(T) {} }; }
        enum class Kind { kOne = 1 };
        class Base { public: explicit Base(int); protected: void no(); };
        struct Derived : Base, internal::Hidden<int> {
          using Base::Base;
          Derived(const Derived&) = delete;
          template <class U> static U f(const U* u, Kind kind = Kind::kOne);
          static constexpr int kMax = 7;
          using Alias = int;
          int member;
          auto get() const { return member; }
        };
        } }''', [])
    facts = {fact.text for fact in surface.facts_of_namespace(root, ('p',))}
    self.assertEqual(
        facts, {
            'base p::Derived : Base',
            'base p::Derived : Hidden',
            'class p::Base',
            'class p::Derived',
            'constant p::Derived::kMax = 7',
            'constant p::Kind::kOne = 1',
            'enum p::Kind',
            'function p::Base::Base(int)',
            'function p::Derived::Derived(int)',
            'function p::Derived::f(const $1*) -> $1, static',
            'function p::Derived::f(const $1*, Kind) -> $1, static',
            'function p::Derived::get() const -> int',
            'function p::Derived::m($1) -> void',
            'member p::Derived::member: int',
            'type p::Derived::Alias',
        })


class ListTest(unittest.TestCase):

  REASONS = {'function f()': 'why', 'class %::X': 'why not'}

  def test_a_reason_is_for_what_follows(self):
    self.assertEqual(
        read_list('# Comment.\n\nBecause\nof this.\n  a b\n  c\n\nOther.\n  d'), {
            'a b': 'Because of this.',
            'c': 'Because of this.',
            'd': 'Other.'
        })
    with self.assertRaises(ValueError):
      read_list('# No reason.\n  a')

  def test_what_is_listed_passes(self):
    code, output = output_of_check(['function f()', 'class a::X'], self.REASONS)
    self.assertEqual((code, output), (0, '2 differences, all of them known\n'))

  def test_what_is_not_listed_fails(self):
    code, output = output_of_check(
        ['function f()', 'class a::X', 'function f(int)'], self.REASONS)
    self.assertEqual(code, 1)
    self.assertIn('ours has not: function f(int)', output)

  def test_what_is_listed_and_not_different_fails(self):
    code, output = output_of_check(['function f()'], self.REASONS)
    self.assertEqual(code, 1)
    self.assertIn('remove it from differences.txt: class %::X', output)

  def test_only_what_is_expected_has_to_differ(self):
    differences = ['function f()']
    self.assertEqual(
        output_of_check(differences, self.REASONS, {'function f()': ''})[0], 0)
    self.assertEqual(
        output_of_check(differences, self.REASONS, {'class %::X': ''})[0], 1)

  def test_an_alias_stands_for_a_class(self):
    skip_if(compare_surface.why_no_surface())
    theirs = {
        surface.Fact('class p::A', 'class p::A<int>'),
        surface.Fact('class p::B', 'class p::B'),
    }
    ours = {surface.Fact('type p::A', 'type p::A')}
    self.assertEqual(find_differences(theirs, ours), ['class p::B'])


if __name__ == '__main__':
  sys.exit(run_cases())
