// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/quantities.h"

#include <stdlib.h>

#include "src/pztrace/trace_config.h"

namespace pztrace {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Parses a number and one of |units|. A number without a unit is in the first
// one. Returns false for anything else. The value may be infinite.
template <size_t kCount>
bool ParseNumber(const std::string& text,
                 const Unit (&units)[kCount],
                 double* value) {
  if (text.empty() || text[0] < '0' || text[0] > '9')
    return false;
  char* end = nullptr;
  const double number = strtod(text.c_str(), &end);
  const std::string_view unit(end);
  for (const Unit& candidate : units) {
    if (unit == candidate.name || (unit.empty() && &candidate == units)) {
      *value = number * candidate.factor;
      return true;
    }
  }
  return false;
}

}  // namespace

std::string ParseMilliseconds(std::string_view option,
                              const std::string& text,
                              uint32_t* milliseconds) {
  static constexpr Unit kUnits[] = {{"s", 1000}, {"ms", 1}, {"m", 60000}};
  double value = 0;
  if (!ParseNumber(text, kUnits, &value) || value < 1)
    return std::string(option) + " takes a time, as in 10, 1.5s or 200ms";
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
  static constexpr Unit kUnits[] = {
      {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
  double value = 0;
  if (!ParseNumber(text, kUnits, &value) || value > 1e18)
    return std::string(option) + " takes a time, as in 1.5s, 200ms or 30us";
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
  static constexpr Unit kUnits[] = {
      {"", 1},        {"k", 1 << 10}, {"K", 1 << 10}, {"m", 1 << 20},
      {"M", 1 << 20}, {"g", 1 << 30}, {"G", 1 << 30}};
  double value = 0;
  if (!ParseNumber(text, kUnits, &value) || value < 1)
    return std::string(option) + " takes a number of bytes, as in 500k or 64M";
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
  const char last = text.empty() ? 'm' : text.back();
  if (last == 's')
    return ParseMilliseconds(option, text, milliseconds);
  if (last != 'm' && (last < '0' || last > '9'))
    return ParseSize(option, text, bytes);
  return std::string(option) + " takes a size or a time, as in 100M or 60s";
}

}  // namespace pztrace
