# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""A page of `pztrace html`, and its trace, for tests."""

import itertools
import json
import pathlib
import re
import subprocess

from timeline_command import TimelineCommandTest
from trace_text import Trace

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE = re.compile(r'<script type="application/json" id="trace">(.*?)</script', re.S)


class Page:
  """The data of a page, without its compression."""

  def __init__(self, html):
    self.data, = TRACE.findall(html)
    self.data = json.loads(self.data)
    self.notes = self.data['notes']
    self.rows = self.data['rows']

  def events(self, row, line):
    count = len(line['text'])
    columns = [line.get(name, [0] * count)
               for name in ('duration', 'nested', 'args', 'flows')]
    strings = self.data['strings']
    for begin, text, duration, nested, args, flows in zip(
        itertools.accumulate(line['begin']), line['text'], *columns):
      category, name = self.data['texts'][text]
      yield {'row': row['label'], 'name': strings[name],
             'category': strings[category], 'begin': begin,
             'duration': duration, 'self': duration - nested,
             'args': json.loads('{%s}' % strings[args]),
             'flows': [json.loads(flow) if flow.isdigit() else flow
                       for flow in strings[flows].split(',') if flow]}

  def slices(self):
    found = []
    process = None
    for row in self.rows:
      if row['kind'] == 'process':
        process = row['label']
      found += [{**event, 'process': process, 'depth': depth}
                for depth, line in enumerate(row.get('slices', []))
                for event in self.events(row, line)]
    return found

  def instants(self):
    return [event for row in self.rows if 'instants' in row
            for event in self.events(row, row['instants'])]


class PageTest(TimelineCommandTest):
  command = 'html'

  def read_slices(self, trace):
    """Those of a recording, as protoc reads them, with times since the first event."""
    text = subprocess.run(
        [pathlib.Path.cwd() / 'protoc', '-I', ROOT / 'include',
         '--decode=perfetto.protos.Trace', 'protozero/tracing/trace.proto'],
        input=trace, stdout=subprocess.PIPE, check=True).stdout.decode()
    reader = Trace(text)
    begin = min(reader.times)
    for step in reader.slices:
      step.begin -= begin
      step.end -= begin
      step.process, step.thread = reader.threads[step.track]
    return reader.slices
