// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_BENCHMARKS_TRACERS_TRACY_READER_H_
#define TEST_BENCHMARKS_TRACERS_TRACY_READER_H_

#include <stdint.h>
#include <sys/types.h>

// Takes what the Tracy client of this process sends, and discards it, in a
// process of its own. It asks the client nothing, which a real server does: for
// the texts behind addresses. The client does not wait for questions.
class TracyReader {
 public:
  TracyReader();
  // Detaches: at the end of a program, a client waits for its reader to go.
  ~TracyReader();
  TracyReader(const TracyReader&) = delete;
  TracyReader& operator=(const TracyReader&) = delete;

  // Connects, which takes until the client listens. Ends the program if that
  // fails.
  void Attach();
  void Detach();
  bool is_attached() const { return process_ > 0; }
  // Returns how many bytes all readers have got.
  uint64_t bytes() const;
  // Returns the processor time of all readers.
  double processor_seconds() const;

 private:
  struct Shared;

  // Both are of the reader's process, which never returns.
  [[noreturn]] void Run(int port);
  bool ShakeHands(int fd);

  Shared* shared_;
  pid_t process_ = 0;
  // The processor time of the readers that have ended.
  double seconds_of_ended_ = 0;
};

#endif  // TEST_BENCHMARKS_TRACERS_TRACY_READER_H_
