// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <dlfcn.h>

#include "src/otlp_http/curl_functions.h"

namespace pztrace {
namespace {

// Returns the library, which stays loaded; null, and the fault, if it is not
// there.
void* LoadCurl(std::string* fault) {
  std::string first_fault;
  // Debian's build with GnuTLS has the second name.
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return library;
    if (first_fault.empty())
      first_fault = dlerror();
  }
  *fault = "to send, libcurl is needed: " + first_fault;
  return nullptr;
}

template <typename Function>
void FindFunction(void* library,
                  const char* name,
                  Function** function,
                  std::string* fault) {
  *function = reinterpret_cast<Function*>(dlsym(library, name));
  if (*function == nullptr)
    *fault =
        std::string("to send, a newer libcurl is needed: it has no ") + name;
}

}  // namespace
}  // namespace pztrace

const protozero::otlp::CurlFunctions* protozero::otlp::FindCurl(
    std::string* fault) {
  static CurlFunctions functions;
  void* const library = pztrace::LoadCurl(fault);
  if (library == nullptr)
    return nullptr;
#define PZTRACE_FIND(name) \
  pztrace::FindFunction(library, "curl_" #name, &functions.name, fault);
  PROTOZERO_FOR_EACH_CURL_FUNCTION(PZTRACE_FIND)
#undef PZTRACE_FIND
  return fault->empty() ? &functions : nullptr;
}
