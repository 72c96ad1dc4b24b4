// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/decode_status.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace protozero {
namespace {

TEST(DecodeStatusTest, EveryValueHasAMessageOfItsOwn) {
  EXPECT_STREQ(DecodeStatusToString(DecodeStatus::kOk), "ok");
  std::set<std::string> messages;
  const DecodeStatus kAll[] = {
      DecodeStatus::kOk,          DecodeStatus::kTruncated,
      DecodeStatus::kBadVarInt,   DecodeStatus::kBadFieldId,
      DecodeStatus::kBadWireType, DecodeStatus::kUnmatchedEndGroup,
      DecodeStatus::kTooDeep,     DecodeStatus::kTooLong};
  for (const DecodeStatus status : kAll) {
    // A new value makes this switch, and so the list above, incomplete, and the
    // compiler warns.
    switch (status) {
      case DecodeStatus::kOk:
      case DecodeStatus::kTruncated:
      case DecodeStatus::kBadVarInt:
      case DecodeStatus::kBadFieldId:
      case DecodeStatus::kBadWireType:
      case DecodeStatus::kUnmatchedEndGroup:
      case DecodeStatus::kTooDeep:
      case DecodeStatus::kTooLong:
        EXPECT_TRUE(messages.insert(DecodeStatusToString(status)).second);
    }
  }
}

TEST(DecodeStatusTest, ValuesOutsideOfTheEnumHaveAMessageToo) {
  EXPECT_STREQ(DecodeStatusToString(static_cast<DecodeStatus>(200)),
               "not a status");
}

}  // namespace
}  // namespace protozero
