// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_CPP_CPP_MODEL_H_
#define SRC_PROTOC_PLUGIN_CPP_CPP_MODEL_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "src/protoc_plugin/model.h"

namespace protozero::plugin {

// The content of one generated file: the schema, with its names in C++.
//
//   Schema ──CppNames, FileBuilder──▶ CppFile ──WritePbzeroHeader()──▶ text
//
// A CppFile exists only for a schema without errors: names are valid C++
// identifiers, free of collisions, and the runtime encodes all types correctly.
// The writer only lays out text.

struct CppEnumValue {
  const EnumValue* schema = nullptr;
  std::string identifier;  // The enumerator.
  // Another enumerator of that number, for use where a system header defines
  // the first as a macro; empty if none does.
  std::string second_name;
};

// Functions that belong to an enum. A nested enum has them twice: in its
// namespace, and in the class.
struct EnumFunctions {
  std::string name;      // const char* (E)
  std::string parse;     // bool (std::string_view, E*)
  std::string is_valid;  // bool (int32_t)
};

// The name of each function, and its description in errors.
struct EnumFunctionName {
  std::string EnumFunctions::* function;
  const char* suffix;
  const char* kind;
};
inline constexpr EnumFunctionName kEnumFunctionNames[] = {
    {&EnumFunctions::name, "_Name", "the name function of enum"},
    {&EnumFunctions::parse, "_Parse", "the parse function of enum"},
    {&EnumFunctions::is_valid, "_IsValid", "the validity function of enum"},
};

struct CppEnum {
  const Enum* schema = nullptr;

  // Namespace-level name: `E`, or `Outer_E` for an enum nested in a message.
  std::string identifier;

  // A nested enum is defined as `name_in_scope` inside the namespace `scope`
  // and is then aliased to `identifier`. This keeps its enumerators, which are
  // unscoped, out of the package's namespace. Empty for a top-level enum.
  std::string scope;
  std::string name_in_scope;

  std::vector<CppEnumValue> values;  // In the order of the schema.

  // Indexes of `values` by number; aliases in the order of the schema.
  std::vector<size_t> by_number;

  // Constants for the smallest and the largest number. An empty name means that
  // the enum has an enumerator of that very name and value already.
  std::string min_constant;
  std::string max_constant;
  size_t min_value = 0;  // Index into `values`.
  size_t max_value = 0;

  std::string table;  // The array of all values.
  EnumFunctions functions;
};

struct CppField {
  const Field* schema = nullptr;
  std::string name;   // In functions: set_<name>, add_<name>, has_<name>.
  std::string camel;  // k<camel>, k<camel>FieldNumber, FieldMetadata_<camel>.
  std::string type_name;  // Qualified; for kMessage, kGroup and kEnum only.
  bool raw_setter = false;

  // The types of the key and the value of a map's entry. Empty for other
  // fields.
  std::vector<CppField> map_entry;

  // The functions of the decoder: x(), has_x() and, for kEnum only, x_enum().
  std::string getter;
  std::string second_getter;  // The second name, see CppEnumValue. Often empty.
  std::string has_function;
  std::string enum_getter;
  // The result of the getter of an absent field: an expression of its type.
  // Empty means zero, false, or no bytes.
  std::string default_value;
};

struct CppOneof {
  const Oneof* schema = nullptr;
  std::string case_type;      // enum class
  std::string case_function;  // A function of the decoder.
  std::string not_set;        // The enumerator for "none of them".
};

// The class that reads the messages of a class. It has the fields of the class.
struct CppDecoder {
  std::string identifier;
  std::string alias;  // Its name inside the class: "Decoder".
  std::vector<CppOneof> oneofs;
  // True if a getter hides a function of the base class that generated code
  // calls.
  bool hides_base = false;
};

// `using <identifier> = <target>;` inside a class.
struct TypeAlias {
  std::string identifier;
  std::string target;  // Qualified.
};

// An enumerator of a nested enum that is repeated as a constant of the class.
struct ConstantAlias {
  std::string identifier;
  std::string enumerator;
};

struct NestedEnum {
  TypeAlias alias;
  EnumFunctions functions;         // The functions in the class.
  EnumFunctions target_functions;  // The functions in the namespace, qualified.
  std::vector<ConstantAlias> constants;
};

struct CppMessage {
  const Message* schema = nullptr;
  std::string identifier;  // `Outer_Inner` for a nested message.
  std::vector<TypeAlias> nested_messages;
  std::vector<NestedEnum> nested_enums;
  std::vector<TypeAlias>
      second_names;  // Second names of both, see CppEnumValue.
  std::vector<CppField> fields;
  CppDecoder decoder;
  // The type of each of the decoder's oneofs, by its name inside the class.
  std::vector<std::string> case_aliases;
  std::string descriptor_function;  // "DescriptorSet", if there is one.
};

// All extensions of one message that are declared in one scope: a class that
// derives from the class of the extended message and adds setters to it.
struct CppExtensionSet {
  std::string identifier;
  std::string base;   // Qualified.
  std::string scope;  // For comments: the message or file that extends.
  std::vector<CppField> fields;
  CppDecoder decoder;
  std::string descriptor_function;  // See CppMessage.

  // If not empty, the class exists only if this header is available to the
  // compiler. FileBuilder explains this for custom options.
  std::string required_header;
};

// Declarations of types that are defined in headers which are not included.
struct ForwardDeclaration {
  std::string identifier;
  bool is_enum = false;
  // See CppEnum.
  std::string scope;
  std::string name_in_scope;
};

struct ForwardDeclarations {
  std::vector<std::string> namespaces;
  std::vector<ForwardDeclaration> types;
};

struct CppFile {
  std::string proto_path;
  // The bytes that the classes' descriptor function returns. Empty if they have
  // none.
  std::string descriptor_set;
  std::string header_path;
  std::string guard;
  std::vector<std::string> namespaces;  // Outermost first.
  std::string runtime;                  // "::protozero::"
  // Another name of the runtime's namespace, if that is not `protozero`; else
  // empty.
  std::string runtime_alias;
  std::vector<std::string> includes;  // Headers of other .proto files.
  std::vector<ForwardDeclarations> forward_declarations;
  std::vector<const CppEnum*> enums;
  std::vector<CppMessage> messages;
  std::vector<CppExtensionSet> extension_sets;

  // Second names of classes and enums, see CppEnumValue.
  std::vector<TypeAlias> second_names;

  // The suffix of parameter names in generated functions. Usually empty; it
  // keeps `set_x(int32_t value)` from hiding an enumerator `value`.
  std::string parameter_suffix;
};

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_CPP_CPP_MODEL_H_
