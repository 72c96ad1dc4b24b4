// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests scopes that end in any order, on any thread, and on tracks of their
// own, like those of coroutines. Each slice in the trace lasts as long as its
// scope.

#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event.h"
#include "src/pztrace/events/timeline_reader.h"

namespace {

using protozero::DynamicString;
using protozero::LocalTrace;
using protozero::Track;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// Returns the time that an event of this thread would have: the system's clock
// may be a little after, or before.
uint64_t EventTimeNs() {
  auto* const thread = protozero::internal::t_trace_thread;
  return thread != nullptr ? thread->clock.NowNs() : protozero::TraceTimeNs();
}

struct ReadSlice {
  std::string name;
  uint64_t begin_ns;
  uint64_t end_ns;
  uint64_t self_ns;
  uint64_t track;
};

struct ReadSlices {
  std::map<uint64_t, ReadSlice> slices;  // The key is the argument n.
  std::map<uint64_t, pztrace::TrackInfo> tracks;
  uint64_t unfinished;
  uint64_t unbegun;
};

// A session whose slices are read.
class SliceSession {
 public:
  explicit SliceSession(size_t buffer_size = 64 << 20) {
    LocalTrace::Options options;
    options.sink = [this](const uint8_t* data, size_t size) {
      bytes_.append(reinterpret_cast<const char*>(data), size);
      return true;
    };
    options.buffer_size = buffer_size;
    options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
    trace_ = std::make_unique<LocalTrace>(std::move(options));
  }

  ReadSlices Finish() {
    EXPECT_TRUE(trace_->Stop()) << trace_->error();
    ReadSlices read;
    const pztrace::TimelineReader* reading = nullptr;
    pztrace::TimelineReader::Callbacks callbacks;
    callbacks.reads_details = true;
    callbacks.on_slice = [&](const pztrace::Slice& slice) {
      std::string args;
      reading->AppendArgs(*slice.details, &args);  // "n":1
      const uint64_t n = args.size() > 4 ? strtoull(&args[4], nullptr, 10) : 0;
      const uint64_t end_ns = slice.begin_ns + slice.duration_ns;
      read.slices[n] = {slice.text->name, slice.begin_ns, end_ns, slice.self_ns,
                        slice.track};
    };
    pztrace::TimelineReader reader(std::move(callbacks));
    reading = &reader;
    EXPECT_TRUE(reader.Read(
        {reinterpret_cast<const uint8_t*>(bytes_.data()), bytes_.size()}));
    reader.Finish();
    for (const uint64_t track : reader.tracks().All())
      read.tracks.emplace(track, *reader.tracks().Find(track));
    read.unfinished = reader.unfinished();
    read.unbegun = reader.unbegun();
    return read;
  }
  // Returns the names of ends that say which slice they end.
  std::vector<std::string> NamesOfEnds() const {
    std::vector<std::string> names;
    protozero::ProtoDecoder decoder(bytes_);
    for (auto field = decoder.ReadField(); field.valid();
         field = decoder.ReadField()) {
      const TracePacket::Decoder packet(field.as_bytes());
      if (packet.has_ended_slice_duration()) {
        const TrackEvent::Decoder event(packet.track_event());
        names.push_back(event.name().ToStdString());
      }
    }
    return names;
  }

 private:
  std::string bytes_;
  std::unique_ptr<LocalTrace> trace_;
};

// A scope that ends where the object is destroyed, as in the frame of a
// coroutine. |n| is not 0.
class Scope {
 public:
  Scope(uint32_t kind, uint64_t n) : n_(n), first_ns_(EventTimeNs()) {
    PROTOZERO_INTERNAL_TRACE_SITE(a, SLICE_BEGIN, "te", "a");
    PROTOZERO_INTERNAL_TRACE_SITE(b, SLICE_BEGIN, "te", "b");
    PROTOZERO_INTERNAL_TRACE_SITE(c, SLICE_BEGIN, "te", DynamicString("c"));
    using protozero::internal::Emit;
    slice_ = std::make_unique<protozero::internal::ScopedTraceSlice>();
    switch (kind) {
      case 0:
        slice_->HasBegun(Emit(&a, "te", "a", "n", n));
        break;
      case 1:
        slice_->HasBegun(Emit(&b, "te", "b", "n", n));
        break;
      case 2:
        slice_->HasBegun(Emit(&c, "te", DynamicString("c"), "n", n));
        break;
      case 3:
        slice_->HasBegun(Emit(&a, "te", "a", "n", n, Track::Thread()));
        break;
      default:
        slice_->HasBegun(Emit(&b, "te", "b", "n", n, Track("op", kind)));
        break;
    }
    begun_ns_ = EventTimeNs();
  }

  // Ends the scope. Adds the times between which its two ends have to be.
  void End(std::map<uint64_t, std::pair<ReadSlice, ReadSlice>>* expected) {
    const uint64_t last_ns = EventTimeNs();
    slice_.reset();
    const std::string name;
    (*expected)[n_] = {{name, first_ns_, last_ns, 0, 0},
                       {name, begun_ns_, EventTimeNs(), 0, 0}};
  }

 private:
  uint64_t n_;
  uint64_t first_ns_;
  uint64_t begun_ns_;
  std::unique_ptr<protozero::internal::ScopedTraceSlice> slice_;
};

TEST(TraceScopesTest, EachSliceLastsAsLongAsItsScope) {
  constexpr int kThreads = 3;
  constexpr int kSteps = 2000;
  for (uint32_t run = 0; run < 4; ++run) {
    SCOPED_TRACE(run);
    SliceSession session;
    std::mutex lock;
    std::mt19937 random(run);
    std::vector<Scope> scopes;
    std::map<uint64_t, std::pair<ReadSlice, ReadSlice>> expected;
    uint64_t next = 1;
    // There are more open scopes than a thread keeps account of, or just a few.
    const size_t max_scopes = run % 2 == 0 ? 12 : 300;
    const auto run_thread = [&] {
      for (int i = 0; i < kSteps; ++i) {
        const std::lock_guard<std::mutex> guard(lock);
        if (scopes.size() < max_scopes && random() % 2 == 0) {
          scopes.emplace_back(random() % 7, next++);
        } else if (!scopes.empty()) {
          // This is mostly one of the last scopes.
          const size_t back = std::min<size_t>(random() % 4 * (random() % 4),
                                               scopes.size() - 1);
          const size_t index = scopes.size() - 1 - back;
          scopes[index].End(&expected);
          scopes.erase(scopes.begin() + static_cast<ptrdiff_t>(index));
        }
        const uint64_t n = next++;
        const uint64_t first_ns = EventTimeNs();
        PROTOZERO_TRACE_EVENT_BEGIN("te", "pair", "n", n);
        const uint64_t begun_ns = EventTimeNs();
        if (!scopes.empty() && random() % 8 == 0) {
          scopes.back().End(&expected);
          scopes.pop_back();
        }
        const uint64_t last_ns = EventTimeNs();
        PROTOZERO_TRACE_EVENT_END("te");
        expected[n] = {{"", first_ns, last_ns, 0, 0},
                       {"", begun_ns, EventTimeNs(), 0, 0}};
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back(run_thread);
    for (std::thread& thread : threads)
      thread.join();
    for (Scope& scope : scopes)
      scope.End(&expected);
    scopes.clear();

    const ReadSlices read = session.Finish();
    EXPECT_EQ(read.unfinished, 0u);
    EXPECT_EQ(read.unbegun, 0u);
    ASSERT_EQ(read.slices.size(), expected.size());
    for (const auto& [n, bounds] : expected) {
      const ReadSlice& slice = read.slices.at(n);
      EXPECT_LE(bounds.first.begin_ns, slice.begin_ns) << n << slice.name;
      EXPECT_LE(slice.begin_ns, bounds.second.begin_ns) << n << slice.name;
      EXPECT_LE(bounds.first.end_ns, slice.end_ns) << n << slice.name;
      EXPECT_LE(slice.end_ns, bounds.second.end_ns) << n << slice.name;
      EXPECT_EQ(read.tracks.count(slice.track), 1u) << n << slice.name;
    }
  }
}

TEST(TraceScopesTest, TracksOfScopes) {
  SliceSession session;
  {
    PROTOZERO_TRACE_EVENT("te", "outer", "n", 1);
    {
      PROTOZERO_TRACE_EVENT("te", "inner", "n", 2, Track("op", 1));
    }
    {
      PROTOZERO_TRACE_EVENT("te", "same", "n", 3, Track::Thread());
    }
    {
      PROTOZERO_TRACE_EVENT("te", "process", "n", 4, Track::Process());
    }
    PROTOZERO_TRACE_EVENT_BEGIN("te", "pair", "n", 5, Track("op", 1));
    {
      PROTOZERO_TRACE_EVENT("te", "in pair", "n", 6, Track("op", 1));
    }
    PROTOZERO_TRACE_EVENT_END("te", Track("op", 1));
  }
  ReadSlices read = session.Finish();
  EXPECT_EQ(read.unfinished + read.unbegun, 0u);
  ASSERT_EQ(read.slices.size(), 6u);
  EXPECT_GE(read.slices[1].end_ns, read.slices[5].end_ns);
  EXPECT_GE(read.slices[5].end_ns, read.slices[6].end_ns);
  EXPECT_EQ(read.slices[2].track, Track("op", 1).uuid());
  EXPECT_EQ(read.slices[3].track, read.slices[1].track);
  EXPECT_EQ(read.slices[4].track, Track::Process().uuid());
  EXPECT_EQ(read.slices[5].track, Track("op", 1).uuid());
}

TEST(TraceScopesTest, AScopeThatAnotherThreadEndsIsOfItsOwnThread) {
  SliceSession session;
  uint64_t parts[4] = {};
  {
    Scope outer(0, 1);
    auto moved = std::make_unique<Scope>(0, 2);
    std::map<uint64_t, std::pair<ReadSlice, ReadSlice>> expected;
    std::thread([&] {
      PROTOZERO_TRACE_EVENT("te", "worker", "n", 3);
      moved->End(&expected);
      parts[0] = EventTimeNs();
    }).join();
    // This slice is not within the scope that has moved.
    PROTOZERO_TRACE_EVENT("te", "tail", "n", 4);
    parts[1] = EventTimeNs();
    while (EventTimeNs() < parts[1] + 100'000) {
    }
  }
  ReadSlices read = session.Finish();
  EXPECT_EQ(read.unfinished + read.unbegun, 0u);
  ASSERT_EQ(read.slices.size(), 4u);
  const ReadSlice& moved = read.slices[2];
  EXPECT_EQ(moved.track, read.slices[1].track);
  EXPECT_NE(moved.track, read.slices[3].track);
  EXPECT_LE(moved.end_ns, parts[0]);
  EXPECT_EQ(moved.self_ns, moved.end_ns - moved.begin_ns);
  // Readers that do not know the packet's field find it by its name.
  EXPECT_EQ(session.NamesOfEnds(), (std::vector<std::string>{"a", "a"}));
  const ReadSlice& outer = read.slices[1];
  const ReadSlice& tail = read.slices[4];
  EXPECT_EQ(outer.self_ns, outer.end_ns - outer.begin_ns - moved.self_ns -
                               (tail.end_ns - tail.begin_ns));
}

// The second session gets the place of the first one.
TEST(TraceScopesTest, AnEndIsOfTheSessionOfItsBeginning) {
  std::map<uint64_t, std::pair<ReadSlice, ReadSlice>> ended;
  auto first = std::make_unique<SliceSession>();
  auto last_on_its_thread = std::make_unique<Scope>(0, 1);
  auto not_last = std::make_unique<Scope>(0, 2);
  auto elsewhere = std::make_unique<Scope>(0, 3);
  auto on_track = std::make_unique<Scope>(4, 4);
  EXPECT_EQ(first->Finish().unfinished, 4u);
  first.reset();
  auto off = std::make_unique<Scope>(0, 5);

  SliceSession second;
  auto outer = std::make_unique<Scope>(0, 6);
  auto outer_on_track = std::make_unique<Scope>(4, 7);
  off->End(&ended);
  not_last->End(&ended);
  std::thread([&] { elsewhere->End(&ended); }).join();
  on_track->End(&ended);
  last_on_its_thread->End(&ended);
  ended.clear();
  outer_on_track->End(&ended);
  outer->End(&ended);
  ReadSlices read = second.Finish();
  EXPECT_EQ(read.unfinished + read.unbegun, 0u);
  ASSERT_EQ(read.slices.size(), 2u);
  for (const auto& [n, bounds] : ended) {
    EXPECT_LE(bounds.first.end_ns, read.slices[n].end_ns);
    EXPECT_LE(read.slices[n].end_ns, bounds.second.end_ns);
  }
}

TEST(TraceScopesTest, AChildProcessEndsNoScopeOfItsParent) {
  SliceSession session;
  auto scope = std::make_unique<Scope>(0, 1);
  std::map<uint64_t, std::pair<ReadSlice, ReadSlice>> ended;
  const pid_t child = fork();
  if (child == 0) {
    SliceSession own;
    Scope outer(0, 2);
    scope->End(&ended);
    outer.End(&ended);
    const ReadSlices read = own.Finish();
    const bool is_right = read.slices.size() == 1 && read.unbegun == 0 &&
                          read.slices.count(2) == 1 && read.tracks.size() == 2;
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  scope->End(&ended);
  EXPECT_EQ(session.Finish().slices.size(), 1u);
}

// Makes more slices within each other than a thread keeps account of.
void Recurse(uint64_t n) {
  PROTOZERO_TRACE_EVENT("te", "deep", "n", n);
  if (n != 500)
    Recurse(n + 1);
}

TEST(TraceScopesTest, Recursion) {
  SliceSession session;
  Recurse(1);
  const ReadSlices read = session.Finish();
  EXPECT_EQ(read.unfinished + read.unbegun, 0u);
  ASSERT_EQ(read.slices.size(), 500u);
  uint64_t end_ns = UINT64_MAX;
  for (const auto& [n, slice] : read.slices) {
    // The clock may stand still for some events, but never goes back.
    EXPECT_LE(slice.end_ns, end_ns);
    end_ns = slice.end_ns;
  }
}

// The sink does not let the service read, until a thread has begun more slices
// than its memory has room for: the first packet that it loses is a beginning.
// Our reader forgets the slices that are open then. Others do not.
TEST(TraceScopesTest, AnEndWhoseBeginningIsLostEndsNoOtherSlice) {
  std::mutex lock;
  std::condition_variable changed;
  bool is_blocked = false;
  bool is_waiting = false;
  std::string bytes;
  LocalTrace::Options options;
  options.sink = [&](const uint8_t* data, size_t size) {
    std::unique_lock<std::mutex> guard(lock);
    bytes.append(reinterpret_cast<const char*>(data), size);
    is_waiting = is_blocked;
    changed.notify_all();
    changed.wait(guard, [&] { return !is_blocked; });
    return true;
  };
  options.write_period_ms = 1;
  options.shared_memory_size = 64 * 1024;
  options.exhausted_policy = protozero::BufferExhaustedPolicy::kDrop;
  LocalTrace trace(std::move(options));
  const auto trace_until = [&](const char* name, const auto& condition) {
    std::unique_lock<std::mutex> guard(lock);
    while (!condition()) {
      PROTOZERO_TRACE_EVENT_INSTANT("te", DynamicString(name));
      changed.wait_for(guard, std::chrono::milliseconds(1));
    }
  };
  {
    const std::lock_guard<std::mutex> guard(lock);
    is_blocked = true;
  }
  trace_until("something to write", [&] { return is_waiting; });
  constexpr uint64_t kSlices = 10000;
  std::vector<std::unique_ptr<Scope>> scopes;
  for (uint64_t n = 1; n <= kSlices; ++n)
    scopes.push_back(std::make_unique<Scope>(0, n));
  {
    const std::lock_guard<std::mutex> guard(lock);
    is_blocked = false;
  }
  changed.notify_all();
  trace_until("found room",
              [&] { return bytes.find("found room") != std::string::npos; });
  while (!scopes.empty())
    scopes.pop_back();
  ASSERT_TRUE(trace.Stop()) << trace.error();
  EXPECT_GT(trace.stats().lost().total(), 0u);

  size_t num_begins = 0;
  size_t num_ends = 0;
  protozero::ProtoDecoder decoder(bytes.data(), bytes.size());
  while (const protozero::Field field = decoder.ReadField()) {
    const TracePacket::Decoder packet(field.as_bytes());
    const TrackEvent::Decoder event(packet.track_event());
    num_begins += event.type() == TrackEvent::TYPE_SLICE_BEGIN;
    if (event.type() != TrackEvent::TYPE_SLICE_END)
      continue;
    ++num_ends;
    EXPECT_TRUE(packet.has_ended_slice_duration());
  }
  EXPECT_GT(num_begins, 1000u);
  EXPECT_LT(num_begins, kSlices);
  // Ends may find no room again.
  EXPECT_GT(num_ends, 100u);
}

}  // namespace
