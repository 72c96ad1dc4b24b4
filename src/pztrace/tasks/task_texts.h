// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_TASKS_TASK_TEXTS_H_
#define SRC_PZTRACE_TASKS_TASK_TEXTS_H_

#include <stddef.h>
#include <stdint.h>

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "protozero/tracing/trace_reader.h"

namespace pztrace {

// The places of a trace where tasks are spawned or wait, each once.
class TaskPlaces {
 public:
  // Returns the number of the place, which counts from 0; UINT32_MAX for null.
  uint32_t Add(const protozero::TaskPlace* place);
  const protozero::TaskPlace& operator[](uint32_t number) const {
    return places_[number];
  }
  size_t size() const { return places_.size(); }

 private:
  using Key = std::tuple<std::string, std::string, uint32_t>;

  std::deque<protozero::TaskPlace> places_;
  std::map<Key, uint32_t> numbers_;
  // The numbers of the reader's places when they were added. Another one may be
  // there by now.
  std::unordered_map<const protozero::TaskPlace*, uint32_t> last_numbers_;
};

// Names and requests, each once.
class TaskNames {
 public:
  // Returns the number of the text, which counts from 0; UINT32_MAX for an
  // empty one.
  uint32_t Add(std::string_view text);
  // Returns the same; UINT32_MAX if there is no such text.
  uint32_t Find(std::string_view text) const;
  const std::string& operator[](uint32_t number) const {
    return texts_[number];
  }
  size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_TASKS_TASK_TEXTS_H_
