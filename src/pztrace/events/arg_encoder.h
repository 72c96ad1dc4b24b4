// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_ARG_ENCODER_H_
#define SRC_PZTRACE_EVENTS_ARG_ENCODER_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "protozero/tracing/trace_reader.h"
#include "src/program/value_sink.h"

namespace pztrace {

// Keeps texts that many events may repeat, each once, by a number.
class ArgTexts {
 public:
  // The limit of a text. Longer ones are cut, so that the output does not grow
  // out of proportion.
  static constexpr size_t kMaxBytes = protozero::EventText::kMaxTextSize;
  // The longest text that is not worth a number.
  static constexpr size_t kMaxShort = 64;

  uint64_t Add(std::string_view text);
  std::string_view Get(uint64_t number) const { return texts_[number]; }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint64_t> numbers_;
};

// Encodes the arguments of an event as members of a dictionary, so that
// arguments of an end can follow those of the beginning:
//
//   member: varint: 4 * size + 2 * is_shared + is_field | name | value
//   value:  the type, a byte, and after it:
//     null, false, true    nothing
//     integer, address     a zigzag varint, a varint
//     real                 the 8 bytes of a double
//     decimal, text        a varint: the size | the bytes
//     dictionary, array    4 bytes: the size | members or values
//
// A shared name or text has its number in ArgTexts in place of a size and
// bytes.
class ArgEncoder final : public program::ValueSink {
 public:
  enum Type : char {
    kNull,
    kFalse,
    kTrue,
    kInteger,
    kUnsigned,
    kReal,
    kDecimal,
    kText,
    kSharedText,
    kDictionary,
    kArray,
    kAddress
  };
  static constexpr size_t kSizeBytes = 4;

  // REQUIRES: |texts|, which may be null if no text is shared, and |args|
  // outlive it.
  ArgEncoder(ArgTexts* texts, std::string* args) : texts_(texts), args_(args) {}

  void Begin(Container container) override;
  void End() override;
  void Name(std::string_view name, NameKind kind = NameKind::kFree) override;
  void Add(const program::Value& value) override;

  // Take a name and a text that other events are likely to have, too.
  void SharedName(std::string_view name, NameKind kind = NameKind::kFree);
  void AddShared(std::string_view text);

  // Calls |add|, and removes what it has added if it returns false. It ends all
  // that it begins.
  template <typename Function>
  bool Try(Function add) {
    const size_t size = args_->size();
    if (add())
      return true;
    args_->resize(size);
    return false;
  }

 private:
  void AddName(uint64_t number, bool is_shared, NameKind kind);
  void AddTyped(Type type, uint64_t number);
  void AddText(Type type, std::string_view text);

  ArgTexts* const texts_;
  std::string* const args_;
  std::vector<size_t> open_;  // The places of the sizes of open containers.
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_ARG_ENCODER_H_
