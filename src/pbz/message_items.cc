// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/message_items.h"

#include <math.h>

#include <algorithm>
#include <map>
#include <utility>
#include <variant>

#include "src/pbz/field_path.h"
#include "src/pbz/number.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using protozero::proto_utils::ProtoSchemaToWireType;
using protozero::proto_utils::ProtoWireType;

using Indices = std::vector<uint32_t>;

bool IsMap(const FieldType& type) {
  return type.is_repeated && type.message && type.message->is_map_entry;
}

// The bytes of names that JSON may have, in proportion to the fields: an
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

void AppendNumberJson(const FieldType& type,
                      uint64_t bits,
                      NameBudget* names,
                      std::string* json) {
  if (type.enum_type) {
    const std::string* const name =
        type.enum_type->FindName(static_cast<int32_t>(bits));
    if (name != nullptr && names->Take(*name)) {
      program::AppendJsonString(*name, json);
      return;
    }
  }
  const Number number = NumberOf(type.type, bits);
  double floating = 0;
  if (const auto* value = std::get_if<double>(&number))
    floating = *value;
  if (const auto* value = std::get_if<float>(&number))
    floating = static_cast<double>(*value);
  if (isfinite(floating))
    AppendNumber(number, json);
  else
    program::AppendJsonString(program::NonFiniteName(floating), json);
}

// Appends the value of |field|, or the default if it is invalid.
void AppendScalarJson(const FieldType& type,
                      protozero::Field field,
                      NameBudget* names,
                      std::string* json) {
  if (type.type == SchemaType::kString) {
    program::AppendJsonString(field.as_bytes().ToStdStringView(), json);
  } else if (type.type == SchemaType::kBytes) {
    *json += '"';
    program::AppendBase64(field.as_bytes().ToStdStringView(), json);
    *json += '"';
  } else {
    AppendNumberJson(type, field.as_uint64(), names, json);
  }
}

class JsonWriter {
 public:
  JsonWriter(const std::vector<Item>& all, std::string* json)
      : all_(all), json_(json) {}

  void AppendOnly(const FieldType& type, const Indices& parts) {
    AddSources(parts);
    AppendField(type, parts);
  }

  void AppendAll() {
    Indices fields;
    AddFields(0, static_cast<uint32_t>(all_.size()), &fields);
    AddSources(fields);
    AppendFields(Sorted(fields));
  }

 private:
  void AddSources(const Indices& fields) {
    for (const uint32_t field : fields)
      names_.AddSource(all_[field]);
  }

  void AppendField(const FieldType& type, const Indices& parts) {
    if (IsMap(type))
      AppendMap(*type.message, parts);
    else if (type.is_repeated)
      AppendArray(type, parts);
    else
      AppendSingular(type, parts);
  }

  void AppendSingular(const FieldType& type, const Indices& parts) {
    if (type.is_message())
      AppendMessage(parts);
    else
      AppendScalarJson(
          type, parts.empty() ? protozero::Field() : all_[parts.back()].field,
          &names_, json_);
  }

  void AppendArray(const FieldType& type, const Indices& parts) {
    *json_ += '[';
    bool is_first = true;
    const auto separate = [&] {
      *json_ += is_first ? "" : ",";
      is_first = false;
    };
    for (const uint32_t part : parts) {
      if (all_[part].shape != Shape::kPacked) {
        separate();
        AppendSingular(type, {part});
        continue;
      }
      Node node;
      node.field = all_[part].field;
      node.element = ProtoSchemaToWireType(type.type);
      ForEachElement(node, [&](uint64_t bits, uint64_t, size_t) {
        if (!type.HasValue(static_cast<int32_t>(bits)))
          return;
        separate();
        AppendNumberJson(type, bits, &names_, json_);
      });
    }
    *json_ += ']';
  }

  void AppendMap(const MessageType& entry_type, const Indices& entries) {
    const FieldType* const key_type = entry_type.FindField(kMapKey);
    const FieldType* const value_type = entry_type.FindField(kMapValue);
    // If a key is repeated, its last entry counts.
    std::map<std::string, Indices> values;
    for (const uint32_t entry : entries) {
      std::string key;
      Indices value;
      protozero::Field key_field = protozero::Field();
      for (const uint32_t part : FieldsOf({entry})) {
        if (all_[part].type == key_type)
          key_field = all_[part].field;
        else
          value.push_back(part);
      }
      if (key_type)
        AppendScalarJson(*key_type, key_field, &names_, &key);
      if (key.empty() || key[0] != '"')
        key.insert(0, 1, '"').push_back('"');
      values[key] = std::move(value);
    }
    const char* separator = "{";
    for (const auto& [key, value] : values) {
      *json_ += separator + key + ':';
      separator = ",";
      if (value_type)
        AppendSingular(*value_type, value);
      else
        *json_ += "null";
    }
    *json_ += values.empty() ? "{}" : "}";
  }

  // Appends a message that the file has in several |parts|.
  void AppendMessage(const Indices& parts) { AppendFields(FieldsOf(parts)); }

  Indices FieldsOf(const Indices& parts) const {
    Indices fields;
    for (const uint32_t part : parts)
      AddFields(part + 1, all_[part].end, &fields);
    return Sorted(fields);
  }

  // Adds the fields of the message that has the items from |begin| to |end|.
  void AddFields(uint32_t begin, uint32_t end, Indices* fields) const {
    for (uint32_t i = begin; i < end; i = all_[i].end)
      fields->push_back(i);
  }

  void AppendFields(const Indices& fields) {
    const char* separator = "{";
    for (auto begin = fields.begin(); begin != fields.end();) {
      const FieldType* const type = all_[*begin].type;
      const auto end = std::find_if(begin, fields.end(), [&](uint32_t field) {
        return all_[field].type != type;
      });
      const size_t size = json_->size();
      *json_ += separator;
      const std::string name = PathName(*type);
      program::AppendJsonString(
          names_.Take(name) ? name : std::to_string(type->id), json_);
      *json_ += ':';
      const size_t value = json_->size();
      AppendField(*type, Indices(begin, end));
      if (json_->compare(value, std::string::npos, "[]") == 0)
        json_->resize(size);  // A packed field without elements.
      else
        separator = ",";
      begin = end;
    }
    *json_ += *separator == '{' ? "{}" : "}";
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
  std::string* const json_;
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

void AppendFieldJson(const std::vector<Item>& all,
                     const std::vector<uint32_t>& parts,
                     const FieldType& type,
                     std::string* json) {
  JsonWriter(all, json).AppendOnly(type, parts);
}

void AppendMessageJson(const std::vector<Item>& all, std::string* json) {
  JsonWriter(all, json).AppendAll();
}

}  // namespace pbz
