// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_KEEP_LOADED_H_
#define SRC_TRACING_IPC_KEEP_LOADED_H_

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Makes the shared library that this code is linked into stay in the process
// when it is closed. Called before the first thread that runs its code, and
// before the first thread whose end does. A thread may outlive dlclose(). If
// the same file is opened again, it is the same library with the same threads
// and keys.
//
// Takes the dynamic linker's lock, as the first thread_local object with a
// destructor does. REQUIRES: the caller holds no lock of ours, because a
// constructor that dlopen() runs may want that lock.
void KeepThisLibraryLoaded();

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_KEEP_LOADED_H_
