// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_OTLP_HTTP_HTTP_SETTINGS_H_
#define SRC_OTLP_HTTP_HTTP_SETTINGS_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protozero/otlp/http_exporter.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Appends the headers in "name=value,name2=value2", whose values may have
// escapes such as %20. False if it is malformed.
bool ParseHeaders(std::string_view list, HttpHeaders* headers);

// Returns the fault of headers that cannot be sent; empty if there is none.
std::string FindFault(const HttpHeaders& headers);

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_OTLP_HTTP_HTTP_SETTINGS_H_
