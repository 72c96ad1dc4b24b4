// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_INPUT_KIND_H_
#define SRC_PBZ_INPUT_KIND_H_

#include <string>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"

// Recognises files that are of another format than expected, and says what to
// do with them.

namespace pbz {

// Returns the format of |bytes|, the beginning of a file, if they are
// compressed. A name such as "zstd" is also the program's. Returns null if they
// are not.
const char* CompressionOf(protozero::ConstBytes bytes);

// Returns why |bytes|, the beginning or the whole of a file that is read with
// |framing|, cannot be read, and what to do. A command names the file |file|;
// |option| is its option to read streams. Returns an empty string if they may
// be readable.
std::string WhyUnreadable(protozero::ConstBytes bytes,
                          bool is_whole,
                          Framing framing,
                          const std::string& file,
                          const char* option = "--delimited");

// Returns what |bytes|, the beginning or the whole of a file, are instead of a
// binary message of protobuf, and what to do. They may be empty, compressed,
// JSON or another text. |reader| stands for the command that reads |file|.
// Returns an empty string if they may be a message.
std::string WhyNoMessage(protozero::ConstBytes bytes,
                         bool is_whole,
                         const std::string& file,
                         const std::string& reader);

}  // namespace pbz

#endif  // SRC_PBZ_INPUT_KIND_H_
