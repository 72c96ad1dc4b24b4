-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

-- The packets of traces as rows, and views that resolve what packets refer to.

CREATE TABLE packets (
  host LowCardinality(String),
  -- Of a recording that went on in other files, the name without the time.
  trace LowCardinality(String),
  file LowCardinality(String),
  sequence UInt32,
  row UInt64,
  pid Int32,
  flags UInt8,
  dropped UInt8,
  clock UInt32,
  timestamp UInt64,
  default_clock UInt32,
  default_track UInt64,
  -- (clock_id, timestamp, is_incremental)
  clocks Array(Tuple(UInt32, UInt64, UInt8)),
  type LowCardinality(String),
  track UInt64,
  category LowCardinality(String),
  category_iid UInt64,
  name LowCardinality(String),
  name_iid UInt64,
  value Float64,
  -- (iid, name)
  categories Array(Tuple(UInt64, String)),
  names Array(Tuple(UInt64, String)),
  described_track UInt64,
  track_name String,
  track_pid Int32,
  track_tid Int64,
  -- (reason, packets)
  lost Array(Tuple(String, UInt64))
) ENGINE = MergeTree ORDER BY (host, trace, sequence, file, row);

-- Ids hold until the sequence forgets them, which begins another epoch. Packets
-- that need what was forgotten or lost are not valid.
CREATE VIEW packets_of_epochs AS
SELECT *, max(dropped AND bitAnd(flags, 1) = 0) OVER (
              PARTITION BY host, trace, sequence, epoch ORDER BY file, row
              ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS has_gap,
       bitAnd(flags, 2) = 0 OR (epoch != 0 AND NOT has_gap) AS is_valid
FROM (SELECT *, sum(bitAnd(flags, 1)) OVER so_far AS epoch,
             sum(dropped) OVER so_far AS gaps
      FROM packets
      WINDOW so_far AS (PARTITION BY host, trace, sequence ORDER BY file, row
                        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW));

-- With the track, and the time on the boot clock: timestamps of an incremental
-- clock, whose ids are 64 and above, count from the one before. A packet with a
-- snapshot of clocks does not advance them.
CREATE VIEW timed_packets AS
SELECT *, if(is_incremental AND if(clock = 0, of_clock, clock) >= 64,
             base + sum(if(notEmpty(clocks) OR (clock != 0 AND clock < 64), 0,
                           timestamp)) OVER (
                 PARTITION BY host, trace, sequence, epoch, snapshots
                 ORDER BY file, row
                 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW),
             timestamp) AS ts
FROM (SELECT *, anyLast(nullIf(default_clock, 0)) OVER so_far AS of_clock,
             if(track != 0, track,
                anyLast(nullIf(default_track, 0)) OVER so_far) AS of_track,
             sum(notEmpty(clocks)) OVER so_far AS snapshots,
             anyLast(if(empty(clocks), NULL, arrayFirst(c -> c.1 = 6, clocks).2))
                 OVER so_far AS base,
             anyLast(if(empty(clocks), NULL, arrayExists(c -> c.3 = 1, clocks)))
                 OVER so_far AS is_incremental
      FROM packets_of_epochs WHERE is_valid
      WINDOW so_far AS (PARTITION BY host, trace, sequence, epoch ORDER BY file, row
                        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW));

CREATE VIEW events AS
SELECT p.host AS host, p.trace AS trace, p.sequence AS sequence, p.file AS file,
       p.row AS row, p.pid AS pid, ts, type, of_track AS track, value,
       -- Slices that are open at a gap have no end. Other threads write other tracks.
       if(p.track = 0, gaps, 0) AS gaps,
       if(p.name != '', p.name, n.text) AS name,
       if(p.category != '', p.category, c.text) AS category
FROM (SELECT * FROM timed_packets WHERE type NOT IN ('', 'TYPE_UNSPECIFIED')) AS p
LEFT JOIN (SELECT host, trace, sequence, epoch, said.1 AS iid, any(said.2) AS text
           FROM packets_of_epochs ARRAY JOIN names AS said WHERE is_valid
           GROUP BY host, trace, sequence, epoch, iid) AS n
  ON p.host = n.host AND p.trace = n.trace AND p.sequence = n.sequence
     AND p.epoch = n.epoch AND p.name_iid = n.iid
LEFT JOIN (SELECT host, trace, sequence, epoch, said.1 AS iid, any(said.2) AS text
           FROM packets_of_epochs ARRAY JOIN categories AS said WHERE is_valid
           GROUP BY host, trace, sequence, epoch, iid) AS c
  ON p.host = c.host AND p.trace = c.trace AND p.sequence = c.sequence
     AND p.epoch = c.epoch AND p.category_iid = c.iid;

-- An end belongs to the beginning before it at the same depth of its track.
CREATE VIEW slices_of_packets AS
SELECT host, trace, sequence, pid, track, ts, end - ts AS dur, depth, category, name
FROM (SELECT *, leadInFrame(ts) OVER of_depth AS end,
             leadInFrame(type) OVER of_depth AS next
      FROM (SELECT *, sum(if(type = 'TYPE_SLICE_BEGIN', 1, -1)) OVER (
                          PARTITION BY host, trace, track, gaps
                          ORDER BY ts, sequence, file, row
                          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
                      - (type = 'TYPE_SLICE_BEGIN') AS depth
            FROM events WHERE type IN ('TYPE_SLICE_BEGIN', 'TYPE_SLICE_END'))
      WINDOW of_depth AS (PARTITION BY host, trace, track, gaps, depth
                          ORDER BY ts, sequence, file, row
                          ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING))
WHERE type = 'TYPE_SLICE_BEGIN' AND next = 'TYPE_SLICE_END';
