// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TRACED_PERFETTO_SOURCE_H_
#define TEST_TRACED_PERFETTO_SOURCE_H_

#include <stdint.h>

#include <functional>
#include <string_view>

// The data source "protozero.test" of a program with one of Perfetto's SDKs,
// which waits for free memory.

// Connects to the service. Another thread calls |on_start| when a session
// begins, and |on_last_flush| before it ends, which has to call its argument
// when all is written.
void RegisterPerfettoSource(
    std::function<void()> on_start,
    std::function<void(std::function<void()> done)> on_last_flush);

// Writes a packet. |event| is a nested message, whose size comes last, so that
// the service gets it in a patch if the message is longer than a chunk.
void WritePerfettoPacket(uint64_t timestamp,
                         uint32_t event_field_id,
                         std::string_view event);

#endif  // TEST_TRACED_PERFETTO_SOURCE_H_
