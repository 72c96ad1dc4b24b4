#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes C++ of a schema, for `pztrace cat` to know it: a descriptor set.

  embed_schema.py OUTPUT.cc PROTOC IMPORT_DIR PROTO
"""

import os
import subprocess
import sys
import tempfile

CODE = '''\
// Made by src/pztrace/embed_schema.py of %s.

#include "src/pztrace/embedded_schema.h"

namespace pztrace {

namespace {

constexpr unsigned char kBytes[] = {
%s
};

}  // namespace

const protozero::ConstBytes kTraceSchema(kBytes, sizeof(kBytes));

}  // namespace pztrace
'''


def main():
  output, protoc, import_dir, proto = sys.argv[1:]
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'set')
    status = subprocess.call([protoc, '-I' + import_dir, '--include_imports',
                              '--descriptor_set_out=' + path, proto])
    if status:
      return status
    with open(path, 'rb') as f:
      content = f.read()
  lines = [', '.join(str(byte) for byte in content[i:i + 16]) + ','
           for i in range(0, len(content), 16)]
  with open(output, 'w', encoding='utf-8') as f:
    f.write(CODE % (os.path.basename(proto), '\n'.join(lines)))
  return 0


sys.exit(main())
