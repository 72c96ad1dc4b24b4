-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- How much of the time between its first and last slice was each thread busy?
SELECT host, process, pid, thread,
       round(sum(dur) / (max(ts + dur) - min(ts)), 3) AS busy,
       bar(busy, 0, 1, 20) AS plot
FROM slices
WHERE depth = 0
GROUP BY host, process, pid, thread, tid
ORDER BY host, pid, thread
