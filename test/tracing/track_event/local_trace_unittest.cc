// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/tracing/local_trace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <memory>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/tracing/trace.h"
#include "protozero/tracing/track_event.h"
#include "test/testing/sanitizers.h"

namespace {

using protozero::BufferFillPolicy;
using protozero::LocalTrace;
using protozero::LossReason;
using protozero::TraceStats;

LocalTrace::Options SmallOptions(LocalTrace::Sink sink) {
  LocalTrace::Options options;
  options.sink = std::move(sink);
  options.buffer_size = 64 * 1024;
  options.shared_memory_size = 64 * 1024;
  return options;
}

bool TakeAll(const uint8_t*, size_t) {
  return true;
}

// Returns how many packets of a trace are not the service's.
uint64_t CountPackets(const std::string& trace) {
  uint64_t count = 0;
  protozero::ProtoDecoder decoder(trace.data(), trace.size());
  while (const protozero::Field packet = decoder.ReadField()) {
    const protozero::Field sequence =
        protozero::ProtoDecoder(packet.as_bytes())
            .FindField(protozero::trace::TracePacket::
                           kTrustedPacketSequenceIdFieldNumber);
    count += sequence.as_uint32() != 1;
  }
  return count;
}

// Calls |function(descriptor)| for each socket of this process.
void ForEachSocket(const std::function<void(int)>& function) {
  DIR* const folder = opendir("/proc/self/fd");
  ASSERT_NE(folder, nullptr);
  while (const dirent* const entry = readdir(folder)) {
    const int fd = atoi(entry->d_name);
    int type;
    socklen_t size = sizeof(type);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0)
      function(fd);
  }
  closedir(folder);
}

TEST(LocalTraceTest, NobodyElseCanConnect) {
  LocalTrace trace(SmallOptions(&TakeAll));
  ASSERT_EQ(trace.error(), "");
  int num_sockets = 0;
  ForEachSocket([&](int fd) {
    ++num_sockets;
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    ASSERT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    // It has no name, and does not wait for connections.
    EXPECT_EQ(size, sizeof(address.ss_family));
    int listens = 1;
    size = sizeof(listens);
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size), 0);
    EXPECT_EQ(listens, 0);
  });
  EXPECT_GE(num_sockets, 2);
  EXPECT_TRUE(trace.Stop());
  ForEachSocket([](int) { ADD_FAILURE() << "a socket is left"; });
}

TEST(LocalTraceTest, SeveralThreadsStopIt) {
  for (int i = 0; i < 50; ++i) {
    // There is no lock: a thread that has returned from Stop() sees all of it.
    std::string bytes;
    LocalTrace trace(SmallOptions([&](const uint8_t* data, size_t size) {
      bytes.append(reinterpret_cast<const char*>(data), size);
      return true;
    }));
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "stopped by many");
    std::vector<std::thread> threads;
    for (int k = 0; k < 4; ++k) {
      threads.emplace_back([&, k] {
        if (k == 0) {
          trace.stats();
          EXPECT_EQ(trace.error(), "");
        }
        EXPECT_TRUE(trace.Stop());
        EXPECT_NE(bytes.find("stopped by many"), std::string::npos);
        const TraceStats stats = trace.stats();
        EXPECT_EQ(stats.packets_begun(), stats.packets_read());
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }
}

TEST(LocalTraceTest, OneOfTooManySaysThatItRecordsNothing) {
  std::vector<std::unique_ptr<LocalTrace>> traces;
  std::vector<std::string> bytes(protozero::internal::kMaxTraceSessions + 2);
  const auto add = [&](std::string* its_bytes) {
    traces.push_back(std::make_unique<LocalTrace>(
        SmallOptions([its_bytes](const uint8_t* data, size_t size) {
          its_bytes->append(reinterpret_cast<const char*>(data), size);
          return true;
        })));
  };
  for (size_t i = 0; i + 1 < bytes.size(); ++i)
    add(&bytes[i]);
  LocalTrace& last = *traces.back();
  EXPECT_EQ(last.error(), "too many sessions at a time");
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "for all");
  EXPECT_FALSE(last.Stop());
  EXPECT_EQ(last.stats().unknown_losses(), 1u);
  EXPECT_EQ(last.stats().packets_begun(), 0u);
  // The end of one makes room for another.
  EXPECT_TRUE(traces.front()->Stop());
  add(&bytes.back());
  EXPECT_EQ(traces.back()->error(), "");
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "for the new one");
  for (size_t i = 0; i < traces.size(); ++i) {
    const bool is_refused = i + 2 == traces.size();
    EXPECT_EQ(traces[i]->Stop(), !is_refused) << traces[i]->error();
    EXPECT_EQ(bytes[i].find("for all") != std::string::npos,
              i + 2 < traces.size());
  }
  EXPECT_NE(bytes.back().find("for the new one"), std::string::npos);
}

TEST(LocalTraceTest, WithoutAPlaceToWriteItSaysSo) {
  const auto expect_error = [](LocalTrace* trace, const std::string& error) {
    EXPECT_EQ(trace->error(), error);
    EXPECT_FALSE(PROTOZERO_TRACE_CATEGORY_ENABLED("lt"));
    EXPECT_FALSE(trace->Stop());
    EXPECT_EQ(trace->error(), error);
    EXPECT_TRUE(trace->stats().buffers.empty());
  };
  LocalTrace without_path("");
  expect_error(&without_path, "there is no path, descriptor or sink");
  LocalTrace without_any{LocalTrace::Options()};
  expect_error(&without_any, "there is no path, descriptor or sink");
  LocalTrace::Options options = SmallOptions(&TakeAll);
  options.fd = 1;
  LocalTrace with_two(options);
  expect_error(&with_two,
               "there is more than one of path, descriptor and sink");
  options.fd = -1;
  options.buffer_size = 0;
  LocalTrace without_buffer(options);
  expect_error(&without_buffer, "a buffer has no size");
  // The error has room for a text of any length.
  const std::string path = "/nowhere/" + std::string(3000, 'x');
  LocalTrace nowhere(path);
  expect_error(&nowhere, path + ": No such file or directory");
}

// If no category matches, that is what was asked for.
TEST(LocalTraceTest, CategoriesThatMatchNothingAreNoError) {
  LocalTrace::Options options = SmallOptions(&TakeAll);
  options.categories = "lt.nothing";
  LocalTrace trace(options);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "not wanted");
  EXPECT_TRUE(trace.Stop());
  EXPECT_EQ(trace.stats().packets_begun(), 0u);
}

TEST(LocalTraceTest, AChildProcessWaitsForNothing) {
  std::atomic<bool> is_in_sink{false};
  std::atomic<bool> may_go_on{false};
  LocalTrace trace(SmallOptions([&](const uint8_t*, size_t) {
    is_in_sink = true;
    while (!may_go_on)
      std::this_thread::yield();
    return true;
  }));
  std::thread stopping([&] { trace.Stop(); });
  while (!is_in_sink)
    std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = trace.error() == "a child process" && !trace.Stop() &&
                    trace.stats().buffers.empty();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_go_on = true;
  stopping.join();
  EXPECT_EQ(trace.error(), "");
}

// A file that a LocalTrace writes to, while the program takes its descriptor.
class LocalTraceFileTest : public testing::Test {
 protected:
  void SetUp() override {
#if PROTOZERO_TEST_HAS_TSAN
    GTEST_SKIP() << "that is a race of the program's, and reported as such";
#endif
  }
  LocalTraceFileTest() {
    char folder[] = "/tmp/local_trace_XXXXXX";
    EXPECT_NE(mkdtemp(folder), nullptr);
    folder_ = folder;
  }
  ~LocalTraceFileTest() override {
    unlink(path().c_str());
    EXPECT_EQ(rmdir(folder_.c_str()), 0) << "something is left";
  }

  std::string path() const { return folder_ + "/trace"; }
  off_t FileSize() const {
    struct stat status = {};
    return stat(path().c_str(), &status) == 0 ? status.st_size : -1;
  }
  // Begins to record into the file, which has something when this returns.
  std::unique_ptr<LocalTrace> Record() const {
    LocalTrace::Options options = SmallOptions({});
    options.path = path();
    options.write_period_ms = 1;
    auto trace = std::make_unique<LocalTrace>(options);
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "before");
    while (trace->error().empty() && FileSize() == 0)
      std::this_thread::yield();
    EXPECT_EQ(trace->error(), "");
    return trace;
  }
  // Returns the descriptor of the file.
  int Descriptor() const {
    struct stat wanted = {};
    EXPECT_EQ(stat(path().c_str(), &wanted), 0);
    for (int fd = 3; fd < 1024; ++fd) {
      struct stat status;
      if (fstat(fd, &status) == 0 && status.st_dev == wanted.st_dev &&
          status.st_ino == wanted.st_ino) {
        return fd;
      }
    }
    ADD_FAILURE() << "the file is not open";
    return -1;
  }

  std::string folder_;
};

constexpr char kTaken[] =
    "cannot write: this program has closed or replaced the file descriptor";

// The file takes no more in the middle of a packet, at various places of it.
TEST_F(LocalTraceFileTest, FullDiskLeavesWholePackets) {
  rlimit old_limit;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  // The memory of a recording counts as a file, too.
  for (rlim_t size = 128 * 1024; size < 128 * 1024 + 40; size += 3) {
    const std::unique_ptr<LocalTrace> trace = Record();
    rlimit limit = old_limit;
    limit.rlim_cur = size;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    while (trace->error().empty())
      PROTOZERO_TRACE_EVENT_INSTANT("lt", "event");
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &old_limit), 0);
    EXPECT_FALSE(trace->Stop());
    EXPECT_EQ(trace->error(), "cannot write: File too large");
    EXPECT_LE(FileSize(), static_cast<off_t>(size));
    EXPECT_GT(FileSize(), static_cast<off_t>(size) - 1000);
    std::ifstream file(path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    const std::string content = bytes.str();
    protozero::ProtoDecoder decoder(content.data(), content.size());
    while (decoder.ReadField()) {
    }
    EXPECT_EQ(decoder.status(), protozero::DecodeStatus::kOk);
  }
}

// Does what daemons do. Returns 0, or the number of the line that fails.
int CloseAllAndOpenOwnFiles(const LocalTrace::Options& options) {
  LocalTrace trace(options);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "before");
  for (int fd = 3; fd < 256; ++fd)
    close(fd);
  char path[] = "/tmp/local_trace_own_XXXXXX";
  int own[16];
  own[0] = mkstemp(path);
  unlink(path);
  // Half of them are files, half are sockets that never become readable.
  for (int i = 1; i < 8; ++i)
    own[i] = dup(own[0]);
  for (int i = 8; i < 16; i += 2) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, &own[i]) != 0)
      return __LINE__;
  }
  while (trace.error().empty())
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "after");
  std::thread([] { PROTOZERO_TRACE_EVENT_INSTANT("lt", "thread"); }).join();
  // While one end of a connection is closed and the other is not yet, the
  // connection is only lost.
  const bool is_stopped = trace.Stop();
  const std::string why = trace.error();
  if (is_stopped || (why.find("closed or replaced") == std::string::npos &&
                     why != "the connection to this program is lost")) {
    return __LINE__;
  }
  struct stat status;
  if (fstat(own[0], &status) != 0 || status.st_size != 0)
    return __LINE__;
  for (int i = 0; i < 16; ++i) {
    char byte;
    if (fcntl(own[i], F_GETFD) < 0 ||
        (i >= 8 && recv(own[i], &byte, 1, MSG_DONTWAIT) >= 0)) {
      return __LINE__;
    }
  }
  return 0;
}

TEST_F(LocalTraceFileTest, FilesOfAProgramThatClosesAllAreLeftAlone) {
  for (const bool is_ring : {false, true}) {
    for (const bool has_sink : {false, true}) {
      const pid_t child = fork();
      if (child == 0) {
        LocalTrace::Options options = SmallOptions({});
        if (has_sink)
          options.sink = &TakeAll;
        else
          options.path = path();
        if (is_ring)
          options.fill_policy = BufferFillPolicy::kRingBuffer;
        _exit(CloseAllAndOpenOwnFiles(options));
      }
      int status = -1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), 0) << "failed in that line";
    }
  }
}

// Neither another trace nor a snapshot empties it.
TEST_F(LocalTraceFileTest, TheFileOfATraceThatGoesOnStays) {
  auto trace = Record();
  const off_t size = FileSize();
  {
    LocalTrace other(path());
    EXPECT_FALSE(other.Stop());
    EXPECT_EQ(other.error(), path() + ": Device or resource busy");
    LocalTrace::Options options = SmallOptions({});
    options.flight_recorder_in_memory = true;
    const LocalTrace recorder(options);
    EXPECT_FALSE(recorder.Snapshot(path().c_str()));
  }
  EXPECT_GE(FileSize(), size);
  EXPECT_TRUE(trace->Stop()) << trace->error();
  LocalTrace next(path());
  EXPECT_TRUE(next.Stop()) << next.error();
}

TEST_F(LocalTraceFileTest, AFileInPlaceOfItsOwnIsLeftAlone) {
  const auto trace = Record();
  const int number = Descriptor();
  FILE* const own = tmpfile();
  ASSERT_EQ(dup2(fileno(own), number), number);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "after");
  EXPECT_FALSE(trace->Stop());
  EXPECT_EQ(trace->error(), kTaken);
  struct stat status;
  EXPECT_EQ(fstat(number, &status), 0);
  EXPECT_EQ(status.st_size, 0);
  close(number);
  fclose(own);
}

TEST_F(LocalTraceFileTest, TheProgramMayHaveOpenedTheSameFile) {
  auto trace = Record();
  const int number = Descriptor();
  const int own = open(path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(dup2(own, number), number);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "after");
  EXPECT_FALSE(trace->Stop());
  EXPECT_EQ(trace->error(), kTaken);
  trace.reset();
  EXPECT_EQ(lseek(number, 0, SEEK_CUR), 0);
  close(number);
  close(own);
}

TEST_F(LocalTraceFileTest, ADescriptorThatIsReplacedIsLeftAlone) {
  const int number = open(path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  LocalTrace::Options options = SmallOptions({});
  options.fd = number;
  // The position is the program's.
  ASSERT_EQ(write(number, "", 1), 1);
  {
    LocalTrace trace(options);
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "event");
    EXPECT_TRUE(trace.Stop()) << trace.error();
  }
  EXPECT_GT(FileSize(), 1);
  const off_t size = FileSize();
  LocalTrace trace(options);
  FILE* const own = tmpfile();
  ASSERT_EQ(dup2(fileno(own), number), number);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "event");
  EXPECT_FALSE(trace.Stop());
  EXPECT_EQ(trace.error(), kTaken);
  EXPECT_GE(FileSize(), size);
  struct stat status;
  EXPECT_EQ(fstat(number, &status), 0);
  EXPECT_EQ(status.st_size, 0);
  close(number);
  fclose(own);
}

TEST_F(LocalTraceFileTest, AFifoNeedsAReader) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  {
    LocalTrace trace(path());
    EXPECT_EQ(trace.error(), path() + ": " + strerror(ENXIO));
  }
  const int reader = open(path().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  {
    LocalTrace trace(path());
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "event");
    EXPECT_TRUE(trace.Stop()) << trace.error();
    char bytes[1024];
    EXPECT_GT(read(reader, bytes, sizeof(bytes)), 0);
  }
  close(reader);
}

// Returns when the thread |tid| of this process sleeps.
void WaitUntilAsleep(pid_t tid) {
  const std::string path = "/proc/self/task/" + std::to_string(tid) + "/stat";
  for (char state = 0; state != 'S'; usleep(100)) {
    FILE* const file = fopen(path.c_str(), "r");
    // The name in parentheses comes before the state.
    if (file == nullptr || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
      state = 'S';
    if (file != nullptr)
      fclose(file);
  }
}

// A thread of the parent waits in the object. In the child, destroying it would
// wait for that thread.
TEST(LocalTraceTest, AChildProcessDestroysNothingOfItsParent) {
  std::atomic<bool> is_in_sink{false};
  std::atomic<bool> may_go_on{false};
  LocalTrace::Options options = SmallOptions([&](const uint8_t*, size_t) {
    is_in_sink = true;
    while (!may_go_on)
      std::this_thread::yield();
    return true;
  });
  // So there is nothing to write before Stop().
  options.write_period_ms = 3600 * 1000;
  auto trace = std::make_unique<LocalTrace>(std::move(options));
  std::atomic<pid_t> tid{0};
  std::thread stopping([&] {
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    trace->Stop();
  });
  while (!is_in_sink)
    std::this_thread::yield();
  WaitUntilAsleep(tid);
  const pid_t child = fork();
  if (child == 0) {
    // A child that hangs does not wait for ever.
    alarm(20);
    trace.reset();
    _exit(0);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  may_go_on = true;
  stopping.join();
  EXPECT_EQ(trace->error(), "");
}

TEST(LocalTraceTest, EachPeriodFlushesWhatThreadsHaveBegun) {
  LocalTrace::Options options = SmallOptions(&TakeAll);
  options.write_period_ms = 5;
  LocalTrace trace(options);
  PROTOZERO_TRACE_EVENT_INSTANT("lt", "the only one");
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while ((trace.stats().flushes_succeeded < 2 ||
          trace.stats().packets_read() == 0) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(trace.stats().flushes_succeeded, 2u);
  EXPECT_GT(trace.stats().packets_read(), 0u);
  EXPECT_TRUE(trace.Stop());
}

TEST(LocalTraceTest, BufferThatIsHalfFullIsWritten) {
  constexpr int kNumEvents = 1000000;
  std::string bytes;
  LocalTrace::Options options;
  options.sink = [&](const uint8_t* data, size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  options.buffer_size = 1 << 20;
  options.write_period_ms = 3600 * 1000;
  options.exhausted_policy = protozero::BufferExhaustedPolicy::kStall;
  LocalTrace trace(options);
  for (int i = 0; i < kNumEvents; ++i)
    PROTOZERO_TRACE_EVENT_INSTANT("lt", "instant");
  EXPECT_TRUE(trace.Stop());
  EXPECT_EQ(trace.stats().lost().total(), 0u);
  EXPECT_GT(bytes.size(), 10u << 20);
  EXPECT_GE(CountPackets(bytes), uint64_t{kNumEvents});
}

TEST(LocalTraceTest, ASinkThatThrowsForWantOfMemoryHasRefused) {
#if defined(__cpp_exceptions)
  LocalTrace trace(SmallOptions(
      [](const uint8_t*, size_t) -> bool { throw std::bad_alloc(); }));
  EXPECT_FALSE(trace.Stop());
  EXPECT_EQ(trace.error(), "out of memory");
#endif
}

// Threads go on while sessions come and go. Each packet that was begun is read,
// or lost, when a session has stopped, and stays so.
TEST(LocalTraceTest, TheLedgerIsExactWhenItHasStopped) {
  std::atomic<bool> is_done{false};
  std::vector<std::thread> writers;
  for (int k = 0; k < 3; ++k) {
    writers.emplace_back([&is_done, k] {
      std::mt19937 random(static_cast<unsigned>(k));
      const std::string text(5000, 'x');
      while (!is_done) {
        for (int i = 0; i < 50; ++i) {
          PROTOZERO_TRACE_EVENT("lt", "slice", "i", i);
          PROTOZERO_TRACE_EVENT_INSTANT(
              "lt", "instant", protozero::Track(random() % 100), "text",
              std::string_view(text).substr(0, random() % text.size()));
        }
        // A short thread ends here. The next one is another writer.
        if (random() % 8 == 0) {
          std::thread([] {
            PROTOZERO_TRACE_EVENT_INSTANT("lt", "short");
          }).join();
        }
        std::this_thread::yield();
      }
    });
  }
  std::mt19937 random(45);
  for (int i = 0; i < 60; ++i) {
    SCOPED_TRACE("trace " + std::to_string(i));
    const bool fails = random() % 3 == 0;
    size_t limit = fails ? random() % (1 << 18) : SIZE_MAX;
    std::string bytes;
    LocalTrace::Options options =
        SmallOptions([&](const uint8_t* data, size_t size) {
          if (size > limit)
            return false;
          limit -= size;
          bytes.append(reinterpret_cast<const char*>(data), size);
          return true;
        });
    options.buffer_size = size_t{1} << (14 + random() % 8);
    options.shared_memory_size = size_t{1} << (15 + random() % 4);
    options.write_period_ms = 1 + random() % 4;
    options.fill_policy = random() % 3 == 0 ? BufferFillPolicy::kRingBuffer
                                            : BufferFillPolicy::kDiscard;
    if (random() % 4 == 0)
      options.duration_ms = 2;
    LocalTrace trace(options);
    ASSERT_EQ(trace.error().find("session"), std::string::npos);
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 5));
    std::thread other([&] { trace.Stop(); });
    trace.Stop();
    const auto check = [&] {
      const TraceStats stats = trace.stats();
      EXPECT_EQ(stats.packets_begun(),
                stats.packets_read() + stats.lost().total());
      EXPECT_EQ(stats.unknown_losses(), 0u);
      if (trace.error().empty()) {
        EXPECT_EQ(stats.lost().of(LossReason::kNotWritten), 0u);
        EXPECT_EQ(stats.packets_read(), CountPackets(bytes));
      } else {
        EXPECT_EQ(trace.error(), "the sink has refused something");
      }
      return stats.packets_begun();
    };
    const uint64_t begun = check();
    other.join();
    std::this_thread::yield();
    EXPECT_EQ(check(), begun);
  }
  is_done = true;
  for (std::thread& thread : writers)
    thread.join();
}

}  // namespace
