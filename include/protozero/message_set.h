// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_MESSAGE_SET_H_
#define INCLUDE_PROTOZERO_MESSAGE_SET_H_

#include <stdint.h>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "protozero/proto_decoder.h"
#include "protozero/repeated_fields.h"

#include "protozero/internal/macros.h"

// Message sets: messages that have only extensions, in an old encoding that
// proto2 still supports. Each extension is an item,
//
//   repeated group Item = 1 { int32 type_id = 2; bytes message = 3; }
//
// whose type id is the number of the extension. The fields of an item come in
// any order.

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// Returns the message of the last item with |type_id| among |items|, or an
// invalid field.
inline Field FindMessageSetItem(RepeatedFieldIterator<ConstBytes> items,
                                uint32_t type_id) {
  Field found = Field();
  for (; items; ++items) {
    const MessageDecoder<2, 3> item(*items);
    if (item.at<2>().as_uint32() == type_id && item.at<3>().valid()) {
      found = item.at<3>();
    }
  }
  return found;
}

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_MESSAGE_SET_H_
