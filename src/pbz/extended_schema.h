// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_EXTENDED_SCHEMA_H_
#define SRC_PBZ_EXTENDED_SCHEMA_H_

#include <stddef.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/schema.h"

namespace pbz {

// The word that stands for the schema of traces. A file of that name is ./auto.
inline constexpr char kAutoSchema[] = "auto";

// The schema of traces, with the extension fields that a trace itself
// describes. Anybody can have written these descriptions, so they take a
// limited amount of memory and time, and never change what the schema has.
class ExtendedSchema {
 public:
  // Returns whether this build of the program has the schema of traces. Prints
  // an error if it has not. REQUIRED by everything else.
  static bool IsAvailable(const char* program);

  ExtendedSchema();

  // Returns whether |begin|, the first bytes of |file|, are packets of a trace.
  // Prints an error if they are not.
  bool IsTrace(const char* program,
               const char* file,
               protozero::ConstBytes begin) const;

  // Reads all of |stream|, since a field may come before its description, and
  // goes back to its beginning. Returns false, and does nothing, for a pipe,
  // which can be read only once.
  bool ReadAhead(FieldStream* stream);

  // Adds the fields that an ExtensionDescriptor describes.
  void Add(protozero::ConstBytes extension_descriptor);

  // Returns the type of the file's message, with all that was added. It is
  // valid until the next call of any function of this class.
  const MessageType* Type();

  // Returns the message of that name, null if there is none. It is valid as
  // long as the result of Type().
  const MessageType* FindMessage(std::string_view name) const;

  // Returns the type of the file's message, for |packets| and those after them.
  // Adds the descriptions in |packets| first, unless ReadAhead() has done that.
  const MessageType* TypeOf(protozero::ConstBytes packets);

  // Prints which descriptions in |file| were of no use, if there were any.
  void ReportUnused(const char* program, const char* file) const;

 private:
  bool AreTrace(protozero::ConstBytes begin) const;

  // The limits of the descriptions that are read. Of a pipe, each one is parsed
  // together with all that came before it.
  static constexpr size_t kMaxDescriptions = 64;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  // Looks for descriptions of extensions in |packets|, whole fields of a Trace.
  void AddFrom(protozero::ConstBytes packets);
  void AddSet(const std::string& descriptor_set);

  std::string bytes_;  // A single FileDescriptorSet.
  std::unique_ptr<Schema> schema_;
  bool has_read_ahead_ = false;
  std::set<std::string> seen_;
  size_t seen_bytes_ = 0;
  size_t num_malformed_ = 0;
  bool has_more_ = false;
  bool has_new_ = false;  // True if |bytes_| has more than |schema_|.
};

}  // namespace pbz

#endif  // SRC_PBZ_EXTENDED_SCHEMA_H_
