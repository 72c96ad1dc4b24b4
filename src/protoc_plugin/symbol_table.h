// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_
#define SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_

#include <map>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "src/protoc_plugin/cpp_names.h"

namespace protozero::plugin {

// A name that generated code declares at namespace level.
struct Symbol {
  std::string qualified;  // "::package::pbzero::Outer_Inner"
  std::string owner;      // What it stands for: "message package.Outer.Inner".
  std::string element;    // "package.Outer.Inner", for diagnostics.
  int line = 1;
  bool is_namespace = false;
  // Made of the name of a message or an enum that is a symbol, too.
  bool is_derived = false;
};

// All names at namespace level that the headers of a set of files declare, in
// order to find two things of the schema that have become one in C++.
class SymbolTable {
 public:
  // `files` and everything that they import.
  SymbolTable(
      const CppNames& names,
      const std::vector<const google::protobuf::FileDescriptor*>& files);

  struct Clash {
    const Symbol* symbol;
    const Symbol* other;
    std::string other_path;
  };

  // Symbols of `file` that mean something else too. Of two symbols of the file
  // itself the second one is reported.
  std::vector<Clash> FindClashes(
      const google::protobuf::FileDescriptor& file) const;

  // True if `name` is a type, a function or a constant in the innermost
  // namespace of `file` or in one around it.
  bool IsVisibleIn(const google::protobuf::FileDescriptor& file,
                   const std::string& name) const;

 private:
  struct Entry {
    const google::protobuf::FileDescriptor* file;
    const Symbol* symbol;
  };

  void AddWithImports(const google::protobuf::FileDescriptor& file);
  bool IsDeclared(const std::string& qualified) const;

  const CppNames& names_;
  std::map<const google::protobuf::FileDescriptor*, std::vector<Symbol>>
      symbols_;
  std::map<std::string, std::vector<Entry>> by_name_;
};

// Line of a declaration, 1-based; 1 if it has no place of its own.
template <typename AnyDescriptor>
int LineOf(const AnyDescriptor& descriptor) {
  google::protobuf::SourceLocation location;
  return descriptor.GetSourceLocation(&location) ? location.start_line + 1 : 1;
}

int LineOfPackage(const google::protobuf::FileDescriptor& file);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_SYMBOL_TABLE_H_
