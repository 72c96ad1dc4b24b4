// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_BAGGAGE_H_
#define INCLUDE_PROTOZERO_OTLP_BAGGAGE_H_

#include <stddef.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The header `baggage` of W3C: values of the program that travel with a
// request. It is an ordinary container, and allocates.
class Baggage {
 public:
  // The limits of the specification, for entries and for bytes of the header.
  static constexpr size_t kMaxEntries = 64;
  static constexpr size_t kMaxSize = 8192;

  // A key and its value.
  struct Entry {
    std::string key;
    // Any bytes: the header has percent signs in place of some.
    std::string value;
    // Properties, as they stand in the header, without the first semicolon.
    std::string properties;
  };

  // Returns the entries of a header; null if it is malformed or above a limit.
  // The last one of a key counts.
  static std::optional<Baggage> Parse(std::string_view header);

  // Returns the header.
  std::string Text() const;
  // Returns the value of a key.
  std::optional<std::string_view> Get(std::string_view key) const;
  // Sets a value. False, without a change, if the key or the properties are
  // malformed, or the header would be above a limit.
  bool Set(std::string_view key,
           std::string_view value,
           std::string_view properties = {});
  void Remove(std::string_view key);
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_BAGGAGE_H_
