// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "protozero/message_handle.h"

#include "open_messages.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

MessageFinalizationListener::~MessageFinalizationListener() = default;

ScatteredStreamWriter* MessageHandleBase::TakeStreamWriter() {
  PROTOZERO_DCHECK(message_ != nullptr, "an empty handle has no stream");
  CheckNotStale();
  ScatteredStreamWriter* writer =
      internal::OpenMessages::ExpectRawFields(message_);
  message_ = nullptr;
  listener_ = nullptr;
  return writer;
}

void MessageHandleBase::Finalize(Message* message,
                                 MessageFinalizationListener* listener) {
  message->Finalize();
  if (listener != nullptr)
    listener->OnMessageFinalized(message);
}

PROTOZERO_ABI_END
}  // namespace protozero
