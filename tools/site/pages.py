# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Collects the pages of the documentation site, and its navigation.

The folder of pages has the same shape as the repository, so that links between our
pages hold. A link to a public header leads to its page in the reference, to another file
to a page that shows the file, and to a folder to its README.md or a list of its files.
"""

import os
import pathlib
import re
import shutil
import subprocess

import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
INCLUDE = 'include/protozero/'
BLOCK = re.compile(r'^(?:```.*?^```|<!--.*?-->)[^\n]*\n?', re.M | re.S)
LINK = re.compile(r'(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))')
PICTURES = ('.svg', '.png')
LEXERS = {'.h': 'cpp', '.cc': 'cpp', '.proto': 'protobuf', '.py': 'python',
          '.cmake': 'cmake', '.json': 'json', '.c': 'c'}
# README.md, for the site: a template of the theme has its text.
HOME = '---\ntemplate: home.html\nhide:\n  - navigation\n  - toc\n---\n'


class Error(Exception):
  """Something that is wrong with a page."""


def tracked_files():
  """The files of the repository, as paths relative to its root."""
  listed = subprocess.run(
      ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
      cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout.decode()
  names = [name for name in listed.split('\0') if name] or [
      path.relative_to(ROOT).as_posix() for path in ROOT.rglob('*')
      if path.relative_to(ROOT).parts[0] not in ('out', 'third_party')]
  return [name for name in names if (ROOT / name).is_file()]


class Pages:

  def __init__(self, out):
    self.out = out
    self.files = tracked_files()
    self.shown = set()  # Files and folders that a link leads to.

  def write_all(self):
    for name in self.files:
      if name.endswith('.md'):
        self.write_page(name, HOME if name == 'README.md' else (ROOT / name).read_text())
      elif name.startswith('docs/') and name.endswith(PICTURES):
        self.copy(name)
    self.show_file('LICENSE')  # Only the navigation links to it.

  def write_reference(self):
    headers = reference.read_headers(ROOT / INCLUDE)
    errors = reference.undocumented(headers)
    if errors:
      raise Error('\n'.join(errors))
    writer = reference.Writer(headers)
    for header in headers.values():
      self.shown.add(INCLUDE + header.name)
      self.write_source(INCLUDE + header.name, '.source.md')
      self.write(INCLUDE + header.name + '.md', writer.page(header))
    return headers

  def copy(self, name):
    (self.out / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / name, self.out / name)

  def write(self, name, text):
    path = self.out / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)

  def write_page(self, name, text):
    """Writes the page `name`, whose links are relative to it."""
    parts, end = [], 0
    for block in BLOCK.finditer(text):
      parts.append(self.with_links(name, text[end:block.start()]))
      if block[0].startswith('```'):  # Comments are for tests.
        # Blocks of text are outputs, which are not run: they have no copy button.
        parts.append(re.sub('^```text', '``` { .text .no-copy }', block[0]))
      end = block.end()
    self.write(name, ''.join(parts) + self.with_links(name, text[end:]))

  def with_links(self, name, text):
    return LINK.sub(lambda match: self.link(name, match), text)

  def link(self, page, match):
    target, anchor = match[1], match[2] or ''
    if re.match(r'\w+:', target):
      return match[0]
    path = os.path.normpath(os.path.join(os.path.dirname(page), target))
    if target.endswith('.md') or target.endswith(PICTURES):
      return match[0]
    if (ROOT / path).is_dir():
      target = target.rstrip('/')
      if os.path.join(path, 'README.md') in self.files:
        return target + '/README.md' + anchor
      self.show_folder(path)
      return target + '/index.md'
    if path not in self.files:
      raise Error('%s: no such file: %s' % (page, target))
    self.show_file(path)
    return target + '.md'

  def show_file(self, path):
    if path in self.shown:
      return
    self.shown.add(path)
    self.write_source(path, '.md')

  def write_source(self, path, suffix):
    text = (ROOT / path).read_text()
    name = pathlib.PurePath(path)
    lexer = LEXERS.get(name.suffix, 'text')
    if name.name == 'CMakeLists.txt':
      lexer = 'cmake'
    fence = '`' * 3
    while fence in text:
      fence += '`'
    self.write(path + suffix, '---\ntitle: %s\nsearch:\n  exclude: true\n'
               'hide:\n  - toc\n---\n\n# %s\n\n%s%s\n%s\n%s\n' %
               (name.name, path, fence, lexer, text.rstrip('\n'), fence))

  def show_folder(self, path):
    if path in self.shown:
      return
    self.shown.add(path)
    names = [os.path.relpath(name, path) for name in self.files
             if name.startswith(path + '/')]
    self.write(path + '/index.md', '---\nsearch:\n  exclude: true\n---\n\n'
               '# %s/\n\n%s' % (path, ''.join('- `%s`\n' % name
                                              for name in names)))


def navigation(config, headers):
  """The text of mkdocs.yml with a line for each header in the place of a comment."""

  def lines_of(match):
    folder = match[2].rstrip('/')
    return ''.join('%s- %s%s.md\n' % (match[1], INCLUDE, name) for name in headers
                   if os.path.dirname(name) == folder)

  return re.sub(r'^( *)# The headers of include/protozero/([\w/]*)\n', lines_of, config, flags=re.M)


def check_navigation(config, files):
  """Every page for users can be found without a search."""
  missing = [name for name in files if re.fullmatch(r'docs/.*\.md', name) and
             not re.search(r'[ ]%s$' % re.escape(name), config, re.M)]
  if missing:
    raise Error('tools/site/mkdocs.yml does not list %s' % ', '.join(missing))


def write(work):
  """Writes the folder of pages, and mkdocs.yml, into the folder `work`."""
  pages = Pages(work / 'pages')
  headers = pages.write_reference()
  pages.write_all()
  config = (ROOT / 'tools' / 'site' / 'mkdocs.yml').read_text()
  check_navigation(config, pages.files)
  (work / 'mkdocs.yml').write_text(navigation(config, headers))
