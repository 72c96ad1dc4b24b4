// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests the parts of both ends of a connection: frames, sockets, memory,
// messages.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/tracing/ipc/byte_buffer.h"
#include "src/tracing/ipc/clock_offset.h"
#include "src/tracing/ipc/folder_lock.h"
#include "src/tracing/ipc/frame_reader.h"
#include "src/tracing/ipc/frame_sender.h"
#include "src/tracing/ipc/messages.h"
#include "src/tracing/ipc/shared_memory_file.h"
#include "src/tracing/ipc/unix_socket.h"
#include "test/testing/allocation_monitor.h"

namespace protozero {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using tracing::pbzero::IPCFrame;

std::string Frame(std::string_view payload) {
  uint8_t header[kFrameHeaderSize];
  WriteFrameHeader(payload.size(), header);
  return std::string(reinterpret_cast<char*>(header), sizeof(header)) +
         std::string(payload);
}

std::string FrameOfSize(size_t payload_size) {
  return Frame(std::string(payload_size, 'x'));
}

// Returns the frames that a reader finds in |stream| when it comes in pieces of
// |piece_size|.
std::vector<std::string> ReadFrames(std::string_view stream,
                                    size_t piece_size,
                                    bool* is_broken) {
  FrameReader reader;
  std::vector<std::string> frames;
  while (!stream.empty()) {
    const ContiguousMemoryRange range = reader.BeginReceive();
    const size_t size =
        std::min(std::min(piece_size, range.size()), stream.size());
    EXPECT_NE(size, 0u);
    memcpy(range.begin, stream.data(), size);
    stream.remove_prefix(size);
    reader.EndReceive(size);
    ConstBytes payload;
    while (reader.NextFrame(&payload))
      frames.push_back(payload.ToStdString());
  }
  *is_broken = reader.is_broken();
  return frames;
}

TEST(FrameReaderTest, HeaderIsLittleEndian) {
  uint8_t header[kFrameHeaderSize];
  WriteFrameHeader(0x0102, header);
  EXPECT_THAT(header, ElementsAre(0x02, 0x01, 0x00, 0x00));
}

TEST(FrameReaderTest, FramesComeInPiecesOfAnySize) {
  const std::string stream =
      Frame("first") + Frame("") + Frame(std::string(5000, 'a')) + Frame("b") +
      Frame(std::string(300, 'c')) + Frame("") + Frame("last");
  for (size_t piece_size = 1; piece_size <= stream.size(); ++piece_size) {
    bool is_broken;
    EXPECT_THAT(ReadFrames(stream, piece_size, &is_broken),
                ElementsAre("first", std::string(5000, 'a'), "b",
                            std::string(300, 'c'), "last"));
    EXPECT_FALSE(is_broken);
  }
}

TEST(FrameReaderTest, IncompleteFrameIsNotGivenOut) {
  const std::string stream = Frame("payload");
  for (size_t size = 0; size < stream.size(); ++size) {
    bool is_broken;
    EXPECT_THAT(ReadFrames(stream.substr(0, size), 1, &is_broken), IsEmpty());
    EXPECT_FALSE(is_broken);
  }
}

TEST(FrameReaderTest, LargestFrame) {
  const std::string stream = FrameOfSize(131068) + Frame("next");
  for (const size_t piece_size : {size_t{1000}, size_t{4096}, stream.size()}) {
    bool is_broken;
    const std::vector<std::string> frames =
        ReadFrames(stream, piece_size, &is_broken);
    ASSERT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames[0].size(), 131068u);
    EXPECT_EQ(frames[1], "next");
    EXPECT_FALSE(is_broken);
  }
}

TEST(FrameReaderTest, LargerFrameBreaksTheStream) {
  // The header is enough: the reader does not wait for the rest.
  for (const std::string& header :
       {FrameOfSize(131069).substr(0, 4), std::string("\xff\xff\xff\xff"),
        std::string("\x00\x00\x00\x80", 4)}) {
    bool is_broken;
    EXPECT_THAT(ReadFrames(Frame("good") + header + "xxxx", 3, &is_broken),
                ElementsAre("good"));
    EXPECT_TRUE(is_broken);
  }
}

TEST(FrameReaderTest, MemoryIsInProportionToWhatHasCome) {
  FrameReader reader;
  // The stream announces the largest frame, and has little of it.
  const std::string stream = FrameOfSize(131068).substr(0, 100);
  size_t largest = 0;
  for (const char byte : stream) {
    const ContiguousMemoryRange range = reader.BeginReceive();
    largest = std::max(largest, range.size());
    *range.begin = static_cast<uint8_t>(byte);
    reader.EndReceive(1);
    ConstBytes payload;
    EXPECT_FALSE(reader.NextFrame(&payload));
  }
  EXPECT_LE(largest, 8192u);
}

// ---- ByteBuffer

TEST(ByteBufferTest, GrowsAndKeepsItsBytes) {
  ByteBuffer buffer;
  EXPECT_EQ(buffer.size(), 0u);
  std::string expected;
  for (size_t size = 1; size < 300; ++size) {
    ASSERT_TRUE(buffer.Resize(size));
    ASSERT_EQ(buffer.size(), size);
    buffer.data()[size - 1] = static_cast<uint8_t>(size);
    expected += static_cast<char>(size);
    ASSERT_EQ(memcmp(buffer.data(), expected.data(), size), 0) << size;
  }
}

TEST(ByteBufferTest, RoomThatIsThereIsUsed) {
  ByteBuffer buffer;
  ASSERT_TRUE(buffer.Reserve(100));
  EXPECT_EQ(buffer.size(), 0u);
  const uint8_t* const room = buffer.data();
  ASSERT_TRUE(buffer.Resize(100));
  ASSERT_TRUE(buffer.Reserve(100));
  ASSERT_TRUE(buffer.Resize(1));
  ASSERT_TRUE(buffer.Resize(100));
  EXPECT_EQ(buffer.data(), room);
}

TEST(ByteBufferTest, BytesAreErasedFromTheFront) {
  for (size_t count = 0; count <= 5; ++count) {
    ByteBuffer buffer;
    ASSERT_TRUE(buffer.Resize(5));
    memcpy(buffer.data(), "abcde", 5);
    buffer.EraseFront(count);
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(buffer.data()),
                          buffer.size()),
              std::string("abcde").substr(count));
  }
}

// ---- Sockets

class UnixSocketTest : public testing::Test {
 public:
  UnixSocketTest() {
    char path[] = "/tmp/protozero_ipc_XXXXXX";
    folder_ = mkdtemp(path);
  }
  ~UnixSocketTest() override {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/socket"; }

 private:
  std::string folder_;
};

std::pair<ScopedFd, ScopedFd> SocketPair() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  return {ScopedFd(fds[0]), ScopedFd(fds[1])};
}

std::string ReceiveAll(int fd, ScopedFd* received_fd) {
  std::string result;
  uint8_t bytes[1000];
  size_t size;
  while (ReceiveFromSocket(fd, bytes, sizeof(bytes), &size, received_fd) ==
         SocketStatus::kOk) {
    result.append(reinterpret_cast<char*>(bytes), size);
  }
  return result;
}

TEST_F(UnixSocketTest, ConnectsByPathAndByAbstractName) {
  for (const std::string& name : {"@" + path(), path()}) {
    std::string error;
    EXPECT_FALSE(ConnectToUnixSocket(name, &error).is_valid());
    EXPECT_THAT(error, HasSubstr(name));
    const ScopedFd listening = ListenOnUnixSocket(name, &error);
    ASSERT_TRUE(listening.is_valid()) << error;
    EXPECT_FALSE(AcceptConnection(listening.get()).is_valid());
    const ScopedFd client = ConnectToUnixSocket(name, &error);
    ASSERT_TRUE(client.is_valid()) << error;
    const ScopedFd server = AcceptConnection(listening.get());
    ASSERT_TRUE(server.is_valid());

    PeerIdentity peer;
    ASSERT_TRUE(GetPeerIdentity(server.get(), &peer));
    EXPECT_EQ(peer.uid, getuid());
    EXPECT_EQ(peer.pid, getpid());
    for (const int fd : {listening.get(), client.get(), server.get()}) {
      EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
      EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
    }
    struct stat status;
    EXPECT_EQ(stat(path().c_str(), &status), name[0] == '@' ? -1 : 0);
  }
}

TEST_F(UnixSocketTest, APairIsConnectedAndStaysInTheProcess) {
  ScopedFd one;
  ScopedFd other;
  ASSERT_TRUE(ConnectSocketPair(&one, &other));
  for (const int fd : {one.get(), other.get()}) {
    EXPECT_TRUE(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    EXPECT_TRUE(fcntl(fd, F_GETFL) & O_NONBLOCK);
  }
  const uint8_t bytes[] = {'a', 'b'};
  size_t sent = 0;
  EXPECT_EQ(SendToSocket(one.get(), bytes, sizeof(bytes), -1, &sent),
            SocketStatus::kOk);
  EXPECT_EQ(sent, 2u);
  ScopedFd received;
  EXPECT_EQ(ReceiveAll(other.get(), &received), "ab");
  EXPECT_FALSE(received.is_valid());
}

TEST_F(UnixSocketTest, AbandonedSocketIsReplacedAndUsedOneIsNot) {
  std::string error;
  ScopedFd first = ListenOnUnixSocket(path(), &error);
  ASSERT_TRUE(first.is_valid()) << error;
  EXPECT_FALSE(ListenOnUnixSocket(path(), &error).is_valid());
  EXPECT_EQ(errno, EADDRINUSE);
  EXPECT_EQ(error, "cannot listen on " + path() + ": " + strerror(EADDRINUSE));
  first.Reset();
  EXPECT_TRUE(ListenOnUnixSocket(path(), &error).is_valid()) << error;
}

TEST_F(UnixSocketTest, OneOfManyThatStartAtOnceGetsAnAbandonedAddress) {
  constexpr int kRounds = 100;
  constexpr size_t kStarters = 8;
  for (int round = 0; round < kRounds; ++round) {
    std::string ignored;
    ListenOnUnixSocket(path(), &ignored);
    std::vector<ScopedFd> sockets(kStarters);
    std::atomic<size_t> num_ready{0};
    std::vector<std::thread> starters;
    for (ScopedFd& socket : sockets) {
      starters.emplace_back([&] {
        std::string error;
        for (++num_ready; num_ready != kStarters;)
          std::this_thread::yield();
        socket = ListenOnUnixSocket(path(), &error);
      });
    }
    for (std::thread& starter : starters)
      starter.join();
    const auto is_valid = [](const ScopedFd& fd) { return fd.is_valid(); };
    ASSERT_EQ(std::count_if(sockets.begin(), sockets.end(), is_valid), 1);
    const auto owner = std::find_if(sockets.begin(), sockets.end(), is_valid);
    const ScopedFd client = ConnectToUnixSocket(path(), &ignored);
    EXPECT_TRUE(client.is_valid()) << ignored;
    EXPECT_TRUE(AcceptConnection(owner->get()).is_valid());
  }
}

TEST_F(UnixSocketTest, LockOfAFolderIsWaitedFor) {
  std::string error;
  FolderLock own;
  ASSERT_TRUE(own.Take(path()));
  // Others cannot enter the folder, so the owner of the lock will give it back.
  EXPECT_FALSE(ListenOnUnixSocket(path(), &error).is_valid());
  EXPECT_EQ(error, path() + ": another process keeps the lock of its folder");
  // Here, another user may never give it back.
  const std::string folder = path().substr(0, path().rfind('/'));
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  EXPECT_TRUE(ListenOnUnixSocket(path(), &error).is_valid()) << error;
}

TEST_F(UnixSocketTest, EndOfASocketLeavesTheFileOfAnother) {
  std::string error;
  ListeningSocket first;
  ListeningSocket second;
  ASSERT_TRUE(first.Listen(path(), &error)) << error;
  // The file was removed.
  unlink(path().c_str());
  ASSERT_TRUE(second.Listen(path(), &error)) << error;
  first.Close();
  EXPECT_FALSE(first.is_valid());
  EXPECT_TRUE(ConnectToUnixSocket(path(), &error).is_valid()) << error;
  second.Close();
  EXPECT_NE(access(path().c_str(), F_OK), 0);
}

TEST_F(UnixSocketTest, OnlyAnAbandonedSocketIsRemoved) {
  std::string error;
  ScopedFd listening = ListenOnUnixSocket(path(), &error);
  ASSERT_TRUE(listening.is_valid()) << error;
  // It does not answer, and no other connection can be accepted.
  std::vector<ScopedFd> clients;
  while (clients.empty() || clients.back().is_valid())
    clients.push_back(ConnectToUnixSocket(path(), &error));
  EXPECT_FALSE(RemoveAbandonedSocket(path()));
  clients.clear();
  listening.Reset();
  EXPECT_TRUE(RemoveAbandonedSocket(path()));
  EXPECT_FALSE(RemoveAbandonedSocket(path()));
  ScopedFd file(open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_FALSE(RemoveAbandonedSocket(path()));
}

TEST(ClockOffsetTest, OtherNamespacesAreToldApart) {
  constexpr int64_t kDayNs = int64_t{86400} * 1000000000;
  const int64_t own = BoottimeLessRealtimeNs();
  EXPECT_EQ(ClockAheadNs(own), 0);
  for (const int64_t ahead : {kDayNs, -kDayNs}) {
    EXPECT_NEAR(static_cast<double>(ClockAheadNs(own + ahead)),
                static_cast<double>(ahead), kMaxClockErrorNs);
  }
  // A producer may say anything.
  EXPECT_NE(ClockAheadNs(INT64_MIN), 0);
  EXPECT_NE(ClockAheadNs(INT64_MAX), 0);
}

TEST_F(UnixSocketTest, OtherFilesAreNotReplaced) {
  ScopedFd file(open(path().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  ASSERT_TRUE(file.is_valid());
  std::string error;
  EXPECT_FALSE(ListenOnUnixSocket(path(), &error).is_valid());
  EXPECT_EQ(access(path().c_str(), F_OK), 0);
}

TEST_F(UnixSocketTest, NamesThatDoNotFitAreRefused) {
  // A name has 107 bytes at most, with the '@' of an abstract one.
  const std::string longest = path() + std::string(106 - path().size(), 'x');
  std::string error;
  for (const std::string& name :
       {std::string(), std::string(108, 'x'), "@x" + longest,
        "@" + std::string(200, 'x')}) {
    EXPECT_FALSE(ListenOnUnixSocket(name, &error).is_valid());
    EXPECT_THAT(error, HasSubstr(strerror(ENAMETOOLONG)));
    EXPECT_FALSE(ConnectToUnixSocket(name, &error).is_valid());
    EXPECT_THAT(error, HasSubstr(strerror(ENAMETOOLONG)));
    EXPECT_EQ(errno, ENAMETOOLONG);
  }
  for (const std::string& name : {"@" + longest, longest + "x"}) {
    const ScopedFd listening = ListenOnUnixSocket(name, &error);
    EXPECT_TRUE(listening.is_valid()) << error;
    EXPECT_TRUE(ConnectToUnixSocket(name, &error).is_valid()) << error;
  }
  unlink((longest + "x").c_str());
}

TEST_F(UnixSocketTest, DefaultIsTheEnvironments) {
  setenv("PERFETTO_PRODUCER_SOCK_NAME", "@name", 1);
  EXPECT_EQ(DefaultProducerSocket(), "@name");
  unsetenv("PERFETTO_PRODUCER_SOCK_NAME");
  EXPECT_THAT(DefaultProducerSocket(),
              testing::AnyOf("/run/perfetto/traced-producer.sock",
                             "/tmp/perfetto-producer"));
}

TEST_F(UnixSocketTest, SendingNeitherBlocksNorKills) {
  auto [here, there] = SocketPair();
  const std::vector<uint8_t> data(1 << 20);
  size_t sent;
  EXPECT_EQ(SendToSocket(here.get(), data.data(), data.size(), -1, &sent),
            SocketStatus::kWouldBlock);
  EXPECT_GT(sent, 0u);
  EXPECT_LT(sent, data.size());
  there.Reset();
  EXPECT_EQ(SendToSocket(here.get(), data.data(), data.size(), -1, &sent),
            SocketStatus::kClosed);
}

size_t NumOpenFds() {
  size_t count = 0;
  for (int fd = 0; fd < 1024; ++fd)
    count += fcntl(fd, F_GETFD) != -1;
  return count;
}

TEST_F(UnixSocketTest, DescriptorsPassAndNoneIsLeftOpen) {
  const size_t before = NumOpenFds();
  {
    auto [here, there] = SocketPair();
    const uint8_t byte = 1;
    size_t sent;
    ScopedFd received;
    EXPECT_EQ(SendToSocket(here.get(), &byte, 1, here.get(), &sent),
              SocketStatus::kOk);
    EXPECT_EQ(ReceiveAll(there.get(), &received).size(), 1u);
    ASSERT_TRUE(received.is_valid());
    EXPECT_TRUE(fcntl(received.get(), F_GETFD) & FD_CLOEXEC);

    // These messages have many descriptors. The receiver keeps one of them.
    for (int i = 0; i < 10; ++i) {
      int fds[20];
      std::fill(std::begin(fds), std::end(fds), here.get());
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(fds))] = {};
      iovec io{const_cast<uint8_t*>(&byte), 1};
      msghdr message{};
      message.msg_iov = &io;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof(control);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(fds));
      memcpy(CMSG_DATA(header), fds, sizeof(fds));
      ASSERT_EQ(sendmsg(here.get(), &message, 0), 1);
      ReceiveAll(there.get(), &received);
      EXPECT_EQ(NumOpenFds(), before + 3);
    }
  }
  EXPECT_EQ(NumOpenFds(), before);
}

// ---- FrameSender

std::string FrameWithId(uint64_t id) {
  HeapBuffered<IPCFrame> frame;
  frame->set_request_id(id);
  return Frame(frame.SerializeAsString());
}

TEST(FrameSenderTest, SendsAtOnceOrWhenItCan) {
  auto [here, there] = SocketPair();
  FrameSender sender(1 << 20);
  std::string expected;
  std::string received;
  ScopedFd fd;
  // Frames are sent until the socket takes no more, and then 1000 more.
  uint64_t id = 0;
  for (int more = 1000; more > 0; ++id) {
    more -= sender.has_queued();
    sender.BeginFrame()->set_request_id(id);
    EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kOk);
    expected += FrameWithId(id);
  }
  while (sender.has_queued()) {
    received += ReceiveAll(there.get(), &fd);
    EXPECT_EQ(sender.SendQueued(here.get()), SendStatus::kOk);
  }
  received += ReceiveAll(there.get(), &fd);
  EXPECT_EQ(received, expected);
}

TEST(FrameSenderTest, UsualFramesAllocateNothing) {
  auto sockets = SocketPair();
  FrameSender sender(1 << 20);
  ScopedFd fd;
  const auto count_allocations = [&](size_t num_messages) {
    size_t count = 0;
    {
      const test::AllocationCounter counter;
      IPCFrame* const frame = sender.BeginFrame();
      for (size_t i = 0; i < num_messages; ++i)
        frame->BeginNestedMessage<Message>(1000)->AppendTinyVarInt(1, 1);
      EXPECT_EQ(sender.EndFrame(sockets.first.get()), SendStatus::kOk);
      count = counter.count();
    }
    EXPECT_FALSE(sender.has_queued());
    ReceiveAll(sockets.second.get(), &fd);
    return count;
  };
  count_allocations(1);
  // The most messages that an arbiter commits at a time come after frames with
  // any number of others.
  for (size_t others = 0; others < 60; ++others) {
    for (size_t i = 0; i < others; ++i)
      EXPECT_EQ(count_allocations(i), 0u);
    EXPECT_EQ(count_allocations(FrameSender::kUsualMessages), 0u) << others;
  }
}

TEST(FrameSenderTest, DescriptorComesWithItsFrame) {
  auto [here, there] = SocketPair();
  FrameSender sender(1 << 20);
  ScopedFd fd;
  // This frame is sent at once.
  sender.BeginFrame()->set_request_id(1);
  EXPECT_EQ(sender.EndFrame(here.get(), ScopedFd(dup(here.get()))),
            SendStatus::kOk);
  EXPECT_EQ(ReceiveAll(there.get(), &fd), FrameWithId(1));
  EXPECT_TRUE(fd.is_valid());
  fd.Reset();

  // This frame is sent after others that wait.
  uint64_t id = 0;
  std::string before;
  while (!sender.has_queued()) {
    sender.BeginFrame()->set_request_id(id);
    EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kOk);
    before += FrameWithId(id++);
  }
  {
    const std::unique_ptr<SharedMemoryFile> memory =
        SharedMemoryFile::Create(4096);
    sender.BeginFrame()->set_request_id(id);
    EXPECT_EQ(sender.EndFrame(here.get(), memory->TakeFd()), SendStatus::kOk);
  }
  sender.BeginFrame()->set_request_id(id + 1);
  EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kOk);
  std::string received;
  while (received.size() < before.size()) {
    uint8_t byte;
    size_t size;
    EXPECT_FALSE(fd.is_valid());
    sender.SendQueued(here.get());
    ASSERT_EQ(ReceiveFromSocket(there.get(), &byte, 1, &size, &fd),
              SocketStatus::kOk);
    received += static_cast<char>(byte);
  }
  sender.SendQueued(here.get());
  received += ReceiveAll(there.get(), &fd);
  EXPECT_EQ(received, before + FrameWithId(id) + FrameWithId(id + 1));
  struct stat status;
  ASSERT_EQ(fstat(fd.get(), &status), 0);
  EXPECT_EQ(status.st_size, 4096);
}

TEST(FrameSenderTest, GivesUpOnWhoDoesNotRead) {
  auto [here, there] = SocketPair();
  FrameSender sender(1000);
  SendStatus status = SendStatus::kOk;
  for (int i = 0; status == SendStatus::kOk && i < 100000; ++i) {
    sender.BeginFrame()->set_msg_request_error()->set_error(
        std::string(100, 'x'));
    status = sender.EndFrame(here.get());
  }
  EXPECT_EQ(status, SendStatus::kPeerDoesNotRead);
}

TEST(FrameSenderTest, NoticesWhoIsGone) {
  auto [here, there] = SocketPair();
  there.Reset();
  FrameSender sender(1000);
  sender.BeginFrame()->set_request_id(1);
  EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kPeerIsGone);
}

TEST(FrameSenderTest, FramesThatAreTooLargeAreNotSent) {
  auto [here, there] = SocketPair();
  FrameSender sender(1 << 20);
  ScopedFd fd;
  sender.BeginFrame()->AppendRawProtoBytes(std::string(131069, 'x').data(),
                                           131069);
  EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kOk);
  EXPECT_EQ(ReceiveAll(there.get(), &fd), "");
  sender.BeginFrame()->AppendRawProtoBytes(std::string(131068, 'x').data(),
                                           131068);
  EXPECT_EQ(sender.EndFrame(here.get()), SendStatus::kOk);
  EXPECT_EQ(ReceiveAll(there.get(), &fd), FrameOfSize(131068));
}

// ---- SharedMemoryFile

TEST(SharedMemoryFileTest, IsZeroAndSharedAndOfOneSize) {
  const auto created = SharedMemoryFile::Create(8192);
  ASSERT_NE(created, nullptr);
  EXPECT_EQ(created->size(), 8192u);
  EXPECT_TRUE(std::all_of(created->start(), created->start() + 8192,
                          [](uint8_t byte) { return byte == 0; }));
  EXPECT_EQ(ftruncate(created->fd(), 4096), -1);
  EXPECT_EQ(ftruncate(created->fd(), 10000), -1);
  const auto attached =
      SharedMemoryFile::Attach(ScopedFd(dup(created->fd())), 8192, true);
  ASSERT_NE(attached, nullptr);
  EXPECT_EQ(attached->size(), 8192u);
  created->start()[5000] = 7;
  EXPECT_EQ(attached->start()[5000], 7);
  EXPECT_EQ(SharedMemoryFile::Create(0), nullptr);
}

// Makes a limit of the process as low as it can be, as long as it exists.
class ScopedLimit {
 public:
  ScopedLimit(decltype(RLIMIT_FSIZE) resource, rlim_t limit)
      : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit lower{limit, before_.rlim_max};
    setrlimit(resource_, &lower);
  }
  ~ScopedLimit() { setrlimit(resource_, &before_); }

 private:
  const decltype(RLIMIT_FSIZE) resource_;
  rlimit before_;
};

TEST(SharedMemoryFileTest, SaysWhyThereIsNone) {
  std::string error;
  {
    const ScopedLimit limit(RLIMIT_NOFILE, 0);
    EXPECT_EQ(SharedMemoryFile::Create(8192, &error), nullptr);
  }
  EXPECT_EQ(error, "memfd_create of 8192 bytes: Too many open files");
  {
    // Nothing handles SIGXFSZ here.
    const ScopedLimit limit(RLIMIT_FSIZE, 8191);
    EXPECT_EQ(SharedMemoryFile::Create(8192, &error), nullptr);
    EXPECT_EQ(SharedMemoryFile::Create(8192), nullptr);
  }
  EXPECT_EQ(error, "ftruncate of 8192 bytes: File too large");
  sigset_t signals;
  sigpending(&signals);
  EXPECT_EQ(sigismember(&signals, SIGXFSZ), 0);
  pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  EXPECT_EQ(sigismember(&signals, SIGXFSZ), 0);
  EXPECT_NE(SharedMemoryFile::Create(8192), nullptr);
}

TEST(SharedMemoryFileTest, OthersMemoryIsChecked) {
  const auto attach = [](int fd, bool needs_seals = true) {
    return SharedMemoryFile::Attach(ScopedFd(fd), 8192, needs_seals);
  };
  EXPECT_EQ(attach(-1), nullptr);
  EXPECT_EQ(attach(open("/dev/null", O_RDWR | O_CLOEXEC)), nullptr);
  EXPECT_EQ(attach(open("/tmp", O_RDONLY | O_CLOEXEC)), nullptr);
  // This file is too large.
  EXPECT_EQ(attach(dup(SharedMemoryFile::Create(8193)->fd())), nullptr);
  const auto unsealed = [](int seals) {
    const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(ftruncate(fd, 4096), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, seals), 0);
    return fd;
  };
  EXPECT_EQ(attach(unsealed(0)), nullptr);
  EXPECT_EQ(attach(unsealed(F_SEAL_SHRINK | F_SEAL_GROW)), nullptr);
  EXPECT_EQ(attach(unsealed(F_SEAL_SEAL | F_SEAL_GROW)), nullptr);
  EXPECT_NE(attach(unsealed(F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK)),
            nullptr);
  EXPECT_NE(attach(unsealed(0), /*needs_seals=*/false), nullptr);
  // This file is sealed against writing, so it cannot be mapped.
  EXPECT_EQ(attach(unsealed(F_SEAL_SEAL | F_SEAL_GROW | F_SEAL_SHRINK |
                            F_SEAL_WRITE)),
            nullptr);
  // A file on disk cannot be sealed.
  char path[] = "/tmp/protozero_ipc_XXXXXX";
  const int file = mkostemp(path, O_CLOEXEC);
  unlink(path);
  EXPECT_EQ(ftruncate(file, 4096), 0);
  EXPECT_EQ(attach(file), nullptr);
}

// ---- Messages

template <typename T, typename Write>
std::vector<uint8_t> Serialize(Write write) {
  HeapBuffered<T> message;
  write(message.get());
  return message.SerializeAsArray();
}

TEST(MessagesTest, DataSourceDescriptor) {
  DataSourceDescriptor written;
  written.name = "name";
  written.id = 5;
  written.will_notify_on_start = true;
  written.will_notify_on_stop = true;
  written.handles_incremental_state_clear = true;
  written.no_flush = true;
  const auto bytes = Serialize<tracing::pbzero::DataSourceDescriptor>(
      [&](auto* message) { WriteDataSourceDescriptor(written, message); });
  DataSourceDescriptor read;
  ASSERT_TRUE(ReadDataSourceDescriptor(bytes, &read));
  EXPECT_EQ(read.name, "name");
  EXPECT_EQ(read.id, 5u);
  EXPECT_TRUE(read.will_notify_on_start);
  EXPECT_TRUE(read.will_notify_on_stop);
  EXPECT_TRUE(read.handles_incremental_state_clear);
  EXPECT_TRUE(read.no_flush);
  EXPECT_FALSE(ReadDataSourceDescriptor(
      ConstBytes(bytes.data(), bytes.size() - 1), &read));
}

TEST(MessagesTest, DataSourceConfigKeepsWhatItDoesNotKnow) {
  HeapBuffered<Message> unknown_fields;
  unknown_fields->AppendString(113, "track events");
  unknown_fields->AppendVarInt(5, 1);
  const std::string unknown = unknown_fields.SerializeAsString();
  DataSourceConfig written;
  written.name = "name";
  written.target_buffer = 65535;
  written.trace_duration_ms = 1;
  written.tracing_session_id = 2;
  written.stop_timeout_ms = 3;
  written.buffer_exhausted_policy = BufferExhaustedPolicy::kStall;
  written.ring_bytes = uint64_t{1} << 40;
  written.raw_fields = unknown;
  const auto bytes = Serialize<tracing::pbzero::DataSourceConfig>(
      [&](auto* message) { WriteDataSourceConfig(written, message); });
  DataSourceConfig read;
  ASSERT_TRUE(ReadDataSourceConfig(bytes, &read));
  EXPECT_EQ(read.name, "name");
  EXPECT_EQ(read.target_buffer, 65535);
  EXPECT_EQ(read.trace_duration_ms, 1u);
  EXPECT_EQ(read.tracing_session_id, 2u);
  EXPECT_EQ(read.stop_timeout_ms, 3u);
  EXPECT_EQ(read.buffer_exhausted_policy, BufferExhaustedPolicy::kStall);
  EXPECT_EQ(read.ring_bytes, uint64_t{1} << 40);
  EXPECT_EQ(read.raw_fields, unknown);
}

TEST(MessagesTest, WritersStallOnlyIfTheyAreToldTo) {
  using Config = tracing::pbzero::DataSourceConfig;
  const auto policy_of = [](Config::BufferExhaustedPolicy policy) {
    DataSourceConfig config;
    EXPECT_TRUE(ReadDataSourceConfig(Serialize<Config>([&](Config* message) {
                                       message->set_buffer_exhausted_policy(
                                           policy);
                                     }),
                                     &config));
    return config.buffer_exhausted_policy;
  };
  EXPECT_EQ(policy_of(Config::BUFFER_EXHAUSTED_STALL_THEN_ABORT),
            BufferExhaustedPolicy::kStall);
  EXPECT_EQ(policy_of(Config::BUFFER_EXHAUSTED_STALL_THEN_DROP),
            BufferExhaustedPolicy::kStall);
  EXPECT_EQ(policy_of(Config::BUFFER_EXHAUSTED_DROP),
            BufferExhaustedPolicy::kDrop);
  EXPECT_EQ(policy_of(static_cast<Config::BufferExhaustedPolicy>(77)),
            BufferExhaustedPolicy::kDrop);
}

TEST(MessagesTest, CommitDataRequest) {
  const uint8_t chunk[] = {1, 2, 3};
  const CommitDataRequest::ChunkToMove moves[] = {
      {0, 0, 1}, {300, 13, 65535}, {5, 1, 2, chunk, sizeof(chunk), true}};
  const CommitDataRequest::Patch patches[] = {
      {0, {1, 2, 3, 4}}, {4000, {0, 0, 0, 0}}, {7, {0x80, 0x80, 0x80, 0}}};
  const CommitDataRequest::ChunkToPatch patched[] = {
      {1, 32767, 0xffffffff, patches, 2},
      {2, 1, 0, patches + 2, 1, true},
      {3, 2, 1, nullptr, 0}};
  CommitDataRequest written{moves, 3, patched, 3};
  written.flush_request_id = uint64_t{1} << 40;
  const CommitDataRequest::WriterLosses losses = {300,
                                                  32767,
                                                  LossReason::kWriterBusy,
                                                  (uint64_t{3} << 32) + 1,
                                                  (uint64_t{2} << 32) + 1,
                                                  UINT64_MAX};
  written.losses = &losses;
  written.num_losses = 1;
  const auto bytes = Serialize<tracing::pbzero::CommitDataRequest>(
      [&](auto* message) { WriteCommitDataRequest(written, message); });

  CommitDataReader reader;
  // It is read twice: nothing of the first time must show in the second.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(reader.Read(bytes));
    const CommitDataRequest& read = reader.request();
    ASSERT_EQ(read.num_chunks_to_move, 3u);
    for (int j = 0; j < 3; ++j) {
      EXPECT_EQ(read.chunks_to_move[j].page, moves[j].page);
      EXPECT_EQ(read.chunks_to_move[j].chunk, moves[j].chunk);
      EXPECT_EQ(read.chunks_to_move[j].target_buffer, moves[j].target_buffer);
      EXPECT_EQ(read.chunks_to_move[j].is_incomplete, moves[j].is_incomplete);
      EXPECT_EQ(read.chunks_to_move[j].data == nullptr, j != 2);
    }
    ASSERT_EQ(read.chunks_to_move[2].data_size, sizeof(chunk));
    EXPECT_EQ(memcmp(read.chunks_to_move[2].data, chunk, sizeof(chunk)), 0);
    ASSERT_EQ(read.num_chunks_to_patch, 3u);
    for (int j = 0; j < 3; ++j) {
      const CommitDataRequest::ChunkToPatch& got = read.chunks_to_patch[j];
      EXPECT_EQ(got.target_buffer, patched[j].target_buffer);
      EXPECT_EQ(got.writer_id, patched[j].writer_id);
      EXPECT_EQ(got.chunk_id, patched[j].chunk_id);
      EXPECT_EQ(got.has_more_patches, patched[j].has_more_patches);
      ASSERT_EQ(got.num_patches, patched[j].num_patches);
      for (size_t k = 0; k < got.num_patches; ++k) {
        EXPECT_EQ(got.patches[k].offset, patched[j].patches[k].offset);
        EXPECT_EQ(memcmp(got.patches[k].data, patched[j].patches[k].data, 4),
                  0);
      }
    }
    EXPECT_EQ(read.flush_request_id, uint64_t{1} << 40);
    ASSERT_EQ(read.num_losses, 1u);
    EXPECT_EQ(read.losses[0].target_buffer, losses.target_buffer);
    EXPECT_EQ(read.losses[0].writer_id, losses.writer_id);
    EXPECT_EQ(read.losses[0].reason, losses.reason);
    EXPECT_EQ(read.losses[0].packets, losses.packets);
    EXPECT_EQ(read.losses[0].begun, losses.begun);
    EXPECT_EQ(read.losses[0].bytes, losses.bytes);
  }
  ASSERT_TRUE(reader.Read(ConstBytes()));
  EXPECT_EQ(reader.request().num_chunks_to_move, 0u);
  EXPECT_EQ(reader.request().num_chunks_to_patch, 0u);
  EXPECT_EQ(reader.request().flush_request_id, 0u);
  EXPECT_EQ(reader.request().num_losses, 0u);
}

TEST(MessagesTest, WhatAProducerLeavesOutIsNotSet) {
  DataSourceDescriptor descriptor;
  descriptor.name = "before";
  descriptor.raw_fields = "before";
  descriptor.id = 1;
  descriptor.will_notify_on_start = descriptor.will_notify_on_stop = true;
  descriptor.handles_incremental_state_clear = descriptor.no_flush = true;
  EXPECT_TRUE(ReadDataSourceDescriptor(ConstBytes(), &descriptor));
  EXPECT_EQ(descriptor.name, "");
  EXPECT_EQ(descriptor.raw_fields, "");
  EXPECT_EQ(descriptor.id, 0u);
  EXPECT_FALSE(descriptor.will_notify_on_start);
  EXPECT_FALSE(descriptor.will_notify_on_stop);
  EXPECT_FALSE(descriptor.handles_incremental_state_clear);
  EXPECT_FALSE(descriptor.no_flush);
  // Such a description takes no more than the name.
  EXPECT_EQ(Serialize<tracing::pbzero::DataSourceDescriptor>([&](auto* m) {
              WriteDataSourceDescriptor(descriptor, m);
            }).size(),
            2u);
}

TEST(MessagesTest, LossesOfWriters) {
  using Losses = CommitDataRequest::WriterLosses;
  std::vector<Losses> losses;
  for (size_t i = 0; i < kNumWriterLossReasons; ++i) {
    Losses of_one{};
    of_one.writer_id = static_cast<WriterID>(i + 1);
    of_one.target_buffer = static_cast<BufferID>(i + 10);
    of_one.reason = static_cast<LossReason>(i);
    of_one.packets = (uint64_t{1} << 40) + i;
    of_one.begun = i + 3;
    of_one.bytes = (uint64_t{1} << 41) + i;
    losses.push_back(of_one);
  }
  CommitDataRequest written{};
  written.losses = losses.data();
  written.num_losses = losses.size();
  CommitDataReader reader;
  ASSERT_TRUE(reader.Read(Serialize<tracing::pbzero::CommitDataRequest>(
      [&](auto* message) { WriteCommitDataRequest(written, message); })));
  ASSERT_EQ(reader.request().num_losses, losses.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    const Losses& read = reader.request().losses[i];
    EXPECT_EQ(read.writer_id, losses[i].writer_id);
    EXPECT_EQ(read.target_buffer, losses[i].target_buffer);
    EXPECT_EQ(read.reason, losses[i].reason);
    EXPECT_EQ(read.packets, losses[i].packets);
    EXPECT_EQ(read.begun, losses[i].begun);
    EXPECT_EQ(read.bytes, losses[i].bytes);
  }
  // No writer has these reasons and these ids.
  for (const uint32_t reason : {uint32_t{kNumWriterLossReasons}, UINT32_MAX}) {
    ASSERT_TRUE(reader.Read(Serialize<tracing::pbzero::CommitDataRequest>(
        [&](tracing::pbzero::CommitDataRequest* message) {
          auto* const report = message->add_writer_losses();
          report->set_reason(reason);
          report->set_trace_writer_id(0x10001);
          report->set_target_buffer(0x10002);
        })));
    ASSERT_EQ(reader.request().num_losses, 1u);
    EXPECT_EQ(reader.request().losses[0].reason, LossReason::kUnknown);
    EXPECT_EQ(reader.request().losses[0].writer_id, 0u);
    EXPECT_EQ(reader.request().losses[0].target_buffer, 0u);
  }
  ASSERT_TRUE(reader.Read(ConstBytes()));
  EXPECT_EQ(reader.request().num_losses, 0u);
}

TEST(MessagesTest, NumbersOutOfRangeAreNotCutOff) {
  const auto bytes = Serialize<tracing::pbzero::CommitDataRequest>(
      [](tracing::pbzero::CommitDataRequest* message) {
        message->add_chunks_to_move()->set_target_buffer(0x10001);
        auto* const chunk = message->add_chunks_to_patch();
        chunk->set_target_buffer(0x10001);
        chunk->set_trace_writer_id(0x10001);
        auto* const patch = chunk->add_patches();
        patch->set_offset(1);
        patch->set_data(std::string_view("12345"));
      });
  CommitDataReader reader;
  ASSERT_TRUE(reader.Read(bytes));
  const CommitDataRequest& read = reader.request();
  ASSERT_EQ(read.num_chunks_to_move, 1u);
  EXPECT_EQ(read.chunks_to_move[0].target_buffer, 0);
  ASSERT_EQ(read.num_chunks_to_patch, 1u);
  EXPECT_EQ(read.chunks_to_patch[0].target_buffer, 0);
  EXPECT_EQ(read.chunks_to_patch[0].writer_id, 0);
  // A patch of five bytes cannot be applied.
  ASSERT_EQ(read.chunks_to_patch[0].num_patches, 1u);
  EXPECT_EQ(read.chunks_to_patch[0].patches[0].offset, UINT32_MAX);
}

TEST(MessagesTest, MalformedRequestsAreRefusedAsAWhole) {
  CommitDataReader reader;
  // A move that ends too early comes after a good one.
  EXPECT_FALSE(reader.Read(
      std::vector<uint8_t>{0x0a, 0x02, 0x08, 0x01, 0x0a, 0x05, 0x08}));
  EXPECT_FALSE(reader.Read(std::vector<uint8_t>{0x0a, 0x01, 0x08}));
  // This patch ends too early, too.
  EXPECT_FALSE(reader.Read(std::vector<uint8_t>{0x12, 0x03, 0x22, 0x01, 0x08}));
  // So do a list of patches and a report of losses, before good ones.
  const uint32_t losses =
      tracing::pbzero::CommitDataRequest::kWriterLossesFieldNumber;
  for (const uint32_t field : {1u, 2u, losses}) {
    HeapBuffered<Message> message;
    message->AppendBytes(field, "\x08", 1);
    message->AppendBytes(field, "\x08\x01", 2);
    EXPECT_FALSE(reader.Read(message.SerializeAsArray())) << field;
  }
}

}  // namespace
}  // namespace protozero
