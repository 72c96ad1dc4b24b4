# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs protoc for a GN action.

  run_protoc.py OUTPUT... -- PROTOC ARGUMENT...

Outputs that come out as they were keep their time stamps. So a new build of
the plugin recompiles only what includes a header that it now writes
differently.
"""

import os
import subprocess
import sys


def read(path):
  try:
    with open(path, 'rb') as f:
      return f.read(), os.stat(path).st_mtime_ns
  except FileNotFoundError:
    return None, 0


def main():
  split = sys.argv.index('--')
  outputs, command = sys.argv[1:split], sys.argv[split + 1:]
  before = {path: read(path) for path in outputs}
  status = subprocess.call(command)
  if status:
    return status
  for path, (content, mtime) in before.items():
    if content is not None and read(path)[0] == content:
      os.utime(path, ns=(mtime, mtime))
  return 0


sys.exit(main())
