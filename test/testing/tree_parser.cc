// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/testing/tree_parser.h"

#include <stdint.h>

#include <string>

#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>

#include "test/testing/hex.h"

namespace protozero::test {

namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using google::protobuf::internal::WireFormatLite;

// Finds the first difference between a parsed message and |tree|.
class TreeMatcher {
 public:
  explicit TreeMatcher(const UnknownFieldSet& parsed) : parsed_(parsed) {}

  // Returns the problem, or an empty string.
  std::string Match(const MessageTree& tree) {
    const std::string error = MatchFields(tree);
    if (error.empty() && next_ != parsed_.field_count())
      return "there are more fields than were written";
    return error;
  }

 private:
  std::string MatchFields(const MessageTree& tree) {
    for (const Field& field : tree) {
      if (field.kind == Field::Kind::kLook)
        continue;
      const std::string error =
          field.is_raw() ? MatchFields(field.fields) : MatchField(field);
      if (!error.empty())
        return "field " + std::to_string(field.id) + ": " + error;
    }
    return std::string();
  }

  std::string MatchField(const Field& field) {
    if (next_ == parsed_.field_count())
      return "is missing";
    const UnknownField& parsed = parsed_.field(next_++);
    if (static_cast<uint32_t>(parsed.number()) != field.id)
      return "has id " + std::to_string(parsed.number());
    if (field.is_group()) {
      return parsed.type() == UnknownField::TYPE_GROUP
                 ? TreeMatcher(parsed.group()).Match(field.fields)
                 : "is no group";
    }
    if (field.is_nested())
      return MatchNested(parsed, field.fields);
    return Says(parsed, field) ? std::string() : "has another value";
  }

  static std::string MatchNested(const UnknownField& parsed,
                                 const MessageTree& tree) {
    if (parsed.type() != UnknownField::TYPE_LENGTH_DELIMITED)
      return "is no message";
    UnknownFieldSet nested;
    if (!nested.ParseFromString(parsed.length_delimited()))
      return "does not parse: " + Hex(parsed.length_delimited());
    return TreeMatcher(nested).Match(tree);
  }

  static bool Says(const UnknownField& parsed, const Field& field) {
    using Kind = Field::Kind;
    const uint64_t number = field.number;
    const int32_t low_half =
        static_cast<int32_t>(static_cast<uint32_t>(number));
    switch (field.kind) {
      case Kind::kUnsigned:
      case Kind::kSigned:
      case Kind::kTiny:
        return IsVarInt(parsed) && parsed.varint() == number;
      case Kind::kUnsigned32:
        return IsVarInt(parsed) &&
               parsed.varint() == static_cast<uint32_t>(low_half);
      case Kind::kSigned32:
        return IsVarInt(parsed) &&
               static_cast<int64_t>(parsed.varint()) == low_half;
      case Kind::kZigZag32:
        return IsVarInt(parsed) && parsed.varint() <= UINT32_MAX &&
               WireFormatLite::ZigZagDecode32(
                   static_cast<uint32_t>(parsed.varint())) == low_half;
      case Kind::kZigZag64:
        return IsVarInt(parsed) &&
               WireFormatLite::ZigZagDecode64(parsed.varint()) ==
                   static_cast<int64_t>(number);
      case Kind::kFixed32:
      case Kind::kFloat:
        return parsed.type() == UnknownField::TYPE_FIXED32 &&
               parsed.fixed32() == static_cast<uint32_t>(low_half);
      case Kind::kFixed64:
      case Kind::kDouble:
        return parsed.type() == UnknownField::TYPE_FIXED64 &&
               parsed.fixed64() == number;
      case Kind::kString:
      case Kind::kBytes:
      case Kind::kScattered:
      case Kind::kBorrowed:
      case Kind::kReserved:
        return parsed.type() == UnknownField::TYPE_LENGTH_DELIMITED &&
               parsed.length_delimited() == field.bytes;
      case Kind::kRaw:
      case Kind::kStream:
      case Kind::kNested:
      case Kind::kNestedAndDone:
      case Kind::kNestedHandle:
      case Kind::kGroup:
      case Kind::kGroupAndDone:
      case Kind::kTakenBack:
      case Kind::kGroupTakenBack:
      case Kind::kLook:
        break;
    }
    return false;
  }

  static bool IsVarInt(const UnknownField& parsed) {
    return parsed.type() == UnknownField::TYPE_VARINT;
  }

  const UnknownFieldSet& parsed_;
  int next_ = 0;
};

}  // namespace

testing::AssertionResult ParsesAs(std::string_view bytes,
                                  const MessageTree& tree) {
  UnknownFieldSet parsed;
  if (!parsed.ParseFromString(std::string(bytes)))
    return testing::AssertionFailure() << "does not parse: " << Hex(bytes);
  const std::string error = TreeMatcher(parsed).Match(tree);
  if (!error.empty())
    return testing::AssertionFailure() << error << " in " << Hex(bytes);
  return testing::AssertionSuccess();
}

}  // namespace protozero::test
