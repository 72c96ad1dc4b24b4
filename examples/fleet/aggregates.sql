-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

-- What is left of slices when they are deleted: their number, time and percentiles,
-- for each name, host and minute. The view sees each block of rows on its way into
-- slices.

CREATE TABLE slice_minutes (
  host LowCardinality(String),
  name LowCardinality(String),
  minute DateTime,
  slices SimpleAggregateFunction(sum, UInt64),
  ns SimpleAggregateFunction(sum, UInt64),
  -- quantilesTDigestMerge(0.5, 0.99)(ns_quantiles)
  ns_quantiles AggregateFunction(quantilesTDigest(0.5, 0.99), UInt64)
) ENGINE = AggregatingMergeTree ORDER BY (name, host, minute);

CREATE MATERIALIZED VIEW slices_to_minutes TO slice_minutes AS
SELECT host, name, toStartOfMinute(fromUnixTimestamp64Nano(ifNull(time, 0))) AS minute,
       count() AS slices, sum(dur) AS ns,
       quantilesTDigestState(0.5, 0.99)(dur) AS ns_quantiles
FROM slices
GROUP BY host, name, minute;
