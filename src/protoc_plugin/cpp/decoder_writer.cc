// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/decoder_writer.h"

#include <algorithm>
#include <map>

#include "src/protoc_plugin/c_family/doc_comment.h"
#include "src/protoc_plugin/cpp/cpp_types.h"

namespace protozero::plugin {

namespace {

class DecoderWriter {
 public:
  DecoderWriter(const CppDecoder& decoder,
                const std::vector<CppField>& fields,
                const std::string& runtime,
                const std::string& parameter_suffix,
                CodeText* code)
      : decoder_(decoder),
        fields_(fields),
        code_(*code),
        runtime_(runtime),
        base_(decoder.hides_base ? "MessageDecoder::" : ""),
        parse_error_("parse_error_ptr" + parameter_suffix) {}

  void Write() {
    // The slot of a field is its rank among the ids.
    std::map<int32_t, size_t> slots;
    for (const CppField& field : fields_)
      slots.emplace(field.schema->message_set_item ? 1 : field.schema->number,
                    0);
    std::vector<std::string> ids;
    for (auto& entry : slots) {
      entry.second = ids.size();
      ids.push_back(std::to_string(entry.first));
    }
    code_.List("class " + decoder_.identifier + " : public " + runtime_ +
                   "MessageDecoder<",
               ids, "> {");
    code_.Line(" public:");
    code_.Line("  using MessageDecoder::MessageDecoder;");
    if (HasSlotsAndIds()) {
      code_.Line(
          "  // Has() and As...() take slots: ranks among the ids above. All "
          "else takes ids.");
    }
    for (size_t i = 0; i < decoder_.oneofs.size(); ++i)
      WriteOneof(decoder_.oneofs[i], i);
    for (const CppField& field : fields_)
      WriteGetters(field, std::to_string(slots[field.schema->number]));
    code_.Line("};");
    code_.Line();
  }

 private:
  // Returns whether the getters use both slots and ids.
  bool HasSlotsAndIds() const {
    return std::any_of(fields_.begin(), fields_.end(), [](const auto& field) {
      return !field.schema->message_set_item &&
             (field.schema->repetition != Repetition::kNotRepeated ||
              field.schema->oneof != Field::kNoOneof);
    });
  }

  void WriteOneof(const CppOneof& oneof, size_t index) {
    code_.text += DocComment(oneof.schema->comment, "  ");
    code_.Line("  enum class ", oneof.case_type, " : int32_t {");
    code_.Line("    ", oneof.not_set, " = 0,");
    std::vector<std::string> ids;
    for (const CppField& field : fields_) {
      if (field.schema->oneof != index)
        continue;
      const std::string id = std::to_string(field.schema->number);
      code_.Line("    k", field.camel, " = ", id, ",");
      ids.push_back(id);
    }
    code_.Line("  };");
    code_.List("  " + oneof.case_type + " " + oneof.case_function +
                   "() const { return static_cast<" + oneof.case_type + ">(" +
                   base_ + "WhichOneof({",
               ids, "})); }");
  }

  void WriteGetters(const CppField& field, const std::string& slot) {
    const TypeTraits& traits = TraitsOf(field);
    std::string has = base_ + "Has(" + slot + ")";
    // The getter tests this before it returns the field.
    std::string condition;
    if (!field.default_value.empty())
      condition = has;
    if (field.schema->oneof != Field::kNoOneof) {
      const CppOneof& oneof = decoder_.oneofs[field.schema->oneof];
      // Only members of oneofs pay for finding the last of several.
      has += " && " + oneof.case_function + "() == " + oneof.case_type + "::k" +
             field.camel;
      condition = field.has_function + "()";
    }
    if (field.schema->message_set_item) {
      const std::string item = runtime_ + "internal::FindMessageSetItem(" +
                               base_ + "GetRepeated<" + runtime_ +
                               "ConstBytes>(1), " +
                               std::to_string(field.schema->number) + ")";
      code_.Function("bool " + field.has_function + "() const",
                     "return " + item + ".valid();");
      WriteGetter(field, runtime_ + "ConstBytes", "() const",
                  "return " + item + ".as_bytes();");
      return;
    }
    code_.Function("bool " + field.has_function + "() const",
                   "return " + has + ";");
    if (field.schema->repetition != Repetition::kNotRepeated) {
      WriteRepeatedGetters(field);
      return;
    }

    std::string type = CppTypeOf(field);
    if (traits.element_type != nullptr)
      type = runtime_ + traits.element_type;
    else if (field.schema->type == FieldType::kEnum)
      type = "int32_t";
    std::string value = base_ + traits.accessor + "(" + slot + ")";
    if (!condition.empty()) {
      value = condition + " ? " + value + " : " +
              (field.default_value.empty() ? ZeroOf(field, type)
                                           : field.default_value);
    }
    WriteGetter(field, type, "() const", "return " + value + ";");
    if (field.schema->type == FieldType::kEnum) {
      code_.Function(field.type_name + " " + field.enum_getter + "() const",
                     "return static_cast<" + field.type_name + ">(" +
                         field.getter + "());");
    }
  }

  // Writes the getter under each of its names.
  void WriteGetter(const CppField& field,
                   const std::string& type,
                   const std::string& parameters,
                   const std::string& statement) {
    for (const std::string& name : {field.getter, field.second_getter}) {
      if (!name.empty())
        code_.Function(type + " " + name + parameters, statement);
    }
  }

  static std::string ZeroOf(const CppField& field, const std::string& type) {
    return field.schema->type == FieldType::kBool ? "false" : type + "{}";
  }

  void WriteRepeatedGetters(const CppField& field) {
    const TypeTraits& traits = TraitsOf(field);
    const std::string id = std::to_string(field.schema->number);
    if (traits.element_type != nullptr) {
      const std::string element = "<" + runtime_ + traits.element_type + ">";
      WriteGetter(
          field, "auto", "() const",
          "return " + base_ + "GetRepeated" + element + "(" + id + ");");
      return;
    }
    // Packed data is read fastest as GetRepeatedScalar(). The other iterator is
    // one type for all schema types, and has fields.
    const std::string get =
        field.schema->repetition == Repetition::kRepeatedPacked
            ? "GetRepeatedScalar"
            : "GetRepeated";
    const std::string parameter =
        "(bool* " + parse_error_ + " = nullptr) const";
    const std::string arguments = "(" + id + ", " + parse_error_ + ");";
    WriteGetter(field, "auto", parameter,
                "return " + base_ + get + "<" + runtime_ +
                    "proto_utils::ProtoSchemaType::k" + traits.name + ">" +
                    arguments);
    if (field.schema->type == FieldType::kEnum) {
      code_.Function("auto " + field.enum_getter + parameter,
                     "return " + base_ + "GetUnifiedRepeated<" + runtime_ +
                         "proto_utils::"
                         "ProtoWireType::kVarInt, " +
                         field.type_name + ">" + arguments);
    }
  }

  const CppDecoder& decoder_;
  const std::vector<CppField>& fields_;
  CodeText& code_;
  const std::string& runtime_;
  // Qualifies functions of the base class.
  const std::string base_;
  const std::string parse_error_;
};

}  // namespace

void WriteDecoder(const CppDecoder& decoder,
                  const std::vector<CppField>& fields,
                  const std::string& runtime,
                  const std::string& parameter_suffix,
                  CodeText* code) {
  DecoderWriter(decoder, fields, runtime, parameter_suffix, code).Write();
}

}  // namespace protozero::plugin
