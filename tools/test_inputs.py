# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Fetches what tests need besides this repository and the compilers.

Called by tools/run_tests.py.
"""

import os
import subprocess
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# The other dependencies of tests: arguments of tools/install-build-deps, and
# whether nothing works without it. Tests of the others are skipped where they
# are missing: suites of Debian change, and matplotlib and Chromium are large.
FETCHED = [
    (['--corpus', '--conformance'], True),
    (['--traced'], False),
    (['--libcxx'], False),
    (['--official-schema'], False),
    (['--otlp-schema'], False),
    (['--perfetto-sdk'], False),
    (['--tracers'], False),
    (['--modern-protobuf'], False),
    (['--plots'], False),
    (['--site'], False),
    (['--packaging'], False),
    (['--fleet'], False),
    (['--arrow'], False),
    (['--collector'], False),
    (['--leveldb'], False),
    (['--system-macros'], False),
]


class Fetcher(threading.Thread):
  """Fetches packages for tests while the first configuration is built:
  downloading is mostly waiting."""

  def __init__(self):
    super().__init__(daemon=True)
    self.output = ''
    self.failed = False
    self.start()

  def run(self):
    for arguments, is_needed in FETCHED:
      process = subprocess.run(['tools/install-build-deps'] + arguments,
                               cwd=ROOT, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True,
                               check=False)
      self.output += process.stdout
      if process.returncode != 0 and is_needed:
        self.failed = True
        return

  def finish(self, say):
    """Says what was fetched. Returns whether all that is needed is there."""
    self.join()
    if self.output:
      say(self.output.rstrip())
      self.output = ''
    return not self.failed
