// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PROGRAM_VALUE_SINK_H_
#define SRC_PROGRAM_VALUE_SINK_H_

#include <stdint.h>

#include <string_view>
#include <variant>

namespace program {

// A number as JSON writes it.
struct Decimal {
  std::string_view digits;
};

// An address, which is shown in hexadecimal.
struct Address {
  uint64_t value;
};

// A value that is neither a dictionary nor an array. std::monostate is null.
using Value = std::variant<std::monostate,
                           bool,
                           int64_t,
                           uint64_t,
                           double,
                           Decimal,
                           Address,
                           std::string_view>;

// Takes the values of a structure in order, such as {"a":[1,"x"]}:
//
//   sink->Begin(Container::kDictionary);
//   sink->Name("a");
//   sink->Begin(Container::kArray);
//   sink->Add(int64_t{1});
//   sink->Add(std::string_view("x"));
//   sink->End();
//   sink->End();
class ValueSink {
 public:
  enum class Container : bool { kDictionary, kArray };
  // A name that the program chose, or that of a field of a message. The full
  // name of an extension is in brackets.
  enum class NameKind : bool { kFree, kField };

  virtual void Begin(Container container) = 0;
  virtual void End() = 0;
  // Says the name of the next value, which is in a dictionary.
  virtual void Name(std::string_view name, NameKind kind = NameKind::kFree) = 0;
  virtual void Add(const Value& value) = 0;

 protected:
  ~ValueSink() = default;
};

}  // namespace program

#endif  // SRC_PROGRAM_VALUE_SINK_H_
