// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SERVICE_PRODUCER_TABLE_H_
#define SRC_TRACING_SERVICE_PRODUCER_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <memory>
#include <utility>

#include "protozero/tracing/shared_memory.h"
#include "protozero/tracing/trace_config.h"
#include "protozero/tracing/tracing_service.h"
#include "protozero/tracing/types.h"
#include "src/tracing/service/chunk_collector.h"
#include "src/tracing/service/producer_record.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace service {

// The producers that are connected, and the memory that they share with the
// service. Pointers to them stay valid until Remove().
class ProducerTable {
 public:
  using Map = std::map<ProducerID, ProducerRecord>;

  explicit ProducerTable(ChunkCollector* collector) : collector_(collector) {}

  // Returns null if there are too many producers, or if the name is too long.
  // Throws std::bad_alloc, and has changed nothing, if there is no memory.
  ProducerRecord* Add(TracingService::RemoteProducer* remote,
                      TracingService::ProducerInfo info);
  void Remove(ProducerRecord* producer);

  // Returns a producer. REQUIRES: there is one of that id.
  ProducerRecord* Get(ProducerID id) { return &producers_.find(id)->second; }
  Map::iterator begin() { return producers_.begin(); }
  Map::iterator end() { return producers_.end(); }
  Map::const_iterator begin() const { return producers_.begin(); }
  Map::const_iterator end() const { return producers_.end(); }
  // Returns the number of all so far, but for disconnected producers that only
  // activated triggers.
  uint32_t num_seen() const { return last_id_ - num_gone_triggering_; }
  // Returns the disconnected producers that never had a writer.
  const TraceStats::SilentProducers& gone_silent() const {
    return gone_silent_;
  }

  // Asks the producer to create its memory, unless there is some, in the size
  // that it asked for or that |config| wants. Returns false if that fails.
  bool SetupMemory(ProducerRecord* producer, const TraceConfig& config);

 private:
  void UseMemory(ProducerRecord* producer,
                 std::unique_ptr<SharedMemory> memory,
                 size_t page_size);
  // Returns the total memory of the producers of its process.
  size_t* MemoryOfProcess(const ProducerRecord& producer) {
    return &memory_of_process_[{producer.info.uid, producer.info.pid}];
  }

  ChunkCollector* const collector_;

  Map producers_;
  ProducerID last_id_ = 0;
  uint32_t num_gone_triggering_ = 0;
  TraceStats::SilentProducers gone_silent_;
  // The memory of each process, by user id and process id.
  std::map<std::pair<int32_t, int32_t>, size_t> memory_of_process_;
};

}  // namespace service
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SERVICE_PRODUCER_TABLE_H_
