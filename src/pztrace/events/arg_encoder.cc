// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/events/arg_encoder.h"

#include <string.h>

#include <type_traits>
#include <variant>

#include "protozero/proto_utils.h"
#include "src/program/text.h"
#include "src/program/varint.h"

namespace pztrace {

using program::AppendVarInt;
using protozero::proto_utils::ZigZagEncode;

uint64_t ArgTexts::Add(std::string_view text) {
  text = program::CutAtCharacter(text, kMaxBytes);
  const auto found = numbers_.find(text);
  if (found != numbers_.end())
    return found->second;
  const uint64_t number = texts_.size();
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

void ArgEncoder::Begin(Container container) {
  *args_ += container == Container::kDictionary ? kDictionary : kArray;
  open_.push_back(args_->size());
  args_->append(kSizeBytes, '\0');
}

void ArgEncoder::End() {
  const size_t begin = open_.back() + kSizeBytes;
  const auto size = static_cast<uint32_t>(args_->size() - begin);
  static_assert(sizeof(size) == kSizeBytes, "");
  memcpy(&(*args_)[open_.back()], &size, sizeof(size));
  open_.pop_back();
}

void ArgEncoder::Name(std::string_view name, NameKind kind) {
  // Names that are shown alike have to be the same bytes.
  if (!program::IsUtf8(name))
    return Name(program::MadeUtf8(name), kind);
  AddName(name.size(), /*is_shared=*/false, kind);
  *args_ += name;
}

void ArgEncoder::SharedName(std::string_view name, NameKind kind) {
  if (name.size() <= ArgTexts::kMaxShort)
    return Name(name, kind);
  if (!program::IsUtf8(name))
    return SharedName(program::MadeUtf8(name), kind);
  AddName(texts_->Add(name), /*is_shared=*/true, kind);
}

void ArgEncoder::Add(const program::Value& value) {
  std::visit(
      [this](auto of_type) {
        using T = decltype(of_type);
        if constexpr (std::is_same_v<T, std::monostate>) {
          *args_ += kNull;
        } else if constexpr (std::is_same_v<T, bool>) {
          *args_ += of_type ? kTrue : kFalse;
        } else if constexpr (std::is_same_v<T, int64_t>) {
          AddTyped(kInteger, ZigZagEncode(of_type));
        } else if constexpr (std::is_same_v<T, uint64_t>) {
          AddTyped(kUnsigned, of_type);
        } else if constexpr (std::is_same_v<T, double>) {
          char bytes[1 + sizeof(of_type)] = {kReal};
          memcpy(bytes + 1, &of_type, sizeof(of_type));
          args_->append(bytes, sizeof(bytes));
        } else if constexpr (std::is_same_v<T, program::Address>) {
          AddTyped(kAddress, of_type.value);
        } else if constexpr (std::is_same_v<T, program::Decimal>) {
          AddText(kDecimal, of_type.digits);
        } else {
          AddText(kText, of_type);
        }
      },
      value);
}

void ArgEncoder::AddShared(std::string_view text) {
  if (text.size() <= ArgTexts::kMaxShort)
    AddText(kText, text);
  else
    AddTyped(kSharedText, texts_->Add(text));
}

void ArgEncoder::AddName(uint64_t number, bool is_shared, NameKind kind) {
  AppendVarInt(4 * number + 2 * is_shared + (kind == NameKind::kField), args_);
}

void ArgEncoder::AddTyped(Type type, uint64_t number) {
  *args_ += type;
  AppendVarInt(number, args_);
}

void ArgEncoder::AddText(Type type, std::string_view text) {
  AddTyped(type, text.size());
  *args_ += text;
}

}  // namespace pztrace
