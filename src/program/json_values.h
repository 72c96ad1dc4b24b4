// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_JSON_VALUES_H_
#define SRC_PROGRAM_JSON_VALUES_H_

#include <stddef.h>

#include <string>
#include <string_view>

#include "src/program/value_sink.h"

namespace program {

// Appends values as JSON, with commas between them. Infinities and NaN are
// texts, because JSON has no numbers for them.
class JsonValues final : public ValueSink {
 public:
  // REQUIRES: |json| outlives it, and only this object appends to it.
  explicit JsonValues(std::string* json) : json_(json), begin_(json->size()) {}

  void Begin(Container container) override;
  void End() override;
  void Name(std::string_view name, NameKind kind = NameKind::kFree) override;
  void Add(const Value& value) override;

  // Adds a value that is JSON already.
  void AddJson(std::string_view json);
  // Begins a line with the next name or value.
  void BeginLine();
  void Member(std::string_view name, const Value& value) {
    Name(name);
    Add(value);
  }

 private:
  void Separate();

  std::string* const json_;
  const size_t begin_;
  std::string ends_;  // The brackets that close what is open.
};

}  // namespace program

#endif  // SRC_PROGRAM_JSON_VALUES_H_
