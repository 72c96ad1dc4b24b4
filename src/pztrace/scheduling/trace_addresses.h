// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SCHEDULING_TRACE_ADDRESSES_H_
#define SRC_PZTRACE_SCHEDULING_TRACE_ADDRESSES_H_

#include <stdint.h>

#include <string>
#include <unordered_map>
#include <utility>

#include "protozero/const_bytes.h"
#include "src/tracing/scheduling/stack_table.h"

namespace pztrace {

using protozero::internal::AddressesOfFiles;

// Collects the addresses of a trace's stacks that have no names yet. Nothing in
// the trace is trusted.
class TraceAddresses {
 public:
  // Reads packets, as records of a Trace.
  void Read(protozero::ConstBytes packets);
  // Returns the addresses, and forgets them.
  AddressesOfFiles Take();

 private:
  using File = std::pair<std::string, std::string>;
  // The strings and files that a sequence has interned.
  struct Sequence {
    std::unordered_map<uint64_t, std::string> paths;
    std::unordered_map<uint64_t, std::string> build_ids;
    std::unordered_map<uint64_t, File> mappings;
  };

  void ReadPacket(protozero::ConstBytes bytes);
  void ReadInterned(protozero::ConstBytes bytes, Sequence* sequence);
  void ReadSymbols(protozero::ConstBytes bytes);

  std::unordered_map<uint32_t, Sequence> sequences_;
  AddressesOfFiles addresses_;
  AddressesOfFiles named_;
  size_t num_addresses_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SCHEDULING_TRACE_ADDRESSES_H_
