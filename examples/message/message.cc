// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include <stdint.h>
#include <stdio.h>

#include "protozero/static_buffer.h"
#include "sample.pbzero.h"

int main() {
  protozero::StackBuffered<sample::pbzero::Request, 256> request;
  request->set_start_ns(123456789);
  request->set_path("/index.html");
  auto* peer = request->set_peer();
  peer->set_host("2001:db8::1");
  peer->set_port(443);
  const uint32_t part_sizes[] = {1460, 1460, 300};
  request->set_part_sizes(part_sizes, 3);
  const size_t size = request.Finalize();  // 0 if the buffer was too small.
  fwrite(request.data(), 1, size, stdout);
  return size == 0;
}
