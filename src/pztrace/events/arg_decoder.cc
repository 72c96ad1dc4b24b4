// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/arg_decoder.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "protozero/proto_utils.h"

namespace pztrace {

namespace {

using Container = program::ValueSink::Container;
using NameKind = program::ValueSink::NameKind;
using protozero::proto_utils::ParseVarInt;
using protozero::proto_utils::ZigZagDecode;

// The limit of the shared texts of an event: so many bytes, and so many more
// for each byte of its arguments.
constexpr size_t kMinTexts = 4 * ArgTexts::kMaxBytes;
constexpr size_t kMaxGrowth = 16;
constexpr std::string_view kCut = "...";

// The bytes were written by ArgEncoder, so they need not be checked.
uint64_t TakeVarInt(std::string_view* bytes) {
  uint64_t value = 0;
  const auto* const begin = reinterpret_cast<const uint8_t*>(bytes->data());
  const uint8_t* const after =
      ParseVarInt(begin, begin + bytes->size(), &value);
  bytes->remove_prefix(static_cast<size_t>(after - begin));
  return value;
}

std::string_view TakeBytes(size_t size, std::string_view* bytes) {
  const std::string_view taken(bytes->data(), size);
  bytes->remove_prefix(size);
  return taken;
}

template <typename Number>
Number TakeNumber(std::string_view* bytes) {
  Number number;
  memcpy(&number, bytes->data(), sizeof(number));
  bytes->remove_prefix(sizeof(number));
  return number;
}

struct EncodedValue {
  ArgEncoder::Type type;
  // A number, or the number of a shared text. The others have |bytes|.
  uint64_t number;
  std::string_view bytes;
};

EncodedValue TakeValue(std::string_view* bytes) {
  EncodedValue value = {static_cast<ArgEncoder::Type>(bytes->front()), 0, {}};
  bytes->remove_prefix(1);
  switch (value.type) {
    case ArgEncoder::kNull:
    case ArgEncoder::kFalse:
    case ArgEncoder::kTrue:
      break;
    case ArgEncoder::kInteger:
    case ArgEncoder::kUnsigned:
    case ArgEncoder::kAddress:
    case ArgEncoder::kSharedText:
      value.number = TakeVarInt(bytes);
      break;
    case ArgEncoder::kReal:
      value.bytes = TakeBytes(sizeof(double), bytes);
      break;
    case ArgEncoder::kDecimal:
    case ArgEncoder::kText:
      value.bytes = TakeBytes(TakeVarInt(bytes), bytes);
      break;
    case ArgEncoder::kDictionary:
    case ArgEncoder::kArray:
      static_assert(ArgEncoder::kSizeBytes == sizeof(uint32_t), "");
      value.bytes = TakeBytes(TakeNumber<uint32_t>(bytes), bytes);
      break;
  }
  return value;
}

bool IsContainer(ArgEncoder::Type type) {
  return type == ArgEncoder::kDictionary || type == ArgEncoder::kArray;
}

struct Member {
  std::string_view name;
  bool is_shared;
  NameKind kind;
  EncodedValue value;
  // The member before it that has the same name, or null.
  const Member* earlier;
};

class ArgDecoder {
 public:
  ArgDecoder(const ArgTexts& texts,
             UniqueNames unique_names,
             size_t size,
             program::ValueSink* sink)
      : texts_(texts),
        unique_names_(unique_names),
        budget_(kMinTexts + kMaxGrowth * size),
        sink_(sink) {}

  void AddMembers(std::string_view bytes) {
    // Most dictionaries have few members, and no name twice.
    std::array<Member, 16> members;
    size_t size = 0;
    for (std::string_view left = bytes; !left.empty(); ++size) {
      if (size == members.size())
        return MergeMembers({bytes});
      members[size] = TakeMember(&left);
      for (size_t i = 0; i < size; ++i) {
        if (IsSame(members[i], members[size]))
          return MergeMembers({bytes});
      }
    }
    bool has_cut_name = false;
    for (size_t i = 0; i < size; ++i)
      AddMember(members[i], &has_cut_name);
  }

 private:
  Member TakeMember(std::string_view* bytes) const {
    const uint64_t head = TakeVarInt(bytes);
    Member member;
    member.is_shared = (head & 2) != 0;
    member.name =
        member.is_shared ? texts_.Get(head >> 2) : TakeBytes(head >> 2, bytes);
    member.kind = (head & 1) != 0 ? NameKind::kField : NameKind::kFree;
    member.value = TakeValue(bytes);
    member.earlier = nullptr;
    return member;
  }

  bool IsSame(const Member& a, const Member& b) const {
    return a.name == b.name &&
           (unique_names_ == UniqueNames::kByText || a.kind == b.kind);
  }

  // Adds the members of a dictionary that has several |parts|, or names that
  // are repeated.
  void MergeMembers(const std::vector<std::string_view>& parts) {
    std::vector<Member> members;
    for (std::string_view part : parts) {
      while (!part.empty())
        members.push_back(TakeMember(&part));
    }
    std::vector<Member*> sorted;
    for (Member& member : members)
      sorted.push_back(&member);
    const bool by_kind = unique_names_ == UniqueNames::kByKind;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [by_kind](const Member* a, const Member* b) {
                       return by_kind && a->kind != b->kind ? a->kind < b->kind
                                                            : a->name < b->name;
                     });
    std::vector<bool> is_last(members.size(), true);
    for (size_t i = 1; i < sorted.size(); ++i) {
      if (!IsSame(*sorted[i - 1], *sorted[i]))
        continue;
      sorted[i]->earlier = sorted[i - 1];
      is_last[static_cast<size_t>(sorted[i - 1] - members.data())] = false;
    }
    bool has_cut_name = false;
    for (size_t i = 0; i < members.size(); ++i) {
      if (is_last[i])
        AddMember(members[i], &has_cut_name);
    }
  }

  // Adds a member, unless it would be the second one that is called "...".
  void AddMember(const Member& member, bool* has_cut_name) {
    std::string_view name = member.name;
    if (member.is_shared && !Take(name)) {
      if (std::exchange(*has_cut_name, true))
        return;
      name = kCut;
    }
    sink_->Name(name, member.kind);
    if (member.earlier != nullptr && IsContainer(member.value.type))
      MergeContainers(member);
    else
      AddValue(member.value);
  }

  // Adds a dictionary or an array together with those of the same name before
  // it, as far as these are of the same type.
  void MergeContainers(const Member& last) {
    std::vector<std::string_view> parts;
    for (const Member* member = &last;
         member != nullptr && member->value.type == last.value.type;
         member = member->earlier) {
      parts.push_back(member->value.bytes);
    }
    std::reverse(parts.begin(), parts.end());
    if (last.value.type == ArgEncoder::kDictionary) {
      sink_->Begin(Container::kDictionary);
      MergeMembers(parts);
    } else {
      sink_->Begin(Container::kArray);
      for (const std::string_view part : parts)
        AddElements(part);
    }
    sink_->End();
  }

  void AddElements(std::string_view bytes) {
    while (!bytes.empty())
      AddValue(TakeValue(&bytes));
  }

  void AddValue(const EncodedValue& value) {
    switch (value.type) {
      case ArgEncoder::kNull:
        return sink_->Add(std::monostate());
      case ArgEncoder::kFalse:
      case ArgEncoder::kTrue:
        return sink_->Add(value.type == ArgEncoder::kTrue);
      case ArgEncoder::kInteger:
        return sink_->Add(ZigZagDecode(value.number));
      case ArgEncoder::kUnsigned:
        return sink_->Add(value.number);
      case ArgEncoder::kAddress:
        return sink_->Add(program::Address{value.number});
      case ArgEncoder::kReal: {
        std::string_view bytes = value.bytes;
        return sink_->Add(TakeNumber<double>(&bytes));
      }
      case ArgEncoder::kDecimal:
        return sink_->Add(program::Decimal{value.bytes});
      case ArgEncoder::kText:
        return sink_->Add(value.bytes);
      case ArgEncoder::kSharedText:
        return AddShared(texts_.Get(value.number));
      case ArgEncoder::kDictionary:
        sink_->Begin(Container::kDictionary);
        AddMembers(value.bytes);
        return sink_->End();
      case ArgEncoder::kArray:
        sink_->Begin(Container::kArray);
        AddElements(value.bytes);
        return sink_->End();
    }
  }

  void AddShared(std::string_view text) {
    sink_->Add(Take(text) ? text : kCut);
  }

  // Returns whether a shared text may be there.
  bool Take(std::string_view text) {
    const bool is_enough = text.size() <= budget_;
    if (is_enough)
      budget_ -= text.size();
    return is_enough;
  }

  const ArgTexts& texts_;
  const UniqueNames unique_names_;
  size_t budget_;
  program::ValueSink* const sink_;
};

}  // namespace

void DecodeArgs(std::string_view args,
                const ArgTexts& texts,
                UniqueNames unique_names,
                program::ValueSink* sink) {
  ArgDecoder(texts, unique_names, args.size(), sink).AddMembers(args);
}

}  // namespace pztrace
