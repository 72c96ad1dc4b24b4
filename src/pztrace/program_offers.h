// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_PROGRAM_OFFERS_H_
#define SRC_PZTRACE_PROGRAM_OFFERS_H_

#include <stdint.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "protozero/tracing/tracing_service.h"

namespace pztrace {

// Collects the offers of programs: data sources, and their categories of events
// with tags and descriptions. Any thread.
class ProgramOffers {
 public:
  // Remembers an offer, as a TracingService::DataSourceObserver.
  void Add(const protozero::TracingService::ProducerInfo& producer,
           const protozero::DataSourceDescriptor& source);

  // Returns a text for people about the producers that are connected. Forgets
  // the other ones.
  std::string Text(const protozero::TraceStats& stats);
  // Returns the same for all producers, also those that have gone.
  std::string Text() const;
  // Returns the number of offers since the beginning.
  uint64_t number() const;

 private:
  // A program's process and name.
  using Program = std::pair<int32_t, std::string>;
  // The descriptions of its data sources by name.
  using Sources = std::map<std::string, std::string>;

  std::string TextLocked() const;

  mutable std::mutex mutex_;
  std::map<Program, Sources> programs_;
  uint64_t number_ = 0;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_PROGRAM_OFFERS_H_
