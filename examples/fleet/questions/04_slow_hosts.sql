-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- Which host is slower than the fleet, by the median of each slice?
SELECT host, name, round(median_us / fleet_us, 2) AS times_the_fleet
FROM (SELECT host, name, quantileExact(0.5)(dur) / 1e3 AS median_us
      FROM slices GROUP BY host, name) AS of_host
JOIN (SELECT name, quantileExact(0.5)(dur) / 1e3 AS fleet_us
      FROM slices GROUP BY name) AS of_fleet USING (name)
ORDER BY times_the_fleet DESC, host, name
LIMIT 5
