// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_DYNAMIC_SCHEMA_H_
#define TEST_PLUGIN_DYNAMIC_SCHEMA_H_

#include <memory>
#include <string>

namespace protozero::plugin {

// A schema that reads a .proto at run time and shows messages of it as text,
// with libprotobuf only. So it explains bytes without generated code: the code
// of libprotobuf would not compile for some of our tests' names.
class DynamicSchema {
 public:
  // `path` is relative to the root of the source tree, which the environment
  // variable PROTOZERO_SOURCE_ROOT names (default: the current directory).
  explicit DynamicSchema(const std::string& path);
  ~DynamicSchema();

  // Returns one line of text format. Returns "unknown message", "malformed
  // bytes" or "unknown field in <text>" in these cases.
  std::string ToText(const std::string& message, const std::string& bytes);

  // Returns libprotobuf's encoding of the message that the text describes.
  // Fails the test if the text is invalid.
  std::string FromText(const std::string& message, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace protozero::plugin

#endif  // TEST_PLUGIN_DYNAMIC_SCHEMA_H_
