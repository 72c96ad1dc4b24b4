// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/otlp/process_context.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <string_view>

#include "protozero/otlp/trace_context.h"
#include "src/otlp/attributes.h"
#include "src/otlp/pipeline_state.h"
#include "src/otlp/wire.h"

#include "protozero/internal/macros.h"

// Another name of the variable with the current context, in the table of
// dynamic symbols. It is weak: another library may have such a variable.
#define PROTOZERO_OTLP_TEXT(text) #text
#define PROTOZERO_OTLP_SYMBOL(prefix) \
  PROTOZERO_OTLP_TEXT(prefix) "_otlp_current_context"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal {
PROTOZERO_HIDDEN __thread const SpanContext* current_context = nullptr;
}  // namespace internal
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

extern "C" {
extern __attribute__((
    visibility("default"),
    weak,
    alias(PROTOZERO_OTLP_SYMBOL(
        PROTOZERO_ABI_NAMESPACE)))) __thread const PROTOZERO_RUNTIME::otlp::
    SpanContext* otel_thread_ctx_v1;
}

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {
namespace internal PROTOZERO_HIDDEN {
namespace {

// Linux 5.17 and later. Headers of the C library may be older.
constexpr int kSetVma = 0x53564d41;
constexpr unsigned long kSetVmaAnonName = 0;

constexpr char kMappingName[] = "OTEL_CTX";
constexpr char kNotPublished[] =
    "the thread context cannot be published: no memory";

// The field of a ProcessContext with attributes that are not the resource's.
constexpr uint32_t kAttributesField = 2;

constexpr char kNotExported[] =
    "profilers do not see the current span: link the program with "
    "-Wl,--export-dynamic-symbol=otel_thread_ctx_v1";

// Returns false if this is linked into a program that has no dynamic symbol for
// profilers. A shared library has it always.
bool IsThreadContextExported() {
  Dl_info own;
  Dl_info program;
  const bool is_in_library =
      dladdr(kNotExported, &own) != 0 &&
      dladdr(reinterpret_cast<void*>(getauxval(AT_PHDR)), &program) != 0 &&
      own.dli_fbase != program.dli_fbase;
  return is_in_library ||
         dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1") == &current_context;
}

// The one that is published, which only its owner changes.
std::atomic<const ProcessContext*> published_context{nullptr};

}  // namespace

const char* ProcessContext::Publish(const std::string& resource) {
  if (&otel_thread_ctx_v1 != &current_context)
    return "another library publishes the thread context";
  const ProcessContext* none = nullptr;
  if (!published_context.compare_exchange_strong(none, this,
                                                 std::memory_order_relaxed))
    return "another pipeline publishes the thread context";
  const std::string_view* const no_keys = nullptr;
  const Attribute keys[] = {
      {"threadlocal.schema_version", "tlsdesc_v1_dev"},
      {"threadlocal.attribute_key_map", AttributeValue(no_keys, 0)},
  };
  ValueWriter writer{SIZE_MAX};
  payload_ = resource;
  payload_.resize(resource.size() + writer.RoomForAttributes(keys, 2) + kSlack);
  uint8_t* const begin = reinterpret_cast<uint8_t*>(payload_.data());
  uint32_t dropped = 0;
  const uint8_t* const end =
      writer.PutAttributes(begin + resource.size(), BytesTag(kAttributesField),
                           keys, 2, SIZE_MAX, &dropped);
  payload_.resize(static_cast<size_t>(end - begin));
  if (!Map()) {
    Withdraw();
    return kNotPublished;
  }
  return IsThreadContextExported() ? nullptr : kNotExported;
}

void ProcessContext::PublishInChild() {
  if (header_ != nullptr && !Map())
    Withdraw();
}

// Makes the mapping, which has a name by its file or by prctl().
bool ProcessContext::Map() {
  header_ = nullptr;
  int flags = MAP_PRIVATE;
  const int file = memfd_create(kMappingName, MFD_CLOEXEC);
  if (file < 0)
    flags |= MAP_ANONYMOUS;
  void* memory = MAP_FAILED;
  if (file < 0 || ftruncate(file, sizeof(Header)) == 0) {
    memory =
        mmap(nullptr, sizeof(Header), PROT_READ | PROT_WRITE, flags, file, 0);
  }
  if (file >= 0)
    close(file);
  if (memory == MAP_FAILED)
    return false;
  header_ = static_cast<Header*>(memory);
  if (madvise(memory, sizeof(Header), MADV_DONTFORK) != 0)
    return false;
  header_->version = 2;
  header_->payload_size = static_cast<uint32_t>(payload_.size());
  header_->published_at_ns = ReadClock(CLOCK_BOOTTIME);
  header_->payload = reinterpret_cast<uintptr_t>(payload_.data());
  // A reader may look at any time.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  memcpy(header_->signature, kMappingName, sizeof(header_->signature));
  const int named =
      prctl(kSetVma, kSetVmaAnonName, memory, sizeof(Header), kMappingName);
  return file >= 0 || named == 0;
}

void ProcessContext::Withdraw() {
  if (header_ != nullptr)
    munmap(header_, sizeof(Header));
  header_ = nullptr;
  const ProcessContext* own = this;
  published_context.compare_exchange_strong(own, nullptr,
                                            std::memory_order_relaxed);
}

}  // namespace internal PROTOZERO_HIDDEN
}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero
