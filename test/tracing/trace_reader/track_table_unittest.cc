// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_reader/track_table.h"

#include <stdint.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace {

using protozero::HeapBuffered;
using protozero::TrackInfo;
using protozero::internal::TextTable;
using protozero::internal::TrackTable;
using protozero::trace::ProcessTree;
using protozero::trace::TrackDescriptor;

class TrackTableTest : public testing::Test {
 protected:
  template <typename Fill>
  void Describe(uint64_t uuid, uint64_t parent, const Fill& fill) {
    HeapBuffered<TrackDescriptor> track;
    track->set_uuid(uuid);
    if (parent != 0)
      track->set_parent_uuid(parent);
    fill(track.get());
    const std::string bytes = track.SerializeAsString();
    table_.Describe(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  void DescribeProcess(uint64_t uuid, int32_t pid, const char* name) {
    Describe(uuid, 0, [&](TrackDescriptor* track) {
      auto* const process = track->set_process();
      process->set_pid(pid);
      if (*name != 0)
        process->set_process_name(name);
    });
  }
  // Describes a thread of a process that any program may have.
  void DescribeThreadOf(uint64_t uuid,
                        uint64_t parent,
                        int32_t pid,
                        int64_t tid,
                        const char* name) {
    Describe(uuid, parent, [&](TrackDescriptor* track) {
      auto* const thread = track->set_thread();
      thread->set_pid(pid);
      thread->set_tid(tid);
      thread->set_thread_name(name);
    });
  }
  // Begins a packet of a program, which the service knows by |pid|.
  void WriteAs(uint32_t sequence, int32_t pid, uint32_t machine = 0) {
    table_.SetWriter({sequence, pid, machine});
  }
  // Returns the description of the track that the program calls |uuid|.
  TrackInfo SaidInfo(uint64_t uuid) { return Info(table_.NumberOf(uuid)); }

  void DescribeThread(uint64_t uuid,
                      uint64_t parent,
                      const char* name,
                      const char* track_name = "") {
    Describe(uuid, parent, [&](TrackDescriptor* track) {
      if (*track_name != 0)
        track->set_name(track_name);
      auto* const thread = track->set_thread();
      thread->set_pid(10);
      thread->set_tid(11);
      if (*name != 0)
        thread->set_thread_name(name);
    });
  }
  void DescribeOther(uint64_t uuid, uint64_t parent, const char* name) {
    Describe(uuid, parent,
             [&](TrackDescriptor* track) { track->set_name(name); });
  }
  void AddTree(const char* command, const char* thread_name) {
    HeapBuffered<ProcessTree> tree;
    auto* const process = tree->add_processes();
    process->set_pid(10);
    process->add_cmdline(command);
    auto* const thread = tree->add_threads();
    thread->set_tid(11);
    thread->set_tgid(10);
    thread->set_name(thread_name);
    const std::string bytes = tree.SerializeAsString();
    table_.AddProcessTree(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  // Adds a process of a PID namespace, and a thread of it.
  void AddTreeOfNamespace() {
    HeapBuffered<ProcessTree> tree;
    auto* const process = tree->add_processes();
    process->set_pid(10);
    process->add_cmdline("shop");
    process->add_nspid(1);
    auto* const thread = tree->add_threads();
    thread->set_tid(11);
    thread->set_tgid(10);
    thread->set_name("pool");
    thread->add_nstid(2);
    const std::string bytes = tree.SerializeAsString();
    table_.AddProcessTree(
        {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  }
  // Returns a ThreadDescriptor. It is valid until the next call.
  protozero::ConstBytes ThreadBytes(int32_t pid, int64_t tid) {
    HeapBuffered<protozero::trace::ThreadDescriptor> thread;
    thread->set_pid(pid);
    thread->set_tid(tid);
    thread_ = thread.SerializeAsString();
    return {reinterpret_cast<const uint8_t*>(thread_.data()), thread_.size()};
  }
  TrackInfo Info(uint64_t uuid) {
    return table_.Find(uuid).value_or(TrackInfo());
  }
  std::string NameOfProcess(uint64_t thread) {
    return Info(Info(thread).parent).name;
  }

  TextTable texts_;
  TrackTable table_{&texts_};
  std::string thread_;
};

TEST_F(TrackTableTest, ATreeNamesProcessesOfNamespacesUnlessTheKernelsDoes) {
  // Perfetto's own recorder writes nothing else about them.
  AddTreeOfNamespace();
  const uint64_t thread = table_.uuid(table_.IndexOfThread(10, 11));
  EXPECT_EQ(Info(thread).name, "pool");
  EXPECT_EQ(NameOfProcess(thread), "shop");
}

TEST_F(TrackTableTest, TheKernelsTreeNamesProcessesOfNamespaces) {
  table_.SetHasKernelTree();
  AddTreeOfNamespace();
  EXPECT_TRUE(table_.All().empty());
}

TEST_F(TrackTableTest, AThreadBelongsToItsProcess) {
  DescribeThread(2, 0, "main");
  EXPECT_EQ(Info(2).parent, 0u);
  DescribeProcess(1, 10, "shop");
  EXPECT_EQ(Info(2).parent, 1u);
  EXPECT_EQ(Info(2).pid, 10);
  EXPECT_EQ(Info(2).tid, 11);
  // This thread has a parent that is not its process.
  DescribeOther(5, 0, "group");
  DescribeThread(3, 5, "");
  EXPECT_EQ(Info(3).parent, 1u);
  // If its process has two tracks, it is on the one that it names.
  DescribeProcess(7, 10, "");
  DescribeThread(8, 1, "");
  DescribeThread(9, 7, "");
  EXPECT_EQ(Info(8).parent, 1u);
  EXPECT_EQ(Info(9).parent, 7u);
}

TEST_F(TrackTableTest, APidThatIsUsedAgain) {
  DescribeProcess(100, 7, "builder");
  DescribeThreadOf(101, 0, 7, 8, "lexer");
  DescribeProcess(200, 7, "deployer");
  DescribeThreadOf(201, 0, 7, 8, "uploader");
  EXPECT_EQ(NameOfProcess(101), "builder");
  EXPECT_EQ(NameOfProcess(201), "deployer");
  EXPECT_EQ(Info(101).name, "lexer");
  EXPECT_EQ(Info(201).name, "uploader");
  EXPECT_NE(Info(100).process, Info(200).process);
  EXPECT_NE(Info(101).thread, Info(201).thread);
  EXPECT_EQ(Info(101).process, Info(100).process);
  EXPECT_EQ(Info(201).process, Info(200).process);
  EXPECT_TRUE(Info(100).shares_id);
  // They have different names.
  EXPECT_EQ(Info(200).ordinal, 1u);
  // Both are described again, and stay who they are.
  DescribeProcess(100, 7, "builder");
  DescribeThreadOf(101, 0, 7, 8, "lexer");
  EXPECT_EQ(NameOfProcess(101), "builder");
  EXPECT_EQ(NameOfProcess(201), "deployer");
}

TEST_F(TrackTableTest, ProcessesOfOneNameAndPidAreNumbered) {
  for (uint64_t uuid = 1; uuid <= 3; ++uuid) {
    DescribeProcess(uuid, 7, "server");
    EXPECT_EQ(Info(uuid).ordinal, uuid);
  }
  // A name that comes back has the same number.
  DescribeProcess(2, 7, "renamed");
  EXPECT_EQ(Info(2).ordinal, 1u);
  DescribeProcess(2, 7, "server");
  EXPECT_EQ(Info(2).ordinal, 2u);
  DescribeProcess(4, 8, "server");
  EXPECT_EQ(Info(4).ordinal, 1u);
  EXPECT_FALSE(Info(4).shares_id);
  // The same for threads of one process.
  DescribeThreadOf(11, 4, 8, 9, "worker");
  DescribeThreadOf(12, 4, 8, 9, "worker");
  DescribeThreadOf(13, 3, 8, 9, "worker");
  EXPECT_EQ(Info(11).ordinal, 1u);
  EXPECT_EQ(Info(12).ordinal, 2u);
  EXPECT_EQ(Info(13).ordinal, 1u);
}

TEST_F(TrackTableTest, AProcessMayBeDescribedAfterItsThreads) {
  DescribeThreadOf(101, 100, 1, 1, "main");
  DescribeThreadOf(201, 200, 1, 1, "main");
  EXPECT_NE(Info(101).thread, Info(201).thread);
  DescribeProcess(100, 1, "first");
  DescribeProcess(200, 1, "second");
  EXPECT_EQ(NameOfProcess(101), "first");
  EXPECT_EQ(NameOfProcess(201), "second");
  EXPECT_EQ(Info(101).process, Info(100).process);
  EXPECT_EQ(Info(201).process, Info(200).process);
}

TEST_F(TrackTableTest, ThreadsWithoutAParentAreOfTheirProgram) {
  // The sequences are those of two threads of each of two programs.
  WriteAs(2, 4711);
  DescribeProcess(100, 1, "first");
  WriteAs(3, 4712);
  DescribeProcess(200, 1, "second");
  WriteAs(4, 4711);
  DescribeThreadOf(101, 0, 1, 5, "worker");
  WriteAs(5, 4712);
  DescribeThreadOf(201, 0, 1, 5, "worker");
  EXPECT_EQ(NameOfProcess(101), "first");
  EXPECT_EQ(NameOfProcess(201), "second");
  EXPECT_EQ(Info(100).outer_pid, 4711);
  EXPECT_EQ(Info(200).outer_pid, 4712);
  // The sequence tells them apart if the service does not know the programs.
  WriteAs(6, 0);
  DescribeProcess(300, 9, "third");
  WriteAs(7, 0);
  DescribeProcess(400, 9, "fourth");
  WriteAs(6, 0);
  DescribeThreadOf(301, 0, 9, 5, "worker");
  EXPECT_EQ(NameOfProcess(301), "third");
  EXPECT_EQ(Info(300).outer_pid, 0);
}

TEST_F(TrackTableTest, ThreadsWithoutTracks) {
  // ThreadDescriptors of two containers, and events that name a thread.
  WriteAs(2, 4711);
  const uint64_t first = table_.uuid(table_.AddThread(ThreadBytes(1, 1)));
  table_.AddProcess(1, "first");
  WriteAs(3, 4712);
  const uint64_t second = table_.uuid(table_.AddThread(ThreadBytes(1, 1)));
  table_.AddProcess(1, "second");
  EXPECT_NE(first, second);
  EXPECT_EQ(NameOfProcess(first), "first");
  EXPECT_EQ(NameOfProcess(second), "second");
  EXPECT_EQ(table_.uuid(table_.IndexOfThread(1, 1)), second);
  WriteAs(2, 4711);
  EXPECT_EQ(table_.uuid(table_.IndexOfThread(1, 1)), first);
  // Another thread of the first program.
  WriteAs(4, 4711);
  const uint64_t other = table_.uuid(table_.AddThread(ThreadBytes(1, 2)));
  EXPECT_EQ(Info(other).process, Info(first).process);
}

TEST_F(TrackTableTest, TwoProgramsUseOneUuid) {
  for (const int32_t pid : {4711, 4712}) {
    WriteAs(static_cast<uint32_t>(pid), pid);
    DescribeProcess(100, 1, "server");
    DescribeThreadOf(101, 100, 1, 1, "main");
    Describe(102, 101, [&](TrackDescriptor* track) {
      track->set_name(pid == 4711 ? "first" : "second");
    });
    DescribeOther(103, 0, "global");
  }
  const TrackInfo second = SaidInfo(100);
  const uint64_t second_thread = table_.NumberOf(101);
  EXPECT_EQ(second.outer_pid, 4712);
  EXPECT_EQ(SaidInfo(102).name, "second");
  EXPECT_EQ(SaidInfo(102).parent, second_thread);
  EXPECT_EQ(Info(second_thread).parent, table_.NumberOf(100));
  EXPECT_EQ(table_.SaidUuid(table_.IndexOf(102)), 102u);
  EXPECT_EQ(table_.NumberOf(103), 103u);
  WriteAs(5000, 4711);
  EXPECT_EQ(SaidInfo(100).outer_pid, 4711);
  EXPECT_EQ(SaidInfo(102).name, "first");
  EXPECT_NE(second.process, SaidInfo(100).process);
  EXPECT_NE(second_thread, table_.NumberOf(101));
  EXPECT_EQ(table_.NumberOf(101), 101u);
  // The threads of one program come before the process.
  WriteAs(3, 4713);
  DescribeThreadOf(101, 100, 1, 1, "main");
  DescribeProcess(100, 1, "third");
  EXPECT_EQ(NameOfProcess(table_.NumberOf(101)), "third");
  EXPECT_EQ(NameOfProcess(101), "server");
}

TEST_F(TrackTableTest, OneProcessStaysOne) {
  // Recorded by its own service, by another one outside of its container, and
  // in a file without a service.
  for (const int32_t pid : {1, 4711, 0}) {
    WriteAs(2, pid);
    DescribeProcess(100, 1, "server");
    DescribeThreadOf(101, 100, 1, 1, "main");
    EXPECT_EQ(table_.NumberOf(100), 100u);
    EXPECT_EQ(table_.NumberOf(101), 101u);
  }
  EXPECT_EQ(table_.All(), (std::vector<uint64_t>{100, 101}));
  EXPECT_EQ(Info(100).ordinal, 1u);
  // Another program describes a process, too.
  WriteAs(3, 50);
  DescribeProcess(200, 50, "viewer");
  DescribeProcess(300, 60, "viewed");
  WriteAs(4, 60);
  DescribeProcess(300, 60, "viewed");
  EXPECT_EQ(table_.NumberOf(300), 300u);
  EXPECT_EQ(Info(300).outer_pid, 0);
}

TEST_F(TrackTableTest, ProcessesOfOtherMachines) {
  WriteAs(2, 7, 0);
  DescribeProcess(100, 7, "server");
  WriteAs(3, 7, 1);
  DescribeProcess(100, 7, "server");
  EXPECT_NE(SaidInfo(100).process, Info(100).process);
  EXPECT_EQ(SaidInfo(100).ordinal, 2u);
}

TEST_F(TrackTableTest, TheSystemsProcessesAreNotThoseOfContainers) {
  WriteAs(2, 4711);
  DescribeProcess(100, 10, "server");
  WriteAs(1, 0);
  AddTree("init", "kernel");
  EXPECT_EQ(Info(100).name, "server");
  WriteAs(3, 10);
  DescribeProcess(200, 10, "");
  EXPECT_EQ(Info(200).name, "init");
}

TEST_F(TrackTableTest, IdsOfZero) {
  DescribeProcess(100, 0, "zero");
  DescribeThreadOf(101, 100, 0, 0, "main");
  EXPECT_TRUE(Info(100).is_process);
  EXPECT_TRUE(Info(101).is_thread);
  EXPECT_EQ(NameOfProcess(101), "zero");
  EXPECT_EQ(Info(101).process, Info(100).process);
}

TEST_F(TrackTableTest, TheLastNameOfAProcess) {
  DescribeProcess(1, 10, "./a.out");
  DescribeThread(2, 1, "main");
  DescribeProcess(1, 10, "server");
  EXPECT_EQ(NameOfProcess(2), "server");
  DescribeProcess(1, 10, "");
  EXPECT_EQ(NameOfProcess(2), "server");
  // A name may be short.
  DescribeProcess(1, 10, "s");
  EXPECT_EQ(NameOfProcess(2), "s");
  // Another process has the same pid.
  DescribeProcess(7, 10, "renamed");
  EXPECT_EQ(NameOfProcess(2), "s");
}

TEST_F(TrackTableTest, ProcessTree) {
  DescribeThread(2, 0, "");
  AddTree("tree --option", "kernel");
  EXPECT_EQ(NameOfProcess(2), "tree");
  EXPECT_EQ(Info(2).name, "kernel");
  DescribeThread(2, 0, "own");
  AddTree("other", "kernel");
  EXPECT_EQ(Info(2).name, "own");
  EXPECT_EQ(NameOfProcess(2), "other");
  // The track that the trace describes replaces the one that was made up.
  DescribeProcess(1, 10, "");
  EXPECT_EQ(Info(2).parent, 1u);
  EXPECT_EQ(NameOfProcess(2), "other");
}

TEST_F(TrackTableTest, NamesOfTracksAreNotThoseOfThreads) {
  DescribeThread(2, 0, "", "track");
  EXPECT_EQ(Info(2).name, "track");
  DescribeThread(2, 0, "main", "track");
  EXPECT_EQ(Info(2).name, "main");
  DescribeOther(3, 2, "first");
  DescribeOther(3, 2, "second");
  EXPECT_EQ(Info(3).name, "first");
}

// Viewers merge siblings by their names, but not those that say so.
TEST_F(TrackTableTest, TheLastNameOfATrackThatIsNotMerged) {
  const auto describe = [this](const char* name, bool is_merged) {
    Describe(3, 0, [&](TrackDescriptor* track) {
      track->set_name(name);
      if (!is_merged)
        track->set_sibling_merge_behavior(
            TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE);
    });
    return Info(3).name;
  };
  EXPECT_EQ(describe("first", false), "first");
  EXPECT_EQ(describe("second", false), "second");
  EXPECT_EQ(describe("", false), "second");
  EXPECT_EQ(describe("merged", true), "second");
  EXPECT_EQ(describe("last", false), "last");
}

TEST_F(TrackTableTest, BuiltInCountersHaveNamesAndUnits) {
  using protozero::trace::CounterDescriptor;
  const auto describe = [this](uint64_t uuid, const char* name,
                               CounterDescriptor::BuiltinCounterType type) {
    Describe(uuid, 1, [&](TrackDescriptor* track) {
      if (*name != 0)
        track->set_name(name);
      auto* const counter = track->set_counter();
      counter->set_type(type);
      counter->set_unit(CounterDescriptor::UNIT_SIZE_BYTES);
    });
    return Info(uuid).name + " in " + Info(uuid).unit;
  };
  EXPECT_EQ(describe(4, "", CounterDescriptor::COUNTER_THREAD_TIME_NS),
            "thread_time in ns");
  EXPECT_EQ(
      describe(5, "", CounterDescriptor::COUNTER_THREAD_INSTRUCTION_COUNT),
      "thread_instruction_count in count");
  EXPECT_EQ(describe(6, "own", CounterDescriptor::COUNTER_THREAD_TIME_NS),
            "own in ns");
  EXPECT_EQ(describe(7, "", CounterDescriptor::COUNTER_UNSPECIFIED),
            " in bytes");
}

TEST_F(TrackTableTest, Counters) {
  using protozero::trace::CounterDescriptor;
  const auto describe = [this](uint64_t uuid, const auto& fill) {
    Describe(uuid, 1,
             [&](TrackDescriptor* track) { fill(track->set_counter()); });
  };
  describe(4, [](auto* c) { c->set_unit(CounterDescriptor::UNIT_COUNT); });
  describe(5, [](auto* c) {
    c->set_unit(CounterDescriptor::UNIT_SIZE_BYTES);
    c->set_unit_multiplier(1024);
    c->set_is_incremental(true);
  });
  describe(6, [](auto* c) { c->set_unit(CounterDescriptor::UNIT_TIME_NS); });
  describe(7, [](auto* c) {
    c->set_unit_name("frames");
    c->set_unit_multiplier(0);
  });
  const char* const kUnits[] = {"count", "bytes", "ns", "frames"};
  for (uint64_t uuid = 4; uuid < 8; ++uuid) {
    const TrackInfo info = Info(uuid);
    EXPECT_TRUE(info.is_counter);
    EXPECT_EQ(info.unit, kUnits[uuid - 4]);
    EXPECT_EQ(info.parent, 1u);
    EXPECT_EQ(info.is_incremental, uuid == 5);
    EXPECT_EQ(info.multiplier, uuid == 5 ? 1024 : 1);
    EXPECT_EQ(table_.multiplier(table_.IndexOf(uuid)), info.multiplier);
    EXPECT_EQ(table_.is_incremental(table_.IndexOf(uuid)), uuid == 5);
  }
  DescribeOther(8, 0, "no counter");
  EXPECT_FALSE(Info(8).is_counter);
  EXPECT_EQ(table_.multiplier(table_.IndexOf(8)), 1);
  // A later description may leave out the unit, but not the factor.
  describe(5, [](auto*) {});
  EXPECT_EQ(Info(5).unit, "");
  EXPECT_EQ(Info(5).multiplier, 1024);
}

TEST_F(TrackTableTest, NamesOfChrome) {
  const auto name_of_thread = [this](int32_t type, const char* own = "") {
    static uint64_t last_uuid = 100;
    const uint64_t uuid = ++last_uuid;
    Describe(uuid, 0, [&](TrackDescriptor* track) {
      auto* const thread = track->set_thread();
      thread->set_pid(10);
      thread->set_tid(static_cast<int64_t>(uuid));
      if (*own != 0)
        thread->set_thread_name(own);
      track->set_chrome_thread()->set_thread_type(type);
    });
    return Info(uuid).name;
  };
  EXPECT_EQ(name_of_thread(-1), "");
  EXPECT_EQ(name_of_thread(0), "");
  EXPECT_EQ(name_of_thread(1), "CrProcessMain");
  EXPECT_EQ(name_of_thread(11), "ServiceWorkerThread&");
  EXPECT_EQ(name_of_thread(12), "");
  EXPECT_EQ(name_of_thread(49), "");
  EXPECT_EQ(name_of_thread(50), "MemoryInfra");
  EXPECT_EQ(name_of_thread(51), "StackSamplingProfiler");
  EXPECT_EQ(name_of_thread(52), "");
  EXPECT_EQ(name_of_thread(1, "own"), "own");
  const auto name_of_process = [this](int32_t type, const char* own = "") {
    static int32_t last_pid = 1000;
    const int32_t pid = ++last_pid;
    const auto uuid = static_cast<uint64_t>(pid);
    Describe(uuid, 0, [&](TrackDescriptor* track) {
      auto* const process = track->set_process();
      process->set_pid(pid);
      if (*own != 0)
        process->set_process_name(own);
      track->set_chrome_process()->set_process_type(type);
    });
    return Info(uuid).name;
  };
  EXPECT_EQ(name_of_process(-1), "");
  EXPECT_EQ(name_of_process(0), "");
  EXPECT_EQ(name_of_process(1), "Browser");
  EXPECT_EQ(name_of_process(8), "PpapiBroker");
  EXPECT_EQ(name_of_process(9), "");
  EXPECT_EQ(name_of_process(1, "own"), "own");
}

TEST_F(TrackTableTest, TheProgramNamesAProcess) {
  const auto name_of = [this](const char* name,
                              std::initializer_list<const char*> arguments) {
    Describe(1, 99, [&](TrackDescriptor* track) {
      auto* const process = track->set_process();
      process->set_pid(10);
      for (const char* const argument : arguments)
        process->add_cmdline(argument);
      if (*name != 0)
        process->set_process_name(name);
    });
    return Info(1).name;
  };
  EXPECT_EQ(name_of("", {"/bin/shop", "--verbose"}), "/bin/shop");
  EXPECT_EQ(name_of("", {"/bin/one --argument", "--verbose"}), "/bin/one");
  EXPECT_EQ(name_of("named", {"/bin/shop"}), "named");
  EXPECT_EQ(Info(1).pid, 10);
  EXPECT_EQ(Info(1).tid, 0);
  // No track contains a process.
  EXPECT_EQ(Info(1).parent, 0u);
}

TEST_F(TrackTableTest, TracksHaveDescriptionsOfTheirOwn) {
  Describe(1, 0, [](TrackDescriptor* track) {
    track->set_description("of threads");
    track->set_child_ordering(TrackDescriptor::CHRONOLOGICAL);
    track->set_thread()->set_thread_name("T");
  });
  // A later description may leave them out.
  Describe(1, 0, [](TrackDescriptor* track) { track->set_name("own"); });
  Describe(2, 0, [](TrackDescriptor* track) { track->set_state(); });
  EXPECT_EQ(Info(1).description, "of threads");
  EXPECT_EQ(Info(1).child_ordering, "chronological");
  EXPECT_EQ(Info(1).name, "T");
  EXPECT_EQ(Info(1).own_name, "own");
  EXPECT_FALSE(Info(1).is_state);
  EXPECT_TRUE(Info(2).is_state);
  EXPECT_EQ(Info(2).description, "");
  EXPECT_EQ(Info(2).child_ordering, "");
}

TEST_F(TrackTableTest, NamesAndOrderOfOtherTracks) {
  Describe(1, 0, [](TrackDescriptor* track) {
    track->set_static_name("static");
    track->set_sibling_order_rank(-4);
  });
  Describe(2, 1, [](TrackDescriptor* track) { track->set_atrace_name("a"); });
  table_.IndexOf(3);  // An event has used this one.
  Describe(4, 3, [](TrackDescriptor*) {});
  EXPECT_EQ(Info(1).name, "static");
  EXPECT_EQ(Info(1).order, -4);
  EXPECT_EQ(Info(2).name, "a");
  EXPECT_EQ(Info(2).parent, 1u);
  EXPECT_EQ(Info(2).order, 0);
  EXPECT_TRUE(Info(1).has_order);
  EXPECT_FALSE(Info(2).has_order);
  EXPECT_FALSE(table_.Find(3));
  EXPECT_FALSE(table_.Find(5));
  EXPECT_EQ(table_.All(), (std::vector<uint64_t>{1, 2, 4}));
  // A later description without a parent leaves the parent.
  Describe(2, 0, [](TrackDescriptor*) {});
  EXPECT_EQ(Info(2).parent, 1u);
}

TEST_F(TrackTableTest, EachChangeOfATrackHasANewVersion) {
  DescribeProcess(1, 10, "shop");
  DescribeThread(2, 1, "main");
  DescribeOther(3, 1, "other");
  uint64_t version = table_.version();
  const auto expect_change = [&](int line) {
    EXPECT_NE(table_.version(), version) << "line " << line;
    version = table_.version();
  };
  DescribeOther(3, 2, "other");
  expect_change(__LINE__);
  DescribeThread(2, 1, "renamed");
  expect_change(__LINE__);
  // Another thread has the same tid, and another process the same pid.
  DescribeThread(4, 1, "again");
  expect_change(__LINE__);
  DescribeProcess(5, 10, "again");
  expect_change(__LINE__);
  AddTree("tree", "kernel");
  expect_change(__LINE__);
  table_.AddProcess(10, "named");
  expect_change(__LINE__);
  EXPECT_EQ(Info(5).name, "named");
  table_.AddThread(10, 11, "named");
  expect_change(__LINE__);
  EXPECT_EQ(Info(2).name, "renamed");
  table_.SetCounter(table_.IndexOf(3));
  expect_change(__LINE__);
  EXPECT_TRUE(Info(3).is_counter);
  EXPECT_FALSE(Info(3).is_incremental);
  EXPECT_EQ(Info(3).multiplier, 1);
  // These change nothing.
  table_.SetCounter(table_.IndexOf(3));
  table_.AddProcess(10, "");
  DescribeOther(6, 0, "new");
  EXPECT_EQ(table_.version(), version);
}

TEST_F(TrackTableTest, TracksThatTheReaderMakes) {
  const auto thread = table_.uuid(table_.IndexOfThread(10, 11));
  EXPECT_EQ(table_.uuid(table_.IndexOfThread(10, 11)), thread);
  EXPECT_NE(table_.uuid(table_.IndexOfThread(10, 12)), thread);
  EXPECT_NE(table_.uuid(table_.IndexOfThread(11, 11)), thread);
  EXPECT_EQ(Info(thread).pid, 10);
  EXPECT_EQ(Info(thread).tid, 11);
  table_.AddProcess(10, "shop");
  const uint64_t process = Info(thread).parent;
  EXPECT_EQ(Info(process).name, "shop");
  EXPECT_EQ(Info(process).pid, 10);
  const auto sequence = table_.IndexOfSequence(7);
  EXPECT_EQ(table_.IndexOfSequence(7), sequence);
  EXPECT_NE(table_.IndexOfSequence(8), sequence);
  EXPECT_FALSE(table_.Find(table_.uuid(sequence)));
  const auto made = [&](uint64_t id, uint64_t parent) {
    return table_.IndexOfMade(id, texts_.Intern("made"), parent);
  };
  const auto first = made(1, 5);
  EXPECT_EQ(made(1, 5), first);
  EXPECT_NE(made(2, 5), first);
  EXPECT_NE(made(1, 6), first);
  EXPECT_NE(made(5, 1), first);
  EXPECT_EQ(Info(table_.uuid(first)).name, "made");
  EXPECT_EQ(Info(table_.uuid(first)).parent, 5u);
  // A description of the thread's process replaces the one that was made.
  DescribeProcess(1, 10, "");
  EXPECT_EQ(Info(thread).parent, 1u);
}

TEST_F(TrackTableTest, SiblingsThatAreShownAsOne) {
  using Merging = TrackInfo::Merging;
  const auto by_key = [](TrackDescriptor* track) {
    track->set_sibling_merge_behavior(
        TrackDescriptor::SIBLING_MERGE_BEHAVIOR_BY_SIBLING_MERGE_KEY);
  };
  DescribeOther(1, 0, "x");
  EXPECT_EQ(Info(1).merging, Merging::kByName);
  Describe(1, 0, [&](TrackDescriptor* track) {
    by_key(track);
    track->set_sibling_merge_key("k");
  });
  EXPECT_EQ(Info(1).merging, Merging::kByKey);
  EXPECT_EQ(Info(1).merge_key, "k");
  Describe(2, 0, [&](TrackDescriptor* track) {
    by_key(track);
    track->set_sibling_merge_key_int(7);
  });
  EXPECT_EQ(Info(2).merge_key, "sibling_merge_key_int:7");
  // A later description without a merging changes nothing.
  DescribeOther(2, 0, "y");
  EXPECT_EQ(Info(2).merging, Merging::kByKey);
  Describe(2, 0, [](TrackDescriptor* track) {
    track->set_sibling_merge_behavior(
        TrackDescriptor::SIBLING_MERGE_BEHAVIOR_NONE);
  });
  EXPECT_EQ(Info(2).merging, Merging::kNone);
  EXPECT_EQ(Info(2).merge_key, "");
}

TEST_F(TrackTableTest, PathsOfAnyLengthAndCircles) {
  for (uint64_t i = 1; i < 100; ++i)
    DescribeOther(i, i + 1, "x");
  const std::vector<uint64_t> path = table_.PathTo(1);
  ASSERT_EQ(path.size(), 100u);
  EXPECT_EQ(path.front(), 100u);
  EXPECT_EQ(path.back(), 1u);
  DescribeOther(200, 201, "a");
  DescribeOther(201, 200, "b");
  EXPECT_EQ(table_.PathTo(200), (std::vector<uint64_t>{201, 200}));
  DescribeOther(300, 300, "self");
  EXPECT_EQ(table_.PathTo(300), (std::vector<uint64_t>{300}));
  DescribeOther(100, 50, "a long circle");
  EXPECT_EQ(table_.PathTo(1).size(), 100u);
  for (uint64_t i = 1000; i < 5000; ++i)
    DescribeOther(i, i + 1, "x");
  EXPECT_EQ(table_.PathTo(1000).size(), 256u);
  // There are circles of all lengths, and tracks that lead to them.
  for (uint64_t length = 1; length < 200; length += 7) {
    for (uint64_t i = 0; i < length; ++i)
      DescribeOther(10000 + i, 10000 + (i + 1) % length, "x");
    for (uint64_t i = 0; i < 30; ++i)
      DescribeOther(20000 + i, i == 29 ? 10000 : 20001 + i, "x");
    EXPECT_EQ(table_.PathTo(20000).size(), 30 + length);
    EXPECT_EQ(table_.PathTo(10000).size(), length);
  }
}

}  // namespace
