-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- Which writers of which hosts wrote how many packets, and where are gaps?
SELECT host, pid, sequence AS writer, count() AS packets,
       countIf(type NOT IN ('', 'TYPE_UNSPECIFIED')) AS events,
       countIf(dropped AND (file, row) != first) AS gaps
FROM packets
JOIN (SELECT host, trace, sequence, min((file, row)) AS first FROM packets
      GROUP BY host, trace, sequence) AS firsts USING (host, trace, sequence)
GROUP BY host, pid, writer
ORDER BY packets DESC, host, writer
LIMIT 5
