// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_INTEROP_NANOPB_TYPES_H_
#define TEST_INTEROP_NANOPB_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>

#include <pb.h>

namespace protozero::test {

// A generated struct, and what nanopb's description of it leaves out.
struct NanopbType {
  const pb_msgdesc_t* fields;
  size_t size;
  // FieldDescriptorProto.Type by the field's id.
  std::map<uint32_t, int> field_types;
};

// By the name of the message, as in "package.Outer.Inner". In
// nanopb_types.cc, which generate_walkers.py writes.
const std::map<std::string, NanopbType>& NanopbTypes();

}  // namespace protozero::test

#endif  // TEST_INTEROP_NANOPB_TYPES_H_
