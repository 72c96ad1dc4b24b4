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

// An output language: the interface behind which it keeps its names, its
// literals, its reserved words and its options. languages.h lists them.
struct Language {
  const char* name;  // In the option `lang=`.

  // Appends the files for Schema::to_generate. All or nothing: returns false if
  // anything is wrong with an option or a file, and sets `error` to lines that
  // say what, see ToText().
  bool (*generate)(const Schema& schema,
                   const std::vector<Option>& options,
                   std::vector<OutputFile>* output,
                   std::string* error);
};

// Why a schema is refused, and what its author can do about it.
struct Diagnostic {
  std::string proto_path;
  int line = 1;
  std::string element;  // Full name of a message, field, ...; may be empty.
  std::string reason;   // "what is wrong; what to do"
};

// foo/bar.proto:12: package.Message.field: the problem; the remedy
std::string ToText(const std::vector<Diagnostic>& diagnostics);

}  // namespace protozero::plugin

#endif  // SRC_PROTOC_PLUGIN_LANGUAGE_H_
