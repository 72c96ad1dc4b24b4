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
from html_page import Page
from thread_states import (
    CREATED, DEAD, READY, RUNNING, SLEEPING, TID, command_lines, divided_trace, in_namespaces,
    interned_stacks, sample, state, timed_slice, tree, written_by)
from track_events import MS, PROCESS, described, track
from wire import delimited, integer

# The colors of the strip of a thread, by default the first one, at times, as names of its
# states.
STRIP = '''
const row = trace.rows.filter((row) => row.states)[arguments[1] ?? 0];
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


def states(tid, *parts):
  """States of a thread from milliseconds on."""
  return b''.join(state(ms * MS, kind, tid=tid, cpu=tid - TID) for ms, kind in parts)


def threads_only():
  """A program that traces nothing: two threads and 20 ms, with samples."""
  return (tree((41, TID, 'main'), (41, 43, 'helper')) + command_lines((41, 'server --quick')) +
          interned_stacks(['main', 'sort'], ['main', 'read']) +
          states(TID, (10, RUNNING), (16, SLEEPING), (18, RUNNING), (30, DEAD)) +
          states(43, (14, RUNNING), (15, READY), (17, RUNNING), (20, SLEEPING), (30, DEAD)) +
          sample(11 * MS, 1) + sample(19 * MS, 2) + sample(18 * MS, 1, tid=43))


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
    self.assertFalse(self.script('return trace.rows.some((row) => row.states)'))
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

  def rows_of(self, made, *args):
    """Returns levels, labels and kinds of rows, and if there are states."""
    page = Page(self.run_command(made, *args)[0])
    return [(row['level'], row['label'], row['kind'], 'states' in row) for row in page.rows]

  def test_a_program_without_events(self):
    self.assertEqual(self.rows_of(threads_only()), [
        (0, 'server 41', 'process', False), (1, 'main 42', 'thread', True),
        (1, 'helper 43', 'thread', True)])
    for device, screen in SCREENS.items():
      self.set_screen(screen)
      self.open(threads_only())
      self.assertTrue(self.script('return document.getElementById("empty").hidden'))
      self.assertFalse(self.script('return document.getElementById("legend").hidden'))
      self.assertTrue(self.script('return document.getElementById("slow").parentNode.hidden'))
      self.assertEqual(self.text('#summary'), '2 threads · 20.00 ms')
      self.assertEqual(self.script(STRIP, [t * MS for t in (3, 7, 12)], 0),
                       ['running', 'waiting', 'running'])
      self.assertEqual(self.script(STRIP, [t * MS for t in (3, 4.5, 6, 8, 12)], 1),
                       [None, 'running', 'ready', 'running', 'waiting'])
      self.assertEqual(self.script(OVERFLOW), [])
      # The overview shows when threads run.
      self.assertEqual(self.script('return [50, 110, 190].map((i) => trace.busy(500)[i])'),
                       [1, 2, 1])
      self.browser.picture(self.folder / ('threads-%s.png' % device))

  def test_a_range_of_threads_without_events_is_divided(self):
    self.open(threads_only())
    self.browser.press('x')
    self.assertTrue(self.script('return document.getElementById("flame").hidden'))
    figures = self.script(DETAILS)
    self.assertEqual([figures[term] for term in ('Length', 'Ran', 'Ready', 'Waited', 'Unknown')],
                     ['20.00 ms', '22.00 ms (55.0 %)', '2.00 ms (5.0 %)', '12.00 ms (30.0 %)',
                      '4.00 ms (10.0 %)'])
    self.assertEqual(self.script(SAMPLED), [
        'all\n3 samples (100.0 %)', 'main\n3 samples (100.0 %)', 'sort\n2 samples (66.7 %)',
        'read\n1 sample (33.3 %)'])
    # The second thread alone, by the pointer.
    x, y = self.script('''
        const row = trace.rows[2];
        const box = canvas.getBoundingClientRect();
        return [box.left + timeline.x(7 * 1e6), box.top + row.content + 3];''')
    self.browser.point((x, y), 'down', (x + 60, y), 'up')
    self.assertEqual(self.script('return [...timeline.range.rows].map((row) => row.label)'),
                     ['helper 43'])
    self.assertEqual(self.script(SAMPLED)[1:], [
        'main\n1 sample (100.0 %)', 'sort\n1 sample (100.0 %)'])
    self.browser.picture(self.folder / 'threads-range.png')

  def test_time_of_threads_that_are_not_there(self):
    """It is not unknown: before they are made, and after their end."""
    self.open(tree((41, TID, 'main'), (41, 43, 'brief')) +
              states(TID, (10, RUNNING), (30, DEAD)) +
              states(43, (14, CREATED), (15, RUNNING), (18, DEAD)))
    self.assertEqual(self.script(STRIP, [t * MS for t in (2, 4.5, 6, 15)], 1),
                     [None, 'ready', 'running', None])
    self.browser.press('x')
    figures = self.script(DETAILS)
    self.assertEqual([figures[term] for term in ('Ran', 'Ready', 'Waited')],
                     ['23.00 ms (95.8 %)', '1.00 ms (4.2 %)', '0 ns (0.0 %)'])
    self.assertNotIn('Unknown', figures)

  def test_threads_besides_those_with_events(self):
    """They are with their process, and before its other tracks."""
    made = (divided_trace(['a']) + tree((41, 43, 'other'), (50, 51, 'child')) +
            command_lines((50, '/bin/child -x')) + states(43, (12, RUNNING), (13, SLEEPING)) +
            states(51, (14, RUNNING), (15, DEAD)) +
            track(77, delimited(2, b'queue'), parent=PROCESS) +
            timed_slice(11 * MS, 12 * MS, 'b', uuid=77))
    self.assertEqual(self.rows_of(made), [
        (0, 'app 41', 'process', False), (1, 'queue', 'track', False),
        (1, 'main 42', 'thread', True), (1, 'other 43', 'thread', True),
        (0, '/bin/child 50', 'process', False), (1, 'child 51', 'thread', True)])
    self.open(made)
    self.assertEqual(self.script('return trace.rows.map((row) => row.label)'),
                     ['app 41', 'main 42', 'other 43', 'queue', '/bin/child 50', 'child 51'])
    self.assertEqual(self.script(STRIP, [2.5 * MS, 5 * MS], 1), ['running', 'waiting'])
    self.assertEqual(self.text('#summary'), '2 slices · 10.00 ms')

  def test_threads_within_the_range(self):
    """A thread that ends before it, or begins after it, is not there."""
    late = states(44, (28, RUNNING), (29, DEAD)) + tree((41, 44, 'late'))
    self.assertEqual(len(self.rows_of(threads_only() + late)), 4)
    self.assertEqual(
        self.rows_of(threads_only() + late, '--from', '1ms', '--to', '3.5ms'),
        [(0, 'server 41', 'process', False), (1, 'main 42', 'thread', True)])

  def test_a_track_without_events_names_its_thread(self):
    made = described() + tree((41, TID, 'comm')) + states(TID, (10, RUNNING), (20, DEAD))
    self.assertEqual(self.rows_of(made), [
        (0, 'app 41', 'process', False), (1, 'main 42', 'thread', True)])

  def test_threads_of_unknown_processes(self):
    self.assertEqual(self.rows_of(states(TID, (10, RUNNING), (20, DEAD))),
                     [(0, 'thread 42', 'thread', True)])
    # A process that has ended before its command line was read.
    self.assertEqual(
        self.rows_of(tree((TID, TID, 'sh')) + states(TID, (10, RUNNING), (20, DEAD))),
        [(0, 'sh 42', 'process', False), (1, 'sh 42', 'thread', True)])

  def test_samples_alone(self):
    made = interned_stacks(['main', 'sort']) + sample(MS, 1) + sample(3 * MS, 1)
    self.assertEqual(self.rows_of(made), [
        (0, 'process 41', 'process', False), (1, 'thread 42', 'thread', False)])
    self.open(made)
    self.browser.press('x')
    self.assertEqual(self.script(SAMPLED)[1], 'main\n2 samples (100.0 %)')

  def test_many_threads_that_never_ran_are_left_out(self):
    for num_idle, num_rows, notes in (
        (32, 35, []), (33, 3, ['33 threads without events that never ran: not shown'])):
      made = threads_only() + b''.join(
          states(100 + i, (10, SLEEPING), (30, SLEEPING)) for i in range(num_idle))
      made += tree(*((41, 100 + i, 'pool') for i in range(num_idle)))
      page = Page(self.run_command(made)[0])
      self.assertEqual(len(page.rows), num_rows)
      self.assertEqual(page.notes, notes)
    self.open(made)
    self.assertIn(notes[0], self.text('#notes'))

  def test_samples_of_a_thread_in_a_container(self):
    """They have the number that the recorder gives to the thread."""
    made = (written_by(described() + timed_slice(10 * MS, 20 * MS, 'a'), 700) +
            tree((700, 742, 'main'), (700, 743, 'pool')) + in_namespaces((700, 742, TID)) +
            interned_stacks(['main', 'sort']) + sample(12 * MS, 1, tid=742) +
            states(742, (10, RUNNING), (20, SLEEPING)) + states(743, (12, RUNNING), (20, DEAD)))
    self.assertEqual(self.rows_of(made), [
        (0, 'app 41 (700)', 'process', False), (1, 'main 42', 'thread', True),
        (1, 'pool 743', 'thread', True)])
    self.open(made)
    self.script(SELECT, 0)
    self.assertEqual(len(self.script(SAMPLED)), 3)

  def test_pages_without_states_are_as_before(self):
    made = described() + timed_slice(10, 20, 'a')
    made += tree((41, TID, 'main'), (41, 43, 'other'), (50, 51, 'child'))
    self.assertEqual(self.rows_of(made), [
        (0, 'app 41', 'process', False), (1, 'main 42', 'thread', False)])

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
