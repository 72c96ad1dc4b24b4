// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_SANITIZERS_H_
#define TEST_TESTING_SANITIZERS_H_

// The sanitizers that this is compiled with: 0 or 1 each. clang and gcc have
// different ways to say it.
#if defined(__has_feature)
#define PROTOZERO_TEST_HAS_ASAN __has_feature(address_sanitizer)
#define PROTOZERO_TEST_HAS_TSAN __has_feature(thread_sanitizer)
#else
#if defined(__SANITIZE_ADDRESS__)
#define PROTOZERO_TEST_HAS_ASAN 1
#else
#define PROTOZERO_TEST_HAS_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__)
#define PROTOZERO_TEST_HAS_TSAN 1
#else
#define PROTOZERO_TEST_HAS_TSAN 0
#endif
#endif

namespace protozero::test {

inline constexpr bool kHasSanitizer =
    PROTOZERO_TEST_HAS_ASAN || PROTOZERO_TEST_HAS_TSAN;

}  // namespace protozero::test

#endif  // TEST_TESTING_SANITIZERS_H_
