// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_BUFFER_TABLE_H_
#define SRC_TRACING_SERVICE_BUFFER_TABLE_H_

#include <stddef.h>

#include <algorithm>
#include <map>

#include "protozero/tracing/trace_config.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/trace_buffer.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

struct Session;

// The buffers of all sessions.
class BufferTable {
 public:
  struct Entry {
    Entry(Session* its_session, const TraceConfig::BufferConfig& config)
        : session(its_session),
          buffer(config.size_bytes, config.fill_policy),
          size(config.size_bytes) {}

    // Returns whether half of the room that the last reading has left is in
    // use. What a reader cannot take yet does not make it read again for each
    // commit.
    bool IsHalfFull() {
      left_unread = std::min(left_unread, buffer.used_bytes());
      return buffer.used_bytes() - left_unread > (size - left_unread) / 2;
    }

    Session* session;
    TraceBuffer buffer;
    size_t size;
    // The used bytes after a reading, or less if some are no longer there.
    size_t left_unread = 0;
  };

  // Adds a buffer. Throws std::bad_alloc, and has changed nothing, if there is
  // no memory. REQUIRES: there are fewer than 65,535 buffers.
  BufferID Add(Session* session, const TraceConfig::BufferConfig& config) {
    // An id is reused as late as possible: chunks for the old buffer may still
    // be on their way.
    do {
      ++last_id_;
    } while (last_id_ == 0 || buffers_.count(last_id_) != 0);
    buffers_.try_emplace(last_id_, session, config);
    return last_id_;
  }
  void Remove(BufferID id) { buffers_.erase(id); }
  Entry* Find(BufferID id) {
    const auto it = buffers_.find(id);
    return it == buffers_.end() ? nullptr : &it->second;
  }
  // Returns a buffer. REQUIRES: there is one of that id.
  TraceBuffer& Get(BufferID id) { return buffers_.find(id)->second.buffer; }
  const TraceBuffer& Get(BufferID id) const {
    return buffers_.find(id)->second.buffer;
  }

 private:
  std::map<BufferID, Entry> buffers_;
  BufferID last_id_ = 0;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_BUFFER_TABLE_H_
