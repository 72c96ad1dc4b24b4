// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_DIFFERENTIAL_DYNAMIC_TYPES_H_
#define TEST_DIFFERENTIAL_DYNAMIC_TYPES_H_

#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/dynamic_message.h>
#include <google/protobuf/message.h>

#include "protozero/field.h"
#include "test/differential/differential_case.h"

namespace protozero::test {

// libprotobuf's messages of types that are known at run time only.
class DynamicTypes {
 public:
  enum class Strictness {
    kAsDeclared,
    // libprotobuf checks more than the wire format: that strings are UTF-8,
    // that closed enums have one of their values, that maps have a key once.
    // With this value, strings are bytes, enums are int32, and maps are
    // repeated messages.
    kWireOnly,
  };

  // Takes a FileDescriptorSet in which each file comes after its imports. Ends
  // the program if the bytes are malformed.
  explicit DynamicTypes(std::string_view descriptor_set,
                        Strictness = Strictness::kAsDeclared);

  std::unique_ptr<google::protobuf::Message> NewMessage(
      const std::string& full_name);

  // Returns null if the bytes are malformed. Required fields may be missing.
  std::unique_ptr<google::protobuf::Message> Parse(const std::string& full_name,
                                                   ConstBytes bytes);

  const google::protobuf::DescriptorPool& pool() const { return pool_; }

 private:
  google::protobuf::DescriptorPool pool_;
  google::protobuf::DynamicMessageFactory factory_{&pool_};
};

// Returns equal bytes for equal messages: it sorts fields and the entries of
// maps. Unlike a comparison of values, the bytes differ for 0.0 and -0.0, and
// for different NaNs.
std::string Serialize(const google::protobuf::Message& message);

// Reads bytes with our decoder and with libprotobuf, and writes the values from
// our decoder with our writer. Returns an empty string, or the difference.
std::string CompareReading(DynamicTypes* types,
                           const DifferentialCase& test_case,
                           ConstBytes bytes);

}  // namespace protozero::test

#endif  // TEST_DIFFERENTIAL_DYNAMIC_TYPES_H_
