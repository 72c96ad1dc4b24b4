// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/model_builder.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <google/protobuf/descriptor.pb.h>

#include "src/protoc_plugin/literals.h"
#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/reserved_words.h"

namespace protozero::plugin {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::OneofDescriptor;

namespace {

// The names inside one class, each with what it stands for.
class ClassScope {
 public:
  explicit ClassScope(const std::string& class_name) {
    Claim(class_name, "the class itself");
  }

  // False if the name is taken.
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

// A C++ expression for the value that a getter returns in place of an absent
// field; empty for what it returns anyway.
std::string DefaultValue(const FieldDescriptor& field) {
  if (field.is_repeated())
    return std::string();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return IntegerLiteral(field.default_value_int32());
    case FieldDescriptor::CPPTYPE_INT64:
      return IntegerLiteral(field.default_value_int64());
    case FieldDescriptor::CPPTYPE_UINT32:
      return IntegerLiteral(field.default_value_uint32());
    case FieldDescriptor::CPPTYPE_UINT64:
      return IntegerLiteral(field.default_value_uint64());
    case FieldDescriptor::CPPTYPE_ENUM:
      return IntegerLiteral(field.default_value_enum()->number());
    case FieldDescriptor::CPPTYPE_BOOL:
      return field.default_value_bool() ? "true" : "";
    case FieldDescriptor::CPPTYPE_FLOAT:
      return FloatLiteral(field.default_value_float());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FloatLiteral(field.default_value_double());
    case FieldDescriptor::CPPTYPE_STRING:
      return BytesLiteral(std::string(field.default_value_string()),
                          field.type() == FieldDescriptor::TYPE_BYTES);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return std::string();
}

// Builds the model of one file.
class FileBuilder {
 public:
  FileBuilder(const CppNames& names,
              const SymbolTable& symbols,
              const FileDescriptor& descriptor,
              File* file,
              std::vector<Diagnostic>* diagnostics)
      : names_(names),
        symbols_(symbols),
        descriptor_(descriptor),
        file_(*file),
        diagnostics_(*diagnostics) {}

  void Build() {
    file_.proto_path = std::string(descriptor_.name());
    file_.header_path = HeaderPath(file_.proto_path);
    file_.namespaces = names_.Namespaces(descriptor_);
    file_.guard = IncludeGuard(file_.header_path, file_.namespaces);
    CheckNamespace();
    CheckClashes();

    for (int i = 0; i < descriptor_.public_dependency_count(); ++i)
      Include(*descriptor_.public_dependency(i));

    for (int i = 0; i < descriptor_.enum_type_count(); ++i)
      AddEnum(*descriptor_.enum_type(i));
    for (int i = 0; i < descriptor_.message_type_count(); ++i)
      AddMessage(*descriptor_.message_type(i));
    AddExtensions(names_.FileExtensions(descriptor_));

    file_.includes.assign(includes_.begin(), includes_.end());
    AddForwardDeclarations();
    ChooseParameterNames();
  }

 private:
  template <typename AnyDescriptor>
  void Error(const AnyDescriptor& where, const std::string& reason) {
    ErrorAt(LineOf(where), std::string(where.full_name()), reason);
  }

  void ErrorAt(int line,
               const std::string& element,
               const std::string& reason) {
    Diagnostic diagnostic;
    diagnostic.proto_path = std::string(descriptor_.name());
    diagnostic.line = line;
    diagnostic.element = element;
    diagnostic.reason = reason;
    diagnostics_.push_back(diagnostic);
  }

  void CheckNamespace() {
    const std::vector<std::string>& namespaces = file_.namespaces;
    if (namespaces.empty())
      return;
    if (namespaces[0] == "protozero") {
      if (namespaces.size() == 1 ||
          (namespaces.size() == 2 &&
           (namespaces[1] == "internal" || namespaces[1] == "proto_utils"))) {
        ErrorAt(LineOfPackage(descriptor_), std::string(descriptor_.package()),
                "the generated code would be in a namespace of the runtime, " +
                    Qualify(namespaces).substr(2) +
                    "; set the option wrapper_namespace or rename the package");
      }
    } else if (IsGlobalName(namespaces[0])) {
      // Not from the package, whose words are escaped.
      ErrorAt(1, std::string(),
              "the namespace " + namespaces[0] +
                  " is taken by the C or C++ library; set another "
                  "wrapper_namespace or add a package");
    }
  }

  void CheckClashes() {
    for (const SymbolTable::Clash& clash : symbols_.FindClashes(descriptor_)) {
      std::string other = clash.other->owner;
      if (clash.other_path != file_.proto_path)
        other += " of " + clash.other_path;
      ErrorAt(clash.symbol->line, clash.symbol->element,
              "its C++ name " + clash.symbol->qualified.substr(2) +
                  " is also that of " + other + "; rename one of them");
    }
  }

  void Include(const FileDescriptor& file) {
    includes_.insert(HeaderPath(std::string(file.name())));
    AddVisibleFile(file);
  }

  // A header makes visible what it defines and what it includes.
  void AddVisibleFile(const FileDescriptor& file) {
    if (!visible_files_.insert(&file).second)
      return;
    for (int i = 0; i < file.public_dependency_count(); ++i)
      AddVisibleFile(*file.public_dependency(i));
  }

  void AddEnum(const EnumDescriptor& descriptor) {
    file_.enums.push_back(names_.MakeEnum(descriptor));
    AddSecondName(file_.enums.back().identifier);
  }

  // Of a type in the namespace of the file.
  void AddSecondName(const std::string& identifier) {
    const std::string second = names_.SecondName(descriptor_, identifier);
    if (!second.empty())
      file_.second_names.push_back({second, identifier});
  }

  void AddMessage(const Descriptor& descriptor) {
    if (!CppNames::IsExtensionWrapper(descriptor)) {
      Message message;
      message.identifier = names_.MessageIdentifier(descriptor);
      message.full_name = "." + std::string(descriptor.full_name());
      std::vector<const FieldDescriptor*> fields;
      for (int i = 0; i < descriptor.field_count(); ++i)
        fields.push_back(descriptor.field(i));
      ClassScope scope(message.identifier);
      scope.Claim("GetName", "a function of every message");
      message.fields = MakeFields(fields, &scope);
      message.decoder =
          MakeDecoder(message.identifier, fields, &message.fields);
      AddNestedTypes(descriptor, &scope, &message);
      file_.messages.push_back(message);
      AddSecondName(message.identifier);
    }
    AddExtensions(names_.MessageExtensions(descriptor));
    for (int i = 0; i < descriptor.enum_type_count(); ++i)
      AddEnum(*descriptor.enum_type(i));
    for (int i = 0; i < descriptor.nested_type_count(); ++i)
      AddMessage(*descriptor.nested_type(i));
  }

  void AddExtensions(const std::vector<ExtensionScope>& extensions) {
    for (const ExtensionScope& entry : extensions) {
      ExtensionSet set;
      set.identifier = entry.identifier;
      set.base = names_.QualifiedMessage(*entry.base);
      set.scope = entry.scope == nullptr
                      ? file_.proto_path
                      : std::string(entry.scope->full_name());
      const FileDescriptor& base_file = *entry.base->file();
      if (std::string(base_file.name()) == "google/protobuf/descriptor.proto") {
        // Declaring an option of one's own is no reason to need the header of
        // descriptor.proto: hardly anybody who does so writes descriptors.
        set.required_header = HeaderPath(std::string(base_file.name()));
      } else if (&base_file != &descriptor_) {
        Include(base_file);
      }
      AddInheritedNames(*entry.base);
      ClassScope scope(set.identifier);
      scope.Claim("GetName", "a function of every message");
      set.fields = MakeFields(entry.fields, &scope);
      set.decoder = MakeDecoder(set.identifier, entry.fields, &set.fields);
      set.decoder.alias = "Decoder";
      file_.extension_sets.push_back(set);
      if (set.required_header.empty())
        AddSecondName(set.identifier);
    }
  }

  std::vector<Field> MakeFields(
      const std::vector<const FieldDescriptor*>& descriptors,
      ClassScope* scope) {
    std::map<std::string, int> uses_of_lower_case;
    for (const FieldDescriptor* descriptor : descriptors)
      ++uses_of_lower_case[ToLowerCase(std::string(descriptor->name()))];

    std::vector<Field> fields;
    for (const FieldDescriptor* descriptor : descriptors) {
      Field field = MakeField(*descriptor);
      // As in other C++ code for protobuf. Names that this would make the same
      // stay as they are: no field then has what looks like another's name.
      const std::string lower_case = ToLowerCase(field.name);
      if (uses_of_lower_case[lower_case] == 1)
        field.name = lower_case;
      ClaimSetters(*descriptor, field, scope);
      fields.push_back(std::move(field));
    }

    // Different fields may come out as the same camel case: foo_1 and foo1. The
    // lower number keeps the plain name, so that a field that is added to a
    // schema does not rename those it already had.
    std::vector<size_t> by_number(fields.size());
    for (size_t i = 0; i < by_number.size(); ++i)
      by_number[i] = i;
    std::sort(by_number.begin(), by_number.end(), [&](size_t a, size_t b) {
      return fields[a].number < fields[b].number;
    });
    for (const size_t index : by_number)
      ClaimConstants(*descriptors[index], &fields[index], scope);
    return fields;
  }

  Field MakeField(const FieldDescriptor& descriptor) {
    Field field;
    field.name = std::string(descriptor.name());
    field.number = descriptor.number();
    // model.h promises the same values.
    field.type = static_cast<FieldType>(descriptor.type());
    if (descriptor.is_repeated()) {
      field.repetition = descriptor.is_packed()
                             ? Repetition::kRepeatedPacked
                             : Repetition::kRepeatedNotPacked;
    }
    switch (field.type) {
      case FieldType::kGroup:
      case FieldType::kMessage: {
        const Descriptor& type = *descriptor.message_type();
        if (type.file() != &descriptor_ && CppNames::IsExtensionWrapper(type)) {
          Error(descriptor,
                "its type " + std::string(type.full_name()) +
                    " holds nothing but extensions of " +
                    std::string(
                        type.extension(0)->containing_type()->full_name()) +
                    ", so its class is for writing those; move them to "
                    "another message of " +
                    std::string(type.file()->name()));
        }
        field.type_name = names_.QualifiedMessage(type);
        field.message_set_item =
            descriptor.containing_type()->options().message_set_wire_format();
        field.raw_setter =
            descriptor.options().lazy() && !field.message_set_item;
        if (descriptor.is_map()) {
          field.map_entry = {MakeField(*type.map_key()),
                             MakeField(*type.map_value())};
        }
        Reference(type);
        break;
      }
      case FieldType::kEnum:
        field.type_name = names_.QualifiedEnum(*descriptor.enum_type());
        Reference(*descriptor.enum_type());
        break;
      case FieldType::kDouble:
      case FieldType::kFloat:
      case FieldType::kInt64:
      case FieldType::kUint64:
      case FieldType::kInt32:
      case FieldType::kFixed64:
      case FieldType::kFixed32:
      case FieldType::kBool:
      case FieldType::kString:
      case FieldType::kBytes:
      case FieldType::kUint32:
      case FieldType::kSfixed32:
      case FieldType::kSfixed64:
      case FieldType::kSint32:
      case FieldType::kSint64:
        break;
    }
    return field;
  }

  void ClaimSetters(const FieldDescriptor& descriptor,
                    const Field& field,
                    ClassScope* scope) {
    const std::string setter =
        (field.repetition == Repetition::kRepeatedNotPacked ? "add_" : "set_") +
        field.name;
    ClaimOrReport(descriptor, setter, scope);
    if (field.raw_setter)
      ClaimOrReport(descriptor, setter + "_raw", scope);
  }

  void ClaimOrReport(const FieldDescriptor& descriptor,
                     const std::string& name,
                     ClassScope* scope) {
    if (!scope->Claim(name, "field " + std::string(descriptor.full_name()))) {
      Error(descriptor, "its C++ name " + name + " is also that of " +
                            scope->OwnerOf(name) + "; rename one of them");
    }
  }

  void ClaimConstants(const FieldDescriptor& descriptor,
                      Field* field,
                      ClassScope* scope) {
    const std::string number = std::to_string(field->number);
    std::string camel = ToCamelCase(std::string(descriptor.name()));
    if (camel.empty())  // `_` is a valid name for a field.
      camel = "Field" + number;
    const auto names = [](const std::string& base) {
      return std::vector<std::string>{"k" + base, "k" + base + "FieldNumber",
                                      "FieldMetadata_" + base};
    };
    for (const std::string& name : names(camel)) {
      if (!scope->IsFree(name)) {
        camel += "_" + number;
        break;
      }
    }
    field->camel = camel;
    for (const std::string& name : names(camel))
      ClaimOrReport(descriptor, name, scope);
  }

  static std::string CaseType(const OneofDescriptor& oneof) {
    return ToCamelCase(std::string(oneof.name())) + "Case";
  }

  // Names everything in the decoder of |descriptors|. Nothing is refused: where
  // two things want a name, the getters of the schema's fields have it, and the
  // others get underscores.
  Decoder MakeDecoder(const std::string& class_name,
                      const std::vector<const FieldDescriptor*>& descriptors,
                      std::vector<Field>* fields) {
    Decoder decoder;
    decoder.identifier = names_.DecoderIdentifier(descriptor_, class_name);
    ClassScope scope(decoder.identifier);
    // The base class, by which its constructors are inherited.
    scope.Claim("MessageDecoder", "the base class");

    const auto claim = [&scope](std::string name) {
      while (!scope.Claim(name, std::string()))
        name += '_';
      return name;
    };
    std::vector<Field*> to_escape;
    for (Field& field : *fields) {
      if (!IsCallable(field.name) || !scope.IsFree(field.name)) {
        to_escape.push_back(&field);
        continue;
      }
      field.getter = claim(field.name);
      decoder.hides_base |= IsUsedOfDecoder(field.name);
    }
    for (Field* field : to_escape)
      field->getter = claim(field->name + "_");
    for (Field& field : *fields) {
      field.has_function = claim("has_" + field.name);
      if (field.type == FieldType::kEnum)
        field.enum_getter = claim(field.name + "_enum");
    }

    for (size_t i = 0; i < fields->size(); ++i) {
      const OneofDescriptor* oneof = descriptors[i]->real_containing_oneof();
      Field& field = (*fields)[i];
      field.default_value = DefaultValue(*descriptors[i]);
      if (oneof == nullptr)
        continue;
      // Real ones come before those of proto3's optional fields.
      field.oneof = static_cast<size_t>(oneof->index());
      if (decoder.oneofs.size() <= field.oneof)
        decoder.oneofs.resize(field.oneof + 1);
    }
    for (size_t i = 0; i < decoder.oneofs.size(); ++i) {
      const OneofDescriptor& oneof =
          *descriptors[0]->containing_type()->oneof_decl(static_cast<int>(i));
      Oneof& entry = decoder.oneofs[i];
      entry.case_type = claim(CaseType(oneof));
      entry.case_function = claim(std::string(oneof.name()) + "_case");
      entry.not_set = "kNotSet";
      for (const Field& field : *fields) {
        if (field.oneof == i && field.camel == "NotSet")
          entry.not_set += '_';
      }
    }
    for (Field& field : *fields) {
      if (IsSystemMacro(field.getter) || IsSystemFunctionMacro(field.getter))
        field.second_getter = claim(field.getter + "_");
    }
    return decoder;
  }

  // A name that a class would like to have for one of its nested declarations.
  struct AliasRequest {
    int line;
    std::string element;
    std::string kind;
    std::string name;
    std::string* identifier;  // To be filled in.
    bool is_made_up = false;  // By the plugin: the schema has no such name.
  };

  template <typename AnyDescriptor>
  static AliasRequest RequestAlias(const AnyDescriptor& descriptor,
                                   const std::string& kind,
                                   const std::string& name,
                                   std::string* identifier,
                                   bool is_made_up = false) {
    return {LineOf(descriptor),
            std::string(descriptor.full_name()),
            kind,
            name,
            identifier,
            is_made_up};
  }

  void AddNestedTypes(const Descriptor& descriptor,
                      ClassScope* scope,
                      Message* message) {
    // Types come first: they keep a name that a function of the class wants
    // too.
    std::vector<AliasRequest> requests;
    message->nested_messages.resize(
        static_cast<size_t>(descriptor.nested_type_count()));
    for (int i = 0; i < descriptor.nested_type_count(); ++i) {
      const Descriptor& nested = *descriptor.nested_type(i);
      TypeAlias& alias = message->nested_messages[static_cast<size_t>(i)];
      alias.target = names_.QualifiedMessage(nested);
      requests.push_back(RequestAlias(
          nested, "message", std::string(nested.name()), &alias.identifier));
    }
    message->nested_enums.resize(
        static_cast<size_t>(descriptor.enum_type_count()));
    for (int i = 0; i < descriptor.enum_type_count(); ++i) {
      const EnumDescriptor& nested = *descriptor.enum_type(i);
      const Enum names = names_.MakeEnum(nested);
      NestedEnum& entry = message->nested_enums[static_cast<size_t>(i)];
      entry.alias.target = names_.QualifiedEnum(nested);
      const std::string scope_of_names = Qualify(file_.namespaces) + "::";
      entry.target_functions = {scope_of_names + names.functions.name,
                                scope_of_names + names.functions.parse,
                                scope_of_names + names.functions.is_valid};
      requests.push_back(RequestAlias(
          nested, "enum", std::string(nested.name()), &entry.alias.identifier));
      entry.constants.resize(names.values.size());
      for (size_t j = 0; j < names.values.size(); ++j) {
        entry.constants[j].enumerator = names.values[j].identifier;
        requests.push_back(RequestAlias(*nested.value(static_cast<int>(j)),
                                        "enum value", names.values[j].name,
                                        &entry.constants[j].identifier));
      }
    }
    for (int i = 0; i < descriptor.enum_type_count(); ++i) {
      const EnumDescriptor& nested = *descriptor.enum_type(i);
      EnumFunctions& functions =
          message->nested_enums[static_cast<size_t>(i)].functions;
      const std::string name(nested.name());
      requests.push_back(RequestAlias(nested, "the name function of enum",
                                      name + "_Name", &functions.name,
                                      /*is_made_up=*/true));
      requests.push_back(RequestAlias(nested, "the parse function of enum",
                                      name + "_Parse", &functions.parse,
                                      /*is_made_up=*/true));
      requests.push_back(RequestAlias(nested, "the validity function of enum",
                                      name + "_IsValid", &functions.is_valid,
                                      /*is_made_up=*/true));
    }
    requests.push_back(RequestAlias(descriptor, "the decoder of message",
                                    "Decoder", &message->decoder.alias,
                                    /*is_made_up=*/true));
    message->case_aliases.resize(message->decoder.oneofs.size());
    for (size_t i = 0; i < message->case_aliases.size(); ++i) {
      const OneofDescriptor& oneof =
          *descriptor.oneof_decl(static_cast<int>(i));
      requests.push_back(
          RequestAlias(oneof, "the case of oneof", CaseType(oneof),
                       &message->case_aliases[i], /*is_made_up=*/true));
    }
    ClaimAliases(requests, scope);
    AddSecondNames(scope, message);
  }

  // Made up last, they yield to everything.
  static void AddSecondNames(ClassScope* scope, Message* message) {
    const auto claim = [scope](std::string name) {
      if (!IsSystemMacro(name))
        return std::string();
      do {
        name += '_';
      } while (!scope->Claim(name, std::string()));
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
  // underscore. It also yields to what the class inherits, or a nested `message
  // Finalize` would make Finalize() unreachable. Those that need no underscore
  // choose first, which makes the result independent of the order of the
  // schema.
  void ClaimAliases(const std::vector<AliasRequest>& requests,
                    ClassScope* scope) {
    std::vector<const AliasRequest*> to_escape;
    for (const AliasRequest& request : requests) {
      if (EscapeName(request.name) == request.name &&
          !IsMessageMember(request.name) && !IsBareName(request.name) &&
          scope->Claim(request.name, request.kind + " " + request.element)) {
        *request.identifier = request.name;
      } else {
        to_escape.push_back(&request);
      }
    }
    for (const AliasRequest* request : to_escape) {
      *request->identifier = request->name + "_";
      while (request->is_made_up && !scope->IsFree(*request->identifier))
        *request->identifier += '_';
      if (!scope->Claim(*request->identifier,
                        request->kind + " " + request->element)) {
        ErrorAt(request->line, request->element,
                "its C++ name " + *request->identifier + " is also that of " +
                    scope->OwnerOf(*request->identifier) +
                    "; rename one of them");
      }
    }
  }

  void Reference(const Descriptor& type) {
    ForwardDeclaration declaration;
    declaration.identifier = names_.MessageIdentifier(type);
    Reference(*type.file(), declaration);
  }

  void Reference(const EnumDescriptor& type) {
    const Enum names = names_.MakeEnum(type);
    ForwardDeclaration declaration;
    declaration.identifier = names.identifier;
    declaration.is_enum = true;
    declaration.scope = names.scope;
    declaration.name_in_scope = names.name_in_scope;
    Reference(*type.file(), declaration);
  }

  void Reference(const FileDescriptor& file,
                 const ForwardDeclaration& declaration) {
    if (&file == &descriptor_)
      return;
    references_[names_.Namespaces(file)].emplace(
        declaration.identifier, std::make_pair(&file, declaration));
  }

  void AddForwardDeclarations() {
    for (const auto& by_namespace : references_) {
      ForwardDeclarations group;
      group.namespaces = by_namespace.first;
      for (const auto& entry : by_namespace.second) {
        if (visible_files_.count(entry.second.first) == 0)
          group.types.push_back(entry.second.second);
      }
      if (!group.types.empty())
        file_.forward_declarations.push_back(group);
    }
  }

  // What an extension class inherits from a class of another file, as far as a
  // parameter could hide it.
  void AddInheritedNames(const Descriptor& base) {
    for (int i = 0; i < base.nested_type_count(); ++i)
      inherited_names_.insert(std::string(base.nested_type(i)->name()));
    for (int i = 0; i < base.enum_type_count(); ++i) {
      const EnumDescriptor& nested = *base.enum_type(i);
      inherited_names_.insert(std::string(nested.name()));
      for (int j = 0; j < nested.value_count(); ++j)
        inherited_names_.insert(std::string(nested.value(j)->name()));
    }
  }

  // A parameter that hides an enumerator would be a warning in the build of
  // every user of -Wshadow.
  void ChooseParameterNames() {
    std::set<std::string> taken = inherited_names_;
    for (const Message& message : file_.messages) {
      for (const TypeAlias& alias : message.nested_messages)
        taken.insert(alias.identifier);
      for (const NestedEnum& nested : message.nested_enums) {
        taken.insert(nested.alias.identifier);
        for (const ConstantAlias& constant : nested.constants)
          taken.insert(constant.identifier);
      }
    }
    for (const Enum& names : file_.enums) {
      for (const EnumValue& value : names.values)
        taken.insert(value.identifier);
    }
    const auto collides = [&](const std::string& suffix) {
      for (const char* parameter :
           {"data", "entry", "item", "key", "name", "parse_error_ptr", "raw",
            "size", "value"}) {
        const std::string name = parameter + suffix;
        if (taken.count(name) != 0 || symbols_.IsVisibleIn(descriptor_, name))
          return true;
      }
      return false;
    };
    while (collides(file_.parameter_suffix))
      file_.parameter_suffix += "_arg";
  }

  const CppNames& names_;
  const SymbolTable& symbols_;
  const FileDescriptor& descriptor_;
  File& file_;
  std::vector<Diagnostic>& diagnostics_;

  std::set<std::string> includes_;
  std::set<std::string> inherited_names_;
  std::set<const FileDescriptor*> visible_files_;
  // Ordered by name at both levels, so that the output is.
  std::map<std::vector<std::string>,
           std::map<std::string,
                    std::pair<const FileDescriptor*, ForwardDeclaration>>>
      references_;
};

}  // namespace

std::string Diagnostic::ToString() const {
  std::string text = proto_path + ":" + std::to_string(line) + ": ";
  if (!element.empty())
    text += element + ": ";
  return text + reason;
}

ModelBuilder::ModelBuilder(const Options& options,
                           const std::vector<const FileDescriptor*>& files)
    : names_(options), symbols_(names_, files) {}

bool ModelBuilder::Build(const FileDescriptor& descriptor,
                         File* file,
                         std::vector<Diagnostic>* diagnostics) const {
  std::vector<Diagnostic> found;
  FileBuilder(names_, symbols_, descriptor, file, &found).Build();
  std::stable_sort(
      found.begin(), found.end(),
      [](const Diagnostic& a, const Diagnostic& b) { return a.line < b.line; });
  diagnostics->insert(diagnostics->end(), found.begin(), found.end());
  return found.empty();
}

}  // namespace protozero::plugin
