// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_ATTRIBUTE_VALUE_H_
#define INCLUDE_PROTOZERO_OTLP_ATTRIBUTE_VALUE_H_

#include <stddef.h>
#include <stdint.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The value of an attribute, or the body of a log: a view, for the time of a
// call. It allocates nothing.
class AttributeValue {
 public:
  // Says which of the values it is.
  enum class Type : uint8_t {
    kString,
    kBool,
    kInt,
    // Written as a number if it fits into an int64, otherwise as decimal text.
    kUint,
    kDouble,
    kBytes,
    kArray,
  };

  // Views a text.
  constexpr AttributeValue(std::string_view text)
      : type_(Type::kString), size_(text.size()), data_(text.data()) {}
  AttributeValue(const std::string& text)
      : AttributeValue(std::string_view(text)) {}
  // A null pointer is an empty text.
  constexpr AttributeValue(const char* text)
      : AttributeValue(text != nullptr ? std::string_view(text)
                                       : std::string_view()) {}
  constexpr AttributeValue(ConstBytes bytes)
      : type_(Type::kBytes), size_(bytes.size), data_(bytes.data) {}
  constexpr AttributeValue(double value)
      : type_(Type::kDouble), double_(value) {}
  // All integers and enumerations, and bool.
  template <
      typename T,
      typename = std::enable_if_t<std::is_integral_v<T> || std::is_enum_v<T>>>
  constexpr AttributeValue(T value)
      : type_(std::is_same_v<T, bool> ? Type::kBool
              : IsSigned<T>()         ? Type::kInt
                                      : Type::kUint),
        int_(static_cast<int64_t>(value)) {}

  // Views the values of an array: of texts, bool, numbers or enumerations. One
  // of char is a text, and one of uint8_t is bytes.
  template <typename T>
  constexpr AttributeValue(const T* values, size_t count)
      : AttributeValue(OfArray(values, count)) {}
  template <typename T>
  AttributeValue(const std::vector<T>& values)
      : AttributeValue(values.data(), values.size()) {}
  // The text in an array of char ends before the first zero.
  template <typename T, size_t n>
  constexpr AttributeValue(const T (&values)[n])
      : AttributeValue(values + 0, SizeOf(values, n)) {}
  template <typename T, size_t n>
  constexpr AttributeValue(const std::array<T, n>& values)
      : AttributeValue(values.data(), SizeOf(values.data(), n)) {}
  // Its values have no addresses.
  AttributeValue(const std::vector<bool>& values)
      : AttributeValue(&values, values.size(), [](const void* array, size_t i) {
          return AttributeValue(
              bool{(*static_cast<const std::vector<bool>*>(array))[i]});
        }) {}

  // Return the value, by its type.
  constexpr Type type() const { return type_; }
  constexpr int64_t int_value() const { return int_; }
  constexpr double double_value() const { return double_; }
  // The size of text and bytes, the number of an array's values.
  constexpr size_t size() const { return size_; }
  std::string_view text() const {
    return {static_cast<const char*>(data_), size_};
  }
  ConstBytes bytes_value() const {
    return {static_cast<const uint8_t*>(data_), size_};
  }
  // Returns a value of an array.
  AttributeValue element(size_t i) const { return element_(data_, i); }

 private:
  using Element = AttributeValue (*)(const void* array, size_t i);

  constexpr AttributeValue(const void* array, size_t count, Element reader)
      : type_(Type::kArray), size_(count), data_(array), element_(reader) {}

  template <typename T>
  static AttributeValue ElementOf(const void* array, size_t i) {
    return AttributeValue(static_cast<const T*>(array)[i]);
  }
  template <typename T>
  static constexpr AttributeValue OfArray(const T* values, size_t count) {
    if constexpr (std::is_same_v<T, char>)
      return AttributeValue(std::string_view(values, count));
    else if constexpr (std::is_same_v<T, uint8_t>)
      return AttributeValue(ConstBytes{values, count});
    else
      return AttributeValue(values, count, &ElementOf<T>);
  }
  template <typename T>
  static constexpr size_t SizeOf([[maybe_unused]] const T* values,
                                 size_t count) {
    if constexpr (std::is_same_v<T, char>)
      return (std::min)(std::string_view(values, count).find('\0'), count);
    return count;
  }
  template <typename T>
  static constexpr bool IsSigned() {
    if constexpr (std::is_enum_v<T>)
      return std::is_signed_v<std::underlying_type_t<T>>;
    else
      return std::is_signed_v<T>;
  }

  Type type_;
  size_t size_ = 0;
  union {
    const void* data_;
    int64_t int_;
    double double_;
  };
  // Reads a value of an array.
  Element element_ = nullptr;
};

// A key and its value, for lists of attributes.
struct Attribute {
  std::string_view key;
  AttributeValue value;
};

// A list of attributes, as a call has them.
using Attributes = std::initializer_list<Attribute>;

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_ATTRIBUTE_VALUE_H_
