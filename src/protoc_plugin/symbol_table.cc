// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/symbol_table.h"

namespace protozero::plugin {

void SymbolTable::Add(const Symbol& symbol) {
  by_file_[symbol.file].push_back(symbols_.size());
  by_name_[symbol.qualified].push_back(symbols_.size());
  symbols_.push_back(symbol);
}

std::vector<SymbolTable::Clash> SymbolTable::FindClashes(
    const File& file) const {
  std::vector<Clash> clashes;
  const auto found = by_file_.find(&file);
  if (found == by_file_.end())
    return clashes;
  for (const size_t index : found->second) {
    const Symbol& symbol = symbols_[index];
    for (const size_t other_index : by_name_.at(symbol.qualified)) {
      const Symbol& other = symbols_[other_index];
      // Two derived names clash only because their bases do.
      if (other.kind == symbol.kind && symbol.kind != Symbol::kDeclared)
        continue;
      if (other.file == &file && other_index >= index)
        continue;
      clashes.push_back({&symbol, &other});
      break;
    }
  }
  return clashes;
}

bool SymbolTable::IsDeclared(const std::string& qualified) const {
  const auto found = by_name_.find(qualified);
  return found != by_name_.end() &&
         symbols_[found->second[0]].kind != Symbol::kNamespace;
}

}  // namespace protozero::plugin
