# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Has the button of a console block copy its commands, without prompts and output.

mkdocs calls on_page_content() for each page. The theme copies the attribute data-copy of
a block, if there is one, in place of its text.
"""

import html
import re

BLOCK = re.compile(r'<div class="highlight">(<pre>.*?</pre>)', re.S)
PROMPT = '$ '


def with_commands(block):
  text = html.unescape(re.sub(r'<[^>]*>', '', block[1]))
  commands = [line[len(PROMPT):] for line in text.splitlines()
              if line.startswith(PROMPT)]
  if not commands:
    return block[0]
  return '<div class="highlight" data-copy="%s">%s' % (
      html.escape('\n'.join(commands)), block[1])


def on_page_content(content, **_):
  return BLOCK.sub(with_commands, content)
