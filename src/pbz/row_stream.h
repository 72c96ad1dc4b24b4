// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_ROW_STREAM_H_
#define SRC_PBZ_ROW_STREAM_H_

#include <stdint.h>

#include <functional>
#include <vector>

#include "protozero/const_bytes.h"
#include "src/pbz/field_path.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/report.h"

namespace pbz {

// A function that gets the bytes of a message, and their place in the file. It
// returns whether to go on.
using OnMessageBytes = std::function<bool(protozero::ConstBytes, uint64_t)>;

// Calls |use| with each message at |path| in |stream|, in the order of the
// file. With an empty path, these are the messages of the stream; if the stream
// is one message, all of it is in memory then. Malformed bytes around them go
// to |report|.
void ForEachMessage(FieldStream* stream,
                    const std::vector<PathStep>& path,
                    MalformedReport* report,
                    const OnMessageBytes& use);

}  // namespace pbz

#endif  // SRC_PBZ_ROW_STREAM_H_
