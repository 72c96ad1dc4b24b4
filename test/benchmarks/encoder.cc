// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/benchmarks/encoder.h"

#include <string>

namespace protozero {
namespace bench {

Encoder::~Encoder() = default;

EncoderList AllEncoders() {
  EncoderList encoders;
  AddFloorEncoders(&encoders);
  AddProtozeroEncoders(&encoders);
  AddCalledEncoders(&encoders);
  AddStringEncoders(&encoders);
  AddCalledStringEncoders(&encoders);
  AddCEncoders(&encoders);
#if defined(WITH_PERFETTO_SDK)
  AddPerfettoEncoders(&encoders);
#endif
  AddLibprotobufEncoders(&encoders);
  AddMapboxEncoders(&encoders);
  AddNanopbEncoders(&encoders);
  return encoders;
}

std::string PeerVersions() {
  std::string versions;
#if defined(WITH_PERFETTO_SDK)
  versions = PerfettoVersion() + ", ";
#endif
  return versions + LibprotobufVersion() + ", " + MapboxVersion() + ", " +
         NanopbVersion();
}

}  // namespace bench
}  // namespace protozero
