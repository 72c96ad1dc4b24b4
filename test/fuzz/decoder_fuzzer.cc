// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Calls all getters and iterators of generated decoders on bytes of any
// content, and writes the results as a message with generated setters.

#include <stddef.h>
#include <stdint.h>

#include <string>

#include "protozero/proto_decoder.h"
#include "test/fuzz/check.h"
#include "test/fuzz/generated_types.h"

namespace {

using protozero::test::Check;
using namespace protozero::test;

bool IsWellFormed(const std::string& bytes) {
  protozero::ProtoDecoder decoder(bytes);
  size_t end = 0;
  while (const protozero::Field field = decoder.ReadField()) {
    Check(decoder.read_offset() > end, "no way forward");
    end = decoder.read_offset();
    std::string serialized;
    field.SerializeAndAppendTo(&serialized);
    Check(!serialized.empty(), "a field without bytes");
  }
  Check(decoder.status() != protozero::DecodeStatus::kOk ||
            (end == bytes.size() && decoder.bytes_left() == 0),
        "well-formed, but not read to the end");
  Check(decoder.status() == protozero::DecodeStatus::kOk ||
            decoder.error_offset() < bytes.size(),
        "an error beyond the end");
  return decoder.status() == protozero::DecodeStatus::kOk;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const TypedInput input = ParseTypedInput(data, size);
  if (!input.test_case)
    return -1;
  Reader::State state;
  const std::string copy =
      input.test_case->copy(Reader(nullptr, input.bytes, &state));
  Check(IsWellFormed(copy), "what is written is malformed");
  const bool is_well_formed = IsWellFormed(input.bytes.ToStdString());
  Check(is_well_formed || state.malformed, "what is malformed was not seen");
  Check(state.errors.empty(), state.errors.c_str());

  // The output can be read. Reading and writing it once more changes nothing.
  Reader::State copy_state;
  const std::string second = input.test_case->copy(
      Reader(nullptr,
             protozero::ConstBytes(
                 reinterpret_cast<const uint8_t*>(copy.data()), copy.size()),
             &copy_state));
  Check(!copy_state.malformed, "a copy is malformed inside");
  Check(second == copy, "a copy of a copy differs");
  return 0;
}
