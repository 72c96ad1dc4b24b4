// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_TREE_PARSER_H_
#define TEST_TESTING_TREE_PARSER_H_

#include <string_view>

#include <gtest/gtest.h>

#include "test/testing/message_tree.h"

namespace protozero::test {

// Returns whether libprotobuf reads |bytes| as |tree|, and the place where it
// does not.
testing::AssertionResult ParsesAs(std::string_view bytes,
                                  const MessageTree& tree);

}  // namespace protozero::test

#endif  // TEST_TESTING_TREE_PARSER_H_
