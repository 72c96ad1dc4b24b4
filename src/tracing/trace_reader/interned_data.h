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

// The texts that a sequence has interned, by their numbers. The first text of
// a number counts.
class InternedTexts {
 public:
  explicit InternedTexts(TextTable* texts) : texts_(texts) {}

  // Reads an InternedData. Lists other than those of categories and names are
  // kept if the reader wants details.
  void Add(ConstBytes interned_data, bool with_details);
  void Clear();

  // Returns the text of an event's categories and name, if all it has is one
  // number of either or both: 0 is none.
  TextId TextOf(uint64_t category_iid, uint64_t name_iid);

  // Return "unknown(5)", and no name, if the number is not known.
  StringId CategoryOf(uint64_t iid) const;
  StringId NameOf(uint64_t iid) const;

  // Returns the entry of that list, a field of InternedData, until the next
  // Add(). It has no data if it is not known.
  ConstBytes FindEntry(uint32_t list, uint64_t iid) const;

 private:
  struct List {
    uint32_t field_id;
    IdMap indexes;  // In entries_, by iid.
  };

  void AddEntry(uint32_t field_id, ConstBytes entry);

  TextTable* const texts_;
  IdMap categories_;
  IdMap names_;
  IdMap text_ids_;  // By both numbers, if they are small.
  std::vector<List> lists_;
  // No std::deque, which allocates where there is nothing: sequences are many.
  std::vector<std::string> entries_;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACE_READER_INTERNED_DATA_H_
