// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/plugin/listing_language.h"

#include <variant>

#include "src/protoc_plugin/naming.h"
#include "src/protoc_plugin/symbol_table.h"

namespace protozero::plugin {

namespace {

std::string NameOf(const Declaration& declaration) {
  std::string name;
  for (const char c : declaration.name)
    name += ToUpperCase(c);
  // END is the only reserved word.
  return name == "END" ? name + "_" : name;
}

struct ListingLiteral {
  std::string operator()(std::monostate) const { return "NOTHING"; }
  std::string operator()(bool value) const { return value ? "YES" : "NO"; }
  std::string operator()(const std::string& value) const {
    return "<" + value + ">";
  }
  template <typename T>
  std::string operator()(T value) const {
    return std::to_string(value);
  }
};

void List(const Message& message, SymbolTable* symbols, std::string* text) {
  symbols->Add({message.file, NameOf(message), "message " + message.full_name,
                message.full_name, message.line});
  *text += NameOf(message) + "\n";
  for (const Field& field : message.fields) {
    *text += "  " + NameOf(field) + " " + std::to_string(field.number);
    if (field.message_type != nullptr)
      *text += " " + NameOf(*field.message_type);
    *text += " " + std::visit(ListingLiteral(), field.default_value) + "\n";
  }
  *text += "END\n";
  for (const Message& nested : message.messages)
    List(nested, symbols, text);
}

}  // namespace

bool GenerateListing(const Schema& schema,
                     const std::vector<Option>& options,
                     std::vector<OutputFile>* output,
                     std::string* error) {
  std::string title = "LISTING";
  for (const Option& option : options) {
    if (option.name != "title") {
      *error = UnknownOption(option.name, "title=TITLE");
      return false;
    }
    title = option.value.value_or(title);
  }
  SymbolTable symbols;
  std::vector<Diagnostic> diagnostics;
  for (const File* file : schema.to_generate) {
    std::string text = title + "\n";
    for (const Message& message : file->messages)
      List(message, &symbols, &text);
    output->push_back({StripProtoSuffix(file->path) + ".listing", text});
    for (const auto& [symbol, other] : symbols.FindClashes(*file)) {
      diagnostics.push_back({file->path, symbol->line, symbol->element,
                             "is listed as is " + other->owner});
    }
  }
  *error = ToText(diagnostics);
  return diagnostics.empty();
}

}  // namespace protozero::plugin
