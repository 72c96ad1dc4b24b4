// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/interned_data.h"

#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

using trace::InternedData;

namespace {

// The field numbers of all entries.
constexpr uint32_t kIid = trace::EventName::kIidFieldNumber;
constexpr uint32_t kName = trace::EventName::kNameFieldNumber;
static_assert(kIid == trace::EventCategory::kIidFieldNumber &&
                  kName == trace::EventCategory::kNameFieldNumber,
              "entries are alike");

bool IsOfStacks(uint32_t field_id) {
  switch (field_id) {
    case InternedData::kFunctionNamesFieldNumber:
    case InternedData::kFramesFieldNumber:
    case InternedData::kCallstacksFieldNumber:
    case InternedData::kBuildIdsFieldNumber:
    case InternedData::kMappingPathsFieldNumber:
    case InternedData::kSourcePathsFieldNumber:
    case InternedData::kMappingsFieldNumber:
    case InternedData::kStackSampleTaskContextsFieldNumber:
    case InternedData::kStackSampleExecutionContextsFieldNumber:
    case InternedData::kStackSampleCounterDescriptorsFieldNumber:
    case InternedData::kStackSampleAsyncContextDescriptorsFieldNumber:
      return true;
    default:
      return false;
  }
}

}  // namespace

void InternedTexts::Add(ConstBytes interned_data,
                        bool with_details,
                        bool with_stacks) {
  ProtoDecoder decoder(interned_data);
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    const bool is_name = field.id() == InternedData::kEventNamesFieldNumber;
    if (!is_name && field.id() != InternedData::kEventCategoriesFieldNumber) {
      if (with_details || (with_stacks && IsOfStacks(field.id())))
        AddEntry(field.id(), field.as_bytes());
      continue;
    }
    ProtoDecoder entry(field.as_bytes());
    const uint64_t iid = entry.FindField(kIid).as_uint64();
    const StringId text =
        texts_->Intern(entry.FindField(kName).as_string().ToStdStringView());
    (is_name ? names_ : categories_).Insert(iid, text);
  }
}

void InternedTexts::AddEntry(uint32_t field_id, ConstBytes bytes) {
  const uint64_t iid = ProtoDecoder(bytes).FindField(kIid).as_uint64();
  List* list = nullptr;
  for (List& known : lists_) {
    if (known.field_id == field_id)
      list = &known;
  }
  if (list == nullptr) {
    // The most lists.
    constexpr size_t kMaxLists = 64;
    if (lists_.size() == kMaxLists)
      return;
    list = &lists_.emplace_back();
    list->field_id = field_id;
  }
  const auto next = static_cast<uint32_t>(entries_.size());
  if (list->indexes.Insert(iid, next) == next)
    entries_.push_back(bytes.ToStdString());
}

void InternedTexts::Clear() {
  categories_.Clear();
  names_.Clear();
  text_ids_.Clear();
  lists_.clear();
  entries_.clear();
}

StringId InternedTexts::CategoryOf(uint64_t iid) const {
  const StringId id = categories_.Find(iid);
  return id != IdMap::kNone
             ? id
             : texts_->Intern("unknown(" + std::to_string(iid) + ")");
}

StringId InternedTexts::NameOf(uint64_t iid) const {
  const StringId id = names_.Find(iid);
  return id != IdMap::kNone ? id : TextTable::kEmpty;
}

TextId InternedTexts::TextOf(uint64_t category_iid, uint64_t name_iid) {
  const bool is_small = category_iid <= UINT32_MAX && name_iid <= UINT32_MAX;
  const uint64_t key = category_iid << 32 | (name_iid & UINT32_MAX);
  if (is_small) {
    const TextId known = text_ids_.Find(key);
    if (known != IdMap::kNone)
      return known;
  }
  const TextId text = texts_->TextOf(
      category_iid == 0 ? TextTable::kEmpty : CategoryOf(category_iid),
      name_iid == 0 ? TextTable::kEmpty : NameOf(name_iid));
  // A text with an unknown number is not kept, because the number may become
  // known.
  if (is_small &&
      (category_iid == 0 || categories_.Find(category_iid) != IdMap::kNone) &&
      (name_iid == 0 || names_.Find(name_iid) != IdMap::kNone)) {
    text_ids_.Insert(key, text);
  }
  return text;
}

ConstBytes InternedTexts::FindEntry(uint32_t list, uint64_t iid) const {
  for (const List& known : lists_) {
    if (known.field_id != list)
      continue;
    const uint32_t index = known.indexes.Find(iid);
    if (index == IdMap::kNone)
      break;
    const std::string& entry = entries_[index];
    return {reinterpret_cast<const uint8_t*>(entry.data()), entry.size()};
  }
  return {};
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
