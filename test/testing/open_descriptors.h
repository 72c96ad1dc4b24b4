// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_TESTING_OPEN_DESCRIPTORS_H_
#define TEST_TESTING_OPEN_DESCRIPTORS_H_

#include <dirent.h>
#include <stddef.h>

namespace protozero::test {

// Returns how many entries /proc/self/fd has: the same number for as long as
// no descriptor leaks.
inline size_t CountOpenDescriptors() {
  DIR* const folder = opendir("/proc/self/fd");
  size_t count = 0;
  while (readdir(folder) != nullptr)
    ++count;
  closedir(folder);
  return count;
}

}  // namespace protozero::test

#endif  // TEST_TESTING_OPEN_DESCRIPTORS_H_
