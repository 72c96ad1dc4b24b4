// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_TRACED_WORKERS_THREAD_TRACER_H_
#define EXAMPLES_TRACED_WORKERS_THREAD_TRACER_H_

#include <stdint.h>

#include <map>
#include <memory>
#include <string>

#include "protozero/tracing/producer.h"

namespace traced_workers {

// Writes a thread's work as slices on a track of its own: the part of a tracing
// SDK that this program needs. Costs next to nothing while no session is
// recording. Everything is written through generated classes, straight into
// memory that the service reads.
class ThreadTracer {
 public:
  // |thread_name| is shown beside the track.
  ThreadTracer(std::shared_ptr<protozero::DataSource> source,
               std::string thread_name);

  // Strings are written once and then referred to by number. They are told
  // apart by their address: |name| is a literal.
  void BeginSlice(const char* name);
  // The same, with a number that is shown when one clicks on the slice.
  void BeginSlice(const char* name, const char* key, uint64_t value);
  void EndSlice();

  uint64_t packets_lost() const { return writers_.packets_lost(); }

 private:
  // The ids of strings that a session knows.
  struct Interned {
    std::map<const char*, uint64_t> event_names;
    std::map<const char*, uint64_t> annotation_names;
  };

  // Begins a sequence, or begins it anew.
  void WritePreamble(protozero::TraceContext* context);

  const std::string thread_name_;
  const int32_t process_id_;
  const int64_t thread_id_;
  std::map<protozero::DataSourceInstanceID, Interned> interned_;
  protozero::DataSourceWriters writers_;
};

// From here to the end of the scope.
class ScopedSlice {
 public:
  ScopedSlice(ThreadTracer* tracer, const char* name) : tracer_(tracer) {
    tracer_->BeginSlice(name);
  }
  ScopedSlice(ThreadTracer* tracer,
              const char* name,
              const char* key,
              uint64_t value)
      : tracer_(tracer) {
    tracer_->BeginSlice(name, key, value);
  }
  ~ScopedSlice() { tracer_->EndSlice(); }

  ScopedSlice(const ScopedSlice&) = delete;
  ScopedSlice& operator=(const ScopedSlice&) = delete;

 private:
  ThreadTracer* const tracer_;
};

}  // namespace traced_workers

#endif  // EXAMPLES_TRACED_WORKERS_THREAD_TRACER_H_
