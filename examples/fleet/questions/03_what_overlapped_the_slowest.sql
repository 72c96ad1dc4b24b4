-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- What ran on the same host while the slowest item did?
WITH (SELECT (host, ts, ts + dur, tid) FROM slices
      WHERE name = 'item' ORDER BY dur DESC, host, ts LIMIT 1) AS slowest
SELECT process, pid, thread, name, count() AS slices,
       round(sum(least(ts + dur, slowest.3) - greatest(ts, slowest.2)) / 1e3,
             1) AS overlap_us
FROM slices
WHERE host = slowest.1 AND tid != slowest.4 AND depth = 0
  AND ts < slowest.3 AND ts + dur > slowest.2
GROUP BY process, pid, thread, name
ORDER BY overlap_us DESC
