// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The same messages, by setters that are function calls: a program gets these
// unless it asks for inlined ones.

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/fill.h"
#include "test/benchmarks/protozero_encoders.h"

namespace protozero {
namespace bench {

void AddCalledEncoders(EncoderList* encoders) {
  AddEncoderWithCallSites<ReusedEncoder<SimpleWorkload>>(
      SimpleWorkload::kName, "ProtozeroCalled", encoders);
  AddEncoder<ReusedEncoder<NestedWorkload>>(NestedWorkload::kName,
                                            "ProtozeroCalled", encoders);
  struct Called;
  AddEncoder<ReusedEncoder<HelpersWorkload<Called>>>(
      HelpersWorkload<>::kName, "ProtozeroCalled", encoders);
  AddEncoderWithCallSites<ReusedEncoder<MixedCorpusWorkload>>(
      MixedCorpusWorkload::kName, "ProtozeroCalled", encoders);
}

}  // namespace bench
}  // namespace protozero
