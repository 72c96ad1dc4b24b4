// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/ipc/keep_loaded.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/auxv.h>

#include <atomic>

#include "src/tracing/shared_memory/no_cancellation.h"

#include "protozero/internal/macros.h"

// Weak symbols let a static program, which has no dynamic linker, link without
// a warning, and a program for an old C library link without -ldl.
#pragma weak dladdr
#pragma weak dlopen

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

std::atomic<bool> g_is_kept{false};

}  // namespace

void KeepThisLibraryLoaded() {
  // Several threads may do this at once: each has to wait until it is done.
  if (g_is_kept.load(std::memory_order_acquire))
    return;
  if (&dladdr != nullptr && &dlopen != nullptr) {
    const NoCancellation no_cancellation;
    const int error = errno;
    Dl_info own;
    Dl_info program;
    const void* const program_headers =
        reinterpret_cast<const void*>(getauxval(AT_PHDR));
    if (dladdr(&g_is_kept, &own) != 0 &&
        !(dladdr(program_headers, &program) != 0 &&
          program.dli_fbase == own.dli_fbase)) {
      dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    }
    errno = error;
  }
  g_is_kept.store(true, std::memory_order_release);
}

PROTOZERO_ABI_END
}  // namespace protozero
