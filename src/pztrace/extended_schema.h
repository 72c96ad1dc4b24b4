// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EXTENDED_SCHEMA_H_
#define SRC_PZTRACE_EXTENDED_SCHEMA_H_

#include <stddef.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/schema.h"

namespace pztrace {

// The schema of traces, and what a trace itself says of the fields that extend
// it. Anybody can have written that, so it takes a limited amount of memory and
// time, and never changes what the schema has.
class ExtendedSchema {
 public:
  ExtendedSchema();

  // Looks for descriptions of extensions in |packets|, whole fields of a Trace.
  void AddFrom(protozero::ConstBytes packets);

  // The message of the file. Valid as long as this.
  const pbz::MessageType* trace() const { return trace_; }

  // Says how many descriptions were of no use, if there were any.
  void ReportRejected() const;

 private:
  // Each is parsed with all that came before it.
  static constexpr size_t kMaxDescriptions = 64;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  void Add(const std::string& descriptor_set);

  std::string bytes_;  // One FileDescriptorSet.
  std::set<std::string> seen_;
  size_t seen_bytes_ = 0;
  std::set<std::string> rejected_;
  bool has_more_ = false;
  // Types that the printer has seen stay where they are.
  std::vector<std::unique_ptr<pbz::Schema>> schemas_;
  const pbz::MessageType* trace_ = nullptr;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EXTENDED_SCHEMA_H_
