// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_NAMES_H_
#define SRC_PROTOC_PLUGIN_CPP_NAMES_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/options.h"

namespace protozero::plugin {

// The extensions of one message that one scope declares. See ExtensionSet.
struct ExtensionScope {
  std::string identifier;
  const google::protobuf::Descriptor* base = nullptr;
  const google::protobuf::Descriptor* scope = nullptr;  // Null: the file.
  std::vector<const google::protobuf::FieldDescriptor*> fields;
};

// Names of generated namespaces, classes and enums. They follow from the
// declaration alone, never from who asks: a header that forward-declares a type
// of another file must arrive at the name which that file's own header uses,
// though the two come from different runs of the plugin.
class CppNames {
 public:
  explicit CppNames(const Options& options);

  std::vector<std::string> Namespaces(
      const google::protobuf::FileDescriptor& file) const;

  // `Outer_Inner`, not qualified.
  std::string MessageIdentifier(
      const google::protobuf::Descriptor& message) const;

  // Of the class that reads what the class `identifier` of `file` writes.
  std::string DecoderIdentifier(const google::protobuf::FileDescriptor& file,
                                const std::string& identifier) const;

  // A name that an identifier of |file|'s namespace has besides: `ERROR_`, for
  // where some header defines a macro `ERROR`. Empty if it needs none.
  std::string SecondName(const google::protobuf::FileDescriptor& file,
                         const std::string& identifier) const;

  // The identifiers of an enum and of all that comes with it.
  Enum MakeEnum(const google::protobuf::EnumDescriptor& descriptor) const;

  std::string QualifiedMessage(
      const google::protobuf::Descriptor& message) const;
  std::string QualifiedEnum(
      const google::protobuf::EnumDescriptor& descriptor) const;

  // Extensions declared directly in the file, or directly in the message, by
  // the message they extend, in order of first appearance.
  std::vector<ExtensionScope> FileExtensions(
      const google::protobuf::FileDescriptor& file) const;
  std::vector<ExtensionScope> MessageExtensions(
      const google::protobuf::Descriptor& message) const;

  // True for a message whose only purpose is to hold extensions of one message:
  //
  //   message Wrapper { extend Base { optional int32 x = 100; } }
  //
  // Its class is the extension class: `class Wrapper : public Base`. A message
  // that has anything else in it, extends more than one message, or is the type
  // of a field in its file, has an ordinary class, and the extensions go into
  // `Wrapper_extends_Base`. Extensions at file level go into
  // `path_of_the_file_extends_Base`.
  //
  // As always with derived classes, the setter of an extension that is called
  // like a field of the extended message hides that field's setter.
  static bool IsExtensionWrapper(const google::protobuf::Descriptor& message);

 private:
  // What the schema itself declares at namespace level.
  struct Declared {
    std::set<std::string> names;  // All of them.
    std::map<std::string, std::string> second_names;
  };
  const Declared& DeclaredIn(
      const google::protobuf::FileDescriptor& file) const;
  std::set<std::string> EnumScopeNames(
      const google::protobuf::Descriptor& message) const;
  void AddDeclaredNames(const google::protobuf::Descriptor& message,
                        std::set<std::string>* names) const;
  std::string EnumIdentifier(
      const google::protobuf::EnumDescriptor& descriptor) const;

  std::string EscapeTypeName(const std::string& name, bool is_global) const;
  std::string ExtensionIdentifier(
      const std::string& scope,
      const google::protobuf::FileDescriptor& file,
      const google::protobuf::Descriptor& base) const;

  const Options options_;
  mutable std::map<const google::protobuf::FileDescriptor*, Declared> declared_;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_NAMES_H_
