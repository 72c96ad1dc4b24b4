// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/database.h"

namespace pztrace {

namespace {

constexpr char kNoSqlite[] =
    "this program was built without SQLite; docs/building.md says how to build "
    "it with SQLite";

}  // namespace

std::unique_ptr<Database> Database::Create(const std::string&,
                                           std::string* why) {
  *why = kNoSqlite;
  return nullptr;
}

std::unique_ptr<Database> Database::CreateInMemory(std::string* why) {
  *why = kNoSqlite;
  return nullptr;
}

std::unique_ptr<Database> Database::Open(const std::string&, std::string* why) {
  *why = kNoSqlite;
  return nullptr;
}

}  // namespace pztrace
