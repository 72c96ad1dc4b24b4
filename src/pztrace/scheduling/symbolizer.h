// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_SCHEDULING_SYMBOLIZER_H_
#define SRC_PZTRACE_SCHEDULING_SYMBOLIZER_H_

#include <stdint.h>

#include <memory>
#include <string>
#include <vector>

namespace pztrace {

// Finds the functions and lines at addresses of one file, by its symbol tables
// and debug information. These may be in files of their own, where debuggers
// look for them: beside it, in .debug/ there, and in /usr/lib/debug.
class Symbolizer {
 public:
  struct Line {
    std::string function;
    std::string file;
    uint32_t number = 0;
  };

  // Returns false if the program was built without a library for this.
  static bool IsBuilt();

  Symbolizer();
  ~Symbolizer();

  Symbolizer(const Symbolizer&) = delete;
  Symbolizer& operator=(const Symbolizer&) = delete;

  // Opens the file. |root| is the folder that has it, and the other files, in
  // place of "/"; it may be empty. Returns false, and says why, if it is not
  // the file with these bytes as its build id.
  bool Open(const std::string& root,
            const std::string& path,
            const std::string& build_id,
            std::string* error);
  // Returns the functions, inlined ones before their callers; none if nothing
  // is known. REQUIRES: Open() has returned true.
  std::vector<Line> Find(uint64_t address);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_SCHEDULING_SYMBOLIZER_H_
