// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp_http/curl_functions.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

const CurlFunctions* FindCurl(std::string*) {
#define PROTOZERO_ADDRESS(name) &::curl_##name,
  static constexpr CurlFunctions kFunctions{
      PROTOZERO_FOR_EACH_CURL_FUNCTION(PROTOZERO_ADDRESS)};
#undef PROTOZERO_ADDRESS
  return &kFunctions;
}

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
