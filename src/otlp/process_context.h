// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_PROCESS_CONTEXT_H_
#define SRC_OTLP_PROCESS_CONTEXT_H_

#include <stdint.h>

#include <string>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {

// Publishes the resource of a pipeline to profilers outside of the process, and
// tells them to look for the current span of threads: the process context of
// OTEP 4719, with the keys of OTEP 4947. A process has one.
class ProcessContext {
 public:
  ProcessContext() = default;
  ~ProcessContext() { Withdraw(); }
  ProcessContext(const ProcessContext&) = delete;
  ProcessContext& operator=(const ProcessContext&) = delete;

  // Publishes. |resource| is a field 1 with a Resource. Returns null, or the
  // reason for which profilers do not see all of it.
  const char* Publish(const std::string& resource);
  // Publishes again in the child of a fork(), which has no part of the
  // mapping.
  void PublishInChild();
  // Takes back what is published.
  void Withdraw();

 private:
  // The mapping that profilers find by its name.
  struct Header {
    char signature[8];
    uint32_t version;
    uint32_t payload_size;
    uint64_t published_at_ns;
    uint64_t payload;
  };
  static_assert(sizeof(Header) == 32, "the layout of OTEP 4719");

  bool Map();

  Header* header_ = nullptr;
  std::string payload_;
};

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_PROCESS_CONTEXT_H_
