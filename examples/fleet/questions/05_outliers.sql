-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- Which single slices took more than ten times their median?
SELECT host, process, thread, name, dur / 1e3 AS dur_us, median_us, args
FROM slices
JOIN (SELECT name, quantileExact(0.5)(dur) / 1e3 AS median_us
      FROM slices GROUP BY name) AS medians USING (name)
WHERE dur_us > 10 * median_us
ORDER BY dur DESC
LIMIT 5
