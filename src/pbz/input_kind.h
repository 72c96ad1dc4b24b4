// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_INPUT_KIND_H_
#define SRC_PBZ_INPUT_KIND_H_

#include <string>

#include "protozero/const_bytes.h"
#include "src/pbz/field_stream.h"

// Recognises files that are not what they were taken for, to say what to do.

namespace pbz {

// What to call |bytes|, the begin of a file, if they are compressed: "zstd",
// which is a program's name, too. Null if they are not.
const char* CompressionOf(protozero::ConstBytes bytes);

// Why there is no reading |bytes|, the begin or the whole of a file that is
// read with |framing|, and what to do. |file| is how to name it in a command.
// Empty if nothing speaks against it.
std::string WhyUnreadable(protozero::ConstBytes bytes,
                          bool is_whole,
                          Framing framing,
                          const std::string& file);

}  // namespace pbz

#endif  // SRC_PBZ_INPUT_KIND_H_
