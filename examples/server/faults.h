// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_SERVER_FAULTS_H_
#define EXAMPLES_SERVER_FAULTS_H_

#include <sys/types.h>

#include <string>

// Reasons why a server is slow, for examples of `pztrace why`.
namespace faults {

enum class Fault {
  kNone,
  kLock,         // The timer holds the lock of the cache for too long.
  kNeighbour,    // Other programs compute on the processor of the pool.
  kHotFunction,  // A page sorts its words by a slow function.
  kPageFaults,   // A page takes new memory from the system again and again.
  kSlowDisk,     // A page is written to the disk before the answer.
};

// The names of faults.
extern const char kFaultNames[];

// Finds a fault by its name. Returns false if there is none.
bool FindFault(const std::string& name, Fault* fault);

// Makes one page slow, if the fault does that.
void MakePageSlow(Fault fault);
// Goes on for too long, if that is the fault. Call it with the lock.
void HoldLock(Fault fault);
// Lets the calling thread share a processor with the neighbours, if that is the
// fault.
void ShareProcessor(Fault fault);

// Processes that compute as long as the object exists, if that is the fault.
// Make it before threads.
class Neighbour {
 public:
  explicit Neighbour(Fault fault);
  ~Neighbour();

  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

 private:
  pid_t processes_[3] = {};
};

}  // namespace faults

#endif  // EXAMPLES_SERVER_FAULTS_H_
