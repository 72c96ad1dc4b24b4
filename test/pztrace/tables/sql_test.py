#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace sql` answers the queries of docs/sql.md on a trace of known content, and
`pztrace export --format sqlite` makes a database that SQLite reads, whatever the bytes of
the trace are. Runs in the build directory."""

import csv
import json
import math
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys

from row_cases import encode, text_of_line
from timeline_command import PZTRACE, TimelineCommandTest, run_sql_cases
from track_events import BEGIN, END, INSTANT, arg, described, event, first_packet, name
from wire import delimited, double, integer

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = (ROOT / 'docs' / 'sql.md').read_text()

# Two threads, whose slices a flow joins, a counter, tasks, and losses.
TRACE = '''
packet { trusted_packet_sequence_id: 9 clock_snapshot {
  clocks { clock_id: 6 timestamp: 0 } clocks { clock_id: 1 timestamp: 5000 } } }
thread
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 12 parent_uuid: 11 name: "tasks" state {} } }
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 13 parent_uuid: 10 name: "queue" counter { unit: UNIT_COUNT } } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 21 } } }
packet { trusted_packet_sequence_id: 2 track_descriptor {
  uuid: 21 parent_uuid: 10 thread { pid: 5 tid: 7 thread_name: "pool" } } }
100 BEGIN name: "request" categories: "app" flow_ids: 9 debug_annotations { name: "user" string_value: "ann" }
110 BEGIN name: "parse"
115 INSTANT name: "cache miss" categories: "app" debug_annotations { name: "key" int_value: 3 }
120 BEGIN name: "db"
150 END
160 END
200 END
300 BEGIN name: "request" debug_annotations { name: "user" string_value: "bob" }
310 BEGIN name: "db"
380 END
400 END
500 BEGIN name: "request" debug_annotations { name: "user" string_value: "ann" }
520 END
600 BEGIN name: "request"
610 END
2:260 BEGIN name: "render" flow_ids: 9
2:290 END
2:350 BEGIN name: "send" terminating_flow_ids: 9
2:360 END
2:370 BEGIN name: "hangs"
100 COUNTER track_uuid: 13 counter_value: 2
200 COUNTER track_uuid: 13 counter_value: 6
400 COUNTER track_uuid: 13 counter_value: 0
packet { trusted_packet_sequence_id: 3 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 12 } }
  interned_data {
    task_sites { iid: 1 name: "session" file: "server.cc" line: 3 }
    task_sites { iid: 2 name: "answer" file: "server.cc" line: 4 }
    event_names { iid: 5 name: "session" } task_runs { iid: 5 task: 7 site_iid: 1 } } }
3:100 INSTANT track_uuid: 11 task { spawned: 7 site_iid: 1 parent: 0 }
3:110 STATE name_iid: 5
3:130 STATE task { wait_site_iid: 2 }
3:180 INSTANT track_uuid: 11 task { woken: 7 }
3:190 STATE name_iid: 5
3:195 STATE task { result: RESULT_DONE }
packet { trusted_packet_sequence_id: 4 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 21 } } }
4:600 INSTANT name: "w"
packet { trusted_packet_sequence_id: 4 sequence_flags: 1 previous_packet_dropped: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 21 } } }
4:620 INSTANT name: "x"
packet { trusted_packet_sequence_id: 9 trace_stats { buffer_stats {
  packets_lost { reason: LOSS_MEMORY_FULL packets: 8 } } } }
'''

# The rows that the queries of the page find there, in their order.
ANSWERS = [
    [['request', 4, 230, 100], ['db', 2, 100, 70], ['parse', 1, 50, 50],
     ['render', 1, 30, 30], ['session', 2, 25, 20], ['send', 1, 10, 10]],
    [['request', 20, 100], ['db', 30, 70], ['parse', 50, 50], ['render', 30, 30],
     ['session', 5, 20], ['send', 10, 10]],
    [['P', 'T', 6, 230], ['P', 'pool', 7, 40]],
    [['r0', 'request', 50], ['r0', 'db', 30], ['r0', 'parse', 20],
     ['r1', 'db', 70], ['r1', 'request', 30], ['r2', 'request', 20], ['r3', 'request', 10]],
    [[100, 100, 'ann'], [500, 20, 'ann']],
    [['ann', 2], ['bob', 1], ['nobody', 1]],
    [['request', 'render', 60], ['render', 'send', 60]],
    [['queue', 14 / 3, 6]],
    [['session', 1, 25, 50, 20]],
    [['shared memory full', 8], ['gaps of pool', 1],
     ['slices without an end', 1]],
]


def trace_of(lines):
  return b''.join(encode('\n'.join(map(text_of_line, lines.splitlines()))))


class SqlTest(TimelineCommandTest):
  command = 'sql'

  def ask(self, query, *args, file=None, code=0):
    result = subprocess.run([PZTRACE, 'sql', *args, file or self.path, query], timeout=60,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    self.assertEqual(result.returncode, code, result.stderr)
    return result.stdout.decode(), result.stderr.decode()

  def objects(self, query, **kwargs):
    return [json.loads(line)
            for line in self.ask(query, '--format', 'ndjson', **kwargs)[0].splitlines()]

  def database(self, trace):
    """The database of a trace, as Python reads it."""
    self.path.write_bytes(trace)
    path = self.path.with_suffix('.db')
    result = subprocess.run([PZTRACE, 'export', '--format', 'sqlite', '-o', path, self.path],
                            timeout=60, stderr=subprocess.PIPE, check=False)
    self.assertIn(result.returncode, (0, 1), result.stderr)
    database = sqlite3.connect('file:%s?mode=ro' % path, uri=True)
    self.addCleanup(database.close)
    self.assertEqual(database.execute('PRAGMA integrity_check').fetchall(), [('ok',)])
    return database

  def rows(self, trace, query):
    return self.database(trace).execute(query).fetchall()


class QueriesTest(SqlTest):

  def test_the_queries_of_the_page(self):
    queries = re.findall(r'^```sql\n(.*?)^```', PAGE, re.M | re.S)
    self.assertEqual(len(queries), len(ANSWERS))
    database = self.database(trace_of(TRACE))
    for query, expected in zip(queries, ANSWERS):
      with self.subTest(query):
        rows = [list(row.values()) for row in self.objects(query)]
        if 'SELECT request,' in query:
          # The ids of slices are not said to be anything.
          ids = sorted({row[0] for row in rows})
          rows = [['r%d' % ids.index(row[0]), *row[1:]] for row in rows]
        self.assertEqual(rows, expected)
        # SQLite alone has no extract_arg().
        if 'extract_arg(' not in query:
          self.assertEqual(len(database.execute(query).fetchall()), len(rows))

  def test_the_columns_are_those_of_the_page(self):
    database = self.database(trace_of(TRACE))
    said = {}
    for tables, columns in re.findall(r'^\| (`\w+`.*?) \| [^|]* \| (.*) \|$', PAGE, re.M):
      for table in re.findall(r'`(\w+)`', tables):
        said[table] = set(re.findall(r'`(\w+)`', columns))
    found = {}
    for table, in database.execute('SELECT name FROM sqlite_master WHERE type != "index"'):
      found[table] = {row[1] for row in database.execute('PRAGMA table_xinfo(%s)' % table)}
    self.assertEqual(set(said), set(found))
    for table in ('slice', 'counter', 'track', 'thread', 'process', 'args', 'flow', 'loss',
                  'trace_bounds', 'sched_slice', 'thread_state', 'stack_sample',
                  'stack_profile_callsite', 'stack_profile_frame', 'stack_profile_mapping'):
      self.assertEqual(said[table], found[table], table)
    for table, columns in found.items():
      if table in ('instant', 'slices', 'state') or table.endswith('_slice'):
        self.assertLessEqual(columns, found['slice'] | said[table])
      elif table == 'sched':
        self.assertEqual(columns, found['sched_slice'])
      elif table == 'counters':
        self.assertLess(columns, found['counter'] | said[table])
      elif table.endswith('_track'):
        self.assertLess(columns, found['track'])
    header, _ = self.export('--tasks')
    self.assertEqual(found['task'], {'upid'} | set(header.split(',')) -
                     {'host', 'file', 'process', 'pid'})

  def export(self, *args):
    result = subprocess.run([PZTRACE, 'export', *args, self.path], stdout=subprocess.PIPE,
                            text=True, check=True)
    return result.stdout.split('\n', 1)

  def test_the_rows_are_those_of_export(self):
    database = self.database(self.record_workers()[0])
    for table, query in (
        ('slices', 'SELECT name, ts, time, dur, self, depth FROM slice '
         'WHERE self IS NOT NULL'),
        ('instants', 'SELECT name, ts, time FROM instant'),
        ('counters', 'SELECT ts, time, value FROM counter')):
      cursor = database.execute(query)
      columns = [each[0] for each in cursor.description]
      text = '\n'.join(self.export('--' + table))
      rows = [[row[column] for column in columns]
              for row in csv.DictReader(text.splitlines())]
      found = [['%.15g' % cell if isinstance(cell, float) else str(cell) for cell in row]
               for row in cursor]
      self.assertEqual(sorted(found), sorted(rows))

  def test_parents_contain_their_slices(self):
    rows = self.rows(self.record_workers()[0], '''
        SELECT count(*), sum(outer.ts <= inner.ts AND
                             outer.ts + outer.dur >= inner.ts + inner.dur AND
                             outer.depth + 1 = inner.depth AND
                             outer.track_id = inner.track_id)
        FROM slice AS inner LEFT JOIN slice AS outer ON inner.parent_id = outer.id
        WHERE inner.depth > 0''')
    self.assertGreater(rows[0][0], 0)
    self.assertEqual(rows[0][0], rows[0][1])

  def test_a_slice_around_others_that_a_loss_ends_is_no_parent(self):
    trace = (described() + event(1, BEGIN, 0, name('lost')) +
             event(1, BEGIN, 1, name('whole')) + event(1, END, 2) +
             described(dropped=1) + event(1, INSTANT, 3, name('later')))
    self.assertEqual(self.rows(trace, 'SELECT name, depth, parent_id FROM slice'),
                     [('whole', 1, None), ('later', 0, None)])

  def test_a_database_finds_the_slices_within_one(self):
    plan = self.rows(
        trace_of(TRACE), 'EXPLAIN QUERY PLAN SELECT (SELECT count(*) FROM slice AS c '
        'WHERE c.parent_id = s.id) FROM slice AS s')
    self.assertIn('slices_within (parent_id=?)', str(plan))

  def test_tracks(self):
    database = self.database(trace_of(TRACE))
    for query, expected in (
        ('SELECT process.pid, process.name, tid, thread.name, is_main_thread '
         'FROM thread JOIN process USING (upid) ORDER BY tid',
         [(5, 'P', 5, None, 1), (5, 'P', 6, 'T', 0), (5, 'P', 7, 'pool', 0)]),
        ('SELECT track.name, thread.name, parent.name FROM thread_track AS track '
         'JOIN thread USING (utid) LEFT JOIN track AS parent ON track.parent_id = parent.id '
         'ORDER BY 1, 2',
         [(None, 'T', None), (None, 'pool', None), ('tasks', 'T', None)]),
        ('SELECT name, unit FROM counter_track', [('queue', 'count')]),
        ('SELECT track.name, pid FROM process_counter_track AS track '
         'JOIN process USING (upid)', [('queue', 5)]),
        ('SELECT type, pid FROM process_track JOIN process USING (upid)',
         [('process_track_event', 5)]),
        ('SELECT name, ts, time, category FROM instant '
         'WHERE name NOT NULL ORDER BY ts',
         [('cache miss', 115, 5115, 'app'), ('w', 600, 5600, None),
          ('x', 620, 5620, None)]),
        ('SELECT place, source, line, state, result, waits FROM task',
         [('session', 'server.cc', 3, 'ended', 'done',
           '{"answer (server.cc:4)":{"count":1,"total":50,"max":50}}')])):
      self.assertEqual(database.execute(query).fetchall(), expected, query)


  def test_a_trace_answers_as_its_database(self):
    lost = (described(dropped=1) + event(1, BEGIN, 1000, name('lost')) +
            event(1, BEGIN, 1001, name('whole'), arg('n', integer(4, 2**64 - 3))) +
            event(1, END, 1002) + described(dropped=1) + event(1, INSTANT, 1003, name('later')))
    for trace in trace_of(TRACE), trace_of(TRACE) + lost:
      self.database(trace)
      database = self.path.with_suffix('.db')
      tables = ['slice', 'instant', 'slices', 'state', 'thread_slice', 'process_slice',
                'thread_or_process_slice', 'counters', 'trace_bounds', 'stats', 'metadata', 'state_track',
                'thread_state_track', 'process_state_track', 'counter', 'track', 'thread_track', 'process_track',
                'counter_track', 'thread_counter_track', 'process_counter_track', 'thread',
                'process', 'args', 'flow', 'task', 'loss']
      queries = ['SELECT * FROM ' + table for table in tables]
      # One table is not read, and the others' numbers are the same.
      queries += ['SELECT track_id, arg_set_id FROM slice', 'SELECT id FROM track',
                  'SELECT upid FROM process ORDER BY upid', 'SELECT upid, task FROM task',
                  'SELECT name, sum(dur) FROM slice GROUP BY name',
                  'SELECT arg_set_id, key FROM args', 'SELECT count(*) FROM args',
                  "SELECT max(extract_arg(arg_set_id, 'debug.key')) AS x FROM instant",
                  'SELECT name, args.* FROM slice LEFT JOIN args USING (arg_set_id)',
                  'SELECT a.name, b.name FROM slice a JOIN slice b ON a.parent_id = b.id',
                  'SELECT type, name FROM sqlite_schema WHERE type != "index"',
                  'SELECT s.id FROM slice AS s JOIN flow ON s.id IN (slice_in, slice_out)',
                  "SELECT DISTINCT category FROM slice WHERE name LIKE 'r%'"]
      for query in queries:
        with self.subTest(query):
          rows = [sorted(json.dumps(row) for row in self.objects(query, file=file))
                  for file in (self.path, database)]
          self.assertEqual(rows[0], rows[1])
      self.assertEqual(self.objects('SELECT name, ts FROM slice'),
                       self.objects('SELECT name, ts FROM slice', file=database))

  def test_a_wrong_query_does_not_read_the_trace(self):
    self.path.write_bytes(trace_of(TRACE) + b'\x0a\x7f')
    error = self.ask('SELECT missing FROM slice', code=1)[1]
    self.assertEqual(error, 'pztrace: no such column: missing\n')


class ContentTest(SqlTest):

  def args_of(self, *annotations):
    return self.rows(
        described() + event(1, INSTANT, 0, name('a'), *annotations),
        'SELECT key, flat_key, value_type, int_value, real_value, string_value FROM args')

  def test_arguments(self):
    listed = (delimited(11, delimited(10, b'ids') + delimited(12, integer(4, 5)) +
                        delimited(12, integer(2, 1))) +
              delimited(11, delimited(10, b'none') + b''))
    self.assertEqual(
        self.args_of(arg('user', listed), arg('big', integer(3, 2**64 - 1)),
                     arg('text', delimited(6, 'a"\\\n\u20ac\U0001f600\x01'.encode())),
                     arg('json', delimited(9, b'["\\ud83d\\ude00\\ud83d","\\n",1.5e3,{},[]]'))),
        [('debug.user.ids[0]', 'debug.user.ids', 'int', 5, None, None),
         ('debug.user.ids[1]', 'debug.user.ids', 'bool', 1, None, None),
         ('debug.user.none', 'debug.user.none', 'null', None, None, None),
         ('debug.big', 'debug.big', 'uint', -1, None, None),
         ('debug.text', 'debug.text', 'string', None, None, 'a"\\\n\u20ac\U0001f600\x01'),
         ('debug.json[0]', 'debug.json', 'string', None, None, '\U0001f600\ufffd'),
         ('debug.json[1]', 'debug.json', 'string', None, None, '\n'),
         ('debug.json[2]', 'debug.json', 'real', None, 1500.0, None),
         ('debug.json[3]', 'debug.json', 'json', None, None, '{}'),
         ('debug.json[4]', 'debug.json', 'json', None, None, '[]')])

  def test_fields_of_an_event_are_no_debug_annotations(self):
    trace = trace_of(
        'thread\n100 INSTANT name: "a" correlation_id: 7 source_location { file_name: "f" '
        'line_number: 3 } debug_annotations { name: "x" int_value: 1 }')
    self.assertEqual(self.rows(trace, 'SELECT key FROM args ORDER BY key'),
                     [('correlation_id',), ('debug.x',), ('source.file_name',),
                      ('source.line_number',)])

  def test_annotations_with_names_of_fields_are_no_fields(self):
    trace = trace_of(
        'thread\n100 BEGIN name: "a" source_location { line_number: 3 } '
        'debug_annotations { name: "source_location" int_value: 1 } '
        'debug_annotations { name: "[a.b]" int_value: 2 }\n'
        '200 END debug_annotations { name: "log_message" int_value: 3 }')
    self.assertEqual(self.rows(trace, 'SELECT key, int_value FROM args ORDER BY key'),
                     [('debug._a_b_', 2), ('debug.log_message', 3),
                      ('debug.source_location', 1), ('source.line_number', 3)])

  def test_keys_are_those_of_perfetto(self):
    trace = trace_of(
        'thread\npacket { trusted_packet_sequence_id: 1 interned_data { '
        'source_locations { iid: 3 file_name: "f" } log_message_body { iid: 1 body: "b" } } }\n'
        '100 INSTANT name: "a" task_execution { posted_from_iid: 3 } log_message { '
        'source_location_iid: 3 body_iid: 1 prio: PRIO_WARN } chrome_user_event { action: "u" } '
        'debug_annotations { name: "a.b" dict_entries { name: "c[0]" string_value: "x" } } '
        'debug_annotations { name: "a" dict_entries { name: "b" string_value: "y" } }')
    self.assertEqual(self.rows(trace, 'SELECT key, string_value FROM args'),
                     [('debug.a_b.c_0_', 'x'), ('debug.a.b', 'y'),
                      ('task.posted_from.file_name', 'f'),
                      ('track_event.log_message.message', 'b'),
                      ('track_event.priority', 'PRIO_WARN'),
                      ('track_event.log_message.file_name', 'f'),
                      ('chrome_user_event.action', 'u')])

  def test_keys_that_are_the_same(self):
    def event_with(*names):
      return 'INSTANT name: "a" ' + ' '.join(
          f'debug_annotations {{ name: "{key}" int_value: {i} }}'
          for i, key in enumerate(names))

    self.path.write_bytes(trace_of('\n'.join((
        'thread', '100 ' + event_with('a.b', 'a_b', 'c[0]', 'd'),
        '200 ' + event_with('a_b', 'c_0_'),
        '300 INSTANT name: "b" debug_annotations { name: "a" dict_entries { name: "b" '
        'int_value: 4 } } debug_annotations { name: "a.b" int_value: 5 }',
        '400 ' + event_with('[x', ']x', '.x')))))
    rows, error = self.ask('SELECT key, int_value FROM args JOIN slice USING (arg_set_id) '
                           'ORDER BY ts, int_value', '--format', 'csv')
    self.assertEqual(rows.split()[1:], [
        'debug.a_b,0', 'debug.a_b,1', 'debug.c_0_,2', 'debug.d,3',
        'debug.a_b,0', 'debug.c_0_,1', 'debug.a.b,4', 'debug.a_b,5',
        'debug._x,0', 'debug._x,1', 'debug._x,2'])
    self.assertIn('3 values in args with the key of another', error)
    self.assertEqual(self.ask('SELECT count(*) FROM slice')[1], '')

  def test_pointers_and_enums(self):
    trace = trace_of(
        'thread\n100 INSTANT name: "a" debug_annotations { name: "p" pointer_value: 4096 } '
        'debug_annotations { name: "q" pointer_value: 18446744073709551615 } '
        'chrome_legacy_ipc { message_class: CLASS_WIDGET message_line: 4 }\n'
        '200 INSTANT name: "b" chrome_legacy_ipc { message_line: 5 }')
    self.assertEqual(
        self.rows(trace, "SELECT key, value_type, int_value, string_value FROM args"),
        [('debug.p', 'pointer', 4096, None), ('debug.q', 'pointer', -1, None),
         ('legacy_ipc.class', 'string', None, 'WIDGET'), ('legacy_ipc.line', 'uint', 4, None),
         ('legacy_ipc.class', 'string', None, 'UNSPECIFIED'),
         ('legacy_ipc.line', 'uint', 5, None)])

  def test_an_end_adds_to_dictionaries_and_arrays(self):
    trace = trace_of(
        'thread\n100 BEGIN name: "a" debug_annotations { name: "d" '
        'dict_entries { name: "host" string_value: "h" } '
        'dict_entries { name: "l" array_values { int_value: 4 } array_values { int_value: 5 } } '
        'dict_entries { name: "n" int_value: 1 } } '
        'debug_annotations { name: "x" array_values { int_value: 7 } }\n'
        '200 END debug_annotations { name: "d" '
        'dict_entries { name: "l" array_values { int_value: 6 } } '
        'dict_entries { name: "n" int_value: 2 } } '
        'debug_annotations { name: "x" int_value: 8 }')
    self.assertEqual(
        self.rows(trace, 'SELECT key, ifnull(int_value, string_value) FROM args'),
        [('debug.d.host', 'h'), ('debug.d.l[0]', 4), ('debug.d.l[1]', 5),
         ('debug.d.l[2]', 6), ('debug.d.n', 2), ('debug.x', 8)])

  def test_values_have_the_types_of_the_trace(self):
    self.assertEqual(
        [row[2:] for row in self.args_of(
            arg('u', integer(3, 5)), arg('i', integer(4, 5)),
            arg('d', double(5, 5.0)), arg('n', double(5, math.inf)),
            arg('j', delimited(9, b'[5,5.0,18446744073709551615]')))],
        [('uint', 5, None, None), ('int', 5, None, None), ('real', None, 5.0, None),
         ('string', None, None, 'Infinity'), ('int', 5, None, None),
         ('real', None, 5.0, None), ('uint', -1, None, None)])

  def test_keys_do_not_grow_out_of_proportion(self):
    long = delimited(11, delimited(10, b'k' * 10000) +
                     b''.join(delimited(12, integer(4, 1)) for _ in range(10000)))
    rows = self.args_of(arg('a', long))
    self.assertLess(sum(len(str(cell)) for row in rows for cell in row), 5000000)
    self.assertEqual(rows[-1][2], 'json')
    self.assertEqual(len(rows) - 1 + rows[-1][5].count('1'), 10000)

  def test_texts_are_whole_utf8_without_nul(self):
    trace = (described() + event(1, INSTANT, 0, delimited(23, b'a\0b\xff\xc3')) +
             event(1, INSTANT, 1, name('tab\t\x1b')))
    self.assertEqual(self.rows(trace, 'SELECT name, length(name) FROM slice ORDER BY ts'),
                     [('a\ufffdb\ufffd\ufffd', 5), ('tab\t\x1b', 5)])
    self.assertEqual(self.ask('SELECT name FROM slice ORDER BY ts')[0],
                     'name\na\ufffdb\ufffd\ufffd\ntab\\t\\033\n')

  def test_flows(self):
    trace = trace_of('''thread
30 INSTANT name: "s30" terminating_flow_ids: 5
10 INSTANT name: "s10" flow_ids: 5 flow_ids: 18446744073709551615
20 INSTANT name: "s20" flow_ids: 5 flow_ids: 5
40 INSTANT name: "s40" flow_ids: 5
45 INSTANT name: "s45" flow_ids: 5
50 INSTANT name: "s50" flow_ids: 18446744073709551615''')
    self.assertEqual(
        self.rows(trace, 'SELECT a.name, b.name, trace_id FROM flow '
                  'JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in '
                  'ORDER BY a.ts, b.ts'),
        [('s10', 's20', 5), ('s10', 's50', -1), ('s20', 's30', 5), ('s40', 's45', 5)])

  def test_extensions_that_nothing_describes_are_counted(self):
    self.path.write_bytes(
        first_packet(1) +
        event(1, INSTANT, 1, name('x'), integer(9900, 7), delimited(9901, b'y')) +
        event(1, INSTANT, 1, name('y')))
    self.assertEqual(self.ask('SELECT count(*) FROM args')[1],
                     '2 extensions that nothing describes: not read\n')

  def test_flows_of_the_json_format(self):
    def events(*fields):
      return trace_of('thread\n' + '\n'.join(
          f'{i} INSTANT name: "{chr(ord("a") + i)}" legacy_event {{ bind_id: 5 '
          f'flow_direction: FLOW_{direction} }}' for i, direction in enumerate(fields)))

    def arrows(*fields):
      return ' '.join(row[0] for row in self.rows(
          events(*fields), 'SELECT a.name || b.name FROM flow '
          'JOIN slice AS a ON a.id = slice_out JOIN slice AS b ON b.id = slice_in '
          'ORDER BY b.ts'))

    # All that the flow comes in to have it from the last that it goes out of.
    self.assertEqual(arrows('OUT', 'IN', 'IN', 'INOUT', 'IN', 'IN'), 'ab ac ad de df')
    self.assertEqual(arrows('IN', 'OUT', 'OUT', 'IN'), 'bd')
    # A step that nothing comes to begins no flow.
    self.assertEqual(arrows('INOUT', 'IN', 'OUT', 'INOUT', 'IN'), 'cd de')
    # Any directions: as a walk through them says.
    generator = random.Random(3)
    for _ in range(20):
      directions = generator.choices(('OUT', 'IN', 'INOUT'), k=generator.randrange(2, 9))
      sources = []
      source = None
      for i, direction in enumerate(directions):
        if source is not None and direction != 'OUT':
          sources.append(source + chr(ord('a') + i))
        if direction == ('INOUT' if source else 'OUT'):
          source = chr(ord('a') + i)
      self.assertEqual(arrows(*directions), ' '.join(sources), directions)

  def test_built_in_counters(self):
    trace = trace_of('''thread
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 15 parent_uuid: 11 counter { type: COUNTER_THREAD_TIME_NS } } }
packet { trusted_packet_sequence_id: 1 track_descriptor {
  uuid: 16 parent_uuid: 11 counter { type: COUNTER_THREAD_INSTRUCTION_COUNT } } }
10 INSTANT name: "a" extra_counter_track_uuids: 15 extra_counter_track_uuids: 16 extra_counter_values: 1700 extra_counter_values: 90
20 INSTANT name: "b" thread_time_absolute_us: 3 thread_instruction_count_absolute: 95''')
    self.assertEqual(
        self.rows(trace, 'SELECT ts, t.name, unit, value, tid FROM counter '
                  'JOIN thread_counter_track AS t ON t.id = track_id JOIN thread USING (utid) '
                  'ORDER BY ts, t.name'),
        [(10, 'thread_instruction_count', 'count', 90, 6), (10, 'thread_time', 'ns', 1700, 6),
         (20, 'thread_instruction_count', None, 95, 6), (20, 'thread_time', None, 3000, 6)])

  def test_damaged_traces(self):
    whole = trace_of(TRACE)
    generator = random.Random(1)
    for _ in range(60):
      broken = bytearray(whole)
      for _ in range(generator.randint(1, 8)):
        broken[generator.randrange(len(broken))] = generator.randrange(256)
      for table in 'slice', 'track', 'args', 'counter':
        # Every cell can be read.
        self.rows(broken, 'SELECT * FROM ' + table)
      query = ('SELECT * FROM slice LEFT JOIN args USING (arg_set_id) '
               'JOIN track ON track_id = track.id ORDER BY slice.id, key')
      outputs = [subprocess.run([PZTRACE, 'sql', '--format', 'csv', file, query],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60,
                                check=False).stdout
                 for file in (self.path, self.path.with_suffix('.db'))]
      self.assertTrue(outputs[0])
      self.assertEqual(*outputs)


class CommandTest(SqlTest):

  def setUp(self):
    super().setUp()
    self.path.write_bytes(trace_of(TRACE))

  def test_formats(self):
    query = "SELECT 1 AS a, 'x,\u20ac' AS \"b b\", 1.5 AS a, NULL, x'00ff' AS c"
    self.assertEqual(self.ask(query + " UNION ALL SELECT 22, 'yy', 0.25, 'n', 3")[0],
        ' a  b b   a:1  NULL  c\n'
        ' 1  x,\u20ac   1.5  null  \\000\\377\n'
        '22  yy   0.25  n     3\n')
    self.assertEqual(self.ask(query, '--format', 'csv')[0],
                     'a,b b,a:1,NULL,c\n1,"x,\u20ac",1.5,,AP8=\n')
    self.assertEqual(self.objects(query),
                     [{'a': 1, 'b b': 'x,\u20ac', 'a:1': 1.5, 'NULL': None, 'c': 'AP8='}])

  def test_what_is_not_read_is_a_failure(self):
    query = 'SELECT count(*) AS n FROM slice'
    self.path.write_bytes(trace_of(TRACE) + b'\x0a\x7f')
    result = subprocess.run([PZTRACE, 'sql', self.path, query], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, check=False)
    self.assertEqual((result.returncode, result.stdout), (1, ' n\n17\n'), result.stderr)
    self.assertIn('damaged', result.stderr)

  def test_the_standard_input_and_databases(self):
    query = 'SELECT count(*) AS n FROM slice'
    with self.path.open('rb') as trace:
      result = subprocess.run([PZTRACE, 'sql', '-', query], stdin=trace,
                              stdout=subprocess.PIPE, text=True, check=True)
    self.assertEqual(result.stdout, ' n\n17\n')
    # A pipe is read once only.
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, 'wb') as pipe:
      pipe.write(self.path.read_bytes())
    result = subprocess.run([PZTRACE, 'sql', '/dev/fd/%d' % read_end, query],
                            stdout=subprocess.PIPE, text=True, pass_fds=[read_end],
                            check=True)
    os.close(read_end)
    self.assertEqual(result.stdout, ' n\n17\n')
    self.database(trace_of(TRACE))
    path = self.path.with_suffix('.db')
    before = path.read_bytes()
    self.assertEqual(self.ask(query, file=path)[0], ' n\n17\n')
    self.assertEqual(path.read_bytes(), before)
    for size in 0, 20, 100, len(before) // 2:
      path.write_bytes(before[:size])
      self.ask('SELECT * FROM slice JOIN args', file=path, code=1)

  def test_wrong_queries(self):
    for query, reason in (
        ('SELEC 1', 'near "SELEC": syntax error'),
        ('SELECT nam FROM slice', 'no such column: nam; did you mean name?'),
        ('SELECT s.nam FROM slice AS s', 'no such column: s.nam; did you mean name?'),
        ('SELECT 1 FROM slce', 'no such table: slce; did you mean slice?'),
        ('SELECT 1 FROM xyzxyz', 'no such table: xyzxyz'),
        ('SELECT percentle(1, 2)', 'no such function: percentle; did you mean percentile?'),
        ('SELECT 1 FROM trace', 'no such table: trace; did you mean track?'),
        ('SELECT 1; SELECT x', 'no such column: x'),
        ('INCLUDE PERFETTO MODULE android.startup', 'no such module: android.startup; '
         'built in are counters.intervals, intervals.overlap, linux.cpu.utilization.process, '
         'linux.cpu.utilization.thread, linux.perf.samples, prelude, sched.latency, '
         'sched.runnable, sched.states, sched.thread_level_parallelism, sched.time_in_state, '
         'sched.with_context, slices.cpu_time, slices.flow, slices.hierarchy, '
         'slices.self_dur, slices.slices, slices.stack, slices.time_in_state, '
         'slices.with_context, stacks.cpu_profiling, time.conversion, '
         'viz.summary.track_event'),
        (' -- nothing', 'the query is empty'),
        ("SELECT json_extract('x', '$')", 'malformed JSON')):
      for form in [], ['--format', 'csv']:
        output, error = self.ask(query, *form, code=1)
        if 'JSON' not in reason or not form:
          self.assertEqual(output, '')
        self.assertEqual(error.splitlines()[-1], 'pztrace: ' + reason)
    self.assertEqual(self.ask('SELECT 1; -- that is all')[0], '1\n1\n')

  def test_json_is_read(self):
    self.path.write_bytes(trace_of(TRACE))
    self.assertEqual(self.ask("SELECT sum(value) AS n FROM json_each('[1,2]')")[0], 'n\n3\n')
    error = self.ask("UPDATE sqlite_master SET sql = ''", code=1)[1]
    self.assertIn('may not be modified', error)

  def test_queries_only_read(self):
    folder = self.path.parent
    other = folder / 'other'
    self.database(trace_of(TRACE))
    before = sorted(folder.iterdir())
    for query in (
        "ATTACH '%s' AS x" % other, "VACUUM INTO '%s'" % other, 'DELETE FROM slice',
        'CREATE TABLE main.x(y)', 'DROP TABLE slice', 'UPDATE slice SET dur = 1',
        'CREATE VIRTUAL TABLE x USING fts5(y)', 'CREATE TABLE x(y); INSERT INTO slice(id) '
        'SELECT y FROM x', 'PRAGMA journal_mode = WAL',
        "PRAGMA temp_store_directory = '%s'" % folder, "SELECT load_extension('x')",
        'BEGIN', 'REINDEX', 'ANALYZE', 'INSERT INTO slice(id) VALUES(-1) RETURNING id'):
      for file in self.path, self.path.with_suffix('.db'):
        output, error = self.ask(query, file=file, code=1)
        self.assertEqual(output, '')
        self.assertIn('can only read this database', error)
        self.assertEqual(sorted(folder.iterdir()), before)

  def test_a_database_in_wal_mode(self):
    folder = self.path.with_suffix('.wal')
    folder.mkdir()

    def sum_of(path):
      before = sorted((file.name, file.stat().st_size) for file in folder.iterdir())
      folder.chmod(0o555)
      try:
        result = self.ask('SELECT sum(x) FROM t', '--format', 'csv', file=path)
      finally:
        folder.chmod(0o755)
      self.assertEqual(before, sorted((file.name, file.stat().st_size)
                                      for file in folder.iterdir()))
      return int(result[0].split()[1])

    path = folder / 'a%20?b#.db'
    writer = sqlite3.connect(path)
    writer.executescript('PRAGMA journal_mode = WAL; CREATE TABLE t(x); '
                         'INSERT INTO t VALUES(1); PRAGMA wal_checkpoint(TRUNCATE)')
    writer.execute('INSERT INTO t VALUES(20)')
    writer.commit()
    self.assertEqual(sum_of(path), 21)
    # A copy has the log, and perhaps its index.
    copy = folder / 'copy.db'
    for end in '', '-wal', '-shm':
      shutil.copy(f'{path}{end}', f'{copy}{end}')
    self.assertEqual(sum_of(copy), 21)
    pathlib.Path(f'{copy}-shm').unlink()
    self.assertEqual(sum_of(copy), 21)
    writer.close()
    self.assertEqual(sum_of(path), 21)
    link = folder / 'link.db'
    link.symlink_to(copy)
    self.assertEqual(sum_of(link), 21)

  def test_a_database_from_others(self):
    path = self.path.with_suffix('.db')
    database = sqlite3.connect(path)
    database.executescript('''
        CREATE VIEW args AS SELECT 1 AS arg_set_id, 'k' AS key, 1 AS real_value,
          1 AS string_value, extract_arg(1, 'k') AS int_value;
        CREATE VIEW slice AS SELECT load_extension('x') AS id;
        CREATE TABLE t(x DEFAULT 'unused')''')
    database.close()
    self.assertIn('unsafe use', self.ask("SELECT extract_arg(1, 'k')", file=path, code=1)[1])
    self.assertIn('unsafe use', self.ask('SELECT * FROM slice', file=path, code=1)[1])

  def test_export(self):
    def export(*args, code):
      result = subprocess.run([PZTRACE, 'export', '--format', 'sqlite', *args],
                              stderr=subprocess.PIPE, text=True, check=False)
      self.assertEqual(result.returncode, code, result.stderr)
      return result.stderr
    folder = self.path.parent
    path = self.path.with_suffix('.db')
    self.assertIn('of one trace', export(self.path, code=2))
    self.assertIn('of one trace', export('-o', path, self.path, self.path, code=2))
    for option in '--slices', '--unfinished', '--escape-formulas':
      self.assertIn('has all tables', export('-o', path, option, self.path, code=2))
    self.assertIn('a database needs a file', export('-o', folder, self.path, code=1))
    self.assertIn('a database needs a file', export('-o', '/dev/null', self.path, code=1))
    self.assertIn('No such file', export('-o', folder / 'no' / 'x', self.path, code=1))
    self.assertIn('is text', export('-o', path, __file__, code=1))
    self.assertFalse(path.exists())
    link = path.with_suffix('.link')
    link.symlink_to(self.path)
    before = self.path.read_bytes()
    for output in self.path, link:
      self.assertIn('cannot replace', export('-o', output, self.path, code=2))
    self.assertEqual(self.path.read_bytes(), before)
    # An older database is replaced, and what is left of a trace is there.
    path.write_bytes(b'x' * 1000000)
    export('-o', path, self.path, code=0)
    self.path.write_bytes(trace_of(TRACE)[:-3])
    self.assertIn('damaged', export('-o', path, self.path, code=1))
    self.assertEqual(self.ask('SELECT count(*) AS n FROM slice', file=path)[0], ' n\n17\n')


if __name__ == '__main__':
  sys.exit(run_sql_cases())
