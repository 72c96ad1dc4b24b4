// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/static_buffer.h"

namespace protozero {

StaticBufferDelegate::~StaticBufferDelegate() = default;

}  // namespace protozero
