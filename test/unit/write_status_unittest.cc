// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/write_status.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace protozero {
namespace {

TEST(WriteStatusTest, EveryValueHasAMessageOfItsOwn) {
  EXPECT_STREQ(WriteStatusToString(WriteStatus::kOk), "ok");
  std::set<std::string> messages;
  const WriteStatus kAll[] = {WriteStatus::kOk,
                              WriteStatus::kOutOfBuffer,
                              WriteStatus::kMessageTooLong,
                              WriteStatus::kOutOfMemory,
                              WriteStatus::kInvalidBuffer,
                              WriteStatus::kReentered,
                              WriteStatus::kAmbiguousSize};
  for (const WriteStatus status : kAll) {
    // A new value makes this switch, and so the list above, incomplete, and the
    // compiler warns.
    switch (status) {
      case WriteStatus::kOk:
      case WriteStatus::kOutOfBuffer:
      case WriteStatus::kMessageTooLong:
      case WriteStatus::kOutOfMemory:
      case WriteStatus::kInvalidBuffer:
      case WriteStatus::kReentered:
      case WriteStatus::kAmbiguousSize:
        EXPECT_TRUE(messages.insert(WriteStatusToString(status)).second);
    }
  }
}

TEST(WriteStatusTest, ValuesOutsideOfTheEnumHaveAMessageToo) {
  EXPECT_STREQ(WriteStatusToString(static_cast<WriteStatus>(200)),
               "not a status");
}

}  // namespace
}  // namespace protozero
