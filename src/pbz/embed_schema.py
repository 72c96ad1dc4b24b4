#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes C++ of a schema, for programs to know it: a descriptor set.

  embed_schema.py OUTPUT.cc PROTOC IMPORT_DIR PROTO HEADER NAME

The header declares the descriptor set by that name.
"""

import os
import subprocess
import sys
import tempfile

import embedding


def main():
  output, protoc, import_dir, proto, header, name = sys.argv[1:]
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'set')
    status = subprocess.call([protoc, '-I' + import_dir, '--include_imports',
                              '--descriptor_set_out=' + path, proto])
    if status:
      return status
    with open(path, 'rb') as f:
      content = f.read()
  embedding.write(output, proto, header, name, content)
  return 0


sys.exit(main())
