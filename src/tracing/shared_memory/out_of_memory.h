// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SHARED_MEMORY_OUT_OF_MEMORY_H_
#define SRC_TRACING_SHARED_MEMORY_OUT_OF_MEMORY_H_

#include <new>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Calls |function()|, and returns false if an allocation in it has failed.
// Without exceptions, a standard container that finds no memory ends the
// program. Code that has to survive then allocates with std::nothrow.
template <typename Function>
bool RunsInMemory(const Function& function) {
#if defined(__cpp_exceptions)
  try {
    function();
  } catch (const std::bad_alloc&) {
    return false;
  }
#else
  function();
#endif
  return true;
}

// Calls |function()| when it goes out of scope, unless Cancel() has been
// called. It undoes work that was begun and cannot be completed because an
// allocation has failed.
template <typename Function>
class ScopeExit {
 public:
  explicit ScopeExit(Function function) : function_(function) {}
  ~ScopeExit() {
    if (!is_cancelled_)
      function_();
  }
  ScopeExit(const ScopeExit&) = delete;
  ScopeExit& operator=(const ScopeExit&) = delete;

  void Cancel() { is_cancelled_ = true; }

 private:
  const Function function_;
  bool is_cancelled_ = false;
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SHARED_MEMORY_OUT_OF_MEMORY_H_
