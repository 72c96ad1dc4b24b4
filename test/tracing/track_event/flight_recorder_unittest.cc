// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests LocalTrace::Options::flight_recorder, and the trace that is made of its
// file.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/proto_decoder.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event.h"
#include "src/tracing/local/flight_reader.h"
#include "src/tracing/writer/flight_header.h"
#include "test/testing/open_descriptors.h"
#include "test/tracing/track_event/flight_content.h"
#include "test/tracing/track_event/trace_reader.h"

namespace {

using protozero::FlightReader;
using protozero::LocalTrace;
using protozero::LossReason;

uint64_t BootTimeNs() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// Returns the times of the service's clock snapshots in a trace.
std::vector<uint64_t> TimesOfClocks(const std::string& trace) {
  using protozero::trace::TracePacket;
  std::vector<uint64_t> times;
  protozero::ProtoDecoder decoder(trace);
  while (const protozero::Field field = decoder.ReadField()) {
    const TracePacket::Decoder packet(field.as_bytes());
    if (packet.trusted_packet_sequence_id() == 1 && packet.has_clock_snapshot())
      times.push_back(packet.timestamp());
  }
  return times;
}

class FlightRecorderTest : public testing::Test {
 protected:
  FlightRecorderTest() {
    char folder[] = "/tmp/flight_recorder_XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  ~FlightRecorderTest() override {
    for (const std::string& name : {path(), path() + ".last"})
      unlink(name.c_str());
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "something is left";
  }

  std::string path() const { return folder_ + "/recording"; }
  std::unique_ptr<LocalTrace> Record(size_t size = 1 << 20) const {
    LocalTrace::Options options;
    options.flight_recorder = path();
    options.buffer_size = size;
    return std::make_unique<LocalTrace>(options);
  }

  // Reads what would be there if the process was killed now.
  ReadTrace Recover(const std::string& path) {
    const RecoveredFlight recovered = RecoverFlight(path);
    stats_ = recovered.stats;
    EXPECT_EQ(recovered.pid, writer_pid_);
    return Read(recovered.trace);
  }
  ReadTrace Recover() { return Recover(path()); }

  std::string folder_;
  pid_t writer_pid_ = getpid();
  protozero::TraceBufferStats stats_;
};

TEST_F(FlightRecorderTest, EventsAreThereAtOnce) {
  const auto trace = Record();
  ASSERT_EQ(trace->error(), "");
  {
    PROTOZERO_TRACE_EVENT("fr", "open slice", "number", 7);
    PROTOZERO_TRACE_EVENT_INSTANT("fr", "instant");
    std::thread([] { PROTOZERO_TRACE_EVENT_INSTANT("fr", "thread"); }).join();
    const ReadTrace read = Recover();
    EXPECT_TRUE(read.errors.empty());
    EXPECT_EQ(read.events.size(), 3u);
    EXPECT_EQ(read.Named("open slice").at(0).args,
              std::vector<std::string>{"number=7"});
    EXPECT_EQ(read.Named("thread").at(0).categories,
              std::vector<std::string>{"fr"});
  }
  EXPECT_TRUE(trace->Stop());
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "too late");
  const ReadTrace read = Recover();
  EXPECT_EQ(read.events.size(), 4u);
  EXPECT_EQ(stats_.packets_begun, stats_.packets_read);
  EXPECT_EQ(stats_.writers_seen, 2u);
}

TEST_F(FlightRecorderTest, NamesAreThereHoweverOftenItHasWrapped) {
  const auto trace = Record(256 * 1024);
  constexpr int kEvents = 100000;
  const auto work = [] {
    for (int i = 0; i < kEvents; ++i) {
      PROTOZERO_TRACE_EVENT_INSTANT("fr", "event", "index", i);
      if (i % 3 == 0)
        PROTOZERO_TRACE_COUNTER("fr", "counter", i);
    }
  };
  std::thread thread(work);
  work();
  thread.join();
  const ReadTrace read = Recover();
  EXPECT_TRUE(read.errors.empty()) << read.errors[0];
  EXPECT_EQ(read.num_skipped, 0);
  std::set<uint32_t> sequences;
  for (const ReadEvent& event : read.events) {
    sequences.insert(event.sequence);
    if (event.value.empty()) {
      EXPECT_EQ(event.name, "event");
      EXPECT_EQ(event.categories, std::vector<std::string>{"fr"});
    }
  }
  EXPECT_GE(sequences.size(), 1u);
  // An event takes less than 30 bytes.
  EXPECT_GT(read.events.size(), 256u * 1024 / 30);
  EXPECT_EQ(read.Named("event").back().args,
            std::vector<std::string>{"index=" + std::to_string(kEvents - 1)});
  // All of them are known of: counters are events, too.
  EXPECT_GE(stats_.packets_begun, 2u * kEvents * 4 / 3);
  EXPECT_EQ(stats_.packets_begun, stats_.packets_read + stats_.lost.total());
  EXPECT_EQ(stats_.lost.of(LossReason::kOverwritten), stats_.lost.total());
  const protozero::TraceStats stats = trace->stats();
  EXPECT_GT(stats.packets_begun(), 0u);
  EXPECT_LE(stats.packets_begun(), stats_.lost.total());
}

// A page in the middle is gone. Packets after it may refer to names in it.
TEST_F(FlightRecorderTest, AfterAGapComesWhatReadersUnderstand) {
  {
    // So large that not every page begins with the names.
    const auto trace = Record(2 << 20);
    for (int i = 0; i < 50000; ++i)
      PROTOZERO_TRACE_EVENT_INSTANT("fr", "event", "index", i);
  }
  const std::vector<uint8_t> whole = FlightContent(path());
  const size_t page_size =
      reinterpret_cast<const protozero::FlightHeader*>(whole.data())->page_size;
  uint64_t num_lost = 0;
  for (size_t page = 4; page < 14; ++page) {
    const size_t begin = protozero::FlightHeader::kSize + page * page_size;
    std::vector<uint8_t> content = whole;
    std::fill_n(content.begin() + static_cast<ptrdiff_t>(begin), page_size,
                uint8_t{0});
    FlightReader reader;
    std::string error;
    ASSERT_TRUE(reader.Open(content, &error)) << error;
    std::string bytes;
    EXPECT_TRUE(reader.ReadTrace([&bytes](const uint8_t* data, size_t size) {
      bytes.append(reinterpret_cast<const char*>(data), size);
      return true;
    }));
    const ReadTrace read = Read(bytes);
    EXPECT_TRUE(read.errors.empty()) << read.errors[0];
    EXPECT_EQ(read.num_skipped, 0);
    num_lost += reader.stats().lost.of(LossReason::kOverwritten);
  }
  EXPECT_GT(num_lost, 100u);
}

TEST_F(FlightRecorderTest, TheLastRecordingIsKept) {
  {
    const auto trace = Record();
    PROTOZERO_TRACE_EVENT_INSTANT("fr", "first");
  }
  const auto trace = Record();
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "second");
  EXPECT_EQ(Recover().Named("second").size(), 1u);
  EXPECT_EQ(Recover().Named("first").size(), 0u);
  EXPECT_EQ(Recover(path() + ".last").Named("first").size(), 1u);
}

TEST_F(FlightRecorderTest, SeveralRecordAtOnce) {
  const auto flight = Record();
  std::string bytes;
  LocalTrace::Options options;
  options.sink = [&](const uint8_t* data, size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  LocalTrace local(options);
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "both");
  EXPECT_TRUE(local.Stop());
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "one");
  EXPECT_EQ(Read(bytes).events.size(), 1u);
  EXPECT_EQ(Recover().events.size(), 2u);
}

TEST_F(FlightRecorderTest, NoRoomIsAnErrorAtTheStart) {
  // The file that is there stays.
  Record()->Stop();
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = 1 << 16;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto trace = Record();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  EXPECT_NE(trace->error().find("no room for"), std::string::npos)
      << trace->error();
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "event");
  EXPECT_FALSE(trace->Stop());
  EXPECT_EQ(Recover().events.size(), 0u);
}

TEST_F(FlightRecorderTest, AFolderThatIsNotThereIsAnError) {
  LocalTrace::Options options;
  options.flight_recorder = folder_ + "/none/recording";
  EXPECT_NE(LocalTrace(options).error(), "");
  options.path = folder_ + "/too";
  EXPECT_NE(LocalTrace(options).error(), "");
}

TEST_F(FlightRecorderTest, AChildProcessLeavesTheFileAlone) {
  const auto trace = Record();
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "parent");
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 1000; ++i)
      PROTOZERO_TRACE_EVENT_INSTANT("fr", "child");
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "parent");
  const ReadTrace read = Recover();
  EXPECT_EQ(read.Named("parent").size(), 2u);
  EXPECT_EQ(read.Named("child").size(), 0u);
}

TEST_F(FlightRecorderTest, ASnapshotHasWhatWasFinished) {
  LocalTrace::Options options;
  options.flight_recorder_in_memory = true;
  options.buffer_size = 1 << 19;
  const LocalTrace trace(options);
  ASSERT_EQ(trace.error(), "");
  std::atomic<bool> is_done{false};
  std::thread other([&] {
    while (!is_done)
      PROTOZERO_TRACE_EVENT_INSTANT("fr", "other");
  });
  for (int i = 0; i < 3; ++i) {
    PROTOZERO_TRACE_EVENT_INSTANT("fr", "mine", "number", i);
    errno = 7;
    EXPECT_TRUE(trace.Snapshot(path().c_str()));
    EXPECT_EQ(errno, 7);
    const ReadTrace read = Recover();
    EXPECT_TRUE(read.errors.empty());
    EXPECT_EQ(read.num_skipped, 0);
    // The thread is in its chunk, which is not taken.
    EXPECT_EQ(read.Named("mine").size(), static_cast<size_t>(i + 1));
  }
  is_done = true;
  other.join();
}

TEST_F(FlightRecorderTest, TheTraceEndsWhenTheRecordingDid) {
  const auto trace = Record();
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "instant");
  const uint64_t before_ns = BootTimeNs();
  // The time of a kill is unknown.
  std::vector<uint64_t> times = TimesOfClocks(RecoverFlight(path()).trace);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0], times[1]);
  const std::string snapshot = folder_ + "/snapshot";
  ASSERT_TRUE(trace->Snapshot(snapshot.c_str()));
  const uint64_t between_ns = BootTimeNs();
  EXPECT_TRUE(trace->Stop());
  times = TimesOfClocks(RecoverFlight(snapshot).trace);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times[1], before_ns);
  EXPECT_LE(times[1], between_ns);
  times = TimesOfClocks(RecoverFlight(path()).trace);
  ASSERT_EQ(times.size(), 2u);
  EXPECT_GE(times[1], between_ns);
  unlink(snapshot.c_str());
}

TEST_F(FlightRecorderTest, ASnapshotDoesNotReplaceItsRecording) {
  LocalTrace::Options options;
  options.flight_recorder = path();
  options.buffer_size = 1 << 16;
  const LocalTrace trace(options);
  ASSERT_EQ(trace.error(), "");
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "before");
  const std::string link = folder_ + "/link";
  ASSERT_EQ(symlink(path().c_str(), link.c_str()), 0);
  for (const std::string& own : {path(), link}) {
    EXPECT_FALSE(trace.Snapshot(own.c_str()));
    EXPECT_EQ(errno, EINVAL);
  }
  unlink(link.c_str());
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "after");
  const ReadTrace read = Recover();
  EXPECT_EQ(read.Named("before").size(), 1u);
  EXPECT_EQ(read.Named("after").size(), 1u);
}

TEST_F(FlightRecorderTest, ASnapshotReplacesNoOtherRecording) {
  auto recording = Record();
  LocalTrace::Options options;
  options.flight_recorder_in_memory = true;
  const LocalTrace trace(options);
  // A child process leaves the file alone, and does not keep it locked.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    (void)!write(pipe_ends[1], "", 1);
    for (;;)
      pause();
  }
  char byte;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  EXPECT_FALSE(trace.Snapshot(path().c_str()));
  EXPECT_EQ(errno, EINVAL);
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "after");
  EXPECT_EQ(Recover().Named("after").size(), 1u);
  recording.reset();
  // This thread may still write there, until it notices.
  EXPECT_FALSE(trace.Snapshot(path().c_str()));
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "notices");
  EXPECT_TRUE(trace.Snapshot(path().c_str()));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(FlightRecorderTest, AFileOfAKilledProcessOfThisNumberIsInNobodysWay) {
  const std::string left = path() + ".new." + std::to_string(getpid());
  ASSERT_EQ(close(open(left.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  LocalTrace::Options options;
  options.flight_recorder = path();
  options.buffer_size = 1 << 16;
  EXPECT_EQ(LocalTrace(options).error(), "");
  EXPECT_NE(access(left.c_str(), F_OK), 0);
}

// Records, and expects that each snapshot fails and leaves the program alone.
class SnapshotTest : public FlightRecorderTest {
 protected:
  SnapshotTest() {
    LocalTrace::Options options;
    options.flight_recorder_in_memory = true;
    options.buffer_size = 1 << 18;
    trace_ = std::make_unique<LocalTrace>(options);
    EXPECT_EQ(trace_->error(), "");
  }
  void ExpectFailure(const std::string& path, int error) const {
    errno = 0;
    EXPECT_FALSE(trace_->Snapshot(path.c_str())) << path;
    EXPECT_EQ(errno, error) << path;
  }

  std::unique_ptr<LocalTrace> trace_;
};

TEST_F(SnapshotTest, OnlyARegularFileIsWritten) {
  const std::string target = folder_ + "/target";
  ASSERT_EQ(close(open(target.c_str(), O_CREAT | O_WRONLY, 0600)), 0);
  ASSERT_EQ(symlink(target.c_str(), path().c_str()), 0);
  ExpectFailure(path(), EINVAL);
  unlink(target.c_str());
  ExpectFailure(path(), EINVAL);
  EXPECT_NE(access(target.c_str(), F_OK), 0);
  unlink(path().c_str());

  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  ExpectFailure(path(), EINVAL);
  const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ExpectFailure(path(), EINVAL);
  close(reader);
  unlink(path().c_str());

  ExpectFailure(folder_, EINVAL);
  ExpectFailure("/dev/null", EINVAL);
  ExpectFailure("/dev/full", EINVAL);
  EXPECT_TRUE(trace_->Snapshot(path().c_str()));
}

TEST_F(SnapshotTest, ALimitIsNoSignal) {
  rlimit limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  rlimit low = limit;
  low.rlim_cur = 100000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
  ExpectFailure(path(), EFBIG);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
  pthread_sigmask(SIG_BLOCK, nullptr, &pending);
  EXPECT_EQ(sigismember(&pending, SIGXFSZ), 0);
  EXPECT_TRUE(trace_->Snapshot(path().c_str()));
}

// ThreadSanitizer must not report it: see ExpectedRaces.
TEST_F(SnapshotTest, ThreadsOverwriteWhatIsCopied) {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i) {
    others.emplace_back([&] {
      while (!is_done) {
        PROTOZERO_TRACE_EVENT("fr", "other", "text", "some more bytes");
      }
    });
  }
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(trace_->Snapshot(path().c_str()));
  is_done = true;
  for (std::thread& other : others)
    other.join();
  EXPECT_TRUE(Recover().errors.empty());
}

TEST_F(FlightRecorderTest, OnlyARegularFileIsReplaced) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(Record()->error(), path() + ": not a regular file");
  EXPECT_EQ(access(path().c_str(), F_OK), 0);
}

TEST_F(FlightRecorderTest, ItNeedsNoDescriptor) {
  const size_t before = protozero::test::CountOpenDescriptors();
  const auto trace = Record();
  EXPECT_EQ(protozero::test::CountOpenDescriptors(), before);
}

TEST_F(FlightRecorderTest, WhatHasNoSnapshotSaysSo) {
  LocalTrace::Options options;
  options.sink = [](const uint8_t*, size_t) { return true; };
  {
    const LocalTrace trace(options);
    errno = 0;
    EXPECT_FALSE(trace.Snapshot(path().c_str()));
    EXPECT_EQ(errno, EINVAL);
  }
  options.sink = {};
  options.flight_recorder_in_memory = true;
  const LocalTrace trace(options);
  errno = 0;
  EXPECT_FALSE(trace.Snapshot((folder_ + "/no/file").c_str()));
  EXPECT_EQ(errno, ENOENT);
}

// Each of four threads makes snapshots; none sees half of another one's.
TEST_F(SnapshotTest, OneAtATime) {
  PROTOZERO_TRACE_EVENT_INSTANT("fr", "mine");
  std::atomic<bool> is_busy{false};
  const auto snapshots = [&](const std::string& file) {
    for (int i = 0; i < 5000 && !is_busy; ++i) {
      errno = 0;
      if (trace_->Snapshot(file.c_str()))
        continue;
      EXPECT_EQ(errno, EBUSY);
      is_busy = true;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(snapshots, folder_ + "/" + std::to_string(i));
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(is_busy);
  for (int i = 0; i < 4; ++i)
    unlink((folder_ + "/" + std::to_string(i)).c_str());
  // The next one after it is no longer refused.
  EXPECT_TRUE(trace_->Snapshot(path().c_str()));
  EXPECT_EQ(Recover().Named("mine").size(), 1u);
}

const LocalTrace* crash_trace = nullptr;
char crash_path[64];

void OnCrash(int signal) {
  crash_trace->Snapshot(crash_path);
  // The handler was for one signal; now the program ends.
  raise(signal);
}

TEST_F(FlightRecorderTest, ACrashHandlerLeavesASnapshot) {
  snprintf(crash_path, sizeof(crash_path), "%s", path().c_str());
  const pid_t child = fork();
  if (child == 0) {
    LocalTrace::Options options;
    options.flight_recorder_in_memory = true;
    crash_trace = new LocalTrace(options);
    struct sigaction action = {};
    action.sa_handler = &OnCrash;
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(SIGABRT, &action, nullptr);
    PROTOZERO_TRACE_EVENT("fr", "where it was");
    abort();
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  writer_pid_ = child;
  const ReadTrace read = Recover();
  EXPECT_EQ(read.Named("where it was").size(), 1u);
}

TEST_F(FlightRecorderTest, OtherBytesAreRefused) {
  Record()->Stop();
  const std::vector<uint8_t> content = FlightContent(path());
  FlightReader reader;
  std::string error;
  for (const size_t size : {size_t{0}, size_t{100}, content.size() - 1}) {
    std::vector<uint8_t> cut(content.begin(),
                             content.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_FALSE(reader.Open(cut, &error)) << size;
  }
  // Magic, byte order, version, and the sizes.
  for (const size_t pos : {0u, 8u, 12u, 16u, 20u, 26u}) {
    std::vector<uint8_t> changed = content;
    changed[pos] ^= 0x40;
    EXPECT_FALSE(reader.Open(changed, &error)) << pos;
  }
}

}  // namespace
