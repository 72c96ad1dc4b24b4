// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/tables/stored_table.h"

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "src/program/text.h"
#include "src/tracing/trace_reader/id_map.h"

namespace pztrace {

namespace {

// The size of the blocks of short texts, and the longest one of these.
constexpr size_t kTextBlock = size_t{1} << 16;
constexpr size_t kShortText = kTextBlock / 16;

// Returns the number of bits that |number| takes.
uint32_t BitsOf(uint64_t number) {
  uint32_t bits = 0;
  for (; number != 0; number >>= 1)
    ++bits;
  return bits;
}

uint64_t MaskOf(uint32_t bits) {
  return bits == 0 ? 0 : ~uint64_t{0} >> (64 - bits);
}

// Sorts |rows| by 16 bits of their ranks. Equal ones keep their order.
void SortByBits(const std::vector<uint64_t>& ranks,
                uint32_t shift,
                std::vector<uint32_t>* rows) {
  constexpr size_t kMask = 0xffff;
  std::vector<uint32_t> begins(kMask + 2);
  for (const uint32_t row : *rows)
    ++begins[(ranks[row] >> shift & kMask) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  std::vector<uint32_t> sorted(rows->size());
  for (const uint32_t row : *rows)
    sorted[begins[ranks[row] >> shift & kMask]++] = row;
  rows->swap(sorted);
}

// Returns the place of the comma after the first column, or the end.
size_t EndOfColumn(std::string_view declaration) {
  size_t depth = 0;
  for (size_t i = 0; i < declaration.size(); ++i) {
    const char c = declaration[i];
    if (c == '(')
      ++depth;
    else if (c == ')')
      --depth;
    else if (c == ',' && depth == 0)
      return i;
  }
  return declaration.size();
}

}  // namespace

bool IsWholeText(std::string_view text) {
  return program::IsUtf8(text) && text.find('\0') == std::string_view::npos;
}

std::string WholeText(std::string_view text) {
  std::string whole;
  for (const char c : program::MadeUtf8(text)) {
    if (c == '\0')
      whole += "\xef\xbf\xbd";
    else
      whole += c;
  }
  return whole;
}

uint32_t StoredTexts::Add(std::string_view text) {
  if (4 * (texts_.size() + 1) > 3 * places_.size())
    Grow();
  const size_t place = PlaceOf(text, std::hash<std::string_view>()(text));
  if (places_[place] != 0)
    return places_[place] - 1;
  texts_.push_back(Copy(text));
  sizes_.push_back(static_cast<uint32_t>(text.size()));
  places_[place] = static_cast<uint32_t>(texts_.size());
  return places_[place] - 1;
}

std::optional<uint32_t> StoredTexts::Find(std::string_view text) const {
  if (places_.empty())
    return std::nullopt;
  const size_t place = PlaceOf(text, std::hash<std::string_view>()(text));
  if (places_[place] == 0)
    return std::nullopt;
  return places_[place] - 1;
}

std::vector<uint32_t> StoredTexts::Ranks() const {
  std::vector<uint32_t> order(texts_.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [this](uint32_t a, uint32_t b) { return Get(a) < Get(b); });
  std::vector<uint32_t> ranks(order.size());
  for (uint32_t i = 0; i < order.size(); ++i)
    ranks[order[i]] = i;
  return ranks;
}

size_t StoredTexts::PlaceOf(std::string_view text, size_t hash) const {
  const size_t mask = places_.size() - 1;
  size_t place = hash & mask;
  while (places_[place] != 0 && Get(places_[place] - 1) != text)
    place = (place + 1) & mask;
  return place;
}

const char* StoredTexts::Copy(std::string_view text) {
  char* copy;
  if (text.size() > kShortText) {
    blocks_.emplace_back(new char[text.size()]);
    copy = blocks_.back().get();
    free_ = 0;
  } else {
    if (blocks_.empty() || free_ < text.size()) {
      blocks_.emplace_back(new char[kTextBlock]);
      free_ = kTextBlock;
    }
    copy = blocks_.back().get() + (kTextBlock - free_);
    free_ -= text.size();
  }
  if (!text.empty())
    memcpy(copy, text.data(), text.size());
  return copy;
}

void StoredTexts::Grow() {
  places_.assign(std::max<size_t>(64, 2 * places_.size()), 0);
  for (uint32_t i = 0; i < texts_.size(); ++i) {
    const std::string_view text = Get(i);
    places_[PlaceOf(text, std::hash<std::string_view>()(text))] = i + 1;
  }
}

void StoredNumbers::Add(std::optional<int64_t> number) {
  open_.push_back(number);
  if (open_.size() == kBlock)
    Finish();
}

void StoredNumbers::Finish() {
  int64_t least = 0;
  int64_t most = 0;
  bool has_nulls = false;
  bool is_first = true;
  for (const auto& number : open_) {
    has_nulls = has_nulls || !number;
    if (!number)
      continue;
    least = is_first ? *number : std::min(least, *number);
    most = is_first ? *number : std::max(most, *number);
    is_first = false;
  }
  const uint32_t num_bits =
      BitsOf(static_cast<uint64_t>(most) - static_cast<uint64_t>(least));
  // A number may reach into the next word, so there is one more.
  const size_t num_words =
      (has_nulls ? kNullWords : 0) + open_.size() * num_bits / 64 + 1;
  Block block{static_cast<uint64_t>(least), num_bits, has_nulls,
              std::unique_ptr<uint64_t[]>(new uint64_t[num_words]())};
  uint64_t* const words = block.words.get() + (has_nulls ? kNullWords : 0);
  for (size_t i = 0; i < open_.size(); ++i) {
    if (!open_[i]) {
      block.words[i / 64] |= uint64_t{1} << i % 64;
      continue;
    }
    const uint64_t value = static_cast<uint64_t>(*open_[i]) - block.least;
    const size_t bit = i * num_bits;
    words[bit / 64] |= value << bit % 64;
    if (bit % 64 + num_bits > 64)
      words[bit / 64 + 1] |= value >> (64 - bit % 64);
  }
  blocks_.push_back(std::move(block));
  open_.clear();
}

std::optional<int64_t> StoredNumbers::Get(size_t row) const {
  const Block& block = blocks_[row / kBlock];
  const size_t i = row % kBlock;
  const uint64_t* words = block.words.get();
  if (block.has_nulls) {
    if ((words[i / 64] >> i % 64 & 1) != 0)
      return std::nullopt;
    words += kNullWords;
  }
  const size_t bit = i * block.num_bits;
  uint64_t value = words[bit / 64] >> bit % 64;
  if (bit % 64 + block.num_bits > 64)
    value |= words[bit / 64 + 1] << (64 - bit % 64);
  return static_cast<int64_t>(block.least + (value & MaskOf(block.num_bits)));
}

// Keeps the cells of the columns that are read.
class StoredTable::Writer : public table::RowWriter {
 public:
  explicit Writer(StoredTable* table) : table_(table) {}

  void Text(std::string_view text) override {
    Column& column = NextColumn();
    if (!column.is_read)
      return;
    column.numbers.Add(table_->texts_->Add(
        IsWholeText(text) ? text : std::string_view(WholeText(text))));
  }
  void Json(std::string_view json) override { Text(json); }
  void Bytes(std::string_view bytes) override { Text(bytes); }
  void Bool(bool value) override { Number(int64_t{value}); }
  void Number(int64_t number) override {
    Column& column = NextColumn();
    if (column.is_read)
      column.numbers.Add(number);
  }
  void Number(uint64_t number) override {
    Number(static_cast<int64_t>(number));
  }
  void Number(float number) override { Number(static_cast<double>(number)); }
  void Number(double number) override {
    int64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    Number(bits);
  }
  void Null() override {
    Column& column = NextColumn();
    if (column.is_read)
      column.numbers.Add(std::nullopt);
  }
  void EndRow() override {
    next_column_ = 0;
    ++table_->num_rows_;
  }
  void KeepBeginning(Beginning*) override {}
  void Begin(const Beginning&) override {}
  void Flush() override {}

 private:
  Column& NextColumn() { return table_->columns_[next_column_++]; }

  StoredTable* const table_;
  size_t next_column_ = 0;
};

StoredTable::StoredTable(std::string_view declaration, StoredTexts* texts)
    : texts_(texts) {
  constexpr auto kNone = std::string_view::npos;
  while (!declaration.empty()) {
    const size_t begin = declaration.find_first_not_of(" \n");
    const size_t end = EndOfColumn(declaration);
    const std::string_view column = declaration.substr(begin, end - begin);
    declaration.remove_prefix(std::min(end + 1, declaration.size()));
    using Type = Column::Type;
    const size_t same = column.find(" AS (");
    const std::string_view expression =
        same == kNone ? std::string_view()
                      : column.substr(same + 5, column.rfind(')') - same - 5);
    if (same != kNone && expression.find(' ') == kNone) {
      const auto found = std::find_if(
          columns_.begin(), columns_.end(),
          [&](const Column& one) { return one.name == expression; });
      repeated_.push_back(found == columns_.end()
                              ? kNull
                              : static_cast<size_t>(found - columns_.begin()));
      continue;
    }
    const bool is_key = column.find("PRIMARY KEY") != kNone;
    has_key_ = has_key_ || is_key;
    columns_.push_back({std::string(column.substr(0, column.find(' '))),
                        column.find("TEXT") != kNone   ? Type::kText
                        : column.find("REAL") != kNone ? Type::kReal
                                                       : Type::kInteger});
  }
}

std::unique_ptr<table::RowWriter> StoredTable::Insert() {
  return std::make_unique<Writer>(this);
}

void StoredTable::SetRead(uint64_t columns) {
  if (is_finished_)
    return;
  is_read_ = true;
  if (has_key_)
    columns_[0].is_read = true;
  for (size_t i = 0; i < columns_.size() + repeated_.size(); ++i) {
    const size_t place = PlaceOf(static_cast<int>(i));
    if (place != kNull && (columns >> std::min<size_t>(i, 63) & 1) != 0)
      columns_[place].is_read = true;
  }
}

StoredTable::Column* StoredTable::FindRead(std::string_view column) {
  for (Column& one : columns_) {
    if (one.is_read && one.name == column)
      return &one;
  }
  return nullptr;
}

void StoredTable::Finish() {
  is_finished_ = true;
  for (Column& column : columns_) {
    if (column.is_read)
      column.numbers.Finish();
  }
  if (!has_key_ || !is_read_)
    return;
  std::vector<int64_t> keys(num_rows_);
  for (uint32_t row = 0; row < num_rows_; ++row)
    keys[row] = columns_[0].numbers.Get(row).value_or(0);
  if (std::is_sorted(keys.begin(), keys.end()))
    return;
  order_.resize(num_rows_);
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(),
            [&keys](uint32_t a, uint32_t b) { return keys[a] < keys[b]; });
}

bool StoredTable::HasKey(int64_t key) const {
  uint32_t begin = 0;
  for (uint32_t end = num_rows_; begin != end;) {
    const uint32_t middle = begin + (end - begin) / 2;
    const int64_t found = *columns_[0].numbers.Get(RowAt(middle));
    if (found == key)
      return true;
    if (found < key)
      begin = middle + 1;
    else
      end = middle;
  }
  return false;
}

void StoredTable::RemoveReferences(std::string_view column) {
  Column* const read = FindRead(column);
  if (read == nullptr)
    return;
  StoredNumbers changed;
  for (uint32_t row = 0; row < num_rows_; ++row) {
    const auto number = read->numbers.Get(row);
    changed.Add(number && HasKey(*number) ? number : std::nullopt);
  }
  changed.Finish();
  read->numbers = std::move(changed);
}

void StoredTable::SortBy(const Column& column,
                         bool is_descending,
                         std::vector<uint32_t>* rows) const {
  const std::vector<uint32_t> texts = column.type == Column::Type::kText
                                          ? texts_->Ranks()
                                          : std::vector<uint32_t>();
  const auto is_null = [&column](uint32_t row) {
    return !column.numbers.Get(row);
  };
  std::vector<uint64_t> ranks(num_rows_);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (uint32_t row = 0; row < num_rows_; ++row) {
    const uint64_t number =
        static_cast<uint64_t>(column.numbers.Get(row).value_or(0));
    const uint64_t rank = !texts.empty() ? texts[static_cast<size_t>(number)]
                                         : number ^ (uint64_t{1} << 63);
    ranks[row] = is_descending ? ~rank : rank;
    least = std::min(least, ranks[row]);
    most = std::max(most, ranks[row]);
  }
  for (uint64_t& rank : ranks)
    rank -= least;
  for (uint32_t shift = 0; shift < 64 && (most - least) >> shift != 0;
       shift += 16) {
    SortByBits(ranks, shift, rows);
  }
  // Null is not 0, but less than all numbers.
  if (is_descending)
    std::stable_partition(rows->begin(), rows->end(), std::not_fn(is_null));
  else
    std::stable_partition(rows->begin(), rows->end(), is_null);
}

const std::vector<uint32_t>& StoredTable::RowsBy(const Order& order) {
  std::vector<uint32_t>& rows = more_orders_[order];
  if (!rows.empty())
    return rows;
  for (uint32_t place = 0; place < num_rows_; ++place)
    rows.push_back(RowAt(place));
  for (auto it = order.rbegin(); it != order.rend(); ++it)
    SortBy(columns_[static_cast<size_t>(std::abs(*it) - 1)], *it < 0, &rows);
  return rows;
}

void StoredRows::GoToAll(const uint32_t* order) {
  way_ = Way::kAll;
  order_ = order;
  place_ = UINT32_MAX;  // In front of the first one.
  Next();
}

void StoredRows::GoTo(size_t column, int64_t number) {
  column_ = &table_->columns()[column];
  number_ = number;
  // One lookup alone takes less time than the table.
  if (++column_->num_lookups == 1) {
    way_ = Way::kScan;
    order_ = nullptr;
    place_ = UINT32_MAX;
    return Next();
  }
  way_ = Way::kHash;
  if (column_->first_rows.empty())
    MakeIndex();
  row_ = column_->first_rows[protozero::internal::HashOfId(
                                 static_cast<uint64_t>(number)) &
                             (column_->first_rows.size() - 1)];
  if (!is_at_end() && !IsFound())
    Next();
}

void StoredRows::Next() {
  if (way_ == Way::kHash) {
    do
      row_ = column_->next_rows[row_];
    while (!is_at_end() && !IsFound());
    return;
  }
  do {
    ++place_;
    if (place_ >= table_->num_rows())
      row_ = kNone;
    else
      row_ = order_ != nullptr ? order_[place_] : table_->RowAt(place_);
  } while (way_ == Way::kScan && !is_at_end() && !IsFound());
}

bool StoredRows::IsFound() const {
  return column_->numbers.Get(row_) == number_;
}

void StoredRows::MakeIndex() {
  size_t num_hashes = 1;
  while (num_hashes < table_->num_rows())
    num_hashes *= 2;
  column_->first_rows.assign(num_hashes, kNone);
  column_->next_rows.resize(table_->num_rows());
  for (uint32_t place = table_->num_rows(); place-- != 0;) {
    const uint32_t row = table_->RowAt(place);
    const auto number = column_->numbers.Get(row);
    if (!number)
      continue;
    uint32_t& first = column_->first_rows[protozero::internal::HashOfId(
                                              static_cast<uint64_t>(*number)) &
                                          (num_hashes - 1)];
    column_->next_rows[row] = first;
    first = row;
  }
}

}  // namespace pztrace
