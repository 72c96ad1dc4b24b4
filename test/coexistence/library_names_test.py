#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The claim: every name that a library of ours gives to the linker has the name
of our ABI in it, so that no other library has it.

  library_names_test.py LIBRARY...
"""

import re
import subprocess
import sys

import compilers

ALLOWED = re.compile(
    # Ours, of C++ and of C.
    r'_Z.*\d+pz_\d+_\d+|pz_\d+_\d+_'
    # Names of the standard library, and names that compilers make.
    r'|_Z(GV|Z)?(T[VIST])?N?[VK]*(S[tabdios]|9__gnu_cxx)'
    r'|DW\.ref\.__gxx_personality_v0$|__clang_call_terminate$')


def main():
  counter = compilers.Counter()
  for library in sys.argv[1:]:
    result = subprocess.run(['nm', '-g', '--defined-only', '-P', library],
                            stdout=subprocess.PIPE, text=True, check=True)
    names = {line.split()[0] for line in result.stdout.splitlines()
             if len(line.split()) > 1}
    others = sorted(name for name in names if not ALLOWED.match(name))
    counter.check(names and not others, library, '\n'.join(others))
  counter.finish()


if __name__ == '__main__':
  main()
