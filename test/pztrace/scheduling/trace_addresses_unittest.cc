// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/scheduling/trace_addresses.h"

#include <stdint.h>

#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "protozero/scattered_heap_buffer.h"
#include "protozero/tracing/trace.h"

namespace pztrace {
namespace {

namespace trace = protozero::trace;

void AddString(trace::InternedString* string, uint64_t id, const char* text) {
  string->set_iid(id);
  string->set_str(std::string(text));
}

void AddFrame(trace::InternedData* data, uint64_t mapping, uint64_t address) {
  auto* const frame = data->add_frames();
  frame->set_iid(address);
  frame->set_mapping_id(mapping);
  frame->set_rel_pc(address);
}

// Returns a trace of two sequences, which use the same ids.
std::vector<uint8_t> TwoSequences() {
  protozero::HeapBuffered<trace::Trace> file;
  for (uint32_t sequence = 1; sequence <= 2; ++sequence) {
    auto* const packet = file->add_packet();
    packet->set_trusted_packet_sequence_id(sequence);
    packet->set_sequence_flags(1);
    auto* const data = packet->set_interned_data();
    AddString(data->add_mapping_paths(), 1, "bin");
    AddString(data->add_mapping_paths(), 2, sequence == 1 ? "a" : "b");
    AddString(data->add_build_ids(), 1, "id");
    auto* const mapping = data->add_mappings();
    mapping->set_iid(7);
    mapping->set_build_id(1);
    mapping->add_path_string_ids(1);
    mapping->add_path_string_ids(2);
    AddFrame(data, 7, 0x10 * sequence);
    AddFrame(data, 8, 0x99);
  }
  auto* const symbols = file->add_packet()->set_module_symbols();
  symbols->set_path(std::string("/bin/b"));
  symbols->set_build_id(std::string("id"));
  symbols->add_address_symbols()->set_address(0x20);
  return file.SerializeAsArray();
}

TEST(TraceAddressesTest, HasAddressesWithoutNames) {
  TraceAddresses addresses;
  const std::vector<uint8_t> bytes = TwoSequences();
  addresses.Read({bytes.data(), bytes.size()});
  EXPECT_EQ(addresses.Take(), (AddressesOfFiles{{{"/bin/a", "id"}, {0x10}}}));
  EXPECT_TRUE(addresses.Take().empty());
}

TEST(TraceAddressesTest, AnyBytesAreHarmless) {
  const std::vector<uint8_t> whole = TwoSequences();
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> bytes = whole;
    bytes.resize(random() % whole.size());
    for (unsigned changes = random() % 4; changes > 0 && !bytes.empty();
         --changes) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random());
    }
    TraceAddresses addresses;
    addresses.Read({bytes.data(), bytes.size()});
    EXPECT_LE(addresses.Take().size(), 4u);
  }
}

}  // namespace
}  // namespace pztrace
