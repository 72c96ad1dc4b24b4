// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROTOC_PLUGIN_LANGUAGE_H_
#define SRC_PROTOC_PLUGIN_LANGUAGE_H_

#include <string>
#include <vector>

#include "src/protoc_plugin/model.h"
#include "src/protoc_plugin/options.h"

namespace protozero::plugin {

struct OutputFile {
  std::string path;
  std::string text;
};

// The interface of an output language, which has its own names, literals,
// reserved words and options. languages.h lists the languages.
struct Language {
  const char* name;  // In the option `lang=`.

  // Appends the files for Schema::to_generate, or none. If an option or a file
  // is wrong, returns false and sets `error` to lines that name the errors, see
  // ToText().
  bool (*generate)(const Schema& schema,
                   const std::vector<Option>& options,
                   std::vector<OutputFile>* output,
                   std::string* error);
};

// The reason why a schema is refused, and the remedy for its author.
struct Diagnostic {
  std::string proto_path;
  int line = 1;
  std::string element;  // Full name of a message, field, ...; may be empty.
  std::string reason;   // "what is wrong; what to do"
};

// Returns a line for each: foo/bar.proto:12: package.Message.field: the
// problem; the remedy
std::string ToText(const std::vector<Diagnostic>& diagnostics);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_LANGUAGE_H_
