// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp_names.h"

#include <algorithm>
#include <map>

#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/reserved_words.h"

namespace protozero::plugin {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

namespace {

// Outer.Inner -> Outer_Inner
template <typename AnyDescriptor>
std::string FlatName(const AnyDescriptor& descriptor) {
  std::string name(descriptor.name());
  for (const Descriptor* outer = descriptor.containing_type(); outer != nullptr;
       outer = outer->containing_type()) {
    name = std::string(outer->name()) + "_" + name;
  }
  return name;
}

// The namespace of a message's enums.
std::string EnumScope(const Descriptor& message) {
  return "perfetto_pbzero_enum_" + FlatName(message);
}

// A name that the plugin makes up yields to those of the schema.
std::string Unlike(const std::set<std::string>& declared, std::string name) {
  while (declared.count(name) != 0)
    name += '_';
  return name;
}

// Empty if |name| needs none. One that ends with an underscore has none, or two
// names could have the same.
std::string SecondNameOf(const std::string& name,
                         const std::set<std::string>& declared) {
  if (!IsSystemMacro(name) || name.back() == '_')
    return std::string();
  return Unlike(declared, name + "_");
}

bool HasFieldOfType(const Descriptor& scope, const Descriptor& type) {
  for (int i = 0; i < scope.field_count(); ++i) {
    if (scope.field(i)->message_type() == &type)
      return true;
  }
  for (int i = 0; i < scope.extension_count(); ++i) {
    if (scope.extension(i)->message_type() == &type)
      return true;
  }
  for (int i = 0; i < scope.nested_type_count(); ++i) {
    if (HasFieldOfType(*scope.nested_type(i), type))
      return true;
  }
  return false;
}

bool HasFieldOfType(const FileDescriptor& file, const Descriptor& type) {
  for (int i = 0; i < file.extension_count(); ++i) {
    if (file.extension(i)->message_type() == &type)
      return true;
  }
  for (int i = 0; i < file.message_type_count(); ++i) {
    if (HasFieldOfType(*file.message_type(i), type))
      return true;
  }
  return false;
}

template <typename Scope>
std::vector<ExtensionScope> GroupByBase(const Scope& scope) {
  std::vector<ExtensionScope> result;
  for (int i = 0; i < scope.extension_count(); ++i) {
    const FieldDescriptor* field = scope.extension(i);
    auto it = std::find_if(result.begin(), result.end(),
                           [field](const ExtensionScope& entry) {
                             return entry.base == field->containing_type();
                           });
    if (it == result.end()) {
      ExtensionScope entry;
      entry.base = field->containing_type();
      it = result.insert(result.end(), entry);
    }
    it->fields.push_back(field);
  }
  return result;
}

}  // namespace

CppNames::CppNames(const Options& options) : options_(options) {}

std::vector<std::string> CppNames::Namespaces(
    const FileDescriptor& file) const {
  std::vector<std::string> namespaces;
  const std::string package(file.package());
  size_t begin = 0;
  while (begin < package.size()) {
    size_t end = package.find('.', begin);
    if (end == std::string::npos)
      end = package.size();
    const std::string part = package.substr(begin, end - begin);
    // Only the outermost namespace meets the C library. `protozero` may be
    // reopened: ModelBuilder refuses the cases in which that does harm.
    namespaces.push_back(
        EscapeTypeName(part, namespaces.empty() && part != "protozero"));
    begin = end + 1;
  }
  namespaces.insert(namespaces.end(), options_.wrapper_namespaces.begin(),
                    options_.wrapper_namespaces.end());
  return namespaces;
}

std::string CppNames::EscapeTypeName(const std::string& name,
                                     bool is_global) const {
  if (IsBareName(name))
    return name + "_";
  return is_global ? EscapeGlobalName(name) : EscapeName(name);
}

std::string CppNames::MessageIdentifier(const Descriptor& message) const {
  const std::string name = FlatName(message);
  // Inside its class, the name of the class hides a member that it inherits.
  if (IsMessageMember(name) || name == "GetName")
    return name + "_";
  return EscapeTypeName(name, Namespaces(*message.file()).empty());
}

Enum CppNames::MakeEnum(const EnumDescriptor& descriptor) const {
  const bool is_global = Namespaces(*descriptor.file()).empty();
  const bool is_nested = descriptor.containing_type() != nullptr;
  const std::string flat_name = FlatName(descriptor);

  Enum result;
  result.identifier = EnumIdentifier(descriptor);
  std::set<std::string> siblings;
  if (is_nested) {
    siblings = EnumScopeNames(*descriptor.containing_type());
    result.scope = EnumScope(*descriptor.containing_type());
    result.name_in_scope = EscapeTypeName(std::string(descriptor.name()),
                                          /*is_global=*/false);
  }

  std::map<std::string, int> enumerators;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    const EnumValueDescriptor& value = *descriptor.value(i);
    const size_t index = static_cast<size_t>(i);
    EnumValue entry;
    entry.name = std::string(value.name());
    entry.identifier = EscapeTypeName(entry.name, is_global && !is_nested);
    entry.second_name = is_nested
                            ? SecondNameOf(entry.identifier, siblings)
                            : SecondName(*descriptor.file(), entry.identifier);
    entry.number = value.number();
    enumerators[entry.identifier] = entry.number;
    result.values.push_back(entry);
    result.by_number.push_back(index);
    if (entry.number < result.values[result.min_value].number)
      result.min_value = index;
    if (entry.number > result.values[result.max_value].number)
      result.max_value = index;
  }
  std::stable_sort(result.by_number.begin(), result.by_number.end(),
                   [&result](size_t a, size_t b) {
                     return result.values[a].number < result.values[b].number;
                   });

  // Schemas do contain enumerators called E_MIN and E_MAX. One that has the
  // value which the constant would have replaces it.
  const std::set<std::string>& declared = DeclaredIn(*descriptor.file()).names;
  const auto pick = [&](const std::string& suffix, const int* number) {
    const std::string name = flat_name + suffix;
    if (number != nullptr && !is_nested) {
      const auto same = enumerators.find(name);
      if (same != enumerators.end() && same->second == *number)
        return std::string();
    }
    return Unlike(declared, name);
  };
  result.min_constant = pick("_MIN", &result.values[result.min_value].number);
  result.max_constant = pick("_MAX", &result.values[result.max_value].number);
  result.table = pick("_Values", nullptr);
  result.functions.name = pick("_Name", nullptr);
  result.functions.parse = pick("_Parse", nullptr);
  result.functions.is_valid = pick("_IsValid", nullptr);
  return result;
}

std::string CppNames::DecoderIdentifier(const FileDescriptor& file,
                                        const std::string& identifier) const {
  return Unlike(DeclaredIn(file).names, identifier + "_Decoder");
}

std::string CppNames::SecondName(const FileDescriptor& file,
                                 const std::string& identifier) const {
  const std::map<std::string, std::string>& second_names =
      DeclaredIn(file).second_names;
  const auto found = second_names.find(identifier);
  return found != second_names.end() ? found->second : std::string();
}

// What the enums that are nested in |message| declare in their namespace.
std::set<std::string> CppNames::EnumScopeNames(
    const Descriptor& message) const {
  std::set<std::string> names;
  const auto insert = [&](std::string_view name) {
    names.insert(EscapeTypeName(std::string(name), /*is_global=*/false));
  };
  for (int i = 0; i < message.enum_type_count(); ++i) {
    const EnumDescriptor& type = *message.enum_type(i);
    insert(type.name());
    for (int j = 0; j < type.value_count(); ++j)
      insert(type.value(j)->name());
  }
  return names;
}

const CppNames::Declared& CppNames::DeclaredIn(
    const FileDescriptor& file) const {
  const auto found = declared_.find(&file);
  if (found != declared_.end())
    return found->second;
  Declared& declared = declared_[&file];
  std::set<std::string>& names = declared.names;
  const bool is_global = Namespaces(file).empty();
  for (int i = 0; i < file.enum_type_count(); ++i) {
    const EnumDescriptor& type = *file.enum_type(i);
    names.insert(EnumIdentifier(type));
    for (int j = 0; j < type.value_count(); ++j) {
      names.insert(
          EscapeTypeName(std::string(type.value(j)->name()), is_global));
    }
  }
  for (int i = 0; i < file.message_type_count(); ++i)
    AddDeclaredNames(*file.message_type(i), &names);
  for (const ExtensionScope& entry : FileExtensions(file))
    names.insert(entry.identifier);
  for (const std::string& name : names) {
    const std::string second = SecondNameOf(name, names);
    if (!second.empty())
      declared.second_names.emplace(name, second);
  }
  for (const auto& entry : declared.second_names)
    names.insert(entry.second);
  return declared;
}

void CppNames::AddDeclaredNames(const Descriptor& message,
                                std::set<std::string>* names) const {
  names->insert(MessageIdentifier(message));
  for (const ExtensionScope& entry : MessageExtensions(message))
    names->insert(entry.identifier);
  for (int i = 0; i < message.enum_type_count(); ++i) {
    names->insert(EnumIdentifier(*message.enum_type(i)));
    names->insert(EnumScope(message));
  }
  for (int i = 0; i < message.nested_type_count(); ++i)
    AddDeclaredNames(*message.nested_type(i), names);
}

std::string CppNames::EnumIdentifier(const EnumDescriptor& descriptor) const {
  return EscapeTypeName(FlatName(descriptor),
                        Namespaces(*descriptor.file()).empty());
}

std::string CppNames::QualifiedMessage(const Descriptor& message) const {
  return Qualify(Namespaces(*message.file())) +
         "::" + MessageIdentifier(message);
}

std::string CppNames::QualifiedEnum(const EnumDescriptor& descriptor) const {
  return Qualify(Namespaces(*descriptor.file())) +
         "::" + EnumIdentifier(descriptor);
}

std::string CppNames::ExtensionIdentifier(const std::string& scope,
                                          const FileDescriptor& file,
                                          const Descriptor& base) const {
  std::string base_name = FlatName(base);
  if (base.file()->package() != file.package()) {
    std::string package(base.file()->package());
    std::replace(package.begin(), package.end(), '.', '_');
    if (!package.empty())
      base_name = package + "_" + base_name;
  }
  return scope + "_extends_" + base_name;
}

std::vector<ExtensionScope> CppNames::FileExtensions(
    const FileDescriptor& file) const {
  std::vector<ExtensionScope> result = GroupByBase(file);
  // Two files of one package may extend the same message, so the file's whole
  // path is part of the name.
  const std::string scope = PathIdentifier(std::string(file.name()));
  for (ExtensionScope& entry : result)
    entry.identifier = ExtensionIdentifier(scope, file, *entry.base);
  return result;
}

std::vector<ExtensionScope> CppNames::MessageExtensions(
    const Descriptor& message) const {
  std::vector<ExtensionScope> result = GroupByBase(message);
  const bool is_wrapper = IsExtensionWrapper(message);
  for (ExtensionScope& entry : result) {
    entry.scope = &message;
    entry.identifier = is_wrapper
                           ? MessageIdentifier(message)
                           : ExtensionIdentifier(FlatName(message),
                                                 *message.file(), *entry.base);
  }
  return result;
}

// static
bool CppNames::IsExtensionWrapper(const Descriptor& message) {
  if (message.extension_count() == 0 || message.field_count() != 0 ||
      message.nested_type_count() != 0 || message.enum_type_count() != 0 ||
      message.oneof_decl_count() != 0 || message.extension_range_count() != 0) {
    return false;
  }
  for (int i = 1; i < message.extension_count(); ++i) {
    if (message.extension(i)->containing_type() !=
        message.extension(0)->containing_type()) {
      return false;
    }
  }
  return !HasFieldOfType(*message.file(), message);
}

}  // namespace protozero::plugin
