// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// A program of tasks with planted faults: a lost wakeup, a run that starves
// others, a task that is destroyed while it waits, and one that waits for a
// slow other. Its argument is the trace to write. It prints lines of a name and
// two durations in nanoseconds: what the trace says is between them.
//
// With a number as second argument, it spawns and runs as many tasks instead.

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <thread>
#include <utility>
#include <vector>

#include "protozero/tracing/local_trace.h"
#include "protozero/tracing/task.h"

using protozero::SetTaskRequest;
using protozero::SwitchTask;
using protozero::Task;
using protozero::TaskResult;

namespace {

uint64_t Now() {
  timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 +
         static_cast<uint64_t>(time.tv_nsec);
}

// Prints a duration whose beginning and end are between two times each.
void Print(const char* name,
           uint64_t before_begin,
           uint64_t after_begin,
           uint64_t before_end,
           uint64_t after_end) {
  printf("%s %" PRIu64 " %" PRIu64 "\n", name, before_end - after_begin,
         after_end - before_begin);
}

// Makes a task that waits at |place|.
Task MakeWaiting(protozero::TaskSite& site, protozero::TaskSite& place) {
  const Task task = Task::Spawn(site);
  SwitchTask(task);
  SwitchTask(Task(), place);
  return task;
}

void TraceFaults() {
  MakeWaiting(PROTOZERO_TASK_SITE("reader"), PROTOZERO_TASK_SITE("lost wake"));
  const Task closed = MakeWaiting(PROTOZERO_TASK_SITE("connection"),
                                  PROTOZERO_TASK_SITE("next request"));
  closed.End(TaskResult::kDestroyed);

  // The session waits for the query, which sleeps on another thread.
  const Task session = Task::Spawn(PROTOZERO_TASK_SITE("session"), "session 7");
  const uint64_t before_request = Now();
  SwitchTask(session);
  SetTaskRequest("req-1");
  const uint64_t after_request = Now();
  const Task query = Task::Spawn(PROTOZERO_TASK_SITE("query"));
  const uint64_t before_wait = Now();
  const Task hog = Task::SpawnFrom(Task(), PROTOZERO_TASK_SITE("hog"));
  SwitchTask(hog, PROTOZERO_TASK_SITE("answer"));
  const uint64_t after_wait = Now();
  uint64_t query_times[4];
  std::thread([&] {
    query_times[0] = Now();
    SwitchTask(query);
    query_times[1] = Now();
    usleep(20000);
    query_times[2] = Now();
    session.Wake();
    query_times[3] = Now();
    SwitchTask(Task(), TaskResult::kDone);
  }).join();
  Print("wait", before_wait, after_wait, query_times[2], query_times[3]);
  // The hog runs on, while the session and others could run.
  std::vector<Task> others;
  for (int i = 0; i < 5; ++i)
    others.push_back(Task::Spawn(PROTOZERO_TASK_SITE("starved")));
  usleep(30000);
  const uint64_t before_hog_ends = Now();
  SwitchTask(session, TaskResult::kDone);
  const uint64_t after_hog_ends = Now();
  Print("hog", before_wait, after_wait, before_hog_ends, after_hog_ends);
  Print("delay", query_times[2], query_times[3], before_hog_ends,
        after_hog_ends);
  for (const Task other : others)
    SwitchTask(other, TaskResult::kDone);
  SwitchTask(Task(), TaskResult::kDone);
  Print("request", before_request, after_request, before_hog_ends, Now());
}

void TraceMany(int count) {
  const Task root = Task::Spawn(PROTOZERO_TASK_SITE("root"));
  SwitchTask(root);
  for (int i = 0; i < count; ++i) {
    const Task leaf = Task::Spawn(PROTOZERO_TASK_SITE("leaf"));
    SwitchTask(leaf);
    SwitchTask(root, TaskResult::kDone);
    // The service has to keep up.
    if (i % 1000 == 999)
      usleep(200);
  }
  SwitchTask(Task(), TaskResult::kDone);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2)
    return 2;
  protozero::LocalTrace::Options options;
  options.path = argv[1];
  options.buffer_size = size_t{256} << 20;
  protozero::LocalTrace trace(std::move(options));
  if (argc > 2)
    TraceMany(atoi(argv[2]));
  else
    TraceFaults();
  return trace.Stop() ? 0 : 1;
}
