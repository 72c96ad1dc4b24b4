// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Our generated decoders read the output of our generated classes: all of the
// messages that run.py exchanges with other languages, whole and cut off
// everywhere. The test runs in the build directory.

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/decode_status.h"
#include "protozero/proto_decoder.h"
#include "test/interop/tree.h"
#include "test/interop/walker.h"

namespace protozero::test {
namespace {

// Longer messages have many similar prefixes. In the middle part, the test
// tries only every kStep-th end, and all ends of fields.
constexpr size_t kEndsTriedFully = 200;
constexpr size_t kStep = 97;

struct Vector {
  std::string name;
  std::string type;
  std::string read_as;
  Json tree;
};

std::vector<Vector> ReadVectors() {
  const char* build_dir = getenv("PROTOZERO_BUILD_DIR");
  std::ifstream file((build_dir != nullptr ? build_dir : std::string(".")) +
                     "/gen/test/interop/vectors.json");
  std::vector<Vector> vectors;
  for (const Json& vector : Json::parse(file)) {
    vectors.push_back(
        {vector["name"], vector["type"], vector["read_as"], vector["tree"]});
  }
  return vectors;
}

const std::vector<Vector>& Vectors() {
  static const std::vector<Vector> vectors = ReadVectors();
  return vectors;
}

// Returns the different encodings of a message. The value is a form's name.
std::map<std::string, const char*> Encodings(const Vector& vector) {
  std::map<std::string, const char*> encodings;
  for (const Form& form : kForms) {
    encodings.emplace(Walkers().at(vector.type).write(vector.tree, form),
                      form.name);
  }
  return encodings;
}

// Returns the tree without empty repeated fields.
Json Normal(const Json& tree) {
  if (!tree.is_object())
    return tree;
  Json result = Json::object();
  for (const auto& [id, value] : tree.items()) {
    if (!value.is_array()) {
      result[id] = Normal(value);
      continue;
    }
    for (const Json& element : value)
      result[id].push_back(Normal(element));
  }
  return result;
}

// Returns the offsets at which the fields of a message end.
std::set<size_t> Ends(const std::string& bytes) {
  std::set<size_t> ends = {0};
  ProtoDecoder decoder(bytes);
  while (decoder.ReadField().valid())
    ends.insert(decoder.read_offset());
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  EXPECT_EQ(*ends.rbegin(), bytes.size());
  return ends;
}

TEST(WalkerTest, DecodersReadWhatWasWritten) {
  for (const Vector& vector : Vectors()) {
    for (const auto& [bytes, form] : Encodings(vector)) {
      SCOPED_TRACE(vector.name + " in " + form);
      DecodeStatus status = DecodeStatus::kOk;
      EXPECT_EQ(Walkers().at(vector.type).read(bytes, &status),
                Normal(vector.tree));
      EXPECT_EQ(status, DecodeStatus::kOk);
      // An older version knows fewer fields; run.py compares them.
      Walkers().at(vector.read_as).read(bytes, &status);
      EXPECT_EQ(status, DecodeStatus::kOk);
    }
  }
}

TEST(WalkerTest, FormsDiffer) {
  // Equal forms would test nothing.
  std::set<std::string> names;
  for (const Vector& vector : Vectors()) {
    for (const auto& [bytes, form] : Encodings(vector))
      names.insert(form);
  }
  EXPECT_TRUE(names.count("one chunk"));
  EXPECT_TRUE(names.count("chunks of 4"));
  EXPECT_TRUE(names.count("chunks of 64"));
  EXPECT_TRUE(names.count("fused, chunks of 48"));
}

TEST(WalkerTest, MessagesThatAreCutOffAreTruncated) {
  size_t num_prefixes = 0;
  for (const Vector& vector : Vectors()) {
    for (const auto& [bytes, form] : Encodings(vector)) {
      SCOPED_TRACE(vector.name + " in " + form);
      const std::set<size_t> ends = Ends(bytes);
      for (size_t size = 0; size < bytes.size(); ++size) {
        if (size > kEndsTriedFully && bytes.size() - size > kEndsTriedFully &&
            size % kStep != 0 && !ends.count(size)) {
          continue;
        }
        ++num_prefixes;
        // AddressSanitizer checks the end of a copy on the heap.
        const auto copy = std::make_unique<char[]>(size);
        bytes.copy(copy.get(), size);
        const std::string_view prefix(copy.get(), size);
        ProtoDecoder decoder(prefix);
        while (decoder.ReadField().valid()) {
        }
        const bool is_whole = ends.count(size) != 0;
        EXPECT_EQ(decoder.status(),
                  is_whole ? DecodeStatus::kOk : DecodeStatus::kTruncated)
            << "of " << size << " bytes";
        if (!is_whole) {
          // The error is after the last whole field, or in a group that begins
          // there.
          EXPECT_GE(decoder.error_offset(), *--ends.upper_bound(size));
          EXPECT_LT(decoder.error_offset(), size);
        }
        for (const std::string& type : {vector.type, vector.read_as}) {
          DecodeStatus status = DecodeStatus::kOk;
          Walkers().at(type).read(prefix, &status);
          EXPECT_EQ(status, decoder.status()) << "of " << size << " bytes";
        }
      }
    }
  }
  EXPECT_GT(num_prefixes, 10000u);
}

}  // namespace
}  // namespace protozero::test
