// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/class_builder.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "src/protoc_plugin/c_family/identifiers.h"
#include "src/protoc_plugin/c_family/literals.h"
#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// The names inside one class. Each maps to a description of its owner, for
// errors.
class ClassScope {
 public:
  explicit ClassScope(const std::string& class_name) {
    Claim(class_name, "the class itself");
  }

  // Returns false if the name is taken.
  bool Claim(const std::string& name, const std::string& owner) {
    return owners_.emplace(name, owner).second;
  }

  bool IsFree(const std::string& name) const {
    return owners_.count(name) == 0;
  }

  const std::string& OwnerOf(const std::string& name) const {
    return owners_.at(name);
  }

 private:
  std::map<std::string, std::string> owners_;
};

std::string CaseType(const Oneof& oneof) {
  return ToCamelCase(oneof.name) + "Case";
}

class ClassBuilder {
 public:
  ClassBuilder(const CppNames& names,
               const File& file,
               const ClassNames& class_names,
               std::vector<Diagnostic>* diagnostics)
      : names_(names),
        file_(file),
        class_names_(class_names),
        diagnostics_(*diagnostics),
        scope_(class_names.identifier) {
    scope_.Claim("GetName", "a function of every message");
  }

  std::vector<CppField> MakeFields(const std::vector<Field>& schema) {
    std::map<std::string, int> uses_of_lower_case;
    for (const Field& entry : schema)
      ++uses_of_lower_case[ToLowerCase(entry.name)];

    std::vector<CppField> fields;
    for (const Field& entry : schema) {
      CppField field = MakeField(entry);
      CheckType(entry);
      // Names are in lower case, as in other C++ code for protobuf. If two
      // names would become the same, both stay as they are, so that no field
      // gets the name that another one seems to have.
      const std::string lower_case = ToLowerCase(field.name);
      if (uses_of_lower_case[lower_case] == 1)
        field.name = lower_case;
      ClaimSetters(field);
      fields.push_back(std::move(field));
    }

    // Different fields may have the same camel case: foo_1 and foo1. The field
    // with the lower number keeps the plain name, so that adding a field to a
    // schema does not rename older ones.
    std::vector<size_t> by_number(fields.size());
    for (size_t i = 0; i < by_number.size(); ++i)
      by_number[i] = i;
    std::sort(by_number.begin(), by_number.end(), [&](size_t a, size_t b) {
      return schema[a].number < schema[b].number;
    });
    for (const size_t index : by_number)
      ClaimConstants(&fields[index]);
    return fields;
  }

  // Names everything in the decoder of `fields`. Refuses nothing: if two things
  // want a name, the getters of the schema's fields get it, and the others get
  // underscores.
  CppDecoder MakeDecoder(const std::vector<Oneof>& oneofs,
                         std::vector<CppField>* fields) const {
    CppDecoder decoder;
    decoder.identifier = class_names_.decoder;
    ClassScope scope(decoder.identifier);
    // A decoder inherits the constructors of the base class by this name.
    scope.Claim("MessageDecoder", "the base class");

    const auto claim = [&scope](std::string name) {
      while (!scope.Claim(name, std::string()))
        name += '_';
      return name;
    };
    std::vector<CppField*> to_escape;
    for (CppField& field : *fields) {
      if (!IsCallable(field.name) || !scope.IsFree(field.name)) {
        to_escape.push_back(&field);
        continue;
      }
      field.getter = claim(field.name);
      decoder.hides_base |= IsUsedOfDecoder(field.name);
    }
    for (CppField* field : to_escape)
      field->getter = claim(field->name + "_");
    for (CppField& field : *fields) {
      field.has_function = claim("has_" + field.name);
      if (field.schema->type == FieldType::kEnum)
        field.enum_getter = claim(field.name + "_enum");
    }

    for (size_t i = 0; i < oneofs.size(); ++i) {
      CppOneof entry;
      entry.schema = &oneofs[i];
      entry.case_type = claim(CaseType(oneofs[i]));
      entry.case_function = claim(oneofs[i].name + "_case");
      entry.not_set = "kNotSet";
      for (const CppField& field : *fields) {
        if (field.schema->oneof == i && field.camel == "NotSet")
          entry.not_set += '_';
      }
      decoder.oneofs.push_back(std::move(entry));
    }
    for (CppField& field : *fields) {
      if (IsSystemMacro(field.getter) || IsSystemFunctionMacro(field.getter))
        field.second_getter = claim(field.getter + "_");
    }
    return decoder;
  }

  void AddNestedTypes(const Message& schema, CppMessage* message) {
    // Types come first: they keep a name that a function of the class wants,
    // too.
    std::vector<AliasRequest> requests;
    message->nested_messages.resize(schema.messages.size());
    for (size_t i = 0; i < schema.messages.size(); ++i) {
      const Message& nested = schema.messages[i];
      TypeAlias& alias = message->nested_messages[i];
      alias.target = names_.Qualified(nested);
      requests.push_back({&nested, "message", nested.name, &alias.identifier});
    }
    message->nested_enums.resize(schema.enums.size());
    for (size_t i = 0; i < schema.enums.size(); ++i) {
      const Enum& nested = schema.enums[i];
      const CppEnum& names = names_.Of(nested);
      NestedEnum& entry = message->nested_enums[i];
      entry.alias.target = names_.Qualified(nested);
      const std::string scope = names_.Scope(file_);
      for (const auto& [function, suffix, kind] : kEnumFunctionNames)
        entry.target_functions.*function = scope + names.functions.*function;
      requests.push_back(
          {&nested, "enum", nested.name, &entry.alias.identifier});
      entry.constants.resize(nested.values.size());
      for (size_t j = 0; j < nested.values.size(); ++j) {
        entry.constants[j].enumerator = names.values[j].identifier;
        requests.push_back({&nested.values[j], "enum value",
                            nested.values[j].name,
                            &entry.constants[j].identifier});
      }
    }
    for (size_t i = 0; i < schema.enums.size(); ++i) {
      const Enum& nested = schema.enums[i];
      EnumFunctions& functions = message->nested_enums[i].functions;
      for (const auto& [function, suffix, kind] : kEnumFunctionNames) {
        requests.push_back({&nested, kind, nested.name + suffix,
                            &(functions.*function), /*is_made_up=*/true});
      }
    }
    requests.push_back({&schema, "the decoder of message", "Decoder",
                        &message->decoder.alias, /*is_made_up=*/true});
    message->case_aliases.resize(schema.oneofs.size());
    for (size_t i = 0; i < schema.oneofs.size(); ++i) {
      requests.push_back({&schema.oneofs[i], "the case of oneof",
                          CaseType(schema.oneofs[i]), &message->case_aliases[i],
                          /*is_made_up=*/true});
    }
    ClaimAliases(requests);
    AddSecondNames(message);
  }

  // Names the descriptor function. The name yields to all others, so this has
  // to be called after they are claimed.
  std::string NameDescriptorFunction() {
    std::string name = "DescriptorSet";
    while (!scope_.Claim(name, std::string()))
      name += '_';
    return name;
  }

 private:
  // A name that a class would like to have for one of its nested declarations.
  struct AliasRequest {
    const Declaration* declaration;
    std::string kind;
    std::string name;
    std::string* identifier;  // To be filled in.
    bool is_made_up = false;  // By the plugin: the schema has no such name.
  };

  void Error(const Declaration& where, const std::string& reason) {
    diagnostics_.push_back({file_.path, where.line, where.full_name, reason});
  }

  void ErrorOfName(const Declaration& where, const std::string& name) {
    Error(where, "its C++ name " + name + " is also that of " +
                     scope_.OwnerOf(name) + "; rename one of them");
  }

  CppField MakeField(const Field& schema) const {
    CppField field;
    field.schema = &schema;
    field.name = schema.name;
    field.default_value = DefaultLiteral(schema, names_.runtime());
    if (schema.enum_type != nullptr)
      field.type_name = names_.Qualified(*schema.enum_type);
    if (schema.message_type == nullptr)
      return field;
    const Message& type = *schema.message_type;
    field.type_name = names_.Qualified(type);
    field.raw_setter = schema.is_lazy && !schema.message_set_item;
    if (type.is_map_entry)
      field.map_entry = {MakeField(type.fields[0]), MakeField(type.fields[1])};
    return field;
  }

  void CheckType(const Field& field) {
    const Message* type = field.message_type;
    if (type == nullptr || type->file == &file_ || !type->is_extension_wrapper)
      return;
    Error(field, "its type " + type->full_name +
                     " holds nothing but extensions of " +
                     type->extensions[0].base->full_name +
                     ", so its class is for writing those; move them to "
                     "another message of " +
                     type->file->path);
  }

  void ClaimSetters(const CppField& field) {
    const bool is_added =
        field.schema->repetition == Repetition::kRepeatedNotPacked;
    const std::string setter = (is_added ? "add_" : "set_") + field.name;
    ClaimOrReport(*field.schema, setter);
    if (field.raw_setter)
      ClaimOrReport(*field.schema, setter + "_raw");
  }

  void ClaimOrReport(const Field& field, const std::string& name) {
    if (!scope_.Claim(name, "field " + field.full_name))
      ErrorOfName(field, name);
  }

  void ClaimConstants(CppField* field) {
    const std::string number = std::to_string(field->schema->number);
    std::string camel = ToCamelCase(field->schema->name);
    if (camel.empty())  // `_` is a valid name for a field.
      camel = "Field" + number;
    const auto names = [](const std::string& base) {
      return std::vector<std::string>{"k" + base, "k" + base + "FieldNumber",
                                      "FieldMetadata_" + base};
    };
    for (const std::string& name : names(camel)) {
      if (!scope_.IsFree(name)) {
        camel += "_" + number;
        break;
      }
    }
    field->camel = camel;
    for (const std::string& name : names(camel))
      ClaimOrReport(*field->schema, name);
  }

  // Adds second names. They are made up last, so they yield to all others.
  void AddSecondNames(CppMessage* message) {
    const auto claim = [this](std::string name) {
      if (!IsSystemMacro(name))
        return std::string();
      do {
        name += '_';
      } while (!scope_.Claim(name, std::string()));
      return name;
    };
    const auto add_type = [&](const TypeAlias& alias) {
      const std::string second = claim(alias.identifier);
      if (!second.empty())
        message->second_names.push_back({second, alias.target});
    };
    for (const TypeAlias& alias : message->nested_messages)
      add_type(alias);
    for (NestedEnum& nested : message->nested_enums) {
      add_type(nested.alias);
      std::vector<ConstantAlias> constants;
      for (const ConstantAlias& constant : nested.constants) {
        constants.push_back(constant);
        const std::string second = claim(constant.identifier);
        if (!second.empty())
          constants.push_back({second, constant.enumerator});
      }
      nested.constants = std::move(constants);
    }
  }

  // An alias in a class is a convenience: the name at namespace level is always
  // there. So where something else has the name, the alias yields and gets an
  // underscore. It also yields to inherited names, or a nested `message
  // Finalize` would make Finalize() unreachable. Aliases that need no
  // underscore choose first, which makes the result independent of the order of
  // the schema.
  void ClaimAliases(const std::vector<AliasRequest>& requests) {
    const auto claim = [this](const std::string& name,
                              const AliasRequest& request) {
      *request.identifier = name;
      return scope_.Claim(name,
                          request.kind + " " + request.declaration->full_name);
    };
    std::vector<const AliasRequest*> to_escape;
    for (const AliasRequest& request : requests) {
      const std::string& name = request.name;
      if (EscapeName(name) != name || IsMessageMember(name) ||
          !claim(name, request)) {
        to_escape.push_back(&request);
      }
    }
    for (const AliasRequest* request : to_escape) {
      std::string name = request->name + "_";
      while (request->is_made_up && !scope_.IsFree(name))
        name += '_';
      if (!claim(name, *request))
        ErrorOfName(*request->declaration, name);
    }
  }

  const CppNames& names_;
  const File& file_;
  const ClassNames& class_names_;
  std::vector<Diagnostic>& diagnostics_;
  ClassScope scope_;
};

}  // namespace

CppMessage BuildMessage(const CppNames& names,
                        const Message& message,
                        std::vector<Diagnostic>* diagnostics) {
  const ClassNames& class_names = names.Of(message);
  ClassBuilder builder(names, *message.file, class_names, diagnostics);
  CppMessage result;
  result.schema = &message;
  result.identifier = class_names.identifier;
  result.fields = builder.MakeFields(message.fields);
  result.decoder = builder.MakeDecoder(message.oneofs, &result.fields);
  builder.AddNestedTypes(message, &result);
  result.descriptor_function = builder.NameDescriptorFunction();
  return result;
}

CppExtensionSet BuildExtensionSet(const CppNames& names,
                                  const File& file,
                                  const ExtensionSet& set,
                                  std::vector<Diagnostic>* diagnostics) {
  const ClassNames& class_names = names.Of(set);
  ClassBuilder builder(names, file, class_names, diagnostics);
  CppExtensionSet result;
  result.identifier = class_names.identifier;
  result.base = names.Qualified(*set.base);
  result.scope = set.scope == nullptr ? file.path : set.scope->full_name;
  result.fields = builder.MakeFields(set.fields);
  result.decoder = builder.MakeDecoder({}, &result.fields);
  result.decoder.alias = "Decoder";
  result.descriptor_function = builder.NameDescriptorFunction();
  return result;
}

}  // namespace protozero::plugin
