-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- What were the values of each counter?
SELECT host, pid, counter, count() AS readings, min(value) AS lowest,
       max(value) AS highest, argMax(value, ts) AS last
FROM events
JOIN (SELECT host, trace, described_track AS track, any(track_name) AS counter
      FROM packets WHERE described_track != 0
      GROUP BY host, trace, track) AS tracks USING (host, trace, track)
WHERE type = 'TYPE_COUNTER'
GROUP BY host, pid, counter
ORDER BY host, pid, counter
