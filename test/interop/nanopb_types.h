// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_INTEROP_NANOPB_TYPES_H_
#define TEST_INTEROP_NANOPB_TYPES_H_

#include <stddef.h>
#include <stdint.h>

#include <map>
#include <string>

#include <pb.h>

namespace protozero::test {

// A generated struct, and the field types, which nanopb's description lacks.
struct NanopbType {
  const pb_msgdesc_t* fields;
  size_t size;
  // FieldDescriptorProto.Type. The key is the field's id.
  std::map<uint32_t, int> field_types;
};

// Returns the types by the names of messages, as in "package.Outer.Inner".
// Defined in nanopb_types.cc, which generate_walkers.py writes.
const std::map<std::string, NanopbType>& NanopbTypes();

}  // namespace protozero::test

#endif  // TEST_INTEROP_NANOPB_TYPES_H_
