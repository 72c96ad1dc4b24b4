#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The states of threads and the stacks on the page of `pztrace html`, in Chromium. Leaves
pictures in html_states_test/*.png. Runs in the build directory; without Chromium it is
skipped.
"""

import sys

from browser import Browser
from browser_page import DETAILS, OVERFLOW, SCREENS, BrowserPageTest
from cases import run_cases
from thread_states import (
    READY, RUNNING, SLEEPING, divided_trace, interned_stacks, sample, state, timed_slice)
from track_events import MS, described

# The colors of the strip of the first thread at times, as names of its states.
STRIP = '''
const row = trace.rows.find((row) => row.states);
timeline.drawNow();
const canvas = document.getElementById('timeline');
const names = Object.fromEntries(STATES.slice(1).map((name) => {
  const context = document.createElement('canvas').getContext('2d');
  context.fillStyle = timeline.colors[name];
  context.fillRect(0, 0, 1, 1);
  return [context.getImageData(0, 0, 1, 1).data.join(), name];
}));
return arguments[0].map((time) => names[canvas.getContext('2d').getImageData(
    timeline.x(time) * devicePixelRatio,
    (row.content - timeline.scrolled(row) + 3) * devicePixelRatio, 1, 1).data.join()] ?? null);
'''
SAMPLED = '''
return document.getElementById('sampled').hidden ? null :
    [...document.querySelectorAll('#sampled-frames button')].map((frame) => frame.title);
'''
SELECT = '''
const line = trace.lines.find((line) => !line.isInstants);
select({line, i: arguments[0]});
'''


def trace():
  """Two slices of 10 ms: 4 running, 2 ready, 1 running, 3 waiting, with samples."""
  made = divided_trace(['a', 'b']) + interned_stacks(['main', 'sort'], ['main', 'read'])
  for ms in 10, 11, 12, 20:
    made += sample(ms * MS + 500, 1 if ms != 12 else 2)
  return made


class HtmlStatesTest(BrowserPageTest):
  pictures = 'html_states_test'

  def test_strip(self):
    for device, screen in SCREENS.items():
      for scheme in 'light', 'dark':
        self.set_screen(screen, scheme)
        self.open(trace())
        times = [t * MS for t in (2, 5, 6.5, 8.5, 12, 15)]
        self.assertEqual(self.script(STRIP, times), [
            'running', 'ready', 'running', 'waiting', 'running', 'ready'])
        self.assertFalse(self.script('return document.getElementById("legend").hidden'))
        self.assertEqual(self.script(OVERFLOW), [])
        self.browser.picture(self.folder / ('%s-%s.png' % (device, scheme)))

  def test_without_states(self):
    self.open(described() + timed_slice(10, 20, 'a'))
    self.assertTrue(self.script('return document.getElementById("legend").hidden'))
    self.assertFalse(self.script('return trace.rows.some((row) => row.hasStrip)'))
    self.script(SELECT, 0)
    self.assertNotIn('Ran', self.script(DETAILS))
    self.assertIsNone(self.script(SAMPLED))

  def test_a_slice_is_divided(self):
    self.open(trace())
    self.script(SELECT, 0)
    details = self.script(DETAILS)
    self.assertEqual([details[term] for term in ('Ran', 'Ready', 'Waited')],
                     ['5.00 ms (50.0 %)', '2.00 ms (20.0 %)', '3.00 ms (30.0 %)'])
    self.assertNotIn('Unknown', details)
    self.assertEqual(self.script(SAMPLED), [
        'all\n3 samples (100.0 %)', 'main\n3 samples (100.0 %)', 'sort\n2 samples (66.7 %)',
        'read\n1 sample (33.3 %)'])
    self.script(SELECT, 1)
    self.assertEqual(self.script(SAMPLED)[2:], ['sort\n1 sample (100.0 %)'])
    self.browser.picture(self.folder / 'slice.png')

  def test_a_range_is_divided(self):
    self.open(trace())
    self.script('selectRange({from: arguments[0], to: arguments[1], rows: timeline.allRows()})',
                2 * MS, 8 * MS)
    figures = self.script(DETAILS)
    self.assertEqual([figures[term] for term in ('Ran', 'Ready', 'Waited')],
                     ['3.00 ms (50.0 %)', '2.00 ms (33.3 %)', '1.00 ms (16.7 %)'])
    self.assertEqual(len(self.script(SAMPLED)), 3)

  def test_many_states_are_few_shapes(self):
    """As many as there are pixels, and right in a cell of many."""
    made = divided_trace(['a'], ())
    for i in range(20000):
      made += state(10 * MS + 500 * i, RUNNING if i % 2 else SLEEPING)
      if i % 2:
        made += state(10 * MS + 500 * i + 400, READY if i % 3 == 0 else SLEEPING)
    self.open(made)
    self.script('timeline.drawNow()')
    drawn = self.script('return timeline.drawn')
    self.assertLess(drawn['steps'], 3000)
    self.assertLess(drawn['shapes'], 3000)


if __name__ == '__main__':
  if not Browser.is_installed():
    print('skipped: tools/install-build-deps --site installs what is needed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)
  sys.exit(run_cases())
