// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CPP_TYPES_H_
#define SRC_PROTOC_PLUGIN_CPP_CPP_TYPES_H_

#include <string>

#include "src/protoc_plugin/cpp/cpp_model.h"
#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// Types and namespaces are qualified from the global namespace, since a schema
// may declare a message `protozero` or a package `std`: names of the library
// begin with CppFile::runtime. Functions of the base class are not qualified:
// ClassBuilder changes names that could hide them.

// The form of a FieldType in C++.
struct TypeTraits {
  const char* name;         // In "protozero/field_metadata.h", and k<name>.
  const char* cpp_type;     // Null: Field::type_name.
  const char* appender;     // A function of protozero::Message, for one value.
  const char* packed_type;  // Null: cannot be packed.
  const char* accessor;  // A function of protozero::MessageDecoder, for a slot.
  // The type of the elements of a repeated field. Null: numbers, by their
  // schema type.
  const char* element_type;
};

const TypeTraits& TraitsOf(const CppField& field);

bool IsMessage(const CppField& field);

std::string CppTypeOf(const CppField& field);

// Returns the beginning of the names of metadata.
const char* MetadataPrefix(Repetition repetition);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CPP_TYPES_H_
