// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/name_check.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Returns `text` with question marks for characters that a terminal does not
// show.
std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : text)
    printable += static_cast<unsigned char>(c) < ' ' || c == '\x7f' ? '?' : c;
  return printable;
}

std::string WrongName(const char* kind, std::string_view name) {
  std::string reason = std::string("the ") + kind;
  if (name.empty())
    return reason + " has no name; name it";
  reason += " name '" + Printable(name) + "' ";
  reason += IsDigit(name[0])
                ? "begins with a digit"
                : "has other characters than letters, digits and '_'";
  return reason + ", which no identifier of C or C++ does; rename it";
}

class NameChecker {
 public:
  explicit NameChecker(std::vector<Diagnostic>* diagnostics)
      : diagnostics_(*diagnostics) {}

  void CheckFile(const File& file) {
    path_ = Printable(file.path);
    CheckPath(file.path);
    CheckPackage(file);
    CheckEnums(file.enums);
    for (const Message& message : file.messages)
      CheckMessage(message);
    CheckExtensions(file.extensions);
  }

 private:
  void Fail(int line, std::string_view element, const std::string& reason) {
    diagnostics_.push_back({path_, line, Printable(element), reason});
  }

  // Checks the path, which stands in #include "...".
  void CheckPath(std::string_view path) {
    const bool is_plain =
        std::none_of(path.begin(), path.end(), [](const char c) {
          return static_cast<unsigned char>(c) < ' ' || c == '\x7f' || c == '"';
        });
    if (path.empty() || !is_plain) {
      Fail(1, "",
           "the path of this file cannot stand in an #include: it is empty, or "
           "has a quote or a control character; rename the file");
    }
  }

  void CheckPackage(const File& file) {
    size_t begin = 0;
    while (!file.package.empty() && begin <= file.package.size()) {
      const size_t end =
          std::min(file.package.find('.', begin), file.package.size());
      const std::string part = file.package.substr(begin, end - begin);
      if (!IsIdentifier(part))
        Fail(file.package_line, file.package, WrongName("package", part));
      begin = end + 1;
    }
  }

  void CheckDeclaration(const char* kind, const Declaration& declaration) {
    if (!IsIdentifier(declaration.name)) {
      Fail(declaration.line, declaration.full_name,
           WrongName(kind, declaration.name));
    }
  }

  void CheckEnums(const std::vector<Enum>& enums) {
    for (const Enum& entry : enums) {
      CheckDeclaration("enum", entry);
      for (const EnumValue& value : entry.values)
        CheckDeclaration("enum value", value);
    }
  }

  void CheckExtensions(const std::vector<ExtensionSet>& sets) {
    for (const ExtensionSet& set : sets) {
      for (const Field& field : set.fields)
        CheckDeclaration("extension", field);
    }
  }

  void CheckMessage(const Message& message) {
    // The entry of a map is called after its field.
    if (message.is_map_entry)
      return;
    CheckDeclaration("message", message);
    CheckEnums(message.enums);
    for (const Field& field : message.fields)
      CheckDeclaration("field", field);
    for (const Oneof& oneof : message.oneofs)
      CheckDeclaration("oneof", oneof);
    CheckExtensions(message.extensions);
    for (const Message& nested : message.messages)
      CheckMessage(nested);
  }

  std::vector<Diagnostic>& diagnostics_;
  std::string path_;
};

}  // namespace

std::vector<Diagnostic> CheckNames(const Schema& schema) {
  std::vector<Diagnostic> diagnostics;
  NameChecker checker(&diagnostics);
  for (const auto& file : schema.files)
    checker.CheckFile(*file);
  return diagnostics;
}

}  // namespace protozero::plugin
