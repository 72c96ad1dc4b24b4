// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/symbol_table.h"

#include <utility>

#include <google/protobuf/descriptor.pb.h>

#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

namespace {

// Lists the symbols of one file.
class Collector {
 public:
  Collector(const CppNames& names, const FileDescriptor& file)
      : names_(names), file_(file), namespaces_(names.Namespaces(file)) {
    std::string outer;
    for (const std::string& name : namespaces_) {
      outer += "::" + name;
      Symbol symbol;
      symbol.qualified = outer;
      symbol.element = std::string(file.package());
      symbol.owner = "namespace " + outer.substr(2);
      symbol.line = LineOfPackage(file);
      symbol.is_namespace = true;
      symbols_.push_back(symbol);
    }
    for (int i = 0; i < file.enum_type_count(); ++i)
      AddEnum(*file.enum_type(i));
    for (int i = 0; i < file.message_type_count(); ++i)
      AddMessage(*file.message_type(i));
    AddExtensions(names.FileExtensions(file));
  }

  std::vector<Symbol> TakeSymbols() { return std::move(symbols_); }

 private:
  template <typename AnyDescriptor>
  void Add(const std::string& identifier,
           const std::string& kind,
           const AnyDescriptor& descriptor,
           bool is_derived = false) {
    Symbol symbol;
    symbol.is_derived = is_derived;
    symbol.qualified = Qualify(namespaces_) + "::" + identifier;
    symbol.element = std::string(descriptor.full_name());
    symbol.owner = kind + " " + symbol.element;
    symbol.line = LineOf(descriptor);
    symbols_.push_back(symbol);
    const std::string second = names_.SecondName(file_, identifier);
    if (!is_derived && !second.empty())
      Add(second, "the second name of " + kind, descriptor, true);
  }

  void AddEnum(const EnumDescriptor& descriptor) {
    const Enum names = names_.MakeEnum(descriptor);
    Add(names.identifier, "enum", descriptor);
    std::string scope;
    if (!names.scope.empty()) {
      scope = names.scope + "::";
      Symbol symbol;
      symbol.qualified = Qualify(namespaces_) + "::" + names.scope;
      symbol.element = std::string(descriptor.full_name());
      symbol.owner = "the namespace of enum " + symbol.element;
      symbol.line = LineOf(descriptor);
      symbol.is_namespace = true;
      symbols_.push_back(symbol);
      Add(scope + names.name_in_scope, "enum", descriptor);
    }
    for (int i = 0; i < descriptor.value_count(); ++i) {
      Add(scope + names.values[static_cast<size_t>(i)].identifier, "enum value",
          *descriptor.value(i));
    }
    const auto add_derived = [&](const std::string& name, const char* kind) {
      if (!name.empty())
        Add(name, kind, descriptor, /*is_derived=*/true);
    };
    add_derived(names.min_constant, "the smallest value of enum");
    add_derived(names.max_constant, "the largest value of enum");
    add_derived(names.table, "the array of values of enum");
    add_derived(names.functions.name, "the name function of enum");
    add_derived(names.functions.parse, "the parse function of enum");
    add_derived(names.functions.is_valid, "the validity function of enum");
  }

  void AddMessage(const Descriptor& message) {
    const std::vector<ExtensionScope> extensions =
        names_.MessageExtensions(message);
    // The class of a wrapper is its extension class.
    if (!CppNames::IsExtensionWrapper(message)) {
      const std::string identifier = names_.MessageIdentifier(message);
      Add(identifier, "message", message);
      Add(names_.DecoderIdentifier(*message.file(), identifier),
          "the decoder of message", message, /*is_derived=*/true);
    }
    AddExtensions(extensions);
    for (int i = 0; i < message.enum_type_count(); ++i)
      AddEnum(*message.enum_type(i));
    for (int i = 0; i < message.nested_type_count(); ++i)
      AddMessage(*message.nested_type(i));
  }

  void AddExtensions(const std::vector<ExtensionScope>& extensions) {
    for (const ExtensionScope& entry : extensions) {
      const FieldDescriptor& field = *entry.fields[0];
      Add(entry.identifier, "the class for extension", field);
      Add(names_.DecoderIdentifier(*field.file(), entry.identifier),
          "the decoder for extension", field, /*is_derived=*/true);
    }
  }

  const CppNames& names_;
  const FileDescriptor& file_;
  const std::vector<std::string> namespaces_;
  std::vector<Symbol> symbols_;
};

}  // namespace

int LineOfPackage(const FileDescriptor& file) {
  google::protobuf::SourceLocation location;
  const std::vector<int> path = {
      google::protobuf::FileDescriptorProto::kPackageFieldNumber};
  return file.GetSourceLocation(path, &location) ? location.start_line + 1 : 1;
}

SymbolTable::SymbolTable(const CppNames& names,
                         const std::vector<const FileDescriptor*>& files)
    : names_(names) {
  for (const FileDescriptor* file : files)
    AddWithImports(*file);
}

void SymbolTable::AddWithImports(const FileDescriptor& file) {
  const auto inserted = symbols_.emplace(&file, std::vector<Symbol>());
  if (!inserted.second)
    return;
  std::vector<Symbol>& symbols = inserted.first->second;
  symbols = Collector(names_, file).TakeSymbols();
  for (const Symbol& symbol : symbols)
    by_name_[symbol.qualified].push_back({&file, &symbol});
  // Includes public and weak imports.
  for (int i = 0; i < file.dependency_count(); ++i) {
    if (file.dependency(i) != nullptr)
      AddWithImports(*file.dependency(i));
  }
}

std::vector<SymbolTable::Clash> SymbolTable::FindClashes(
    const FileDescriptor& file) const {
  std::vector<Clash> clashes;
  const auto found = symbols_.find(&file);
  if (found == symbols_.end())
    return clashes;
  for (const Symbol& symbol : found->second) {
    for (const Entry& entry : by_name_.at(symbol.qualified)) {
      if (entry.symbol == &symbol) {
        // Symbols of one file are in order, so the rest of them come later.
        continue;
      }
      if (entry.symbol->is_namespace && symbol.is_namespace)
        continue;
      // Their names clash because those that they are made of do.
      if (entry.symbol->is_derived && symbol.is_derived)
        continue;
      if (entry.file == &file && entry.symbol > &symbol)
        continue;
      clashes.push_back(
          {&symbol, entry.symbol, std::string(entry.file->name())});
      break;
    }
  }
  return clashes;
}

bool SymbolTable::IsVisibleIn(const FileDescriptor& file,
                              const std::string& name) const {
  std::string scope;
  if (IsDeclared("::" + name))
    return true;
  for (const std::string& part : names_.Namespaces(file)) {
    scope += "::" + part;
    if (IsDeclared(scope + "::" + name))
      return true;
  }
  return false;
}

bool SymbolTable::IsDeclared(const std::string& qualified) const {
  const auto found = by_name_.find(qualified);
  return found != by_name_.end() && !found->second[0].symbol->is_namespace;
}

}  // namespace protozero::plugin
