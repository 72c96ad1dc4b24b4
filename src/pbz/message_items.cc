// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/message_items.h"

#include <math.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/pbz/field_path.h"
#include "src/pbz/number.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using protozero::proto_utils::ProtoSchemaToWireType;
using protozero::proto_utils::ProtoWireType;

using Container = program::ValueSink::Container;
using Indices = std::vector<uint32_t>;

bool IsMap(const FieldType& type) {
  return type.is_repeated && type.message && type.message->is_map_entry;
}

// The bytes of names that may be given, in proportion to the fields: an
// element of a packed enum takes one byte, and its name up to Schema::kMaxName.
// Beyond, there are numbers.
class NameBudget {
 public:
  void AddSource(const Item& item) {
    const bool has_size = item.field.type() == ProtoWireType::kLengthDelimited;
    left_ += kMaxGrowth * (2 + (has_size ? item.field.as_bytes().size : 0));
  }
  // Returns whether the name may be there.
  bool Take(const std::string& name) {
    const bool is_enough = name.size() <= left_;
    if (is_enough)
      left_ -= name.size();
    return is_enough;
  }

 private:
  static constexpr size_t kMinBytes = 64 * 1024;
  static constexpr size_t kMaxGrowth = 64;
  size_t left_ = kMinBytes;
};

void AddNumber(const FieldType& type,
               uint64_t bits,
               NameBudget* names,
               program::ValueSink* sink) {
  if (type.enum_type) {
    const std::string* const name =
        type.enum_type->FindName(static_cast<int32_t>(bits));
    if (name != nullptr && names->Take(*name))
      return sink->Add(std::string_view(*name));
  }
  std::visit(
      [sink](auto value) {
        if constexpr (!std::is_same_v<decltype(value), float>) {
          sink->Add(value);
        } else if (isfinite(value)) {
          // A double of the same value would have more digits.
          std::string digits;
          program::AppendFloat(value, &digits);
          sink->Add(program::Decimal{digits});
        } else {
          sink->Add(static_cast<double>(value));
        }
      },
      NumberOf(type.type, bits));
}

// Adds the value of |field|, or the default if it is invalid.
void AddScalar(const FieldType& type,
               protozero::Field field,
               NameBudget* names,
               program::ValueSink* sink) {
  const std::string_view bytes = field.as_bytes().ToStdStringView();
  if (type.type == SchemaType::kString)
    return sink->Add(bytes);
  if (type.type != SchemaType::kBytes)
    return AddNumber(type, field.as_uint64(), names, sink);
  std::string base64;
  program::AppendBase64(bytes, &base64);
  sink->Add(std::string_view(base64));
}

class ItemValues {
 public:
  ItemValues(const std::vector<Item>& all, program::ValueSink* sink)
      : all_(all), sink_(sink) {}

  void AddOnly(const FieldType& type, const Indices& parts) {
    AddSources(parts);
    AddField(type, parts);
  }

  void AddAll() {
    Indices fields;
    CollectFields(0, static_cast<uint32_t>(all_.size()), &fields);
    AddSources(fields);
    AddFields(Sorted(fields));
  }

 private:
  void AddSources(const Indices& fields) {
    for (const uint32_t field : fields)
      names_.AddSource(all_[field]);
  }

  void AddField(const FieldType& type, const Indices& parts) {
    if (IsMap(type))
      AddMap(*type.message, parts);
    else if (type.is_repeated)
      AddArray(type, parts);
    else
      AddSingular(type, parts);
  }

  // Adds a value. A message may have several |parts|.
  void AddSingular(const FieldType& type, const Indices& parts) {
    if (type.is_message())
      AddFields(FieldsOf(parts));
    else
      AddScalar(type,
                parts.empty() ? protozero::Field() : all_[parts.back()].field,
                &names_, sink_);
  }

  // Calls |add| for each element of a packed field.
  template <typename Function>
  void ForEachPacked(const FieldType& type, uint32_t part, Function add) const {
    Node node;
    node.field = all_[part].field;
    node.element = ProtoSchemaToWireType(type.type);
    ForEachElement(node, [&](uint64_t bits, uint64_t, size_t) {
      if (type.HasValue(static_cast<int32_t>(bits)))
        add(bits);
    });
  }

  // Returns false if there are only packed fields without elements.
  bool HasElements(const FieldType& type, const Indices& parts) const {
    if (!type.is_repeated || IsMap(type))
      return true;
    bool has_elements = false;
    for (const uint32_t part : parts) {
      if (all_[part].shape != Shape::kPacked)
        return true;
      ForEachPacked(type, part, [&](uint64_t) { has_elements = true; });
    }
    return has_elements;
  }

  void AddArray(const FieldType& type, const Indices& parts) {
    sink_->Begin(Container::kArray);
    for (const uint32_t part : parts) {
      if (all_[part].shape != Shape::kPacked) {
        AddSingular(type, {part});
        continue;
      }
      ForEachPacked(type, part, [&](uint64_t bits) {
        AddNumber(type, bits, &names_, sink_);
      });
    }
    sink_->End();
  }

  // Returns a key as a text.
  std::string KeyOf(const FieldType& type, protozero::Field field) {
    if (type.type == SchemaType::kString)
      return program::MadeUtf8(field.as_bytes().ToStdStringView());
    std::string key;
    AppendNumber(NumberOf(type.type, field.as_uint64()), &key);
    return key;
  }

  void AddMap(const MessageType& entry_type, const Indices& entries) {
    const FieldType* const key_type = entry_type.FindField(kMapKey);
    const FieldType* const value_type = entry_type.FindField(kMapValue);
    // If a key is repeated, its last entry counts.
    std::map<std::string, Indices> values;
    for (const uint32_t entry : entries) {
      Indices value;
      protozero::Field key_field = protozero::Field();
      for (const uint32_t part : FieldsOf({entry})) {
        if (all_[part].type == key_type)
          key_field = all_[part].field;
        else
          value.push_back(part);
      }
      values[key_type ? KeyOf(*key_type, key_field) : ""] = std::move(value);
    }
    sink_->Begin(Container::kDictionary);
    for (const auto& [key, value] : values) {
      sink_->Name(key);
      if (value_type)
        AddSingular(*value_type, value);
      else
        sink_->Add(std::monostate());
    }
    sink_->End();
  }

  Indices FieldsOf(const Indices& parts) const {
    Indices fields;
    for (const uint32_t part : parts)
      CollectFields(part + 1, all_[part].end, &fields);
    return Sorted(fields);
  }

  // Collects the fields of the message that has the items from |begin| to
  // |end|.
  void CollectFields(uint32_t begin, uint32_t end, Indices* fields) const {
    for (uint32_t i = begin; i < end; i = all_[i].end)
      fields->push_back(i);
  }

  void AddFields(const Indices& fields) {
    sink_->Begin(Container::kDictionary);
    for (auto begin = fields.begin(); begin != fields.end();) {
      const FieldType* const type = all_[*begin].type;
      const auto end = std::find_if(begin, fields.end(), [&](uint32_t field) {
        return all_[field].type != type;
      });
      const Indices parts(begin, end);
      begin = end;
      if (!HasElements(*type, parts))
        continue;
      const std::string name = PathName(*type);
      sink_->Name(names_.Take(name) ? name : std::to_string(type->id),
                  program::ValueSink::NameKind::kField);
      AddField(*type, parts);
    }
    sink_->End();
  }

  // Returns the fields of a message by number, without members of a oneof that
  // another one has replaced.
  Indices Sorted(const Indices& fields) const {
    // The member that the file has last, for each oneof. It becomes null at the
    // first other member, which it replaced together with all before that.
    std::map<int, const FieldType*> members;
    Indices kept;
    for (auto field = fields.rbegin(); field != fields.rend(); ++field) {
      const FieldType* const type = all_[*field].type;
      if (type->oneof_index >= 0) {
        const FieldType*& member =
            members.try_emplace(type->oneof_index, type).first->second;
        if (member != type) {
          member = nullptr;
          continue;
        }
      }
      kept.push_back(*field);
    }
    std::reverse(kept.begin(), kept.end());
    std::stable_sort(kept.begin(), kept.end(), [this](uint32_t a, uint32_t b) {
      return all_[a].type->id < all_[b].type->id;
    });
    return kept;
  }

  const std::vector<Item>& all_;
  program::ValueSink* const sink_;
  NameBudget names_;
};

}  // namespace

bool MessageItems::Read(protozero::ConstBytes bytes,
                        uint64_t offset,
                        const MessageType& type,
                        MalformedReport* report) {
  items_.clear();
  open_.clear();
  unknown_depth_ = 0;
  is_malformed_ = false;
  report_ = report;
  Walk(bytes, offset, &type, this);
  return !is_malformed_;
}

void MessageItems::OnValue(const Node& node) {
  if (unknown_depth_ != 0 || !node.type)
    return;
  Item item;
  item.type = node.type;
  item.field = node.field;
  item.shape = node.shape;
  item.end = static_cast<uint32_t>(items_.size() + 1);
  items_.push_back(item);
}

void MessageItems::OnBegin(const Node& node) {
  if (unknown_depth_ != 0 || !node.type) {
    ++unknown_depth_;
    return;
  }
  OnValue(node);
  open_.push_back(static_cast<uint32_t>(items_.size() - 1));
}

void MessageItems::OnEnd(const Node&) {
  if (unknown_depth_ != 0) {
    --unknown_depth_;
    return;
  }
  items_[open_.back()].end = static_cast<uint32_t>(items_.size());
  open_.pop_back();
}

void MessageItems::OnMalformed(uint64_t offset, size_t, const char* reason) {
  is_malformed_ = true;
  if (report_ != nullptr)
    report_->Add(offset, reason);
}

void AddFieldValue(const std::vector<Item>& all,
                   const std::vector<uint32_t>& parts,
                   const FieldType& type,
                   program::ValueSink* sink) {
  ItemValues(all, sink).AddOnly(type, parts);
}

void AddMessageValue(const std::vector<Item>& all, program::ValueSink* sink) {
  ItemValues(all, sink).AddAll();
}

}  // namespace pbz
