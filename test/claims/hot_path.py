# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Reads the instructions that run, if it is known which branches are taken. (Of
x86-64.)"""

import re
import subprocess


def disassemble(path):
  return subprocess.run(
      ['objdump', '-d', '-M', 'intel', '--no-show-raw-insn', path],
      check=True, text=True, stdout=subprocess.PIPE).stdout


def hot_path(disassembly, function, taken='(?!)'):
  """The instructions of `function` up to its return. The branches that are taken
  match `taken`: none, by default."""
  code = {}
  for line in disassembly.split('<%s>:\n' % function)[1].splitlines():
    address, found, instruction = line.partition(':\t')
    if not found:
      break
    code[int(address, 16)] = instruction.strip()
  addresses = sorted(code)
  path = []
  at = 0
  while not path or not path[-1].startswith('ret'):
    path.append(code[addresses[at]])
    jump = re.match(r'(?:jmp|%s) +([0-9a-f]+) ' % taken, path[-1])
    at = addresses.index(int(jump[1], 16)) if jump else at + 1
  return path
