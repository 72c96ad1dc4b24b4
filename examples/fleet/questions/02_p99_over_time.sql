-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- How did the 99th percentile of a slice change over time on each host?
SELECT host, sum(slices) AS slices, any(span_ms) AS ms, min(p99_us) AS lowest_us,
       max(p99_us) AS highest_us, sparkbar(24, 0, 23)(part, p99_us) AS plot
FROM (SELECT host, toUInt8(intDiv((ts - first) * 24, last + 1 - first)) AS part,
             any(round((last - first) / 1e6)) AS span_ms, count() AS slices,
             round(quantileExact(0.99)(dur) / 1e3, 1) AS p99_us
      FROM slices
      JOIN (SELECT host, min(ts) AS first, max(ts) AS last FROM slices
            GROUP BY host) AS times USING (host)
      WHERE name = 'compress'
      GROUP BY host, part)
GROUP BY host
ORDER BY host
