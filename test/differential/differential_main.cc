// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes random messages of all types of the generated drivers, reads them with
// libprotobuf and with the generated decoders, and compares the results. Also
// writes them with the functions generated for C, which make the same bytes.
// Arguments: a seed, and the number of messages of each type.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <random>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "protozero/scattered_stream_writer.h"
#include "test/differential/differential_case.h"
#include "test/differential/dynamic_types.h"
#include "test/testing/c_chunks.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"

namespace protozero::test {

namespace {

std::vector<size_t> RandomChunkSizes(std::mt19937_64& random) {
  std::vector<size_t> sizes;
  const uint64_t magnitude = uint64_t{1} << (2 + random() % 12);
  for (uint64_t i = 0; i < 1 + random() % 20; ++i)
    sizes.push_back(4 + random() % magnitude);
  return sizes;
}

// The size for any message here; only the written bytes are ever touched.
constexpr size_t kLargeBuffer = size_t{1} << 28;

// Writes a message in one of the possible ways. Returns its bytes.
std::string Write(const DifferentialCase& test_case,
                  const Recorder& recorder,
                  std::mt19937_64& random) {
  const std::vector<size_t> sizes = RandomChunkSizes(random);
  switch (random() % 4) {
    case 0:
      return test_case.to_heap(recorder, sizes.front(), sizes.back());
    case 1: {
      static void* const buffer = malloc(kLargeBuffer);
      const size_t size = test_case.to_buffer(recorder, buffer, kLargeBuffer);
      return std::string(static_cast<char*>(buffer), size);
    }
    default: {
      ChunkedStream stream(sizes);
      test_case.to_stream(recorder, &stream.writer);
      const std::string bytes = stream.delegate.Bytes();
      const std::string complaints = stream.delegate.Complaints();
      return stream.writer.ok() && complaints.empty() ? bytes
                                                      : "failed: " + complaints;
    }
  }
}

// Writes the same message with C++ and with C, in the same chunks.
std::string CompareWithC(DynamicTypes* types,
                         const DifferentialCase& test_case,
                         uint64_t seed,
                         bool every_field) {
  std::mt19937_64 random(seed);
  const int depth = every_field ? 2 : static_cast<int>(random() % 5) + 1;
  const std::vector<size_t> sizes = RandomChunkSizes(random);
  std::string expected;
  {
    Recorder::State state(seed);
    const auto recorded = types->NewMessage(test_case.full_name);
    ChunkedStream stream(sizes);
    test_case.to_stream(Recorder(recorded.get(), &state, depth, every_field),
                        &stream.writer);
    expected = stream.delegate.Bytes();
  }
  Recorder::State state(seed);
  const auto recorded = types->NewMessage(test_case.full_name);
  CChunks chunks(sizes);
  test_case.to_c_stream(Recorder(recorded.get(), &state, depth, every_field),
                        &chunks.writer);
  const std::string bytes = chunks.Bytes();
  if (bytes == expected && pbz_writer_status(&chunks.writer) == PBZ_OK)
    return std::string();
  return std::string("-- by C, ") +
         pbz_status_string(pbz_writer_status(&chunks.writer)) + "\n" +
         Hex(bytes) + "\n-- by C++\n" + Hex(expected);
}

// Checks that a prefix of a message is malformed, or a message of fewer fields.
std::string ComparePrefixes(DynamicTypes* types,
                            const DifferentialCase& test_case,
                            const std::string& bytes,
                            std::mt19937_64& random) {
  constexpr size_t kMost = 30;
  for (size_t i = 0; i < bytes.size() && i < kMost; ++i) {
    const size_t size = bytes.size() <= kMost ? i : random() % bytes.size();
    // A copy of exactly this size, so that sanitizers see reads beyond its end.
    const std::vector<uint8_t> prefix(
        bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(size));
    const std::string error = CompareReading(types, test_case, prefix);
    if (!error.empty())
      return "of the first " + std::to_string(size) + " bytes: " + error;
  }
  return std::string();
}

// Returns an empty string, or a description of the difference.
std::string CompareOne(DynamicTypes* types,
                       DynamicTypes* wire_types,
                       const DifferentialCase& test_case,
                       uint64_t seed,
                       bool every_field) {
  std::mt19937_64 random(seed);
  Recorder::State state(seed);
  const auto expected = types->NewMessage(test_case.full_name);
  // With all fields of all messages, the size multiplies with each level.
  const int depth = every_field ? 2 : static_cast<int>(random() % 5) + 1;
  const std::string bytes = Write(
      test_case, Recorder(expected.get(), &state, depth, every_field), random);

  const ConstBytes view(reinterpret_cast<const uint8_t*>(bytes.data()),
                        bytes.size());
  const auto parsed = types->Parse(test_case.full_name, view);
  if (!parsed)
    return "libprotobuf does not parse " + Hex(bytes);
  if (Serialize(*parsed) != Serialize(*expected)) {
    return "-- bytes\n" + Hex(bytes) + "\n-- parsed\n" + parsed->DebugString() +
           "-- expected\n" + expected->DebugString();
  }
  const std::string error = CompareReading(types, test_case, view);
  return error.empty() ? ComparePrefixes(wire_types, test_case, bytes, random)
                       : error;
}

// Ignores libprotobuf's report that a map has a key twice. Both sides allow
// that, and the last value counts.
void IgnoreRepeatedKeys(google::protobuf::LogLevel,
                        const char* file,
                        int line,
                        const std::string& message) {
  if (message != "map keys are not unique")
    fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str());
}

int Main(uint64_t seed, uint64_t messages) {
  google::protobuf::SetLogHandler(IgnoreRepeatedKeys);
  DynamicTypes types(DifferentialDescriptors());
  // Our decoders do not even look at a truncated string.
  DynamicTypes wire_types(DifferentialDescriptors(),
                          DynamicTypes::Strictness::kWireOnly);
  const std::vector<DifferentialCase> cases = AllDifferentialCases();
  size_t failed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (uint64_t j = 0; j < messages; ++j) {
      const uint64_t message_seed = seed + j + (uint64_t{i} << 32);
      std::string error =
          CompareOne(&types, &wire_types, cases[i], message_seed, j == 0);
      if (error.empty())
        error = CompareWithC(&types, cases[i], message_seed, j == 0);
      if (error.empty())
        continue;
      ++failed;
      printf("FAILED: message %llu of type %s\n%s\n",
             static_cast<unsigned long long>(j), cases[i].full_name,
             error.substr(0, 400000).c_str());
      break;  // One failure of each type is enough.
    }
  }
  printf("%zu passed, %zu failed\n", cases.size() - failed, failed);
  return failed == 0 && !cases.empty() ? 0 : 1;
}

}  // namespace

}  // namespace protozero::test

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s SEED MESSAGES\n", argv[0]);
    return 2;
  }
  return protozero::test::Main(strtoull(argv[1], nullptr, 0),
                               strtoull(argv[2], nullptr, 0));
}
