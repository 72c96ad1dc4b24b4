// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/c/pbz_task.h"

#include <stdint.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"
#include "protozero/tracing/trace.h"
#include "test/c/task_steps.h"

namespace {

using protozero::ConstBytes;
using protozero::LocalTrace;
using protozero::trace::InternedData;
using protozero::trace::TaskEvent;
using protozero::trace::TracePacket;
using protozero::trace::TrackEvent;

// Returns the part of a task's number that the trace has.
uint64_t NumberInTrace(pbz_task task) {
  return task & ((uint64_t{1} << 52) - 1);
}

// Returns the steps of a trace of one thread, a line each.
std::vector<std::string> ReadSteps(const std::string& bytes) {
  std::vector<std::string> steps;
  std::map<uint64_t, uint64_t> tasks;
  std::map<uint64_t, std::string> sites;
  const protozero::trace::Trace::Decoder trace(bytes);
  for (const ConstBytes packet_bytes : trace.packet()) {
    const TracePacket::Decoder packet(packet_bytes);
    const InternedData::Decoder data(packet.interned_data());
    for (const ConstBytes run_bytes : data.task_runs()) {
      const protozero::trace::TaskRun::Decoder run(run_bytes);
      tasks[run.iid()] = run.task();
    }
    for (const ConstBytes site_bytes : data.task_sites()) {
      const protozero::trace::TaskSite::Decoder site(site_bytes);
      EXPECT_NE(site.file().ToStdString().find("task_steps.c"),
                std::string::npos);
      EXPECT_GT(site.line(), 1u);
      sites[site.iid()] = site.name().ToStdString();
    }
    const TrackEvent::Decoder event(packet.track_event());
    if (!packet.has_track_event())
      continue;
    const TaskEvent::Decoder task(event.task());
    std::string step;
    if (event.type() == TrackEvent::TYPE_STATE)
      step += " switch=" + std::to_string(tasks[event.name_iid()]);
    if (task.has_spawned())
      step += " spawned=" + std::to_string(task.spawned());
    if (task.has_site_iid())
      step += " site=" + sites[task.site_iid()];
    if (task.has_name())
      step += " name=" + task.name().ToStdString();
    if (task.has_parent())
      step += " parent=" + std::to_string(task.parent());
    if (task.has_woken())
      step += " woken=" + std::to_string(task.woken());
    if (task.has_ended())
      step += " ended=" + std::to_string(task.ended());
    if (task.has_wait_site_iid())
      step += " waits=" + sites[task.wait_site_iid()];
    if (task.has_result())
      step += " result=" + std::to_string(task.result());
    if (task.has_request())
      step += " request=" + task.request().ToStdString();
    steps.push_back(step.substr(1));
  }
  return steps;
}

TEST(TaskCTest, StepsAreInTheTrace) {
  std::string bytes;
  LocalTrace::Options options;
  options.sink = [&bytes](const uint8_t* data, size_t size) {
    bytes.append(reinterpret_cast<const char*>(data), size);
    return true;
  };
  LocalTrace trace(std::move(options));
  const task_steps_result tasks = trace_task_steps();
  EXPECT_TRUE(trace.Stop()) << trace.error();
  EXPECT_EQ(tasks.running, tasks.parent);
  EXPECT_EQ(tasks.running_at_end, pbz_task{PBZ_NO_TASK});
  const std::string parent = std::to_string(NumberInTrace(tasks.parent));
  const std::string child = std::to_string(NumberInTrace(tasks.child));
  const std::string other = std::to_string(NumberInTrace(tasks.other));
  const std::string waiting = std::to_string(NumberInTrace(tasks.waiting));
  EXPECT_EQ(ReadSteps(bytes),
            (std::vector<std::string>{
                "spawned=" + parent + " site=parent",
                "switch=" + parent,
                "request=request 7",
                "spawned=" + child + " site=child name=first child",
                "spawned=" + other + " site=child parent=0",
                "spawned=" + waiting + " site=answer waits=answer",
                "switch=" + child + " waits=answer",
                "woken=" + parent,
                "switch=" + parent + " result=2",
                "ended=" + other + " result=4",
                "switch=0 result=1",
            }));
}

TEST(TaskCTest, WithoutSessionTasksHaveNumbersAndNothingElse) {
  const task_steps_result tasks = trace_task_steps();
  EXPECT_NE(tasks.parent, pbz_task{PBZ_NO_TASK});
  EXPECT_NE(tasks.parent, tasks.child);
  EXPECT_NE(tasks.child, tasks.other);
  EXPECT_EQ(tasks.running, pbz_task{PBZ_NO_TASK});
  EXPECT_EQ(tasks.running_at_end, pbz_task{PBZ_NO_TASK});
}

// Both languages have the same tasks.
TEST(TaskCTest, TasksPassBetweenLanguages) {
  LocalTrace::Options options;
  options.sink = [](const uint8_t*, size_t) { return true; };
  LocalTrace trace(std::move(options));
  static pbz_task_site site = PBZ_TASK_SITE("c");
  const pbz_task task = pbz_task_spawn(&site, nullptr);
  protozero::SwitchTask(protozero::Task::FromNumber(task));
  EXPECT_EQ(pbz_task_running(), task);
  pbz_task_switch(PBZ_NO_TASK);
  EXPECT_FALSE(protozero::Task::Running());
  EXPECT_TRUE(trace.Stop()) << trace.error();
}

}  // namespace
