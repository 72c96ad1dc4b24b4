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

  const std::string& category;  // Several categories have commas between them.
  const std::string& name;      // Empty if there is none.
};

// A flow of an event.
struct EventFlow {
  uint64_t id;
  // True if the flow ends here. A later one of that number is another flow.
  bool ends_here;
  // The arrows of the flow at this event. With kIn, later arrows begin where
  // the one to this event does. With kOut, no arrow comes here, and a flow of
  // that number goes on without this event. A kStep is a kInAndOut if an arrow
  // comes to it, and nothing otherwise. Events of the JSON format have these.
  enum class Arrows : uint8_t { kInAndOut, kIn, kOut, kStep };
  // The ends of arrows at this event.
  Arrows arrows = Arrows::kInAndOut;
};

// The arguments and flows of an event.
struct EventDetails {
  std::string args;  // The bytes that Callbacks::format_args makes.
  std::vector<EventFlow> flows;
};

// A time span on a track, which a scope, or another pair of a beginning and an
// end, has recorded.
struct Slice {
  // Valid as long as the reader exists. |text_id| counts from 0, one for each
  // different text.
  const EventText* text;
  uint32_t text_id;
  // The number of slices on the track that contain it.
  uint32_t depth;
  // The slice's own number, which counts from 0 as slices begin, and that of
  // the innermost slice that contains it: UINT64_MAX if none does. The reader
  // gives no slice of that number if its end is lost.
  uint64_t number;
  uint64_t parent;
  uint64_t track;  // A number for TraceReader::tracks().
  // The time at which the outermost slice that contains it has begun.
  uint64_t root_ns;
  uint64_t begin_ns;  // Times are on the trace's clock.
  uint64_t duration_ns;
  // The duration without the slices within it on the same track.
  uint64_t self_ns;
  // The details of its beginning and its end. Valid in the callback; empty
  // unless Callbacks::reads_details.
  const EventDetails* details;
  // A number for TraceReader::path(). 0 if Callbacks::max_paths is 0.
  uint32_t path_id = 0;
};

// The texts of a slice and of the slices that contained it when it began. Paths
// are numbered from 1, one for each different one, so that the outer path has
// the lower number. Once Callbacks::max_paths are numbered, further paths are
// folded: those within the same numbered path share a number, which is above
// max_paths.
struct SlicePath {
  const EventText* text;  // The text of the slice itself. Null if folded.
  uint32_t outer_id;      // The path without that text; 0 if nothing is left.
};

// A moment on a track.
struct Instant {
  const EventText* text;        // The same as for a slice.
  uint64_t track;               // The same.
  uint64_t time_ns;             // On the trace's clock.
  const EventDetails* details;  // The same as for a slice.
  // The same as for a slice, but unset without Callbacks::nests_instants.
  // Slices and instants have the numbers of one count then.
  uint32_t depth = 0;
  uint64_t number = 0;
  uint64_t parent = UINT64_MAX;
};

// A value of a counter, which is a track.
struct CounterValue {
  uint64_t track;    // A number for TraceReader::tracks().
  uint64_t time_ns;  // On the trace's clock.
  double value;      // In the unit of the track.
};

// A place where a task is spawned, or where it waits.
struct TaskPlace {
  std::string name;
  std::string file;
  uint32_t line = 0;
};

// A step in the life of a task, see "protozero/tracing/task.h".
struct TaskStep {
  enum class Kind : uint8_t {
    // The thread runs |task| from now on, or none if that is 0.
    kSwitch,
    // |task| is spawned, is woken, or ends without running.
    kSpawn,
    kWake,
    kEnd,
    // The task that the thread runs works on the request |text|.
    kRequest,
    // Steps of the thread are lost between the step before and the next one.
    // If the last steps of a thread are lost, packets_lost() says so, and a
    // kLoss only if a later packet does.
    kLoss,
  };
  // The fate of the task that the thread has run until a kSwitch: it could go
  // on, waits at |waits_at|, or has ended with |result|. Of a task of a kSpawn,
  // one of the first two.
  enum class Stop : uint8_t { kReady, kWaits, kEnds };

  // The kind of the step, and the fate of the task before.
  Kind kind;
  Stop stop = Stop::kReady;
  // A trace::TaskEvent::Result.
  uint32_t result = 0;
  // Numbers for TraceReader::tracks(): the thread's own track, and its process.
  // A task's number is unique in its process.
  uint64_t thread = 0;
  uint64_t process = 0;
  uint64_t time_ns = 0;  // On the trace's clock.
  uint64_t task = 0;
  // The parent of a kSpawn, 0 for none; null if it is the task that the thread
  // runs.
  std::optional<uint64_t> parent = {};
  // The place where |task| was spawned, for kSwitch and kSpawn, and where the
  // task before waits. Null if that is not known.
  const TaskPlace* spawned_at = nullptr;
  const TaskPlace* waits_at = nullptr;
  // The task's own name, for kSpawn, or the request.
  std::string_view text = {};
};

// The description of a track. A process and a thread have |pid|, and a thread
// |tid|, which is 0 in traces that number threads from 0; for other tracks they
// are 0. Several processes of a trace may have one pid: those of containers,
// and those that had it one after the other.
struct TrackInfo {
  // The siblings that viewers merge with a track.
  enum class Merging : uint8_t { kByName, kByKey, kNone };

  // The parent of a thread is its process, even if the trace does not say so.
  uint64_t parent = 0;
  std::string name;
  int32_t pid = 0;
  int64_t tid = 0;
  int32_t order = 0;  // Among its siblings.
  bool has_order = false;
  // The order of the tracks in it: "lexicographic", "chronological" or
  // "explicit"; empty if there is none.
  std::string_view child_ordering;
  std::string description;
  // The name of the track itself, not of its thread or process.
  std::string own_name;
  bool is_state = false;
  bool is_counter = false;
  bool is_incremental = false;
  std::string unit;  // "ns", "count", "bytes", or the program's own.
  double multiplier = 1;
  Merging merging = Merging::kByName;
  // With kByKey, viewers merge the siblings with the same key. A number N is
  // "sibling_merge_key_int:N", as in Perfetto's trace processor.
  std::string merge_key;
  bool is_thread = false;
  bool is_process = false;
  // The numbers of a process, and of a thread and its process, which count from
  // 1. 0 is none.
  uint32_t process = 0;
  uint32_t thread = 0;
  // The pid of a process in a PID namespace, as a container has one, outside of
  // it: where the recorder is. 0 if that is not known, or the same.
  int32_t outer_pid = 0;
  // The tid of a thread of such a process, outside of the namespace. 0 if that
  // is not known.
  int64_t outer_tid = 0;
  // True if another process of the trace has that pid, or another thread of the
  // process that tid.
  bool shares_id = false;
  // The number of a process among those with its pid and name, of a thread
  // among those of its process with its tid and name. Counts from 1.
  uint32_t ordinal = 1;
  // The time when a process was started, if the trace says it.
  int64_t start_ns = 0;
  // The labels that a process gives itself, such as "service.version=1.2".
  std::vector<std::string> labels;
};

// The tracks of a trace, as far as it has been read. Until its end, tracks are
// added, and later names of a process or thread replace earlier ones.
class TraceTracks {
 public:
  // TraceReader makes it.
  explicit TraceTracks(const internal::TrackTable* table) : table_(table) {}

  // Returns the tracks that the trace describes, in the order of the file.
  std::vector<uint64_t> All() const;
  // Returns nothing if the trace does not describe the track.
  std::optional<TrackInfo> Find(uint64_t track) const;
  // Returns the track and the tracks that contain it, from the outermost one;
  // |track| is the last. Each is there once, even in a circle. If they are very
  // many, the outermost are left out.
  std::vector<uint64_t> PathTo(uint64_t track) const;
  // Returns a number that changes if the other functions may have got new
  // results for tracks that were already described.
  uint64_t version() const;

 private:
  const internal::TrackTable* table_;
};

// The time from the last event before a loss to the first one after it.
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

// A TrackEvent whose arguments are to be formatted, with its interned data.
class EventArgs {
 public:
  // Returns the encoded TrackEvent.
  virtual ConstBytes event() const = 0;
  // Returns true if fields other than debug annotations may be arguments.
  virtual bool has_other_args() const = 0;
  // Returns the entry |iid| of |list|, the number of a field of InternedData:
  // an encoded EventName, SourceLocation and so on. Returns no bytes (data is
  // null) if the sequence has not written it.
  virtual ConstBytes FindInterned(uint32_t list, uint64_t iid) const = 0;

 protected:
  ~EventArgs() = default;
};

// A packet with what a recorder got from the kernel: a state or the name of a
// thread, processes with their threads, a sample of a stack, or symbols.
class KernelPacket {
 public:
  // Returns the number of the field of TracePacket, such as
  // generic_kernel_task_state_event, and its encoded message.
  virtual uint32_t field_id() const = 0;
  virtual ConstBytes message() const = 0;
  // Returns its time on the trace's clock. Null if it has none, or nothing
  // relates its clock to the trace's.
  virtual std::optional<uint64_t> time_ns() const = 0;
  virtual uint32_t sequence() const = 0;
  // Counts the places before it where packets of the sequence are missing.
  virtual uint64_t num_gaps() const = 0;
  // Counts how often the sequence has cleared its interned data.
  virtual uint64_t num_clears() const = 0;
  // Returns the entry |iid| of |list|, as EventArgs does.
  virtual ConstBytes FindInterned(uint32_t list, uint64_t iid) const = 0;

 protected:
  ~KernelPacket() = default;
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
// Times are those of the trace's clock, which is the boot clock unless the
// trace says otherwise. Snapshots of the clocks convert the times of other
// clocks.
//
// The events of a track are nested in order of their times, whichever sequence
// they came from. An event may be anywhere in the file, unless a later one of
// its track is more than kMaxLateness events before it. Such late events are
// counted in late(). So memory does not depend on the size of the file, but on
// the number of tracks, of different texts and of open slices.
//
// Bytes may be anything: the reader ignores what is malformed.
class TraceReader {
 public:
  // The number of events by which one may be late and still find its place.
  static constexpr size_t kMaxLateness = size_t{1} << 19;

  // The functions that get the parts of the trace, in any order. Empty ones are
  // not called.
  struct Callbacks {
    std::function<void(const Slice&)> on_slice = {};
    std::function<void(const Instant&)> on_instant = {};
    std::function<void(const CounterValue&)> on_counter = {};
    // True to read the details, which takes time.
    bool reads_details = false;
    // True to find the slices around instants. They come later then.
    bool nests_instants = false;
    // The most paths of slices that are told apart. Each takes memory. 0 means
    // that paths are not read.
    uint32_t max_paths = 0;
    // Appends the arguments of an event to |args|, in any format. Those of a
    // slice's end follow those of its beginning.
    std::function<void(const EventArgs& event, std::string* args)> format_args =
        {};
    // Inflates |bytes|, a TracePacket's field |field_id| such as
    // compressed_packets. Returns false if it cannot.
    std::function<
        bool(uint32_t field_id, ConstBytes bytes, std::string* packets)>
        inflate = {};
    // Gets each slice without an end. It lasts until the end of the trace.
    std::function<void(const Slice&)> on_unfinished = {};
    // Gets each ExtensionDescriptor, for |format_args|: it describes fields
    // that later events may have. After ReadAhead(), Read() does not call it
    // again.
    std::function<void(ConstBytes extension_descriptor)>
        on_extension_descriptor = {};
    // Gets the steps of each thread in order of time, those of different
    // threads in any order.
    std::function<void(const TaskStep&)> on_task_step = {};
    // Gets the packets from the kernel in the order of the file.
    std::function<void(const KernelPacket&)> on_kernel_packet = {};
    // True to read nothing but these packets, which is quick.
    bool skips_events = false;
  };

  // Makes a reader that calls |callbacks| on the thread that calls it. One
  // thread at a time.
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
  // Reads only the descriptions of tracks and the clocks in a part of a trace.
  // Once all of a trace has gone through this, tracks() has the last names from
  // the first event on, and Read() changes none; and the first snapshot of a
  // clock converts the times before it. ReadFile() and ReadDescriptor() do it
  // if they can read the trace twice.
  void ReadAhead(ConstBytes packets);
  // Sets a function that calls ReadAhead() with all of the trace. Read() calls
  // it before the first time on a clock that no snapshot has related to the
  // trace's yet, which few traces have.
  void set_read_ahead(std::function<void()> read_ahead);
  // Gives the callbacks the events that were read before the last call of this,
  // for a trace that is read while it is recorded: without it, slices and steps
  // of tasks wait for kMaxLateness later ones. An event finds its place then
  // unless a later one of its track was read two calls before it.
  void ReleaseEvents();
  // Calls |visit| with each slice whose beginning was released, and not its
  // end, as if it lasted until |now_ns|. Its own time is not known.
  void ForEachOpenSlice(uint64_t now_ns,
                        const std::function<void(const Slice&)>& visit) const;
  // Ends reading. Call it after the last packet.
  void Finish();

  // Returns the tracks by number. The reader makes a number for a track without
  // one.
  const TraceTracks& tracks() const;

  // Returns the path with that number. REQUIRES: a slice has had it, or a
  // larger one.
  SlicePath path(uint32_t path_id) const;

  // Returns the real-time clock's value, in nanoseconds since 1970, at that
  // time of the trace. Null if the trace has not said it yet.
  std::optional<int64_t> RealtimeOf(uint64_t time_ns) const;
  // Returns the difference of both clocks in the last snapshot.
  std::optional<int64_t> realtime_offset_ns() const;

  // Count the slices without an end. A loss ends all slices that are open on
  // the thread: these are counted in lost_ends(), too. The others had not
  // ended.
  uint64_t unfinished() const;
  uint64_t lost_ends() const;
  // Counts the ends without a beginning.
  uint64_t unbegun() const;
  // Count the packets that refer to missing ones: lost packets, which are
  // counted in skipped_by_loss(), too, or packets from before the recording.
  uint64_t skipped() const;
  uint64_t skipped_by_loss() const;
  // Counts the events that came too late to be in order.
  uint64_t late() const;
  // Counts the events on a clock that no snapshot relates to the trace's clock.
  // Their times are not converted. 0 if the trace has no snapshot of its clock.
  uint64_t unrelated() const;
  // Counts, by name, the packets or fields with events that the reader does not
  // read.
  const std::map<std::string, uint64_t>& unread() const;

  // Return the times of the earliest and of the latest event.
  uint64_t first_ns() const;
  uint64_t last_ns() const;
  // Returns the end of the trace: the time of the latest event or, if that is
  // later, of the latest clock snapshot or other packet. So a program that
  // hangs has slices and tasks that last until the recording was stopped. 0 if
  // there are no events.
  uint64_t end_ns() const;
  // Returns the lost stretches in the order of the file.
  const std::vector<LostStretch>& lost_stretches() const;
  // Returns the gaps of each sequence that has any.
  const std::map<uint32_t, Gaps>& gaps() const;
  // Counts the packets that services have lost, by the number of the
  // LossReason. Several services may have written to one file.
  const std::map<uint32_t, uint64_t>& packets_lost() const;
  // Counts the places where the service does not know how many packets are
  // lost.
  uint64_t unknown_losses() const;
  // Returns whether the trace has statistics of a service.
  bool has_stats() const;

 private:
  const std::unique_ptr<internal::TraceReaderImpl> impl_;
};

PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_TRACING_TRACE_READER_H_
