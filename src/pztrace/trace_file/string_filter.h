// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TRACE_FILE_STRING_FILTER_H_
#define SRC_PZTRACE_TRACE_FILE_STRING_FILTER_H_

#include <stdint.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/schema.h"
#include "src/pztrace/trace_file/keyed_hash.h"

namespace pztrace {

// A text to look for, anywhere in another one. '*' stands for any text between.
class TextPattern {
 public:
  // REQUIRES: |pattern| is not empty.
  explicit TextPattern(std::string_view pattern);

  // Returns whether |text| has the pattern in it.
  bool IsIn(std::string_view text) const;

 private:
  std::vector<std::string> parts_;  // The texts between the stars.
};

// Removes texts from traces, before they leave the machine. Afterwards no field
// that can hold text has a pattern in it:
//
//   field of the schema of traces   if the pattern is in its bytes
//   a message                       its fields are looked at
//   a string                        becomes empty, or a hash
//   anything else, as bytes         is left out
//   a field that is not known       is left out
//
// So the trace stays valid, and nothing hides in what cannot be understood.
// Compressed packets are decompressed, or left out. All other packets are
// unchanged, byte by byte. Input may be anything.
//
// Equal texts have equal hashes, but only of the same StringFilter: its key is
// random, so that a text cannot be found by hashing guesses.
class StringFilter {
 public:
  struct Patterns {
    std::vector<std::string> dropped;
    std::vector<std::string> hashed;

    bool are_empty() const { return dropped.empty() && hashed.empty(); }
  };

  // Returns whether this build of the program has the schema of traces. Prints
  // an error if it has not.
  static bool IsAvailable();

  // Makes |*filter| unless there are no patterns. Returns false, and has
  // printed why, if that needs the schema of traces, which this build does not
  // have.
  static bool Make(const Patterns& patterns,
                   std::optional<StringFilter>* filter);

  // REQUIRES: IsAvailable(), and no pattern is empty.
  explicit StringFilter(const Patterns& patterns);

  // Appends |packets|, whole fields of a Trace, without the texts. What is
  // malformed is left out. Any thread may call it.
  void Filter(protozero::ConstBytes packets, std::string* filtered) const;
  // Returns what is left of a text outside of a trace.
  std::string FilterText(std::string_view text) const {
    return HasPattern(text) ? Replacement(text) : std::string(text);
  }

 private:
  void FilterPacket(protozero::ConstBytes packet,
                    std::string_view field,
                    bool is_inside,
                    std::string* filtered) const;
  void FilterFields(protozero::ConstBytes packets,
                    bool is_inside,
                    std::string* filtered) const;
  // Appends the fields of a message. |type| is null if it is not known.
  void FilterMessage(protozero::ConstBytes message,
                     const pbz::MessageType* type,
                     int depth,
                     std::string* filtered) const;
  bool HasPattern(std::string_view text) const;
  // Returns what stands for a text that has a pattern.
  std::string Replacement(std::string_view text) const;

  std::vector<TextPattern> dropped_;
  std::vector<TextPattern> hashed_;
  pbz::ExtendedSchema schema_;
  const pbz::MessageType* packet_type_;
  const KeyedHash hash_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TRACE_FILE_STRING_FILTER_H_
