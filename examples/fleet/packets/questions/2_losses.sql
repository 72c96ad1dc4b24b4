-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
-- What has the service of each host lost, and why?
SELECT host, loss.1 AS reason, sum(loss.2) AS packets
FROM packets ARRAY JOIN lost AS loss
GROUP BY host, reason
ORDER BY packets DESC, host, reason
