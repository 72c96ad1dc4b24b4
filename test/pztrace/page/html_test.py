#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace html` puts the events of a trace into a page: on traces of known content, and
whatever the bytes are. Runs in the build directory."""

import base64
import hashlib
import pathlib
import re
import subprocess
import sys
import time

from cases import run_cases
from html_page import Page, PageTest
from timeline_command import PZTRACE
from wire import delimited, double, fixed64, integer
from track_events import (
    BEGIN, COUNTER, END, INSTANT, MS, PROCESS, THREAD, arg, category, described, event,
    first_packet, name, packet, track)

QUEUE = 9
TRACER = pathlib.Path.cwd() / 'task_tracer'
# The trace, whatever is in it.
TEXT = re.compile(r'id="trace">(.*)</script>\n<script>', re.S)


class HtmlTest(PageTest):

  def page(self, trace, *args):
    html, error = self.run_command(trace, *args)
    self.assertEqual(error, '')
    return Page(html)

  def test_what_events_say(self):
    flow = fixed64(47, 2**64 - 1)
    trace = (described() + event(1, BEGIN, 0, name('outer'), category('app'), flow) +
             event(1, INSTANT, MS, name('miss'), arg('"key"', integer(3, 2**63))) +
             event(1, BEGIN, MS, name('inner')) + event(1, END, 4 * MS) +
             event(1, END, 4 * MS, arg('end', integer(2, 1))))
    page = self.page(trace)
    self.assertEqual([(row['label'], row['level'], row['kind']) for row in page.rows],
                     [('app 41', 0, 'process'), ('main 42', 1, 'thread')])
    outer, inner = page.slices()
    self.assertEqual(outer, {
        'process': 'app 41', 'row': 'main 42', 'name': 'outer', 'category': 'app', 'begin': 0,
        'duration': 10 * MS, 'self': 6 * MS, 'depth': 0, 'args': {'end': True},
        'flows': [2**64 - 1]})
    self.assertEqual((inner['begin'], inner['duration'], inner['depth']),
                     (2 * MS, 4 * MS, 1))
    miss, = page.instants()
    self.assertEqual((miss['name'], miss['begin'], miss['args']),
                     ('miss', MS, {'"key"': 2**63}))

  def test_flows_of_one_number(self):
    trace = described()
    # A flow that has ended is another one than a later one of its number.
    for fields in fixed64(47, 7), fixed64(48, 7), fixed64(47, 7), fixed64(48, 7):
      trace += event(1, BEGIN, MS, name('a'), fields) + event(1, END, MS)
    self.assertEqual([one['flows'] for one in self.page(trace).slices()],
                     [[7], [7], ['7/2'], ['7/2']])

  def test_counters(self):
    trace = described() + track(QUEUE, delimited(2, b'queue'),
                                delimited(8, integer(3, 3)), parent=PROCESS)
    for number in 1.5, float('nan'), -2:
      trace += event(1, COUNTER, MS, integer(11, QUEUE), double(44, number))
    row = self.page(trace).rows[-1]
    self.assertEqual(row['label'], 'queue')
    self.assertEqual(row['counter'], {'time': [0, MS, MS], 'value': [1.5, None, -2],
                                      'unit': 'bytes'})

  def test_open_slices_and_shared_rows(self):
    trace = described()
    for i in range(10):
      trace += (track(100 + i, parent=PROCESS) +
                event(1, BEGIN, 0, name('request'), integer(11, 100 + i)) +
                event(1, END, MS, integer(11, 100 + i)))
    trace += event(1, BEGIN, 0, name('hung')) + event(1, INSTANT, MS, name('x'))
    html, error = self.run_command(trace)
    self.assertEqual(error, '1 slice had not ended\n')
    rows = Page(html).rows
    self.assertEqual([row['label'] for row in rows], ['app 41', 'track', 'main 42'])
    self.assertEqual(len(rows[1]['slices'][0]['begin']), 10)
    self.assertNotIn('open', rows[1]['slices'][0])
    hung, = rows[2]['slices']
    self.assertEqual((hung['open'], hung['duration']), ([1], [MS]))

  def test_a_task_that_hangs_lasts_until_the_end_of_the_recording(self):
    subprocess.run([TRACER, self.path], stdout=subprocess.DEVNULL, check=True)
    end = time.clock_gettime_ns(time.CLOCK_BOOTTIME) + 100 * 1000 * MS
    trace = self.path.read_bytes() + packet(
        9, delimited(6, delimited(1, integer(1, 6) + integer(2, end))))
    html, _ = self.run_command(trace)
    self.assertGreater(Page(html).data['to'], 100 * 1000 * MS)

  def test_a_whole_recording(self):
    trace, items = self.record_workers()
    page = self.page(trace)
    read = self.read_slices(trace)
    self.assertEqual(len(read), 5 * items)
    # An item has all the others within it.
    for step in read:
      step.self = step.duration - sum(
          other.duration for other in read
          if step.name == 'item' and other.name != 'item' and step.track == other.track
          and step.begin <= other.begin <= other.end <= step.end)
    # The numbers are after the names.
    self.assertEqual(
        sorted((s['process'].split()[-1], s['row'].rpartition(' ')[0], s['category'],
                s['name'], s['begin'], s['duration'], s['self']) for s in page.slices()),
        sorted((s.process, s.thread, s.category, s.name, s.begin, s.duration, s.self)
               for s in read))

  def test_part_of_the_time(self):
    trace = described() + track(QUEUE, delimited(2, b'queue'), delimited(8, b''))
    for text in 'first', 'second', 'third':
      trace += (event(1, COUNTER, 0, integer(11, QUEUE), integer(30, len(text))) +
                event(1, BEGIN, 0, name(text)) + event(1, END, 10 * MS))
    page = self.page(trace, '--from', '11ms', '--to', '15ms')
    self.assertEqual([s['name'] for s in page.slices()], ['second'])
    self.assertEqual((page.data['from'], page.data['to']), (11 * MS, 15 * MS))
    counter, = [row['counter'] for row in page.rows if 'counter' in row]
    self.assertEqual(counter['value'], [len('second')])
    self.assertNotIn('third', page.data['strings'])
    self.assertIn('--to has to be later',
                  self.run_command(trace, '--from=2s', '--to=1s', code=2)[1])
    self.assertIn('--from takes a time', self.run_command(trace, '--from=x', code=2)[1])

  def test_nothing_in_the_trace(self):
    page = self.page(described())
    self.assertEqual((page.rows, page.notes), ([], []))
    self.path.unlink()
    result = subprocess.run([PZTRACE, 'html', self.path], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, check=False)
    self.assertEqual((result.returncode, result.stdout), (1, b''))
    self.assertIn(b'No such file', result.stderr)

  def test_page_is_a_file(self):
    trace = described() + event(1, INSTANT, 0, name('x'))
    page = self.run_command(trace)[0]
    path = self.path.with_suffix('.html')
    self.assertEqual(self.run_command(trace, '-o', path), ('', ''))
    self.assertEqual(path.read_text(), page)
    # It stays as it is if there is nothing to write.
    self.run_command(b'', '-o', path, code=1)
    self.assertEqual(path.read_text(), page)
    self.assertIn('/x/y: No such file', self.run_command(trace, '-o', '/x/y', code=1)[1])
    self.assertIn('cannot replace', self.run_command(trace, '-o', self.path, code=2)[1])
    self.assertEqual(self.path.read_bytes(), trace)

  def test_standard_input(self):
    trace = described() + event(1, INSTANT, 0, name('x'))
    result = subprocess.run([PZTRACE, 'html', '-'], input=trace,
                            stdout=subprocess.PIPE, check=True)
    self.assertEqual(len(Page(result.stdout.decode()).instants()), 1)

  def test_losses(self):
    lost = delimited(1003, integer(1, 1) + integer(2, 10))
    stats = delimited(35, delimited(1, lost))
    trace = (described() + event(1, BEGIN, 0, name('open')) + event(1, END, 1) +
             event(1, BEGIN, 0, name('open')) +
             event(1, INSTANT, 0, name('x'), dropped=1) + packet(9, stats))
    html, error = self.run_command(trace)
    self.assertIn('1 slice had not ended', error)
    self.assertEqual(Page(html).notes, [
        '10 packets lost: 10 shared memory full; packets are missing in 1 place',
        'main 42: packets are missing in 1 place',
        '1 slice had not ended, or its end is lost',
        '1 packet is of no use, since others are lost'])
    self.assertIs(Page(html).data['complete'], False)

  def test_lost_stretches(self):
    trace = described() + event(1, INSTANT, 0, name('x'))
    for begin in 5, 9:
      clock = integer(1, 64) + integer(2, 1000 + begin * MS) + integer(3, 1)
      trace += (first_packet(1, track=THREAD, clock=clock, dropped=1) +
                event(1, INSTANT, 0, name('x')))
    page = self.page(trace)
    self.assertEqual([row['lost'] for row in page.rows if 'lost' in row],
                     [{'begin': [0, 5 * MS], 'duration': [5 * MS, 4 * MS]}])

  def test_what_the_recording_did_not_see_is_no_loss(self):
    page = Page(self.run_command(described() + event(1, END, 0) +
                                 event(1, BEGIN, 0, name('open')) +
                                 event(1, INSTANT, 0, name('x')))[0])
    self.assertIs(page.data['complete'], True)
    self.assertEqual(page.notes, ['1 slice had not ended',
                                  '1 end without a beginning in the trace'])

  def test_names_are_no_markup(self):
    evil = ['</script><script>alert(1)</script>', '<!--<script>', ']]>\u2028\u2029',
            '\\u003c', '"', '\x00\x1b']
    trace = described()
    for text in evil:
      trace += event(1, INSTANT, 0, name(text), arg(text, delimited(6, b'<b>')))
    trace += event(1, INSTANT, 0, delimited(23, b'\xff<\xed\xa0\x80'))
    html, _ = self.run_command(trace)
    self.assertEqual([i['name'] for i in Page(html).instants()],
                     evil + ['\ufffd<\ufffd\ufffd\ufffd'])
    self.assertEqual([i['args'] for i in Page(html).instants()[:-1]],
                     [{text: '<b>'} for text in evil])
    self.assertNotIn('<', TEXT.search(html)[1])

  def test_the_page_fetches_nothing_and_runs_its_own_script_only(self):
    html, _ = self.run_command(described())
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]
    for kind, text in re.findall(r'<(script|style)>(.*?)</\1>', html, re.S):
      digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
      self.assertIn("%s-src 'sha256-%s'" % (kind, digest), policy)
    self.assertTrue(policy.startswith("default-src 'none'"))
    self.assertNotRegex(html, r'(?i)unsafe|https?:|\b(src|href)=|@import|url\(')

  def test_any_bytes_are_survived(self):
    whole = described() + b''.join(
        event(1, kind, 3, name('x'), integer(11, kind == 4), integer(30, 7),
              arg('key', integer(3, 7)))
        for kind in (1, 1, 2, 3, 4, 2, 2))
    html, error = self.run_command(whole[:-3], code=1)
    self.assertIn('the trace is damaged', error)
    self.assertIn('damaged', Page(html).notes[0])
    self.assertTrue(Page(html).slices())
    for output in self.outputs_of_damaged(whole):
      if output:
        page = Page(output)
        page.slices()
        page.instants()

if __name__ == '__main__':
  sys.exit(run_cases())
