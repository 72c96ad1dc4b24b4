# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Prints for exec_script() in GN: true if its argument is a path of something
that exists, otherwise false."""

import os
import sys

print('true' if os.path.exists(sys.argv[1]) else 'false')
