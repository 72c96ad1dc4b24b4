// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_REPORT_H_
#define SRC_PBZ_REPORT_H_

#include <stdint.h>

#include <functional>

#include "src/pbz/field_stream.h"
#include "src/pbz/schema.h"
#include "src/pbz/walk.h"

namespace pbz {

// Reports the malformed bytes of a file on the standard error. The lines begin
// with |program| and |file|; a file with a lot of damage is reported by its
// first lines.
class MalformedReport {
 public:
  MalformedReport(const char* program, const char* file)
      : program_(program), file_(file) {}

  // Reports that the bytes at |offset| are malformed, for this |reason|.
  void Add(uint64_t offset, const char* reason);
  // Prints how many more there were. Returns how many there are in all.
  uint64_t Finish() const;

 private:
  const char* const program_;
  const char* const file_;
  uint64_t count_ = 0;
};

// Walks through all fields of |stream|, a message of |type|, which may be null.
// Reports malformed bytes as MalformedReport does. Stops early if the standard
// output cannot be written to. Returns true if there was no error.
bool WalkAndReport(const char* program,
                   const char* file,
                   const MessageType* type,
                   FieldStream* stream,
                   Visitor* visitor);

// Prints them with a |type| that may grow: it is called for each run of
// fields, and returns the message's type for them.
bool WalkAndReport(
    const char* program,
    const char* file,
    const std::function<const MessageType*(protozero::ConstBytes)>& type,
    FieldStream* stream,
    Visitor* visitor);

}  // namespace pbz

#endif  // SRC_PBZ_REPORT_H_
