-- Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

-- The tables of `pztrace export`, as ClickHouse keeps them. Hosts and times come
-- first in the key, since every question names some of them.

CREATE TABLE slices (
  host LowCardinality(String),
  file LowCardinality(String),
  process LowCardinality(String),
  pid Int64,
  tid Int64,
  thread LowCardinality(String),
  track LowCardinality(String),
  ts UInt64,
  time Nullable(Int64),
  dur UInt64,
  self UInt64,
  depth UInt32,
  category LowCardinality(String),
  name LowCardinality(String),
  args String,
  flows Array(UInt64),
  ended_flows Array(UInt64),
  row UInt32,
  ran Nullable(UInt64),
  ready Nullable(UInt64),
  waited Nullable(UInt64)
) ENGINE = MergeTree ORDER BY (host, name, ts);

CREATE TABLE instants (
  host LowCardinality(String),
  file LowCardinality(String),
  process LowCardinality(String),
  pid Int64,
  tid Int64,
  thread LowCardinality(String),
  track LowCardinality(String),
  ts UInt64,
  time Nullable(Int64),
  category LowCardinality(String),
  name LowCardinality(String),
  args String,
  flows Array(UInt64),
  ended_flows Array(UInt64)
) ENGINE = MergeTree ORDER BY (host, name, ts);

CREATE TABLE counters (
  host LowCardinality(String),
  file LowCardinality(String),
  process LowCardinality(String),
  pid Int64,
  tid Int64,
  thread LowCardinality(String),
  track LowCardinality(String),
  ts UInt64,
  time Nullable(Int64),
  unit LowCardinality(String),
  value Float64
) ENGINE = MergeTree ORDER BY (host, track, ts);

-- A row has packets, which the service has counted for that reason, or places,
-- where packets of that thread are missing.
CREATE TABLE losses (
  host LowCardinality(String),
  file LowCardinality(String),
  process LowCardinality(String),
  pid Int64,
  tid Int64,
  thread LowCardinality(String),
  reason LowCardinality(String),
  packets Nullable(UInt64),
  places Nullable(UInt64)
) ENGINE = MergeTree ORDER BY (host, process);
