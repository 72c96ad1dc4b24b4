// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_FIELD_STATS_H_
#define SRC_PBZ_FIELD_STATS_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <map>
#include <string>
#include <vector>

#include "src/pbz/walk.h"

namespace pbz {

// Counts fields and bytes by path: "packet.timestamp" is the field timestamp in
// all fields packet of the message. Each byte of the file belongs to one path,
// so their sum is its size.
class Stats : public Visitor {
 public:
  // The counts of one path. A message has |bytes| of its own: its tag and size.
  struct Path {
    std::string name;
    uint64_t count = 0;
    uint64_t bytes = 0;     // Without the paths below this one.
    uint64_t overhead = 0;  // The tags and sizes in |bytes|.
    uint64_t total = 0;     // With all paths below.
  };

  // The limit of paths that are told apart. A hostile file has one for each two
  // bytes.
  static constexpr size_t kMaxPaths = 100000;

  explicit Stats(size_t max_paths = kMaxPaths);

  void OnValue(const Node& node) override;
  void OnBegin(const Node& node) override;
  void OnEnd(const Node& node) override;
  void OnMessage(uint64_t offset, size_t size, size_t size_size) override;
  void OnMalformed(uint64_t offset, size_t size, const char* reason) override;

  // Adds bytes that were not parsed, because the bytes before them are
  // malformed.
  void AddUnread(uint64_t bytes) { Add(0, kMalformed)->bytes += bytes; }

  // Returns all paths. Those with the most |bytes| are first.
  std::vector<Path> Paths() const;

  // Prints the paths as a table.
  void Print(FILE* file, bool color) const;

 private:
  // Ids of rows that are not fields.
  static constexpr uint32_t kMalformed = 0;
  static constexpr uint32_t kOther = UINT32_MAX;
  static constexpr uint32_t kSizes = UINT32_MAX - 1;

  struct Entry {
    Path path;
    size_t parent;
    std::map<uint32_t, size_t> children;  // Index in |entries_|.
  };

  // Returns the path of a field in the entry |parent|.
  Path* Add(size_t parent, uint32_t id, const FieldType* type = nullptr);

  const size_t max_paths_;
  std::vector<Entry> entries_;  // The first one is the file.
  std::vector<size_t> open_;    // The messages around the next field.
  size_t last_ = 0;             // The last result of Add().
};

}  // namespace pbz

#endif  // SRC_PBZ_FIELD_STATS_H_
