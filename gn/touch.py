# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes empty files."""

import sys

for path in sys.argv[1:]:
  with open(path, 'w', encoding='utf-8'):
    pass
