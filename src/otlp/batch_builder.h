// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_BATCH_BUILDER_H_
#define SRC_OTLP_BATCH_BUILDER_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#include "protozero/otlp/batch_sink.h"
#include "protozero/otlp/pipeline.h"
#include "src/otlp/thread_state.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {

// Makes requests of the records in the buffers of threads: the resource once,
// each scope once, and its records one after the other. Only the thread of the
// pipeline uses it.
class BatchBuilder {
 public:
  explicit BatchBuilder(const PipelineOptions& options);
  ~BatchBuilder();

  // Returns the resource, as a field 1.
  const std::string& resource() const { return resource_; }

  // Returns the number of the scope with these texts, which it adds if it is
  // new, or 65,536 if there are so many.
  size_t AddScope(std::string_view name,
                  std::string_view version,
                  std::string_view schema_url);

  // Takes records out of the thread's buffer, up to |end|, until a batch is
  // full. True if it has come to the end.
  bool Read(ThreadState* thread, uint64_t end);
  bool IsEmpty() const { return counts_[0] == 0 && counts_[1] == 0; }
  uint32_t count(Signal signal) const {
    return counts_[static_cast<int>(signal)];
  }
  // Returns the batch; its data are null without memory, and empty if it has no
  // records. They live until the next call.
  Batch Build(Signal signal);
  // Forgets the records.
  void Clear();

 private:
  // Records of a scope, as fields.
  struct Fields {
    uint8_t* data = nullptr;
    size_t size = 0;
    size_t capacity = 0;
  };
  static bool Reserve(Fields* fields, size_t size);
  bool Append(Signal signal, uint16_t scope, const uint8_t* data, size_t size);

  const uint32_t max_count_;
  const size_t max_bytes_;
  std::string resource_;
  std::string resource_schema_;
  // The fields of each scope before its records, and after them.
  std::vector<std::string> scope_fields_;
  std::vector<std::string> scope_schemas_;
  std::vector<Fields> records_[2];
  uint32_t counts_[2] = {};
  size_t bytes_ = 0;
  Fields output_;
};

}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_BATCH_BUILDER_H_
