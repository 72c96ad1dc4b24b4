// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PEER_SHARES_H_
#define SRC_TRACING_IPC_PEER_SHARES_H_

#include <stddef.h>
#include <sys/types.h>

#include <map>
#include <optional>
#include <utility>

#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// The shares of processes and users in something of which there is not enough
// for all: places, files, bytes. Users and processes with much make room for
// those with little.
class PeerShares {
 public:
  // The user of a process, and its id.
  using Process = std::pair<uid_t, pid_t>;
  static Process ProcessOf(const PeerIdentity& peer) {
    return {peer.uid, peer.pid};
  }

  // Lets the next call be an Add() that does not throw. Throws std::bad_alloc,
  // and has changed nothing, if there is no memory.
  void Reserve(const PeerIdentity& peer);
  // Undoes Reserve() if the peer has nothing.
  void ForgetIfNone(const PeerIdentity& peer);
  // Adds to the peer's share. May throw std::bad_alloc.
  void Add(const PeerIdentity& peer, size_t amount = 1);
  // Takes from it. REQUIRES: it has that much.
  void Remove(const PeerIdentity& peer, size_t amount = 1);

  size_t OfProcess(const PeerIdentity& peer) const;
  size_t OfUser(uid_t uid) const;
  // Returns the share of the user who has most.
  size_t OfLargestUser() const;

  // Returns the process that makes room for |amount| of a newcomer; none if no
  // process has more than the newcomer would have. |is_full| says that any user
  // may have to; otherwise only the newcomer's has too much.
  std::optional<Process> WhoMakesRoom(const PeerIdentity& newcomer,
                                      bool is_full,
                                      size_t amount = 1) const;

 private:
  std::map<Process, size_t> of_process_;
  std::map<uid_t, size_t> of_user_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PEER_SHARES_H_
