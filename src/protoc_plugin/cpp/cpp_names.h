// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CPP_NAMES_H_
#define SRC_PROTOC_PLUGIN_CPP_CPP_NAMES_H_

#include <map>
#include <string>
#include <vector>

#include "src/protoc_plugin/cpp/cpp_model.h"
#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/symbol_table.h"

namespace protozero::plugin {

// The names of a message, or of the extensions of one; without namespaces.
struct ClassNames {
  std::string identifier;  // `Outer_Inner`
  std::string decoder;     // The class that reads what that class writes.
};

// Names of generated namespaces, classes and enums: each is derived once, when
// this is made. They follow from the declaration alone. A header that
// forward-declares a type of another file must arrive at the name which that
// file's own header uses, though the two come from different runs of the
// plugin.
class CppNames {
 public:
  CppNames(const Schema& schema,
           const std::vector<std::string>& wrapper_namespaces,
           const std::string& runtime_namespace);

  // Return the namespace of the library in generated code, and "::<that>::".
  const std::string& runtime_namespace() const { return runtime_namespace_; }
  const std::string& runtime() const { return runtime_; }

  const std::vector<std::string>& Namespaces(const File& file) const {
    return files_.at(&file).namespaces;
  }

  // The class of an extension wrapper, a message whose only purpose is to hold
  // extensions of one message, is its extension class: `class Wrapper : public
  // Base`. The extensions in any other message go into `Message_extends_Base`,
  // and extensions at file level go into `path_of_the_file_extends_Base`.
  //
  // If an extension has the name of a field of the extended message, its setter
  // hides that field's setter, as always in derived classes.
  const ClassNames& Of(const Message& message) const {
    return classes_.at(&message);
  }
  const ClassNames& Of(const ExtensionSet& set) const {
    return classes_.at(&set);
  }
  const CppEnum& Of(const Enum& entry) const { return enums_.at(&entry); }

  std::string Qualified(const Message& message) const {
    return Scope(*message.file) + Of(message).identifier;
  }
  std::string Qualified(const Enum& entry) const {
    return Scope(*entry.file) + Of(entry).identifier;
  }
  // Returns "::package::pbzero::".
  std::string Scope(const File& file) const;

  // Returns the second name of an identifier in `file`'s namespace: `ERROR_`,
  // for use where some header defines a macro `ERROR`. Empty if it needs none.
  std::string SecondName(const File& file, const std::string& identifier) const;

  // Returns all names at namespace level, with the names of imports. `A.B` and
  // `A_B` of one package make the same class; without imports, an error would
  // appear only in a translation unit that includes both headers.
  const SymbolTable& symbols() const { return symbols_; }

  // Returns true if `name` is a type, a function or a constant in the innermost
  // namespace of `file` or in one around it.
  bool IsVisibleIn(const File& file, const std::string& name) const;

 private:
  struct FileNames {
    std::vector<std::string> namespaces;
    // The names that the schema itself declares at namespace level. Each name
    // is the key of its second name, which is often empty.
    std::map<std::string, std::string> declared;
  };
  class Deriver;

  const std::string runtime_namespace_;
  const std::string runtime_;
  std::map<const File*, FileNames> files_;
  std::map<const void*, ClassNames> classes_;  // By Message or ExtensionSet.
  std::map<const Enum*, CppEnum> enums_;
  SymbolTable symbols_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CPP_NAMES_H_
