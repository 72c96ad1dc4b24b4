// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/file_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/cpp/class_builder.h"

namespace protozero::plugin {

namespace {

class FileBuilder {
 public:
  FileBuilder(const CppNames& names,
              const File& schema,
              CppFile* file,
              std::vector<Diagnostic>* diagnostics)
      : names_(names),
        schema_(schema),
        file_(*file),
        diagnostics_(*diagnostics) {}

  void Build() {
    file_.proto_path = schema_.path;
    file_.descriptor_set = schema_.descriptor_set;
    file_.header_path = HeaderPath(schema_.path);
    file_.namespaces = names_.Namespaces(schema_);
    file_.runtime = names_.runtime();
    if (names_.runtime_namespace() != "protozero")
      file_.runtime_alias = names_.runtime_namespace();
    file_.guard = IncludeGuard(file_.header_path, file_.namespaces);
    CheckNamespace();
    CheckClashes();

    for (const File* import : schema_.public_imports)
      Include(*import);
    for (const Enum& entry : schema_.enums)
      AddEnum(entry);
    for (const Message& message : schema_.messages)
      AddMessage(message);
    AddExtensions(schema_.extensions);

    file_.includes.assign(includes_.begin(), includes_.end());
    AddForwardDeclarations();
    ChooseParameterNames();
  }

 private:
  void Error(int line, const std::string& element, const std::string& reason) {
    diagnostics_.push_back({schema_.path, line, element, reason});
  }

  void CheckNamespace() {
    const std::vector<std::string>& namespaces = file_.namespaces;
    if (namespaces.empty())
      return;
    if (namespaces[0] == "protozero") {
      if (namespaces.size() == 1 ||
          (namespaces.size() == 2 &&
           (namespaces[1] == "internal" || namespaces[1] == "proto_utils"))) {
        Error(schema_.package_line, schema_.package,
              "the generated code would be in a namespace of the runtime, " +
                  Qualify(namespaces).substr(2) +
                  "; set the option wrapper_namespace or rename the package");
      }
    } else if (namespaces[0] == names_.runtime_namespace()) {
      Error(1, std::string(),
            "the namespace " + namespaces[0] +
                " is the library's; set another wrapper_namespace or "
                "runtime_namespace");
    } else if (IsGlobalName(namespaces[0])) {
      // The package cannot be the cause: its words are escaped.
      Error(1, std::string(),
            "the namespace " + namespaces[0] +
                " is taken by the C or C++ library; set another "
                "wrapper_namespace or add a package");
    }
  }

  void CheckClashes() {
    for (const auto& [symbol, other] : names_.symbols().FindClashes(schema_)) {
      std::string owner = other->owner;
      if (other->file != &schema_)
        owner += " of " + other->file->path;
      Error(symbol->line, symbol->element,
            "its C++ name " + symbol->qualified.substr(2) +
                " is also that of " + owner + "; rename one of them");
    }
  }

  void Include(const File& file) {
    includes_.insert(HeaderPath(file.path));
    AddVisibleFile(file);
  }

  // Adds a file, and its public imports: a header makes visible the names that
  // it defines, and those of the headers that it includes.
  void AddVisibleFile(const File& file) {
    if (!visible_files_.insert(&file).second)
      return;
    for (const File* import : file.public_imports)
      AddVisibleFile(*import);
  }

  void AddEnum(const Enum& entry) {
    file_.enums.push_back(&names_.Of(entry));
    AddSecondName(file_.enums.back()->identifier);
  }

  // Adds the second name of a type in the namespace of the file.
  void AddSecondName(const std::string& identifier) {
    const std::string second = names_.SecondName(schema_, identifier);
    if (!second.empty())
      file_.second_names.push_back({second, identifier});
  }

  void AddMessage(const Message& message) {
    if (!message.is_extension_wrapper) {
      Reference(message.fields);
      file_.messages.push_back(BuildMessage(names_, message, &diagnostics_));
      AddSecondName(file_.messages.back().identifier);
    }
    AddExtensions(message.extensions);
    for (const Enum& entry : message.enums)
      AddEnum(entry);
    for (const Message& nested : message.messages)
      AddMessage(nested);
  }

  void AddExtensions(const std::vector<ExtensionSet>& sets) {
    for (const ExtensionSet& schema : sets) {
      CppExtensionSet set =
          BuildExtensionSet(names_, schema_, schema, &diagnostics_);
      const File& base_file = *schema.base->file;
      if (base_file.path == "google/protobuf/descriptor.proto") {
        // A file that declares an option seldom writes descriptors, so it must
        // not need the header of descriptor.proto.
        set.required_header = HeaderPath(base_file.path);
      } else {
        if (&base_file != &schema_)
          Include(base_file);
        AddSecondName(set.identifier);
      }
      AddInheritedNames(*schema.base);
      Reference(schema.fields);
      file_.extension_sets.push_back(std::move(set));
    }
  }

  // Notes the types of `fields` that other files declare.
  void Reference(const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      ForwardDeclaration declaration;
      if (field.message_type != nullptr) {
        declaration.identifier = names_.Of(*field.message_type).identifier;
        Reference(*field.message_type->file, declaration);
      } else if (field.enum_type != nullptr) {
        const CppEnum& names = names_.Of(*field.enum_type);
        declaration = {names.identifier, /*is_enum=*/true, names.scope,
                       names.name_in_scope};
        Reference(*field.enum_type->file, declaration);
      }
    }
  }

  void Reference(const File& file, const ForwardDeclaration& declaration) {
    if (&file == &schema_)
      return;
    references_[names_.Namespaces(file)].emplace(
        declaration.identifier, std::make_pair(&file, declaration));
  }

  void AddForwardDeclarations() {
    for (const auto& by_namespace : references_) {
      ForwardDeclarations group;
      group.namespaces = by_namespace.first;
      for (const auto& entry : by_namespace.second) {
        if (visible_files_.count(entry.second.first) == 0)
          group.types.push_back(entry.second.second);
      }
      if (!group.types.empty())
        file_.forward_declarations.push_back(group);
    }
  }

  // Adds the names that an extension class inherits from a base class in
  // another file, if a parameter could hide them.
  void AddInheritedNames(const Message& base) {
    for (const Message& nested : base.messages)
      inherited_names_.insert(nested.name);
    for (const Enum& nested : base.enums) {
      inherited_names_.insert(nested.name);
      for (const EnumValue& value : nested.values)
        inherited_names_.insert(value.name);
    }
  }

  // Chooses names of parameters that hide no enumerator. Otherwise, every build
  // with -Wshadow would warn.
  void ChooseParameterNames() {
    std::set<std::string> taken = inherited_names_;
    for (const CppMessage& message : file_.messages) {
      for (const TypeAlias& alias : message.nested_messages)
        taken.insert(alias.identifier);
      for (const NestedEnum& nested : message.nested_enums) {
        taken.insert(nested.alias.identifier);
        for (const ConstantAlias& constant : nested.constants)
          taken.insert(constant.identifier);
      }
    }
    for (const CppEnum* entry : file_.enums) {
      for (const CppEnumValue& value : entry->values)
        taken.insert(value.identifier);
    }
    const auto collides = [&](const std::string& suffix) {
      for (const char* parameter :
           {"bytes", "data", "entry", "item", "key", "name", "parse_error_ptr",
            "raw", "size", "value"}) {
        const std::string name = parameter + suffix;
        if (taken.count(name) != 0 || names_.IsVisibleIn(schema_, name))
          return true;
      }
      return false;
    };
    while (collides(file_.parameter_suffix))
      file_.parameter_suffix += "_arg";
  }

  const CppNames& names_;
  const File& schema_;
  CppFile& file_;
  std::vector<Diagnostic>& diagnostics_;

  std::set<std::string> includes_;
  std::set<std::string> inherited_names_;
  std::set<const File*> visible_files_;
  // Both levels are ordered by name, so that the output is, too.
  std::map<std::vector<std::string>,
           std::map<std::string, std::pair<const File*, ForwardDeclaration>>>
      references_;
};

}  // namespace

CppFile BuildCppFile(const CppNames& names,
                     const File& file,
                     std::vector<Diagnostic>* diagnostics) {
  CppFile result;
  std::vector<Diagnostic> found;
  FileBuilder(names, file, &result, &found).Build();
  std::stable_sort(
      found.begin(), found.end(),
      [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  diagnostics->insert(diagnostics->end(), found.begin(), found.end());
  return result;
}

}  // namespace protozero::plugin
