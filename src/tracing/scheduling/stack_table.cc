// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/scheduling/stack_table.h"

#include <algorithm>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// The limit of addresses that names are looked for.
constexpr size_t kMaxAddresses = 1 << 20;

std::string NameInPath(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// Returns whether a thread's stack may end there: these libraries call main()
// and the functions of threads, and keep no frame pointers. The kernel's own
// code, such as [vdso], cannot be compiled in another way.
bool IsBottom(const std::string& path) {
  const std::string name = NameInPath(path);
  for (const char* const library :
       {"libc.", "libc-", "libpthread", "ld-", "libstdc++.", "libc++.", "["}) {
    if (name.compare(0, std::char_traits<char>::length(library), library) == 0)
      return true;
  }
  return false;
}

// Returns whether a stack that ends in |outermost| should have gone on. That of
// a static program ends in the program's own copy of these libraries.
bool IsBroken(const CodeMaps& maps,
              int32_t pid,
              const CodeMaps::Map& outermost,
              size_t num_frames) {
  if (IsBottom(outermost.path))
    return false;
  return num_frames == 1 || maps.HasMap(pid, [](const CodeMaps::Map& map) {
    return map.path.compare(0, 1, "[") != 0 && IsBottom(map.path);
  });
}

// Returns the path as readers put it together: a slash and its parts.
std::string FullPath(const std::string& path) {
  return path.compare(0, 1, "/") == 0 ? path : "/" + path;
}

// Returns the parts of a path between slashes.
std::vector<std::string> PartsOf(const std::string& path) {
  std::vector<std::string> parts;
  if (path.empty())
    return parts;
  const std::string full = FullPath(path);
  for (size_t begin = 1; begin <= full.size();) {
    const size_t end = std::min(full.find('/', begin), full.size());
    parts.push_back(full.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

void WriteString(trace::InternedString* string,
                 uint64_t id,
                 const std::string& text) {
  string->set_iid(id);
  string->set_str(text);
}

}  // namespace

template <typename Key>
StackTable::Id StackTable::Find(std::map<Key, Id>* ids,
                                const Key& key,
                                Part part) {
  const auto [it, is_new] = ids->try_emplace(key, ids->size() + 1);
  if (is_new)
    new_.push_back({part, &it->first, it->second});
  return it->second;
}

uint64_t StackTable::Intern(const CodeMaps& maps,
                            int32_t pid,
                            const std::vector<uint64_t>& stack) {
  ++num_stacks_;
  // The outermost frame comes first in packets.
  std::vector<Id> frames;
  const CodeMaps::Map* outermost = nullptr;
  for (size_t i = stack.size(); i-- > 0;) {
    // A return address may be the first one of the next function.
    const uint64_t address = i == 0 ? stack[i] : stack[i] - 1;
    const CodeMaps::Map* const map = maps.Find(pid, address);
    // An address outside of all code is left over from something else, when
    // functions keep no frame pointers.
    if (map == nullptr && i != 0)
      continue;
    Frame frame;
    frame.address = address;
    if (map != nullptr) {
      frame.mapping = InternMapping(*map);
      frame.address += map->file_offset + map->bias - map->address;
      frame.is_made_at_run_time = map->is_made_at_run_time();
      if (num_addresses_ < kMaxAddresses && !frame.is_made_at_run_time) {
        num_addresses_ += addresses_[{FullPath(map->path), map->build_id}]
                              .insert(frame.address)
                              .second;
      }
    }
    if (frames.empty())
      outermost = map;
    frames.push_back(Find(&frames_, frame, Part::kFrame));
  }
  if (stack.size() >= max_depth_)
    ++num_cut_;
  else if (outermost != nullptr &&
           IsBroken(maps, pid, *outermost, frames.size()))
    ++broken_in_[outermost->path];
  return Find(&stacks_, frames, Part::kStack);
}

StackTable::Id StackTable::InternMapping(const CodeMaps::Map& map) {
  if (!map.build_id.empty())
    Find(&build_ids_, map.build_id, Part::kBuildId);
  for (const std::string& part : PartsOf(map.path))
    Find(&paths_, part, Part::kPath);
  return Find(&mappings_,
              Mapping(map.path, map.build_id, map.address, map.size,
                      map.file_offset, map.bias),
              Part::kMapping);
}

uint64_t StackTable::InternTask(int32_t pid, int32_t tid) {
  return Find(&tasks_, {pid, tid}, Part::kTask);
}

uint64_t StackTable::InternExecution(uint32_t cpu, bool is_in_kernel) {
  return Find(&executions_, {cpu, is_in_kernel}, Part::kExecution);
}

void StackTable::WriteMapping(const Mapping& key, trace::Mapping* mapping) {
  const auto& [path, build_id, address, size, offset, bias] = key;
  mapping->set_iid(mappings_[key]);
  if (!build_id.empty())
    mapping->set_build_id(build_ids_[build_id]);
  mapping->set_exact_offset(offset);
  mapping->set_start_offset(offset);
  mapping->set_start(address);
  mapping->set_end(address + size);
  mapping->set_load_bias(bias);
  for (const std::string& part : PartsOf(path))
    mapping->add_path_string_ids(paths_[part]);
}

void StackTable::WriteNew(trace::InternedData* data) {
  for (const NewPart& part : new_) {
    switch (part.part) {
      case Part::kBuildId:
        WriteString(data->add_build_ids(), part.id,
                    *static_cast<const std::string*>(part.key));
        break;
      case Part::kPath:
        WriteString(data->add_mapping_paths(), part.id,
                    *static_cast<const std::string*>(part.key));
        break;
      case Part::kMapping:
        WriteMapping(*static_cast<const Mapping*>(part.key),
                     data->add_mappings());
        break;
      case Part::kFrame: {
        const Frame& key = *static_cast<const Frame*>(part.key);
        auto* const frame = data->add_frames();
        frame->set_iid(part.id);
        if (key.mapping != 0)
          frame->set_mapping_id(key.mapping);
        frame->set_rel_pc(key.address);
        if (key.is_made_at_run_time)
          frame->set_kind(trace::Frame::KIND_JIT);
        break;
      }
      case Part::kStack: {
        auto* const stack = data->add_callstacks();
        stack->set_iid(part.id);
        for (const Id frame : *static_cast<const std::vector<Id>*>(part.key))
          stack->add_frame_ids(frame);
        break;
      }
      case Part::kTask: {
        const auto& [pid, tid] =
            *static_cast<const std::pair<int32_t, int32_t>*>(part.key);
        auto* const task = data->add_stack_sample_task_contexts();
        task->set_iid(part.id);
        task->set_pid(static_cast<uint32_t>(pid));
        task->set_tid(static_cast<uint32_t>(tid));
        break;
      }
      case Part::kExecution: {
        const auto& [cpu, is_in_kernel] =
            *static_cast<const std::pair<uint32_t, bool>*>(part.key);
        auto* const execution = data->add_stack_sample_execution_contexts();
        execution->set_iid(part.id);
        execution->set_cpu(cpu);
        execution->set_mode(is_in_kernel ? trace::StackSample::MODE_KERNEL
                                         : trace::StackSample::MODE_USER);
        break;
      }
    }
  }
  new_.clear();
}

void StackTable::Clear() {
  new_.clear();
  build_ids_.clear();
  paths_.clear();
  mappings_.clear();
  frames_.clear();
  stacks_.clear();
  tasks_.clear();
  executions_.clear();
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
