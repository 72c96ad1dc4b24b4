// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// One generated header in two translation units, and several of them in one
// program. Half of the test is that the program links.

#include "test/plugin/two_units.h"
#include "test/protos/plugin/hostile.pbzero.h"
#include "test/protos/plugin/hostile_global.pbzero.h"
#include "test/protos/plugin/no_wrapper.pbzero.h"
// The second inclusion tests the guard.
#include "test/protos/plugin/no_wrapper.pbzero.h"

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"

namespace {

namespace pz = ::golden::main::pbzero;

// The one-definition rule: nothing in a header may have internal linkage.
TEST(TwoUnitsTest, DefinitionsAreTheSameInBoth) {
  const Definitions other = OtherDefinitions();
  EXPECT_EQ(other.metadata, &pz::Everything::kFieldInt32);
  EXPECT_EQ(other.enum_limit, &pz::TopLevel_MAX);
  EXPECT_EQ(other.nested_constant, &pz::Everything::Nested::Deep::SOME);
  EXPECT_EQ(other.name_function, &pz::TopLevel_Name);
  EXPECT_EQ(other.get_name, &pz::Everything::GetName);
  EXPECT_EQ(other.setter, &pz::Everything::set_field_int32);
}

TEST(TwoUnitsTest, BothWriteTheSame) {
  protozero::HeapBuffered<pz::Everything> message;
  message->set_field_int32(1);
  message->set_field_message()->set_deep();
  EXPECT_EQ(message.SerializeAsString(), WriteInOtherUnit());
  EXPECT_EQ(WriteInOtherUnit(), std::string("\x28\x01\x52\x02\x12\x00", 6));
}

TEST(TwoUnitsTest, BothWriteToOneMessage) {
  for (int with_open_child = 0; with_open_child < 2; ++with_open_child) {
    protozero::HeapBuffered<pz::Everything> message;
    for (int i = 0; i < 2; ++i) {
      message->set_field_int32(2);
      if (with_open_child)
        message->set_field_message();
      AppendInOtherUnit(message.get());
      message->set_field_uint32(3);
    }
    const std::string once = "\x28\x02" +
                             std::string(with_open_child ? "\x52\x00" : "",
                                         with_open_child ? 2 : 0) +
                             std::string(
                                 "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
                                 "\x52\x02\x12\x00\x60\x03",
                                 17);
    EXPECT_EQ(message.SerializeAsString(), once + once);
  }
}

}  // namespace
