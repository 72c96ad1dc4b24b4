-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- How did a counter grow on each host?
SELECT host, track, unit, count() AS readings, max(value) AS highest,
       argMax(value, ts) AS last
FROM counters
GROUP BY host, pid, track, unit
ORDER BY host, highest DESC
