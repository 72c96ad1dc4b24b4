// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp_names.h"

#include <algorithm>
#include <map>
#include <set>

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
  result.identifier = EscapeTypeName(flat_name, is_global);
  if (is_nested) {
    result.scope =
        "perfetto_pbzero_enum_" + FlatName(*descriptor.containing_type());
    result.name_in_scope = EscapeTypeName(std::string(descriptor.name()),
                                          /*is_global=*/false);
  }

  std::set<int> numbers;
  std::map<std::string, int> enumerators;
  for (int i = 0; i < descriptor.value_count(); ++i) {
    const EnumValueDescriptor& value = *descriptor.value(i);
    const size_t index = static_cast<size_t>(i);
    EnumValue entry;
    entry.name = std::string(value.name());
    entry.identifier = EscapeTypeName(entry.name, is_global && !is_nested);
    entry.number = value.number();
    enumerators[entry.identifier] = entry.number;
    result.values.push_back(entry);
    if (numbers.insert(entry.number).second)
      result.distinct_values.push_back(index);
    if (entry.number < result.values[result.min_value].number)
      result.min_value = index;
    if (entry.number > result.values[result.max_value].number)
      result.max_value = index;
  }

  // Enumerators of a top-level enum share a scope with what is added here, and
  // schemas do contain enumerators called E_MIN and E_MAX. The schema's names
  // win. One that has the value which the constant would have replaces it.
  const auto pick = [&](const std::string& name, const int* number) {
    const auto taken = is_nested ? enumerators.end() : enumerators.find(name);
    if (taken == enumerators.end())
      return name;
    return number != nullptr && taken->second == *number ? std::string()
                                                         : name + "_";
  };
  result.min_constant =
      pick(flat_name + "_MIN", &result.values[result.min_value].number);
  result.max_constant =
      pick(flat_name + "_MAX", &result.values[result.max_value].number);
  result.name_function = pick(flat_name + "_Name", nullptr);
  return result;
}

std::string CppNames::QualifiedMessage(const Descriptor& message) const {
  return Qualify(Namespaces(*message.file())) +
         "::" + MessageIdentifier(message);
}

std::string CppNames::QualifiedEnum(const EnumDescriptor& descriptor) const {
  return Qualify(Namespaces(*descriptor.file())) + "::" +
         EscapeTypeName(FlatName(descriptor),
                        Namespaces(*descriptor.file()).empty());
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
