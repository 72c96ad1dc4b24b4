// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/const_bytes.h"

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace protozero {
namespace {

// Takes bytes as generated setters do.
size_t SizeOf(ConstBytes bytes) {
  return bytes.size;
}

TEST(ConstBytesTest, IsEmptyByDefault) {
  constexpr ConstBytes kBytes;
  static_assert(kBytes.data == nullptr && kBytes.size == 0);
  EXPECT_EQ(kBytes.ToStdString(), "");
  EXPECT_TRUE(kBytes.ToStdStringView().empty());
}

TEST(ConstBytesTest, KeepsZeroBytes) {
  const uint8_t bytes[] = {'a', 0, 'b'};
  const ConstBytes view{bytes, sizeof(bytes)};
  EXPECT_EQ(view.ToStdString(), std::string("a\0b", 3));
  EXPECT_EQ(view.ToStdStringView().data(),
            reinterpret_cast<const char*>(bytes));
}

TEST(ConstBytesTest, ConvertsFromContiguousBytesWithoutCopying) {
  std::vector<uint8_t> vector{1, 2, 3};
  const ConstBytes of_vector = vector;
  EXPECT_EQ(of_vector.data, vector.data());
  EXPECT_EQ(of_vector.size, 3u);

  const std::array<std::byte, 2> array{};
  const ConstBytes of_array = array;
  EXPECT_EQ(of_array.data, reinterpret_cast<const uint8_t*>(array.data()));
  EXPECT_EQ(of_array.size, 2u);

  EXPECT_EQ(SizeOf(std::vector<uint8_t>(7)), 7u);
  EXPECT_EQ(SizeOf(std::vector<uint8_t>()), 0u);
}

// Numbers are not bytes, and characters have an overload of their own.
static_assert(!std::is_convertible<std::vector<int>, ConstBytes>::value);
static_assert(!std::is_convertible<std::vector<char>, ConstBytes>::value);
static_assert(!std::is_convertible<std::string, ConstBytes>::value);
static_assert(!std::is_convertible<int, ConstBytes>::value);
static_assert(std::is_trivially_copyable<ConstBytes>::value);

TEST(ConstCharsTest, IsAnAggregateOfPointerAndSize) {
  const ConstChars chars{"abc", 2};
  EXPECT_EQ(chars.ToStdString(), "ab");
  EXPECT_EQ(chars.ToStdStringView(), "ab");
  EXPECT_EQ(ConstChars().ToStdString(), "");
  const std::string_view view = chars;
  EXPECT_EQ(view, "ab");
  static_assert(std::is_trivially_copyable<ConstChars>::value);
}

// A string view that users of Perfetto's have in their own code.
struct StringView {
  template <typename T,
            typename = std::enable_if_t<T::kConvertibleToStringView>>
  StringView(const T& chars)  // NOLINT: implicit, like Perfetto's.
      : data(reinterpret_cast<const char*>(chars.data)), size(chars.size) {}
  const char* data;
  size_t size;
};

std::string Text(StringView view) {
  return std::string(view.data, view.size);
}

TEST(ConstBytesTest, ConvertsToAStringViewOfUsers) {
  const uint8_t bytes[] = {'a', 'b'};
  EXPECT_EQ(Text(ConstBytes{bytes, 2}), "ab");
  EXPECT_EQ(Text(ConstChars{"cd", 2}), "cd");
  static_assert(ConstBytes::kHashable && ConstChars::kHashable);
}

}  // namespace
}  // namespace protozero
