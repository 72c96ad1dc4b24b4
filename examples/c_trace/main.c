// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program in C that traces its work: slices on a track, as Perfetto's UI
// shows them. README.md says how to record it.

#define _POSIX_C_SOURCE 199309L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/c_trace/tracer.h"
#include "protozero/tracing/trace.pbzero_c.h"

enum { kTrack = 1, kSteps = 100 };

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

// Names the track.
static void write_track(pbz_message* message, void* context) {
  perfetto_protos_TracePacket* packet = (perfetto_protos_TracePacket*)message;
  perfetto_protos_TrackDescriptor track;
  (void)context;
  perfetto_protos_TracePacket_begin_track_descriptor(packet, &track);
  perfetto_protos_TrackDescriptor_set_uuid(&track, kTrack);
  perfetto_protos_TrackDescriptor_set_name(&track, "C");
  perfetto_protos_TrackDescriptor_end(&track);
}

typedef struct Step {
  const char* name;
  int is_end;
} Step;

// Writes the begin or the end of a step.
static void write_step(pbz_message* message, void* context) {
  const Step* step = (const Step*)context;
  perfetto_protos_TracePacket* packet = (perfetto_protos_TracePacket*)message;
  perfetto_protos_TrackEvent event;
  perfetto_protos_TracePacket_set_timestamp(packet, now_ns());
  perfetto_protos_TracePacket_begin_track_event(packet, &event);
  perfetto_protos_TrackEvent_set_track_uuid(&event, kTrack);
  if (step->is_end) {
    perfetto_protos_TrackEvent_set_type(
        &event, perfetto_protos_TrackEvent_TYPE_SLICE_END);
  } else {
    perfetto_protos_TrackEvent_set_type(
        &event, perfetto_protos_TrackEvent_TYPE_SLICE_BEGIN);
    perfetto_protos_TrackEvent_add_categories(&event, "c");
    perfetto_protos_TrackEvent_set_name(&event, step->name);
  }
  perfetto_protos_TrackEvent_end(&event);
}

static void pause_ms(long milliseconds) {
  struct timespec time;
  time.tv_sec = 0;
  time.tv_nsec = milliseconds * 1000000;
  nanosleep(&time, NULL);
}

// Returns "step 7" and the like, with so many dots after it.
static char* name_of(unsigned step, size_t num_dots) {
  char* name = (char*)malloc(num_dots + 32);
  int size;
  if (name == NULL)
    abort();
  size = snprintf(name, 32, "step %u", step);
  memset(name + size, '.', num_dots);
  name[(size_t)size + num_dots] = '\0';
  return name;
}

// Takes one argument, the number of dots in the name of a step: with many, a
// packet takes several chunks.
int main(int argc, char** argv) {
  const size_t num_dots = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
  Tracer* tracer = tracer_create("c_trace");
  int tries;
  // This goes on until it is recorded.
  for (tries = 0; tracer_trace(tracer, write_track, NULL) == 0; ++tries) {
    if (tries == 200) {
      fprintf(stderr, "c_trace: nobody records it\n");
      tracer_destroy(tracer);
      return 1;
    }
    pause_ms(10);
  }
  for (unsigned i = 0; i < kSteps; ++i) {
    char* name = name_of(i, num_dots);
    Step step = {name, 0};
    tracer_trace(tracer, write_step, &step);
    step.is_end = 1;
    tracer_trace(tracer, write_step, &step);
    free(name);
  }
  printf("%d steps, %u packets lost\n", kSteps,
         (unsigned)tracer_packets_lost(tracer));
  tracer_destroy(tracer);
  return 0;
}
