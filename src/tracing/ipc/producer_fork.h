// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_PRODUCER_FORK_H_
#define SRC_TRACING_IPC_PRODUCER_FORK_H_

#include "src/tracing/ipc/producer_shared.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The handling of fork(). The parent goes on: it holds ClientLock() during the
// call, so that nothing is half done in the child. In the child, every producer
// is disconnected for good, every data source is off, and the connections share
// nothing with the parent or the service any more.

// Starts to handle forks. Returns false if there is no memory for it. REQUIRES,
// for all: ClientLock().
bool HandleForks();

// Sets ProducerShared::watches_threads of all producers when the calling thread
// ends; not when the program exits.
void TellWhenThisThreadEnds();

// Add to, and remove from, the producers of this process.
void AddToProducers(ProducerShared* producer);
void RemoveFromProducers(ProducerShared* producer);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_PRODUCER_FORK_H_
