// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Writes and reads with code that was generated from an edition. A libprotobuf
// that knows editions reads and writes the same. See editions_test.py.

#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "test/plugin/dynamic_schema.h"
#include "test/protos/plugin/editions.pbzero.h"
#include "test/protos/plugin/editions_2024.pbzero.h"
#include "test/protos/plugin/editions_2026.pbzero.h"
#include "test/protos/plugin/editions_delimited.pbzero.h"

namespace protozero::plugin {
namespace {

namespace pz = ::editions::pbzero;
namespace delimited = ::editions::delimited::pbzero;

class EditionsTest : public ::testing::Test {
 protected:
  template <typename T>
  std::string Text(HeapBuffered<T>* message) {
    return schema_.ToText(T::GetName() + 1, message->SerializeAsString());
  }

  DynamicSchema schema_{"test/protos/plugin/editions.proto"};
};

TEST_F(EditionsTest, Presence) {
  HeapBuffered<pz::Presence> m;
  m->set_explicit(0);
  m->set_implicit(1);
  m->set_required(2);
  m->set_open(pz::OPEN_ONE);
  m->set_closed(pz::CLOSED_TWO);
  EXPECT_EQ(Text(&m),
            "explicit: 0 implicit: 1 required: 2 open: OPEN_ONE "
            "closed: CLOSED_TWO");

  const pz::Presence::Decoder none{std::string_view()};
  EXPECT_FALSE(none.has_explicit());
  EXPECT_EQ(none.explicit_(), 7);
  EXPECT_EQ(none.open_enum(), pz::OPEN_ZERO);
  // The first value of a closed enum is its default.
  EXPECT_EQ(none.closed_enum(), pz::CLOSED_ONE);
}

TEST_F(EditionsTest, RepeatedFieldEncoding) {
  HeapBuffered<pz::Repeated> m;
  m->set_packed(std::vector<int32_t>{-1, 1});
  m->add_expanded(-2);
  m->add_expanded(2);
  m->set_open(std::vector<pz::Open>{pz::OPEN_ONE, pz::OPEN_ZERO});
  m->add_closed(pz::CLOSED_TWO);
  m->add_strings("s");
  const std::string text =
      "packed: -1 packed: 1 expanded: -2 expanded: 2 open: OPEN_ONE "
      "open: OPEN_ZERO closed: CLOSED_TWO strings: \"s\"";
  EXPECT_EQ(Text(&m), text);
  // The bytes are the same, so exactly the fields that libprotobuf packs are
  // packed.
  EXPECT_EQ(m.SerializeAsString(), schema_.FromText("editions.Repeated", text));
}

TEST_F(EditionsTest, MessageEncoding) {
  HeapBuffered<pz::Delimited> m;
  m->set_prefixed()->set_implicit(1);
  m->set_delimited()->set_implicit(2);
  m->add_many()->add_many()->set_text("deep");
  m->set_chosen()->set_implicit(3);
  const std::string text =
      "prefixed { implicit: 1 } delimited { implicit: 2 } "
      "many { many { text: \"deep\" } } chosen { implicit: 3 }";
  EXPECT_EQ(Text(&m), text);
  const std::string bytes = m.SerializeAsString();
  EXPECT_EQ(bytes, schema_.FromText("editions.Delimited", text));

  const pz::Delimited::Decoder d(bytes);
  EXPECT_EQ(pz::Presence::Decoder(d.prefixed()).implicit(), 1);
  EXPECT_EQ(pz::Presence::Decoder(d.delimited()).implicit(), 2);
  const pz::Delimited::Decoder many(*d.many());
  EXPECT_EQ(pz::Delimited::Decoder(*many.many()).text().ToStdString(), "deep");
  EXPECT_EQ(d.choice_case(), pz::Delimited::ChoiceCase::kChosen);

  HeapBuffered<pz::Wrapper> extension;
  extension->set_extension()->set_implicit(4);
  EXPECT_EQ(Text(&extension), "[editions.Wrapper.extension] { implicit: 4 }");
}

TEST_F(EditionsTest, FeaturesOfAFile) {
  DynamicSchema schema("test/protos/plugin/editions_delimited.proto");
  HeapBuffered<delimited::Everything> m;
  m->set_one()->set_x(1);
  m->add_many()->set_x(2);
  m->add_map("k")->set_x(3);
  m->add_expanded(4);
  m->set_packed(std::vector<int32_t>{5, 6});
  m->set_prefixed()->set_x(7);
  const std::string text =
      "one { x: 1 } many { x: 2 } map { key: \"k\" value { x: 3 } } "
      "expanded: 4 packed: 5 packed: 6 prefixed { x: 7 }";
  const std::string bytes = m.SerializeAsString();
  EXPECT_EQ(schema.ToText("editions.delimited.Everything", bytes), text);
  EXPECT_EQ(bytes, schema.FromText("editions.delimited.Everything", text));
  EXPECT_EQ(bytes.substr(0, 4), "\x0b\x08\x01\x0c");  // A group.

  const delimited::Everything::Decoder d(bytes);
  const delimited::Everything::MapEntry::Decoder entry(*d.map());
  EXPECT_EQ(delimited::Value::Decoder(entry.value()).x(), 3);
  EXPECT_EQ(delimited::Value::Decoder(d.one()).x(), 1);
}

// The compiler looks at the visibility of names, the style of names and the
// limits of these editions. What they say of the bytes is the plugin's affair.
TEST_F(EditionsTest, Edition2024) {
  DynamicSchema schema("test/protos/plugin/editions_2024.proto");
  HeapBuffered<::editions::v2024::pbzero::Exported> m;
  m->set_number(0);
  m->set_packed(std::vector<int32_t>{-1, 1});
  m->set_hidden()->set_kind(::editions::v2024::pbzero::KIND_ONE);
  m->set_inner()->set_number(1);
  m->set_hushed()->set_number(2);
  const std::string text =
      "number: 0 packed: -1 packed: 1 hidden { kind: KIND_ONE } "
      "inner { number: 1 } hushed { number: 2 }";
  const std::string bytes = m.SerializeAsString();
  EXPECT_EQ(schema.ToText("editions.v2024.Exported", bytes), text);
  EXPECT_EQ(bytes, schema.FromText("editions.v2024.Exported", text));
}

TEST_F(EditionsTest, Edition2026) {
  DynamicSchema schema("test/protos/plugin/editions_2026.proto");
  namespace v2026 = ::editions::v2026::pbzero;
  HeapBuffered<v2026::Exported> m;
  m->set_number(0);
  m->set_implicit(1);
  m->set_packed(std::vector<int64_t>{2, 3});
  m->add_expanded(4);
  m->set_hidden()->add_counts("k", 5);
  m->set_imported()->set_number(6);
  m->set_imported_inner()->set_number(7);
  m->set_closed(v2026::CLOSED_TWO);
  const std::string text =
      "number: 0 implicit: 1 packed: 2 packed: 3 expanded: 4 "
      "hidden { counts { key: \"k\" value: 5 } } imported { number: 6 } "
      "imported_inner { number: 7 } closed: CLOSED_TWO";
  const std::string bytes = m.SerializeAsString();
  EXPECT_EQ(schema.ToText("editions.v2026.Exported", bytes), text);
  EXPECT_EQ(bytes, schema.FromText("editions.v2026.Exported", text));
  const v2026::Exported::Decoder d(bytes);
  EXPECT_EQ(d.closed_enum(), v2026::CLOSED_TWO);

  HeapBuffered<v2026::test_protos_plugin_editions_2026_extends_Exported>
      extension;
  extension->set_extended(8);
  EXPECT_EQ(
      schema.ToText("editions.v2026.Exported", extension.SerializeAsString()),
      "[editions.v2026.extended]: 8");
}

}  // namespace
}  // namespace protozero::plugin
