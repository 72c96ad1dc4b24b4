// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/page/embedded_page.h"

#include <stddef.h>

#include <string_view>

namespace pztrace {

namespace {

constexpr std::string_view kPlaceOfTrace = "@TRACE@";

}  // namespace

std::string FilledPage(const protozero::ConstBytes& page,
                       const std::string& json) {
  const std::string_view frame(reinterpret_cast<const char*>(page.data),
                               page.size);
  const size_t place = frame.find(kPlaceOfTrace);
  std::string filled(frame.substr(0, place));
  filled.reserve(frame.size() + json.size());
  for (const char letter : json) {
    // So nothing in the trace ends the element, or begins another one. In JSON,
    // this letter is only in strings.
    if (letter == '<')
      filled += "\\u003c";
    else
      filled += letter;
  }
  filled += frame.substr(place + kPlaceOfTrace.size());
  return filled;
}

}  // namespace pztrace
