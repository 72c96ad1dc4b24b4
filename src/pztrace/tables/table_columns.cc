// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/table_columns.h"

namespace pztrace {

namespace {

using Type = table::Column::Type;

Type TypeOf(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return Type::kBool;
    case ValueType::kInt64:
    case ValueType::kKey:
      return Type::kInt64;
    case ValueType::kUint32:
    case ValueType::kUint64:
      return Type::kUint64;
    case ValueType::kDouble:
      return Type::kDouble;
    case ValueType::kObject:
    case ValueType::kNumbers:
      return Type::kJson;
    case ValueType::kText:
      break;
  }
  return Type::kText;
}

const char* SqlTypeOf(const ColumnInfo& info) {
  if (info.type == ValueType::kKey)
    return " INTEGER PRIMARY KEY";
  switch (TypeOf(info.type)) {
    case Type::kText:
    case Type::kJson:
      return " TEXT";
    case Type::kDouble:
      return " REAL";
    case Type::kBool:
    case Type::kInt64:
    case Type::kUint64:
    case Type::kBytes:
      break;
  }
  return " INTEGER";
}

}  // namespace

std::vector<ColumnInfo> Joined(
    const std::vector<std::vector<ColumnInfo>>& parts) {
  std::vector<ColumnInfo> all;
  for (const std::vector<ColumnInfo>& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<table::Column> ColumnsOf(const std::vector<ColumnInfo>& infos) {
  std::vector<table::Column> columns;
  for (const ColumnInfo& info : infos)
    columns.push_back({std::string(info.name), TypeOf(info.type)});
  return columns;
}

std::string SqlColumnsOf(const std::vector<ColumnInfo>& infos) {
  std::string text;
  for (const ColumnInfo& info : infos) {
    text += text.empty() ? "" : ", ";
    text += info.name;
    text += SqlTypeOf(info);
    if (!info.expression.empty())
      text += " AS (" + std::string(info.expression) + ")";
  }
  return text;
}

}  // namespace pztrace
