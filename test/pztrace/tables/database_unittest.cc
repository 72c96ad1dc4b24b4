// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/database.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "src/table/row_writer.h"

namespace {

using pztrace::Database;
using pztrace::FoundRows;
using CellType = FoundRows::CellType;

constexpr char kThings[] =
    "id INTEGER PRIMARY KEY, number INTEGER, text TEXT, real REAL, "
    "parent_id INTEGER, few INTEGER";
constexpr size_t kNumColumns = 6;
constexpr int kNumRows = 3000;  // Some blocks, and part of one.

std::unique_ptr<Database> InMemory() {
  std::string why;
  auto database = Database::CreateInMemory(&why);
  if (database) {
    EXPECT_TRUE(database->MakeTable("thing", kThings));
    EXPECT_TRUE(database->MakeTable(
        "args",
        "arg_set_id INTEGER, flat_key TEXT, key TEXT, int_value INTEGER, "
        "real_value REAL, string_value TEXT"));
    EXPECT_TRUE(database->Run(
        "CREATE VIEW few_things AS SELECT id, text FROM thing WHERE few = 1"));
  }
  return database;
}

// Fills "thing". The rows are not in the order of their ids.
void Fill(Database* database) {
  constexpr int64_t kExtremes[] = {std::numeric_limits<int64_t>::min(), -1, 0,
                                   std::numeric_limits<int64_t>::max()};
  const std::string texts[] = {"",
                               "a",
                               "A",
                               "b\xff",
                               std::string("c\0d", 3),
                               std::string(5000, 'x'),
                               "12",
                               "\xc3\xa9"};
  std::mt19937 random(1);
  const auto rows = database->Insert("thing", kNumColumns);
  const auto number_or_null = [&](std::optional<int64_t> number) {
    if (number && random() % 5 != 0)
      rows->Number(*number);
    else
      rows->Null();
  };
  for (int i = 0; i < kNumRows; ++i) {
    rows->Number(int64_t{2} * (i ^ 3));
    // Blocks of large numbers, of small ones, and of none.
    number_or_null(i < 1500   ? kExtremes[random() % 4]
                   : i < 1800 ? std::optional<int64_t>(random() % 1000)
                   : i < 2900 ? std::nullopt
                              : std::optional<int64_t>(-i));
    if (i % 7 == 0)
      rows->Null();
    else
      rows->Text(i % 11 == 0 ? "t" + std::to_string(random() % 500)
                             : texts[random() % 8]);
    rows->Number(i % 3 == 0 ? -0.5 * i : 1e300);
    // Some refer to no row.
    number_or_null(random() % (3 * kNumRows));
    rows->Bool(random() % 2 == 0);
    rows->EndRow();
  }
  database->FinishRows();
  database->RemoveReferences("thing", "parent_id");
}

// Returns all rows, each as one text.
std::vector<std::string> TextsOf(FoundRows* rows) {
  std::vector<std::string> texts;
  while (rows->Next()) {
    std::string text;
    for (size_t i = 0; i < rows->num_columns(); ++i) {
      text += std::to_string(static_cast<int>(rows->TypeOf(i))) + ":";
      text += std::string(rows->Text(i)) + "|";
    }
    texts.push_back(text);
  }
  return texts;
}

// Asks a table in memory and one of SQLite.
class DatabaseTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!InMemory())
      GTEST_SKIP() << "pztrace was built without SQLite";
  }

  static std::vector<std::string> FindInMemory(const std::string& query) {
    const auto database = InMemory();
    const auto rows = database->Find(query);
    EXPECT_NE(rows, nullptr) << query << ": " << database->error();
    if (!rows)
      return {};
    Fill(database.get());
    auto texts = TextsOf(rows.get());
    EXPECT_EQ(database->error(), "");
    // Another run finds the same, by the tables that the first one has made.
    rows->Restart();
    EXPECT_EQ(TextsOf(rows.get()), texts) << query;
    return texts;
  }

  std::vector<std::string> FindInFile(const std::string& query) {
    std::string why;
    if (!is_filled_) {
      const auto database = Database::Create(path_, &why);
      EXPECT_NE(database, nullptr) << why;
      database->Run("BEGIN");
      database->MakeTable("thing", kThings);
      Fill(database.get());
      database->Run("CREATE INDEX parents ON thing(parent_id)");
      EXPECT_TRUE(database->Run("COMMIT")) << database->error();
      is_filled_ = true;
    }
    const auto database = Database::Open(path_, &why);
    const auto rows = database->Find(query);
    EXPECT_NE(rows, nullptr) << query << ": " << database->error();
    return rows ? TextsOf(rows.get()) : std::vector<std::string>();
  }

  void TearDown() override { unlink(path_.c_str()); }

 private:
  const std::string path_ =
      testing::TempDir() + "database_unittest." + std::to_string(getpid());
  bool is_filled_ = false;
};

TEST_F(DatabaseTest, OrderedQueriesFindTheSameInMemoryAndInAFile) {
  for (const char* query : {
           // All values, in the order of the key.
           "SELECT * FROM thing",
           "SELECT id, rowid FROM thing ORDER BY id",
           "SELECT id FROM thing ORDER BY id DESC LIMIT 10",
           // Orders of numbers, of texts, and of several columns.
           "SELECT number, count(*) FROM thing GROUP BY number",
           "SELECT text, few, count(*), sum(id) FROM thing GROUP BY text, few",
           "SELECT number FROM thing ORDER BY number DESC",
           "SELECT text FROM thing ORDER BY text COLLATE NOCASE, id",
           "SELECT number, text, id FROM thing ORDER BY text DESC, number, id",
           "SELECT number, id FROM thing ORDER BY number NULLS LAST, id",
           "SELECT real, id FROM thing ORDER BY real, id DESC",
           "SELECT DISTINCT text FROM thing ORDER BY text",
           "SELECT min(number), max(number), max(text), total(real) FROM thing",
           "SELECT few, id, lag(id) OVER (PARTITION BY few ORDER BY number, "
           "id) "
           "FROM thing ORDER BY few, id",
           // Lookups of all kinds of values.
           "SELECT * FROM thing WHERE id = 8",
           "SELECT * FROM thing WHERE id = '8' OR id = 10.0 OR id = 11.5",
           "SELECT id FROM thing WHERE id IN (9, 10, NULL, '12') ORDER BY id",
           "SELECT id FROM thing WHERE id IN (30, 20, 10) ORDER BY id DESC",
           "SELECT id FROM thing WHERE id = NULL",
           "SELECT id FROM thing WHERE number IS NULL ORDER BY id",
           "SELECT id FROM thing WHERE number = -9223372036854775808 "
           "ORDER BY id",
           "SELECT id FROM thing WHERE number = 9.2233720368547758e18 "
           "ORDER BY id",
           "SELECT id FROM thing WHERE text = 'a' ORDER BY id",
           "SELECT id FROM thing WHERE text = 'a' COLLATE NOCASE ORDER BY id",
           "SELECT id FROM thing WHERE text = 12 ORDER BY id",
           "SELECT id FROM thing WHERE text = x'61' ORDER BY id",
           "SELECT id FROM thing WHERE text = 'none' ORDER BY id",
           "SELECT id FROM thing WHERE real = 1e300 AND few = 1 ORDER BY id",
           "SELECT id FROM thing WHERE text LIKE 'A' ORDER BY id",
           "SELECT id FROM thing WHERE id BETWEEN 10 AND 20 ORDER BY id",
           // Joins, which look up more than once.
           "SELECT a.id, b.id, b.text FROM thing a JOIN thing b "
           "ON a.parent_id = b.id ORDER BY a.id",
           "SELECT a.id, count(b.id) FROM thing a LEFT JOIN thing b "
           "ON b.parent_id = a.id GROUP BY a.id",
           "SELECT count(*), sum(a.id) FROM thing a JOIN thing b USING (text)",
           "SELECT count(*) FROM thing a NATURAL JOIN thing b",
           "SELECT a.id FROM thing a WHERE NOT EXISTS "
           "(SELECT 1 FROM thing b WHERE b.parent_id = a.id) ORDER BY a.id",
           "SELECT a.id, (SELECT max(b.id) FROM thing b WHERE b.text = a.text "
           "COLLATE NOCASE) FROM thing a WHERE a.id < 100 ORDER BY a.id",
           "WITH RECURSIVE above(id, n) AS (SELECT id, 0 FROM thing UNION ALL "
           "SELECT thing.parent_id, n + 1 FROM above JOIN thing USING (id) "
           "WHERE n < 5) SELECT n, count(id), sum(id) FROM above GROUP BY n",
       }) {
    EXPECT_EQ(FindInMemory(query), FindInFile(query)) << query;
  }
}

// The columns of "thing" that a query reads.
std::vector<std::string> ColumnsReadBy(const std::string& query) {
  const auto database = InMemory();
  const auto rows = database->Find(query);
  EXPECT_NE(rows, nullptr) << database->error();
  std::vector<std::string> columns;
  if (database->Reads("args"))
    columns.push_back("args");
  for (const char* column :
       {"id", "number", "text", "real", "parent_id", "few"}) {
    if (database->Reads("thing", column))
      columns.push_back(column);
  }
  EXPECT_EQ(database->Reads("thing"), database->Reads("thing", "id"));
  return columns;
}

TEST_F(DatabaseTest, OnlyWhatAQueryReadsIsKept) {
  using Columns = std::vector<std::string>;
  EXPECT_EQ(ColumnsReadBy("SELECT 1"), Columns());
  EXPECT_EQ(ColumnsReadBy("SELECT sql FROM sqlite_schema"), Columns());
  EXPECT_EQ(ColumnsReadBy("SELECT count(*) FROM thing"), Columns({"id"}));
  EXPECT_EQ(ColumnsReadBy("SELECT text FROM thing"), Columns({"id", "text"}));
  EXPECT_EQ(ColumnsReadBy("SELECT count(*) FROM thing WHERE real > 1"),
            Columns({"id", "real"}));
  EXPECT_EQ(ColumnsReadBy("SELECT 1 FROM thing ORDER BY number"),
            Columns({"id", "number"}));
  EXPECT_EQ(ColumnsReadBy("SELECT count(*) FROM few_things"),
            Columns({"id", "few"}));
  EXPECT_EQ(ColumnsReadBy("SELECT a.id FROM thing a JOIN thing b USING (few)"),
            Columns({"id", "few"}));
  EXPECT_EQ(ColumnsReadBy("SELECT * FROM thing"),
            Columns({"id", "number", "text", "real", "parent_id", "few"}));
  EXPECT_EQ(ColumnsReadBy("SELECT count(*) FROM args"), Columns({"args"}));
  EXPECT_EQ(ColumnsReadBy("SELECT extract_arg(number, text) FROM thing"),
            Columns({"args", "id", "number", "text"}));
}

}  // namespace
