// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_ATTRIBUTE_VALUE_H_
#define INCLUDE_PROTOZERO_OTLP_ATTRIBUTE_VALUE_H_

#include <stddef.h>
#include <stdint.h>

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
    kStrings,
    kBools,
    kInts,
    kDoubles,
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

  // Views the values of an array.
  constexpr AttributeValue(const std::string_view* values, size_t count)
      : type_(Type::kStrings), size_(count), data_(values) {}
  constexpr AttributeValue(const bool* values, size_t count)
      : type_(Type::kBools), size_(count), data_(values) {}
  constexpr AttributeValue(const int64_t* values, size_t count)
      : type_(Type::kInts), size_(count), data_(values) {}
  constexpr AttributeValue(const double* values, size_t count)
      : type_(Type::kDoubles), size_(count), data_(values) {}
  // An array of one of these types, or a vector of one.
  template <typename T, size_t n>
  constexpr AttributeValue(const T (&values)[n])
      : AttributeValue(static_cast<const T*>(values), n) {}
  template <typename T>
  AttributeValue(const std::vector<T>& values)
      : AttributeValue(values.data(), values.size()) {}

  // Return the value, by its type.
  constexpr Type type() const { return type_; }
  constexpr int64_t int_value() const { return int_; }
  constexpr double double_value() const { return double_; }
  // The size of text and bytes, the number of an array's values.
  constexpr size_t size() const { return size_; }
  std::string_view text() const {
    return {static_cast<const char*>(data_), size_};
  }
  template <typename T>
  const T* array() const {
    return static_cast<const T*>(data_);
  }

 private:
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
