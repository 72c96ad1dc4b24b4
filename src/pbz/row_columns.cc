// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/row_columns.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "src/pbz/number.h"
#include "src/program/json_values.h"

namespace pbz {

namespace {

std::string NameOf(const std::vector<PathStep>& path) {
  std::string name;
  for (const PathStep& step : path)
    name += (name.empty() ? "" : ".") + PathName(*step.type);
  return name;
}

table::Column::Type ColumnType(SchemaType type) {
  switch (type) {
    case SchemaType::kBool:
      return table::Column::Type::kBool;
    case SchemaType::kFloat:
    case SchemaType::kDouble:
      return table::Column::Type::kDouble;
    case SchemaType::kUint32:
    case SchemaType::kFixed32:
    case SchemaType::kUint64:
    case SchemaType::kFixed64:
      return table::Column::Type::kUint64;
    case SchemaType::kString:
    case SchemaType::kEnum:
      return table::Column::Type::kText;
    case SchemaType::kBytes:
      return table::Column::Type::kBytes;
    default:
      return table::Column::Type::kInt64;
  }
}

}  // namespace

RowColumns::Slot* RowColumns::Group::Find(uint32_t id) {
  const auto slot = std::lower_bound(
      slots.begin(), slots.end(), id,
      [](const Slot& s, uint32_t i) { return s.type->id < i; });
  return slot != slots.end() && slot->type->id == id ? &*slot : nullptr;
}

// Adds |type| and the other members of its oneof, which may replace it.
RowColumns::Slot* RowColumns::Group::Add(const FieldType& type,
                                         const MessageType& message) {
  for (const FieldType& field : message.fields) {
    const bool is_sibling =
        type.oneof_index >= 0 && field.oneof_index == type.oneof_index;
    if ((field.id != type.id && !is_sibling) || Find(field.id))
      continue;
    const auto place = std::find_if(
        slots.begin(), slots.end(),
        [&field](const Slot& slot) { return slot.type->id > field.id; });
    slots.insert(place, Slot())->type = &field;
  }
  return Find(type.id);
}

std::unique_ptr<RowColumns> RowColumns::Choose(const MessageType& type,
                                               std::string_view chosen,
                                               std::string* error) {
  std::unique_ptr<RowColumns> columns(new RowColumns(type));
  if (chosen.empty()) {
    std::vector<PathStep> path;
    std::vector<const MessageType*> around;
    if (!columns->AddAll(type, &path, &around)) {
      *error = type.full_name + " has more than " +
               std::to_string(kMaxColumns) +
               " fields; choose some with --columns";
      return nullptr;
    }
    if (columns->cells_.empty()) {
      *error = type.full_name + " has no fields";
      return nullptr;
    }
    return columns;
  }
  while (!chosen.empty()) {
    const std::string_view text = chosen.substr(0, chosen.find(','));
    chosen.remove_prefix(std::min(text.size() + 1, chosen.size()));
    const std::vector<PathStep> path = ParseFieldPath(text, &type, error);
    if (path.empty())
      return nullptr;
    for (size_t i = 0; i + 1 < path.size(); ++i) {
      if (path[i].type->is_repeated) {
        const std::string name = NameOf(
            {path.begin(), path.begin() + static_cast<ptrdiff_t>(i) + 1});
        *error = NameOf(path) + ": " + name + " is repeated; choose " + name +
                 ", which is JSON, or a row for each of it with --rows";
        return nullptr;
      }
    }
    if (!columns->Add(path)) {
      *error = NameOf(path) + " is chosen twice";
      return nullptr;
    }
  }
  return columns;
}

std::vector<table::Column> RowColumns::Columns() const {
  std::vector<table::Column> columns;
  for (const Cell& cell : cells_) {
    columns.push_back({cell.name, cell.is_json ? table::Column::Type::kJson
                                               : ColumnType(cell.type->type)});
  }
  return columns;
}

bool RowColumns::AddAll(const MessageType& type,
                        std::vector<PathStep>* path,
                        std::vector<const MessageType*>* around) {
  around->push_back(&type);
  for (const FieldType& field : type.fields) {
    path->push_back({field.id, &field});
    const MessageType* const message = field.message;
    const bool is_flat =
        message && !field.is_repeated && !message->fields.empty() &&
        around->size() < size_t{kMaxDepth} &&
        std::find(around->begin(), around->end(), message) == around->end();
    if (is_flat) {
      if (!AddAll(*message, path, around))
        return false;
    } else if (!Add(*path) || cells_.size() > kMaxColumns) {
      return false;
    }
    path->pop_back();
  }
  around->pop_back();
  return true;
}

bool RowColumns::Add(const std::vector<PathStep>& path) {
  const MessageType* message = &type_;
  Group* group = &root_;
  Slot* slot = nullptr;
  for (const PathStep& step : path) {
    if (slot) {
      if (!slot->group)
        slot->group = std::make_unique<Group>();
      group = slot->group.get();
    }
    slot = group->Add(*step.type, *message);
    message = step.type->message;
  }
  if (slot->cell != kNone)
    return false;
  slot->cell = cells_.size();
  Cell cell;
  cell.name = NameOf(path);
  cell.type = slot->type;
  cell.group = group;
  cell.is_json = slot->type->is_repeated || slot->type->is_message();
  cells_.push_back(std::move(cell));
  return true;
}

void RowColumns::Write(const std::vector<Item>& message,
                       table::RowWriter* rows) {
  for (Slot& slot : root_.slots)
    Clear(&slot);
  root_.is_there = true;
  Collect(message, 0, static_cast<uint32_t>(message.size()), &root_);
  for (const Cell& cell : cells_)
    WriteCell(message, cell, rows);
}

void RowColumns::Clear(Slot* slot) {
  if (slot->cell != kNone)
    cells_[slot->cell].parts.clear();
  if (slot->group && slot->group->is_there) {
    slot->group->is_there = false;
    for (Slot& inner : slot->group->slots)
      Clear(&inner);
  }
}

void RowColumns::Collect(const std::vector<Item>& items,
                         uint32_t begin,
                         uint32_t end,
                         Group* group) {
  for (uint32_t i = begin; i < end; i = items[i].end) {
    Slot* const slot = group->Find(items[i].type->id);
    if (!slot)
      continue;
    if (slot->type->oneof_index >= 0) {
      for (Slot& other : group->slots) {
        if (other.type->oneof_index == slot->type->oneof_index &&
            &other != slot) {
          Clear(&other);
        }
      }
    }
    if (slot->cell != kNone)
      cells_[slot->cell].parts.push_back(i);
    if (slot->group) {
      slot->group->is_there = true;
      Collect(items, i + 1, items[i].end, slot->group.get());
    }
  }
}

void RowColumns::WriteCell(const std::vector<Item>& items,
                           const Cell& cell,
                           table::RowWriter* rows) {
  const FieldType& type = *cell.type;
  const bool has_default = !type.has_presence && cell.group->is_there;
  if (cell.parts.empty() && !has_default)
    return rows->Null();
  if (cell.is_json) {
    json_.clear();
    program::JsonValues json(&json_);
    AddFieldValue(items, cell.parts, type, &json);
    return rows->Json(json_);
  }
  const protozero::Field field =
      cell.parts.empty() ? protozero::Field() : items[cell.parts.back()].field;
  if (type.type == SchemaType::kString)
    return rows->Text(field.as_bytes().ToStdStringView());
  if (type.type == SchemaType::kBytes)
    return rows->Bytes(field.as_bytes().ToStdStringView());
  if (type.type == SchemaType::kEnum) {
    const std::string* name =
        type.enum_type ? type.enum_type->FindName(field.as_int32()) : nullptr;
    return rows->Text(name ? *name : std::to_string(field.as_int32()));
  }
  std::visit(
      [rows](auto value) {
        if constexpr (std::is_same_v<decltype(value), bool>)
          rows->Bool(value);
        else
          rows->Number(value);
      },
      NumberOf(type.type, field.as_uint64()));
}

}  // namespace pbz
