// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_
#define SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// A name that generated code declares for the whole program.
struct Symbol {
  const File* file = nullptr;
  std::string qualified;  // In C++, "::package::pbzero::Outer_Inner".
  std::string owner;      // Its element, in words: "message package.Outer".
  std::string element;    // "package.Outer.Inner", for diagnostics.
  int line = 1;
  enum Kind {
    kDeclared,
    // Made of the name of a message or an enum that is a symbol, too.
    kDerived,
    // Several declarations may share it.
    kNamespace,
  } kind = kDeclared;
};

// A table that finds two things of the schema with the same name in the output.
class SymbolTable {
 public:
  void Add(const Symbol& symbol);

  struct Clash {
    const Symbol* symbol;
    const Symbol* other;
  };

  // Returns the symbols of `file` that mean something else, too. If both
  // symbols are in the file, reports the later one.
  std::vector<Clash> FindClashes(const File& file) const;

  // Returns true if the name is a type, a function or a constant.
  bool IsDeclared(const std::string& qualified) const;

 private:
  std::deque<Symbol> symbols_;  // In the order of Add().
  std::map<const File*, std::vector<size_t>> by_file_;
  std::map<std::string, std::vector<size_t>> by_name_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_
