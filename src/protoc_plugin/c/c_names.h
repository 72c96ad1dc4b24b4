// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_C_C_NAMES_H_
#define SRC_PROTOC_PLUGIN_C_C_NAMES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/protoc_plugin/language.h"
#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/symbol_table.h"

namespace protozero::plugin {

// The names of the type and the functions of one message.
struct CMessageNames {
  std::string type;   // package_Outer_Inner
  std::string begin;  // package_Outer_Inner_begin
  std::string end;
};

// The names for one field.
struct CFieldNames {
  std::string number;  // package_Msg_name_number
  std::string setter;  // package_Msg_set_name, ..._add_name, ..._begin_name
  std::string sized;   // For a string: the setter that takes a size.
};

// The C names of everything in a schema. C has one scope, so each is preceded
// by the package and the messages around it, with underscores between them.
//
//   package a.b; message M { message I { int32 x = 1; } }    a_b_M_I_set_x()
//
// A name that is a keyword of C or C++, a macro of some system's headers, or
// declared by a header of the C library gets an underscore at its end. A
// made-up name gets one, too, if the schema has the same name.
class CNames {
 public:
  explicit CNames(const Schema& schema);

  const CMessageNames& Of(const Message& message) const {
    return messages_.at(&message);
  }
  const std::string& Of(const Enum& entry) const { return enums_.at(&entry); }
  const std::string& Of(const EnumValue& value) const {
    return values_.at(&value);
  }
  const CFieldNames& Of(const Field& field) const { return fields_.at(&field); }

  // Returns the suffix for the name of every parameter. With it, no parameter
  // hides a type of a schema without a package.
  std::string ParameterSuffix() const;

  // Appends a diagnostic for each wrong name of `file`.
  void Check(const File& file, std::vector<Diagnostic>* diagnostics) const;

 private:
  class Deriver;

  std::map<const Message*, CMessageNames> messages_;
  std::map<const Enum*, std::string> enums_;
  std::map<const EnumValue*, std::string> values_;
  std::map<const Field*, CFieldNames> fields_;
  // The types and enum values of each file.
  std::map<const File*, std::set<std::string>> declared_;
  std::map<const File*, std::vector<Diagnostic>> of_runtime_;
  SymbolTable symbols_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_C_C_NAMES_H_
