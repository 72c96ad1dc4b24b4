// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/local/flight_folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "protozero/tracing/service_host.h"
#include "protozero/tracing/tracing_service.h"
#include "src/tracing/ipc/unix_socket.h"
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
    std::filesystem::remove_all(path_);
    std::filesystem::remove_all(path_ + ".last");
  }

  // Returns a folder for this many programs.
  std::unique_ptr<FlightFolder> Open(size_t num_files) {
    auto folder = std::make_unique<FlightFolder>();
    std::string error;
    EXPECT_TRUE(folder->Open(path_, num_files * kFileSize, num_files, &error))
        << error;
    return folder;
  }
  std::string WhyNoFolder() {
    FlightFolder folder;
    std::string error;
    EXPECT_FALSE(folder.Open(path_, kFileSize, 1, &error));
    return error;
  }
  // Returns the file of a process, which is null if there is none.
  std::unique_ptr<SharedMemory> Take(FlightFolder* folder, pid_t pid) {
    fd_.Reset();
    error_.clear();
    return folder->Take({1000, pid}, &fd_, &error_);
  }
  Names Files(const std::string& suffix = "") {
    return protozero::FindFlightFiles(path_ + suffix);
  }
  bool Exists(const std::string& name) {
    return access((path_ + name).c_str(), F_OK) == 0;
  }

  const std::string path_;
  ScopedFd fd_;
  std::string error_;
};

TEST_F(FlightFolderTest, ProgramGetsAFileThatTheServiceDoesNotMap) {
  const auto folder = Open(2);
  const auto file = Take(folder.get(), 7);
  ASSERT_NE(file, nullptr) << error_;
  EXPECT_EQ(file->start(), nullptr);
  EXPECT_EQ(Files(), Names{"00000001-1000-7.flight"});
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

TEST_F(FlightFolderTest, FoldersOfOthersAreLeftAlone) {
  // An empty one, which a unit of systemd may have, is used.
  mkdir(path_.c_str(), 0700);
  auto folder = Open(1);
  EXPECT_EQ(WhyNoFolder(), path_ + ": another recorder has it");
  folder.reset();
  mkdir((path_ + ".last").c_str(), 0700);
  fclose(fopen((path_ + ".last/mine").c_str(), "w"));
  EXPECT_EQ(WhyNoFolder(), path_ + ".last: Directory not empty");
  EXPECT_TRUE(Exists("/recorder"));
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

}  // namespace
