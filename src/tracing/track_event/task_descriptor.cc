// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/track_event/tasks.h"

#include "protozero/tracing/track_event.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

namespace {

// A FileDescriptorSet with TaskEvent of trace.proto, and TrackEvent.task as an
// extension. A test says what it has to be when the schema has changed.
constexpr char kDescriptorSet[] =
    "\012\211\004\012\042protozero/tracing/task_event.proto\022\017perfetto"
    ".protos\042\203\003\012\011TaskEvent\022\042\012\015wait_site_iid\030"
    "\001 \001(\004R\013waitSiteIid\0229\012\006result\030\002 \001(\0162!."
    "perfetto.protos.TaskEvent.ResultR\006result\022\030\012\007spawned\030"
    "\003 \001(\004R\007spawned\022\031\012\010site_iid\030\004 \001(\004R"
    "\007siteIid\022\022\012\004name\030\005 \001(\011R\004name\022\026\012"
    "\006parent\030\006 \001(\004R\006parent\022\024\012\005woken\030\007 "
    "\001(\004R\005woken\022\024\012\005ended\030\010 \001(\004R\005ended"
    "\022\030\012\007request\030\011 \001(\011R\007request\042p\012\006Resu"
    "lt\022\026\012\022RESULT_UNSPECIFIED\020\000\022\017\012\013RESULT_DON"
    "E\020\001\022\021\012\015RESULT_FAILED\020\002\022\024\012\020RESULT_C"
    "ANCELLED\020\003\022\024\012\020RESULT_DESTROYED\020\004:L\012\004task"
    "\022\033.perfetto.protos.TrackEvent\030\204  \001(\0132\032.perfetto.p"
    "rotos.TaskEventR\004task";

}  // namespace

void DescribeTaskEvents() {
  DescribeTraceExtensions(
      ConstBytes{reinterpret_cast<const uint8_t*>(kDescriptorSet),
                 sizeof(kDescriptorSet) - 1});
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero
