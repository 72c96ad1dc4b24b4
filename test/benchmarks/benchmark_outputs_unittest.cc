// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Tests that the encoders that the benchmarks compare do the same work:
// libprotobuf parses the output of each encoder, and the test compares the
// result with the encoder's input. Nothing here looks at the clock.

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "test/benchmarks/encoder.h"
#include "test/benchmarks/event.h"
#include "test/benchmarks/inputs.h"
#include "test/benchmarks/perfetto_trace.pb.h"
#include "test/benchmarks/trace_corpus.h"
#include "test/benchmarks/workload.h"
#include "test/protos/benchmark_messages.pb.h"

namespace protozero {
namespace bench {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::Reflection;
using ::perfetto::protos::Trace;
using ::perfetto::protos::TracePacket;

// Packets of examples/ninja_trace, at least one of every kind.
const Trace& SampleTrace() {
  static const Trace* sample = [] {
    auto* trace = new Trace;
    TracePacket* strings = trace->add_packet();
    strings->set_trusted_packet_sequence_id(77);
    strings->set_first_packet_on_sequence(true);
    strings->set_sequence_flags(TracePacket::SEQ_INCREMENTAL_STATE_CLEARED);
    for (uint64_t iid = 1; iid <= 3; ++iid) {
      auto* category = strings->mutable_interned_data()->add_event_categories();
      category->set_iid(iid);
      category->set_name("category " + std::to_string(iid));
      auto* name =
          strings->mutable_interned_data()->add_debug_annotation_names();
      name->set_iid(iid);
      name->set_name("name " + std::to_string(iid));
    }
    auto* root = strings->mutable_track_descriptor();
    root->set_uuid(uint64_t{1} << 40);
    root->set_child_ordering(::perfetto::protos::TrackDescriptor::EXPLICIT);
    root->mutable_process()->set_pid(1);
    root->mutable_process()->set_process_name("out/release");

    TracePacket* track = trace->add_packet();
    track->set_trusted_packet_sequence_id(77);
    track->mutable_track_descriptor()->set_uuid((uint64_t{1} << 40) + 1);
    track->mutable_track_descriptor()->set_parent_uuid(uint64_t{1} << 40);
    track->mutable_track_descriptor()->set_name("slot 1");
    track->mutable_track_descriptor()->set_sibling_order_rank(0);

    for (int i = 0; i < 8; ++i) {
      TracePacket* packet = trace->add_packet();
      packet->set_trusted_packet_sequence_id(77);
      packet->set_sequence_flags(TracePacket::SEQ_NEEDS_INCREMENTAL_STATE);
      packet->set_timestamp(1'000'000'000u + 1'000'000u * unsigned(i));
      auto* event = packet->mutable_track_event();
      event->set_track_uuid((uint64_t{1} << 40) + 1);
      if (i % 2 != 0) {
        event->set_type(::perfetto::protos::TrackEvent::TYPE_SLICE_END);
        continue;
      }
      event->set_type(::perfetto::protos::TrackEvent::TYPE_SLICE_BEGIN);
      event->add_category_iids(2);
      event->set_name("obj/file" + std::string(size_t(i) * 20, 'x') + ".o");
      auto* hash = event->add_debug_annotations();
      hash->set_name_iid(1);
      hash->set_pointer_value(0x9e3779b97f4a7c15);
      if (i >= 2) {
        auto* mtime = event->add_debug_annotations();
        mtime->set_name_iid(2);
        mtime->set_int_value(-1'700'000'000);
      }
      for (int list = 4; list <= i; list += 2) {
        auto* outputs = event->add_debug_annotations();
        outputs->set_name_iid(3);
        outputs->add_array_values()->set_string_value("obj/a.o");
        outputs->add_array_values()->set_string_value("obj/a.d");
      }
    }
    return trace;
  }();
  return *sample;
}

std::shared_ptr<const TraceCorpus> SampleCorpus() {
  std::string error;
  std::shared_ptr<const TraceCorpus> corpus =
      ParseTrace(SampleTrace().SerializeAsString(), &error);
  EXPECT_TRUE(corpus) << error;
  return corpus;
}

// The workloads as the test understands them, written independently of fill.h.

benchmark::EveryField EventMessage(const Event* events, size_t levels) {
  benchmark::EveryField message;
  benchmark::EveryField* level = &message;
  for (size_t i = 0; i < levels; ++i) {
    if (i > 0)
      level = level->mutable_field_nested();
    level->set_field_int32(events[i].number_int32);
    level->set_field_int64(events[i].number_int64);
    level->set_field_uint32(events[i].number_uint32);
    level->set_field_uint64(events[i].number_uint64);
    level->set_field_string(
        std::string(events[i].string, events[i].string_size));
  }
  return message;
}

// Sets the fields by number.
benchmark::Varints VarintsMessage(const VarintsInput* input) {
  benchmark::Varints message;
  for (int i = 0; i < 8; ++i) {
    message.GetReflection()->SetUInt64(
        &message, message.GetDescriptor()->FindFieldByNumber(i + 1),
        input->values[static_cast<size_t>(i)]);
  }
  return message;
}

benchmark::Blob BytesMessage(const BytesInput* input) {
  benchmark::Blob message;
  message.set_data(std::string(input->data, input->size));
  return message;
}

void SetFifteenFields(const FifteenFields& fields,
                      int first,
                      benchmark::ThirtyFields* message) {
  const Reflection* reflection = message->GetReflection();
  auto field = [&](int index) {
    return message->GetDescriptor()->FindFieldByNumber(first + index);
  };
  reflection->SetInt32(message, field(0), fields.number_int32);
  reflection->SetUInt32(message, field(1), fields.number_uint32);
  reflection->SetInt64(message, field(2), fields.number_int64);
  reflection->SetUInt64(message, field(3), fields.number_uint64);
  reflection->SetInt32(message, field(4), fields.number_sint32);
  reflection->SetInt64(message, field(5), fields.number_sint64);
  reflection->SetUInt32(message, field(6), fields.number_fixed32);
  reflection->SetUInt64(message, field(7), fields.number_fixed64);
  reflection->SetInt32(message, field(8), fields.number_sfixed32);
  reflection->SetInt64(message, field(9), fields.number_sfixed64);
  reflection->SetFloat(message, field(10), fields.number_float);
  reflection->SetDouble(message, field(11), fields.number_double);
  reflection->SetBool(message, field(12), fields.flag);
  reflection->SetEnumValue(message, field(13), fields.weekday);
  reflection->SetString(message, field(14),
                        std::string(fields.string.data, fields.string.size));
}

benchmark::ThirtyFields ThirtyFieldsMessage(const ThirtyFieldsInput* input) {
  benchmark::ThirtyFields message;
  SetFifteenFields(input->a, 1, &message);
  SetFifteenFields(input->b, 16, &message);
  return message;
}

benchmark::Children ChildrenMessage(const ChildrenInput* input) {
  benchmark::Children message;
  for (size_t i = 0; i < input->count; ++i) {
    benchmark::Child* child = message.add_child();
    child->set_id(input->table[i % ChildrenInput::kTableSize].id);
    child->set_value(input->table[i % ChildrenInput::kTableSize].value);
  }
  return message;
}

benchmark::Packed PackedVarintsMessage(const PackedInput* input) {
  benchmark::Packed message;
  for (size_t i = 0; i < input->count; ++i)
    message.add_varints(input->values[i]);
  return message;
}

benchmark::Packed PackedFixed64Message(const PackedInput* input) {
  benchmark::Packed message;
  for (size_t i = 0; i < input->count; ++i)
    message.add_fixed(input->values[i]);
  return message;
}

benchmark::EveryField DeepMessage(const DeepInput* input) {
  benchmark::EveryField message;
  benchmark::EveryField* level = &message;
  for (size_t i = 0; i < kDeepLevels; ++i) {
    if (i > 0)
      level = level->mutable_field_nested();
    level->set_field_uint32(input->numbers[i]);
  }
  return message;
}

benchmark::Records RecordsMessage(const RecordsInput* input) {
  benchmark::Records message;
  for (const RecordInput& record_input : input->records) {
    benchmark::Record* record = message.add_record();
    record->set_id(record_input.id);
    record->set_time(record_input.time);
    record->set_payload(
        std::string(record_input.payload.data, record_input.payload.size));
  }
  return message;
}

benchmark::Reply ReplyMessage(const ReplyInput* input) {
  benchmark::Reply message;
  message.set_field_int32(input->event.number_int32);
  message.set_field_int64(input->event.number_int64);
  message.set_field_uint32(input->event.number_uint32);
  message.set_field_uint64(input->event.number_uint64);
  message.set_field_string(
      std::string(input->event.string, input->event.string_size));
  for (size_t i = 0; i < input->count; ++i) {
    benchmark::Item* item = message.add_item();
    item->set_id(input->item->id);
    item->set_value(input->item->value);
    item->set_name(std::string(input->item->name.data, input->item->name.size));
  }
  return message;
}

// A function that returns the message for input number `index` of a workload.
using MakeMessage =
    std::function<std::unique_ptr<Message>(const AnyInputCycle&, size_t index)>;

template <typename Input, typename T>
MakeMessage FromInput(T (*make)(const Input*)) {
  return [make](const AnyInputCycle& inputs, size_t index) {
    return std::make_unique<T>(
        make(static_cast<const InputCycle<Input>&>(inputs).At(index)));
  };
}

MakeMessage FromEvents(size_t levels) {
  return [levels](const AnyInputCycle& inputs, size_t index) {
    return std::make_unique<benchmark::EveryField>(
        EventMessage(static_cast<const EventCycle&>(inputs).At(index), levels));
  };
}

const MakeMessage& MessageMaker(const std::string& workload) {
  static const auto* makers = new std::map<std::string, MakeMessage>{
      {"Simple", FromEvents(1)},
      {"Nested", FromEvents(kNestedDepth)},
      {"Helpers", FromEvents(kNestedDepth)},
      {"RandomVarints", FromInput(VarintsMessage)},
      {"Timestamps", FromInput(VarintsMessage)},
      {"RandomBytes", FromInput(BytesMessage)},
      {"ThirtyFields", FromInput(ThirtyFieldsMessage)},
      {"Children", FromInput(ChildrenMessage)},
      {"PackedVarints", FromInput(PackedVarintsMessage)},
      {"PackedFixed64", FromInput(PackedFixed64Message)},
      {"Deep", FromInput(DeepMessage)},
      {"Chunks", FromInput(RecordsMessage)},
      {"MixedCorpus",
       [](const AnyInputCycle&, size_t index) {
         const int packet = static_cast<int>(
             index % static_cast<size_t>(SampleTrace().packet_size()));
         return std::make_unique<TracePacket>(SampleTrace().packet(packet));
       }},
      {"Bytes", FromInput(ChildrenMessage)},
      {"String", FromInput(ReplyMessage)},
  };
  return makers->at(workload);
}

// Returns the number of messages that are nested in |message|, at any level.
size_t CountNested(const Message& message) {
  const Reflection* reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  size_t count = 0;
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
      continue;
    if (!field->is_repeated()) {
      count += 1 + CountNested(reflection->GetMessage(message, field));
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      count +=
          1 + CountNested(reflection->GetRepeatedMessage(message, field, i));
    }
  }
  return count;
}

// Appends the value of a field as Slots and SpeedOfLight store it.
void AppendSlots(const Message& message,
                 const FieldDescriptor* field,
                 int index,  // of a repeated field, or -1
                 std::vector<uint64_t>* slots);

std::vector<uint64_t> SlotsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::vector<uint64_t> slots;
  for (const FieldDescriptor* field : fields) {
    if (!field->is_repeated()) {
      AppendSlots(message, field, -1, &slots);
      continue;
    }
    const int size = message.GetReflection()->FieldSize(message, field);
    for (int i = 0; i < size; ++i)
      AppendSlots(message, field, i, &slots);
  }
  return slots;
}

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof(value));
  return bits;
}

void AppendSlots(const Message& message,
                 const FieldDescriptor* field,
                 int index,
                 std::vector<uint64_t>* slots) {
  const Reflection* reflection = message.GetReflection();
#define VALUE(type)                                  \
  (index < 0 ? reflection->Get##type(message, field) \
             : reflection->GetRepeated##type(message, field, index))
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return slots->push_back(static_cast<uint64_t>(int64_t{VALUE(Int32)}));
    case FieldDescriptor::CPPTYPE_INT64:
      return slots->push_back(static_cast<uint64_t>(VALUE(Int64)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return slots->push_back(VALUE(UInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return slots->push_back(VALUE(UInt64));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return slots->push_back(BitsOf(VALUE(Float)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return slots->push_back(BitsOf(VALUE(Double)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return slots->push_back(VALUE(Bool));
    case FieldDescriptor::CPPTYPE_ENUM:
      return slots->push_back(static_cast<uint64_t>(VALUE(EnumValue)));
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string string = VALUE(String);
      std::vector<uint64_t> words((string.size() + 7) / 8);
      if (!string.empty())
        memcpy(words.data(), string.data(), string.size());
      slots->insert(slots->end(), words.begin(), words.end());
      return;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      const std::vector<uint64_t> child = SlotsOf(VALUE(Message));
      slots->insert(slots->end(), child.begin(), child.end());
      return;
    }
  }
#undef VALUE
  FAIL() << "not a type";
}

// Memory as large as a benchmark's slot, and bytes after it that must not be
// written.
class GuardedOutput {
 public:
  explicit GuardedOutput(size_t slot_size)
      : slot_size_(slot_size), ring_(2 * slot_size, slot_size) {}

  std::string Encode(Encoder* encoder,
                     const AnyInputCycle& inputs,
                     size_t index) {
    return Check([&](uint8_t* begin, size_t capacity) {
      return encoder->Encode(inputs, index, begin, capacity);
    });
  }

  std::string EncodeAt(CallSite call_site,
                       Encoder* encoder,
                       const AnyInputCycle& inputs,
                       size_t index) {
    return Check([&](uint8_t* begin, size_t capacity) {
      return call_site(encoder, inputs, index, begin, capacity);
    });
  }

 private:
  static constexpr uint8_t kGuard = 0xa5;

  template <typename F>
  std::string Check(F encode) {
    // The slot holds zeros, as in a ring: the floor encoders may leave bytes at
    // the end of a slot unwritten.
    memset(ring_.At(0), 0, slot_size_);
    memset(ring_.At(1), kGuard, slot_size_);
    const size_t size = encode(ring_.At(0), slot_size_);
    EXPECT_LE(size, slot_size_);
    EXPECT_TRUE(std::all_of(ring_.At(1), ring_.At(1) + slot_size_,
                            [](uint8_t byte) { return byte == kGuard; }))
        << "wrote behind the end of its buffer";
    return std::string(reinterpret_cast<char*>(ring_.At(0)),
                       std::min(size, slot_size_));
  }

  const size_t slot_size_;
  OutputRing ring_;
};

// A row of the benchmark, in any harness.
struct Row {
  Workload workload;
  EncoderEntry entry;

  std::string name() const {
    std::string name = workload.name + entry.implementation + workload.argument;
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
  }
};

// Prints the name for GoogleTest, instead of the bytes of the object.
void PrintTo(const Row& row, std::ostream* os) {
  *os << row.name();
}

class BenchmarkOutputsTest : public ::testing::TestWithParam<Row> {
 protected:
  const Workload& workload() const { return GetParam().workload; }
  const EncoderEntry& entry() const { return GetParam().entry; }

  std::unique_ptr<AnyInputCycle> MakeInputs(bool random) const {
    return workload().make_inputs(random);
  }

  std::unique_ptr<Message> ExpectedMessage(const AnyInputCycle& inputs,
                                           size_t index) const {
    return MessageMaker(workload().name)(inputs, index);
  }

  // Returns |output| without the words that depend on its address.
  std::string Comparable(const std::string& output) const {
    if (entry().format != OutputFormat::kSlotsAndCursors)
      return output;
    constexpr size_t kSlotsSize = (4 + kStringSlots) * sizeof(uint64_t);
    std::string slots;
    for (size_t i = 0; i < output.size(); i += kSlotsSize + sizeof(uint64_t))
      slots += output.substr(i, kSlotsSize);
    return slots;
  }

  static void CheckSlots(const std::string& output, const Message& expected) {
    ASSERT_EQ(output.size() % sizeof(uint64_t), 0u);
    std::vector<uint64_t> slots(output.size() / sizeof(uint64_t));
    if (!output.empty())
      memcpy(slots.data(), output.data(), output.size());
    std::vector<uint64_t> expected_slots = SlotsOf(expected);
    // Workloads may set their fields in any order.
    std::sort(slots.begin(), slots.end());
    std::sort(expected_slots.begin(), expected_slots.end());
    EXPECT_EQ(slots, expected_slots);
  }

  void CheckOutput(const std::string& output, const Message& expected) {
    switch (entry().format) {
      case OutputFormat::kProtobuf: {
        std::unique_ptr<Message> parsed(expected.New());
        ASSERT_TRUE(parsed->ParseFromString(output));
        // Unknown fields would be in there, too.
        EXPECT_TRUE(parsed->SerializeAsString() == expected.SerializeAsString())
            << parsed->ShortDebugString().substr(0, 2000) << "\ninstead of\n"
            << expected.ShortDebugString().substr(0, 2000);
        return;
      }
      case OutputFormat::kSlots:
        return CheckSlots(output, expected);
      case OutputFormat::kSlotsAndCursors:
        return CheckSlots(Comparable(output), expected);
      case OutputFormat::kNone:
        EXPECT_EQ(output, "");
        return;
    }
    FAIL() << "not a format";
  }

  // One encoder writes the whole cycle, as in a benchmark: its state after one
  // message must not affect the next message.
  void CheckCycle(const AnyInputCycle& inputs) {
    constexpr size_t kMostMessages = 2048;
    constexpr size_t kMostBytes = 4 * 1024 * 1024;
    const size_t count = std::min(
        {inputs.size(), kMostMessages, kMostBytes / workload().slot_size});
    std::unique_ptr<Encoder> encoder = entry().create();
    GuardedOutput output(workload().slot_size);
    for (size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(i);
      CheckOutput(output.Encode(encoder.get(), inputs, i),
                  *ExpectedMessage(inputs, i));
      if (HasFailure())
        return;
    }
  }
};

TEST_P(BenchmarkOutputsTest, ConstantInputIsEncodedFaithfully) {
  CheckCycle(*MakeInputs(false));
}

TEST_P(BenchmarkOutputsTest, RandomInputsAreEncodedFaithfully) {
  CheckCycle(*MakeInputs(true));
}

// Tests that no encoder leaves out a part of the message. Ours may use at most
// 3 bytes more for each nested message, for its padded size field.
TEST_P(BenchmarkOutputsTest, SizeIsThatOfTheMessage) {
  const std::unique_ptr<AnyInputCycle> inputs = MakeInputs(false);
  const std::unique_ptr<Message> expected = ExpectedMessage(*inputs, 0);
  std::unique_ptr<Encoder> encoder = entry().create();
  GuardedOutput output(workload().slot_size);
  const size_t size = output.Encode(encoder.get(), *inputs, 0).size();
  size_t least = 0;
  size_t padding = 0;
  switch (entry().format) {
    case OutputFormat::kProtobuf:
      least = expected->ByteSizeLong();
      padding = 3 * CountNested(*expected);
      break;
    case OutputFormat::kSlots:
      least = SlotsOf(*expected).size() * sizeof(uint64_t);
      break;
    case OutputFormat::kSlotsAndCursors:
      least = SlotsOf(*expected).size() * sizeof(uint64_t);
      padding = (1 + CountNested(*expected)) * sizeof(uint64_t);
      break;
    case OutputFormat::kNone:
      break;
  }
  EXPECT_GE(size, least);
  EXPECT_LE(size, least + padding);
}

// The benchmark measures EncodeBatch(). It must encode the same bytes, and the
// next message of the cycle into the next slot of the ring.
TEST_P(BenchmarkOutputsTest, LoopEncodesEveryInputIntoItsSlot) {
  const std::unique_ptr<AnyInputCycle> inputs = MakeInputs(true);
  const size_t slot_size = workload().slot_size;
  const size_t first = inputs->size() - 2;  // goes round both ends
  constexpr size_t kCount = 5;
  for (bool reads_back : {false, true}) {
    if (reads_back && slot_size != kSlotSize)
      continue;
    OutputRing ring(8 * slot_size, slot_size);
    std::unique_ptr<Encoder> encoder = entry().create();
    const size_t bytes = encoder->EncodeBatch(
        {inputs.get(), &ring, slot_size, first, kCount, reads_back});
    size_t expected_bytes = 0;
    GuardedOutput output(slot_size);
    for (size_t i = first; i < first + kCount; ++i) {
      const std::string expected = output.Encode(encoder.get(), *inputs, i);
      expected_bytes += expected.size();
      const std::string in_ring(reinterpret_cast<const char*>(ring.At(i)),
                                expected.size());
      EXPECT_TRUE(Comparable(in_ring) == Comparable(expected)) << i;
    }
    EXPECT_EQ(bytes, expected_bytes);
  }
}

class CallSitesTest : public BenchmarkOutputsTest {};

TEST_P(CallSitesTest, EachOfThemEncodesTheSame) {
  const std::unique_ptr<AnyInputCycle> inputs = MakeInputs(true);
  std::unique_ptr<Encoder> encoder = entry().create();
  GuardedOutput output(workload().slot_size);
  const std::set<CallSite> different(entry().call_sites->begin(),
                                     entry().call_sites->end());
  EXPECT_EQ(different.size(), kCallSites);
  for (size_t i = 0; i < kCallSites; ++i) {
    const std::string expected = output.Encode(encoder.get(), *inputs, i);
    EXPECT_EQ(
        output.EncodeAt((*entry().call_sites)[i], encoder.get(), *inputs, i),
        expected)
        << i;
  }
}

std::vector<Row> AllRows() {
  // Larger messages of the same kind take time and show nothing new.
  constexpr size_t kLargestSlot = 512 * 1024;
  const EncoderList encoders = AllEncoders();
  std::vector<Row> rows;
  for (const Workload& workload : AllWorkloads(SampleCorpus())) {
    for (const EncoderEntry& entry : encoders) {
      if (entry.workload == workload.name && workload.slot_size <= kLargestSlot)
        rows.push_back({workload, entry});
    }
  }
  return rows;
}

// Returns the rows that are measured with cold code.
std::vector<Row> RowsWithCallSites() {
  std::vector<Row> rows;
  for (const Row& row : AllRows()) {
    if (row.entry.call_sites != nullptr)
      rows.push_back(row);
  }
  return rows;
}

std::string TestName(const ::testing::TestParamInfo<Row>& info) {
  return info.param.name();
}

INSTANTIATE_TEST_SUITE_P(AllRows,
                         BenchmarkOutputsTest,
                         ::testing::ValuesIn(AllRows()),
                         TestName);
INSTANTIATE_TEST_SUITE_P(AllRows,
                         CallSitesTest,
                         ::testing::ValuesIn(RowsWithCallSites()),
                         TestName);

// A row without a counterpart would be compared with nothing.
TEST(BenchmarkListTest, EveryWorkloadHasItsCounterparts) {
  std::map<std::string, std::set<std::string>> implementations_of;
  std::set<std::string> all;
  for (const EncoderEntry& entry : AllEncoders()) {
    EXPECT_TRUE(
        implementations_of[entry.workload].insert(entry.implementation).second)
        << entry.implementation << " has " << entry.workload << " twice";
    // OneByOne is a second way to write the field of packed workloads only, and
    // messages end in a string in many ways of their own.
    if (entry.implementation != "OneByOne" && entry.workload != "String")
      all.insert(entry.implementation);
  }
  std::set<std::string> workloads;
  for (const Workload& workload : AllWorkloads(SampleCorpus()))
    workloads.insert(workload.name);
  for (const auto& [workload, implementations] : implementations_of) {
    EXPECT_EQ(workloads.count(workload), 1u) << workload;
    for (const char* name : {"Empty", "Slots", "Protozero", "Libprotobuf"}) {
      // The floor of strings is a copy of the bytes, without fields.
      if (workload == "String" && strcmp(name, "Slots") == 0)
        continue;
      EXPECT_EQ(implementations.count(name), 1u) << workload << " " << name;
    }
  }
  EXPECT_EQ(workloads.size(), implementations_of.size());
  EXPECT_EQ(implementations_of["Simple"], all);
  EXPECT_EQ(implementations_of["Nested"], all);
}

TEST(BenchmarkListTest, WithoutTraceThereAreAllOtherWorkloads) {
  for (const Workload& workload : AllWorkloads(nullptr))
    EXPECT_NE(workload.name, "MixedCorpus");
  EXPECT_EQ(AllWorkloads(nullptr).size() + 1,
            AllWorkloads(SampleCorpus()).size());
}

TEST(EventCycleTest, ConstantVarintsTakeFiveBytes) {
  const EventCycle events(1);
  // Four one-byte tags with five bytes each, and a two-byte tag with its
  // string.
  const size_t simple_size = 4u * (1 + 5) + 2 + 1 + kStringSize;
  EXPECT_EQ(EventMessage(events.At(0), 1).ByteSizeLong(), simple_size);
  EXPECT_EQ(simple_size, 58u);
  EXPECT_EQ(EventMessage(events.At(0), kNestedDepth).ByteSizeLong(), 239u);
  EXPECT_EQ(events.At(1), events.At(0));
}

size_t BitLength(uint64_t value) {
  size_t length = 0;
  for (; value != 0; value >>= 1)
    ++length;
  return length;
}

size_t VarintSize(uint64_t value) {
  return std::max<size_t>(1, (BitLength(value) + 6) / 7);
}

TEST(EventCycleTest, RandomBitLengthsAreUniform) {
  const EventCycle events(kRandomCycleSize);
  std::array<size_t, 64> lengths32 = {};
  std::array<size_t, 64> lengths64 = {};
  for (size_t i = 0; i < events.size(); ++i) {
    const Event& event = *events.At(i);
    ASSERT_GT(event.number_int32, 0);
    ASSERT_GT(event.number_int64, 0);
    ++lengths32[BitLength(static_cast<uint64_t>(event.number_int32))];
    ++lengths32[BitLength(event.number_uint32)];
    ++lengths64[BitLength(static_cast<uint64_t>(event.number_int64))];
    ++lengths64[BitLength(event.number_uint64)];
  }
  // Two fields of each width: 2114 and 1040 values of each length are expected.
  // The bounds are 6 standard deviations away.
  static_assert(kRandomCycleSize == 32768, "as computed");
  for (size_t length = 1; length <= 31; ++length)
    EXPECT_NEAR(static_cast<double>(lengths32[length]), 2114, 271) << length;
  for (size_t length = 1; length <= 63; ++length)
    EXPECT_NEAR(static_cast<double>(lengths64[length]), 1040, 192) << length;
  EXPECT_EQ(events.At(kRandomCycleSize), events.At(0));
}

TEST(EventCycleTest, MessageThatBeginsAtTheEndOfTheCycleContinuesAtItsStart) {
  const EventCycle events(kRandomCycleSize);
  const Event* last = events.At(kRandomCycleSize - 1);
  for (size_t i = 0; i < EventCycle::kOverlap; ++i)
    EXPECT_EQ(memcmp(&last[1 + i], events.At(i), sizeof(Event)), 0) << i;
}

TEST(InputsTest, RandomVarintsHaveAllLengthsEquallyOften) {
  const auto inputs = MakeRandomVarints();
  std::array<size_t, 11> counts = {};
  for (size_t i = 0; i < inputs->size(); ++i) {
    for (uint64_t value : inputs->At(i)->values)
      ++counts[VarintSize(value)];
  }
  // The bounds are 6 standard deviations away.
  ASSERT_EQ(inputs->size() * 8, 131072u);
  for (size_t size = 1; size <= 10; ++size)
    EXPECT_NEAR(static_cast<double>(counts[size]), 13107, 652) << size;
}

TEST(InputsTest, TimestampsGrowByTheirDeltas) {
  const auto inputs = MakeTimestamps();
  std::array<size_t, 11> counts = {};
  uint64_t now = inputs->At(0)->values[0] - inputs->At(0)->values[1];
  for (size_t i = 0; i < inputs->size(); ++i) {
    const auto& values = inputs->At(i)->values;
    for (size_t event = 0; event < values.size(); event += 2) {
      now += values[event + 1];
      ASSERT_EQ(values[event], now);
      ASSERT_EQ(VarintSize(now), 7u);
      ASSERT_GE(values[event + 1], 128u);
      ASSERT_LT(values[event + 1], 8'388'608u);
      ++counts[VarintSize(values[event + 1])];
    }
  }
  // There are 16 bit lengths: 7 take two bytes, 7 take three and 2 take four.
  ASSERT_EQ(inputs->size() * 4, 65536u);
  EXPECT_NEAR(static_cast<double>(counts[2]), 28672, 762);
  EXPECT_NEAR(static_cast<double>(counts[3]), 28672, 762);
  EXPECT_NEAR(static_cast<double>(counts[4]), 8192, 508);
}

TEST(InputsTest, RandomBytesHaveAllSizes) {
  const auto inputs = MakeRandomBytes();
  std::set<size_t> sizes;
  for (size_t i = 0; i < inputs->size(); ++i)
    sizes.insert(inputs->At(i)->size);
  EXPECT_EQ(sizes.size(), 301u);
  EXPECT_EQ(*sizes.begin(), 0u);
  EXPECT_EQ(*sizes.rbegin(), 300u);
}

TEST(InputsTest, ThirtyFieldsAreAllSet) {
  const auto inputs = MakeThirtyFields();
  std::vector<const FieldDescriptor*> fields;
  const benchmark::ThirtyFields message = ThirtyFieldsMessage(inputs->At(0));
  message.GetReflection()->ListFields(message, &fields);
  EXPECT_EQ(fields.size(), 30u);
}

TEST(InputsTest, SizedChildrenMakeMessagesOfThatSize) {
  for (size_t count : {1u, 4u, 1024u, 4096u}) {
    const auto inputs = MakeSizedChildren(count);
    for (size_t i = 0; i < inputs->size(); ++i)
      ASSERT_EQ(ChildrenMessage(inputs->At(i)).ByteSizeLong(), 16 * count);
  }
}

TEST(InputsTest, RepliesHaveTheSizesOfTheirRows) {
  for (size_t size : kReplySizes) {
    const auto inputs = MakeReply(size);
    EXPECT_EQ(ReplyMessage(inputs->At(0)).ByteSizeLong(), size);
    EXPECT_EQ(inputs->At(0)->size, size);
  }
}

TEST(InputsTest, RecordsTakeSeveralChunks) {
  const auto inputs = MakeRecords();
  EXPECT_GT(RecordsMessage(inputs->At(0)).ByteSizeLong(), 2 * kChunkSize);
}

TEST(TraceCorpusTest, PacketsFollowEachOtherInOrder) {
  const auto corpus = SampleCorpus();
  ASSERT_EQ(corpus->packets.size(),
            static_cast<size_t>(SampleTrace().packet_size()));
  const auto inputs = MakeTracePackets(corpus);
  EXPECT_GE(inputs->size(), 4 * corpus->packets.size());
  for (size_t i = 0; i < inputs->size(); ++i) {
    const TracePacketInput& packet =
        corpus->packets[i % corpus->packets.size()];
    ASSERT_EQ(inputs->At(i)->timestamp, packet.timestamp) << i;
    ASSERT_EQ(inputs->At(i)->name.data, packet.name.data) << i;
  }
}

std::string ErrorOf(const std::string& trace) {
  std::string error;
  EXPECT_FALSE(ParseTrace(trace, &error));
  return error;
}

TEST(TraceCorpusTest, WhatIsNoTraceIsAnError) {
  EXPECT_EQ(ErrorOf(""), "no packets");
  EXPECT_EQ(ErrorOf("\xff"), "not a trace");
}

TEST(TraceCorpusTest, WhatCouldNotBeWrittenAgainIsAnError) {
  const std::string error =
      "packet 2 is not one that examples/ninja_trace writes";
  Trace counter = SampleTrace();
  counter.mutable_packet(2)->mutable_track_event()->set_counter_value(1);
  EXPECT_EQ(ErrorOf(counter.SerializeAsString()), error);
  Trace unknown = SampleTrace();
  unknown.mutable_packet(2)->mutable_unknown_fields()->AddVarint(999, 1);
  EXPECT_EQ(ErrorOf(unknown.SerializeAsString()), error);
  Trace two_categories = SampleTrace();
  two_categories.mutable_packet(2)->mutable_track_event()->add_category_iids(1);
  EXPECT_EQ(ErrorOf(two_categories.SerializeAsString()), error);
}

}  // namespace
}  // namespace bench
}  // namespace protozero
