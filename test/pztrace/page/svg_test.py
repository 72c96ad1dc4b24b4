#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace svg` draws the events of a trace: on traces of known content, and whatever
the bytes are. Runs in the build directory."""

import re
import sys
import xml.etree.ElementTree as ElementTree

from cases import run_cases
from timeline_command import TimelineCommandTest
from wire import delimited, double, integer
from track_events import (
    BEGIN, COUNTER, END, INSTANT, MS, PROCESS, THREAD, category, described, event,
    first_packet, name, packet, track)

SVG = '{http://www.w3.org/2000/svg}'

QUEUE = 9


class Picture:
  """An image, as elements of a kind."""

  def __init__(self, text):
    root = ElementTree.fromstring(text)
    self.width = float(root.get('width'))
    self.height = float(root.get('height'))
    self.shapes = [e for e in root if e.find(SVG + 'title') is not None]
    self.texts = [e for e in root if e.tag == SVG + 'text']

  def titles(self):
    return [e.find(SVG + 'title').text for e in self.shapes]

  def words(self):
    return [e.text for e in self.texts]

  def shape(self, prefix):
    shape, = [e for e in self.shapes
              if e.find(SVG + 'title').text.startswith(prefix)]
    return shape

  def slices(self):
    """The number of slices, with those that are drawn as one."""
    return sum(int(many[1]) if (many := re.match(r'(\d+) slices$', title)) else 1
               for title in self.titles())


class SvgTest(TimelineCommandTest):
  command = 'svg'

  def picture(self, trace, *args):
    image, error = self.run_command(trace, *args)
    self.assertEqual(error, '')
    return Picture(image)

  def test_slices_are_where_they_were(self):
    picture = self.picture(
        described() + event(1, BEGIN, 0, name('outer'), category('app')) +
        event(1, BEGIN, 2 * MS, name('inner')) + event(1, END, 4 * MS) +
        event(1, END, 4 * MS))
    self.assertEqual(picture.titles(), ['outer (app): 10.00 ms, at 0 ns',
                                        'inner: 4.00 ms, at 2.00 ms'])
    outer, inner = picture.shape('outer'), picture.shape('inner')
    x, width = float(outer.get('x')), float(outer.get('width'))
    self.assertAlmostEqual(float(inner.get('x')), x + 0.2 * width, delta=0.2)
    self.assertAlmostEqual(float(inner.get('width')), 0.4 * width, delta=0.2)
    self.assertGreater(float(inner.get('y')), float(outer.get('y')))
    self.assertNotEqual(inner.get('class'), outer.get('class'))
    for word in 'app 41', 'main 42', 'outer', 'inner', '0 ms', '8 ms':
      self.assertIn(word, picture.words())

  def test_a_hang_lasts_until_the_end_of_the_recording(self):
    end = delimited(1, integer(1, 6) + integer(2, 1000 + 90 * MS))
    image, _ = self.run_command(described() + event(1, BEGIN, 10 * MS, name('stuck')) +
                                packet(9, delimited(6, end)))
    self.assertEqual(Picture(image).titles(), ['stuck: not ended after 80.00 ms, at 0 ns'])

  def test_lost_stretches_are_hatched(self):
    trace = described()
    for begin in 0, 5:
      clock = integer(1, 64) + integer(2, 1000 + begin * MS) + integer(3, 1)
      trace += (first_packet(1, track=THREAD, clock=clock, dropped=begin != 0) +
                event(1, BEGIN, 0, name('x%d' % begin)) + event(1, END, 1 * MS))
    picture = self.picture(trace)
    lost = picture.shape('packets lost: 4.00 ms')
    self.assertEqual(lost.get('class'), 'l')
    slices = [picture.shape(text) for text in ('x0', 'x5')]
    self.assertAlmostEqual(float(lost.get('x')), float(slices[0].get('x')) +
                           float(slices[0].get('width')), delta=0.2)
    self.assertAlmostEqual(float(lost.get('x')) + float(lost.get('width')),
                           float(slices[1].get('x')), delta=0.2)

  def test_instants_and_counters(self):
    def value(time, number, *fields):
      return event(1, COUNTER, time, integer(11, QUEUE), integer(30, number),
                   *fields)
    unit = delimited(8, integer(3, 3) + integer(4, 1000))
    picture = self.picture(
        described() + track(QUEUE, delimited(2, b'queue'), unit, parent=PROCESS) +
        event(1, INSTANT, 0, name('miss')) + value(MS, 5) + value(MS, 1) +
        value(2 * MS, 3))
    self.assertIn('miss, at 0 ns', picture.titles())
    self.assertIn('queue: 0 to 5000', picture.titles())
    self.assertIn('max 5000 bytes', picture.words())
    steps = picture.shape('queue').get('d')
    heights = [float(y) for y in re.findall(r'V([\d.]+)', steps)]
    bottom = heights[-1]
    self.assertAlmostEqual((bottom - heights[1]) / (bottom - heights[0]), 0.2,
                           delta=0.02)

  def test_counters_that_count_differences_and_doubles(self):
    incremental = delimited(8, integer(5, 1))
    trace = described() + track(QUEUE, delimited(2, b'sum'), incremental)
    for number in 1.5, 2.5:
      trace += event(1, COUNTER, MS, integer(11, QUEUE), double(44, number))
    self.assertIn('sum: 0 to 4', self.picture(trace).titles())

  def test_narrow_slices_are_drawn_as_one(self):
    trace = described()
    for _ in range(20000):
      trace += event(1, BEGIN, 30, name('short')) + event(1, END, 50)
    image, _ = self.run_command(trace)
    self.assertLess(len(image), 10000)
    self.assertEqual(Picture(image).slices(), 20000)

  def test_part_of_the_time(self):
    trace = described()
    for text in 'first', 'second', 'third':
      trace += event(1, BEGIN, 0, name(text)) + event(1, END, 10 * MS)
    picture = self.picture(trace, '--from', '11ms', '--to', '15000us', '--width',
                           '600')
    self.assertEqual(picture.titles(), ['second: 10.00 ms, at 10.00 ms'])
    self.assertEqual(picture.width, 600)
    self.assertIn('--to has to be later',
                  self.run_command(trace, '--from=2s', '--to=1s', code=2)[1])
    self.assertIn('--from takes a time', self.run_command(trace, '--from=x', code=2)[1])
    self.assertIn('--width is from', self.run_command(trace, '--width=1', code=2)[1])

  def test_siblings_of_one_name_share_rows(self):
    trace = described()
    for i in range(300):
      trace += track(100 + i, parent=PROCESS)
      trace += event(1, BEGIN, 5 * MS, name('r%d' % i), integer(11, 100 + i))
      if i != 0:
        trace += event(1, END, 2 * MS, integer(11, 99 + i))
    picture = self.picture(trace + event(1, END, 0, integer(11, 399)), '--width=20000')
    self.assertLess(picture.height, 150)
    self.assertEqual(picture.slices(), 300)
    shapes = [picture.shape('r%d:' % i) for i in range(300)]
    self.assertEqual(len({shape.get('y') for shape in shapes}), 2)
    for one, other in zip(shapes, shapes[2:]):
      if one.get('y') == other.get('y'):
        self.assertLessEqual(float(one.get('x')) + float(one.get('width')),
                             float(other.get('x')) + 0.11)

  def test_open_slices_last_until_the_end(self):
    trace = (described() + event(1, BEGIN, 0, name('outer')) +
             event(1, BEGIN, 2 * MS, name('hung')) + event(1, INSTANT, 8 * MS, name('x')))
    image, error = self.run_command(trace)
    self.assertEqual(error, '2 slices had not ended\n')
    picture = Picture(image)
    self.assertIn('hung: not ended after 8.00 ms, at 2.00 ms', picture.titles())
    hung, outer = picture.shape('hung'), picture.shape('outer')
    self.assertIn('o', hung.get('class').split())
    self.assertAlmostEqual(float(hung.get('x')) + float(hung.get('width')),
                           float(outer.get('x')) + float(outer.get('width')), delta=0.2)

  def test_times_that_no_double_tells_apart(self):
    second = 10**9
    trace = (described() + event(1, BEGIN, 0, name('long')) +
             event(1, INSTANT, 36028797 * second, name('x')) +
             event(1, END, 10 * second))
    for start, stop in (('36028797s', '36028797.00000001s'), ('36028797s', '36028798s')):
      picture = self.picture(trace, '--from', start, '--to', stop)
      self.assertIn('long: 36028807.00 s, at 0 ns', picture.titles())
      self.assertLess(len(picture.texts), 100)
    # The longest trace that there can be.
    trace = described() + event(1, INSTANT, 0, name('x')) + event(
        1, INSTANT, 2**64 - 2000, name('y'))
    self.picture(trace, '--from', '36028797s')

  def test_names_are_no_markup(self):
    evil = '</title><script>&"\x1b\u20ac'
    picture = self.picture(described() + event(1, BEGIN, 0, name(evil)) +
                           event(1, END, 10))
    self.assertEqual(len(picture.shapes), 1)
    self.assertTrue(picture.titles()[0].startswith('</title><script>&'))
    self.assertNotIn('\x1b', picture.titles()[0])

  def test_tracks_in_a_circle(self):
    trace = (first_packet(1, track=THREAD) +
             track(THREAD, delimited(2, b'a'), parent=PROCESS) +
             track(PROCESS, delimited(2, b'b'), parent=THREAD) +
             event(1, BEGIN, 0, name('slice')) + event(1, END, 10))
    self.assertEqual(self.picture(trace).slices(), 1)

  def test_nothing_to_draw(self):
    self.assertIn('no events', self.run_command(described(), code=1)[1])

  def test_a_whole_recording(self):
    trace, items = self.record_workers()
    picture = self.picture(trace)
    counters = [t for t in picture.titles() if t.startswith('saved: 0 to ')]
    self.assertEqual(len(counters), 2)
    self.assertEqual(picture.slices() - len(counters), 5 * items)

  def test_any_bytes_are_survived(self):
    whole = described() + b''.join(
        event(1, kind, 3, name('x'), integer(11, kind % 3), integer(30, 7))
        for kind in (1, 1, 2, 3, 4, 2, 2))
    image, error = self.run_command(whole[:-3], code=1)
    self.assertIn('the trace is damaged', error)
    self.assertGreater(Picture(image).slices(), 0)
    for output in self.outputs_of_damaged(whole):
      if output:
        Picture(output)


if __name__ == '__main__':
  sys.exit(run_cases())
