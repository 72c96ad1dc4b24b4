-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- How did the 99th percentile of a slice change over time?
SELECT intDiv(time - (SELECT min(time) FROM slices), 10000000) * 10 AS from_ms,
       count() AS slices, round(quantileExact(0.99)(dur) / 1e3, 1) AS p99_us,
       bar(p99_us, 0, 1000, 30) AS plot
FROM slices
WHERE name = 'compress'
GROUP BY from_ms
ORDER BY from_ms
