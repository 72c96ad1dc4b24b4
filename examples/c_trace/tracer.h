// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_C_TRACE_TRACER_H_
#define EXAMPLES_C_TRACE_TRACER_H_

#include <stdint.h>

#include "protozero/c/pbz_writer.h"

// Traces from C: TraceWriter and what it needs, behind functions of C. Packets
// are written with the functions that the plugin generates for C, straight into
// the memory that is shared with the tracing service.
//
//   static void write(pbz_message* message, void* context) {
//     my_Packet* packet = (my_Packet*)message;
//     my_Packet_set_timestamp(packet, *(const uint64_t*)context);
//   }
//   ...
//   tracer_trace(tracer, write, &now);

#ifdef __cplusplus
extern "C" {
#endif

// One thread at a time. Another thread has a tracer of its own.
typedef struct Tracer Tracer;

// Offers the data source of this name to the service, wherever that is. Never
// null: without a service, and while nothing is recorded, nothing is written.
Tracer* tracer_create(const char* data_source);

// Commits what there is. May be null.
void tracer_destroy(Tracer* tracer);

// Calls |write| once for each session that records the data source, to fill a
// packet. The message is that of a generated type, which has begun; |write|
// ends the messages in it, but not the message itself. Returns how many
// sessions have the packet, whole.
unsigned tracer_trace(Tracer* tracer,
                      void (*write)(pbz_message* packet, void* context),
                      void* context);

// Packets that did not arrive.
uint64_t tracer_packets_lost(const Tracer* tracer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // EXAMPLES_C_TRACE_TRACER_H_
