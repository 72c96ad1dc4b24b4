// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TABLES_STORED_TABLE_H_
#define SRC_PZTRACE_TABLES_STORED_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/table/row_writer.h"

namespace pztrace {

// Returns whether |text| is UTF-8 without NUL, which SQLite's functions take
// for the end of a text.
bool IsWholeText(std::string_view text);

// Returns |text| as UTF-8. Other bytes, and NUL, become U+FFFD.
std::string WholeText(std::string_view text);

// Texts, each kept once, with a number. They stay at their addresses.
class StoredTexts {
 public:
  // Returns the number of |text|.
  uint32_t Add(std::string_view text);
  std::optional<uint32_t> Find(std::string_view text) const;
  std::string_view Get(uint32_t number) const {
    return {texts_[number], sizes_[number]};
  }
  // Returns the place of each text among all in the order of their bytes.
  std::vector<uint32_t> Ranks() const;

 private:
  // Returns the place of |text|, or the free one where it would be.
  size_t PlaceOf(std::string_view text, size_t hash) const;
  const char* Copy(std::string_view text);
  void Grow();

  std::vector<const char*> texts_;
  std::vector<uint32_t> sizes_;
  std::vector<uint32_t> places_;  // The numbers by hash, each one more.
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t free_ = 0;  // The free bytes of the last block.
};

// Numbers, which may be null, in the few bits that they take:
//
//   block of 1024: least number | a bit for each null, if there are any
//                               | number - least number, in |num_bits| each
class StoredNumbers {
 public:
  void Add(std::optional<int64_t> number);
  // Ends a block that is not full. REQUIRES: nothing is added after it.
  void Finish();
  std::optional<int64_t> Get(size_t row) const;

 private:
  static constexpr size_t kBlock = 1024;
  static constexpr size_t kNullWords = kBlock / 64;

  struct Block {
    uint64_t least;
    uint32_t num_bits;
    bool has_nulls;
    std::unique_ptr<uint64_t[]> words;
  };

  std::vector<Block> blocks_;
  std::vector<std::optional<int64_t>> open_;  // The block that is not full yet.
};

// A table in memory, for one query: it keeps only the columns that the query
// reads.
class StoredTable {
 public:
  struct Column {
    // A kReal has the bits of a double, a kText the number of a text.
    enum class Type { kInteger, kReal, kText };

    std::string name;
    Type type = Type::kInteger;
    bool is_read = false;
    StoredNumbers numbers = {};
    // The number of lookups, and from the second one on, a hash table: the
    // first row of each hash, and the next one of the same hash for each row.
    size_t num_lookups = 0;
    std::vector<uint32_t> first_rows = {};
    std::vector<uint32_t> next_rows = {};
  };

  // |declaration| is that of CREATE TABLE: names and types with commas between
  // them. A PRIMARY KEY is the first column. Of "a INTEGER AS (b)", column a is
  // column b, and of "a INTEGER AS (NULL)" it is null; such ones are the last.
  // One of a longer expression is written, too. REQUIRES: |texts| outlives it.
  StoredTable(std::string_view declaration, StoredTexts* texts);

  // Returns a writer of all columns. REQUIRES: the table outlives it.
  std::unique_ptr<table::RowWriter> Insert();
  // Puts the rows in the order of the key. REQUIRES: no row is added after it.
  void Finish();
  // Makes each number in |column| null that is no key. REQUIRES: Finish().
  void RemoveReferences(std::string_view column);

  // Says that the query reads rows, and of their columns those with a bit in
  // |columns|. The last bit is for all further ones. After Finish() it is too
  // late: other columns are null.
  void SetRead(uint64_t columns);
  bool is_read() const { return is_read_; }
  bool Reads(std::string_view column) { return FindRead(column) != nullptr; }

  bool has_key() const { return has_key_; }
  std::vector<Column>& columns() { return columns_; }
  // Returns the place in columns() of a column of the declaration, or kNull.
  static constexpr size_t kNull = SIZE_MAX;
  size_t PlaceOf(int column) const {
    const auto place = static_cast<size_t>(column);
    return place < columns_.size() ? place : repeated_[place - columns_.size()];
  }
  StoredTexts* texts() const { return texts_; }
  uint32_t num_rows() const { return num_rows_; }
  // Returns the row at a place in the order of the key.
  uint32_t RowAt(uint32_t place) const {
    return order_.empty() ? place : order_[place];
  }
  // The columns that rows are ordered by, from the most important one, each
  // plus one, and negative if it is descending. Null is less than all else. A
  // kReal cannot be one of them.
  using Order = std::vector<int>;
  // Returns the rows in that order. They stay at their address.
  const std::vector<uint32_t>& RowsBy(const Order& order);

 private:
  class Writer;

  // Returns null if the query does not read the column.
  Column* FindRead(std::string_view column);
  bool HasKey(int64_t key) const;
  // Sorts |rows| by their values in |column|. Equal ones keep their order.
  void SortBy(const Column& column,
              bool is_descending,
              std::vector<uint32_t>* rows) const;

  StoredTexts* const texts_;
  bool has_key_ = false;
  bool is_read_ = false;
  bool is_finished_ = false;
  std::vector<Column> columns_;
  std::vector<size_t> repeated_;  // The places of those that are not written.
  uint32_t num_rows_ = 0;
  std::vector<uint32_t> order_;  // Empty if the rows are in order.
  std::map<Order, std::vector<uint32_t>> more_orders_;
};

// A place in a table.
class StoredRows {
 public:
  // REQUIRES: |table| is finished, and outlives it.
  explicit StoredRows(StoredTable* table) : table_(table) {}

  // Goes to the end.
  void GoToNone() { row_ = kNone; }
  // Goes to the first of all rows, in the order of the key or in another one.
  void GoToAll() { GoToAll(nullptr); }
  void GoToAllBy(const StoredTable::Order& order) {
    GoToAll(table_->RowsBy(order).data());
  }
  // Goes to the first row that has |number| in |column|.
  void GoTo(size_t column, int64_t number);
  void Next();

  bool is_at_end() const { return row_ == kNone; }
  uint32_t row() const { return row_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  // The ways to the next row: through all, through all with the number, or
  // through those of its hash.
  enum class Way { kAll, kScan, kHash };

  void GoToAll(const uint32_t* order);
  void MakeIndex();
  bool IsFound() const;

  StoredTable* const table_;
  Way way_ = Way::kAll;
  StoredTable::Column* column_ = nullptr;
  int64_t number_ = 0;
  const uint32_t* order_ = nullptr;  // Null if it is that of the key.
  uint32_t place_ = 0;  // The place of the row, unless it is a kHash.
  uint32_t row_ = kNone;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TABLES_STORED_TABLE_H_
