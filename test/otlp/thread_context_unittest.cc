// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads the current span of another process as an eBPF profiler does: it finds
// the variable in the table of dynamic symbols, its place from the registers of
// a thread that is stopped, and the record in the memory of the process.

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>

#if defined(__x86_64__)
#include <sys/user.h>
#endif

#include <gtest/gtest.h>

#include "protozero/otlp/pipeline.h"
#include "protozero/otlp/tracer.h"
#include "protozero/proto_decoder.h"
#include "src/otlp/protos/schema.h"
#include "test/otlp/collecting_sink.h"
#include "test/testing/sanitizers.h"

namespace protozero::otlp {
namespace {

// The layout of OTEP 4947.
struct Record {
  uint8_t trace_id[16];
  uint8_t span_id[8];
  uint8_t valid;
  uint8_t flags;
  uint16_t attributes_size;
};
static_assert(sizeof(Record) == 28);

// Another process, by its memory.
class OtherProcess {
 public:
  explicit OtherProcess(pid_t pid) : pid_(pid) {}

  template <typename T>
  T Read(uint64_t address) const {
    T value;
    EXPECT_TRUE(ReadBytes(address, &value, sizeof(value)));
    return value;
  }
  bool ReadBytes(uint64_t address, void* data, size_t size) const {
    iovec to{data, size};
    iovec from{reinterpret_cast<void*>(address), size};
    return process_vm_readv(pid_, &to, 1, &from, 1, 0) ==
           static_cast<ssize_t>(size);
  }

  // Returns whether this process may not look at the other one.
  bool IsForbidden() const {
    return ThreadPointer(pid_) == 0 && errno == EPERM;
  }

  // Returns the start of the first mapping with that name; 0 for none.
  uint64_t FindMapping(const std::string& name) const {
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find(name) != std::string::npos)
        return std::stoull(line, nullptr, 16);
    }
    return 0;
  }

  // Returns the offset of a thread's variable of the program from its thread
  // pointer.
  std::optional<int64_t> OffsetOf(const std::string& name) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/exe",
                       std::ios::binary);
    const std::string elf((std::istreambuf_iterator<char>(file)),
                          std::istreambuf_iterator<char>());
    const auto at = [&elf](uint64_t offset) { return elf.data() + offset; };
    Elf64_Ehdr header;
    memcpy(&header, at(0), sizeof(header));
    Elf64_Phdr tls = {};
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      Elf64_Phdr segment;
      memcpy(&segment, at(header.e_phoff + i * sizeof(segment)),
             sizeof(segment));
      if (segment.p_type == PT_TLS)
        tls = segment;
    }
    const auto section = [&](unsigned i) {
      Elf64_Shdr result;
      memcpy(&result, at(header.e_shoff + i * sizeof(result)), sizeof(result));
      return result;
    };
    for (unsigned i = 0; i < header.e_shnum; ++i) {
      const Elf64_Shdr symbols = section(i);
      if (symbols.sh_type != SHT_DYNSYM)
        continue;
      const Elf64_Shdr names = section(symbols.sh_link);
      for (uint64_t j = 0; j < symbols.sh_size / sizeof(Elf64_Sym); ++j) {
        Elf64_Sym symbol;
        memcpy(&symbol, at(symbols.sh_offset + j * sizeof(symbol)),
               sizeof(symbol));
        if (at(names.sh_offset + symbol.st_name) == name &&
            ELF64_ST_TYPE(symbol.st_info) == STT_TLS) {
          return OffsetIn(tls, static_cast<int64_t>(symbol.st_value));
        }
      }
    }
    return std::nullopt;
  }

  // Returns the thread pointer of a thread, which stops meanwhile; 0 if that is
  // not allowed.
  static uint64_t ThreadPointer(pid_t thread) {
    if (ptrace(PTRACE_SEIZE, thread, nullptr, nullptr) != 0)
      return 0;
    ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr);
    int status = 0;
    EXPECT_EQ(waitpid(thread, &status, __WALL), thread);
    uint64_t pointer = 0;
#if defined(__x86_64__)
    user_regs_struct registers = {};
    ptrace(PTRACE_GETREGS, thread, nullptr, &registers);
    pointer = registers.fs_base;
#elif defined(__aarch64__)
    iovec registers{&pointer, sizeof(pointer)};
    ptrace(PTRACE_GETREGSET, thread, 0x401, &registers);  // NT_ARM_TLS
#endif
    ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
    return pointer;
  }

 private:
  // The block of the program is the first one: right below the thread pointer,
  // or right above the two words at it.
  static int64_t OffsetIn(const Elf64_Phdr& tls, int64_t value) {
    const auto up = [&tls](uint64_t size) {
      return static_cast<int64_t>((size + tls.p_align - 1) / tls.p_align *
                                  tls.p_align);
    };
#if defined(__x86_64__)
    return value - up(tls.p_memsz);
#else
    return value + up(16);
#endif
  }

  const pid_t pid_;
};

// The state that the other process has told about.
struct Told {
  pid_t thread;
  bool has_span;
  SpanContext context;
};

class ThreadContextTest : public testing::Test {
 protected:
  // Runs the other process.
  void Run() {
    CollectingSink sink;
    PipelineOptions options;
    options.resource = {{"service.name", "shop"}};
    options.publish_thread_context = true;
    Pipeline pipeline(options, &sink);
    const Tracer tracer(pipeline, "t");
    Tell();
    const Span outer = tracer.StartSpan("outer");
    {
      const Scope scope(outer.context());
      Tell();
      const Span inner = tracer.StartSpan("inner");
      TaskContext task(inner.context());
      task.Resume();
      Tell();
      task.Suspend();
      Tell();
      std::thread([&] {
        Tell();
        const Scope other(inner.context());
        Tell();
      }).join();
    }
    Tell();
  }

  // Lets the other process go on, without an answer, and waits for its end.
  void Leave(pid_t child) {
    close(answers_[1]);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
  }

  void Tell() {
    const SpanContext context = CurrentContext();
    const Told told{gettid(), context.IsValid(), context};
    char answer;
    if (write(told_[1], &told, sizeof(told)) != sizeof(told) ||
        read(answers_[0], &answer, 1) != 1) {
      _exit(1);
    }
  }

  int told_[2];
  int answers_[2];
};

[[maybe_unused]] void ExpectRecord(const OtherProcess& process,
                                   const Told& told) {
  const std::optional<int64_t> offset = process.OffsetOf("otel_thread_ctx_v1");
  ASSERT_TRUE(offset.has_value());
  const uint64_t thread = OtherProcess::ThreadPointer(told.thread);
  ASSERT_NE(thread, 0u) << strerror(errno);
  const uint64_t address =
      process.Read<uint64_t>(thread + static_cast<uint64_t>(*offset));
  ASSERT_EQ(address != 0, told.has_span);
  if (!told.has_span)
    return;
  const Record record = process.Read<Record>(address);
  EXPECT_EQ(memcmp(record.trace_id, told.context.trace_id.bytes, 16), 0);
  EXPECT_EQ(memcmp(record.span_id, told.context.span_id.bytes, 8), 0);
  EXPECT_EQ(record.valid, 1);
  EXPECT_EQ(record.flags, 1);
  EXPECT_EQ(record.attributes_size, 0);
  EXPECT_EQ(address % 2, 0u);
}

// Expects the process context of OTEP 4719.
[[maybe_unused]] void ExpectProcessContext(const OtherProcess& process) {
  const uint64_t header = process.FindMapping("OTEL_CTX");
  ASSERT_NE(header, 0u);
  EXPECT_EQ(process.Read<uint64_t>(header), 0x5854435f4c45544fu);  // OTEL_CTX
  EXPECT_EQ(process.Read<uint32_t>(header + 8), 2u);
  EXPECT_NE(process.Read<uint64_t>(header + 16), 0u);
  std::string payload(process.Read<uint32_t>(header + 12), '\0');
  ASSERT_TRUE(process.ReadBytes(process.Read<uint64_t>(header + 24),
                                payload.data(), payload.size()));
  std::map<std::string, std::string> extra;
  ProtoDecoder decoder(payload.data(), payload.size());
  for (Field field = decoder.ReadField(); field; field = decoder.ReadField()) {
    if (field.id() == 1) {
      size_t count = 0;
      const otlp_schema::Resource::Decoder resource(field.as_bytes());
      EXPECT_EQ(AttributesOf(resource.attributes(), &count)["service.name"],
                "shop");
    } else {
      EXPECT_EQ(field.id(), 2u);
      const otlp_schema::KeyValue::Decoder attribute(field.as_bytes());
      const otlp_schema::AnyValue::Decoder value(attribute.value());
      extra[attribute.key().ToStdString()] =
          value.has_array_value() ? "array " + value.array_value().ToStdString()
                                  : value.string_value().ToStdString();
    }
  }
  EXPECT_EQ(decoder.status(), DecodeStatus::kOk);
  EXPECT_EQ(extra["threadlocal.schema_version"], "tlsdesc_v1_dev");
  EXPECT_EQ(extra["threadlocal.attribute_key_map"], "array ");
}

// ThreadSanitizer allows no threads after a fork().
#if (defined(__x86_64__) || defined(__aarch64__)) && !PROTOZERO_TEST_HAS_TSAN
TEST_F(ThreadContextTest, IsReadFromOutside) {
  ASSERT_EQ(pipe(told_), 0);
  ASSERT_EQ(pipe(answers_), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(answers_[1]);
    Run();
    _exit(0);
  }
  close(told_[1]);
  close(answers_[0]);
  const OtherProcess process(child);
  if (process.IsForbidden()) {
    Leave(child);
    GTEST_SKIP() << "ptrace is forbidden";
  }
  int num_states = 0, num_spans = 0;
  for (Told told; read(told_[0], &told, sizeof(told)) == sizeof(told);) {
    ExpectRecord(process, told);
    if (num_states++ == 0)
      ExpectProcessContext(process);
    num_spans += told.has_span;
    EXPECT_EQ(write(answers_[1], "a", 1), 1);
  }
  EXPECT_EQ(num_states, 7);
  EXPECT_EQ(num_spans, 4);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

bool IsPublished() {
  return OtherProcess(getpid()).FindMapping("OTEL_CTX") != 0;
}

TEST_F(ThreadContextTest, IsOneOfAProcess) {
  CollectingSink sink;
  PipelineOptions options;
  {
    const Pipeline pipeline(options, &sink);
  }
  EXPECT_FALSE(IsPublished());
  options.publish_thread_context = true;
  Span open;
  {
    Pipeline first(options, &sink);
    EXPECT_TRUE(IsPublished());
    EXPECT_EQ(first.LastError(), "");
    open = Tracer(first, "t").StartSpan("open");
    const Pipeline second(options, &sink);
    EXPECT_NE(second.LastError(), "");
  }
  EXPECT_FALSE(IsPublished());
  const Pipeline third(options, &sink);
  EXPECT_EQ(third.LastError(), "");
  EXPECT_TRUE(IsPublished());
}

#if !PROTOZERO_TEST_HAS_TSAN
TEST_F(ThreadContextTest, ChildOfAForkPublishesItsOwn) {
  CollectingSink sink;
  PipelineOptions options;
  options.publish_thread_context = true;
  options.resource = {{"service.name", "shop"}};
  const Pipeline pipeline(options, &sink);
  ASSERT_EQ(pipe(told_), 0);
  ASSERT_EQ(pipe(answers_), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(answers_[1]);
    Tell();
    _exit(0);
  }
  close(answers_[0]);
  if (OtherProcess(child).IsForbidden()) {
    Leave(child);
    GTEST_SKIP() << "ptrace is forbidden";
  }
  Told told;
  ASSERT_EQ(read(told_[0], &told, sizeof(told)),
            static_cast<ssize_t>(sizeof(told)));
  ExpectProcessContext(OtherProcess(child));
  ExpectProcessContext(OtherProcess(getpid()));
  EXPECT_EQ(write(answers_[1], "a", 1), 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}
#endif

}  // namespace
}  // namespace protozero::otlp
