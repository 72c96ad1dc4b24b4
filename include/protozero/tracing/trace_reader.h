// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_TRACING_TRACE_READER_H_
#define INCLUDE_PROTOZERO_TRACING_TRACE_READER_H_

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "protozero/const_bytes.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace internal {
class TraceReaderImpl;
class TrackTable;
}  // namespace internal

// A category and a name. Either is cut at kMaxTextSize bytes.
struct EventText {
  static constexpr size_t kMaxTextSize = 4096;

  const std::string& category;  // Several have commas between them.
  const std::string& name;      // Empty if there is none.
};

// The arguments and flows of an event.
struct EventDetails {
  std::string args;   // As TraceReader::Callbacks::format_args has made it.
  std::string flows;  // Numbers with commas between them.
  // The ones of |flows| that end here. A later one of that number is another
  // flow.
  std::string ended_flows;
};

// A time span on a track: what a scope, or another pair of a beginning and an
// end, has recorded.
struct Slice {
  // Stays where it is as long as the reader. |text_id| counts from 0, one for
  // each different text.
  const EventText* text;
  uint32_t text_id;
  // The number of slices of the track that it is within.
  uint32_t depth;
  uint64_t track;  // A number for TraceReader::tracks().
  // The time at which the outermost slice that it is within has begun.
  uint64_t root_ns;
  uint64_t begin_ns;  // Times are on the trace's clock.
  uint64_t duration_ns;
  // The duration without the slices within it, of the same track.
  uint64_t self_ns;
  // The details of its beginning and its end. Valid in the callback; empty
  // unless Callbacks::reads_details.
  const EventDetails* details;
};

// A moment on a track.
struct Instant {
  const EventText* text;        // As a slice has it.
  uint64_t track;               // The same.
  uint64_t time_ns;             // On the trace's clock.
  const EventDetails* details;  // As a slice has it.
};

// A value of a counter, which is a track.
struct CounterValue {
  uint64_t track;    // A number for TraceReader::tracks().
  uint64_t time_ns;  // On the trace's clock.
  double value;      // In the unit of the track.
};

// The description of a track. A process has |pid|, a thread |pid| and |tid|;
// in others they are 0.
struct TrackInfo {
  // The siblings that viewers show as one with a track.
  enum class Merging : uint8_t { kByName, kByKey, kNone };

  // A thread's is its process, whether or not the trace says so.
  uint64_t parent = 0;
  std::string name;
  int32_t pid = 0;
  int64_t tid = 0;
  int32_t order = 0;  // Among its siblings.
  bool is_counter = false;
  bool is_incremental = false;
  std::string unit;  // "ns", "count", "bytes", or as the program says.
  double multiplier = 1;
  Merging merging = Merging::kByName;
  // The siblings of one key are one, with kByKey. A number N is
  // "sibling_merge_key_int:N", as Perfetto's trace processor has it.
  std::string merge_key;
};

// The tracks of a trace, as far as it has been read. It grows until then, and
// the last name of a process or thread counts.
class TraceTracks {
 public:
  // Called by TraceReader.
  explicit TraceTracks(const internal::TrackTable* table) : table_(table) {}

  // Returns those that the trace describes, in the order of the file.
  std::vector<uint64_t> All() const;
  // Returns nothing if the trace does not describe the track.
  std::optional<TrackInfo> Find(uint64_t track) const;
  // Returns the track and what it is part of, from the outside: |track| is the
  // last one. Each is there once, in a circle too, and the outermost of very
  // many are left out.
  std::vector<uint64_t> PathTo(uint64_t track) const;
  // Returns another number if what the others return of tracks that were
  // described may have changed.
  uint64_t version() const;

 private:
  const internal::TrackTable* table_;
};

// The time from the last event before a loss to the first one behind it.
struct LostStretch {
  uint64_t track;  // The thread's, as a slice has it.
  uint64_t begin_ns;
  uint64_t end_ns;
};

// The places where packets of a sequence are missing.
struct Gaps {
  uint64_t track = 0;  // The thread's.
  int32_t pid = 0;     // 0 if it is not known.
  uint64_t places = 0;
};

// A TrackEvent whose arguments are to be formatted, and what it refers to.
class EventArgs {
 public:
  // Returns the encoded TrackEvent.
  virtual ConstBytes event() const = 0;
  // Returns the entry with that number of a list of InternedData, which is a
  // field of that message: an encoded EventName, SourceLocation and so on.
  // Returns no bytes (data is null) if the sequence has not said it.
  virtual ConstBytes FindInterned(uint32_t list, uint64_t iid) const = 0;

 protected:
  ~EventArgs() = default;
};

// Reads the events of a trace: slices, instants and values of counters.
//
//   TraceReader::Callbacks callbacks;
//   callbacks.on_slice = [](const Slice& slice) {
//     printf("%s %.0f ns\n", slice.text->name.c_str(),
//            static_cast<double>(slice.duration_ns));
//   };
//   TraceReader reader(std::move(callbacks));
//   if (!reader.ReadFile("session.pftrace"))
//     fprintf(stderr, "%s\n", reader.error().c_str());
//
// Times are those of the trace's clock, the boot clock unless the trace says
// otherwise. Snapshots of the clocks convert those of others.
//
// The events of a track are nested in order of their times, whichever sequence
// they came from. They may be anywhere in the file as long as no event of the
// track that is later has stood more than kMaxLateness events before. Those
// that come later than that are counted, in late(). So memory does not depend
// on the size of the file, but on the number of tracks, of different texts and
// of open slices.
//
// Bytes may be anything: what is malformed is not there.
class TraceReader {
 public:
  // The events by which one may be late and still find its place.
  static constexpr size_t kMaxLateness = size_t{1} << 19;

  // The functions that get what is read, in any order. Empty ones are not
  // called.
  struct Callbacks {
    std::function<void(const Slice&)> on_slice = {};
    std::function<void(const Instant&)> on_instant = {};
    std::function<void(const CounterValue&)> on_counter = {};
    // To read the details takes time.
    bool reads_details = false;
    // Appends the arguments of an event to |args|, in any format. The reader
    // puts a comma between those of a slice's beginning and of its end.
    std::function<void(const EventArgs& event, std::string* args)> format_args =
        {};
    // Inflates |bytes|, which are a TracePacket's field |field_id|:
    // compressed_packets or its like. Returns false if it cannot.
    std::function<
        bool(uint32_t field_id, ConstBytes bytes, std::string* packets)>
        inflate = {};
    // Slices without an end, at the end of the trace, until which they last.
    std::function<void(const Slice&)> on_unfinished = {};
    // Gets each ExtensionDescriptor, which describes fields that the events
    // behind it may have: for |format_args|. After ReadAhead(), Read() does not
    // call it again.
    std::function<void(ConstBytes extension_descriptor)>
        on_extension_descriptor = {};
  };

  // Makes a reader that gives what it finds to |callbacks|, on the thread that
  // calls it. Not for several threads at once.
  explicit TraceReader(Callbacks callbacks);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;

  // Reads all of a trace, and calls Finish(). Returns false if it cannot be
  // read, or is damaged; error() says why.
  bool ReadFile(const char* path);
  bool ReadDescriptor(int fd);
  const std::string& error() const;

  // Reads a part of a trace: |packets| are fields of a Trace. Returns false if
  // they are not whole.
  bool Read(ConstBytes packets);
  // Reads what a part of a trace says of tracks, and nothing else. Once all of
  // a trace has gone through this, tracks() has the last names from the first
  // event on, and Read() changes none. ReadFile() and ReadDescriptor() do it
  // where they can read twice.
  void ReadAhead(ConstBytes packets);
  // After the last packet.
  void Finish();

  // By number. A track that has none is there with one that the reader made.
  const TraceTracks& tracks() const;

  // Returns what the real-time clock, in nanoseconds since 1970, showed at that
  // time of the trace. Null if the trace has not said it yet.
  std::optional<int64_t> RealtimeOf(uint64_t time_ns) const;
  // Returns the difference of both clocks, by the last snapshot.
  std::optional<int64_t> realtime_offset_ns() const;

  // Slices without an end. A loss ends all slices that are open on the thread:
  // these are counted in lost_ends(), too. The others had not ended.
  uint64_t unfinished() const;
  uint64_t lost_ends() const;
  // Ends without a beginning.
  uint64_t unbegun() const;
  // Packets that refer to others that are not there: lost ones, which are
  // counted in skipped_by_loss(), too, or ones from before the recording.
  uint64_t skipped() const;
  uint64_t skipped_by_loss() const;
  // Events that came too late to be in order.
  uint64_t late() const;
  // Events on a clock that no snapshot relates to the trace's. Their times are
  // as they stand. 0 if the trace has no snapshot of its clock.
  uint64_t unrelated() const;
  // Counts what has events that the reader does not read, by its name.
  const std::map<std::string, uint64_t>& unread() const;

  // The times of the earliest and of the latest event.
  uint64_t first_ns() const;
  uint64_t last_ns() const;
  // In the order of the file.
  const std::vector<LostStretch>& lost_stretches() const;
  // By sequence, those that have any.
  const std::map<uint32_t, Gaps>& gaps() const;
  // Counts the packets that services have lost, by the number of the
  // LossReason. Several services may have written to one file.
  const std::map<uint32_t, uint64_t>& packets_lost() const;
  // Places where the service does not know how many packets are lost.
  uint64_t unknown_losses() const;
  // The trace has statistics of a service.
  bool has_stats() const;

 private:
  const std::unique_ptr<internal::TraceReaderImpl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_READER_H_
