// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PLUGIN_DYNAMIC_SCHEMA_H_
#define TEST_PLUGIN_DYNAMIC_SCHEMA_H_

#include <memory>
#include <string>

namespace protozero::plugin {

// Reads a .proto at run time and shows messages of it as text, all done by
// libprotobuf. So it says what bytes mean without any generated code: that of
// libprotobuf would not compile for some of the names we test with.
class DynamicSchema {
 public:
  // `path` is relative to the root of the source tree, which the environment
  // variable PROTOZERO_SOURCE_ROOT names (default: the current directory).
  explicit DynamicSchema(const std::string& path);
  ~DynamicSchema();

  // One line of text format. "unknown message", "malformed bytes" or "unknown
  // field in <text>" if the bytes are that.
  std::string ToText(const std::string& message, const std::string& bytes);

  // The message that the text describes, as libprotobuf encodes it. Fails the
  // test if there is none.
  std::string FromText(const std::string& message, const std::string& text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace protozero::plugin

#endif  // TEST_PLUGIN_DYNAMIC_SCHEMA_H_
