// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/record/program_offers.h"

#include <stddef.h>
#include <stdint.h>

#include <string>

#include <gtest/gtest.h>

#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/track_event.h"

namespace {

using protozero::TraceStats;
using protozero::TracingService;
using pztrace::ProgramOffers;
namespace trace = protozero::trace;

class ProgramOffersTest : public testing::Test {
 protected:
  // A program of the process offers a data source with that many categories,
  // which take 80 bytes each in the text.
  void Offer(int32_t uid,
             int32_t pid,
             const std::string& source,
             size_t num_categories,
             const std::string& program = "program") {
    TracingService::ProducerInfo info;
    info.name = program;
    info.uid = uid;
    info.pid = pid;
    protozero::DataSourceDescriptor descriptor;
    descriptor.name = source;
    protozero::HeapBuffered<trace::DataSourceDescriptor> fields;
    auto* const events = fields->set_track_event_descriptor();
    for (size_t i = 0; i < num_categories; ++i) {
      std::string name = std::to_string(i);
      name.resize(77, 'c');
      events->add_available_categories()->set_name(name);
    }
    descriptor.raw_fields = fields.SerializeAsString();
    offers_.Add(info, descriptor);
  }
  // Returns whether the process has offered the source, as far as is known.
  bool Has(int32_t pid, const std::string& source) {
    const std::string line =
        "program (" + std::to_string(pid) + "): " + source + "\n";
    return offers_.Text().find(line) != std::string::npos;
  }

  ProgramOffers offers_;
};

TEST_F(ProgramOffersTest, ProcessHasItsLimit) {
  for (int i = 0; i < 300; ++i)
    Offer(1, 1, "s" + std::to_string(i), 1500);
  Offer(2, 2, "other", 1);
  const std::string text = offers_.Text();
  EXPECT_LT(text.size(), ProgramOffers::kMaxBytesPerProcess + 1024);
  EXPECT_GT(text.size(), ProgramOffers::kMaxBytesPerProcess / 2);
  EXPECT_NE(text.find("  and more: only 256 KB are listed of a process\n"),
            std::string::npos);
  EXPECT_TRUE(Has(2, "other"));
  EXPECT_EQ(offers_.number(), 301u);
}

TEST_F(ProgramOffersTest, OfferThatChangesIsChargedOnce) {
  for (int i = 0; i < 10; ++i)
    Offer(1, 1, "source", 1500);
  EXPECT_EQ(offers_.Text().find("more"), std::string::npos);
}

TEST_F(ProgramOffersTest, UserWithMuchMakesRoom) {
  Offer(1, 1, "first", 100);
  for (int pid = 100; pid < 150; ++pid)
    Offer(65534, pid, "much", 2500);
  EXPECT_TRUE(Has(1, "first"));
  Offer(1, 2, "second", 2500);
  EXPECT_TRUE(Has(1, "first"));
  EXPECT_TRUE(Has(2, "second"));
  const std::string text = offers_.Text();
  EXPECT_LT(text.size(), ProgramOffers::kMaxBytes);
  EXPECT_NE(text.find("and more: only 2 MB are listed of all programs\n"),
            std::string::npos);
}

TEST_F(ProgramOffersTest, ProgramsThatComeAndGoMakeRoom) {
  for (int pid = 1; pid < 5000; ++pid)
    Offer(1, pid, "small", 0);
  EXPECT_TRUE(Has(4999, "small"));
  EXPECT_FALSE(Has(1, "small"));
  // Programs that are gone give their room back.
  TraceStats stats;
  stats.producers.emplace_back();
  stats.producers[0].pid = 4999;
  stats.producers[0].name = "program";
  EXPECT_EQ(offers_.Text(stats),
            "program (4999): small\n"
            "and more: only 2 MB are listed of all programs\n");
  for (int pid = 1; pid < 7; ++pid)
    Offer(1, pid, "large", 2500);
  EXPECT_TRUE(Has(4999, "small"));
}

}  // namespace
