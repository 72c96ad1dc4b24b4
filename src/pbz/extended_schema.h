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

// In place of the name of a schema; ./auto is a file.
inline constexpr char kAutoSchema[] = "auto";

// The schema of traces, and what a trace itself says of the fields that extend
// it. Anybody can have written that, so it takes a limited amount of memory and
// time, and never changes what the schema has.
class ExtendedSchema {
 public:
  // Whether this build of the program has the schema of traces. REQUIRED by
  // everything else. Prints the lack of it.
  static bool IsAvailable(const char* program);

  ExtendedSchema();

  // Whether |begin|, the first bytes of |file|, are packets of a trace. Prints
  // it if not.
  bool IsTrace(const char* program,
               const char* file,
               protozero::ConstBytes begin) const;

  // Reads all of |stream|, since what describes a field may come behind it, and
  // goes back to its begin. Returns false, and does nothing, with a pipe, which
  // is read only once.
  bool ReadAhead(FieldStream* stream);

  // Adds what an ExtensionDescriptor describes.
  void Add(protozero::ConstBytes extension_descriptor);

  // The message of the file, with all that was added. Valid until the next call
  // of anything here.
  const MessageType* Type();

  // Returns the message of that name, null if there is none. As long valid.
  const MessageType* FindMessage(std::string_view name) const;

  // The message of the file, for |packets| and those after them, which are
  // looked into unless ReadAhead() has done that.
  const MessageType* TypeOf(protozero::ConstBytes packets);

  // Says which descriptions in |file| were of no use, if there were any.
  void ReportUnused(const char* program, const char* file) const;

 private:
  bool AreTrace(protozero::ConstBytes begin) const;

  // Of a pipe, each is parsed with all that came before it.
  static constexpr size_t kMaxDescriptions = 64;
  static constexpr size_t kMaxBytes = size_t{1} << 20;

  // Looks for descriptions of extensions in |packets|, whole fields of a Trace.
  void AddFrom(protozero::ConstBytes packets);
  void AddSet(const std::string& descriptor_set);

  std::string bytes_;  // One FileDescriptorSet.
  std::unique_ptr<Schema> schema_;
  bool has_read_ahead_ = false;
  std::set<std::string> seen_;
  size_t seen_bytes_ = 0;
  size_t num_malformed_ = 0;
  bool has_more_ = false;
  bool has_new_ = false;  // In |bytes_|, and not in |schema_|.
};

}  // namespace pbz

#endif  // SRC_PBZ_EXTENDED_SCHEMA_H_
