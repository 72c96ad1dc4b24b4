// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// perfetto_benchmarks: measures this library beside its peers and the speed of
// light. It takes the flags of Google Benchmark. tools/bench makes a verdict of
// the rows that decide, tools/bench_table tables of all rows.
//
// --benchmark_filter=BM_Proto* has only the rows of the page on which Perfetto
// says how to run its benchmark, and BM_Proto all.
//
//   --trace=FILE  a trace of examples/ninja_trace, for the MixedCorpus rows.
//                 By default, build.pftrace of tools/run, beside the build
//                 directory. Without that file, there are no such rows.

#include <benchmark/benchmark.h>

#include <stdio.h>
#include <string.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/harness.h"
#include "test/benchmarks/other_benchmarks.h"
#include "test/benchmarks/trace_corpus.h"
#include "test/benchmarks/workload.h"

namespace {

// The warning is one that Debian's package of Google Benchmark prints.
constexpr char kIntroduction[] =
    "BM_Proto*: ns of CPU time per message; see docs/performance/method.md.\n"
    "These are the six rows of Perfetto's page; BM_Proto has all, in minutes.\n"
    "docs/performance.md has a verdict; tools/bench finds this machine's.\n"
    "\"Library was built as DEBUG\" is about Google Benchmark's own code.\n";

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

// Returns the name of the processor if the system tells it, or an empty string.
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

// Returns the trace's path beside the build directory, which has the program.
std::string DefaultTrace(const std::string& program) {
  const size_t slash = program.rfind('/');
  const std::string folder =
      slash == std::string::npos ? "." : program.substr(0, slash);
  return folder + "/../build.pftrace";
}

// Removes the flag from the arguments. Returns its value, or an empty string.
std::string TakeTraceFlag(int* argc, char** argv) {
  constexpr char kFlag[] = "--trace=";
  std::string value;
  int kept = 1;
  for (int i = 1; i < *argc; ++i) {
    if (strncmp(argv[i], kFlag, strlen(kFlag)) == 0)
      value = argv[i] + strlen(kFlag);
    else
      argv[kept++] = argv[i];
  }
  *argc = kept;
  return value;
}

// Replaces the filter of Perfetto's page by one of the rows that are on that
// page. As a regular expression, it would be all rows of ours.
void AnswerPerfettosFilter(int argc, char** argv) {
  static char filter[] =
      "--benchmark_filter=^BM_Protozero_(Simple|Nested)_"
      "(Libprotobuf|Protozero|SpeedOfLight)$";
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--benchmark_filter=BM_Proto*") == 0)
      argv[i] = filter;
  }
}

using protozero::bench::TraceCorpus;

// Reads the trace. Returns null and sets |error| if that fails.
std::shared_ptr<const TraceCorpus> ReadTrace(const std::string& path,
                                             std::string* error) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  if (!file || !(bytes << file.rdbuf())) {
    *error = "cannot be read";
    return nullptr;
  }
  return protozero::bench::ParseTrace(bytes.str(), error);
}

}  // namespace

int main(int argc, char** argv) {
  fputs(kIntroduction, stderr);
  const std::string trace_flag = TakeTraceFlag(&argc, argv);
  const std::string trace =
      trace_flag.empty() ? DefaultTrace(argv[0]) : trace_flag;
  std::string error;
  const std::shared_ptr<const TraceCorpus> corpus = ReadTrace(trace, &error);
  std::string corpus_context;
  if (corpus) {
    corpus_context = std::to_string(corpus->packets.size()) + " packets, " +
                     std::to_string(corpus->bytes) + " bytes";
  } else {
    const std::string problem = trace + ": " + error;
    if (!trace_flag.empty()) {
      fprintf(stderr, "%s\n", problem.c_str());
      return 1;
    }
    corpus_context = "no rows, for " + problem +
                     "; tools/run records it, --trace=FILE takes another";
    fprintf(stderr, "MixedCorpus: %s\n", corpus_context.c_str());
  }

  ::benchmark::AddCustomContext("compiler", Compiler());
  ::benchmark::AddCustomContext("processor", Processor());
  ::benchmark::AddCustomContext("peers", protozero::bench::PeerVersions());
  ::benchmark::AddCustomContext("corpus", corpus_context);
  protozero::bench::RegisterBenchmarks(protozero::bench::AllWorkloads(corpus),
                                       protozero::bench::AllEncoders());
#if !defined(ENCODERS_ONLY)
  protozero::bench::RegisterOtherBenchmarks();
#endif
  AnswerPerfettosFilter(argc, argv);
  ::benchmark::Initialize(&argc, argv);
  if (::benchmark::ReportUnrecognizedArguments(argc, argv))
    return 1;
  ::benchmark::RunSpecifiedBenchmarks();
  ::benchmark::Shutdown();
  return 0;
}
