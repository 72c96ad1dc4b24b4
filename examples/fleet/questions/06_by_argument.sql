-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- Does the time of a slice depend on its argument?
SELECT intDiv(JSONExtractUInt(args, 'bytes'), 2000) * 2000 AS bytes_from,
       count() AS slices, round(avg(dur) / 1e3, 1) AS mean_us,
       round(avg(dur / JSONExtractUInt(args, 'bytes')), 2) AS ns_a_byte
FROM slices
WHERE name = 'check'
GROUP BY bytes_from
ORDER BY bytes_from
