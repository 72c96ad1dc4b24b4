// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/difference_page.h"

#include <stddef.h>
#include <stdint.h>

#include <string_view>

#include "src/program/json_values.h"
#include "src/program/value_sink.h"
#include "src/pztrace/compare/change_texts.h"
#include "src/pztrace/page/embedded_page.h"

namespace pztrace {

namespace {

// The limit of a path, as for tables.
constexpr size_t kMaxPagePathBytes = 1024;

using program::JsonValues;
using Container = program::ValueSink::Container;

void AddList(const std::vector<std::string>& texts, JsonValues* values) {
  values->Begin(Container::kArray);
  for (const std::string& text : texts)
    values->Add(text);
  values->End();
}

// Returns 1 if a number has grown, -1 if it has shrunk. Returns 0 if that may
// be by chance, so always if there are too few runs.
int SignOf(const Change& change) {
  if (!change.interval || !change.interval->excludes(0))
    return 0;
  return change.interval->low > 0 ? 1 : -1;
}

// Adds the members of a path that runs have.
void AddChanges(const RunTable& table,
                const ComparedRow& row,
                RunComparer* comparer,
                JsonValues* values) {
  values->Member("state", std::string_view(!row.was_there  ? "new"
                                           : !row.is_there ? "vanished"
                                                           : ""));
  values->Member("weight", row.self.before + row.self.after);
  values->Member("sign", int64_t{SignOf(row.self)});
  if (row.stands_out)
    values->Member("stands_out", true);
  values->Name("cells");
  values->Begin(Container::kArray);
  const RunChanges changes = table.ChangesOf(row, comparer);
  for (size_t i = 0; i < kNumRunColumns; ++i) {
    if (!changes[i])
      continue;
    const ChangeTexts texts = TextsOf(static_cast<RunColumn>(i), *changes[i]);
    AddList({kRunColumnNames[i], texts.before, texts.after, texts.difference,
             texts.percent, texts.interval},
            values);
  }
  values->End();
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

  std::string json;
  JsonValues values(&json);
  values.Begin(Container::kDictionary);
  values.Member("summary", summary);
  values.Name("notes");
  AddList(notes, &values);
  values.Name("paths");
  values.Begin(Container::kArray);
  for (uint32_t path = 0; path < row_of.size(); ++path) {
    const std::optional<uint32_t> outer = table.OuterOf(path);
    values.Begin(Container::kDictionary);
    values.Member("outer", outer ? int64_t{*outer} : int64_t{-1});
    values.Member("name", table.NameText(path));
    values.Member("path", table.PathText(path, kMaxPagePathBytes));
    // Otherwise only slices without an end have had this path.
    if (row_of[path] != nullptr) {
      AddChanges(table, *row_of[path], comparer, &values);
    } else {
      values.Member("weight", int64_t{0});
      values.Name("cells");
      AddList({}, &values);
    }
    values.End();
  }
  values.End();
  values.End();
  return FilledPage(kDifferencePage, json);
}

}  // namespace pztrace
