// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "test/plugin/two_units.h"
#include "test/protos/plugin/hostile.pbzero.h"
#include "test/protos/plugin/hostile_global.pbzero.h"
#include "test/protos/plugin/no_wrapper.pbzero.h"

#include "protozero/scattered_heap_buffer.h"

Definitions OtherDefinitions() {
  namespace pz = ::golden::main::pbzero;
  return {&pz::Everything::kFieldInt32,
          &pz::TopLevel_MAX,
          &pz::Everything::Nested::Deep::SOME,
          &pz::TopLevel_Name,
          &pz::Everything::GetName,
          &pz::Everything::set_field_int32};
}

std::string WriteInOtherUnit() {
  protozero::HeapBuffered<::golden::main::pbzero::Everything> message;
  message->set_field_int32(1);
  message->set_field_message()->set_deep();
  return message.SerializeAsString();
}

void AppendInOtherUnit(::golden::main::pbzero::Everything* message) {
  message->set_field_int32(-1);
  message->set_field_message()->set_deep();
}
