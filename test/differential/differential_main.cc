// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes random messages of all types of the generated drivers, reads them with
// libprotobuf, and compares. Arguments: the file of descriptors, a seed, and
// how many messages of each type.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/stubs/logging.h>

#include "protozero/scattered_stream_writer.h"
#include "test/differential/recorder.h"
#include "test/testing/chunked_stream.h"
#include "test/testing/hex.h"

namespace protozero::test {

namespace {

using ProtobufMessage = google::protobuf::Message;

// Descriptors and messages of types that are known at run time only.
class Types {
 public:
  explicit Types(const std::string& path) {
    google::protobuf::FileDescriptorSet files;
    std::ifstream stream(path, std::ios::binary);
    if (!files.ParseFromIstream(&stream))
      Die("no descriptors in " + path);
    // Each file comes after those that it imports.
    for (const auto& file : files.file()) {
      if (pool_.BuildFile(file) == nullptr)
        Die("bad descriptor of " + file.name());
    }
  }

  std::unique_ptr<ProtobufMessage> NewMessage(const std::string& full_name) {
    const auto* type = pool_.FindMessageTypeByName(full_name);
    if (type == nullptr)
      Die("no message " + full_name);
    return std::unique_ptr<ProtobufMessage>(factory_.GetPrototype(type)->New());
  }

 private:
  [[noreturn]] static void Die(const std::string& error) {
    fprintf(stderr, "%s\n", error.c_str());
    exit(2);
  }

  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
};

// Equal messages give equal bytes: entries of maps are sorted, and so are
// fields. Unlike a comparison of values this tells 0.0 from -0.0, and one NaN
// from another.
std::string Serialize(const ProtobufMessage& message) {
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    message.SerializePartialToCodedStream(&coded);
  }
  return bytes;
}

std::vector<size_t> RandomChunkSizes(std::mt19937_64& random) {
  std::vector<size_t> sizes;
  const uint64_t magnitude = uint64_t{1} << (2 + random() % 12);
  for (uint64_t i = 0; i < 1 + random() % 20; ++i)
    sizes.push_back(4 + random() % magnitude);
  return sizes;
}

// Bytes of any message here; only those that are written are ever touched.
constexpr size_t kLargeBuffer = size_t{1} << 28;

// Writes a message in one of the ways to do so. Returns its bytes.
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

// Returns an empty string, or what went wrong.
std::string CompareOne(Types& types,
                       const DifferentialCase& test_case,
                       uint64_t seed,
                       bool every_field) {
  std::mt19937_64 random(seed);
  Recorder::State state(seed);
  const auto expected = types.NewMessage(test_case.full_name);
  // All fields of all messages, on each level, multiply.
  const int depth = every_field ? 2 : static_cast<int>(random() % 5) + 1;
  const std::string bytes = Write(
      test_case, Recorder(expected.get(), &state, depth, every_field), random);

  const auto parsed = types.NewMessage(test_case.full_name);
  if (!parsed->ParsePartialFromString(bytes))
    return "libprotobuf does not parse " + Hex(bytes);
  if (Serialize(*parsed) == Serialize(*expected))
    return std::string();
  return "-- bytes\n" + Hex(bytes) + "\n-- parsed\n" + parsed->DebugString() +
         "-- expected\n" + expected->DebugString();
}

// A map may get a key twice, on both sides: the last value counts. libprotobuf
// says so each time.
void IgnoreRepeatedKeys(google::protobuf::LogLevel,
                        const char* file,
                        int line,
                        const std::string& message) {
  if (message != "map keys are not unique")
    fprintf(stderr, "%s:%d: %s\n", file, line, message.c_str());
}

int Main(const std::string& descriptors, uint64_t seed, uint64_t messages) {
  google::protobuf::SetLogHandler(IgnoreRepeatedKeys);
  Types types(descriptors);
  const std::vector<DifferentialCase> cases = AllDifferentialCases();
  size_t failed = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    for (uint64_t j = 0; j < messages; ++j) {
      const std::string error =
          CompareOne(types, cases[i], seed + j + (uint64_t{i} << 32), j == 0);
      if (error.empty())
        continue;
      ++failed;
      printf("FAILED: message %llu of type %s\n%s\n",
             static_cast<unsigned long long>(j), cases[i].full_name,
             error.substr(0, 4000).c_str());
      break;  // One of each type is enough.
    }
  }
  printf("%zu passed, %zu failed\n", cases.size() - failed, failed);
  return failed == 0 && !cases.empty() ? 0 : 1;
}

}  // namespace

}  // namespace protozero::test

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s DESCRIPTORS SEED MESSAGES\n", argv[0]);
    return 2;
  }
  return protozero::test::Main(argv[1], strtoull(argv[2], nullptr, 0),
                               strtoull(argv[3], nullptr, 0));
}
