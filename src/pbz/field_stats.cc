// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/field_stats.h"

#include <inttypes.h>

#include <algorithm>

namespace pbz {

namespace {

constexpr size_t kMaxShownPath = 1024;

}  // namespace

Stats::Stats(size_t max_paths) : max_paths_(max_paths), entries_(1), open_{0} {}

Stats::Path* Stats::Add(size_t parent, uint32_t id, const FieldType* type) {
  auto [it, is_new] = entries_[parent].children.try_emplace(id, 0);
  if (is_new) {
    if (entries_.size() >= max_paths_ && id != kOther && id != kSizes &&
        id != kMalformed) {
      // Each parent has at most one such entry, so the limit of the others
      // limits their number, too.
      entries_[parent].children.erase(it);
      return Add(parent, kOther);
    }
    it->second = entries_.size();
    std::string name = entries_[parent].path.name;
    if (!name.empty())
      name += '.';
    if (id == kMalformed)
      name += "(malformed)";
    else if (id == kSizes)
      name += "(sizes of messages)";
    else if (id == kOther)
      name += "(other fields)";
    else if (!type)
      name += std::to_string(id);
    else if (type->is_extension)
      name += '[' + type->name + ']';
    else
      name += type->name;
    // All paths below this one get the same name then.
    if (name.size() > kMaxShownPath)
      name.replace(kMaxShownPath, name.npos, "...");
    entries_.push_back(Entry{Path{std::move(name)}, parent, {}});
  }
  last_ = entries_[parent].children[id];
  return &entries_[last_].path;
}

void Stats::OnValue(const Node& node) {
  Path* path = Add(open_.back(), node.id, node.type);
  ++path->count;
  path->bytes += node.size;
  path->overhead += node.tag_size + node.size_size;
}

void Stats::OnBegin(const Node& node) {
  Path* path = Add(open_.back(), node.id, node.type);
  const size_t overhead = node.tag_size + node.size_size;
  ++path->count;
  path->bytes += overhead;
  path->overhead += overhead;
  open_.push_back(last_);
}

void Stats::OnEnd(const Node&) {
  open_.pop_back();
}

void Stats::OnMessage(uint64_t, size_t, size_t size_size) {
  Path* path = Add(0, kSizes);
  ++path->count;
  path->bytes += size_size;
  path->overhead += size_size;
}

void Stats::OnMalformed(uint64_t, size_t size, const char*) {
  Path* path = Add(open_.back(), kMalformed);
  ++path->count;
  path->bytes += size;
}

std::vector<Stats::Path> Stats::Paths() const {
  std::vector<uint64_t> totals(entries_.size());
  // Children come after their parents.
  for (size_t i = entries_.size(); i-- > 1;) {
    totals[i] += entries_[i].path.bytes;
    totals[entries_[i].parent] += totals[i];
  }
  std::vector<Path> paths;
  for (size_t i = 1; i < entries_.size(); ++i) {
    paths.push_back(entries_[i].path);
    paths.back().total = totals[i];
  }
  std::stable_sort(
      paths.begin(), paths.end(),
      [](const Path& a, const Path& b) { return a.bytes > b.bytes; });
  return paths;
}

void Stats::Print(FILE* file, bool color) const {
  const std::vector<Path> paths = Paths();
  Path sum;
  for (const Path& path : paths) {
    sum.count += path.count;
    sum.bytes += path.bytes;
    sum.overhead += path.overhead;
  }
  const auto percent = [&](uint64_t bytes) {
    return sum.bytes == 0 ? 0.0
                          : 100.0 * static_cast<double>(bytes) /
                                static_cast<double>(sum.bytes);
  };
  const char* dim = color ? "\033[2m" : "";
  const char* bold = color ? "\033[1m" : "";
  const char* name_color = color ? "\033[36m" : "";
  const char* end = color ? "\033[0m" : "";
  fprintf(file, "%s%12s %7s %12s %12s %12s  %s%s\n", dim, "bytes", "percent",
          "overhead", "with inner", "count", "path", end);
  for (const Path& path : paths) {
    fprintf(file,
            "%12" PRIu64 " %6.2f%% %12" PRIu64 " %12" PRIu64 " %12" PRIu64
            "  %s%s%s\n",
            path.bytes, percent(path.bytes), path.overhead, path.total,
            path.count, name_color, path.name.c_str(), end);
  }
  fprintf(file,
          "%s%12" PRIu64 " %6.2f%% %12" PRIu64 " %12" PRIu64 " %12" PRIu64
          "  all%s\n",
          bold, sum.bytes, sum.bytes == 0 ? 0.0 : 100.0, sum.overhead,
          sum.bytes, sum.count, end);
}

}  // namespace pbz
