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

// Does the work of a fuzzer's LLVMFuzzerCustomMutator() for input that is
// mostly a message. Changes the message's values and structure. Sometimes, or
// if the input is not a message, it changes the bytes instead. |message| has
// the right type; its content is lost.
size_t MutateEncoded(google::protobuf::Message* message,
                     uint8_t* data,
                     size_t size,
                     size_t max_size,
                     unsigned int seed);

}  // namespace protozero::test

#endif  // TEST_FUZZ_MESSAGE_MUTATOR_H_
