// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_SCHEDULING_STACK_TABLE_H_
#define SRC_TRACING_SCHEDULING_STACK_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protozero/tracing/trace.h"
#include "src/tracing/scheduling/code_maps.h"
#include "src/tracing/scheduling/process_files.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The addresses that a trace has of each file, by path and build id.
using AddressesOfFiles =
    std::map<std::pair<std::string, std::string>, std::set<uint64_t>>;

// The parts of stacks that one sequence of packets has interned.
class StackTable {
 public:
  // Returns the id of the sample's stack. The innermost function comes first in
  // |stack|, and its address is that of the next instruction; the others are
  // those to which functions return.
  uint64_t Intern(const CodeMaps& maps,
                  int32_t pid,
                  const std::vector<uint64_t>& stack);
  // Returns the ids of what a sample is about.
  uint64_t InternTask(int32_t pid, int32_t tid);
  uint64_t InternExecution(uint32_t cpu, bool is_in_kernel);

  // Returns whether there are parts that no packet has yet.
  bool has_new() const { return !new_.empty(); }
  // Writes them.
  void WriteNew(trace::InternedData* data);
  // Forgets what was interned.
  void Clear();
  // Returns the number of stacks.
  size_t size() const { return stacks_.size(); }

  // Returns all addresses so far.
  const AddressesOfFiles& addresses() const { return addresses_; }
  // Returns how many stacks ended in each file that should have gone on: their
  // functions do not keep frame pointers.
  const std::map<std::string, uint64_t>& broken_in() const {
    return broken_in_;
  }
  uint64_t num_stacks() const { return num_stacks_; }
  // Returns how many stacks were deeper than the kernel looks.
  uint64_t num_cut() const { return num_cut_; }
  uint32_t max_depth() const { return max_depth_; }

 private:
  using Id = uint64_t;
  enum class Part : uint8_t {
    kBuildId,
    kPath,
    kMapping,
    kFrame,
    kStack,
    kTask,
    kExecution,
  };
  // The file, and the place where it is mapped.
  using Mapping = std::
      tuple<std::string, std::string, uint64_t, uint64_t, uint64_t, uint64_t>;
  struct Frame {
    Id mapping = 0;
    uint64_t address = 0;
    bool is_made_at_run_time = false;
    bool operator<(const Frame& other) const {
      return std::tie(mapping, address) <
             std::tie(other.mapping, other.address);
    }
  };

  // Returns the id of |key|; |*is_new| if it had none.
  template <typename Key>
  Id Find(std::map<Key, Id>* ids, const Key& key, Part part);
  void WriteMapping(const Mapping& key, trace::Mapping* mapping);
  Id InternMapping(const CodeMaps::Map& map);

  std::map<std::string, Id> build_ids_;
  std::map<std::string, Id> paths_;
  std::map<Mapping, Id> mappings_;
  std::map<Frame, Id> frames_;
  std::map<std::vector<Id>, Id> stacks_;
  std::map<std::pair<int32_t, int32_t>, Id> tasks_;
  std::map<std::pair<uint32_t, bool>, Id> executions_;
  // Pointers to the keys of the parts that no packet has yet, and their ids.
  struct NewPart {
    Part part;
    const void* key;
    Id id;
  };
  std::vector<NewPart> new_;
  AddressesOfFiles addresses_;
  std::map<std::string, uint64_t> broken_in_;
  uint64_t num_stacks_ = 0;
  uint64_t num_cut_ = 0;
  const uint32_t max_depth_ = MaxKernelStackDepth();
  size_t num_addresses_ = 0;
};

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_SCHEDULING_STACK_TABLE_H_
