#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Compares our public surface with that of Perfetto's protozero.

  test/dropin/compare_surface.py --build=out/release
  test/dropin/compare_surface.py --build=out/release --print
  test/dropin/compare_surface.py --build=out/release --version=v59

Takes each header, class, function, constant and type that Perfetto's SDK has in
namespace protozero, and those of generated classes about fields that our
schemas have, too, and looks for the same here. A missing or different fact has
to stand in differences.txt with a reason; an entry without a difference has to
go. So that list can only get shorter. Our additions are not compared.

Its C SDK is of a newer version, and has the same headers inside. For these, more
differences stand in differences_v59.txt.

Needs Perfetto's SDK and libclang's Python package, which
tools/install-build-deps --perfetto-sdk and --tracers install; says so and
passes if one is missing.
"""

import argparse
import functools
import pathlib
import re
import sys

# Debian's packages, for another Python than Debian's, too.
sys.path.append('/usr/lib/python3/dist-packages')
try:
  import surface
except ImportError:
  surface = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
THIRD_PARTY = ROOT / 'third_party'
# By version: the file with all of the SDK, and the lists of differences.
AMALGAMATIONS = {
    'v48.1': THIRD_PARTY / 'perfetto_sdk' / 'perfetto.h',
    'v59': THIRD_PARTY / 'perfetto_c_sdk' / 'perfetto_c.cc',
}
LIST = pathlib.Path(__file__).with_name('differences.txt')
LISTS = {'v48.1': [LIST],
         'v59': [LIST, LIST.with_name('differences_v59.txt')]}
RUNTIME = ('protozero',)
GENERATED = ('perfetto', 'protos', 'pbzero')
GENERATED_HEADER = 'test/benchmarks/perfetto_trace.pbzero.h'

_ACCESSORS = re.compile(
    r'^(?:set_|add_|has_|k(?=[A-Z])|FieldMetadata_)?(.*?)(?:FieldNumber)?$')


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--build',
                      type=pathlib.Path,
                      required=True,
                      help='where the headers are generated')
  parser.add_argument('--print',
                      action='store_true',
                      dest='prints',
                      help='print the differences; read no list')
  parser.add_argument('--version', choices=AMALGAMATIONS, default='v48.1')
  args = parser.parse_args()
  for reason in (why_no_surface(), why_no_sdk(args.version)):
    if reason:
      print(f'skipped: {reason}')
      return 0
  differences = compare(args.build, args.version)
  if args.prints:
    print('\n'.join(differences))
    return 0
  return check(differences, *read_lists(args.version))


def why_no_sdk(version):
  """Why Perfetto's SDK cannot be looked at; None if it can."""
  if AMALGAMATIONS[version].exists():
    return None
  return f"Perfetto's SDK {version} is not in third_party"


def why_no_surface():
  """Why the module that looks at headers cannot be used; None if it can."""
  if surface is None:
    return 'there is no libclang for Python (python3-clang-19)'
  if not pathlib.Path(surface.LIBCLANG).exists():
    return f'there is no {surface.LIBCLANG}'
  return None


@functools.lru_cache
def our_facts(build):
  """The facts of the library, and of generated classes."""
  includes = [f'protozero/{name}' for name in our_headers()]
  root = surface.parse(
      ''.join(f'#include "{name}"\n' for name in [*includes, GENERATED_HEADER]),
      [f'-I{ROOT / "include"}', f'-I{build / "gen"}'])
  return (surface.facts_of_namespace(root, RUNTIME),
          surface.facts_of_namespace(root, GENERATED))


def our_headers():
  return sorted(
      path.name for path in (ROOT / 'include' / 'protozero').glob('*.h'))


def compare(build, version):
  """Returns what Perfetto's protozero has and ours has not, as lines."""
  ours, our_classes = our_facts(build)
  path = AMALGAMATIONS[version]
  amalgamation = path.read_text()
  if path.suffix == '.h':
    text = f'#include "{path.name}"\n'
  else:
    text = headers_in_source(amalgamation, our_classes)
  theirs = surface.parse(text, [f'-I{path.parent}'])

  differences = missing_headers(amalgamation, our_headers())
  differences += find_differences(surface.facts_of_namespace(theirs, RUNTIME),
                                  ours)
  their_classes = surface.facts_of_namespace(theirs, GENERATED)
  differences += find_differences(
      facts_about_known_fields(their_classes, our_classes), our_classes)
  return differences


def headers_in_source(amalgamation, our_classes):
  """The C++ headers of protozero that the source of the C SDK has inside, with
  those of the generated classes that ours has."""
  classes = {fact.name.rpartition('::')[2] for fact in our_classes
             if fact.name.startswith('class ')}
  texts = ['#include "perfetto_c.h"']
  for header in re.finditer(
      r'^#ifndef (\w+_H_)\n#define \1\n.*?^#endif  // (?:\1|Include guard\.)$',
      amalgamation, re.M | re.S):
    guard, text = header[1], header[0]
    if guard.startswith(('INCLUDE_PERFETTO_PROTOZERO_', 'INCLUDE_PERFETTO_BASE_',
                         'INCLUDE_PERFETTO_PUBLIC_', 'GEN_BUILD_CONFIG_')) or (
        classes & set(re.findall(r'^class (\w+) : public ::protozero::Message \{',
                                 text, re.M))):
      texts.append(text)
  return '\n'.join(texts)


def missing_headers(amalgamation, ours):
  theirs = re.findall(r'begin header: include/perfetto/protozero/(\S+)',
                      amalgamation)
  return [f'header {name}' for name in sorted(set(theirs) - set(ours))]


def find_differences(theirs, ours):
  """Returns those of |theirs| that are not among |ours|, as lines."""
  our_texts = {fact.text for fact in ours}
  our_names = {fact.name for fact in ours}

  def is_there(fact):
    kind, name = fact.name.split(' ', 1)
    # A class may as well be an alias of one.
    return fact.text in our_texts or (kind == 'class' and
                                      f'type {name}' in our_names)

  return sorted(fact.text for fact in theirs if not is_there(fact))


def facts_about_known_fields(theirs, ours):
  """The facts of |theirs| about classes and fields that |ours| has."""
  our_names = {fact.name for fact in ours}
  our_fields = _fields_by_class(ours)
  their_fields = _fields_by_class(theirs)
  known = set()
  for fact in theirs:
    kind, name = fact.name.split(' ')[:2]
    scope, _, member = name.rpartition('::')
    if f'class {scope}' not in our_names:
      continue
    message = scope.removesuffix('_Decoder')
    field = _ACCESSORS.match(member).group(1).replace('_', '').lower()
    if field in their_fields.get(message, ()) and (
            field not in our_fields.get(message, ())):
      continue
    # Nested types, and values of enums, that our schema does not have.
    is_nested = kind == 'type' and member[0].isupper() and (
        not member.startswith('FieldMetadata_'))
    is_value = kind == 'constant' and member.isupper()
    if not is_value and (not is_nested or fact.name in our_names):
      known.add(fact)
  return known


def _fields_by_class(facts):
  fields = {}
  for fact in facts:
    match = re.match(r'constant (.*)::k(\w+)FieldNumber$', fact.name)
    if match:
      names = fields.setdefault(match.group(1), set())
      names.add(match.group(2).lower())
  return fields


def read_list(text):
  """Returns {difference: reason}.

  A reason is followed by its differences, which are indented. A % in a
  difference stands for anything.
  """
  reasons = {}
  reason = []
  for line in text.splitlines():
    if line.startswith('#'):
      continue
    if not line.strip():
      reason = []
    elif not line.startswith(' '):
      reason.append(line)
    elif reason:
      reasons[line.strip()] = ' '.join(reason)
    else:
      raise ValueError(f'there is no reason for: {line.strip()}')
  return reasons


def read_lists(version):
  """The differences of a version, and which of them others may not have."""
  lists = [read_list(path.read_text()) for path in LISTS[version]]
  return {key: reason for each in lists for key, reason in each.items()}, lists[-1]


def check(differences, reasons, expected=None):
  """Prints the errors, and returns the exit code. All of `expected` has to be
  there; without it, all reasons."""
  patterns = {
      entry: re.compile('.*'.join(map(re.escape, entry.split('%'))))
      for entry in reasons
  }
  unknown = [
      difference for difference in differences
      if not any(p.fullmatch(difference) for p in patterns.values())
  ]
  gone = [
      entry for entry, pattern in patterns.items()
      if (expected is None or entry in expected) and
      not any(map(pattern.fullmatch, differences))
  ]
  for difference in unknown:
    print(f"Perfetto's protozero has this, ours has not: {difference}")
  for entry in gone:
    print(f'no difference any more, remove it from {LIST.name}: {entry}')
  if unknown or gone:
    return 1
  print(f'{len(differences)} differences, all of them known')
  return 0


if __name__ == '__main__':
  sys.exit(main())
