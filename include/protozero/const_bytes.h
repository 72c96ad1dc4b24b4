// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_CONST_BYTES_H_
#define INCLUDE_PROTOZERO_CONST_BYTES_H_

#include <stddef.h>
#include <stdint.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// A view of bytes that it does not own, for reading and setting bytes fields.
// Any contiguous container of uint8_t or std::byte converts to it. Nothing is
// copied, so the container must outlive the view.
struct ConstBytes {
  // Traits for users' string views and hashes, such as Perfetto's, which accept
  // classes with |data|, |size| and these traits.
  static constexpr bool kConvertibleToStringView = true;
  static constexpr bool kHashable = true;

  // Views no bytes, or the |n| bytes from |d| on.
  constexpr ConstBytes() = default;
  constexpr ConstBytes(const uint8_t* d, size_t n) : data(d), size(n) {}

  // Views a container of bytes.
  template <
      typename Range,
      typename Element = std::remove_const_t<
          std::remove_pointer_t<decltype(std::declval<const Range&>().data())>>,
      typename = std::enable_if_t<std::is_same<Element, uint8_t>::value ||
                                  std::is_same<Element, std::byte>::value>>
  ConstBytes(const Range& range)  // NOLINT: a view, implicit like string_view.
      : data(reinterpret_cast<const uint8_t*>(range.data())),
        size(range.size()) {}

  // Return the same bytes as a view, and as a copy, which allocates.
  std::string_view ToStdStringView() const {
    return std::string_view(reinterpret_cast<const char*>(data), size);
  }
  std::string ToStdString() const {
    return std::string(reinterpret_cast<const char*>(data), size);
  }

  // The first byte, and the number of bytes.
  const uint8_t* data = nullptr;
  size_t size = 0;
};

// A view of characters that it does not own, not null-terminated.
struct ConstChars {
  static constexpr bool kConvertibleToStringView = true;
  static constexpr bool kHashable = true;

  // Return the same characters as a view, and as a copy, which allocates.
  std::string_view ToStdStringView() const {
    return std::string_view(data, size);
  }
  std::string ToStdString() const { return std::string(data, size); }
  // Converts a string that was read, so that a setter can take it.
  operator std::string_view() const { return ToStdStringView(); }

  // The first character, and the number of characters.
  const char* data = nullptr;
  size_t size = 0;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_CONST_BYTES_H_
