-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- What is missing, why, and in which processes?
SELECT host, if(process = '', '(all)', process) AS of_process, reason,
       sum(packets) AS lost, sum(places) AS gaps
FROM losses
GROUP BY host, of_process, reason
ORDER BY host, lost DESC, gaps DESC
