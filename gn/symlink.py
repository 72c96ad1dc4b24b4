# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""symlink.py TARGET LINK: makes LINK point to TARGET, or leaves it so."""

import os
import sys

target, link = sys.argv[1:]
if not (os.path.islink(link) and os.readlink(link) == target):
  if os.path.lexists(link):
    os.remove(link)
  os.symlink(target, link)
