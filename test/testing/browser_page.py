# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The common part of tests of a page of `pztrace html` in Chromium."""

import pathlib
import shutil

from browser import Browser
from html_page import PageTest

# Width, height, whether it is a phone.
DESKTOP = (1280, 800, False)
PHONE = (390, 844, True)
SCREENS = {'desktop': DESKTOP, 'phone': PHONE}

# The elements that are wider than the screen, and may not be.
OVERFLOW = '''
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll('body, header *, main, canvas, article, dl, dd')].filter(
    element => element.getBoundingClientRect().right > width + 0.5 ||
               element.scrollWidth > element.clientWidth + 1 &&
               getComputedStyle(element).overflowX === 'visible').map(
    element => element.outerHTML.slice(0, 80));
'''
COLORS = '''
const canvas = document.getElementById(arguments[0]);
const pixels = new Uint32Array(canvas.getContext('2d').getImageData(
    0, 0, canvas.width, canvas.height).data.buffer);
return new Set(pixels).size;
'''
# The texts of the details, by the terms.
DETAILS = '''
return Object.fromEntries([...document.querySelectorAll('#details dt')].map(
    term => [term.textContent, term.nextSibling.textContent]));
'''
SLOWEST = '''
return [...document.querySelectorAll('#slowest tbody tr')].map(
    row => [...row.cells].map(cell => cell.textContent));
'''
# The place on the screen of the slice that begins at a time, in the first row whose
# label begins with a text.
PLACE = '''
const [label, begin, duration] = arguments;
const box = canvas.getBoundingClientRect();
for (const line of trace.lines) {
  const i = [...line.begin.keys()].find(i => line.begin[i] === begin &&
      line.end[i] - line.begin[i] === duration && line.row.label.startsWith(label));
  if (i === undefined)
    continue;
  timeline.scrollTo(line);
  const {x, y, width, height} = timeline.placeOf({line, i});
  return [box.left + x + width / 2, box.top + y + height / 2];
}
'''


def milliseconds(text):
  number, unit = text.split()
  return float(number) * {'ns': 1e-6, 'us': 1e-3, 'ms': 1, 's': 1e3}[unit]


class BrowserPageTest(PageTest):
  pictures = None  # The name of a folder for these.

  @classmethod
  def setUpClass(cls):
    cls.folder = pathlib.Path.cwd() / cls.pictures
    shutil.rmtree(cls.folder, ignore_errors=True)
    cls.folder.mkdir()
    cls.browser = Browser()
    cls.addClassCleanup(cls.browser.close)

  def setUp(self):
    super().setUp()
    self.set_screen(DESKTOP)

  def tearDown(self):
    self.assertEqual(self.browser.errors(), [])

  def set_screen(self, screen, scheme='light'):
    self.browser.set_screen(*screen, scheme)

  def open(self, trace, code=0):
    self.html, _ = self.run_command(trace, code=code)
    self.reopen()

  def reopen(self):
    page = self.path.with_suffix('.html')
    page.write_text(self.html)
    self.browser.open(page.as_uri())

  def script(self, code, *arguments):
    return self.browser.script(code, *arguments)

  def text(self, element):
    return self.script('return document.querySelector(arguments[0]).textContent', element)

  def view(self):
    return self.script('return [timeline.from, timeline.to]')

  def time_at(self, x):
    return self.script('return timeline.time(arguments[0] - '
                       'canvas.getBoundingClientRect().left)', x)

  def span(self):
    begin, end = self.view()
    return end - begin

  def click_on(self, step):
    place = self.script(PLACE, step.thread, step.begin, step.duration)
    self.browser.point(place, 'down', 'up')

  def type(self, text):
    self.browser.press('/')
    self.browser.press(text)

  def check_looks(self, what):
    self.assertEqual(self.script(OVERFLOW), [], what)
    self.assertGreater(self.script(COLORS, 'timeline'), 20, what)
    self.browser.picture(self.folder / (what + '.png'))
