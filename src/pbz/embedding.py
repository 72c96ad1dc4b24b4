# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Writes C++ that has the content of a file."""

import os

CODE = '''\
// Made of %(source)s.

#include "%(header)s"

namespace %(namespace)s {

namespace {

constexpr unsigned char %(array)s[] = {
%(bytes)s
};

}  // namespace

const protozero::ConstBytes %(name)s(%(array)s, sizeof(%(array)s));

}  // namespace %(namespace)s
'''


def write(output, source, header, name, content):
  """Defines what `header` declares as `name`, a ConstBytes, to be `content`. The
  namespace is called as the program whose header it is: src/PROGRAM/...h."""
  lines = [', '.join(str(byte) for byte in content[i:i + 16]) + ','
           for i in range(0, len(content), 16)]
  with open(output, 'w', encoding='utf-8') as f:
    f.write(CODE % {'source': os.path.basename(source), 'header': header,
                    'namespace': header.split('/')[1], 'name': name,
                    # Files may be compiled together.
                    'array': 'kBytesOf' + name[1:],
                    'bytes': '\n'.join(lines)})
