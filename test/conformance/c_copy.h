// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_CONFORMANCE_C_COPY_H_
#define TEST_CONFORMANCE_C_COPY_H_

#include <string>

#include "protozero/const_bytes.h"
#include "src/pbz/schema.h"

namespace protozero::conformance {

// Reads a message with the decoders of C and of C++, and writes its fields
// again with both writers, in the same small chunks. Returns the difference, or
// an empty string.
std::string CompareCWithCpp(const pbz::MessageType& type, ConstBytes message);

}  // namespace protozero::conformance

#endif  // TEST_CONFORMANCE_C_COPY_H_
