// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACE_READER_INTERNED_DATA_H_
#define SRC_TRACING_TRACE_READER_INTERNED_DATA_H_

#include <stdint.h>

#include <string>
#include <utility>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/tracing/trace_reader/id_map.h"
#include "src/tracing/trace_reader/text_table.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The texts that a sequence has interned, by their numbers. If a number has
// several texts, the first one counts.
class InternedTexts {
 public:
  explicit InternedTexts(TextTable* texts) : texts_(texts) {}

  // Reads an InternedData. Keeps the lists that stacks refer to if the reader
  // wants them, and all others besides those of categories and names if it
  // wants details.
  void Add(ConstBytes interned_data, bool with_details, bool with_stacks);
  void Clear();

  // Returns the text of an event that has at most one number of a category and
  // one of a name: 0 is none.
  TextId TextOf(uint64_t category_iid, uint64_t name_iid);

  // Return a text. If the number is not known, "unknown(5)" as category and no
  // name.
  StringId CategoryOf(uint64_t iid) const;
  StringId NameOf(uint64_t iid) const;

  // Returns the entry of |list|, a field of InternedData. It is valid until the
  // next Add(), and has no data if it is not known.
  ConstBytes FindEntry(uint32_t list, uint64_t iid) const;

 private:
  struct List {
    uint32_t field_id;
    IdMap indexes;  // Indexes of entries_, by iid.
  };

  void AddEntry(uint32_t field_id, ConstBytes entry);

  TextTable* const texts_;
  IdMap categories_;
  IdMap names_;
  IdMap text_ids_;  // The key is both numbers, if they are small.
  std::vector<List> lists_;
  // Not a std::deque, which allocates even if it is empty: sequences are many.
  std::vector<std::string> entries_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_INTERNED_DATA_H_
