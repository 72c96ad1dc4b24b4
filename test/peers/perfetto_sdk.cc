// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Perfetto's SDK, and one function of ours in the same file, as no header of
// the SDK declares the classes of its service.

#if defined(WITH_PERFETTO_C_SDK)
#include "perfetto_c.cc"
#else
#include "perfetto.cc"
#endif

#include "test/peers/perfetto_service.h"

bool RunPerfettoService(const char* producer_socket,
                        const char* consumer_socket) {
  perfetto::base::UnixTaskRunner task_runner;
  const auto host = perfetto::ServiceIPCHost::CreateInstance(&task_runner);
  if (!host->Start(producer_socket, consumer_socket))
    return false;
  task_runner.Run();
  return true;
}
