// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/service_owner.h"

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/ipc/unix_socket.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

bool AnybodyCanListenOn(const std::string& path) {
  if (path.empty() || path[0] == '@')
    return true;
  struct stat status;
  // A folder that cannot be examined may be unsafe.
  return stat(FolderOf(path).c_str(), &status) != 0 ||
         (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool IsAcceptedService(int socket,
                       const std::string& path,
                       Producer::ServiceOwner accepted,
                       std::string* reason) {
  if (accepted == Producer::ServiceOwner::kAnybody ||
      (accepted == Producer::ServiceOwner::kRootOrSelfWhereAnybodyCanListen &&
       !AnybodyCanListenOn(path))) {
    return true;
  }
  // |peer| becomes the owner at the time when the service began to listen. If
  // the owner has passed the socket on, that was intended.
  PeerIdentity peer;
  if (!GetPeerIdentity(socket, &peer)) {
    *reason = "the owner of the service at " + path + " is not known";
    return false;
  }
  if (peer.uid == 0 || peer.uid == geteuid())
    return true;
  *reason =
      "the service at " + path + " belongs to user " + std::to_string(peer.uid);
  return false;
}

PROTOZERO_ABI_END
}  // namespace protozero
