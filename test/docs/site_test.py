#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site and looks at it in Chromium.

No page is wider than a phone, though its tables, code and pictures may scroll inside;
letters of pictures can be read there. Tables have headings. Without a server or a
network, links lead to files and anchors that exist, pictures load, the console has no
error, the search's first result is the page that answers, and what a console block
copies can be run. Leaves pictures of some pages in site_test/*.png, light and dark, for a
phone and a desktop.

Runs in a build directory. The last line of its output is "N passed, N failed". Without
mkdocs, Doxygen or Chromium it is skipped.
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'tools' / 'site'))

from browser import Browser
import reference

SITE = ROOT / 'third_party' / 'site' / 'bin' / 'mkdocs'

# Width, height, whether it is a phone.
SCREENS = {'phone': (390, 844, True), 'desktop': (1280, 900, False)}
# The test leaves pictures of these.
PICTURED = ['index.html', 'docs/getting-started.html', 'docs/performance.html',
            'docs/coming-from-perfetto.html', 'docs/track-events.html',
            'include/protozero/message.h.html']
HOME = 'index.html'
LINK = re.compile(r'<\w[^>]*?\s(?:href|src)="([^"]*)"')
ANCHOR = re.compile(r'<\w[^>]*?\s(?:id|name)="([^"]*)"')
# Words that a user types, and the end of the address of the page that answers.
SEARCHES = [('AppendFields', '/append_fields.h.html'),
            ('BeginNestedMessage', '/message.h.html'),
            ('bytes_needed', '/static_buffer.h.html'),
            ('attach', 'docs/pztrace/record.html'),
            ('flight recorder', 'docs/pztrace/last-minutes.html')]
# A page whose first block with prompts has several commands, and their output.
COMMANDS = 'docs/getting-started'

# A header. Symbols without a comment say so by their names.
HEADER = '''
namespace protozero {
// A type.
class Type {
 public:
  // Both.
  int one() const { return 1; }
  int two() const;

  int undescribed_function();
  int behind = 0;  // A number.
  ~Type();

 private:
  int hidden_ = 0;
};
// Its values, too.
enum class Color { kRed };
struct UndescribedStruct {
  // One.
  int member;
};

#define UNDESCRIBED_MACRO
namespace internal {
void Internal();
}
}
'''

# Returns what is wrong with the page that is shown.
LOOK = '''
const wrong = [];
const root = document.documentElement;
if (root.scrollWidth > root.clientWidth)
  wrong.push('is ' + root.scrollWidth + ' wide, the screen ' + root.clientWidth);
for (const image of document.images)
  if (!image.complete || image.naturalWidth == 0)
    wrong.push('does not show ' + image.src);
for (const image of document.querySelectorAll('article :is(p, figure) > img'))
  if (image.clientWidth < 0.75 * image.naturalWidth)
    wrong.push('shows ' + image.src + ' in ' + image.clientWidth + ' of ' +
               image.naturalWidth + ' pixels');
for (const table of document.querySelectorAll('article table'))
  if (![...table.querySelectorAll('thead th')].some(cell => cell.innerText.trim()))
    wrong.push('has a table without headings: ' + table.innerText.slice(0, 40));
for (const block of document.querySelectorAll('.highlight:not(.no-copy)'))
  if (/^\$ /m.test(block.dataset.copy ?? block.innerText))
    wrong.push('copies a prompt: ' + block.innerText.slice(0, 40));
return wrong;
'''


class Tester:

  def __init__(self, site, browser, pictures):
    self.browser = browser
    self.address = site.as_uri() + '/'
    self.pictures = pictures
    self.passed = self.failed = 0

  def add(self, what, errors):
    self.passed += not errors
    self.failed += bool(errors)
    for error in errors:
      print('FAIL %s %s' % (what, error))

  def set_screen(self, screen, scheme):
    # The palette is the system's, unless a page before has chosen one.
    self.browser.open('about:blank')
    self.browser.devtools('Storage.clearDataForOrigin', origin='file://',
                          storageTypes='local_storage')
    self.browser.set_screen(*SCREENS[screen], scheme)

  def look(self, page):
    self.browser.open(self.address + page)
    return self.browser.script(LOOK) + self.browser.errors()

  def linked_pages(self):
    """The pages of the navigation. Other ones show a file."""
    self.browser.open(self.address + HOME)
    return self.browser.script('''
        const links = document.querySelectorAll('.md-nav--primary a[href]');
        return [...new Set([...links].map(link => link.href.split('#')[0]))];''')

  def look_at_all(self):
    self.set_screen('phone', 'light')
    for address in self.linked_pages():
      page = address[len(self.address):]
      self.add(page, self.look(page))

  def take_pictures(self):
    for screen in SCREENS:
      for scheme in ('light', 'dark'):
        self.set_screen(screen, scheme)
        for page in PICTURED:
          self.add('%s, %s, %s:' % (page, screen, scheme), self.look(page))
          shown = self.browser.script(
              'return document.body.getAttribute("data-md-color-scheme")')
          self.add('%s, %s:' % (page, scheme), [] if
                   (shown == 'slate') == (scheme == 'dark') else
                   ['is shown as %s' % shown])
          self.browser.picture(self.pictures / ('%s-%s-%s.png' % (
              page.replace('/', '_')[:-len('.html')], screen, scheme)))

  def search(self):
    self.set_screen('desktop', 'light')
    for text, expected in SEARCHES:
      self.browser.open(self.address + HOME)
      self.browser.script('''
          const query = document.querySelector('[data-md-component=search-query]');
          query.focus();
          query.value = arguments[0];
          query.dispatchEvent(new Event('keyup'));
          query.dispatchEvent(new Event('input'));''', text)
      found = []
      for _ in range(100):
        found = self.browser.script('''
            return [...document.querySelectorAll('.md-search-result__link')].map(
                link => link.getAttribute("href"))''')
        if found:
          break
        time.sleep(0.1)
      self.add('search for %s' % text, [] if found and
               found[0].split('?')[0].split('#')[0].endswith(expected) else
               ['finds %s' % (found[:5] or 'nothing')])

  def copy_commands(self):
    self.set_screen('desktop', 'light')
    self.browser.open(self.address + COMMANDS + '.html')
    place = self.browser.script('''
        document.addEventListener(
            'copy', () => window.copied = String(getSelection()), true);
        const button = document.querySelector('[data-copy] button');
        button.scrollIntoView({block: 'center', behavior: 'instant'});
        const {x, y, width, height} = button.getBoundingClientRect();
        return [x + width / 2, y + height / 2];''')
    self.browser.point(place, 'down', 'up')
    copied = self.browser.script('return window.copied')
    block, = re.findall(r'^```console\n(.*?)^```', (ROOT / (COMMANDS + '.md')).read_text(),
                        re.M | re.S)[:1]
    commands = re.findall(r'^\$ (.*)', block, re.M)
    self.add('copy commands:', [] if copied == '\n'.join(commands) and
             len(commands) > 1 and len(block.splitlines()) > len(commands) else
             ['copies %r, not %r' % (copied, commands)])


class Links:
  """The links of the site's pages, as a browser without a server follows them."""

  def __init__(self, site):
    self.site = site
    self.anchors = {}

  def check(self, tester):
    for page in sorted(self.site.rglob('*.html')):
      # A server shows this one in the place of any page, so its links are absolute.
      if page != self.site / '404.html':
        links = set(LINK.findall(page.read_text()))
        tester.add('%s:' % page.relative_to(self.site),
                   [error for link in sorted(links) for error in self.errors(page, link)])

  def errors(self, page, link):
    address = urllib.parse.urlsplit(html.unescape(link))
    if address.scheme or address.netloc:
      return
    target = (page.parent / urllib.parse.unquote(address.path)).resolve() \
        if address.path else page
    if not target.is_file():
      yield '%s: %s' % (link, 'a folder' if target.is_dir() else 'there is no such file')
    elif target.suffix == '.html' and address.fragment and \
        urllib.parse.unquote(address.fragment) not in self.anchors_of(target):
      yield '%s: the page has no such anchor' % link

  def anchors_of(self, page):
    if page not in self.anchors:
      self.anchors[page] = {html.unescape(anchor)
                            for anchor in ANCHOR.findall(page.read_text())}
    return self.anchors[page]


def check_reference(tester):
  """Symbols without a comment are found."""
  with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    (folder / 'header.h').write_text(HEADER)
    found = reference.undocumented(reference.read_headers(folder))
  names = [line.rpartition(' ')[2].rpartition(':')[2] for line in found]
  tester.add('undescribed symbols', [] if names == [
      'undescribed_function', 'UndescribedStruct', 'UNDESCRIBED_MACRO'] else found)


def main():
  missing = [name for name in ('chromedriver', 'doxygen')
             if not shutil.which(name)]
  if missing or not SITE.exists():
    print('skipped: tools/install-build-deps --site installs what is needed')
    print('0 passed, 0 failed, 1 skipped')
    return 0
  pictures = pathlib.Path.cwd() / 'site_test'
  shutil.rmtree(pictures, ignore_errors=True)
  pictures.mkdir()
  site = pictures / 'site'
  code = subprocess.call([str(ROOT / 'tools/build_site'), '--out', str(site)])
  if code != 0:
    print('0 passed, 1 failed')
    return 1

  browser = Browser()
  try:
    tester = Tester(site, browser, pictures)
    tester.take_pictures()
    tester.look_at_all()
    tester.search()
    tester.copy_commands()
    Links(site).check(tester)
    check_reference(tester)
  finally:
    browser.close()
  print('Pictures are in %s' % os.path.relpath(pictures))
  print('%d passed, %d failed' % (tester.passed, tester.failed))
  return 1 if tester.failed else 0


if __name__ == '__main__':
  sys.exit(main())
