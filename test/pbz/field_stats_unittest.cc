// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_stats.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "src/pbz/walk.h"
#include "test/pbz/testing.h"

namespace pbz {

namespace {

// Returns one line for each path: name, count, bytes, overhead, total.
std::string Summary(const Stats& stats) {
  std::string text;
  for (const Stats::Path& path : stats.Paths()) {
    text += path.name + ' ' + std::to_string(path.count) + ' ' +
            std::to_string(path.bytes) + ' ' + std::to_string(path.overhead) +
            ' ' + std::to_string(path.total) + '\n';
  }
  return text;
}

TEST(StatsTest, EveryByteIsCountedOnce) {
  const auto schema = ParseSchema(R"(
    syntax = "proto2"; package p;
    message M {
      optional int32 a = 1;
      repeated M m = 2;
      optional string s = 3;
      optional group G = 4 { optional int32 x = 1; }
      extensions 100 to 200;
    }
    extend M { optional int32 ext = 100; })");
  Stats stats;
  // m { a: 1  s: "abc" }  m { m { } }  G { x: 1 }  [p.ext]: 5  99: 1
  const std::string bytes =
      Bytes("12070801 1a03616263 12021200 2308 01 24 a00605 980601");
  Walk(AsBytes(bytes), 0, schema->FindMessage("M"), &stats);
  EXPECT_EQ(Summary(stats),
            "m.s 1 5 2 5\n"
            "m 2 4 4 13\n"
            "[p.ext] 1 3 2 3\n"
            "99 1 3 2 3\n"
            "m.a 1 2 1 2\n"
            "m.m 1 2 2 2\n"
            "g 1 2 2 4\n"
            "g.x 1 2 1 2\n");
}

TEST(StatsTest, WhatIsMalformedIsCounted) {
  Stats stats;
  Walk(AsBytes(Bytes("0801 00ffff")), 0, nullptr, &stats);
  stats.AddUnread(10);
  EXPECT_EQ(Summary(stats), "(malformed) 1 13 0 13\n1 1 2 1 2\n");
}

TEST(StatsTest, PathsAreLimited) {
  Stats stats(4);
  // {1 2 3 4 5 {1}}
  Walk(AsBytes(Bytes("0801 1001 1801 2001 2a020801")), 0, nullptr, &stats);
  EXPECT_EQ(Summary(stats),
            "(other fields) 2 4 3 6\n1 1 2 1 2\n2 1 2 1 2\n3 1 2 1 2\n"
            "(other fields).(other fields) 1 2 1 2\n");
}

TEST(StatsTest, TableSumsUp) {
  Stats stats;
  Walk(AsBytes(Bytes("0801 0801 120161")), 0, nullptr, &stats);
  EXPECT_EQ(
      Printed([&](FILE* file) { stats.Print(file, false); }),
      "       bytes percent     overhead   with inner        count  path\n"
      "           4  57.14%            2            4            2  1\n"
      "           3  42.86%            2            3            1  2\n"
      "           7 100.00%            4            7            3  all\n");
  const Stats empty;
  EXPECT_EQ(
      Printed([&](FILE* file) { empty.Print(file, false); }),
      "       bytes percent     overhead   with inner        count  path\n"
      "           0   0.00%            0            0            0  all\n");
}

}  // namespace

}  // namespace pbz
