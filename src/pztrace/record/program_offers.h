// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_RECORD_PROGRAM_OFFERS_H_
#define SRC_PZTRACE_RECORD_PROGRAM_OFFERS_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/peer_shares.h"
#include "src/tracing/ipc/unix_socket.h"

namespace pztrace {

// Collects the offers of programs: data sources, and their categories of events
// with tags and descriptions. Users and processes share the memory for them.
// Any thread.
class ProgramOffers {
 public:
  // The limits of the texts of a process, and of all. With both, and all else
  // in it, the answer of `pztrace stat` is not too large.
  static constexpr size_t kMaxBytesPerProcess = 256 * 1024;
  static constexpr size_t kMaxBytes = 2 * 1024 * 1024;
  // The bytes that an offer takes besides its texts.
  static constexpr size_t kOfferBytes = 1024;

  // Remembers an offer, as a TracingService::DataSourceObserver. Leaves out
  // categories beyond the limit of the process. Beyond that of all, forgets the
  // offers of a process that has more, or of one of the same user that has
  // offered earlier.
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
  // The names of a program and of its data source, as people see them.
  using Offer = std::pair<std::string, std::string>;
  struct Process {
    // The lines of categories.
    std::map<Offer, std::string> offers;
    // True if some of them are left out.
    bool is_cut = false;
    // The number of its first offer.
    uint64_t number = 0;
  };
  using Processes = std::map<protozero::PeerShares::Process, Process>;

  static size_t BytesOf(const std::pair<const Offer, std::string>& offer) {
    return offer.first.first.size() + offer.first.second.size() +
           offer.second.size() + kOfferBytes;
  }
  // Makes room for |bytes| of a process. Returns false if it has to make do
  // without.
  bool MakeRoom(const protozero::PeerIdentity& peer, size_t bytes);
  void Uncharge(const protozero::PeerIdentity& peer, size_t bytes);
  Processes::iterator EarlierOfUser(const protozero::PeerIdentity& peer);
  Processes::iterator Forget(Processes::iterator process);
  std::string TextLocked() const;

  mutable std::mutex mutex_;
  Processes processes_;
  protozero::PeerShares shares_;
  size_t bytes_ = 0;
  uint64_t number_ = 0;
  // True if a whole process was forgotten.
  bool is_cut_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_RECORD_PROGRAM_OFFERS_H_
