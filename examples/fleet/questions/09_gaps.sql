-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- How long did a thread do nothing between two items?
SELECT host, thread, count() AS gaps, round(max(gap) / 1e3, 1) AS longest_us,
       round(sum(gap) / 1e3, 1) AS sum_us
FROM (SELECT host, pid, tid, thread,
             ts - lagInFrame(ts + dur, 1, ts) OVER (
                 PARTITION BY host, pid, tid ORDER BY ts
                 ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS gap
      FROM slices WHERE name = 'item')
GROUP BY host, pid, tid, thread
ORDER BY longest_us DESC
