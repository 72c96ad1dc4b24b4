// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/trace_file/string_filter.h"

#include <stddef.h>
#include <stdint.h>

#include <functional>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include "gtest/gtest.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"
#include "src/pbz/extended_schema.h"
#include "src/pbz/schema.h"
#include "src/pztrace/trace_file/keyed_hash.h"

namespace {

using protozero::HeapBuffered;
using protozero::Message;
using protozero::ProtoDecoder;
using protozero::trace::InternedData;
using protozero::trace::Trace;
using protozero::trace::TracePacket;
using pztrace::KeyedHash;
using pztrace::StringFilter;
using pztrace::TextPattern;

// It is too long for a number, and no sequence of fields.
constexpr std::string_view kSecret = "sssssssssssssssssss";
constexpr uint32_t kUnknownId = 50000;

std::string FieldOf(uint32_t id, std::string_view content) {
  HeapBuffered<Message> message;
  message->AppendBytes(id, content.data(), content.size());
  return message.SerializeAsString();
}

// Returns a field that is a group.
std::string GroupOf(uint32_t id, const std::string& fields) {
  std::string group = FieldOf(id, "");
  group.pop_back();  // The size.
  std::string end = group;
  group[0] = static_cast<char>(group[0] + 1);  // 2, a size follows; 3, a group.
  end[0] = static_cast<char>(end[0] + 2);
  return group + fields + end;
}

std::string Filter(const std::string& trace,
                   const StringFilter::Patterns& patterns) {
  StringFilter filter(patterns);
  std::string filtered;
  filter.Filter({reinterpret_cast<const uint8_t*>(trace.data()), trace.size()},
                &filtered);
  return filtered;
}

std::string Drop(const std::string& trace, std::string_view text = kSecret) {
  return Filter(trace, {{std::string(text)}, {}});
}

bool Has(std::string_view bytes, std::string_view text = kSecret) {
  return bytes.find(text) != std::string_view::npos;
}

// Calls |check| for a secret in each field with bytes of a message, whatever
// the schema says of it, in messages of messages up to a depth. |wrap| makes a
// trace of the message.
void ForEachField(const pbz::MessageType& type,
                  int depth,
                  const std::function<std::string(const std::string&)>& wrap,
                  const std::function<void(const std::string&)>& check) {
  check(wrap(FieldOf(kUnknownId, "a " + std::string(kSecret) + " b")));
  check(wrap(GroupOf(kUnknownId, FieldOf(1, kSecret))));
  for (const pbz::FieldType& field : type.fields) {
    const uint32_t id = field.id;
    check(wrap(GroupOf(id, FieldOf(1, kSecret))));
    check(wrap(FieldOf(id, kSecret)));
    if (field.message != nullptr && depth > 0) {
      ForEachField(
          *field.message, depth - 1,
          [&](const std::string& message) {
            return wrap(FieldOf(id, message));
          },
          check);
    }
  }
}

TEST(StringFilterTest, NoFieldKeepsWhatMatches) {
  pbz::ExtendedSchema schema;
  StringFilter dropping({{std::string(kSecret)}, {}});
  StringFilter hashing({{}, {std::string(kSecret)}});
  size_t num_fields = 0;
  const auto check = [&](const std::string& trace) {
    ASSERT_TRUE(Has(trace));
    for (StringFilter* filter : {&dropping, &hashing}) {
      std::string filtered;
      filter->Filter(
          {reinterpret_cast<const uint8_t*>(trace.data()), trace.size()},
          &filtered);
      ASSERT_FALSE(Has(filtered));
      ProtoDecoder decoder(filtered);
      while (decoder.ReadField()) {
      }
      ASSERT_EQ(decoder.bytes_left(), 0u);
    }
    ++num_fields;
  };
  ForEachField(
      *schema.Type(), 5, [](const std::string& trace) { return trace; }, check);
  EXPECT_GT(num_fields, 400u);
}

TEST(StringFilterTest, DamagedTracesKeepNoSecrets) {
  const std::string nested =
      FieldOf(Trace::kPacketFieldNumber,
              FieldOf(TracePacket::kTrackEventFieldNumber,
                      FieldOf(4, FieldOf(10, kSecret) + FieldOf(6, kSecret)) +
                          FieldOf(23, kSecret) + FieldOf(kUnknownId, kSecret)));
  std::mt19937 random(1);
  StringFilter filter({{std::string(kSecret)}, {}});
  for (int i = 0; i < 20000; ++i) {
    std::string trace = nested + nested;
    for (uint32_t n = random() % 4 + 1; n > 0; --n)
      trace[random() % trace.size()] = static_cast<char>(random());
    if (random() % 4 == 0)
      trace.resize(random() % trace.size());
    std::string filtered;
    filter.Filter(
        {reinterpret_cast<const uint8_t*>(trace.data()), trace.size()},
        &filtered);
    ASSERT_FALSE(Has(filtered)) << i;
  }
}

// Returns a trace with an event, and its bytes before and after |name|.
std::string TraceWith(std::string_view name) {
  HeapBuffered<Trace> trace;
  TracePacket* const packet = trace->add_packet();
  packet->set_timestamp(7);
  packet->AppendBytes(kUnknownId, "kept", 4);
  auto* const interned = packet->set_interned_data()->add_event_names();
  interned->set_iid(5);
  interned->set_name(name.data(), name.size());
  packet->set_track_event()->set_name_iid(5);
  return trace.SerializeAsString();
}

TEST(StringFilterTest, OtherFieldsStay) {
  EXPECT_EQ(Drop(TraceWith("the secret"), "secret"), TraceWith(""));
  EXPECT_EQ(Drop(TraceWith("a name"), "secret"), TraceWith("a name"));
}

// Returns the text in the place of TraceWith()'s.
std::string NameOf(const std::string& trace) {
  ProtoDecoder packets(trace);
  const TracePacket::Decoder packet(packets.ReadField().as_bytes());
  const InternedData::Decoder interned(packet.interned_data());
  for (const auto name : interned.event_names())
    return protozero::trace::EventName::Decoder(name).name().ToStdString();
  return "";
}

TEST(StringFilterTest, EqualTextsHaveEqualHashes) {
  StringFilter filter({{}, {"secret"}});
  std::set<std::string> names;
  for (const char* name : {"secret 1", "secret 2", "secret 1", "a secret"}) {
    const std::string trace = TraceWith(name);
    std::string filtered;
    filter.Filter(
        {reinterpret_cast<const uint8_t*>(trace.data()), trace.size()},
        &filtered);
    const std::string hash = NameOf(filtered);
    EXPECT_EQ(hash.size(), 17u);
    EXPECT_EQ(hash[0], '#');
    names.insert(hash);
  }
  EXPECT_EQ(names.size(), 3u);
  // Another filter has another key.
  names.insert(NameOf(Filter(TraceWith("secret 1"), {{}, {"secret"}})));
  EXPECT_EQ(names.size(), 4u);
}

TEST(StringFilterTest, DroppingComesBeforeHashing) {
  EXPECT_EQ(NameOf(Filter(TraceWith("secret"), {{"sec"}, {"ret"}})), "");
  // The pattern is in each hash.
  EXPECT_EQ(NameOf(Filter(TraceWith("#"), {{}, {"#"}})), "");
}

TEST(StringFilterTest, InternedStringsAreText) {
  HeapBuffered<Trace> trace;
  auto* const interned = trace->add_packet()
                             ->set_interned_data()
                             ->add_debug_annotation_string_values();
  interned->AppendString(2, "secret");
  const std::string hashed =
      Filter(trace.SerializeAsString(), {{}, {"secret"}});
  EXPECT_TRUE(Has(hashed, "#"));
  EXPECT_FALSE(Has(hashed, "secret"));
}

TEST(StringFilterTest, CompressedPacketsThatCannotBeReadAreLeftOut) {
  const std::string kept = TraceWith("a name");
  for (const uint32_t id : {50u, 133u}) {
    EXPECT_EQ(Drop(FieldOf(Trace::kPacketFieldNumber, FieldOf(id, "?")) + kept),
              kept);
  }
}

TEST(TextPatternTest, StarsStandForAnyText) {
  for (const char* text : {"ab", "a to b", "xabx", "aabb"})
    EXPECT_TRUE(TextPattern("a*b").IsIn(text)) << text;
  for (const char* text : {"ba", "a", "", "A B"})
    EXPECT_FALSE(TextPattern("a*b").IsIn(text)) << text;
  EXPECT_TRUE(TextPattern("*").IsIn(""));
  EXPECT_TRUE(TextPattern("**b**").IsIn("abc"));
  EXPECT_FALSE(TextPattern("aba*aba").IsIn("ababa"));
}

TEST(KeyedHashTest, IsSipHash) {
  // The example in the paper on SipHash.
  const KeyedHash hash({0x0706050403020100, 0x0f0e0d0c0b0a0908});
  std::string text;
  for (char c = 0; c < 15; ++c)
    text += c;
  EXPECT_EQ(hash(text), 0xa129ca6149be45e5);
}

}  // namespace
