// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_C_TRACE_TRACER_H_
#define EXAMPLES_C_TRACE_TRACER_H_

#include <stdint.h>

#include "protozero/c/pbz_writer.h"

// Traces from C: TraceWriter and the objects that it needs, behind functions of
// C. Packets are written with the functions that the plugin generates for C,
// straight into the memory that is shared with the tracing service.
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

// A tracer for one thread at a time. Each thread has its own.
typedef struct Tracer Tracer;

// Offers the data source of this name to the service, wherever that is. Never
// returns null: without a service, and while nothing is recorded, the tracer
// writes nothing.
Tracer* tracer_create(const char* data_source);

// Commits what there is, and frees the tracer, which may be null.
void tracer_destroy(Tracer* tracer);

// Calls |write| once for each session that records the data source, to fill a
// packet. The message has a generated type and has begun; |write| ends the
// messages in it, but not the message itself. Returns how many sessions have
// the whole packet.
unsigned tracer_trace(Tracer* tracer,
                      void (*write)(pbz_message* packet, void* context),
                      void* context);

// Returns how many packets did not arrive.
uint64_t tracer_packets_lost(const Tracer* tracer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // EXAMPLES_C_TRACE_TRACER_H_
