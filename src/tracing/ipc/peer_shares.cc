// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/peer_shares.h"

#include <algorithm>
#include <limits>

#include "src/tracing/shared_memory/out_of_memory.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

constexpr auto kHasLess = [](const auto& a, const auto& b) {
  return a.second < b.second;
};

}  // namespace

void PeerShares::Reserve(const PeerIdentity& peer) {
  ScopeExit undo([&] { ForgetIfNone(peer); });
  of_process_.try_emplace(ProcessOf(peer));
  of_user_.try_emplace(peer.uid);
  undo.Cancel();
}

void PeerShares::ForgetIfNone(const PeerIdentity& peer) {
  if (OfProcess(peer) == 0)
    of_process_.erase(ProcessOf(peer));
  if (OfUser(peer.uid) == 0)
    of_user_.erase(peer.uid);
}

void PeerShares::Add(const PeerIdentity& peer, size_t amount) {
  of_process_[ProcessOf(peer)] += amount;
  of_user_[peer.uid] += amount;
}

void PeerShares::Remove(const PeerIdentity& peer, size_t amount) {
  if (amount == 0)
    return;
  of_process_.find(ProcessOf(peer))->second -= amount;
  of_user_.find(peer.uid)->second -= amount;
  ForgetIfNone(peer);
}

size_t PeerShares::OfProcess(const PeerIdentity& peer) const {
  const auto it = of_process_.find(ProcessOf(peer));
  return it == of_process_.end() ? 0 : it->second;
}

size_t PeerShares::OfUser(uid_t uid) const {
  const auto it = of_user_.find(uid);
  return it == of_user_.end() ? 0 : it->second;
}

size_t PeerShares::OfLargestUser() const {
  const auto largest =
      std::max_element(of_user_.begin(), of_user_.end(), kHasLess);
  return largest == of_user_.end() ? 0 : largest->second;
}

std::optional<PeerShares::Process> PeerShares::WhoMakesRoom(
    const PeerIdentity& newcomer,
    bool is_full,
    size_t amount) const {
  // Takes from a user who has more than the newcomer's user would have, or else
  // from another process of the same user.
  uid_t user = newcomer.uid;
  if (is_full) {
    const auto largest =
        std::max_element(of_user_.begin(), of_user_.end(), kHasLess);
    if (largest != of_user_.end() &&
        largest->second > OfUser(newcomer.uid) + amount)
      user = largest->first;
  }
  const auto largest = std::max_element(
      of_process_.lower_bound({user, std::numeric_limits<pid_t>::min()}),
      of_process_.upper_bound({user, std::numeric_limits<pid_t>::max()}),
      kHasLess);
  if (largest == of_process_.end() || largest->first.first != user ||
      (user == newcomer.uid && largest->second <= OfProcess(newcomer) + amount))
    return std::nullopt;
  return largest->first;
}

PROTOZERO_ABI_END
}  // namespace protozero
