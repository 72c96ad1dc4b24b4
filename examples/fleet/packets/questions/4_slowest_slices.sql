-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- Which slices took the most time on each host, by its packets?
SELECT host, name, count() AS slices, round(sum(dur) / 1e6, 3) AS total_ms,
       round(max(dur) / 1e6, 3) AS max_ms
FROM slices_of_packets
GROUP BY host, name
ORDER BY host, total_ms DESC
LIMIT 3 BY host
