#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes C++ of a page that `pztrace` fills with what it shows.

  embed_page.py CONSTANT OUTPUT.cc PAGE.html STYLE.css SCRIPT.js...

The page may run these scripts and no others, and fetch nothing.
"""

import base64
import hashlib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / 'pbz'))
import embedding  # pylint: disable=wrong-import-position


def allowed(text):
  """The name that a policy has for a part of the page."""
  digest = hashlib.sha256(text.encode()).digest()
  return "'sha256-%s'" % base64.b64encode(digest).decode()


def main():
  constant, output, page, style, *scripts = sys.argv[1:]
  parts = {
      '@STYLE@': pathlib.Path(style).read_text(encoding='utf-8'),
      '@SCRIPT@': '\n'.join(pathlib.Path(script).read_text(encoding='utf-8')
                            for script in scripts),
  }
  parts['@POLICY@'] = (
      "default-src 'none'; base-uri 'none'; form-action 'none'; "
      'style-src %s; script-src %s' % (
          allowed(parts['@STYLE@']), allowed(parts['@SCRIPT@'])))
  content = pathlib.Path(page).read_text(encoding='utf-8')
  for mark, text in parts.items():
    before, after = content.split(mark)
    content = before + text + after
  embedding.write(output, page, 'src/pztrace/page/embedded_page.h', constant,
                  content.encode())
  return 0


sys.exit(main())
