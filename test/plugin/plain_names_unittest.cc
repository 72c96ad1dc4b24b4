// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Names that are macros on other systems, but not here: the code has the
// schema's names, as with Perfetto's plugin. This file includes no header of
// the system.

#include "test/protos/plugin/macros.pbzero.h"

#include <string>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"

namespace {

namespace mz = ::macros::far::IN::pbzero;

TEST(PlainNamesTest, AreThoseOfTheSchema) {
  protozero::HeapBuffered<mz::GetMessage> m;
  m->set_far()->set_ignore_();
  m->add_small("x");
  m->set_max(mz::Level::ERROR);
  m->set_max(mz::DELETE);
  const std::string bytes = m.SerializeAsString();
  const mz::GetMessage::Decoder d(bytes);
  EXPECT_EQ(d.max_enum(), mz::DELETE);
  EXPECT_EQ((*d.small()).ToStdString(), "x");
  EXPECT_EQ(d.interface().ToStdString(), "struct");
  EXPECT_TRUE(mz::GetMessage::IGNORE::Decoder(d.far()).has_ignore_());
  EXPECT_STREQ(mz::Level_Name(mz::ERROR), "ERROR");
  mz::Level level{};
  EXPECT_TRUE(mz::Level_Parse("min", &level));
  EXPECT_EQ(level, mz::Level::min);
  EXPECT_FALSE(mz::Level_Parse("ERROR_", &level));
}

}  // namespace
