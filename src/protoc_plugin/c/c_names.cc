// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c/c_names.h"

#include <algorithm>

#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Returns whether `name` is a keyword of C, up to C23, but not of C++. All but
// two of these begin with an underscore and a capital.
bool IsKeywordOfC(const std::string& name) {
  return name == "restrict" || name == "typeof_unqual" ||
         (name.size() > 1 && name[0] == '_' && ToUpperCase(name[1]) == name[1]);
}

std::string Escape(const std::string& name) {
  return IsKeywordOfC(name) || IsNameOfC(name)
             ? name + "_"
             : EscapeName(name, /*is_global=*/true);
}

const char* Verb(const Field& field) {
  if (field.message_type != nullptr)
    return "begin_";
  return field.repetition == Repetition::kRepeatedNotPacked ? "add_" : "set_";
}

}  // namespace

class CNames::Deriver {
 public:
  Deriver(const File& file, CNames* names)
      : file_(file),
        names_(*names),
        declared_(names->declared_[&file]),
        package_(file.package.empty() ? "" : file.package + "_") {
    std::replace(package_.begin(), package_.end(), '.', '_');
  }

  void Derive() {
    DeclareEnums(file_.enums, package_);
    for (const Message& message : file_.messages)
      Declare(message);
    // Only now are the names known that made-up names have to yield to.
    for (const Message& message : file_.messages)
      DeriveFunctions(message);
    DeriveExtensions(file_.extensions, package_);
  }

 private:
  std::string Declare(const std::string& name,
                      const char* what,
                      const Declaration& declaration) {
    const std::string identifier = Escape(name);
    declared_.insert(identifier);
    AddSymbol(identifier, what, declaration);
    return identifier;
  }

  void DeclareEnums(const std::vector<Enum>& enums, const std::string& scope) {
    for (const Enum& entry : enums) {
      names_.enums_[&entry] = Declare(scope + entry.name, "enum", entry);
      for (const EnumValue& value : entry.values) {
        names_.values_[&value] =
            Declare(scope + value.name, "enum value", value);
      }
    }
  }

  void Declare(const Message& message) {
    const std::string name = package_ + FlatName(message);
    names_.messages_[&message].type = Declare(name, "message", message);
    DeclareEnums(message.enums, name + "_");
    for (const Message& nested : message.messages)
      Declare(nested);
  }

  // Returns a name that is made of others.
  std::string MakeUp(const std::string& name,
                     const char* what,
                     const Declaration& declaration) {
    std::string identifier = Escape(name);
    while (declared_.count(identifier) != 0)
      identifier += "_";
    AddSymbol(identifier, what, declaration);
    return identifier;
  }

  void DeriveFunctions(const Message& message) {
    const std::string scope = package_ + FlatName(message) + "_";
    CMessageNames& names = names_.messages_.at(&message);
    names.begin = MakeUp(scope + "begin", "the beginning of message", message);
    names.end = MakeUp(scope + "end", "the end of message", message);
    for (const Field& field : message.fields)
      DeriveField(field, scope);
    DeriveExtensions(message.extensions, scope);
    for (const Message& nested : message.messages)
      DeriveFunctions(nested);
  }

  void DeriveExtensions(const std::vector<ExtensionSet>& sets,
                        const std::string& scope) {
    for (const ExtensionSet& set : sets) {
      for (const Field& field : set.fields)
        DeriveField(field, scope);
    }
  }

  void DeriveField(const Field& field, const std::string& scope) {
    CFieldNames& names = names_.fields_[&field];
    names.number =
        MakeUp(scope + field.name + "_number", "the number of field", field);
    const std::string setter = scope + Verb(field) + field.name;
    names.setter = MakeUp(setter, "the setter of field", field);
    if (field.type == FieldType::kString) {
      names.sized =
          MakeUp(setter + "_n", "the setter with a size of field", field);
    }
  }

  void AddSymbol(const std::string& identifier,
                 const char* what,
                 const Declaration& declaration) {
    names_.symbols_.Add(
        {&file_, identifier, std::string(what) + " " + declaration.full_name,
         declaration.full_name, declaration.line, Symbol::kDeclared});
    if (identifier.rfind("pbz_", 0) == 0 || identifier.rfind("PBZ_", 0) == 0) {
      std::vector<Diagnostic>& diagnostics = names_.of_runtime_[&file_];
      // A wrong package is reported once.
      if (diagnostics.empty() || package_.empty()) {
        diagnostics.push_back(
            {file_.path, declaration.line, declaration.full_name,
             "its C name " + identifier +
                 " begins like those of the runtime; rename the " +
                 (package_.empty() ? "element" : "package")});
      }
    }
  }

  const File& file_;
  CNames& names_;
  std::set<std::string>& declared_;
  std::string package_;
};

CNames::CNames(const Schema& schema) {
  for (const auto& file : schema.files)
    Deriver(*file, this).Derive();
}

std::string CNames::ParameterSuffix() const {
  std::string suffix;
  for (;;) {
    bool is_taken = false;
    for (const char* name : {"child", "count", "data", "item", "message",
                             "size", "string", "value", "values", "writer"}) {
      // Names of imported files count, too.
      is_taken = is_taken || symbols_.IsDeclared(name + suffix);
    }
    if (!is_taken)
      return suffix;
    suffix += "_";
  }
}

void CNames::Check(const File& file,
                   std::vector<Diagnostic>* diagnostics) const {
  for (const auto& [symbol, other] : symbols_.FindClashes(file)) {
    std::string owner = other->owner;
    if (other->file != &file)
      owner += " of " + other->file->path;
    diagnostics->push_back({file.path, symbol->line, symbol->element,
                            "its C name " + symbol->qualified +
                                " is also that of " + owner +
                                "; rename one of them"});
  }
  const auto found = of_runtime_.find(&file);
  if (found != of_runtime_.end()) {
    diagnostics->insert(diagnostics->end(), found->second.begin(),
                        found->second.end());
  }
}

}  // namespace protozero::plugin
