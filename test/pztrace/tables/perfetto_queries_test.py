#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""`pztrace sql` answers queries of the kinds that users of Perfetto's trace processor ask,
on a trace and on its database. Runs in the build directory."""

import sys

import sql_test
from timeline_command import run_sql_cases

# A request that is handled by two threads, with an async track, a state and counters.
TRACE = '''
thread
packet { trusted_packet_sequence_id: 2 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 21 } } }
packet { trusted_packet_sequence_id: 2 track_descriptor {
  uuid: 21 parent_uuid: 10 thread { pid: 5 tid: 7 thread_name: "pool" } } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 30 parent_uuid: 10
  description: "all jobs" child_ordering: EXPLICIT } }
packet { trusted_packet_sequence_id: 1 track_descriptor {
  uuid: 31 name: "late" parent_uuid: 30 sibling_order_rank: 4 } }
packet { trusted_packet_sequence_id: 1 track_descriptor {
  uuid: 32 name: "early" parent_uuid: 30 sibling_order_rank: -4 } }
packet { trusted_packet_sequence_id: 1 track_descriptor { uuid: 33 name: "mode" state {} } }
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 13 parent_uuid: 10 name: "queue" counter { unit: UNIT_COUNT } } }
1000 BEGIN name: "request" categories: "app" flow_ids: 9 debug_annotations { name: "user" string_value: "ann" }
1100 BEGIN name: "parse" categories: "app"
1150 INSTANT name: "miss" debug_annotations { name: "at" pointer_value: 4096 }
1200 END
1300 BEGIN name: "send" flow_ids: 12
1400 END
1500 END
2:1600 BEGIN name: "render" terminating_flow_ids: 9
2:1650 BEGIN name: "draw" flow_ids: 13
2:1700 END
2:1800 END
1550 INSTANT track_uuid: 30 name: "jobs"
1700 BEGIN track_uuid: 31 name: "job" terminating_flow_ids: 13
1900 END track_uuid: 31
1000 STATE track_uuid: 33 name: "busy"
1900 STATE track_uuid: 33 name: "idle"
1000 COUNTER track_uuid: 13 counter_value: 2
1500 COUNTER track_uuid: 13 counter_value: 6
1700 COUNTER track_uuid: 13 counter_value: 0
'''


def trace_of(lines):
  return sql_test.trace_of('\n'.join(map(str.strip, lines.splitlines())))


class QueriesTest(sql_test.SqlTest):

  def expect(self, query, expected):
    for file in self.path, self.path.with_suffix('.db'):
      rows = [tuple(row.values()) for row in self.objects(query, file=file)]
      self.assertEqual(rows, expected, (query, file))


class PerfettoQueriesTest(QueriesTest):

  def setUp(self):
    super().setUp()
    self.database(sql_test.trace_of(TRACE))
    self.files = [self.path, self.path.with_suffix('.db')]

  def test_slices_have_ids_and_parents(self):
    self.expect('SELECT slice_id = s.id, cat, s.name, depth, (SELECT name FROM slice AS p '
                'WHERE p.id = s.parent_id) AS parent FROM slice AS s '
                'JOIN thread_track AS t ON s.track_id = t.id JOIN thread USING (utid) '
                'WHERE thread.name = "T" ORDER BY slice_id',
                [(1, 'app', 'request', 0, None), (1, 'app', 'parse', 1, 'request'),
                 (1, None, 'miss', 2, 'parse'), (1, None, 'send', 1, 'request')])
    self.expect('SELECT min(id), max(id), count(*) FROM slices', [(0, 9, 10)])

  def test_slices_with_their_threads_and_processes(self):
    self.expect('INCLUDE PERFETTO MODULE slices.with_context; '
                'SELECT name, ts, dur, depth, thread_name, tid, process_name, pid '
                'FROM thread_slice WHERE dur > 0 ORDER BY ts',
                [('request', 1000, 500, 0, 'T', 6, 'P', 5), ('parse', 1100, 100, 1, 'T', 6, 'P', 5),
                 ('send', 1300, 100, 1, 'T', 6, 'P', 5), ('render', 1600, 200, 0, 'pool', 7, 'P', 5),
                 ('draw', 1650, 50, 1, 'pool', 7, 'P', 5)])
    self.expect('SELECT name, track_name, process_name, pid FROM process_slice ORDER BY ts',
                [('jobs', 'jobs', 'P', 5), ('job', 'late', 'P', 5)])
    self.expect('SELECT count(*), count(thread_name) FROM thread_or_process_slice', [(8, 6)])
    self.expect('INCLUDE PERFETTO MODULE slices.slices; SELECT name FROM '
                '_slice_with_thread_and_process_info WHERE pid IS NULL ORDER BY ts',
                [('busy',), ('idle',)])

  def test_tracks(self):
    self.expect(
        'SELECT t.name, p.name AS parent, type, '
        "extract_arg(t.source_arg_set_id, 'description') AS a, "
        "extract_arg(t.source_arg_set_id, 'child_ordering') AS b, "
        "extract_arg(t.source_arg_set_id, 'sibling_order_rank') AS c "
        'FROM track AS t LEFT JOIN (SELECT id, name FROM track) AS p ON t.parent_id = p.id '
        'WHERE t.name IS NOT NULL ORDER BY t.name',
        [('early', 'jobs', 'process_track_event', None, None, -4),
         ('jobs', None, 'process_track_event', 'all jobs', 'explicit', None),
         ('late', 'jobs', 'process_track_event', None, None, 4),
         ('mode', None, 'global_state_track_event', None, None, None),
         ('queue', None, 'process_counter_track_event', None, None, None)])
    # The same name from whichever table has it.
    self.expect(
        "SELECT coalesce(a.name, 'thread ' || thread.name, 'process ' || process.name) AS n "
        'FROM track AS a LEFT JOIN thread_track AS b USING (id) LEFT JOIN thread USING (utid) '
        'LEFT JOIN process_track AS c USING (id) LEFT JOIN process ON c.upid = process.id '
        'ORDER BY n',
        [('early',), ('jobs',), ('late',), ('mode',), ('process P',), ('queue',),
         ('thread T',), ('thread pool',)])
    self.expect('SELECT name FROM state_track', [('mode',)])
    self.expect('SELECT ts, dur, value FROM state ORDER BY ts',
                [(1000, 900, 'busy'), (1900, -1, 'idle')])
    self.expect('SELECT count(*) FROM thread_state_track UNION ALL '
                'SELECT count(*) FROM process_state_track', [(0,), (0,)])
    self.expect('INCLUDE PERFETTO MODULE viz.summary.track_event; SELECT t.name, order_id '
                'FROM _track_event_tracks_ordered_groups AS g '
                'JOIN track AS t ON CAST(g.track_ids AS INT) = t.id '
                "WHERE t.name IN ('early', 'late') ORDER BY t.name",
                [('early', 1), ('late', 2)])

  def test_orders_of_tracks(self):
    for ordering, expected in ('LEXICOGRAPHIC', 'abc'), ('CHRONOLOGICAL', 'bca'), (
        'EXPLICIT', 'cab'):
      self.database(trace_of('''
          thread
          packet { track_descriptor { uuid: 50 name: "all" child_ordering: %s } }
          packet { track_descriptor { uuid: 51 name: "a" parent_uuid: 50 } }
          packet { track_descriptor { uuid: 52 name: "b" parent_uuid: 50 sibling_order_rank: 9 } }
          packet { track_descriptor { uuid: 53 name: "c" parent_uuid: 50 sibling_order_rank: -9 } }
          300 INSTANT track_uuid: 51 name: "x"
          100 INSTANT track_uuid: 52 name: "x"
          200 INSTANT track_uuid: 53 name: "x"''' % ordering))
      self.expect('SELECT group_concat(name, "") FROM (SELECT name FROM '
                  '_track_event_tracks_ordered_groups WHERE parent_id IS NOT NULL '
                  'ORDER BY order_id)', [(expected,)])

  def test_processes_and_threads(self):
    self.expect('SELECT tid, thread.name, is_main_thread, pid, process.id = upid, '
                'thread.id = utid FROM thread LEFT JOIN process USING (upid) ORDER BY tid',
                [(5, None, 1, 5, 1, 1), (6, 'T', 0, 5, 1, 1), (7, 'pool', 0, 5, 1, 1)])

  def test_slices_around_and_within(self):
    name = "(SELECT id FROM slice WHERE name = '%s')"
    self.expect('SELECT s.name, a.name FROM slice AS s LEFT JOIN ancestor_slice(s.id) AS a '
                "WHERE s.cat = 'app' OR s.name = 'miss' ORDER BY s.ts, a.ts",
                [('request', None), ('parse', 'request'), ('miss', 'request'),
                 ('miss', 'parse')])
    self.expect('SELECT s.name, d.name FROM slice AS s LEFT JOIN descendant_slice(s.id) AS d '
                'WHERE s.depth = 0 AND d.depth IS NOT NULL ORDER BY d.ts',
                [('request', 'parse'), ('request', 'miss'), ('request', 'send'),
                 ('render', 'draw')])
    self.expect('SELECT name, (SELECT count(*) FROM descendant_slice(s.id)) AS n '
                "FROM slice AS s WHERE name IN ('request', 'job')", [('request', 3), ('job', 0)])
    self.expect('INCLUDE PERFETTO MODULE slices.hierarchy; SELECT name FROM '
                '_slice_ancestor_and_self(%s)' % (name % 'miss'),
                [('miss',), ('parse',), ('request',)])
    self.expect('SELECT name FROM _slice_descendant_and_self(%s)' % (name % 'parse'),
                [('parse',), ('miss',)])
    self.expect('SELECT slice_is_ancestor(a.id, b.id) AS yes, slice_is_ancestor(b.id, a.id) '
                "FROM slice AS a, slice AS b WHERE a.name = 'request' AND b.name = 'miss'",
                [(1, 0)])
    self.expect("SELECT has_descendant_slice_with_name(id, 'miss'), "
                "has_descendant_slice_with_name(id, 'draw'), "
                "has_parent_slice_with_name(id, 'request') FROM slice WHERE name = 'parse'",
                [(1, 0, 1)])
    self.expect('SELECT count(*) FROM ancestor_slice(NULL)', [(0,)])

  def test_stacks(self):
    self.database(trace_of('''thread
        10 BEGIN name: "a"
        11 BEGIN name: "b"
        12 END
        13 END
        20 BEGIN name: "a"
        21 BEGIN name: "b"
        22 END
        23 END
        30 BEGIN name: "b"
        31 END'''))
    stack = ("INCLUDE PERFETTO MODULE slices.stack; SELECT ts, name FROM %s_slice_by_stack("
             "(SELECT stack_id FROM slice_with_stack_id WHERE name = '%s' LIMIT 1))")
    self.expect(stack % ('ancestor', 'b'), [(10, 'a'), (11, 'b'), (20, 'a'), (21, 'b')])
    self.expect(stack % ('descendant', 'a'), [(10, 'a'), (11, 'b'), (20, 'a'), (21, 'b')])
    self.expect('SELECT count(DISTINCT stack_id), sum(parent_stack_id = 0) '
                'FROM slice_with_stack_id', [(3, 3)])

  def test_flows(self):
    self.expect('SELECT f.id, trace_id, o.name, i.name, f.arg_set_id FROM flow AS f '
                'JOIN slice AS o ON slice_out = o.slice_id JOIN slice AS i ON slice_in = i.id',
                [(0, 9, 'request', 'render', None), (1, 13, 'draw', 'job', None)])
    counts = ('SELECT name, (SELECT count(*) FROM FOLLOWING_FLOW(slice_id)) AS f, '
              '(SELECT count(*) FROM PRECEDING_FLOW(slice_id)) AS p, '
              '(SELECT count(*) FROM DIRECTLY_CONNECTED_FLOW(slice_id)) AS c FROM slice '
              "WHERE name IN ('request', 'parse', 'render', 'draw', 'job') ORDER BY ts")
    self.expect(counts, [('request', 2, 0, 1), ('parse', 0, 0, 0), ('render', 1, 1, 1),
                         ('draw', 1, 1, 1), ('job', 0, 2, 1)])

  def test_arguments(self):
    self.expect('SELECT args.id, key, value_type, display_value FROM slice '
                'JOIN args USING (arg_set_id) ORDER BY args.id',
                [(0, 'debug.at', 'pointer', '0x1000'), (1, 'debug.user', 'string', 'ann')])
    self.expect("SELECT EXTRACT_ARG(arg_set_id, 'debug.user') AS u, print_args(arg_set_id) AS p "
                "FROM slice WHERE name IN ('request', 'parse') ORDER BY ts",
                [('ann', '{"debug":{"user":"ann"}}'), (None, None)])
    self.database(trace_of('''thread
        10 BEGIN name: "a" debug_annotations { name: "z" int_value: -3 }
        20 END debug_annotations { name: "d" dict_entries { name: "y" bool_value: true } %s %s }
        ''' % ('dict_entries { name: "x" array_values { uint_value: 18446744073709551615 } '
               'array_values { double_value: 1.5 } }',
               'dict_entries { name: "w" pointer_value: 255 } } '
               'debug_annotations { name: "none"')))
    self.expect('SELECT print_args(arg_set_id) AS p FROM slice',
                [('{"debug":{"z":-3,"d":{"y":true,"x":[18446744073709551615,1.5],"w":"0xff"},'
                  '"none":null}}',)])
    self.expect('SELECT key, display_value FROM args ORDER BY key',
                [('debug.d.w', '0xff'), ('debug.d.x[0]', '18446744073709551615'),
                 ('debug.d.x[1]', '1.5'), ('debug.d.y', 'true'), ('debug.none', None),
                 ('debug.z', '-3')])

  def test_times(self):
    self.expect('SELECT trace_start() AS s, TRACE_END() AS e, trace_dur() AS d, '
                '(SELECT start_ts FROM trace_bounds) AS b', [(1000, 1900, 900, 1000)])
    units = 'ns', 'us', 'ms', 's', 'min', 'hours', 'days'
    self.expect('INCLUDE PERFETTO MODULE time.conversion; SELECT ' +
                ', '.join('time_from_%s(2)' % unit for unit in units),
                [(2, 2000, 2000000, 2 * 10**9, 120 * 10**9, 7200 * 10**9, 172800 * 10**9)])
    self.expect('SELECT ' + ', '.join('time_to_%s(cast_int!(1e14))' % unit for unit in units),
                [(10**14, 10**11, 10**8, 10**5, 1666, 27, 1)])
    self.expect('SELECT to_timecode(3600123456789) AS t', [('01:00:00 123 456 789',)])

  def test_intervals_of_counters(self):
    self.expect('INCLUDE PERFETTO MODULE counters.intervals; '
                'SELECT ts, dur, value, next_value, delta_value FROM '
                'counter_leading_intervals!((SELECT * FROM counter)) ORDER BY ts',
                [(1000, 500, 2, 6, None), (1500, 200, 6, 0, 4), (1700, 200, 0, None, -6)])
    values = ', '.join('(%d, %d, 1, %d)' % (i, 10 * i, value)
                       for i, value in enumerate((7, 7, 7, 7, 7, 8, 8, 9)))
    self.expect('WITH c(id, ts, track_id, value) AS (VALUES %s, (9, 5, 2, 7)) '
                'SELECT id, dur FROM counter_leading_intervals!(c) ORDER BY id' % values,
                [(0, 10), (1, 30), (4, 10), (5, 10), (6, 10), (7, 1900 - 70), (9, 1900 - 5)])

  def test_losses(self):
    self.expect("SELECT name, value FROM stats WHERE severity = 'data_loss' AND value > 0", [])
    self.database(trace_of("""thread
        packet { trusted_packet_sequence_id: 9 trace_stats { buffer_stats { packets_lost { reason: LOSS_MEMORY_FULL packets: 8 } } } }
        10 INSTANT name: "a"
        packet { trusted_packet_sequence_id: 1 sequence_flags: 1 previous_packet_dropped: 1 }"""))
    self.expect("SELECT name, value FROM stats WHERE severity = 'data_loss' ORDER BY name DESC",
                [('traced_buf_trace_writer_packet_loss', 8),
                 ('traced_buf_sequence_packet_loss', 1)])
    self.expect("SELECT str_value FROM metadata WHERE name = 'trace_type'", [('proto',)])

  def test_functions_of_values(self):
    for expression, value in (
        ("'ab12' REGEXP '[0-9]+$'", 1), ("'ab' REGEXP '^b'", 0), ("NULL REGEXP 'x'", None),
        ("regexp_extract('ab12', '[0-9]+')", '12'), ("regexp_extract('k=v', '(.)=(.)')", 'k'),
        ("regexp_extract('a', 'b')", None), ("regexp_extract('k=', '=(.)?')", '='),
        ("regexp_replace_simple('a1b22', '[0-9]+', '#')", 'a#b#'),
        ("regexp_replace_simple('ab', 'x*', '-')", '-a-b-'),
        ("str_split('a::b::', '::', 1)", 'b'), ("str_split('a::b::', '::', 2)", ''),
        ("str_split('a', '::', 1)", None), ("reverse('a\u20ac')", '\u20aca'),
        ("hash('a') = hash('a')", 1), ("hash('1') = hash(1)", 0),
        ("hash('a', 'b') = hash('ab')", 0), ("'x.cc' GLOB '*.cc'", 1)):
      with self.subTest(expression):
        self.expect('SELECT %s AS v' % expression, [(value,)])
    self.expect('WITH v(x) AS (VALUES (4), (1), (NULL), (3), (2)) SELECT percentile(x, 50), '
                'percentile(x, 0), percentile(x, 100), percentile(x, 25) FROM v',
                [(2.5, 1.0, 4.0, 1.75)])
    self.expect('SELECT percentile(x, 50) AS p FROM (SELECT 1 AS x) WHERE x > 1', [(None,)])
    self.expect('WITH v(i, x) AS (VALUES (1, 7), (2, NULL), (3, 8), (4, NULL), (5, NULL)) '
                'SELECT last_non_null(x) OVER (ORDER BY i) AS a, last_non_null(x) OVER '
                '(ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM v',
                [(7, 7), (7, 7), (8, 8), (8, 8), (8, None)])
    for wrong in ("'a' REGEXP '('", "str_split('a', '', 0)", 'percentile(1, 101)'):
      self.assertTrue(self.ask('SELECT ' + wrong, code=1)[1])

  def test_a_query_makes_what_it_needs(self):
    self.expect('''
        -- Tables, views, functions and macros; those of the trace stay.
        CREATE PERFETTO TABLE busy(name STRING, dur LONG) AS
          SELECT name, dur FROM slice WHERE dur >= 100;
        CREATE PERFETTO VIEW longest AS SELECT max(dur) AS dur FROM busy;
        CREATE PERFETTO FUNCTION twice(dur LONG) RETURNS LONG AS SELECT $dur * 2;
        CREATE PERFETTO FUNCTION named(name STRING) RETURNS TABLE(id LONG, dur LONG) AS
          SELECT id, dur FROM slice WHERE name = $name;
        CREATE PERFETTO MACRO count_of(rows TableOrSubquery) RETURNS Expr AS
          (SELECT count(*) FROM $rows;);
        CREATE OR REPLACE PERFETTO FUNCTION half(dur LONG) RETURNS LONG AS SELECT $dur / 2;
        CREATE TABLE own(x INTEGER PRIMARY KEY, y STRING);
        CREATE INDEX own_y ON own(y);
        INSERT INTO own(y) VALUES ("a"), (NULL);
        UPDATE own SET y = 'b' WHERE y IS NULL;
        CREATE PERFETTO INDEX by_name ON busy(name);
        CREATE OR REPLACE PERFETTO INDEX by_name ON busy(name, dur);
        DROP VIEW IF EXISTS longest_of;
        CREATE OR REPLACE PERFETTO VIEW longest_of AS SELECT * FROM longest;
        SELECT twice(dur) AS a, half(twice(dur)) AS b,
          (SELECT dur FROM named('parse')) AS c, count_of!(busy) AS d,
          count_of!((SELECT * FROM slice WHERE name = 'draw')) AS e,
          (SELECT group_concat(y) FROM own) AS f
        FROM longest_of''', [(1800, 900, 100, 6, 1, 'a,b')])
    # An argument is not taken for a column of the function's query.
    self.expect('CREATE PERFETTO FUNCTION name_of(id LONG) RETURNS STRING AS '
                "SELECT name FROM slice WHERE id = $id; SELECT name_of(id) = name AS same "
                "FROM slice WHERE name = 'send'", [(1,)])

  def test_span_joins(self):
    spans = '''
        CREATE VIEW a AS SELECT column1 AS ts, column2 AS dur, column3 AS p, column4 AS x FROM
          (VALUES (10, 10, 1, 'a'), (30, 10, 1, 'b'), (10, 10, 2, 'c'), (50, -1, 1, 'd'));
        CREATE VIEW b AS SELECT column1 AS ts, column2 AS dur, column3 AS p, column4 AS y FROM
          (VALUES (5, 10, 1, 'v'), (15, 20, 1, 'w'), (60, 0, 1, 'i'), (0, 5, 3, 'z'));
        CREATE VIEW c AS SELECT ts, dur, y FROM b WHERE p = 1;
        CREATE VIRTUAL TABLE j USING %s; SELECT * FROM j'''
    self.expect(spans % 'SPAN_JOIN(a PARTITIONED p, b PARTITIONED p)',
                [(10, 5, 1, 'a', 'v'), (15, 5, 1, 'a', 'w'), (30, 5, 1, 'b', 'w'),
                 (60, 0, 1, 'd', 'i')])
    self.expect(spans % 'SPAN_LEFT_JOIN(a PARTITIONED p, b PARTITIONED p)',
                [(10, 5, 1, 'a', 'v'), (15, 5, 1, 'a', 'w'), (30, 5, 1, 'b', 'w'),
                 (35, 5, 1, 'b', None), (50, 10, 1, 'd', None), (60, 0, 1, 'd', 'i'),
                 (60, -1, 1, 'd', None), (10, 10, 2, 'c', None)])
    self.expect(spans % 'SPAN_OUTER_JOIN(a PARTITIONED p, b PARTITIONED p)',
                [(5, 5, 1, None, 'v'), (10, 5, 1, 'a', 'v'), (15, 5, 1, 'a', 'w'),
                 (20, 10, 1, None, 'w'), (30, 5, 1, 'b', 'w'), (35, 5, 1, 'b', None),
                 (50, 10, 1, 'd', None), (60, 0, 1, 'd', 'i'), (60, -1, 1, 'd', None),
                 (10, 10, 2, 'c', None), (0, 5, 3, None, 'z')])
    self.expect(spans % 'SPAN_JOIN(a PARTITIONED p, c)',
                [(10, 5, 1, 'a', 'v'), (15, 5, 1, 'a', 'w'), (30, 5, 1, 'b', 'w'),
                 (60, 0, 1, 'd', 'i'), (10, 5, 2, 'c', 'v'), (15, 5, 2, 'c', 'w')])
    # Columns of the trace that only the join reads.
    self.expect('''
        CREATE VIEW requests AS SELECT ts, dur, name AS request FROM slice WHERE cat = 'app'
          AND depth = 0;
        CREATE VIEW queue AS SELECT ts, ifnull(lead(ts) OVER (ORDER BY ts) - ts, -1) AS dur,
          value FROM counter;
        CREATE VIRTUAL TABLE j USING SPAN_JOIN(requests, queue);
        SELECT * FROM j''', [(1000, 500, 'request', 2)])
    for tables, why in (('a', 'takes two tables'), ('a PARTITIONED q, c', 'no column q'),
                        ('a, missing', 'no such table'), ('a, a', 'both tables have a column p'),
                        ('flow, a', 'needs columns ts and dur'),
                        ('a PARTITIONED p, c PARTITIONED x', 'two names')):
      self.assertIn(why, self.ask(spans % ('SPAN_JOIN(%s)' % tables), code=1)[1])

  def test_what_is_wrong_is_said(self):
    for query, why in (
        ('INCLUDE PERFETTO MODULE no.such',
         'no such module: no.such; built in are counters.intervals, '),
        ('CREATE PERFETTO TABLE x', 'near "PERFETTO"'),
        ('CREATE PERFETTO FUNCTION f(x ANY...) RETURNS LONG DELEGATES TO hash',
         'PERFETTO ... DELEGATES is not supported'),
        ('CREATE PERFETTO PIPELINE p AS FROM slice |> SELECT id',
         'PERFETTO ... PIPELINE is not supported'), ('SELECT m!(1)', 'no such macro: m'),
        ('SELECT m!(1', 'a ) is missing after m!('),
        ('CREATE PERFETTO MACRO m() RETURNS Expr AS m!(); SELECT m!()', 'too much'),
        ('CREATE PERFETTO MACRO m(x Expr) RETURNS Expr AS ' + '$x ' * 50 + '; SELECT ' +
         'm!(' * 20 + '1' + ')' * 20, 'too much'),
        ('CREATE PERFETTO FUNCTION f(x LONG) RETURNS LONG AS SELECT f($x); SELECT f(1)',
         'cannot call itself'),
        ('CREATE PERFETTO FUNCTION f() RETURNS LONG AS SELECT nam FROM slice; SELECT f()',
         'no such column: nam; did you mean name?'),
        ('CREATE PERFETTO FUNCTION f() RETURNS TABLE(x LONG) AS SELECT * FROM f(); '
         'SELECT * FROM f()', 'f()'),
        ('SELECT * FROM ancestor_slice()', 'ancestor_slice() takes 1 argument'),
        ('SELECT * FROM ancestor_slce(1)', 'no such table: ancestor_slce; '
         'did you mean ancestor_slice?'),
        ('SELECT slice_is_ancestr(1, 2)', 'did you mean slice_is_ancestor?')):
      for file in self.files:
        self.assertIn(why, self.ask(query, file=file, code=1)[1], query)
    self.expect('INCLUDE PERFETTO MODULE slices.*; INCLUDE PERFETTO MODULE prelude; SELECT 1 AS x',
                [(1,)])
    self.assertEqual(self.ask('CREATE VIEW v AS SELECT 1'), ('', ''))

  def test_columns_are_listed(self):
    for file in self.files:
      names = [row['name'] for row in self.objects('PRAGMA table_xinfo(flow)', file=file)]
      self.assertEqual(names, ['id', 'slice_out', 'slice_in', 'trace_id', 'arg_set_id'])
    self.expect("SELECT count(*) > 3 AS many FROM pragma_table_info('slice')", [(1,)])


if __name__ == '__main__':
  sys.exit(run_sql_cases())
