// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// perfetto_benchmarks: what this library costs, beside its peers and the speed
// of light. Takes the flags of Google Benchmark; tools/bench_table runs it and
// makes a table of the result.

#include <benchmark/benchmark.h>

#include <fstream>
#include <string>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/harness.h"

namespace {

std::string Compiler() {
#if defined(__clang__)
  std::string compiler = "clang " __clang_version__;
#elif defined(__GNUC__)
  std::string compiler = "gcc " __VERSION__;
#else
  std::string compiler = "unknown compiler";
#endif
#if defined(__OPTIMIZE_SIZE__)
  compiler += ", optimized for size";
#elif defined(__OPTIMIZE__)
  compiler += ", optimized";
#else
  compiler += ", not optimized";
#endif
#if !defined(NDEBUG)
  compiler += ", with debug checks";
#endif
  return compiler;
}

// The name of the processor, where the system tells; empty elsewhere.
std::string Processor() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line;
  while (std::getline(cpuinfo, line)) {
    const size_t colon = line.find(": ");
    if (line.compare(0, 10, "model name") == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  ::benchmark::AddCustomContext("compiler", Compiler());
  ::benchmark::AddCustomContext("processor", Processor());
  ::benchmark::AddCustomContext("peers",
                                protozero::bench::LibprotobufVersion() + ", " +
                                    protozero::bench::MapboxVersion() + ", " +
                                    protozero::bench::NanopbVersion());
  protozero::bench::RegisterBenchmarks(protozero::bench::AllEncoders());
  ::benchmark::Initialize(&argc, argv);
  if (::benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  ::benchmark::RunSpecifiedBenchmarks();
  ::benchmark::Shutdown();
  return 0;
}
