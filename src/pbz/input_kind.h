// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_INPUT_KIND_H_
#define SRC_PBZ_INPUT_KIND_H_

#include <string>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"

// Recognises files that are not what they were taken for, to say what to do.

namespace pbz {

// Names the format of |bytes|, the begin of a file, if they are compressed:
// "zstd" is also the name of its program. Null if they are not.
const char* CompressionOf(protozero::ConstBytes bytes);

// Says why |bytes|, the begin or the whole of a file that is read with
// |framing|, cannot be read, and what to do. |file| is how to name it in a
// command, |option| the one that reads streams. Empty if they may be readable.
std::string WhyUnreadable(protozero::ConstBytes bytes,
                          bool is_whole,
                          Framing framing,
                          const std::string& file,
                          const char* option = "--delimited");

// Says what |bytes|, the begin or the whole of a file, are instead of a binary
// message of protobuf, and what to do: nothing at all, something compressed,
// JSON or another text. |reader| stands for the command that reads |file|.
// Empty if they may be a message.
std::string WhyNoMessage(protozero::ConstBytes bytes,
                         bool is_whole,
                         const std::string& file,
                         const std::string& reader);

}  // namespace pbz

#endif  // SRC_PBZ_INPUT_KIND_H_
