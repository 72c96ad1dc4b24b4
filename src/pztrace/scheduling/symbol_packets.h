// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SCHEDULING_SYMBOL_PACKETS_H_
#define SRC_PZTRACE_SCHEDULING_SYMBOL_PACKETS_H_

#include <stdint.h>

#include <functional>
#include <string>

#include "src/tracing/scheduling/code_maps.h"
#include "src/tracing/scheduling/stack_table.h"

namespace pztrace {

using protozero::internal::AddressesOfFiles;

// The result of a search for names.
struct SymbolCounts {
  uint64_t found = 0;
  uint64_t not_found = 0;
};

// Finds the functions at addresses of files, and gives their packets to
// |write|, as records of a Trace. |root| is the folder that has the files, in
// place of "/"; it may be empty. |maps| has the files that its recorder does
// not find there. Without it, prints which files cannot be used. Stops, and
// returns what it has counted so far, when |write| returns false.
SymbolCounts WriteSymbolPackets(
    const AddressesOfFiles& addresses,
    const std::string& root,
    const protozero::internal::CodeMaps* maps,
    const std::function<bool(const std::string&)>& write);

}  // namespace pztrace

#endif  // SRC_PZTRACE_SCHEDULING_SYMBOL_PACKETS_H_
