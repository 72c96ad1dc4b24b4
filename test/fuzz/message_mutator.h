// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_FUZZ_MESSAGE_MUTATOR_H_
#define TEST_FUZZ_MESSAGE_MUTATOR_H_

#include <stddef.h>
#include <stdint.h>

#include <string>

namespace google::protobuf {
class Message;
}

namespace protozero::test {

// The work of a fuzzer's LLVMFuzzerCustomMutator() for input that is mostly a
// message: changes its values and its structure, or, sometimes and if it is no
// message, its bytes. |message| is of the type in question; its content is
// lost.
size_t MutateEncoded(google::protobuf::Message* message,
                     uint8_t* data,
                     size_t size,
                     size_t max_size,
                     unsigned int seed);

}  // namespace protozero::test

#endif  // TEST_FUZZ_MESSAGE_MUTATOR_H_
