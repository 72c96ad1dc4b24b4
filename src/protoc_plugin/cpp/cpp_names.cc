// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/cpp_names.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Returns the namespace of a message's enums.
std::string EnumScope(const Message& message) {
  return "perfetto_pbzero_enum_" + FlatName(message);
}

// Returns `name`, changed until it is not in `declared`: a name that the plugin
// makes up yields to names of the schema.
template <typename Names>
std::string Unlike(const Names& declared, std::string name) {
  while (declared.count(name) != 0)
    name += '_';
  return name;
}

// Returns the second name; empty if `name` needs none. A name that ends with an
// underscore has none, because two names could then have the same one.
template <typename Names>
std::string SecondNameOf(const std::string& name, const Names& declared) {
  if (!IsSystemMacro(name) || name.back() == '_')
    return std::string();
  return Unlike(declared, name + "_");
}

// Returns the names that the enums nested in `message` declare in their
// namespace.
std::set<std::string> EnumScopeNames(const Message& message) {
  std::set<std::string> names;
  for (const Enum& entry : message.enums) {
    names.insert(EscapeName(entry.name));
    for (const EnumValue& value : entry.values)
      names.insert(EscapeName(value.name));
  }
  return names;
}

}  // namespace

// Derives the names of one file: first the names that the schema declares, then
// the names that the plugin makes up, which yield to the former.
class CppNames::Deriver {
 public:
  Deriver(const File& file,
          const std::vector<std::string>& wrapper_namespaces,
          CppNames* names)
      : file_(file), names_(*names), own_(names->files_[&file]) {
    DeriveNamespaces(wrapper_namespaces);
    is_global_ = own_.namespaces.empty();
  }

  void Derive() {
    for (const Enum& entry : file_.enums) {
      DeclareEnum(entry);
      for (const EnumValue& value : entry.values)
        Declare(EscapeTypeName(value.name, is_global_));
    }
    for (const Message& message : file_.messages)
      DeclareMessage(message);
    // Two files of one package may extend the same message, so the file's whole
    // path is part of the name.
    DeclareExtensions(file_.extensions, PathIdentifier(file_.path));
    DeriveSecondNames();

    AddNamespaceSymbols();
    for (const Enum& entry : file_.enums)
      FinishEnum(entry);
    for (const Message& message : file_.messages)
      FinishMessage(message);
    FinishExtensions(file_.extensions);
  }

 private:
  void DeriveNamespaces(const std::vector<std::string>& wrapper_namespaces) {
    std::vector<std::string>& namespaces = own_.namespaces;
    const std::string& package = file_.package;
    size_t begin = 0;
    while (begin < package.size()) {
      const size_t end = std::min(package.find('.', begin), package.size());
      const std::string part = package.substr(begin, end - begin);
      // Only the outermost namespace meets the C library. `protozero` may be
      // reopened: FileBuilder refuses the cases in which that does harm.
      namespaces.push_back(
          EscapeTypeName(part, namespaces.empty() && part != "protozero"));
      begin = end + 1;
    }
    namespaces.insert(namespaces.end(), wrapper_namespaces.begin(),
                      wrapper_namespaces.end());
  }

  // The library's namespace is global, whichever name it has.
  std::string EscapeTypeName(const std::string& name, bool is_global) const {
    if (is_global && name == names_.runtime_namespace_)
      return name + "_";
    return EscapeName(name, is_global);
  }

  void Declare(const std::string& name) { own_.declared.emplace(name, ""); }

  void DeclareEnum(const Enum& entry) {
    CppEnum& names = names_.enums_[&entry];
    names.identifier = EscapeTypeName(FlatName(entry), is_global_);
    Declare(names.identifier);
  }

  void DeclareMessage(const Message& message) {
    const std::string name = FlatName(message);
    // Inside its class, the name of the class hides a member that it inherits.
    const std::string identifier = IsMessageMember(name) || name == "GetName"
                                       ? name + "_"
                                       : EscapeTypeName(name, is_global_);
    names_.classes_[&message].identifier = identifier;
    Declare(identifier);
    if (message.is_extension_wrapper)
      names_.classes_[&message.extensions[0]].identifier = identifier;
    else
      DeclareExtensions(message.extensions, name);
    for (const Enum& entry : message.enums) {
      DeclareEnum(entry);
      Declare(EnumScope(message));
    }
    for (const Message& nested : message.messages)
      DeclareMessage(nested);
  }

  void DeclareExtensions(const std::vector<ExtensionSet>& sets,
                         const std::string& scope) {
    for (const ExtensionSet& set : sets) {
      std::string base = FlatName(*set.base);
      std::string package = set.base->file->package;
      if (package != file_.package && !package.empty()) {
        std::replace(package.begin(), package.end(), '.', '_');
        base.insert(0, package + "_");
      }
      const std::string identifier = scope + "_extends_" + base;
      names_.classes_[&set].identifier = identifier;
      Declare(identifier);
    }
  }

  void DeriveSecondNames() {
    std::vector<std::string> second_names;
    for (auto& entry : own_.declared) {
      entry.second = SecondNameOf(entry.first, own_.declared);
      if (!entry.second.empty())
        second_names.push_back(entry.second);
    }
    for (const std::string& name : second_names)
      Declare(name);
  }

  void AddNamespaceSymbols() {
    std::string outer;
    for (const std::string& name : own_.namespaces) {
      outer += "::" + name;
      names_.symbols_.Add({&file_, outer, "namespace " + outer.substr(2),
                           file_.package, file_.package_line,
                           Symbol::kNamespace});
    }
    scope_ = outer + "::";
  }

  void AddSymbol(const std::string& identifier,
                 const std::string& what,
                 const Declaration& declaration,
                 Symbol::Kind kind = Symbol::kDeclared) {
    names_.symbols_.Add({&file_, scope_ + identifier,
                         what + " " + declaration.full_name,
                         declaration.full_name, declaration.line, kind});
    if (kind == Symbol::kDeclared) {
      AddDerived(names_.SecondName(file_, identifier),
                 "the second name of " + what, declaration);
    }
  }

  void AddDerived(const std::string& identifier,
                  const std::string& what,
                  const Declaration& declaration) {
    if (!identifier.empty())
      AddSymbol(identifier, what, declaration, Symbol::kDerived);
  }

  void FinishEnum(const Enum& entry) {
    CppEnum& names = names_.enums_.at(&entry);
    NameEnum(entry, &names);
    AddSymbol(names.identifier, "enum", entry);
    std::string scope;
    if (entry.outer != nullptr) {
      scope = names.scope + "::";
      AddSymbol(names.scope, "the namespace of enum", entry,
                Symbol::kNamespace);
      AddSymbol(scope + names.name_in_scope, "enum", entry);
    }
    for (size_t i = 0; i < entry.values.size(); ++i) {
      AddSymbol(scope + names.values[i].identifier, "enum value",
                entry.values[i]);
    }
    AddDerived(names.min_constant, "the smallest value of enum", entry);
    AddDerived(names.max_constant, "the largest value of enum", entry);
    AddDerived(names.table, "the array of values of enum", entry);
    for (const auto& [function, suffix, kind] : kEnumFunctionNames)
      AddDerived(names.functions.*function, kind, entry);
  }

  void NameEnum(const Enum& entry, CppEnum* names) const {
    names->schema = &entry;
    const bool is_nested = entry.outer != nullptr;
    std::set<std::string> siblings;
    if (is_nested) {
      siblings = EnumScopeNames(*entry.outer);
      names->scope = EnumScope(*entry.outer);
      names->name_in_scope = EscapeName(entry.name);
    }

    std::map<std::string, int32_t> enumerators;
    for (const EnumValue& value : entry.values) {
      CppEnumValue result;
      result.schema = &value;
      result.identifier = EscapeTypeName(value.name, is_global_ && !is_nested);
      result.second_name = is_nested
                               ? SecondNameOf(result.identifier, siblings)
                               : names_.SecondName(file_, result.identifier);
      enumerators[result.identifier] = value.number;
      names->by_number.push_back(names->values.size());
      names->values.push_back(std::move(result));
    }
    const std::vector<CppEnumValue>& values = names->values;
    const auto is_less = [&values](size_t a, size_t b) {
      return values[a].schema->number < values[b].schema->number;
    };
    std::vector<size_t>& by_number = names->by_number;
    std::stable_sort(by_number.begin(), by_number.end(), is_less);
    // Picks the first of the schema if several values have the same number.
    names->min_value = by_number.front();
    names->max_value = *std::lower_bound(by_number.begin(), by_number.end(),
                                         by_number.back(), is_less);

    const std::string flat_name = FlatName(entry);
    // Schemas do contain enumerators called E_MIN and E_MAX. One that has the
    // value which the constant would have replaces it.
    const auto limit = [&](const char* suffix, size_t value) {
      const std::string name = flat_name + suffix;
      const auto same = enumerators.find(name);
      if (!is_nested && same != enumerators.end() &&
          same->second == values[value].schema->number) {
        return std::string();
      }
      return Unlike(own_.declared, name);
    };
    names->min_constant = limit("_MIN", names->min_value);
    names->max_constant = limit("_MAX", names->max_value);
    names->table = Unlike(own_.declared, flat_name + "_Values");
    for (const auto& [function, suffix, kind] : kEnumFunctionNames)
      names->functions.*function = Unlike(own_.declared, flat_name + suffix);
  }

  void NameDecoder(ClassNames* names) const {
    names->decoder = Unlike(own_.declared, names->identifier + "_Decoder");
  }

  void FinishMessage(const Message& message) {
    // The class of a wrapper is its extension class.
    if (!message.is_extension_wrapper) {
      ClassNames& names = names_.classes_.at(&message);
      NameDecoder(&names);
      AddSymbol(names.identifier, "message", message);
      AddDerived(names.decoder, "the decoder of message", message);
    }
    FinishExtensions(message.extensions);
    for (const Enum& entry : message.enums)
      FinishEnum(entry);
    for (const Message& nested : message.messages)
      FinishMessage(nested);
  }

  void FinishExtensions(const std::vector<ExtensionSet>& sets) {
    for (const ExtensionSet& set : sets) {
      ClassNames& names = names_.classes_.at(&set);
      NameDecoder(&names);
      AddSymbol(names.identifier, "the class for extension", set.fields[0]);
      AddDerived(names.decoder, "the decoder for extension", set.fields[0]);
    }
  }

  const File& file_;
  CppNames& names_;
  FileNames& own_;
  bool is_global_ = false;
  std::string scope_;
};

CppNames::CppNames(const Schema& schema,
                   const std::vector<std::string>& wrapper_namespaces,
                   const std::string& runtime_namespace)
    : runtime_namespace_(runtime_namespace),
      runtime_("::" + runtime_namespace + "::") {
  for (const auto& file : schema.files)
    Deriver(*file, wrapper_namespaces, this).Derive();
}

std::string CppNames::Scope(const File& file) const {
  return Qualify(Namespaces(file)) + "::";
}

std::string CppNames::SecondName(const File& file,
                                 const std::string& identifier) const {
  const std::map<std::string, std::string>& declared =
      files_.at(&file).declared;
  const auto found = declared.find(identifier);
  return found != declared.end() ? found->second : std::string();
}

bool CppNames::IsVisibleIn(const File& file, const std::string& name) const {
  if (symbols_.IsDeclared("::" + name))
    return true;
  std::string scope;
  for (const std::string& part : Namespaces(file)) {
    scope += "::" + part;
    if (symbols_.IsDeclared(scope + "::" + name))
      return true;
  }
  return false;
}

}  // namespace protozero::plugin
