// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/quantities.h"

#include <stdlib.h>

namespace pztrace {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// The units. The first one is the default.
constexpr Unit kTimes[] = {{"s", 1e9},  {"ns", 1},   {"us", 1e3},
                           {"ms", 1e6}, {"m", 60e9}, {"h", 3600e9}};
constexpr Unit kSizes[] = {{"B", 1},       {"k", 1 << 10}, {"K", 1 << 10},
                           {"m", 1 << 20}, {"M", 1 << 20}, {"g", 1 << 30},
                           {"G", 1 << 30}};

constexpr char kTimeHelp[] =
    "a time: a number of seconds, or one with ns, us, ms, s, m or h";
constexpr char kSizeHelp[] =
    "a size: a number of bytes, or one with k, M or G, which are powers of "
    "1024 (kB and KiB are the same)";

enum class Parsed { kNo, kUnitMissing, kYes };

// Parses a number and one of |units|. The value may be infinite.
template <size_t kCount>
Parsed ParseNumber(const std::string& text,
                   const Unit (&units)[kCount],
                   double* value) {
  if (text.empty() || text[0] < '0' || text[0] > '9')
    return Parsed::kNo;
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  std::string_view name(end);
  if (&units[0] == &kSizes[0] && name.size() > 1 && name.back() == 'B') {
    name.remove_suffix(1);
    if (name.size() > 1 && name.back() == 'i')
      name.remove_suffix(1);
  }
  for (const Unit& unit : units) {
    if (name == unit.name || (name.empty() && &unit == units)) {
      *value = number * unit.factor;
      return name.empty() ? Parsed::kUnitMissing : Parsed::kYes;
    }
  }
  return Parsed::kNo;
}

std::string WrongValue(std::string_view option,
                       const std::string& help,
                       const std::string& text) {
  return std::string(option) + " takes " + help + ", not '" + text + "'";
}

}  // namespace

std::string ParseMilliseconds(std::string_view option,
                              const std::string& text,
                              uint32_t* milliseconds) {
  double value = 0;
  if (ParseNumber(text, kTimes, &value) == Parsed::kNo)
    return WrongValue(option, kTimeHelp, text);
  value /= 1e6;
  if (value < 1)
    return std::string(option) + " is 1 ms at least, not " + text;
  if (value > UINT32_MAX) {
    return std::string(option) + " is " + std::to_string(UINT32_MAX / 1000) +
           " s at most, not " + text;
  }
  *milliseconds = static_cast<uint32_t>(value);
  return "";
}

std::string ParseNanoseconds(std::string_view option,
                             const std::string& text,
                             uint64_t* nanoseconds) {
  double value = 0;
  if (ParseNumber(text, kTimes, &value) == Parsed::kNo || value > 1e18)
    return WrongValue(option, kTimeHelp, text);
  *nanoseconds = static_cast<uint64_t>(value);
  return "";
}

std::string ParseTimeRange(const std::string& from,
                           const std::string& to,
                           uint64_t* from_ns,
                           uint64_t* to_ns) {
  std::string problem;
  if (!from.empty())
    problem = ParseNanoseconds("--from", from, from_ns);
  if (!to.empty() && problem.empty())
    problem = ParseNanoseconds("--to", to, to_ns);
  if (problem.empty() && *from_ns >= *to_ns)
    problem = "--to has to be later than --from";
  return problem;
}

std::string ParseSize(std::string_view option,
                      const std::string& text,
                      size_t* bytes) {
  double value = 0;
  if (ParseNumber(text, kSizes, &value) == Parsed::kNo)
    return WrongValue(option, kSizeHelp, text);
  if (value < 1)
    return std::string(option) + " is 1 byte at least, not " + text;
  if (value > static_cast<double>(kMaxBufferSize)) {
    return std::string(option) + " is less than " +
           std::to_string((kMaxBufferSize >> 30) + 1) + "G, not " + text;
  }
  *bytes = static_cast<size_t>(value);
  return "";
}

std::string ParseSizeOrMilliseconds(std::string_view option,
                                    const std::string& text,
                                    size_t* bytes,
                                    uint32_t* milliseconds) {
  *bytes = 0;
  *milliseconds = 0;
  double value = 0;
  const Parsed size = ParseNumber(text, kSizes, &value);
  const bool is_size = size == Parsed::kYes;
  const bool is_time = ParseNumber(text, kTimes, &value) == Parsed::kYes;
  if (is_size == is_time) {
    return std::string(option) +
           " takes a size, a number with B, k, M or G, or a time, a number "
           "with ns, us, ms, s, m or h, not '" +
           text + "'" +
           (is_size                        ? ", which is either"
            : size == Parsed::kUnitMissing ? ", which has no unit"
                                           : "");
  }
  return is_size ? ParseSize(option, text, bytes)
                 : ParseMilliseconds(option, text, milliseconds);
}

}  // namespace pztrace
