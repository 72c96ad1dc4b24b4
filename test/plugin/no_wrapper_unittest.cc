// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Code that was generated without a wrapper namespace.

#include "test/protos/plugin/no_wrapper.pbzero.h"

#include <type_traits>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/plugin/dynamic_schema.h"

// Until now, the types of the import are only declared. They must be the same
// types when their header defines them. (In an unnamed namespace they would not
// be.)
using DeclaredMessage = ::no_wrapper::other::Imported;
using DeclaredEnum = ::no_wrapper::other::Level;
using DeclaredNestedEnum = ::no_wrapper::other::Imported_Kind;

#include "test/protos/plugin/no_wrapper_import.pbzero.h"

namespace {

static_assert(
    std::is_same<DeclaredMessage, ::no_wrapper::other::Imported>::value,
    "");
static_assert(std::is_same<DeclaredEnum, ::no_wrapper::other::Level>::value,
              "");
static_assert(std::is_same<DeclaredNestedEnum,
                           ::no_wrapper::other::Imported::Kind>::value,
              "");

TEST(NoWrapperTest, TypesOfOtherPackage) {
  protozero::HeapBuffered<no_wrapper::Outer> m;
  m->set_imported()->set_id(1);
  m->set_kind(no_wrapper::other::Imported::EVEN);
  m->set_level(no_wrapper::other::LOW);
  protozero::plugin::DynamicSchema schema(
      "test/protos/plugin/no_wrapper.proto");
  EXPECT_EQ(schema.ToText("no_wrapper.Outer", m.SerializeAsString()),
            "imported { id: 1 } kind: EVEN level: LOW");
}

}  // namespace
