// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_PRODUCER_RECORD_H_
#define SRC_TRACING_SERVICE_PRODUCER_RECORD_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/shared_memory_abi.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

struct Session;

// One session's use of a producer's data source.
struct Instance {
  enum State { kStarting, kStarted, kStopping };

  Session* session;
  // The descriptor at the time when the session began to use it.
  std::shared_ptr<const DataSourceDescriptor> descriptor;
  // The session's config, the same for all of its producers, except for
  // DataSourceConfig::ring_bytes: that is the share of the newest one.
  const DataSourceConfig* config;
  State state;
  // The time to wait until, if it is kStopping.
  uint64_t stop_deadline;
};

using InstanceMap = std::map<DataSourceInstanceID, Instance>;

// The data of DataSources for a producer.
struct ProducerDataSources {
  std::vector<std::shared_ptr<const DataSourceDescriptor>> registered;
  // True if there ever was one.
  bool has_registered = false;
  InstanceMap instances;
  // The instances that are not kStopping, by the names in their descriptors.
  std::set<std::pair<std::string_view, DataSourceInstanceID>> running;
  // The state of a ring buffer when the producer was last asked to clear its
  // incremental state.
  struct Ring {
    uint64_t bytes_written;
    uint64_t time_ms;
  };
  // The rings that it writes to and that are read at the end.
  std::map<BufferID, Ring> rings;
  // The sessions that know that there is no memory for this producer.
  std::set<TracingSessionID> sessions_without_memory;
};

// The buffer that each writer writes to; 0 if the writer has announced none.
// Takes two bytes for each id up to the highest, at most 32767.
class WriterTargets {
 public:
  BufferID Get(WriterID id) const {
    return id < targets_.size() ? targets_[id] : BufferID{0};
  }
  void Set(WriterID id, BufferID target) {
    if (id >= targets_.size() && target != 0)
      targets_.resize(size_t{id} + 1);
    if (id < targets_.size())
      targets_[id] = target;
  }

 private:
  std::vector<BufferID> targets_;
};

// The data of ChunkCollector for a producer.
struct ProducerChunks {
  // Lets the producer write to the buffer. Throws std::bad_alloc.
  void AddBuffer(BufferID id) { num_buffers += buffers.insert(id).second; }
  // Returns the buffer of a writer that has not announced itself; 0 if it may
  // have meant one of several.
  BufferID OnlyBuffer() const {
    return num_buffers == 1 && !buffers.empty() ? *buffers.begin()
                                                : BufferID{0};
  }

  // The buffers that the producer may write to, and the number of all so far.
  std::set<BufferID> buffers;
  uint64_t num_buffers = 0;
  WriterTargets writers;
  // True if it has announced a writer, or a writer's data have come.
  bool has_written = false;
  uint64_t bytes_copied = 0;
  // The pages up to the last one that was committed since the last Scrape(), or
  // in use then.
  size_t pages_used = 0;
};

// The memory that a producer shares with the service. It belongs to
// ProducerTable.
struct ProducerMemory {
  // The memory; null if there is none yet.
  std::unique_ptr<SharedMemory> memory;
  size_t page_size = 0;
  SharedMemoryABI abi;

  size_t size() const { return memory == nullptr ? 0 : memory->size(); }
};

// The data of Flushes for a producer.
struct ProducerFlushes {
  // The flushes that it has not answered yet.
  std::set<FlushRequestID> pending;
  // True if it has committed something since its last answer.
  bool has_committed = false;
  // The time of the last periodic flush that it was asked for, and the time
  // after that in which it is not asked for another one.
  uint64_t asked_ms = 0;
  uint64_t pause_ms = 0;
};

// The service's data of a producer. Each part belongs to the class that its
// type names; the other classes only read it.
struct ProducerRecord {
  // Returns whether it has done nothing that a session could want.
  bool is_silent() const {
    return !chunks.has_written && !has_activated_trigger;
  }
  // Returns whether it came only to activate a trigger.
  bool only_triggers() const {
    return has_activated_trigger && !chunks.has_written &&
           !data_sources.has_registered;
  }

  ProducerID id = 0;
  TracingService::RemoteProducer* remote = nullptr;
  TracingService::ProducerInfo info;

  ProducerMemory shm;
  ProducerChunks chunks;
  ProducerDataSources data_sources;
  // Belongs to Flushes.
  ProducerFlushes flushes;
  // Belongs to the facade.
  bool has_activated_trigger = false;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_PRODUCER_RECORD_H_
