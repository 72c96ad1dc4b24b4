#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The page of `pztrace html` in Chromium: what it shows is what protoc reads, by keyboard,
mouse and fingers. Leaves pictures in html_browser_test/*.png. Runs in the build directory;
without Chromium it is skipped.
"""

import pathlib
import random
import subprocess
import sys

from browser import Browser, KEYS
from browser_page import (
    DESKTOP, DETAILS, OVERFLOW, PHONE, PLACE, SCREENS, SLOWEST, BrowserPageTest, COLORS,
    milliseconds)
from cases import run_cases
from timeline_command import PZTRACE
from wire import delimited, double, fixed64, integer
from track_events import (
    BEGIN, COUNTER, END, INSTANT, MS, NEEDS_STATE, PROCESS, THREAD, arg, category,
    described, event, first_packet, name, packet, track)

QUEUE = 9
TASK_TRACER = pathlib.Path.cwd() / 'task_tracer'
ASYNC_SERVER = pathlib.Path.cwd() / 'async_server'


class HtmlBrowserTest(BrowserPageTest):
  pictures = 'html_browser_test'

  def test_looks(self):
    trace, _ = self.record_workers()
    longest = max(self.read_slices(trace), key=lambda s: (s.name == 'check', s.duration))
    for device, screen in SCREENS.items():
      for scheme in 'light', 'dark':
        self.set_screen(screen, scheme)
        self.open(trace)
        what = '%s-%s' % (device, scheme)
        self.check_looks(what)
        self.assertGreater(self.script(COLORS, 'overview'), 3)
        back = self.script('return getComputedStyle(document.body).backgroundColor')
        self.assertEqual(back == 'rgb(255, 255, 255)', scheme == 'light', back)
        self.click_on(longest)
        self.script('timeline.zoomTo(timeline.selected)')
        self.type('make')
        self.check_looks(what + '-selected')

  def test_click_shows_what_the_trace_says(self):
    trace, _ = self.record_workers()
    slices = self.read_slices(trace)
    self.open(trace)
    # A busy machine makes some as long as the trace, into which there is no zooming.
    whole = max(s.end for s in slices)
    step = max((s for s in slices if s.name != 'item' and s.duration < whole / 5),
               key=lambda s: s.duration)
    self.click_on(step)
    details = self.script(DETAILS)
    self.assertEqual([details[term] for term in ('Name', 'Category')],
                     [step.name, step.category])
    self.assertTrue(details['Thread'].startswith(step.thread))
    self.assertTrue(details['Process'].startswith('traced_workers'))
    self.assertAlmostEqual(milliseconds(details['Duration']) * 1e6, step.duration, 0)
    self.assertAlmostEqual(milliseconds(details['Start']) * 1e6, step.begin, 0)
    self.assertEqual(details['Self'], details['Duration'])
    alike = [s.duration for s in slices if s.name == step.name]
    self.assertIn('Count%d' % len(alike), self.text('#statistics'))
    # A double click zooms to it; a click beside all events selects none.
    before = self.span()
    place = self.script(PLACE, step.thread, step.begin, step.duration)
    self.browser.point(place, 'down', 'up', 'down', 'up')
    self.assertLess(self.span(), before)
    self.assertLess(self.span(), 1.5 * step.duration)
    axis = self.script('return canvas.getBoundingClientRect().top') + 10
    self.browser.point((place[0], axis), 'down', 'up')
    self.assertEqual(self.script(DETAILS), {})

  def test_difference_between_versions(self):
    files = []
    for load_ms in (4, 6):
      for i in range(4):
        files.append(self.path.with_suffix('.%d-%d' % (load_ms, i)))
        files[-1].write_bytes(
            first_packet(1, track=3) + event(1, BEGIN, 0, name('main')) +
            event(1, BEGIN, 0, name('load')) + event(1, END, load_ms * MS + i) +
            event(1, END, 5 * MS))
    self.html = subprocess.run([PZTRACE, 'diff', '--html', *files[:4], '--', *files[4:]],
                               check=True,
                               stdout=subprocess.PIPE).stdout.decode()
    frames = """return [...document.querySelectorAll('#frames button')].map(
        frame => [frame.textContent, parseFloat(frame.style.width),
                  frame.style.background])"""
    for screen in SCREENS.values():
      self.set_screen(screen)
      self.reopen()
      (_, everything, _), main, (_, load, color) = self.script(frames)
      self.assertEqual((everything, main), (100, ['main', 100, 'var(--dim)']))
      self.assertAlmostEqual(load, 50, 0)
      self.assertEqual(color, 'var(--more)')
      self.script('document.querySelectorAll("#frames button")[2].click()')
      self.assertEqual([frame[1] for frame in self.script(frames)], [100, 100, 100])
      self.assertTrue(self.text('#path').startswith('main > load'))
      self.assertEqual(self.script('return document.querySelector("#changes tbody").rows.length'),
                       5)
      self.assertEqual(self.script(OVERFLOW), [])

  def test_slowest(self):
    trace, _ = self.record_workers()
    slices = sorted(self.read_slices(trace), key=lambda s: -s.duration)[:10]
    self.open(trace)
    shown = self.script(SLOWEST)
    self.assertEqual([row[2] for row in shown], [s.name for s in slices])
    for row, step in zip(shown, slices, strict=True):
      self.assertAlmostEqual(milliseconds(row[0]), step.duration / 1e6, 2)
      self.assertAlmostEqual(milliseconds(row[4]), step.begin / 1e6, 5)
    place = self.script('''
        const box = document.querySelectorAll('#slowest button')[3].getBoundingClientRect();
        return [box.left + 3, box.top + 3];''')
    self.browser.point(place, 'down', 'up')
    begin, end = self.view()
    self.assertTrue(begin <= slices[3].begin and slices[3].end <= end)
    self.assertEqual(self.script(DETAILS)['Name'], slices[3].name)

  def test_search(self):
    trace, _ = self.record_workers()
    found = sorted(s.begin for s in self.read_slices(trace) if 'che' in s.name)
    self.open(trace)
    self.type('CHE')
    self.assertEqual(self.text('#hits'), '%d hits' % len(found))
    self.assertEqual(self.text('#slow'), 'The slowest hits')
    for number in (1, 2, 3):
      self.browser.press([KEYS['Enter']])
      self.assertEqual(self.text('#hits'), '%d / %d' % (number, len(found)))
      self.assertAlmostEqual(milliseconds(self.script(DETAILS)['Start']) * 1e6,
                             found[number - 1], 0)
    self.script('document.getElementById("previous").click()')
    self.assertEqual(self.text('#hits'), '2 / %d' % len(found))
    self.type('no such name')
    self.assertEqual(self.text('#hits'), 'no hits')

  def test_wheel_and_drag(self):
    trace, _ = self.record_workers()
    self.open(trace)
    place = self.script('''const box = canvas.getBoundingClientRect();
        return [box.left + 700, box.top + 60];''')
    before, span = self.time_at(place[0]), self.span()
    self.browser.wheel(place, -300)
    self.assertLess(self.span(), 0.7 * span)
    self.assertAlmostEqual(self.time_at(place[0]), before, delta=span / 1e6)
    self.browser.wheel(place, 100)
    self.assertAlmostEqual(self.time_at(place[0]), before, delta=span / 1e6)
    span = self.span()
    with self.browser.holding(KEYS['Shift']):
      self.browser.point(place, 'down', (place[0] + 50, place[1]),
                         (place[0] + 120, place[1]), 'up')
    self.assertAlmostEqual(self.span(), span, delta=1)
    self.assertAlmostEqual(self.time_at(place[0] + 120), before, delta=span / 1e6)
    # That was no click.
    self.assertEqual(self.script(DETAILS), {})
    # The overview moves what is shown.
    self.browser.point((1270, 60), 'down', 'up')
    self.assertAlmostEqual(self.view()[1], self.script('return timeline.whole.to'), 0)

  def test_fingers(self):
    trace, _ = self.record_workers()
    self.set_screen(PHONE)
    self.open(trace)
    y = self.script('return canvas.getBoundingClientRect().top') + 80
    span, left = self.span(), self.time_at(100)
    self.browser.pinch([(100, y), 'down', (100, y), (100, y), 'up'],
                       [(200, y), 'down', (250, y), (300, y), 'up'])
    self.assertAlmostEqual(self.span(), span / 2, delta=span / 50)
    self.assertAlmostEqual(self.time_at(100), left, delta=span / 50)
    before = self.time_at(200)
    self.browser.point((200, y), 'down', (150, y), (80, y), 'up', kind='touch')
    self.assertAlmostEqual(self.time_at(80), before, delta=span / 100)

  def test_keys(self):
    flow = fixed64(47, 2**64 - 1)
    trace = described()
    for number in range(5):
      trace += (event(1, BEGIN, MS, name('outer %d' % number), flow) +
                event(1, BEGIN, MS, name('inner %d' % number),
                      arg('id', integer(3, 2**64 - 2))) +
                event(1, END, MS) + event(1, END, MS))
    self.open(trace)
    whole = self.view()
    for keys, factor in (('w', 1 / 1.4), ('s', 1.4), ('+', 1 / 1.4), ('ww', 1 / 1.96)):
      span = self.span()
      self.browser.press(keys)
      self.assertAlmostEqual(self.span(), span * factor, delta=span / 1000)
    for keys, sign in ('d', 1), ('a', -1), ([KEYS['Right']], 1), ([KEYS['Left']], -1):
      begin = self.view()[0]
      self.browser.press(keys)
      self.assertGreater(sign * (self.view()[0] - begin), 0)
    self.browser.press('0')
    self.assertEqual(self.view(), whole)

    # Tab comes to the timeline, after the buttons.
    for _ in range(20):
      self.browser.press([KEYS['Tab']])
      if self.script('return document.activeElement === canvas'):
        break
    self.assertEqual(self.script('return getComputedStyle(canvas).outlineStyle'), 'solid')
    selected = []
    for key in 'Enter', 'Down', 'Right', 'Right', 'Up', 'Left':
      self.browser.press([KEYS[key]])
      selected.append(self.script(DETAILS)['Name'])
    self.assertEqual(selected, ['outer 2', 'inner 2', 'inner 3', 'inner 4', 'outer 4',
                                'outer 3'])
    self.assertIn('outer 3, 3.00 ms, at 12 ms, app 41 / main 42', self.text('#said'))
    # The other events of the flow are links.
    self.assertIn('Flow %d' % (2**64 - 1), self.text('#details'))
    self.script('document.querySelector("#details h3 ~ dl button").click()')
    self.assertEqual(self.script(DETAILS)['Name'], 'outer 0')
    self.script('canvas.focus()')
    self.browser.press([KEYS['Down']])
    self.assertEqual(self.script(DETAILS)['id'], str(2**64 - 2))
    self.browser.press('f')
    self.assertAlmostEqual(self.span(), 1.25 * MS, delta=1000)
    self.browser.press([KEYS['Escape']])
    self.assertEqual(self.script(DETAILS), {})
    self.browser.press('?')
    self.assertTrue(self.script('return document.getElementById("keys").open'))
    self.assertEqual(self.script(OVERFLOW), [])
    self.browser.press([KEYS['Escape']])
    self.assertFalse(self.script('return document.getElementById("keys").open'))

  def test_instants_counters_and_tips(self):
    trace = described() + track(QUEUE, delimited(2, b'queue'), delimited(8, integer(3, 3)),
                                parent=PROCESS)
    for number in range(40):
      trace += (event(1, COUNTER, MS, integer(11, QUEUE), double(44, number % 7)) +
                event(1, INSTANT, MS, name('miss'), category('cache')))
    self.open(trace)
    self.assertIn('40 instants · 1 counter', self.text('#summary'))
    place = self.script(PLACE, 'main', 1 * MS, 0)
    self.browser.point(place)
    self.assertEqual(self.text('#tip'), 'miss at 1 ms')
    self.browser.point('down', 'up')
    details = self.script(DETAILS)
    self.assertEqual((details['Name'], details['Category'], details['Start']),
                     ('miss', 'cache', '1 ms'))
    self.assertEqual(self.script('''const counter = trace.rows.find(row => row.counter).counter;
        return [counter.extremes(0, 40), counter.extremes(3, 5), counter.extremes(15, 33)];'''),
                     [[0, 6], [3, 4], [0, 6]])
    self.assertEqual(self.script('''return trace.rows.find(row => row.counter).counter.maxText'''),
                     'max 6 bytes')
    self.check_looks('instants')

  def test_names_are_no_markup(self):
    evil = ['</script><script>alert(1)</script>', '<!--<script>',
            '<img src=x onerror=alert(1)>', '\u2028"\\']
    trace = described()
    for text in evil:
      trace += (event(1, BEGIN, 0, name(text), category(text),
                      arg(text, delimited(6, text.encode()))) + event(1, END, MS))
    trace += track(PROCESS, delimited(3, integer(1, 41) + delimited(6, evil[2].encode())))
    self.open(trace)
    # The trace and the program.
    self.assertEqual(self.script('return document.scripts.length'), 2)
    for text in evil:
      self.script('''$('query').value = arguments[0]; search(); goToHit(1);''', text)
      self.assertEqual(self.text('#hits'), '1 / 1')
      details = self.script(DETAILS)
      self.assertEqual([details['Name'], details['Category'], details[text]], 3 * [text])
      self.assertEqual(self.script(SLOWEST)[0][2], text)
      place = self.script('''const box = canvas.getBoundingClientRect();
          const {x, y} = timeline.placeOf(timeline.selected);
          return [box.left + x + 2, box.top + y + 2];''')
      self.browser.point(place)
      self.assertIn(text, self.text('#tip'))
    self.assertEqual(self.script('return document.images.length'), 0)

  def test_policy_refuses_other_scripts(self):
    self.open(described())
    self.script('''const script = document.createElement('script');
        script.textContent = 'window.isRun = true';
        document.body.append(script);''')
    self.assertFalse(self.script('return Boolean(window.isRun)'))
    self.assertIn('Content Security Policy', ''.join(self.browser.errors()))

  def test_a_hundred_thousand_events(self):
    packets = [described()]
    for number in range(25000):
      packets += [event(1, BEGIN, 2000, name('outer %d' % (number % 9))),
                  event(1, BEGIN, 1000, name('inner')), event(1, END, 3000),
                  event(1, END, 1000), event(1, INSTANT, 10, name('done')),
                  event(1, COUNTER, 10, integer(11, QUEUE), integer(30, number % 100))]
    packets.append(first_packet(2, track=50))
    for number in range(25000):
      packets += [event(2, BEGIN, 10 if number % 1000 else 10**6, name('other')),
                  event(2, END, 100)]
    packets.append(track(QUEUE, delimited(2, b'queue'), delimited(8, b'')))
    self.open(b''.join(packets))
    events = 5 * 25000
    self.assertIn('75,000 slices', self.text('#summary'))
    # An instant, two slices and a counter, in two tracks.
    most = 5 * DESKTOP[0]
    self.assertLess(2 * most, events)
    place = self.script(PLACE, 'main', 3 * 10**3, 0) or [700, 200]
    for wheel in [0] + 30 * [-200] + 3 * [400]:
      self.browser.wheel(place, wheel)
      drawn = self.script('timeline.drawNow(); return timeline.drawn')
      self.assertLess(drawn['steps'], most)
      # A counter has up to three in a step, a slice three.
      self.assertLess(drawn['shapes'], 3 * most)
    self.script('timeline.showAll()')
    self.type('outer 3')
    self.assertEqual(self.text('#hits'), '%s hits' % format(len(range(3, 25000, 9)), ','))
    self.check_looks('many')

  def test_tasks(self):
    subprocess.run([TASK_TRACER, self.path], stdout=subprocess.DEVNULL, check=True)
    self.open(self.path.read_bytes())
    labels = self.script('return trace.rows.map(row => row.label)')
    places = [label for label in labels if ' (task_tracer.cc:' in label]
    self.assertEqual([place.split()[0] for place in places],
                     ['connection', 'hog', 'query', 'reader', 'session', 'starved'])
    # The states of a task follow each other, from its beginning to its end.
    gaps = self.script('''
        return trace.lines.filter(
            line => line.isOfTasks && line.outer && !line.isCopy).flatMap(
            line => [...line.begin.keys()].filter(i => {
              const outer = line.outer.begin.findLastIndex(ns => ns <= line.begin[i]);
              return line.end[i] > line.outer.end[outer];
            }))''')
    self.assertEqual(gaps, [])
    # The answer wakes the session, whose row says who has done so.
    woken = self.script('''
        const line = trace.lines.find(line => line.isOfTasks && line.outer &&
                                              line.row.label.startsWith('session'));
        const ready = [...line.begin.keys()].filter(
            i => trace.nameOf({line, i}) === 'ready').at(-1);
        const event = {line, i: ready};
        return [trace.argsOf(event), trace.flowsOf(event).map(
            flow => trace.eventsOfFlow(flow).map(event => trace.nameOf(event)).sort())];''')
    self.assertEqual(woken[0]['because of'][:7], 'query #')
    self.assertEqual(woken[1], [['ready', 'running']])
    # States are no slices of the program.
    self.assertIn('11 slices', self.text('#summary'))
    self.script('timeline.scrollTo(trace.lines.find(line => line.isOfTasks))')
    self.check_looks('tasks')

  def test_slices_of_tasks_are_whole(self):
    subprocess.run([ASYNC_SERVER, '-o', self.path], stdout=subprocess.DEVNULL, check=True)
    self.open(self.path.read_bytes())
    found = self.script('''
        return trace.lines.filter(line => line.isCopy).flatMap(
            line => [...line.begin.keys()].map(i => {
              const states = line.outer;
              const within = [...states.begin.keys()].filter(
                  k => states.begin[k] < line.end[i] && states.end[k] > line.begin[i]);
              const threads = within.map(
                  k => trace.argsOf({line: states, i: k}).thread).filter(Boolean);
              return [trace.nameOf({line, i}), line.row.label.split(' ')[0],
                      within.length > 3, threads.length > 1];
            }))''')
    # Each request waits for the database, at least.
    self.assertEqual(found, 20 * [['request', 'session', True, True]])
    # They are counted once.
    self.assertEqual(self.script(
        "return durationsOf(trace, trace.names.indexOf('request')).length"), 20)

  def test_a_hundred_thousand_tasks(self):
    number = 100000
    switch = lambda iid, time, *fields: packet(
        2, integer(8, time), integer(13, NEEDS_STATE), *fields,
        delimited(11, integer(9, 5) + (integer(10, iid) if iid else b'') +
                  delimited(4100, integer(2, 1))))
    packets = [described(), first_packet(2, track=50),
               packet(2, delimited(60, integer(1, 50) + integer(5, THREAD) +
                                   delimited(2, b'tasks') + delimited(18, b'')))]
    for i in range(1, number + 1):
      interned = delimited(2, integer(1, i) + delimited(2, b'job')) + delimited(
          4102, integer(1, i) + integer(2, i) + integer(3, 1))
      if i == 1:
        interned += delimited(4101, integer(1, 1) + delimited(2, b'job') +
                              delimited(3, b'jobs.cc') + integer(4, 7))
      packets.append(switch(i, 1000, delimited(12, interned)))
    packets.append(switch(0, 1000))
    self.open(b''.join(packets))
    lines = self.script('''return trace.lines.filter(line => line.isOfTasks).map(
        line => line.length)''')
    self.assertEqual(sum(lines[::2]), number)
    most = 8 * DESKTOP[0]
    place = self.script(PLACE, 'main', 0, 1000) or [700, 200]
    for wheel in [0] + 30 * [-200] + 3 * [400]:
      self.browser.wheel(place, wheel)
      drawn = self.script('timeline.drawNow(); return timeline.drawn')
      self.assertLess(drawn['steps'], most)
      self.assertLess(drawn['shapes'], 3 * most)

  def test_nothing_in_the_trace(self):
    self.open(delimited(1, integer(8, 1)))
    self.assertIn('no events', self.text('#empty'))
    self.assertEqual(self.text('#summary'), '0 slices · 0 ns')
    self.browser.press('wsad0f')
    self.browser.press([KEYS['Enter'], KEYS['Right'], KEYS['Down']])
    self.browser.wheel((600, 300), -100)
    self.type('x')
    self.assertEqual(self.text('#hits'), 'no hits')
    self.assertEqual(self.script(OVERFLOW), [])

  def test_times_that_numbers_do_not_hold(self):
    trace = described() + event(1, BEGIN, 0, name('long')) + event(1, END, 2**63)
    for number in range(10):
      trace += event(1, BEGIN, 1, name('short %d' % number)) + event(1, END, 1)
    self.open(trace)
    for _ in range(3):
      self.browser.press(50 * 'w' + 'd')
    self.type('short')
    self.browser.press(3 * [KEYS['Enter']])
    self.assertEqual(self.script(DETAILS)['Name'], 'short 2')
    self.browser.press([KEYS['Escape'], 'f'])
    self.assertGreater(self.script('return timeline.drawn.frames'), 3)

  def test_losses_are_said(self):
    self.open(described() + event(1, BEGIN, 0, name('open')) +
              event(1, INSTANT, 0, name('x'), dropped=1))
    self.assertTrue(self.script('return document.getElementById("notes").checkVisibility()'))
    self.assertIn('1 slice had not ended', self.text('#notes'))
    self.open(described())
    self.assertFalse(self.script('return document.getElementById("notes").checkVisibility()'))

  def test_damaged_traces(self):
    whole = described() + track(QUEUE, delimited(2, b'queue'), delimited(8, b'')) + b''.join(
        event(1, kind, 3, name('x'), integer(11, QUEUE) if kind == COUNTER else b'',
              integer(30, 7), arg('key', integer(3, 7)))
        for kind in (1, 1, 2, 3, 4, 4, 2, 2))
    self.open(whole[:-3], code=1)
    self.assertIn('damaged', self.text('#notes'))
    generator = random.Random(1)
    pages = [page for page in self.outputs_of_damaged(whole) if page]
    for self.html in generator.sample(pages, 25):
      self.reopen()
      self.browser.press('wwd')
      self.browser.press([KEYS['Enter'], KEYS['Down']])
      self.assertGreater(self.script('return timeline.drawn.frames'), 0)
      self.assertEqual(self.browser.errors(), [])


if __name__ == '__main__':
  if not Browser.is_installed():
    print('skipped: tools/install-build-deps --site installs what is needed')
    print('0 passed, 0 failed, 1 skipped')
    sys.exit(0)
  sys.exit(run_cases())
