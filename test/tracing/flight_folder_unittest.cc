// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/flight_source.h"
#include "src/tracing/ipc/unix_socket.h"
#include "src/tracing/local/flight_file.h"
#include "src/tracing/writer/flight_header.h"
#include "test/tracing/ipc_testing.h"
#include "test/tracing/raw_client.h"

namespace {

using protozero::FlightFolder;
using protozero::FlightHeader;
using protozero::PeerIdentity;
using protozero::ScopedFd;
using protozero::SharedMemory;
using protozero::TraceConfig;
using protozero::TracingService;
using protozero::TracingSessionID;
using protozero::test::RawClient;
namespace test = protozero::test;

using Names = std::vector<std::string>;

constexpr size_t kFileSize = 256 * 1024;

class FlightFolderTest : public test::IpcTest {
 protected:
  FlightFolderTest() : path_(socket() + ".flights") {}
  ~FlightFolderTest() override {
    for (const char* const suffix :
         {"", ".last", ".last.1", ".new", ".victim"}) {
      std::filesystem::remove_all(path_ + suffix);
    }
    std::filesystem::remove_all(new_path_);
  }

  // Makes a folder of another user with a file of the name of a program's.
  std::string MakeVictim() {
    const std::string victim = path_ + ".victim";
    mkdir(victim.c_str(), 0700);
    fclose(fopen((victim + "/00000001-0-1.flight").c_str(), "w"));
    return victim;
  }
  mode_t ModeOf(const std::string& path) {
    struct stat status = {};
    EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
  }

  // Returns a folder for this many programs.
  std::unique_ptr<FlightFolder> Open(size_t num_files) {
    auto folder = std::make_unique<FlightFolder>();
    std::string error;
    EXPECT_TRUE(folder->Open(path_, num_files * kFileSize, num_files, &error))
        << error;
    EXPECT_TRUE(folder->Begin(&error)) << error;
    return folder;
  }
  std::string WhyNoFolder() {
    FlightFolder folder;
    std::string error;
    EXPECT_FALSE(folder.Open(path_, kFileSize, 1, &error));
    return error;
  }
  // Returns the file of a process, which is null if there is none.
  std::unique_ptr<SharedMemory> Take(FlightFolder* folder,
                                     pid_t pid,
                                     uid_t uid = 1000) {
    fd_.Reset();
    error_.clear();
    return folder->Take(
        {uid, pid}, [this, pid] { displaced_.push_back(pid); }, &fd_, &error_);
  }
  Names Files(const std::string& suffix = "") {
    return protozero::FindFlightFiles(path_ + suffix);
  }
  bool Exists(const std::string& name) {
    return access((path_ + name).c_str(), F_OK) == 0;
  }

  const std::string path_;
  // The name that a folder or file has until it is complete.
  const std::string new_path_ = path_ + ".new." + std::to_string(getpid());
  ScopedFd fd_;
  std::string error_;
  // The processes that have lost their files, in this order.
  std::vector<pid_t> displaced_;
};

bool IsMapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos)
      return true;
  }
  return false;
}

TEST_F(FlightFolderTest, ProgramGetsAFileThatTheServiceDoesNotMap) {
  const auto folder = Open(2);
  const auto file = Take(folder.get(), 7);
  ASSERT_NE(file, nullptr) << error_;
  EXPECT_EQ(file->start(), nullptr);
  EXPECT_EQ(Files(), Names{"00000001-1000-7.flight"});
  EXPECT_FALSE(IsMapped("00000001-1000-7.flight"));
  // The service maps those that no program has.
  EXPECT_TRUE(IsMapped(path_ + "/spare-"));
  FlightHeader header;
  ASSERT_EQ(pread(fd_.get(), static_cast<void*>(&header), sizeof(header), 0),
            static_cast<ssize_t>(sizeof(header)));
  EXPECT_EQ(header.pid, 7);
  EXPECT_EQ(header.uid, 1000u);
  EXPECT_EQ(file->size(), FlightHeader::kSize + kFileSize);
  // All of the room is taken at once.
  struct stat status;
  ASSERT_EQ(fstat(fd_.get(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, status.st_size);
}

TEST_F(FlightFolderTest, TheRecorderKnowsWhenAProgramEndedLast) {
  auto folder = Open(2);
  const auto end_ns = [&] {
    FlightHeader header{};
    const ScopedFd fd(open((path_ + "/recorder").c_str(), O_RDONLY));
    EXPECT_EQ(pread(fd.get(), static_cast<void*>(&header), sizeof(header), 0),
              static_cast<ssize_t>(sizeof(header)));
    return header.end_monotonic_ns.load();
  };
  EXPECT_EQ(end_ns(), 0u);
  auto first = Take(folder.get(), 7);
  auto second = Take(folder.get(), 8);
  EXPECT_EQ(end_ns(), 0u);
  first.reset();
  const uint64_t first_ns = end_ns();
  EXPECT_GT(first_ns, 0u);
  second.reset();
  const uint64_t second_ns = end_ns();
  EXPECT_GT(second_ns, first_ns);
  folder.reset();
  EXPECT_GT(end_ns(), second_ns);
}

TEST_F(FlightFolderTest, FileThatWasLeftFirstMakesRoom) {
  const auto folder = Open(2);
  auto first = Take(folder.get(), 1);
  auto second = Take(folder.get(), 2);
  EXPECT_EQ(Take(folder.get(), 3), nullptr);
  EXPECT_EQ(error_, "each file of the flight recorder is in use");
  second.reset();
  first.reset();
  EXPECT_EQ(Files().size(), 2u);
  ScopedFd of_second(
      open((path_ + "/00000002-1000-2.flight").c_str(), O_RDWR | O_CLOEXEC));
  const auto third = Take(folder.get(), 3);
  ASSERT_NE(third, nullptr) << error_;
  EXPECT_EQ(Files(),
            (Names{"00000001-1000-1.flight", "00000003-1000-3.flight"}));
  // The second process may still have its file. It is not the third's.
  struct stat status;
  struct stat other;
  ASSERT_EQ(fstat(of_second.get(), &status), 0);
  ASSERT_EQ(fstat(fd_.get(), &other), 0);
  EXPECT_NE(status.st_ino, other.st_ino);
  EXPECT_EQ(status.st_nlink, 0u);
}

TEST_F(FlightFolderTest, ProgramThatComesAgainMakesRoomForItself) {
  const auto folder = Open(3);
  Take(folder.get(), 1);
  Take(folder.get(), 2);
  Take(folder.get(), 3);
  for (int i = 0; i < 5; ++i)
    Take(folder.get(), 2);
  EXPECT_EQ(Files(), (Names{"00000001-1000-1.flight", "00000003-1000-3.flight",
                            "00000008-1000-2.flight"}));
  EXPECT_EQ(folder->num_taken(), 8u);
}

TEST_F(FlightFolderTest, ProcessWithManyFilesMakesRoom) {
  const auto folder = Open(4);
  std::vector<std::unique_ptr<SharedMemory>> files;
  for (int i = 0; i < 4; ++i)
    files.push_back(Take(folder.get(), 66));
  EXPECT_EQ(Take(folder.get(), 66), nullptr);
  for (const pid_t pid : {1, 2, 3}) {
    files.push_back(Take(folder.get(), pid));
    ASSERT_NE(files.back(), nullptr) << error_;
  }
  EXPECT_EQ(displaced_, (std::vector<pid_t>{66, 66, 66}));
  EXPECT_EQ(Files(),
            (Names{"00000001-1000-66.flight", "00000005-1000-1.flight",
                   "00000006-1000-2.flight", "00000007-1000-3.flight"}));
  EXPECT_EQ(Take(folder.get(), 4), nullptr);
  EXPECT_EQ(error_, "each file of the flight recorder is in use");
  // The file of a displaced program is gone, and makes no room when that ends.
  files.erase(files.begin() + 1);
  EXPECT_EQ(Take(folder.get(), 4), nullptr);
  files.erase(files.begin());
  EXPECT_NE(Take(folder.get(), 4), nullptr) << error_;
  EXPECT_EQ(displaced_.size(), 3u);
}

TEST_F(FlightFolderTest, UserWithManyFilesMakesRoom) {
  const auto folder = Open(4);
  std::vector<std::unique_ptr<SharedMemory>> files;
  // The last minutes of a program that has ended.
  Take(folder.get(), 1);
  for (const pid_t pid : {61, 62, 63})
    files.push_back(Take(folder.get(), pid, 2000));
  // Another program of the user with many does not get them.
  EXPECT_EQ(Take(folder.get(), 64, 2000), nullptr);
  EXPECT_EQ(error_,
            "programs of other users have the files of the flight recorder");
  // Neither does it if that user has left more.
  files.erase(files.begin());
  EXPECT_NE(Take(folder.get(), 64, 2000), nullptr) << error_;
  EXPECT_EQ(Files().front(), "00000001-1000-1.flight");
  files.push_back(Take(folder.get(), 65, 2000));
  EXPECT_EQ(Files().front(), "00000001-1000-1.flight");
  EXPECT_EQ(displaced_, std::vector<pid_t>());
  // A third user's program gets what has been left, and the next newcomer the
  // place of a program of the user with most.
  files.push_back(Take(folder.get(), 2, 3000));
  EXPECT_EQ(displaced_, std::vector<pid_t>());
  files.push_back(Take(folder.get(), 3));
  EXPECT_EQ(displaced_, std::vector<pid_t>{62});
  EXPECT_EQ(Files(),
            (Names{"00000004-2000-63.flight", "00000006-2000-65.flight",
                   "00000007-3000-2.flight", "00000008-1000-3.flight"}));
}

TEST_F(FlightFolderTest, FolderOfTheRunBeforeIsKept) {
  Take(Open(2).get(), 1);
  EXPECT_EQ(Files(), Names{"00000001-1000-1.flight"});
  // Only files of programs are left.
  EXPECT_FALSE(Exists("/spare-0"));
  EXPECT_TRUE(Exists("/recorder"));
  Take(Open(2).get(), 2);
  EXPECT_EQ(Files(".last"), Names{"00000001-1000-1.flight"});
  Take(Open(2).get(), 3);
  EXPECT_EQ(Files(), Names{"00000001-1000-3.flight"});
  EXPECT_EQ(Files(".last"), Names{"00000001-1000-2.flight"});
}

TEST_F(FlightFolderTest, NothingIsReplacedBeforeItBegins) {
  Take(Open(2).get(), 1);
  Take(Open(2).get(), 2);
  for (int i = 0; i < 2; ++i) {
    FlightFolder folder;
    std::string error;
    EXPECT_TRUE(folder.Open(path_, kFileSize, 1, &error)) << error;
  }
  EXPECT_EQ(Files(".last"), Names{"00000001-1000-1.flight"});
  EXPECT_EQ(Files(), Names{"00000001-1000-2.flight"});
  EXPECT_FALSE(Exists(".new." + std::to_string(getpid())));
}

TEST_F(FlightFolderTest, FoldersOfOthersAreLeftAlone) {
  // An empty one, which a unit of systemd may have, is used.
  mkdir(path_.c_str(), 0700);
  auto folder = Open(1);
  EXPECT_EQ(WhyNoFolder(), path_ + ": another recorder has it");
  folder.reset();
  mkdir((path_ + ".last").c_str(), 0700);
  fclose(fopen((path_ + ".last/mine").c_str(), "w"));
  fclose(fopen((path_ + ".last/recorder").c_str(), "w"));
  EXPECT_EQ(WhyNoFolder(), path_ + ".last: Directory not empty");
  EXPECT_TRUE(Exists(".last/recorder"));
  EXPECT_TRUE(Exists("/recorder"));
  std::filesystem::rename(path_, path_ + ".moved");
  std::filesystem::create_symlink(path_ + ".nowhere", path_);
  std::filesystem::remove(path_ + ".last/mine");
  EXPECT_EQ(WhyNoFolder(), path_ + ": there is something else of that name");
  EXPECT_TRUE(Exists(".last/recorder"));
  std::filesystem::remove(path_);
  std::filesystem::rename(path_ + ".moved", path_);
  std::filesystem::remove(path_ + "/recorder");
  fclose(fopen((path_ + "/mine").c_str(), "w"));
  EXPECT_EQ(WhyNoFolder(), path_ + ": there is something else of that name");
  EXPECT_TRUE(Exists("/mine"));
  // Nothing is left of attempts.
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(path_).parent_path())) {
    EXPECT_EQ(entry.path().string().find(".new."), std::string::npos);
  }
}

TEST_F(FlightFolderTest, OnlyTheUserCanReadIt) {
  const mode_t mask = umask(0);
  const auto folder = Open(2);
  const auto file = Take(folder.get(), 1);
  std::string error;
  const auto own = protozero::MakeFlightFile(path_ + ".new", 65536, &error);
  umask(mask);
  ASSERT_NE(own, nullptr) << error;
  EXPECT_EQ(ModeOf(path_), 0700u);
  for (const char* const name :
       {"/recorder", "/spare-0", "/00000001-1000-1.flight", ".new"}) {
    EXPECT_EQ(ModeOf(path_ + name), 0600u);
  }
}

// Only what a recorder has made is removed, and all of it or nothing.
TEST_F(FlightFolderTest, FilesOfTheUserStay) {
  for (int i = 1; i <= 2; ++i)
    Take(Open(1).get(), i);
  const auto add = [this](const std::string& name) {
    fclose(fopen((path_ + name).c_str(), "w"));
  };
  add(".last/spare-keys.txt");
  EXPECT_NE(WhyNoFolder(), "");
  EXPECT_EQ(Files(".last"), Names{"00000001-1000-1.flight"});
  EXPECT_TRUE(Exists(".last/spare-keys.txt"));
  EXPECT_EQ(Files(), Names{"00000001-1000-2.flight"});
}

// In a folder such as /tmp, others may have taken the names.
TEST_F(FlightFolderTest, LinksLeadNowhere) {
  const std::string victim = MakeVictim();
  symlink(victim.c_str(), new_path_.c_str());
  symlink(victim.c_str(), (path_ + ".last").c_str());
  for (int i = 1; i <= 3; ++i)
    Take(Open(1).get(), i);
  EXPECT_EQ(Files(), Names{"00000001-1000-3.flight"});
  EXPECT_EQ(Files(".last.1"), Names{"00000001-1000-2.flight"});
  EXPECT_EQ(Files(".victim"), Names{"00000001-0-1.flight"});
  EXPECT_TRUE(std::filesystem::is_symlink(path_ + ".last"));
  EXPECT_TRUE(std::filesystem::is_symlink(new_path_));
  std::filesystem::remove_all(path_);
  symlink(victim.c_str(), path_.c_str());
  EXPECT_EQ(WhyNoFolder(), path_ + ": there is something else of that name");
}

TEST_F(FlightFolderTest, FoldersOfAnotherUserAreNotInTheWay) {
  if (geteuid() != 0)
    GTEST_SKIP() << "needs root";
  for (const std::string& squatted : {path_ + ".last", new_path_}) {
    mkdir(squatted.c_str(), 0777);
    fclose(fopen((squatted + "/00000001-0-1.flight").c_str(), "w"));
    ASSERT_EQ(chown(squatted.c_str(), 65534, 65534), 0);
  }
  Take(Open(1).get(), 1);
  Take(Open(1).get(), 2);
  EXPECT_EQ(Files(".last.1"), Names{"00000001-1000-1.flight"});
  EXPECT_EQ(Files(".last"), Names{"00000001-0-1.flight"});
}

TEST_F(FlightFolderTest, NamesOfOthersDoNotStopAProgramsOwnRecorder) {
  // These cannot be replaced, whatever their owner.
  mkdir((path_ + ".last").c_str(), 0700);
  symlink(MakeVictim().c_str(), new_path_.c_str());
  for (int i = 0; i < 2; ++i) {
    std::string error;
    EXPECT_NE(protozero::MakeFlightFile(path_, 65536, &error), nullptr)
        << error;
  }
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  EXPECT_TRUE(std::filesystem::is_regular_file(path_ + ".last.1"));
  EXPECT_EQ(Files(".victim"), Names{"00000001-0-1.flight"});
  // A folder is no file of the run before.
  std::string error;
  EXPECT_EQ(protozero::MakeFlightFile(path_ + ".last", 65536, &error), nullptr);
  EXPECT_EQ(error, path_ + ".last: Is a directory");
  EXPECT_TRUE(std::filesystem::is_directory(path_ + ".last"));
}

TEST_F(FlightFolderTest, FolderOfAKilledRecorderOfThisNumberGoes) {
  ASSERT_EQ(mkdir(new_path_.c_str(), 0700), 0);
  fclose(fopen((new_path_ + "/spare-0").c_str(), "w"));
  const auto folder = Open(1);
  EXPECT_NE(Take(folder.get(), 1), nullptr) << error_;
  EXPECT_NE(access(new_path_.c_str(), F_OK), 0);
}

// A second recorder that starts in another container has the same number.
TEST_F(FlightFolderTest, FolderOfARunningRecorderIsLeftAlone) {
  const auto folder = Open(1);
  ASSERT_EQ(rename(path_.c_str(), new_path_.c_str()), 0);
  const auto other = Open(1);
  EXPECT_NE(Take(other.get(), 1), nullptr) << error_;
  // Its programs go on, whatever its folder is called.
  EXPECT_NE(Take(folder.get(), 2), nullptr) << error_;
  EXPECT_EQ(Files(), Names{"00000001-1000-1.flight"});
}

TEST_F(FlightFolderTest, NamesAreParsed) {
  uint32_t uid = 0;
  int32_t pid = 0;
  EXPECT_TRUE(protozero::ParseFlightName("00000012-1000-7.flight", &uid, &pid));
  EXPECT_EQ(uid, 1000u);
  EXPECT_EQ(pid, 7);
  for (const char* name :
       {"", "recorder", "spare-1", "1-2-3", "1-2-3.flight.last", "1-2.flight",
        "x1-2-3.flight"}) {
    EXPECT_FALSE(protozero::ParseFlightName(name, &uid, &pid)) << name;
  }
}

// Producers of Perfetto's SDK do not know the files.
TEST_F(FlightFolderTest, OtherProducersAreRefused) {
  struct Consumer : TracingService::Consumer {
    void OnProducerWithoutMemory(TracingSessionID,
                                 const TracingService::ProducerInfo&,
                                 const std::string& reason) override {
      why = reason;
    }
    std::string why;
  } consumer;
  const auto folder = Open(1);
  TracingService service;
  protozero::ServiceHost::Options options;
  options.socket = socket();
  options.flight_source = folder.get();
  protozero::ServiceHost host(&service, options);
  std::string error;
  ASSERT_TRUE(host.Listen(&error)) << error;
  TraceConfig config;
  config.buffers.push_back({65536, protozero::BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = test::kSourceName;
  ASSERT_NE(service.StartTracing(config, &consumer, &error), 0u) << error;
  RawClient client(socket());
  client.Bind();
  client.Initialize();
  client.Invoke<>(3, test::kGetAsyncCommand);
  test::RegisterSource(&client, 4);
  for (int i = 0; i < 100 && consumer.why.empty(); ++i)
    host.RunOnce(100);
  EXPECT_EQ(consumer.why, "it cannot write to a flight recorder");
  EXPECT_EQ(Files(), Names());
}

// The producer whose file makes room for another one's knows it.
TEST_F(FlightFolderTest, DisplacedProducerIsDisconnected) {
  struct OneFile : protozero::FlightSource {
    std::unique_ptr<SharedMemory> Take(const PeerIdentity& producer,
                                       std::function<void()> on_displaced,
                                       ScopedFd* fd,
                                       std::string* why) override {
      if (displace)
        displace();
      displace = on_displaced;
      return folder->Take(producer, on_displaced, fd, why);
    }
    FlightFolder* folder = nullptr;
    std::function<void()> displace;
  } source;
  const auto folder = Open(2);
  source.folder = folder.get();
  TracingService service;
  protozero::ServiceHost::Options options;
  options.socket = socket();
  options.flight_source = &source;
  protozero::ServiceHost host(&service, options);
  std::string error;
  ASSERT_TRUE(host.Listen(&error)) << error;
  TraceConfig config;
  config.buffers.push_back({65536, protozero::BufferFillPolicy::kRingBuffer});
  config.data_sources.emplace_back();
  config.data_sources[0].config.name = test::kSourceName;
  ASSERT_NE(service.StartTracing(config, nullptr, &error), 0u) << error;
  using Request = protozero::tracing::pbzero::InitializeConnectionRequest;
  const auto connect = [&](RawClient* client) {
    client->Bind();
    client->Invoke<Request>(2, 1, [](Request* request) {
      request->set_flight_version(FlightHeader::kVersion);
    });
    client->Invoke<>(3, test::kGetAsyncCommand);
    test::RegisterSource(client, 4);
  };
  RawClient first(socket());
  connect(&first);
  for (int i = 0; i < 100 && Files().empty(); ++i)
    host.RunOnce(100);
  EXPECT_EQ(host.num_connections(), 1u);
  RawClient second(socket());
  connect(&second);
  for (int i = 0; i < 100 && host.num_refused() == 0; ++i)
    host.RunOnce(100);
  EXPECT_EQ(host.num_refused(), 1u);
  EXPECT_EQ(host.num_connections(), 1u);
  first.CountReceived();
  EXPECT_TRUE(first.IsClosed());
  second.CountReceived();
  EXPECT_FALSE(second.IsClosed());
}

}  // namespace
