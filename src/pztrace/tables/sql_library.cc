// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/sql_library.h"

namespace pztrace {

const char kSqlViews[] = R"(
CREATE VIEW thread_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, utid
  FROM track WHERE utid IS NOT NULL AND NOT is_counter;
CREATE VIEW process_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, upid
  FROM track WHERE utid IS NULL AND upid IS NOT NULL AND NOT is_counter;
CREATE VIEW counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, unit
  FROM track WHERE is_counter;
CREATE VIEW thread_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, unit, utid
  FROM track WHERE utid IS NOT NULL AND is_counter;
CREATE VIEW process_counter_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, unit, upid
  FROM track WHERE utid IS NULL AND upid IS NOT NULL AND is_counter;
CREATE VIEW state_track AS
  SELECT id, name, type, parent_id, source_arg_set_id
  FROM track WHERE is_state;
CREATE VIEW thread_state_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, utid
  FROM track WHERE utid IS NOT NULL AND is_state;
CREATE VIEW process_state_track AS
  SELECT id, name, type, parent_id, source_arg_set_id, upid
  FROM track WHERE utid IS NULL AND upid IS NOT NULL AND is_state;
CREATE VIEW state AS
  SELECT slice.id, ts, time, dur, track_id, category, slice.name,
    slice.name AS value, arg_set_id
  FROM slice JOIN track ON track_id = track.id WHERE is_state;
CREATE VIEW instant AS
  SELECT id, ts, time, track_id, category, name, arg_set_id
  FROM slice WHERE dur = 0 AND self IS NULL;
CREATE VIEW slices AS SELECT * FROM slice;
CREATE VIEW sched AS SELECT * FROM sched_slice;
CREATE VIEW perf_sample AS
  SELECT id, ts, utid, cpu, cpu_mode, callsite_id, unwind_error
  FROM stack_sample WHERE counter IS NOT 'context-switches';
CREATE VIEW stats AS
  SELECT 'traced_buf_trace_writer_packet_loss' AS name, NULL AS key,
    NULL AS idx, 'data_loss' AS severity, 'trace' AS source,
    ifnull(sum(packets), 0) AS value,
    'packets that there was no room for' AS description FROM loss
  UNION ALL
  SELECT 'traced_buf_sequence_packet_loss', NULL, NULL, 'data_loss', 'trace',
    ifnull(sum(places), 0), 'places where packets are missing' FROM loss;
CREATE VIEW metadata AS
  SELECT 0 AS id, 'trace_type' AS name, 'single' AS key_type,
    NULL AS int_value, 'proto' AS str_value;
CREATE VIEW counters AS
  SELECT counter.id, ts, time, track_id, value, name, unit
  FROM counter JOIN counter_track ON track_id = counter_track.id;
CREATE VIEW thread_slice AS
  SELECT slice.id, ts, time, dur, self, category, slice.name, track_id,
    track.name AS track_name, thread.name AS thread_name, track.utid, tid,
    is_main_thread, process.name AS process_name, thread.upid, pid, depth,
    slice.parent_id, slice.arg_set_id
  FROM slice JOIN track ON track_id = track.id JOIN thread USING (utid)
    LEFT JOIN process ON process.upid = thread.upid;
CREATE VIEW process_slice AS
  SELECT slice.id, ts, time, dur, self, category, slice.name, track_id,
    track.name AS track_name, process.name AS process_name, track.upid, pid,
    depth, slice.parent_id, slice.arg_set_id
  FROM slice JOIN track ON track_id = track.id JOIN process USING (upid)
  WHERE utid IS NULL;
CREATE VIEW thread_or_process_slice AS
  SELECT slice.id, ts, time, dur, self, category, slice.name, track_id,
    track.name AS track_name, thread.name AS thread_name, track.utid, tid,
    is_main_thread, process.name AS process_name, process.upid, pid, depth,
    slice.parent_id, slice.arg_set_id
  FROM slice JOIN track ON track_id = track.id
    LEFT JOIN thread USING (utid)
    JOIN process ON process.upid = track.upid;
)";

const char kSqlLibrary[] = R"(
CREATE PERFETTO FUNCTION extract_arg(arg_set_id LONG, key STRING) RETURNS ANY AS
  SELECT coalesce(int_value, real_value, string_value) FROM args
  WHERE arg_set_id = $arg_set_id AND key = $key;
CREATE PERFETTO FUNCTION print_args(arg_set_id LONG) RETURNS STRING AS
  SELECT __args_to_json(key, value_type, int_value, real_value, string_value)
  FROM (SELECT * FROM args WHERE arg_set_id = $arg_set_id ORDER BY id);
CREATE PERFETTO FUNCTION __intrinsic_arg_set_to_json(arg_set_id LONG)
RETURNS STRING AS
  SELECT print_args($arg_set_id);

CREATE PERFETTO FUNCTION trace_start() RETURNS LONG AS
  SELECT start_ts FROM trace_bounds;
CREATE PERFETTO FUNCTION trace_end() RETURNS LONG AS
  SELECT end_ts FROM trace_bounds;
CREATE PERFETTO FUNCTION trace_dur() RETURNS LONG AS
  SELECT end_ts - start_ts FROM trace_bounds;

CREATE PERFETTO FUNCTION time_from_ns(value LONG) RETURNS LONG AS
  SELECT $value;
CREATE PERFETTO FUNCTION time_from_us(value LONG) RETURNS LONG AS
  SELECT $value * 1000;
CREATE PERFETTO FUNCTION time_from_ms(value LONG) RETURNS LONG AS
  SELECT $value * 1000000;
CREATE PERFETTO FUNCTION time_from_s(value LONG) RETURNS LONG AS
  SELECT $value * 1000000000;
CREATE PERFETTO FUNCTION time_from_min(value LONG) RETURNS LONG AS
  SELECT $value * 60000000000;
CREATE PERFETTO FUNCTION time_from_hours(value LONG) RETURNS LONG AS
  SELECT $value * 3600000000000;
CREATE PERFETTO FUNCTION time_from_days(value LONG) RETURNS LONG AS
  SELECT $value * 86400000000000;
CREATE PERFETTO FUNCTION time_to_ns(ns LONG) RETURNS LONG AS
  SELECT $ns;
CREATE PERFETTO FUNCTION time_to_us(ns LONG) RETURNS LONG AS
  SELECT $ns / 1000;
CREATE PERFETTO FUNCTION time_to_ms(ns LONG) RETURNS LONG AS
  SELECT $ns / 1000000;
CREATE PERFETTO FUNCTION time_to_s(ns LONG) RETURNS LONG AS
  SELECT $ns / 1000000000;
CREATE PERFETTO FUNCTION time_to_min(ns LONG) RETURNS LONG AS
  SELECT $ns / 60000000000;
CREATE PERFETTO FUNCTION time_to_hours(ns LONG) RETURNS LONG AS
  SELECT $ns / 3600000000000;
CREATE PERFETTO FUNCTION time_to_days(ns LONG) RETURNS LONG AS
  SELECT $ns / 86400000000000;
CREATE PERFETTO FUNCTION to_timecode(ns LONG) RETURNS STRING AS
  SELECT printf('%02d:%02d:%02d %03d %03d %03d', $ns / 3600000000000,
    $ns / 60000000000 % 60, $ns / 1000000000 % 60, $ns / 1000000 % 1000,
    $ns / 1000 % 1000, $ns % 1000);

CREATE PERFETTO FUNCTION _slice_ancestor_and_self(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE up(id, parent_id, steps) AS (
    SELECT id, parent_id, 0 FROM slice WHERE id = $slice_id
    UNION ALL
    SELECT slice.id, slice.parent_id, steps + 1
    FROM up JOIN slice ON slice.id = up.parent_id)
  SELECT slice.* FROM up JOIN slice USING (id) ORDER BY steps;
CREATE PERFETTO FUNCTION ancestor_slice(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE up(id) AS (
    SELECT parent_id FROM slice WHERE id = $slice_id AND parent_id IS NOT NULL
    UNION ALL
    SELECT parent_id FROM up JOIN slice USING (id) WHERE parent_id IS NOT NULL)
  SELECT slice.* FROM up JOIN slice USING (id) ORDER BY slice.id;
CREATE PERFETTO FUNCTION descendant_slice(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE down(id) AS (
    SELECT id FROM slice WHERE parent_id = $slice_id
    UNION ALL
    SELECT slice.id FROM down JOIN slice ON slice.parent_id = down.id)
  SELECT slice.* FROM down JOIN slice USING (id) ORDER BY slice.id;
CREATE PERFETTO FUNCTION _slice_descendant_and_self(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE down(id) AS (
    SELECT $slice_id
    UNION ALL
    SELECT slice.id FROM down JOIN slice ON slice.parent_id = down.id)
  SELECT slice.* FROM down JOIN slice USING (id) ORDER BY slice.id;
CREATE PERFETTO FUNCTION slice_is_ancestor(outer LONG, inner LONG)
RETURNS BOOL AS
  WITH RECURSIVE up(id) AS (
    SELECT parent_id FROM slice WHERE id = $inner
    UNION ALL
    SELECT parent_id FROM up JOIN slice USING (id))
  SELECT ifnull(max(id = $outer), 0) FROM up;
CREATE PERFETTO FUNCTION has_descendant_slice_with_name(id LONG, name STRING)
RETURNS BOOL AS
  WITH RECURSIVE down(id) AS (
    SELECT id FROM slice WHERE parent_id = $id
    UNION ALL
    SELECT slice.id FROM down JOIN slice ON slice.parent_id = down.id)
  SELECT EXISTS (SELECT 1 FROM down JOIN slice USING (id) WHERE name = $name);
CREATE PERFETTO FUNCTION has_parent_slice_with_name(id LONG, name STRING)
RETURNS BOOL AS
  WITH RECURSIVE up(id) AS (
    SELECT parent_id FROM slice WHERE id = $id
    UNION ALL
    SELECT parent_id FROM up JOIN slice USING (id) WHERE parent_id IS NOT NULL)
  SELECT EXISTS (SELECT 1 FROM up JOIN slice USING (id) WHERE name = $name);

CREATE PERFETTO FUNCTION directly_connected_flow(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE
    after(slice) AS (
      SELECT $slice_id
      UNION
      SELECT slice_in FROM after JOIN flow ON slice_out = slice),
    before(slice) AS (
      SELECT $slice_id
      UNION
      SELECT slice_out FROM before JOIN flow ON slice_in = slice)
  SELECT flow.* FROM after JOIN flow ON slice_out = slice
  UNION
  SELECT flow.* FROM before JOIN flow ON slice_in = slice;
CREATE PERFETTO FUNCTION following_flow(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE
    reached(slice) AS (
      SELECT $slice_id
      UNION
      SELECT slice_in FROM reached JOIN flow ON slice_out = slice
      UNION
      SELECT slice.id FROM reached JOIN slice ON slice.parent_id = reached.slice)
  SELECT DISTINCT flow.* FROM reached JOIN flow ON slice_out = slice;
CREATE PERFETTO FUNCTION preceding_flow(slice_id LONG)
RETURNS TABLE(id LONG) AS
  WITH RECURSIVE
    reached(slice) AS (
      SELECT $slice_id
      UNION
      SELECT slice_out FROM reached JOIN flow ON slice_in = slice
      UNION
      SELECT slice.parent_id FROM reached JOIN slice ON slice.id = reached.slice
      WHERE slice.parent_id IS NOT NULL)
  SELECT DISTINCT flow.* FROM reached JOIN flow ON slice_in = slice;

CREATE PERFETTO FUNCTION _stack_id(slice_id LONG) RETURNS LONG AS
  SELECT hash(group_concat(hash(ifnull(category, '') || '|' || ifnull(name, ''))))
  FROM _slice_ancestor_and_self($slice_id);
CREATE PERFETTO VIEW slice_with_stack_id AS
  SELECT *, _stack_id(id) AS stack_id,
    iif(parent_id IS NULL, 0, _stack_id(parent_id)) AS parent_stack_id
  FROM slice;
CREATE PERFETTO FUNCTION ancestor_slice_by_stack(stack LONG)
RETURNS TABLE(id LONG) AS
  SELECT DISTINCT around.*
  FROM slice JOIN _slice_ancestor_and_self(slice.id) AS around
  WHERE _stack_id(slice.id) = $stack ORDER BY around.ts;
CREATE PERFETTO FUNCTION descendant_slice_by_stack(stack LONG)
RETURNS TABLE(id LONG) AS
  SELECT DISTINCT within.*
  FROM slice JOIN _slice_descendant_and_self(slice.id) AS within
  WHERE _stack_id(slice.id) = $stack ORDER BY within.ts;
CREATE PERFETTO VIEW slice_self_dur AS SELECT id, self AS self_dur FROM slice;
CREATE PERFETTO VIEW _slice_with_thread_and_process_info AS
  SELECT slice.id, ts, dur, category, slice.name, track_id,
    track.name AS track_name, thread.name AS thread_name, track.utid, tid,
    is_main_thread, process.name AS process_name, process.upid, pid, depth,
    slice.parent_id, slice.arg_set_id
  FROM slice LEFT JOIN track ON track_id = track.id
    LEFT JOIN thread USING (utid)
    LEFT JOIN process ON process.upid = track.upid;

CREATE PERFETTO FUNCTION sched_state_to_human_readable_string(short STRING)
RETURNS STRING AS
  SELECT ifnull((
    SELECT column2 FROM (VALUES
      ('Running', 'Running'), ('R', 'Runnable'), ('R+', 'Runnable (Preempted)'),
      ('S', 'Sleeping'), ('D', 'Uninterruptible Sleep'), ('T', 'Stopped'),
      ('t', 'Traced'), ('X', 'Exit (Dead)'), ('Z', 'Exit (Zombie)'),
      ('x', 'Task Dead'), ('I', 'Idle'), ('K', 'Wakekill'), ('W', 'Waking'),
      ('P', 'Parked'), ('N', 'No Load'))
    WHERE column1 = $short), $short);
CREATE PERFETTO FUNCTION sched_state_io_to_human_readable_string(
  sched_state STRING, io_wait BOOL) RETURNS STRING AS
  SELECT ifnull(sched_state_to_human_readable_string($sched_state), '') ||
    CASE $io_wait WHEN 1 THEN ' (IO)' WHEN 0 THEN ' (non-IO)' ELSE '' END;
CREATE PERFETTO VIEW sched_with_thread_process AS
  SELECT sched.id, ts, dur, utid, upid, thread.name AS thread_name,
    process.name AS process_name, cpu, end_state, priority
  FROM sched JOIN thread USING (utid) LEFT JOIN process USING (upid);
CREATE PERFETTO VIEW sched_time_in_state_for_thread AS
  SELECT utid, total AS total_runtime, state, ns AS time_in_state,
    ns * 100 / total AS percentage_in_state
  FROM (
    SELECT utid, state, sum(dur) AS ns,
      sum(sum(dur)) OVER (PARTITION BY utid) AS total
    FROM thread_state GROUP BY utid, state);
CREATE PERFETTO VIEW sched_percentage_of_time_in_state AS
  SELECT utid,
    max(percentage_in_state) FILTER (WHERE state = 'Running') AS running,
    max(percentage_in_state) FILTER (WHERE state = 'R') AS runnable,
    max(percentage_in_state) FILTER (WHERE state = 'R+') AS runnable_preempted,
    max(percentage_in_state) FILTER (WHERE state = 'S') AS sleeping,
    max(percentage_in_state) FILTER (WHERE state = 'D')
      AS uninterruptible_sleep,
    sum(time_in_state)
      FILTER (WHERE state IN
        ('T', 't', 'X', 'Z', 'x', 'I', 'K', 'W', 'P', 'N'))
      * 100 / total_runtime AS other
  FROM sched_time_in_state_for_thread GROUP BY utid;
CREATE PERFETTO FUNCTION sched_time_in_state_for_thread_in_interval(
  ts LONG, dur LONG, utid LONG) RETURNS TABLE(state STRING) AS
  SELECT state, NULL AS io_wait, NULL AS blocked_function, dur
  FROM __state_times($utid, $ts, $dur) ORDER BY dur DESC;
CREATE PERFETTO FUNCTION sched_time_in_state_and_cpu_for_thread_in_interval(
  ts LONG, dur LONG, utid LONG) RETURNS TABLE(state STRING) AS
  SELECT state, NULL AS io_wait, cpu, NULL AS blocked_function,
    sum(min(ts + dur, $ts + $dur) - max(ts, $ts)) AS dur
  FROM thread_state
  WHERE utid = $utid AND dur > 0 AND ts < $ts + $dur AND ts + dur > $ts
  GROUP BY state, cpu ORDER BY 5 DESC;
CREATE PERFETTO FUNCTION sched_time_in_state_for_cpu_in_interval(
  cpu LONG, ts LONG, dur LONG) RETURNS TABLE(end_state STRING) AS
  SELECT end_state, sum(min(ts + dur, $ts + $dur) - max(ts, $ts)) AS dur
  FROM sched
  WHERE cpu = $cpu AND dur > 0 AND ts < $ts + $dur AND ts + dur > $ts
  GROUP BY end_state;
CREATE PERFETTO VIEW sched_latency_for_running_interval AS
  SELECT run.id AS thread_state_id, sched.id AS sched_id, run.utid,
    ready.id AS runnable_latency_id, ready.dur AS latency_dur
  FROM (
      SELECT id, utid, ts, state, max(id) FILTER (WHERE state <> 'Running')
        OVER (PARTITION BY utid ORDER BY id) AS ready_id
      FROM thread_state
      WHERE state IN ('Running', 'R', 'R+') AND dur <> -1) AS run
    -- A recorder that hears of no wakings has none before most runs.
    JOIN thread_state AS ready
      ON ready.id = ready_id AND ready.ts + ready.dur = run.ts
    -- Few threads begin to run at one time, but one thread does so often.
    JOIN sched ON sched.ts = run.ts AND +sched.utid = run.utid
  WHERE run.state = 'Running' ORDER BY run.id;
CREATE PERFETTO VIEW sched_previous_runnable_on_thread AS
  SELECT id, prev_runnable_id, prev_wakeup_runnable_id FROM (
    SELECT id, state,
      max(id) FILTER (WHERE state <> 'Running') OVER of_thread
        AS prev_runnable_id,
      max(id) FILTER (WHERE waker_utid IS NOT NULL AND irq_context IS NOT 1)
        OVER of_thread AS prev_wakeup_runnable_id
    FROM thread_state WHERE state IN ('Running', 'R', 'R+') AND dur <> -1
    WINDOW of_thread AS (PARTITION BY utid ORDER BY id))
  WHERE state = 'Running' ORDER BY id;
CREATE PERFETTO VIEW thread_slice_time_in_state AS
  SELECT slice.id, slice.name, utid, thread_name, upid, process_name, state,
    NULL AS io_wait, NULL AS blocked_function, times.dur
  FROM thread_slice AS slice
    CROSS JOIN __state_times(utid, ts, slice.dur) AS times
  WHERE slice.dur > 0;
CREATE PERFETTO VIEW thread_slice_cpu_time AS
  SELECT id, name, utid, thread_name, upid, process_name, dur AS cpu_time
  FROM thread_slice_time_in_state WHERE state = 'Running';

-- A part is what a thread ran within one period.
CREATE PERFETTO MACRO _cpu_utilization(
  size Expr, segments TableOrSubquery)
RETURNS TableOrSubquery AS (
  WITH RECURSIVE part(ts, ts_end) AS (
    SELECT ts, iif(dur = -1, trace_end(), ts + dur) FROM $segments
    WHERE $size > 0
    UNION ALL
    SELECT (ts / $size + 1) * $size, ts_end FROM part
    WHERE (ts / $size + 1) * $size < ts_end)
  SELECT ts / $size * $size AS ts,
    sum(min(ts_end, (ts / $size + 1) * $size) - ts)
      / (1.0 * $size * (SELECT max(cpu) + 1 FROM sched)) AS utilization,
    sum(min(ts_end, (ts / $size + 1) * $size) - ts) / (1.0 * $size)
      AS unnormalized_utilization
  FROM part GROUP BY 1 ORDER BY 1);
CREATE PERFETTO FUNCTION cpu_thread_utilization_per_period(
  interval LONG, utid LONG) RETURNS TABLE(ts LONG) AS
  SELECT * FROM _cpu_utilization!($interval,
    (SELECT ts, dur FROM sched WHERE utid = $utid));
CREATE PERFETTO FUNCTION cpu_thread_utilization_per_second(utid LONG)
RETURNS TABLE(ts LONG) AS
  SELECT * FROM _cpu_utilization!(1000000000,
    (SELECT ts, dur FROM sched WHERE utid = $utid));
CREATE PERFETTO FUNCTION cpu_process_utilization_per_period(
  interval LONG, upid LONG) RETURNS TABLE(ts LONG) AS
  SELECT * FROM _cpu_utilization!($interval,
    (SELECT ts, dur FROM sched JOIN thread USING (utid) WHERE upid = $upid));
CREATE PERFETTO FUNCTION cpu_process_utilization_per_second(upid LONG)
RETURNS TABLE(ts LONG) AS
  SELECT * FROM _cpu_utilization!(1000000000,
    (SELECT ts, dur FROM sched JOIN thread USING (utid) WHERE upid = $upid));

-- Of equal values that follow each other, the first and the last have rows of
-- their own, and those between them have one.
CREATE PERFETTO MACRO counter_leading_intervals(counter_table TableOrSubquery)
RETURNS TableOrSubquery AS (
  SELECT id, ts, lead(ts, 1, trace_end()) OVER of_track - ts AS dur, track_id,
    value, lead(value) OVER of_track AS next_value,
    value - lag(value) OVER of_track AS delta_value
  FROM (
    SELECT id, ts, track_id, value, lag(value) OVER of_track AS last,
      lag(value, 2) OVER of_track AS last_but_one,
      lead(value) OVER of_track AS next
    FROM $counter_table
    WINDOW of_track AS (PARTITION BY track_id ORDER BY ts, id))
  WHERE last IS NOT value OR last_but_one IS NOT value OR next IS NOT value
  WINDOW of_track AS (PARTITION BY track_id ORDER BY ts, id));

CREATE PERFETTO MACRO intervals_overlap_count(
  segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName)
RETURNS TableOrSubquery AS (
  SELECT ts, sum(sum(step)) OVER (ORDER BY ts) AS value
  FROM (
    SELECT $ts_column AS ts, 1 AS step FROM $segments
    UNION ALL
    SELECT $ts_column + $dur_column, -1 FROM $segments
    WHERE $dur_column <> -1)
  GROUP BY ts ORDER BY ts);
CREATE PERFETTO MACRO intervals_overlap_count_by_group(
  segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName,
  group_column ColumnName)
RETURNS TableOrSubquery AS (
  SELECT ts, sum(sum(step)) OVER (PARTITION BY group_name ORDER BY ts) AS value,
    group_name
  FROM (
    SELECT $ts_column AS ts, 1 AS step, $group_column AS group_name
    FROM $segments
    UNION ALL
    SELECT $ts_column + $dur_column, -1, $group_column FROM $segments
    WHERE $dur_column <> -1)
  GROUP BY group_name, ts ORDER BY ts, group_name);
CREATE PERFETTO VIEW sched_runnable_thread_count AS
  SELECT ts, value AS runnable_thread_count FROM intervals_overlap_count!(
    (SELECT ts, dur FROM thread_state WHERE state = 'R'), ts, dur);
CREATE PERFETTO VIEW sched_uninterruptible_sleep_thread_count AS
  SELECT ts, value AS uninterruptible_sleep_thread_count
  FROM intervals_overlap_count!(
    (SELECT ts, dur FROM thread_state WHERE state = 'D'), ts, dur);
CREATE PERFETTO VIEW sched_active_cpu_count AS
  SELECT ts, value AS active_cpu_count
  FROM intervals_overlap_count!(sched, ts, dur);

CREATE PERFETTO VIEW linux_perf_samples_summary_tree AS
  WITH RECURSIVE
    leaf(id, samples) AS MATERIALIZED (
      SELECT callsite_id, count(*) FROM perf_sample
      WHERE callsite_id IS NOT NULL GROUP BY callsite_id),
    up(id, samples) AS (
      SELECT id, samples FROM leaf
      UNION ALL
      SELECT parent_id, samples FROM up JOIN stack_profile_callsite USING (id)
      WHERE parent_id IS NOT NULL),
    sums(id, samples) AS (SELECT id, sum(samples) FROM up GROUP BY id)
  SELECT site.id, parent_id, ifnull(frame.name, '[Unknown]') AS name,
    mapping.name AS mapping_name, source_file, line_number,
    ifnull(leaf.samples, 0) AS self_count, sums.samples AS cumulative_count
  FROM sums JOIN stack_profile_callsite AS site USING (id)
    JOIN stack_profile_frame AS frame ON frame.id = frame_id
    LEFT JOIN stack_profile_mapping AS mapping ON mapping.id = mapping
    LEFT JOIN leaf ON leaf.id = site.id
  ORDER BY site.id;
CREATE PERFETTO VIEW cpu_profiling_summary_tree AS
  SELECT * FROM linux_perf_samples_summary_tree;
CREATE PERFETTO VIEW cpu_profiling_samples AS
  SELECT row_number() OVER (ORDER BY ts) AS id, ts, utid, tid,
    thread.name AS thread_name, cpu AS ucpu, cpu, callsite_id
  FROM perf_sample LEFT JOIN thread USING (utid) ORDER BY ts;

CREATE PERFETTO VIEW _track_event_tracks_ordered_groups AS
  WITH
    described AS (
      SELECT *, extract_arg(source_arg_set_id, 'child_ordering') AS ordering,
        ifnull(extract_arg(source_arg_set_id, 'sibling_order_rank'), 0) AS rank
      FROM track),
    first(id, ts) AS (
      SELECT track_id, min(ts) FROM (
        SELECT track_id, ts FROM slice UNION ALL SELECT track_id, ts FROM counter)
      GROUP BY track_id)
  SELECT described.upid, described.utid, described.parent_id,
    described.is_counter, described.is_state, described.name,
    extract_arg(described.source_arg_set_id, 'description') AS description,
    described.unit, first.id IS NOT NULL AS has_data,
    described.id IN (SELECT parent_id FROM track) AS has_children,
    described.id AS min_track_id, CAST(described.id AS TEXT) AS track_ids,
    row_number() OVER (
      PARTITION BY described.parent_id
      ORDER BY iif(parent.ordering = 'explicit', described.rank, NULL),
        iif(parent.ordering = 'chronological', first.ts, NULL),
        iif(ifnull(parent.ordering, 'lexicographic') = 'lexicographic',
            described.name, NULL)) AS order_id
  FROM described LEFT JOIN described AS parent
      ON described.parent_id = parent.id
    LEFT JOIN first ON first.id = described.id
  ORDER BY described.parent_id, order_id;
)";

const std::vector<std::string_view>& SqlModules() {
  static const auto* const kModules =
      new std::vector<std::string_view>{"counters.intervals",
                                        "intervals.overlap",
                                        "linux.cpu.utilization.process",
                                        "linux.cpu.utilization.thread",
                                        "linux.perf.samples",
                                        "prelude",
                                        "sched.latency",
                                        "sched.runnable",
                                        "sched.states",
                                        "sched.thread_level_parallelism",
                                        "sched.time_in_state",
                                        "sched.with_context",
                                        "slices.cpu_time",
                                        "slices.flow",
                                        "slices.hierarchy",
                                        "slices.self_dur",
                                        "slices.slices",
                                        "slices.stack",
                                        "slices.time_in_state",
                                        "slices.with_context",
                                        "stacks.cpu_profiling",
                                        "time.conversion",
                                        "viz.summary.track_event"};
  return *kModules;
}

}  // namespace pztrace
