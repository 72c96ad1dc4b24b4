-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- What share of the work is each slice's own?
SELECT name, round(sum(self) / (SELECT sum(self) FROM slices), 3) AS share,
       bar(share, 0, 1, 40) AS plot
FROM slices
GROUP BY name
ORDER BY share DESC
