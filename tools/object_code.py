# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads the sections of object files, for tools/measure_code_size."""

import re
import subprocess

from measuring import Error


def run(command, **kwargs):
  try:
    result = subprocess.run(command, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False,
                            **kwargs)
  except OSError as error:
    raise Error(f'{command[0]}: {error.strerror}; run '
                'tools/install-build-deps') from error
  if result.returncode != 0:
    output = (result.stdout + result.stderr).splitlines()[:20]
    raise Error('\n'.join([f"{' '.join(map(str, command))} failed "
                           f'({result.returncode}):'] + output))
  return result.stdout


class Section:
  """A section of code of an object file."""

  def __init__(self, name, size, alignment, is_comdat):
    self.name = name
    self.bytes = -(-size // alignment) * alignment
    self.is_comdat = is_comdat
    self.is_cold = bool(
        re.match(r'\.text\.(unlikely|cold|split)(\.|$)', name) or
        name.endswith('.cold'))


def parse_groups(text):
  """From the output of `readelf -g -W`: names of sections that remain once in a
  program."""
  return set(re.findall(r'^ +\[ *\d+\] +(\S+)$', text, re.MULTILINE))


def parse_sections(text, groups=()):
  """From the output of `objdump -h -w`: sections with code. It does not mark
  all of those in |groups|."""
  sections = []
  for line in text.splitlines():
    match = re.match(r'\s*\d+ (\S+)\s+([0-9a-f]+)\s.*\s2\*\*(\d+)\s+(.*)',
                     line)
    if not match:
      continue
    name, size, alignment, flags = match.groups()
    flags = flags.split(', ')
    if 'CODE' in flags:
      sections.append(Section(
          name, int(size, 16), 2**int(alignment),
          name in groups or
          any(flag.startswith('LINK_ONCE') for flag in flags)))
  return sections


def sections_of(path):
  sections = parse_sections(run(['objdump', '-h', '-w', path]),
                            parse_groups(run(['readelf', '-g', '-W', path])))
  if not sections:
    raise Error(f'{path} has no code')
  return sections


def total(sections):
  return sum(section.bytes for section in sections)


def total_cold(sections):
  return sum(section.bytes for section in sections if section.is_cold)


def total_linked(objects):
  """The bytes of objects, by name and in all, when they are linked into one
  program. Inline functions are in several of them and remain once."""
  result = {'objects': {}, 'all': 0, 'cold': 0}
  seen = set()
  for name, sections in objects.items():
    kept = [section for section in sections
            if not (section.is_comdat and section.name in seen)]
    seen.update(section.name for section in kept)
    result['objects'][name] = total(kept)
    result['all'] += total(kept)
    result['cold'] += total_cold(kept)
  return result
