// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_PBZ_TESTING_H_
#define TEST_PBZ_TESTING_H_

#include <stdio.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "protozero/field.h"
#include "src/pbz/schema.h"

namespace pbz {

// Returns the descriptor set of one file, t.proto, as made by libprotobuf's
// parser. Fails the test, and returns nothing, if the schema is invalid.
std::string DescriptorSet(const std::string& proto);

// Returns the schema of t.proto. Fails the test if there is none.
std::unique_ptr<Schema> ParseSchema(const std::string& proto);

// Returns the bytes of hexadecimal digits, with or without spaces.
std::string Bytes(std::string_view hex);

protozero::ConstBytes AsBytes(const std::string& bytes);

// Returns the output of |print| to a file.
std::string Printed(const std::function<void(FILE*)>& print);

// A file to read |bytes| from.
using ScopedFile = std::unique_ptr<FILE, int (*)(FILE*)>;
ScopedFile FileOf(const std::string& bytes);

}  // namespace pbz

#endif  // TEST_PBZ_TESTING_H_
