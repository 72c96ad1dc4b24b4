// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/c/header_writer.h"

#include <set>
#include <vector>

#include "src/protoc_plugin/c_family/code_text.h"
#include "src/protoc_plugin/c_family/doc_comment.h"
#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/literals.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

struct CType {
  const char* type;    // The argument's; null for messages, strings and bytes.
  const char* suffix;  // Ends the name of pbz_append_int32(), for example.
};

CType TypeOf(FieldType type) {
  switch (type) {
    case FieldType::kDouble:
      return {"double", "double"};
    case FieldType::kFloat:
      return {"float", "float"};
    case FieldType::kInt64:
      return {"int64_t", "int64"};
    case FieldType::kUint64:
      return {"uint64_t", "uint64"};
    case FieldType::kInt32:
    case FieldType::kEnum:
      return {"int32_t", "int32"};
    case FieldType::kFixed64:
      return {"uint64_t", "fixed64"};
    case FieldType::kFixed32:
      return {"uint32_t", "fixed32"};
    case FieldType::kBool:
      return {"bool", "bool"};
    case FieldType::kString:
      return {nullptr, "string"};
    case FieldType::kBytes:
      return {nullptr, "bytes"};
    case FieldType::kGroup:
      return {nullptr, "group"};
    case FieldType::kMessage:
      return {nullptr, "nested"};
    case FieldType::kUint32:
      return {"uint32_t", "uint32"};
    case FieldType::kSfixed32:
      return {"int32_t", "sfixed32"};
    case FieldType::kSfixed64:
      return {"int64_t", "sfixed64"};
    case FieldType::kSint32:
      return {"int32_t", "sint32"};
    case FieldType::kSint64:
      return {"int64_t", "sint64"};
  }
  return {nullptr, nullptr};
}

class CHeaderWriter {
 public:
  CHeaderWriter(const CNames& names, const File& file)
      : names_(names), file_(file), suffix_(names.ParameterSuffix()) {}

  std::string Write() {
    const std::string guard = IncludeGuard(CHeaderPath(file_.path), {});
    code_.Line("// Made from ", CommentText(file_.path),
               " by protozero_plugin. Do not edit.");
    code_.Line();
    code_.Line("#ifndef ", guard);
    code_.Line("#define ", guard);
    code_.Line();
    code_.Line("#ifndef __cplusplus");
    code_.Line("#include <stdbool.h>");
    code_.Line("#endif");
    code_.Line("#include <stddef.h>");
    code_.Line("#include <stdint.h>");
    code_.Line();
    code_.Line("#include \"protozero/c/pbz_writer.h\"");
    for (const File* import : file_.public_imports)
      code_.Line("#include \"", CHeaderPath(import->path), "\"");
    code_.Line();

    for (const Message& message : file_.messages)
      FindForeignTypes(message);
    FindForeignTypes(file_.extensions);
    for (const std::string& type : foreign_types_)
      code_.Line("struct ", type, ";");
    if (!foreign_types_.empty())
      code_.Line();

    WriteEnums(file_.enums);
    for (const Message& message : file_.messages)
      WriteTypes(message);
    for (const Message& message : file_.messages)
      WriteFunctions(message);
    WriteExtensions(file_.extensions);
    code_.Line("#endif  // ", guard);
    return code_.text;
  }

 private:
  // Types of other files are declared, so that their headers need not be there.

  void FindForeignType(const Message* message) {
    if (message != nullptr && message->file != &file_)
      foreign_types_.insert(names_.Of(*message).type);
  }
  void FindForeignTypes(const std::vector<Field>& fields) {
    for (const Field& field : fields)
      FindForeignType(field.message_type);
  }
  void FindForeignTypes(const std::vector<ExtensionSet>& sets) {
    for (const ExtensionSet& set : sets) {
      FindForeignType(set.base);
      FindForeignTypes(set.fields);
    }
  }
  void FindForeignTypes(const Message& message) {
    FindForeignTypes(message.fields);
    FindForeignTypes(message.extensions);
    for (const Message& nested : message.messages)
      FindForeignTypes(nested);
  }

  void WriteEnums(const std::vector<Enum>& enums) {
    for (const Enum& entry : enums) {
      code_.text += DocComment(entry.comment, "");
      code_.Line("typedef int32_t ", names_.Of(entry), ";");
      code_.Line("enum {");
      for (const EnumValue& value : entry.values) {
        code_.text += DocComment(value.comment, "  ");
        code_.Line("  ", names_.Of(value), " = ", NumberLiteral(value.number),
                   &value == &entry.values.back() ? "" : ",");
      }
      code_.Line("};");
      code_.Line();
    }
  }

  // Writes all types, before the functions, which may take any of them.
  void WriteTypes(const Message& message) {
    const std::string& type = names_.Of(message).type;
    WriteEnums(message.enums);
    code_.text += DocComment(message.comment, "");
    code_.Line("typedef struct ", type, " {");
    code_.Line("  pbz_message message;");
    code_.Line("} ", type, ";");
    WriteNumbers(message.fields);
    code_.Line();
    for (const Message& nested : message.messages)
      WriteTypes(nested);
  }

  void WriteNumbers(const std::vector<Field>& fields) {
    if (fields.empty())
      return;
    code_.Line("enum {");
    for (const Field& field : fields) {
      code_.Line("  ", names_.Of(field).number, " = ",
                 std::to_string(field.number),
                 &field == &fields.back() ? "" : ",");
    }
    code_.Line("};");
  }

  void WriteFunctions(const Message& message) {
    const CMessageNames& names = names_.Of(message);
    const std::string own = "&" + message_ + "->message";
    Function("void " + names.begin + "(" + names.type + "* " + message_ +
                 ", pbz_writer* " + writer_ + ")",
             "pbz_begin(" + own + ", " + writer_ + ");");
    for (const Field& field : message.fields)
      WriteField(field, names.type + "* " + message_, own);
    Function("uint32_t " + names.end + "(" + names.type + "* " + message_ + ")",
             "return pbz_end(" + own + ");");
    code_.Line();
    WriteExtensions(message.extensions);
    for (const Message& nested : message.messages)
      WriteFunctions(nested);
  }

  void WriteExtensions(const std::vector<ExtensionSet>& sets) {
    for (const ExtensionSet& set : sets) {
      WriteNumbers(set.fields);
      for (const Field& field : set.fields) {
        WriteField(field, TypeName(*set.base) + "* " + message_,
                   AsMessage(*set.base, message_));
      }
      code_.Line();
    }
  }

  std::string TypeName(const Message& message) const {
    return (message.file == &file_ ? "" : "struct ") + names_.Of(message).type;
  }

  // Returns an expression for the pbz_message of an object, even if its type is
  // only declared here.
  std::string AsMessage(const Message& type, const std::string& object) const {
    return type.file == &file_ ? "&" + object + "->message"
                               : "(pbz_message*)(void*)" + object;
  }

  void WriteField(const Field& field,
                  const std::string& parameter,
                  const std::string& message) {
    const CFieldNames& names = names_.Of(field);
    const CType type = TypeOf(field.type);
    const std::string runtime = std::string("pbz_append_");
    const std::string begin = "void " + names.setter + "(" + parameter + ", ";
    const std::string arguments = "(" + message + ", " + names.number + ", ";
    code_.text += DocComment(field.comment, "");
    if (field.repetition == Repetition::kRepeatedPacked) {
      Function(begin + "const " + type.type + "* " + values_ + ", size_t " +
                   count_ + ")",
               "pbz_append_packed_" + std::string(type.suffix) + arguments +
                   values_ + ", " + count_ + ");");
    } else if (field.message_set_item) {
      WriteMessageSetItem(field, begin, message);
    } else if (field.message_type != nullptr) {
      Function(begin + TypeName(*field.message_type) + "* " + child_ + ")",
               "pbz_begin_" + std::string(type.suffix) + "(" +
                   AsMessage(*field.message_type, child_) + ", " + message +
                   ", " + names.number + ");");
    } else if (type.type != nullptr) {
      const std::string argument =
          field.enum_type != nullptr && field.enum_type->file == &file_
              ? names_.Of(*field.enum_type)
              : type.type;
      Function(begin + argument + " " + value_ + ")",
               runtime + type.suffix + arguments + value_ + ");");
    } else {
      const bool is_string = field.type == FieldType::kString;
      if (is_string) {
        Function(begin + "const char* " + string_ + ")",
                 "pbz_append_string" + arguments + string_ + ");");
      }
      Function("void " + (is_string ? names.sized : names.setter) + "(" +
                   parameter + ", const " + (is_string ? "char" : "void") +
                   "* " + data_ + ", size_t " + size_ + ")",
               "pbz_append_bytes" + arguments + data_ + ", " + size_ + ");");
    }
  }

  // Writes the function that begins an item:
  //
  //   repeated group Item = 1 { int32 type_id = 2; bytes message = 3; }
  void WriteMessageSetItem(const Field& field,
                           const std::string& begin,
                           const std::string& message) {
    code_.Line("// The item is to end after the child.");
    code_.Line("static inline ", begin, "pbz_message* ", item_, ", ",
               TypeName(*field.message_type), "* ", child_, ") {");
    code_.Line("  pbz_begin_group(", item_, ", ", message, ", 1);");
    code_.Line("  pbz_append_int32(", item_, ", 2, ", names_.Of(field).number,
               ");");
    code_.Line("  pbz_begin_nested(", AsMessage(*field.message_type, child_),
               ", ", item_, ", 3);");
    code_.Line("}");
  }

  void Function(const std::string& declaration, const std::string& statement) {
    code_.Function("static inline " + declaration, statement, "");
  }

  const CNames& names_;
  const File& file_;
  const std::string suffix_;
  const std::string child_ = "child" + suffix_;
  const std::string count_ = "count" + suffix_;
  const std::string data_ = "data" + suffix_;
  const std::string item_ = "item" + suffix_;
  const std::string message_ = "message" + suffix_;
  const std::string size_ = "size" + suffix_;
  const std::string string_ = "string" + suffix_;
  const std::string value_ = "value" + suffix_;
  const std::string values_ = "values" + suffix_;
  const std::string writer_ = "writer" + suffix_;
  std::set<std::string> foreign_types_;
  CodeText code_;
};

}  // namespace

std::string CHeaderPath(const std::string& proto_path) {
  return StripProtoSuffix(proto_path) + ".pbzero_c.h";
}

std::string WriteCHeader(const CNames& names, const File& file) {
  return CHeaderWriter(names, file).Write();
}

}  // namespace protozero::plugin
