// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/pbzero_writer.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/reserved_words.h"

namespace protozero::plugin {

namespace {

// Types and namespaces are qualified from the global namespace, since a schema
// may declare a message `protozero` or a package `std`. Functions of the base
// class are not: what could hide them has another name, see ModelBuilder.
constexpr char kInternal[] = "::protozero::internal::";

// How a FieldType looks in C++.
struct TypeTraits {
  const char* name;         // In "protozero/field_metadata.h", and k<name>.
  const char* cpp_type;     // Null: Field::type_name.
  const char* appender;     // Of protozero::Message, for one value.
  const char* packed_type;  // Null: cannot be packed.
  const char* accessor;     // Of protozero::MessageDecoder, for a slot.
  // Of the elements of a repeated field. Null: numbers, by their schema type.
  const char* element_type;
};

// In the order of FieldType, which begins with 1. A row to a line:
// clang-format off
constexpr TypeTraits kTypes[] = {
    {"Double", "double", "AppendDouble", "PackedFixedSizeInt<double>", "AsDouble", nullptr},
    {"Float", "float", "AppendFloat", "PackedFixedSizeInt<float>", "AsFloat", nullptr},
    {"Int64", "int64_t", "AppendInt64", "PackedVarInt", "AsInt64", nullptr},
    {"Uint64", "uint64_t", "AppendUint64", "PackedVarInt", "AsUint64", nullptr},
    {"Int32", "int32_t", "AppendInt32", "PackedVarInt", "AsInt32", nullptr},
    {"Fixed64", "uint64_t", "AppendFixed64", "PackedFixedSizeInt<uint64_t>", "AsUint64", nullptr},
    {"Fixed32", "uint32_t", "AppendFixed32", "PackedFixedSizeInt<uint32_t>", "AsUint32", nullptr},
    {"Bool", "bool", "AppendBool", "PackedVarInt", "AsBool", nullptr},
    {"String", "::std::string", "AppendString", nullptr, "AsString", "ConstChars"},
    {"Group", nullptr, "BeginNestedGroup", nullptr, "AsBytes", "ConstBytes"},
    {"Message", nullptr, "BeginNestedMessage", nullptr, "AsBytes", "ConstBytes"},
    {"Bytes", "::std::string", "AppendString", nullptr, "AsBytes", "ConstBytes"},
    {"Uint32", "uint32_t", "AppendUint32", "PackedVarInt", "AsUint32", nullptr},
    {"Enum", nullptr, "AppendInt32", "PackedVarInt", "AsInt32", nullptr},
    {"Sfixed32", "int32_t", "AppendSfixed32", "PackedFixedSizeInt<int32_t>", "AsInt32", nullptr},
    {"Sfixed64", "int64_t", "AppendSfixed64", "PackedFixedSizeInt<int64_t>", "AsInt64", nullptr},
    {"Sint32", "int32_t", "AppendSint32", "PackedSignedVarInt", "AsSint32", nullptr},
    {"Sint64", "int64_t", "AppendSint64", "PackedSignedVarInt", "AsSint64", nullptr},
};
// clang-format on

const TypeTraits& TraitsOf(FieldType type) {
  static_assert(sizeof(kTypes) / sizeof(kTypes[0]) ==
                    static_cast<size_t>(FieldType::kSint64),
                "a row for each type");
  return kTypes[static_cast<size_t>(type) - 1];
}

bool IsMessage(const Field& field) {
  return field.type == FieldType::kMessage || field.type == FieldType::kGroup;
}

std::string CppTypeOf(const Field& field) {
  const char* cpp_type = TraitsOf(field.type).cpp_type;
  return cpp_type != nullptr ? cpp_type : field.type_name;
}

// How the names of metadata begin.
const char* MetadataPrefix(Repetition repetition) {
  switch (repetition) {
    case Repetition::kNotRepeated:
      return "";
    case Repetition::kRepeatedPacked:
      return "Packed";
    case Repetition::kRepeatedNotPacked:
      return "Repeated";
  }
  return "";
}

// The most negative number has no literal of its own.
std::string NumberLiteral(int32_t number) {
  if (number == INT32_MIN)
    return "-2147483647 - 1";
  return std::to_string(number);
}

// A line break in a comment, or a backslash at its end, would end it or extend
// it. protoc accepts both in the name of a file.
std::string CommentText(const std::string& text) {
  std::string result;
  for (const char c : text)
    result += c == '\n' || c == '\r' || c == '\\' ? '?' : c;
  return result;
}

bool IsWordChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

// Those of the words in generated code that a system header may have made
// macros of. Looking at the text leaves nothing out: namespaces, `set_x` and
// whatever else the other functions here write.
std::set<std::string> FindSystemMacros(std::string_view code) {
  std::set<std::string> found;
  std::unordered_set<std::string_view> seen;
  size_t i = 0;
  while (i < code.size()) {
    if (code[i] == '"') {
      // A string literal, with what is escaped in it.
      for (++i; code[i] != '"'; ++i)
        i += code[i] == '\\';
      ++i;
    } else if (code.substr(i, 2) == "//") {
      i = code.find('\n', i);
    } else if (IsWordChar(code[i])) {
      // A number is a word, too, and no macro.
      const size_t begin = i;
      while (IsWordChar(code[i]))
        ++i;
      const bool is_called = code[i] == '(';
      // A word, with the parenthesis that a macro may want.
      const std::string_view use = code.substr(begin, i - begin + is_called);
      if (!seen.insert(use).second)
        continue;
      const std::string_view word = code.substr(begin, i - begin);
      if (IsSystemMacro(word) || (is_called && IsSystemFunctionMacro(word)))
        found.emplace(word);
    } else {
      ++i;
    }
  }
  return found;
}

class Writer {
 public:
  explicit Writer(const File& file) : file_(file) {
    value_ = "value" + file.parameter_suffix;
    data_ = "data" + file.parameter_suffix;
    size_ = "size" + file.parameter_suffix;
    raw_ = "raw" + file.parameter_suffix;
    key_ = "key" + file.parameter_suffix;
    entry_ = "entry" + file.parameter_suffix;
    item_ = "item" + file.parameter_suffix;
    name_ = "name" + file.parameter_suffix;
    error_ = "parse_error_ptr" + file.parameter_suffix;
  }

  std::string Write() {
    Line("// Generated by the protozero compiler from ",
         CommentText(file_.proto_path), ". Do not edit.");
    Line();
    Line("#ifndef ", file_.guard);
    Line("#define ", file_.guard);
    Line();
    WriteIncludes();
    const size_t begin = text_.size();
    for (const ForwardDeclarations& group : file_.forward_declarations)
      WriteForwardDeclarations(group);
    OpenNamespaces(file_.namespaces);
    WriteOwnForwardDeclarations();
    for (const Enum& entry : file_.enums)
      WriteEnum(entry);
    for (const Message& message : file_.messages)
      WriteMessage(message);
    for (const ExtensionSet& set : file_.extension_sets)
      WriteExtensionSet(set);
    WriteSecondNames();
    CloseNamespaces(file_.namespaces);
    HideMacros(begin);
    Line("#endif  // ", file_.guard);
    return text_;
  }

 private:
  template <typename... Parts>
  void Line(const Parts&... parts) {
    (text_.append(parts), ...);
    text_ += '\n';
  }

  void WriteIncludes() {
    const bool has_classes =
        !file_.messages.empty() || !file_.extension_sets.empty();
    if (has_classes)
      Line("#include <stddef.h>");
    Line("#include <stdint.h>");
    Line();
    if (HasField(UsesLimits))
      Line("#include <limits>");
    if (has_classes)
      Line("#include <string>");
    if (has_classes || !file_.enums.empty()) {
      Line("#include <string_view>");
      Line();
    }
    std::set<std::string> headers(file_.includes.begin(), file_.includes.end());
    if (!file_.enums.empty())
      headers.insert("protozero/enum_values.h");
    if (has_classes) {
      for (const char* header :
           {"const_bytes.h", "field_metadata.h", "message.h", "proto_decoder.h",
            "proto_utils.h"}) {
        headers.insert(std::string("protozero/") + header);
      }
      // Only where they are needed: reading them takes time.
      if (HasField([](const Field& field) {
            return field.repetition == Repetition::kRepeatedPacked;
          })) {
        headers.insert("protozero/const_array.h");
        headers.insert("protozero/packed_repeated_fields.h");
      }
      if (HasField([](const Field& field) { return field.message_set_item; }))
        headers.insert("protozero/message_set.h");
    }
    for (const std::string& header : headers)
      Line("#include \"", header, "\"");
    if (!headers.empty())
      Line();

    std::set<std::string> optional_headers;
    for (const ExtensionSet& set : file_.extension_sets) {
      if (!set.required_header.empty())
        optional_headers.insert(set.required_header);
    }
    for (const std::string& header : optional_headers) {
      Line("#if __has_include(\"", header, "\")");
      Line("#include \"", header, "\"");
      Line("#endif");
      Line();
    }
  }

  template <typename Predicate>
  bool HasField(Predicate predicate) const {
    for (const Message& message : file_.messages) {
      if (std::any_of(message.fields.begin(), message.fields.end(), predicate))
        return true;
    }
    for (const ExtensionSet& set : file_.extension_sets) {
      if (std::any_of(set.fields.begin(), set.fields.end(), predicate))
        return true;
    }
    return false;
  }

  static bool UsesLimits(const Field& field) {
    return (field.type == FieldType::kFloat ||
            field.type == FieldType::kDouble) &&
           field.default_value.find("::") != std::string::npos;
  }

  void OpenNamespaces(const std::vector<std::string>& namespaces) {
    if (namespaces.empty())
      return;
    Line("namespace ", Qualify(namespaces).substr(2), " {");
    Line();
  }

  void CloseNamespaces(const std::vector<std::string>& namespaces) {
    if (namespaces.empty())
      return;
    Line("}  // namespace ", Qualify(namespaces).substr(2));
    Line();
  }

  void WriteSecondNames() {
    for (const TypeAlias& alias : file_.second_names)
      Line("using ", alias.identifier, " = ", alias.target, ";");
    if (!file_.second_names.empty())
      Line();
  }

  // Names in the text from |begin| that system headers define as macros mean
  // themselves there, whatever was included before.
  void HideMacros(size_t begin) {
    const std::set<std::string> macros =
        FindSystemMacros(std::string_view(text_).substr(begin));
    if (macros.empty())
      return;
    std::string hide = "// Macros of system headers, until the end.\n";
    for (const std::string& name : macros)
      hide += "#pragma push_macro(\"" + name + "\")\n#undef " + name + "\n";
    text_.insert(begin, hide + "\n");
    for (const std::string& name : macros)
      Line("#pragma pop_macro(\"", name, "\")");
    Line();
  }

  void WriteForwardDeclarations(const ForwardDeclarations& group) {
    OpenNamespaces(group.namespaces);
    for (const ForwardDeclaration& type : group.types) {
      if (!type.is_enum) {
        Line("class ", type.identifier, ";");
      } else if (type.scope.empty()) {
        Line("enum ", type.identifier, " : int32_t;");
      } else {
        Line("namespace ", type.scope, " {");
        Line("enum ", type.name_in_scope, " : int32_t;");
        Line("}");
        Line("using ", type.identifier, " = ", type.scope,
             "::", type.name_in_scope, ";");
      }
    }
    Line();
    CloseNamespaces(group.namespaces);
  }

  void WriteOwnForwardDeclarations() {
    for (const Message& message : file_.messages)
      Line("class ", message.identifier, ";");
    if (!file_.messages.empty())
      Line();
  }

  void WriteEnum(const Enum& entry) {
    if (entry.scope.empty()) {
      Line("enum ", entry.identifier, " : int32_t {");
    } else {
      Line("namespace ", entry.scope, " {");
      Line("enum ", entry.name_in_scope, " : int32_t {");
    }
    for (const EnumValue& value : entry.values) {
      const std::string number = " = " + NumberLiteral(value.number) + ",";
      Line("  ", value.identifier, number);
      if (!value.second_name.empty())
        Line("  ", value.second_name, number);
    }
    Line("};");
    if (!entry.scope.empty()) {
      Line("}  // namespace ", entry.scope);
      Line("using ", entry.identifier, " = ", entry.scope,
           "::", entry.name_in_scope, ";");
    }
    Line();
    WriteLimit(entry, entry.min_constant, entry.min_value);
    WriteLimit(entry, entry.max_constant, entry.max_value);
    Line();
    Line("inline constexpr ::protozero::EnumValue ", entry.table, "[] = {");
    for (const size_t index : entry.by_number) {
      const EnumValue& value = entry.values[index];
      Line("  {", NumberLiteral(value.number), ", \"", value.name, "\"},");
    }
    Line("};");
    const std::string& type = entry.identifier;
    Line("constexpr const char* ", entry.functions.name, "(", type, " ", value_,
         ") { return ", kInternal, "EnumName(", entry.table, ", ", value_,
         "); }");
    Line("constexpr bool ", entry.functions.parse, "(::std::string_view ",
         name_, ", ", type, "* ", value_, ") { return ", kInternal,
         "ParseEnum(", entry.table, ", ", name_, ", ", value_, "); }");
    Line("constexpr bool ", entry.functions.is_valid, "(int32_t ", value_,
         ") { return ", kInternal, "FindEnumValue(", entry.table, ", ", value_,
         ") != nullptr; }");
    Line();
  }

  void WriteLimit(const Enum& entry, const std::string& name, size_t value) {
    if (name.empty())
      return;
    Line("inline constexpr ", entry.identifier, " ", name, " = ",
         entry.identifier, "::", entry.values[value].identifier, ";");
  }

  void WriteMessage(const Message& message) {
    WriteDecoder(message.decoder, message.fields);
    Line("class ", message.identifier, " : public ::protozero::Message {");
    Line(" public:");
    for (const TypeAlias& alias : message.nested_messages)
      WriteAlias(alias);
    for (const NestedEnum& nested : message.nested_enums)
      WriteNestedEnum(nested);
    for (const TypeAlias& alias : message.second_names)
      WriteAlias(alias);
    WriteAlias({message.decoder.alias, message.decoder.identifier});
    for (size_t i = 0; i < message.case_aliases.size(); ++i) {
      WriteAlias({message.case_aliases[i],
                  message.decoder.identifier +
                      "::" + message.decoder.oneofs[i].case_type});
    }
    WriteFieldNumbers(message.fields);
    Line("  static constexpr const char* GetName() { return \"",
         message.full_name, "\"; }");
    WriteFields(message.identifier, message.fields);
    Line("};");
    Line();
  }

  void WriteExtensionSet(const ExtensionSet& set) {
    if (!set.required_header.empty())
      Line("#if __has_include(\"", set.required_header, "\")");
    Line("// The extensions of ", set.base.substr(2), " that ",
         CommentText(set.scope), " declares.");
    WriteDecoder(set.decoder, set.fields);
    Line("class ", set.identifier, " : public ", set.base, " {");
    Line(" public:");
    WriteAlias({set.decoder.alias, set.decoder.identifier});
    WriteFieldNumbers(set.fields);
    WriteFields(set.identifier, set.fields);
    Line("};");
    if (!set.required_header.empty())
      Line("#endif");
    Line();
  }

  void WriteAlias(const TypeAlias& alias) {
    Line("  using ", alias.identifier, " = ", alias.target, ";");
  }

  void WriteNestedEnum(const NestedEnum& nested) {
    const std::string& type = nested.alias.identifier;
    WriteAlias(nested.alias);
    // References take what the functions take.
    const auto write_function = [this](const std::string& name,
                                       const std::string& target) {
      Line("  static constexpr auto& ", name, " = ", target, ";");
    };
    write_function(nested.functions.name, nested.target_functions.name);
    write_function(nested.functions.parse, nested.target_functions.parse);
    write_function(nested.functions.is_valid, nested.target_functions.is_valid);
    for (const ConstantAlias& constant : nested.constants) {
      Line("  static constexpr ", type, " ", constant.identifier, " = ", type,
           "::", constant.enumerator, ";");
    }
  }

  void WriteFieldNumbers(const std::vector<Field>& fields) {
    if (fields.empty())
      return;
    std::string numbers;
    for (const Field& field : fields) {
      numbers += (numbers.empty() ? "k" : ", k") + field.camel +
                 "FieldNumber = " + std::to_string(field.number);
    }
    Line("  enum : int32_t { ", numbers, " };");
  }

  void WriteFields(const std::string& class_name,
                   const std::vector<Field>& fields) {
    for (const Field& field : fields) {
      Line();
      WriteMetadata(class_name, field);
      WriteSetters(field);
    }
  }

  void WriteMetadata(const std::string& class_name, const Field& field) {
    const TypeTraits& traits = TraitsOf(field.type);
    const std::string type =
        traits.cpp_type != nullptr ? "" : field.type_name + ", ";
    Line("  using FieldMetadata_", field.camel,
         " = ::protozero::meta::", MetadataPrefix(field.repetition),
         traits.name, "<", std::to_string(field.number), ", ", type, class_name,
         ">;");
    Line("  static constexpr FieldMetadata_", field.camel, " k", field.camel,
         "{};");
  }

  // One line: `  <declaration> { <statement> }`
  void WriteFunction(const std::string& declaration,
                     const std::string& statement) {
    Line("  ", declaration, " { ", statement, " }");
  }

  void WriteSetters(const Field& field) {
    const TypeTraits& traits = TraitsOf(field.type);
    const std::string id = std::to_string(field.number);
    const std::string setter =
        (field.repetition == Repetition::kRepeatedNotPacked ? "add_" : "set_") +
        field.name;

    if (field.repetition == Repetition::kRepeatedPacked) {
      WritePackedSetters(field, setter);
    } else if (IsMessage(field)) {
      if (!field.map_entry.empty())
        WriteMapSetters(field, setter);
      WriteMessageSetter(field, setter);
      if (field.raw_setter) {
        WriteFunction(
            "void " + setter + "_raw(::std::string_view " + raw_ + ")",
            "AppendString(" + id + ", " + raw_ + ");");
      }
    } else if (field.type == FieldType::kString) {
      WriteBlockSetters(field, setter, "char");
    } else if (field.type == FieldType::kBytes) {
      WriteBlockSetters(field, setter, "uint8_t");
    } else {
      WriteFunction("PROTOZERO_HOT void " + setter + "(" + CppTypeOf(field) +
                        " " + value_ + ")",
                    AppendStatement(traits, id, value_));
    }
  }

  static std::string AppendStatement(const TypeTraits& traits,
                                     const std::string& id,
                                     const std::string& value) {
    return std::string(traits.appender) + "(" + id + ", " + value + ");";
  }

  void WritePackedSetters(const Field& field, const std::string& setter) {
    const std::string id = std::to_string(field.number);
    const std::string packed =
        std::string("::protozero::") + TraitsOf(field.type).packed_type;
    const std::string append = packed + "::AppendField(this, " + id + ", ";
    const std::string element = CppTypeOf(field);
    WriteFunction("void " + setter + "(const " + packed + "& " + value_ + ")",
                  "AppendBytes(" + id + ", " + value_ + ".data(), " + value_ +
                      ".size());");
    WriteFunction("void " + setter + "(const " + element + "* " + data_ +
                      ", size_t " + size_ + ")",
                  append + data_ + ", " + size_ + ");");
    WriteFunction("void " + setter + "(::protozero::ConstArray<" + element +
                      "> " + value_ + ")",
                  append + value_ + ".data, " + value_ + ".size);");
  }

  void WriteMessageSetter(const Field& field, const std::string& setter) {
    const std::string id = std::to_string(field.number);
    Line("  template <typename T = ", field.type_name, ">");
    if (!field.message_set_item) {
      WriteFunction("PROTOZERO_HOT T* " + setter + "()",
                    std::string("return ") + TraitsOf(field.type).appender +
                        "<T>(" + id + ");");
      return;
    }
    // repeated group Item = 1 { int32 type_id = 2; bytes message = 3; }
    Line("  T* ", setter, "() {");
    Line("    auto* ", item_, " = BeginNestedGroup<::protozero::Message>(1);");
    Line("    ", item_, "->AppendVarInt(2, ", id, ");");
    Line("    return ", item_, "->BeginNestedMessage<T>(3);");
    Line("  }");
  }

  // Overloads for strings and bytes.
  void WriteBlockSetters(const Field& field,
                         const std::string& setter,
                         const std::string& element) {
    const std::string id = std::to_string(field.number);
    WriteFunction("PROTOZERO_HOT void " + setter + "(const " + element + "* " +
                      data_ + ", size_t " + size_ + ")",
                  "AppendBytes(" + id + ", " + data_ + ", " + size_ + ");");
    // Characters convert to a std::string_view, whatever holds them.
    if (field.type == FieldType::kBytes) {
      WriteFunction(
          "PROTOZERO_HOT void " + setter + "(::protozero::ConstBytes " +
              value_ + ")",
          "AppendBytes(" + id + ", " + value_ + ".data, " + value_ + ".size);");
    }
    WriteFunction(
        "PROTOZERO_HOT void " + setter + "(::std::string_view " + value_ + ")",
        "AppendString(" + id + ", " + value_ + ");");
  }

  // Those that write an entry in one call. Written in terms of fields, not of
  // the entry's class, which need not be defined yet.
  void WriteMapSetters(const Field& field, const std::string& setter) {
    const Field& key = field.map_entry[0];
    const Field& value = field.map_entry[1];
    if (IsMessage(value)) {
      Line("  template <typename T = ", value.type_name, ">");
      Line("  T* ", setter, "(", ArgumentType(key), " ", key_, ") {");
      WriteMapKey(field);
      Line("    return ", entry_, "->", TraitsOf(value.type).appender,
           "<T>(2);");
      Line("  }");
      return;
    }
    Line("  void ", setter, "(", ArgumentType(key), " ", key_, ", ",
         ArgumentType(value), " ", value_, ") {");
    WriteMapKey(field);
    Line("    ", entry_, "->",
         AppendStatement(TraitsOf(value.type), "2", value_));
    Line("  }");
    if (value.type != FieldType::kBytes)
      return;
    Line("  void ", setter, "(", ArgumentType(key), " ", key_,
         ", ::protozero::ConstBytes ", value_, ") {");
    Line("    ", setter, "(", key_, ", ", value_, ".ToStdStringView());");
    Line("  }");
  }

  void WriteMapKey(const Field& field) {
    Line("    auto* ", entry_, " = BeginNestedMessage<::protozero::Message>(",
         std::to_string(field.number), ");");
    Line("    ", entry_, "->",
         AppendStatement(TraitsOf(field.map_entry[0].type), "1", key_));
  }

  static std::string ArgumentType(const Field& field) {
    return field.type == FieldType::kString || field.type == FieldType::kBytes
               ? "::std::string_view"
               : CppTypeOf(field);
  }

  void WriteDecoder(const Decoder& decoder, const std::vector<Field>& fields) {
    // Fields by their rank among the ids, which is what a slot is.
    std::map<int32_t, size_t> slots;
    for (const Field& field : fields)
      slots.emplace(field.message_set_item ? 1 : field.number, 0);
    std::string ids;
    size_t slot = 0;
    for (auto& entry : slots) {
      entry.second = slot++;
      ids += (ids.empty() ? "" : ", ") + std::to_string(entry.first);
    }
    Line("class ", decoder.identifier, " : public ::protozero::MessageDecoder<",
         ids, "> {");
    Line(" public:");
    Line("  using MessageDecoder::MessageDecoder;");
    const std::string base = decoder.hides_base ? "MessageDecoder::" : "";
    for (size_t i = 0; i < decoder.oneofs.size(); ++i)
      WriteOneof(decoder.oneofs[i], i, fields, base);
    for (const Field& field : fields)
      WriteGetters(decoder, field, base, std::to_string(slots[field.number]));
    Line("};");
    Line();
  }

  void WriteOneof(const Oneof& oneof,
                  size_t index,
                  const std::vector<Field>& fields,
                  const std::string& base) {
    Line("  enum class ", oneof.case_type, " : int32_t {");
    Line("    ", oneof.not_set, " = 0,");
    std::string ids;
    for (const Field& field : fields) {
      if (field.oneof != index)
        continue;
      const std::string id = std::to_string(field.number);
      Line("    k", field.camel, " = ", id, ",");
      ids += (ids.empty() ? "" : ", ") + id;
    }
    Line("  };");
    WriteFunction(oneof.case_type + " " + oneof.case_function + "() const",
                  "return static_cast<" + oneof.case_type + ">(" + base +
                      "WhichOneof({" + ids + "}));");
  }

  void WriteGetters(const Decoder& decoder,
                    const Field& field,
                    const std::string& base,
                    const std::string& slot) {
    const TypeTraits& traits = TraitsOf(field.type);
    std::string has = base + "Has(" + slot + ")";
    // What the getter looks at before it returns the field.
    std::string condition;
    if (!field.default_value.empty())
      condition = has;
    if (field.oneof != Field::kNoOneof) {
      const Oneof& oneof = decoder.oneofs[field.oneof];
      // Which of several is the last takes time, and is seldom the question.
      has += " && " + oneof.case_function + "() == " + oneof.case_type + "::k" +
             field.camel;
      condition = field.has_function + "()";
    }
    if (field.message_set_item) {
      const std::string item = std::string(kInternal) + "FindMessageSetItem(" +
                               base +
                               "GetRepeated<::protozero::ConstBytes>(1), " +
                               std::to_string(field.number) + ")";
      WriteFunction("bool " + field.has_function + "() const",
                    "return " + item + ".valid();");
      WriteGetter(field, "::protozero::ConstBytes", "() const",
                  "return " + item + ".as_bytes();");
      return;
    }
    WriteFunction("bool " + field.has_function + "() const",
                  "return " + has + ";");
    if (field.repetition != Repetition::kNotRepeated) {
      WriteRepeatedGetters(field, base);
      return;
    }

    std::string type = CppTypeOf(field);
    if (traits.element_type != nullptr)
      type = std::string("::protozero::") + traits.element_type;
    else if (field.type == FieldType::kEnum)
      type = "int32_t";
    std::string value = base + traits.accessor + "(" + slot + ")";
    if (!condition.empty()) {
      value = condition + " ? " + value + " : " +
              (field.default_value.empty() ? ZeroOf(field, type)
                                           : field.default_value);
    }
    WriteGetter(field, type, "() const", "return " + value + ";");
    if (field.type == FieldType::kEnum) {
      WriteFunction(field.type_name + " " + field.enum_getter + "() const",
                    "return static_cast<" + field.type_name + ">(" +
                        field.getter + "());");
    }
  }

  // Under each of its names.
  void WriteGetter(const Field& field,
                   const std::string& type,
                   const std::string& parameters,
                   const std::string& statement) {
    for (const std::string& name : {field.getter, field.second_getter}) {
      if (!name.empty())
        WriteFunction(type + " " + name + parameters, statement);
    }
  }

  static std::string ZeroOf(const Field& field, const std::string& type) {
    return field.type == FieldType::kBool ? "false" : type + "{}";
  }

  void WriteRepeatedGetters(const Field& field, const std::string& base) {
    const TypeTraits& traits = TraitsOf(field.type);
    const std::string id = std::to_string(field.number);
    if (traits.element_type != nullptr) {
      const std::string element =
          std::string("<::protozero::") + traits.element_type + ">";
      WriteGetter(field, "auto", "() const",
                  "return " + base + "GetRepeated" + element + "(" + id + ");");
      return;
    }
    // What the schema packs is read fastest packed; the other iterator is one
    // for all types of the schema, and has fields.
    const std::string get = field.repetition == Repetition::kRepeatedPacked
                                ? "GetRepeatedScalar"
                                : "GetRepeated";
    const std::string parameter = "(bool* " + error_ + " = nullptr) const";
    const std::string arguments = "(" + id + ", " + error_ + ");";
    WriteGetter(field, "auto", parameter,
                "return " + base + get +
                    "<::protozero::proto_utils::ProtoSchemaType::k" +
                    traits.name + ">" + arguments);
    if (field.type == FieldType::kEnum) {
      WriteFunction("auto " + field.enum_getter + parameter,
                    "return " + base +
                        "GetUnifiedRepeated<::protozero::proto_utils::"
                        "ProtoWireType::kVarInt, " +
                        field.type_name + ">" + arguments);
    }
  }

  const File& file_;
  std::string value_;
  std::string data_;
  std::string size_;
  std::string raw_;
  std::string key_;
  std::string entry_;
  std::string item_;
  std::string name_;
  std::string error_;
  std::string text_;
};

}  // namespace

std::string WritePbzeroHeader(const File& file) {
  return Writer(file).Write();
}

}  // namespace protozero::plugin
