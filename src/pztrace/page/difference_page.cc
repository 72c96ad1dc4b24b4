// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/difference_page.h"

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "src/program/text.h"
#include "src/pztrace/compare/change_texts.h"
#include "src/pztrace/page/embedded_page.h"

namespace pztrace {

namespace {

// The limit of a path, as for tables.
constexpr size_t kMaxPagePathBytes = 1024;

void AppendList(const std::vector<std::string>& texts, std::string* json) {
  *json += '[';
  for (const std::string& text : texts) {
    if (json->back() != '[')
      *json += ',';
    program::AppendJsonString(text, json);
  }
  *json += ']';
}

// Appends a member, and the comma before it, to an object that has some.
void AppendMember(std::string_view name,
                  std::string_view text,
                  std::string* json) {
  *json += ",\"" + std::string(name) + "\":";
  program::AppendJsonString(text, json);
}

// Returns 1 if a number has grown, -1 if it has shrunk. Returns 0 if that may
// be by chance, so always if there are too few runs.
int SignOf(const Change& change) {
  if (!change.interval || !change.interval->excludes(0))
    return 0;
  return change.interval->low > 0 ? 1 : -1;
}

// Appends the members of a path that runs have.
void AppendChanges(const RunTable& table,
                   const ComparedRow& row,
                   RunComparer* comparer,
                   std::string* json) {
  AppendMember("state",
               !row.was_there  ? "new"
               : !row.is_there ? "vanished"
                               : "",
               json);
  *json += ",\"weight\":";
  program::AppendDouble(row.self.before + row.self.after, json);
  *json += ",\"sign\":" + std::to_string(SignOf(row.self));
  *json += row.stands_out ? ",\"stands_out\":true" : "";
  *json += ",\"cells\":[";
  const RunChanges changes = table.ChangesOf(row, comparer);
  for (size_t i = 0; i < kNumRunColumns; ++i) {
    if (!changes[i])
      continue;
    if (json->back() != '[')
      *json += ',';
    const ChangeTexts texts = TextsOf(static_cast<RunColumn>(i), *changes[i]);
    AppendList({kRunColumnNames[i], texts.before, texts.after, texts.difference,
                texts.percent, texts.interval},
               json);
  }
  *json += ']';
}

}  // namespace

std::string MakeDifferencePage(const RunTable& table,
                               const std::vector<ComparedRow>& rows,
                               const std::string& summary,
                               const std::vector<std::string>& notes,
                               RunComparer* comparer) {
  // The index is the path.
  std::vector<const ComparedRow*> row_of(table.num_paths(), nullptr);
  for (const ComparedRow& row : rows)
    row_of[*row.path] = &row;

  std::string json = "{\"summary\":";
  program::AppendJsonString(summary, &json);
  json += ",\"notes\":";
  AppendList(notes, &json);
  json += ",\"paths\":[";
  for (uint32_t path = 0; path < row_of.size(); ++path) {
    const std::optional<uint32_t> outer = table.OuterOf(path);
    json += path == 0 ? "" : ",";
    json += "{\"outer\":" + (outer ? std::to_string(*outer) : "-1");
    AppendMember("name", table.NameText(path), &json);
    AppendMember("path", table.PathText(path, kMaxPagePathBytes), &json);
    // Otherwise only slices without an end have had this path.
    if (row_of[path] != nullptr)
      AppendChanges(table, *row_of[path], comparer, &json);
    else
      json += ",\"weight\":0,\"cells\":[]";
    json += '}';
  }
  json += "]}";
  return FilledPage(kDifferencePage, json);
}

}  // namespace pztrace
