// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_HTTP_CURL_FUNCTIONS_H_
#define SRC_OTLP_HTTP_CURL_FUNCTIONS_H_

#include <string>

#include <curl/curl.h>

#include "protozero/internal/macros.h"

// The functions of libcurl that HttpExporter calls, without "curl_".
#define PROTOZERO_FOR_EACH_CURL_FUNCTION(DO) \
  DO(easy_cleanup)                           \
  DO(easy_getinfo)                           \
  DO(easy_init)                              \
  DO(easy_setopt)                            \
  DO(easy_strerror)                          \
  DO(free)                                   \
  DO(global_cleanup)                         \
  DO(global_init)                            \
  DO(multi_add_handle)                       \
  DO(multi_cleanup)                          \
  DO(multi_info_read)                        \
  DO(multi_init)                             \
  DO(multi_perform)                          \
  DO(multi_poll)                             \
  DO(multi_remove_handle)                    \
  DO(multi_wakeup)                           \
  DO(slist_append)                           \
  DO(slist_free_all)                         \
  DO(url)                                    \
  DO(url_cleanup)                            \
  DO(url_get)                                \
  DO(url_set)

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The functions of libcurl. The library links them; pztrace, which seldom sends
// anything, loads them when it does: libcurl needs some 25 other libraries,
// which would be most of the time that the program takes to start.
struct CurlFunctions {
#define PROTOZERO_DECLARE(name) decltype(&::curl_##name) name;
  PROTOZERO_FOR_EACH_CURL_FUNCTION(PROTOZERO_DECLARE)
#undef PROTOZERO_DECLARE
};

// Returns the functions of libcurl; null, and the fault, if it is not there.
const CurlFunctions* FindCurl(std::string* fault);

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_HTTP_CURL_FUNCTIONS_H_
