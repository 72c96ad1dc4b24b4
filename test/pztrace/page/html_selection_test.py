#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Rows, ranges, statistics, the ruler and links of the page of `pztrace html`, in Chromium.
Leaves pictures in html_selection_test/*.png. Runs in the build directory; without Chromium
it is skipped.
"""

import sys
import time

from browser import Browser, KEYS
from browser_page import DETAILS, OVERFLOW, PHONE, SCREENS, BrowserPageTest
from cases import run_cases
from wire import delimited, double, integer
from track_events import (
    BEGIN, COUNTER, END, INSTANT, MS, PROCESS, THREAD, arg, described, event, first_packet,
    name, track)

HEAP, REQUEST = 9, 1000
ROWS = 'return timeline.stuck.concat(timeline.flowing).map(row => row.label)'
FIGURES = '''
return Object.fromEntries([...document.querySelectorAll(arguments[0] + ' .figures div')].map(
    pair => [pair.firstChild.textContent, pair.lastChild.textContent]));
'''
TABLE = '''
return [...document.querySelectorAll(arguments[0] + ' tr')].map(
    row => [...row.cells].map(cell => cell.textContent));
'''
FRAMES = '''
const width = document.getElementById('frames').clientWidth;
return [...document.querySelectorAll('#frames button')].map(frame => [
    frame.textContent, Math.round(frame.offsetLeft / width * 100),
    Math.round(frame.offsetWidth / width * 100), frame.offsetTop]);
'''
DRAWN_TEXTS = '''
const texts = [];
const {text} = timeline;
timeline.text = (...all) => texts.push(all[0]) && text.apply(timeline, all);
timeline.drawNow();
timeline.text = text;
return texts;
'''
AXIS = 'return ticksOf(timeline).map(tick => tick.text)'


def at(events):
  """Packets of (time, kind, fields...)."""
  last = 0
  packets = []
  for when, kind, *fields in sorted(events, key=lambda event: event[0]):
    packets.append(event(1, kind, when - last, *fields))
    last = when
  return b''.join(packets)


def slice_of(text, begin, end, *fields):
  return [(begin, BEGIN, name(text), *fields), (end, END, *fields[:1])]


def requests(count, text='request'):
  """Tracks, of which two have slices at a time."""
  tracks = b''.join(
      track(REQUEST + i, delimited(2, (text % i if '%' in text else text).encode()),
            parent=PROCESS) for i in range(count))
  events = []
  for i in range(count):
    events += slice_of('serve', i * MS, i * MS + 3 * MS // 2, integer(11, REQUEST + i))
  return tracks, events


# 10 ms of `outer`, of which 4 ms and 1 ms are `inner`; and a counter: 2, 6 and 1.
OUTER = (slice_of('outer', 0, 10 * MS) +
         slice_of('inner', 2 * MS, 6 * MS, arg('path', delimited(6, b'/Etc/hosts'))) +
         slice_of('inner', 8 * MS, 9 * MS))
# The first field of a slice with an argument says no track.
OUTER[3] = OUTER[3][:2]
HEAPS = [(when * MS, COUNTER, integer(11, HEAP), double(44, value))
         for when, value in ((0, 2), (4, 6), (8, 1))]
HEAP_TRACK = track(HEAP, delimited(2, b'heap'), delimited(8, integer(3, 3)), parent=PROCESS)


class HtmlSelectionTest(BrowserPageTest):
  pictures = 'html_selection_test'

  def open_outer(self):
    self.open(described() + HEAP_TRACK + at(OUTER + HEAPS))

  def places(self, *times, height=60):
    """Places on the screen, at a distance from the top of the timeline."""
    return [self.script('''const box = canvas.getBoundingClientRect();
        return [box.left + timeline.x(arguments[0]), box.top + arguments[1]];''', time, height)
            for time in times]

  def drag(self, begin, end, heights, kind='mouse'):
    (first,), (last,) = [self.places(when, height=height)
                         for when, height in zip((begin, end), heights)]
    self.browser.point(first, 'down', ((first[0] + last[0]) / 2, first[1]), last, 'up', kind=kind)

  def place_of_label(self, label):
    return self.script('''const box = canvas.getBoundingClientRect();
        const row = trace.rows.find(row => row.label.startsWith(arguments[0]));
        return [box.left + 30, box.top + row.top - timeline.scrolled(row) + 10];''', label)

  # ---- Rows.

  def test_tracks_of_one_name_are_one_row_below_the_threads(self):
    tracks, events = requests(40)
    worker = track(50, delimited(4, integer(1, 41) + integer(2, 43) + delimited(5, b'io')),
                   parent=PROCESS)
    self.open(described() + worker + tracks + HEAP_TRACK + at(
        events + HEAPS + slice_of('x', 0, MS) + slice_of('y', 0, MS, integer(11, 50))))
    self.assertEqual(sorted(self.script(ROWS)[3:]), ['heap', 'request'])
    self.assertEqual(self.script(ROWS)[:3], ['app 41', 'main 42', 'io 43'])
    self.assertEqual(self.script('''const row = trace.rows.find(row => row.label === 'request');
        return row.lanes.map(lane => lane[0].length);'''), [20, 20])
    # No slice begins before the one before it has ended.
    self.assertTrue(self.script('''return trace.lines.every(
        line => line.begin.every((begin, i) => i === 0 || begin >= line.end[i - 1]));'''))

  def test_tracks_whose_names_differ_in_numbers(self):
    tracks, events = requests(100, 'request %d')
    self.open(described() + tracks + at(events))
    self.assertEqual(self.script(ROWS), ['app 41', 'request # (100 tracks)'])
    self.script('''const {slices} = trace.rows[1]; goTo({line: slices[1], i: 20});''')
    self.assertEqual(self.script(DETAILS)['Track'], 'request 41')
    # Tracks that are busy all the time, as those of processors, are rows of their own.
    tracks, _ = requests(40, 'processor %d')
    self.open(described() + tracks + at([one for i in range(40) for one in slice_of(
        'x', i, 10 * MS, integer(11, REQUEST + i))]))
    self.assertEqual(len(self.script(ROWS)), 41)

  def test_packing_takes_little_time(self):
    self.open(described() + at(OUTER))
    # Slices of which 1,000 are open at a time.
    lanes, ms = self.script('''
        const parts = Array.from({length: 300000}, (_, i) => (
            {slices: [{begin: [(i * 7919) % 300000], duration: [1000]}]}));
        const start = performance.now();
        return [packed(parts).length, performance.now() - start];''')
    self.assertEqual(lanes, 1000)
    self.assertLess(ms, 5000)

  def test_rows_collapse(self):
    tracks, events = requests(10)
    self.open(described() + tracks + at(OUTER + events))
    main = 'return trace.rows.find(row => row.label === "main 42").lines.length'
    self.assertEqual(self.script(main), 2)
    self.browser.point(self.place_of_label('main'), 'down', 'up')
    self.assertEqual(self.script(main), 1)
    # Several tracks say how many of their slices there are at a time.
    self.browser.point(self.place_of_label('request'), 'down', 'up')
    self.assertEqual(self.script('''const {lines: [line]} = timeline.row;
        return [line.isConcurrency, line.high, line.maxText]'''), [True, 2, 'up to 2 at a time'])
    self.browser.point(self.place_of_label('app'), 'down', 'up')
    self.assertEqual(self.script(ROWS), ['app 41'])
    # By keys; and an event within a collapsed row expands it.
    self.browser.press('kc')
    self.assertEqual(self.script(ROWS), ['app 41', 'main 42', 'request'])
    self.assertIn('app 41, expanded', self.text('#said'))
    self.browser.press('c')
    self.type('inner')
    self.browser.press([KEYS['Enter']])
    self.assertEqual(self.script(ROWS), ['app 41', 'main 42', 'request'])
    self.assertEqual(self.script(main), 2)

  def test_rows_by_fingers(self):
    self.set_screen(PHONE)
    self.open_outer()
    x, y = self.place_of_label('main')
    self.browser.point((x, y), 'down', 'up', kind='touch')
    self.assertEqual(self.script('return timeline.row.lines.length'), 1)
    self.browser.point((self.script('return timeline.width') - 12, y), 'down', 'up', kind='touch')
    self.assertEqual(self.script('return timeline.stuck.map(row => row.label)'), ['main 42'])

  def test_a_high_row_is_collapsed_at_first(self):
    tracks, _ = requests(30)
    events = [one for i in range(30) for one in slice_of(
        'x', i * MS, 100 * MS, integer(11, REQUEST + i))]
    self.open(described() + tracks + at(events))
    self.assertEqual(self.script('return trace.rows[1].lanes.length'), 30)
    self.assertEqual(self.script('return trace.rows[1].lines.length'), 1)

  def test_rows_are_filtered_and_pinned(self):
    tracks, events = requests(10)
    self.open(described() + HEAP_TRACK + tracks + at(OUTER + HEAPS + events))
    self.browser.press('r')
    self.browser.press('REQ')
    self.assertEqual(self.script(ROWS), ['app 41', 'request'])
    self.assertEqual(self.script('return document.activeElement.id'), 'filter')
    self.browser.press([KEYS['Enter']])
    self.browser.press('jj')
    self.browser.press('p')
    self.assertEqual(self.script('return timeline.stuck.map(row => row.label)'), ['request'])
    self.script('$("filter").value = ""; filterRows();')
    self.assertEqual(self.script(ROWS)[:2], ['request', 'app 41'])
    # It stays while the others scroll.
    top = self.script('''const row = timeline.stuck[0];
        $("scroller").scrollTop = 100; return row.top - timeline.scrolled(row);''')
    self.assertLess(top, 60)
    # The end of a label is its pin.
    x, y = self.place_of_label('request')
    self.browser.point((self.script('return timeline.left') - 12, y), 'down', 'up')
    self.assertEqual(self.script('return timeline.stuck.length'), 0)
    # A row that the filter hides is shown if it is selected.
    self.script('$("filter").value = "heap"; filterRows();')
    self.script('goTo({line: trace.rows.find(row => row.label === "main 42").slices[0], i: 0});')
    self.assertIn('main 42', self.script(ROWS))
    self.assertEqual(self.script('return $("filter").value'), '')

  # ---- Ranges and names.

  def check_range(self):
    figures = self.script(FIGURES, '#details')
    self.assertEqual((figures['Length'], figures['Start'], figures['End']),
                     ('8.00 ms', '2 ms', '10 ms'))
    self.assertEqual(self.script(TABLE, '#names'), [
        ['Name', 'Count', 'Total', 'Self', 'Longest'],
        ['outer', '1', '8.00 ms', '3.00 ms', '8.00 ms'],
        ['inner', '2', '5.00 ms', '5.00 ms', '4.00 ms']])

  def test_a_range_is_selected_by_dragging(self):
    self.open_outer()
    # Edges of slices attract the mouse. The axis is for all rows.
    self.drag(2.03 * MS, 9.97 * MS, heights=(10, 10))
    self.assertAlmostEqual(self.script('return timeline.range.to'), 9.97 * MS, delta=MS / 50)
    self.drag(2.03 * MS, 9.97 * MS, heights=(80, 65))
    self.assertEqual(self.script('return [timeline.range.from, timeline.range.to]'),
                     [2 * MS, 10 * MS])
    self.check_range()
    # The heap is another row.
    self.assertEqual(self.script(TABLE, '#values'), [])
    self.script('selectRange({from: 2e6, to: 1e7, rows: timeline.allRows()})')
    self.check_range()
    self.assertEqual(self.script(TABLE, '#values'), [
        ['Counter', 'Min', 'Mean', 'Max'], ['heap', '1 bytes', '3.75 bytes', '6 bytes']])
    self.browser.press([KEYS['Escape']])
    self.assertEqual(self.script('return timeline.range'), None)

  def test_flame_graph(self):
    self.open_outer()
    self.script('selectRange({from: 2e6, to: 1e7, rows: timeline.allRows()})')
    self.assertEqual(self.script(FRAMES), [
        ['all', 0, 100, 0], ['outer', 0, 100, 18], ['inner', 0, 62, 36]])
    self.assertIn('2 slices, 5.00 ms (62.5 %), self 5.00 ms',
                  self.script('return $("frames").lastChild.title'))
    # A frame that is chosen is as wide as the graph.
    self.script('$("frames").lastChild.focus()')
    self.browser.press([KEYS['Enter']])
    self.assertEqual(self.script(FRAMES)[-1], ['inner', 0, 100, 36])
    self.assertEqual(self.script('return document.activeElement.textContent'), 'inner')
    # The longest is first, and the next beside it.
    self.open(described() + at(OUTER + slice_of('other', 10 * MS, 40 * MS)))
    self.browser.press('x')
    self.assertEqual(self.script(FRAMES)[:3], [
        ['all', 0, 100, 0], ['other', 0, 75, 18], ['outer', 75, 25, 18]])

  def test_ranges_by_keys_and_fingers(self):
    self.open_outer()
    self.browser.press('x')
    self.assertEqual(self.script('return [timeline.range.from, timeline.range.to]'), [0, 10 * MS])
    self.set_screen(PHONE)
    self.reopen()
    self.drag(3 * MS, 7 * MS, heights=(10, 10), kind='touch')
    self.assertAlmostEqual(self.script('return timeline.range.to - timeline.range.from'), 4 * MS,
                           delta=MS / 5)
    self.assertEqual(self.script(TABLE, '#names')[1][0], 'outer')

  def test_statistics_of_a_range_are_quick(self):
    self.open(described() + at(OUTER))
    ms = self.script('''
        const count = 1000000;
        const column = (value) => Float64Array.from({length: count}, value);
        const row = {};
        const line = (duration, outer) => new Line(row, {
            begin: column((_, i) => 100 * i), duration: column(() => duration),
            nested: column(() => 0), text: new Int32Array(count).map((_, i) => i % 2)},
            false, outer);
        const outer = line(90, null);
        const range = {from: 0, to: 1e8, rows: new Set([{lanes: [[outer, line(80, outer)]]}])};
        const start = performance.now();
        const {names} = statisticsOf(trace, range);
        if (names[0].count + names[1].count !== 2 * count)
          throw names;
        return performance.now() - start;''')
    # 100 ms for a million on a machine that is not busy.
    self.assertLess(ms, 2000)

  def test_slices_of_a_name(self):
    events = []
    for i in range(100):
      events += slice_of('step', 10 * i * MS, (10 * i + (9 if i == 99 else 1)) * MS)
    self.open(described() + at(events))
    self.browser.press([KEYS['Enter']])
    self.assertEqual(self.script(FIGURES, '#statistics'), {
        'Count': '100', 'Total': '108.00 ms', 'Mean': '1.08 ms', 'p50': '1.00 ms',
        'p99': '1.00 ms', 'Longest': '9.00 ms'})
    bars = self.script('''const {bars} = histogramOf(durationsOf(trace, 0));
        return bars.map(bar => bar.count).filter(Boolean);''')
    self.assertEqual(bars, [99, 1])
    self.assertGreater(self.script('''const canvas = $("histogram");
        return new Set(new Uint32Array(canvas.getContext("2d").getImageData(
            0, 0, canvas.width, canvas.height).data.buffer)).size'''), 2)
    start = self.script('return timeline.selected.i')
    self.browser.press('..,')
    self.assertEqual(self.script('return timeline.selected.i'), start + 1)
    self.script('document.querySelectorAll("#statistics button")[1].click()')
    self.assertEqual(self.script('return timeline.selected.i'), start + 2)

  def test_next_of_a_name_on_other_rows(self):
    tracks, events = requests(6)
    events += slice_of('serve', 0, MS) + slice_of('other', 2 * MS, 3 * MS)
    self.open(described() + tracks + at(events))
    self.browser.press([KEYS['Enter']])
    self.script('goTo({line: trace.rows.find(row => row.label === "main 42").slices[0], i: 0})')
    found = []
    for key in 7 * '.' + 7 * ',':
      found.append(self.script('return timeline.selected.line.begin[timeline.selected.i]') // MS)
      self.browser.press(key)
    self.assertEqual(found, [0, 0, 1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 0, 0])

  # ---- What is drawn.

  def test_axis_has_one_unit_and_an_offset(self):
    self.open(described() + at(slice_of('long', 0, 2000 * MS)))
    for view, expected in (
        ((893.42 * MS, 893.9 * MS), ['+893 ms', '450 us', '500 us']),
        ((893.95 * MS, 894.4 * MS), ['+893 ms', '950 us', '+894 ms', '50 us']),
        ((1200 * MS, 1200 * MS + 20), ['+1.2 s', '2 ns']),
        ((0, 2000 * MS), ['0 s', '0.2 s'])):
      self.script('timeline.setView(...arguments[0])', view)
      ticks = self.script(AXIS)
      self.assertEqual(ticks[:len(expected)], expected)
      units = {tick.split()[1] for tick in ticks if tick[0] != '+'}
      self.assertEqual(len(units), 1, ticks)
      self.assertTrue(all(len(tick.split()[0]) <= 4 for tick in ticks if tick[0] != '+'), ticks)

  def test_instants_thin_out(self):
    self.open(described() + at([(i * MS // 100, INSTANT, name('tick')) for i in range(10000)]))
    shapes = self.script('timeline.drawNow(); return timeline.drawn.steps')
    self.assertLess(shapes, 1280 / 10 + 2)
    # Each has a shape if there is room.
    self.script('timeline.setView(50e6, 50.1e6); timeline.drawNow();')
    self.assertAlmostEqual(self.script('return timeline.drawn.steps'), 11, delta=1)

  def test_values_of_counters(self):
    self.open_outer()
    y = self.script('''const {counter} = trace.rows.find(row => row.counter);
        return counter.top - timeline.scrolled(counter.row) + 10''')
    place, = self.places(5 * MS, height=y)
    self.browser.point(place)
    self.assertEqual(self.text('#tip'), '6 bytes from 4 ms')
    self.browser.point('down', 'up')
    self.assertEqual(self.script(DETAILS)['Value'], '6 bytes')
    self.browser.press([KEYS['Right']])
    self.assertEqual(self.script(DETAILS)['Value'], '1 bytes')

  def test_lost_stretches_are_hatched(self):
    clock = integer(1, 64) + integer(2, 1000 + 5 * MS) + integer(3, 1)
    self.open(described() + event(1, INSTANT, 0, name('x')) +
              first_packet(1, track=THREAD, clock=clock, dropped=1) +
              event(1, INSTANT, 0, name('x')))
    self.assertEqual(self.script('return trace.rows.find(row => row.lost).lost'),
                     {'begin': [0], 'end': [5 * MS]})
    red = '''const box = [timeline.x(2e6), timeline.rowsInWindow()[1].content, 20, 12];
        const data = canvas.getContext("2d").getImageData(...box).data;
        let count = 0;
        for (let i = 0; i < data.length; i += 4)
          count += data[i] > data[i + 2] + 40;
        return count;'''
    self.assertGreater(self.script(red), 20)

  def test_ruler(self):
    self.open_outer()
    inner = 'goTo({line: trace.rows.find(row => row.label === "main 42").slices[1], i: %d})'
    self.script(inner % 0)
    self.browser.press('m')
    self.script(inner % 1)
    self.browser.press('M')
    self.assertEqual(self.script('return timeline.marks'), [2 * MS, 9 * MS])
    self.assertEqual(self.text('#said'), '7.00 ms')
    self.assertIn('7.00 ms', self.script(DRAWN_TEXTS))
    # A finger does the same.
    self.script('document.querySelector("#details .links button").click()')
    self.assertEqual(self.script('return timeline.marks'), [8 * MS])
    self.browser.press([KEYS['Escape']])
    self.assertEqual(self.script('return timeline.marks'), [])
    # The pointer is an end, too.
    self.browser.press([KEYS['Escape']])
    place, = self.places(4 * MS, height=100)
    self.browser.point(place)
    self.browser.press('m')
    self.assertAlmostEqual(self.script('return timeline.marks[0]'), 4 * MS, delta=MS / 20)

  # ---- Search, links and help.

  def test_search_finds_arguments(self):
    self.open_outer()
    self.type('etc/HOSTS')
    self.assertEqual(self.text('#hits'), '1 hit')
    self.browser.press([KEYS['Enter']])
    self.assertEqual(self.script(DETAILS)['path'], '/Etc/hosts')

  def link_after(self, script):
    self.script(script)
    time.sleep(0.5)
    return self.script('return location.hash')

  def follow(self, link):
    self.browser.open('about:blank')
    self.browser.open(self.path.with_suffix('.html').as_uri() + link)

  def test_links(self):
    self.open_outer()
    self.assertEqual(self.script('return location.hash'), '')
    link = self.link_after('''timeline.setView(1e6, 7e6);
        select({line: trace.rows.find(row => row.label === "main 42").slices[1], i: 0});''')
    self.assertRegex(link, r'^#from=1000000&to=7000000&event=\d\.0$')
    self.follow(link)
    self.assertEqual(self.script(DETAILS)['Name'], 'inner')
    self.assertEqual(self.view(), [1e6, 7e6])
    link = self.link_after('''selectRange({from: 2e6, to: 1e7, rows: timeline.allRows()});
        selectName(trace.names.indexOf("inner"));''')
    self.assertIn('&range=2000000-10000000&rows=0-2&name=inner', link)
    self.follow(link)
    self.check_range()
    self.assertEqual(self.script(FIGURES, '#statistics')['Count'], '2')
    # A link that is pasted into the address of the page.
    self.script('location.hash = "#event=0.0"')
    self.assertEqual(self.script(DETAILS)['Name'], 'outer')
    for wrong in ('#event=99.1', '#event=x', '#range=5-1&rows=-1-9', '#name=%zz', '#from=9&to=1',
                  '#range=1-5&rows=7,x-'):
      self.follow(wrong)
      self.assertEqual(self.script('return timeline.selected'), None)

  def test_help_says_how_to_scroll(self):
    self.open_outer()
    self.browser.press('?')
    self.assertRegex(self.text('#keys'), r'Page up and down, wheel over the names.*\n?\s*scroll')
    self.assertEqual(self.script('$("keys").close()'), None)
    # Each key that does something is there.
    keys = self.script('return Object.keys(KEYS).filter(key => key.length === 1)')
    text = self.text('#keys')
    self.assertEqual([key for key in keys if key.upper() not in text and key not in '=-?'], [])

  def test_looks(self):
    tracks, events = requests(40)
    self.open(described() + HEAP_TRACK + tracks + at(OUTER + HEAPS + events))
    for device, screen in SCREENS.items():
      for scheme in 'light', 'dark':
        self.set_screen(screen, scheme)
        self.reopen()
        self.script('pin(trace.rows.find(row => row.label === "heap"));')
        self.browser.press('x')
        self.check_looks('%s-%s-range' % (device, scheme))
        self.script('goTo({line: trace.rows[1].slices[0], i: 0}); markHere("begin"); '
                    'markHere("end");')
        self.check_looks('%s-%s-name' % (device, scheme))
        self.browser.press('?')
        self.assertEqual(self.script(OVERFLOW), [])
        self.assertEqual(self.script('return $("keys").scrollTop'), 0)


if __name__ == '__main__':
  if not Browser.is_installed():
    print('skipped: tools/install-build-deps --site installs what is needed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)
  sys.exit(run_cases())
