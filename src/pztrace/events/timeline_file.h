// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_EVENTS_TIMELINE_FILE_H_
#define SRC_PZTRACE_EVENTS_TIMELINE_FILE_H_

#include <stdint.h>
#include <stdio.h>

#include <string>
#include <vector>

#include "src/pztrace/events/thread_times.h"
#include "src/pztrace/events/timeline_reader.h"
#include "src/pztrace/trace_file/completeness.h"
#include "src/pztrace/trace_file/trace_input.h"

namespace pztrace {

// Gives the whole |input|, which is called |file_name|, to |reader|. Returns
// false, and has printed why, if that did not work, or the trace is damaged.
bool ReadTrace(const std::string& file_name,
               TraceInput* input,
               protozero::TraceReader* reader);

// Reads the timeline of a trace. If it |reads_ahead|, it reads a file twice:
// then details of events have the extensions that the file describes anywhere,
// and tracks have their last names, and |times|, unless it is null, the states
// of threads from the first event on. Otherwise it has them at the end.
bool ReadTimeline(const std::string& file_name,
                  TraceInput* input,
                  TimelineReader* reader,
                  bool reads_ahead = false,
                  ThreadTimes* times = nullptr);

// Reads a trace with |reader| that another one has read, and does not print
// again what is wrong with it. Returns false if it can be read only once.
bool ReadAgain(TraceInput* input, TimelineReader* reader);

// Returns the line that says how many slices have no division of their time.
std::string UndividedText(uint64_t num_slices);

// Returns what the trace lacks. |is_damaged| if the file could not be read to
// its end.
Completeness CompletenessOf(const TimelineReader& reader, bool is_damaged);

// Returns lines that say what |reader| could not use, because the recording
// began later or ended earlier, or because of losses.
std::vector<std::string> OmissionsOf(const TimelineReader& reader);

// Returns lines that say where packets are missing, by thread.
std::vector<std::string> LostStretchesOf(const TimelineReader& reader);

// Appends lines, each after |prefix|, that say what |reader| lacks.
// |is_damaged| if the file could not be read to its end.
void AddNotes(const TimelineReader& reader,
              bool is_damaged,
              const std::string& prefix,
              std::vector<std::string>* notes);

// Prints the lines of OmissionsOf(), if there are any.
void PrintOmissions(const TimelineReader& reader, FILE* file);

// Returns a text such as "12 ns" or "3.40 us".
std::string DurationText(uint64_t ns);

}  // namespace pztrace

#endif  // SRC_PZTRACE_EVENTS_TIMELINE_FILE_H_
