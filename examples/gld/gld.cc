// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Measures this library for GLD.SerializerBenchmark: the data of its default
// run, and rows of its format for C++, which its analysis takes from logs/cpp.
//
//   gld [REPETITIONS [FOLDER]]
//
// The suite's "smoke" repeats 2 times, "full" 100 times. Prints the name of the
// file. BENCHMARK_SEED is the seed of the data, 42 by default.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <chrono>
#include <string>
#include <vector>

#include "data.h"
#include "protozero/config.h"
#include "protozero/const_bytes.h"
#include "protozero/scattered_heap_buffer.h"
#include "suite.pbzero.h"

namespace {

using namespace gld::pbzero;

// These leave out numbers that are zero, as other libraries do.

void Encode(const FlatData& data, Flat* message) {
  if (data.bool_1)
    message->set_bool_1(true);
  if (data.int32_1 != 0)
    message->set_int32_1(data.int32_1);
  if (data.int64_1 != 0)
    message->set_int64_1(data.int64_1);
  if (data.double_1 != 0)
    message->set_double_1(data.double_1);
  message->set_string_1(data.string_1);
  if (data.bool_2)
    message->set_bool_2(true);
  if (data.int32_2 != 0)
    message->set_int32_2(data.int32_2);
  message->set_string_2(data.string_2);
}
void Decode(protozero::ConstBytes bytes, FlatData* data) {
  const Flat::Decoder message(bytes);
  data->bool_1 = message.bool_1();
  data->int32_1 = message.int32_1();
  data->int64_1 = message.int64_1();
  data->double_1 = message.double_1();
  data->string_1 = message.string_1().ToStdString();
  data->bool_2 = message.bool_2();
  data->int32_2 = message.int32_2();
  data->string_2 = message.string_2().ToStdString();
}

void Encode(const DocumentData& data, Document* message) {
  message->set_id(data.id);
  if (data.status != 0)
    message->set_status(data.status);
  auto* const meta = message->set_meta();
  meta->set_region(data.region);
  meta->set_version(data.version);
  for (const DocumentData::Item& item : data.items) {
    auto* const added = message->add_items();
    added->set_sku(item.sku);
    added->set_quantity(item.quantity);
    if (item.price != 0)
      added->set_price(item.price);
  }
}
void Decode(protozero::ConstBytes bytes, DocumentData* data) {
  const Document::Decoder message(bytes);
  data->id = message.id().ToStdString();
  data->status = message.status();
  const Document_Meta::Decoder meta(message.meta());
  data->region = meta.region().ToStdString();
  data->version = meta.version();
  for (protozero::ConstBytes item_bytes : message.items()) {
    const Document_Item::Decoder item(item_bytes);
    data->items.push_back(
        {item.sku().ToStdString(), item.quantity(), item.price()});
  }
}

void Encode(const TelemetryData& data, Telemetry* message) {
  message->set_source(data.source);
  message->set_time_ms(data.time_ms);
  for (const std::string& tag : data.tags)
    message->add_tags(tag);
  message->set_values(data.values.data(), data.values.size());
}
void Decode(protozero::ConstBytes bytes, TelemetryData* data) {
  const Telemetry::Decoder message(bytes);
  data->source = message.source().ToStdString();
  data->time_ms = message.time_ms();
  for (protozero::ConstChars tag : message.tags())
    data->tags.push_back(tag.ToStdString());
  for (double value : message.values())
    data->values.push_back(value);
}

void Encode(const StringsData& data, Strings* message) {
  for (const std::string& item : data.items)
    message->add_items(item);
}
void Decode(protozero::ConstBytes bytes, StringsData* data) {
  const Strings::Decoder message(bytes);
  for (protozero::ConstChars item : message.items())
    data->items.push_back(item.ToStdString());
}

void Encode(const EventData& data, Event* message) {
  message->set_id(data.id);
  message->set_type(data.type);
  message->set_time_ms(data.time_ms);
  message->set_producer(data.producer);
  for (const EventData::Attribute& attribute : data.attributes) {
    auto* const added = message->add_attributes();
    added->set_key(attribute.key);
    added->set_value(attribute.value);
  }
}
void Decode(protozero::ConstBytes bytes, EventData* data) {
  const Event::Decoder message(bytes);
  data->id = message.id().ToStdString();
  data->type = message.type().ToStdString();
  data->time_ms = message.time_ms();
  data->producer = message.producer().ToStdString();
  for (protozero::ConstBytes attribute_bytes : message.attributes()) {
    const Event_Attribute::Decoder attribute(attribute_bytes);
    data->attributes.push_back(
        {attribute.key().ToStdString(), attribute.value().ToStdString()});
  }
}

// One file of rows.
struct Log {
  FILE* file;
  int repetitions;
  uint64_t seed;
  bool is_ok = true;
};

uint64_t NowNs() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

double PerSecond(uint64_t ns) {
  return ns == 0 ? 0 : 1e9 / static_cast<double>(ns);
}

// Has instances of |Data| encoded and decoded: one in a |Message|, or several
// in a |Batch|. |hash| is the suite's: the first 12 digits of the SHA-256 of
// the type's configuration as JSON.
template <typename Data, typename Message, typename Batch>
void Measure(Log* log, const char* type, const char* hash, size_t count) {
  std::vector<Data> input;
  for (size_t i = 0; i < count; ++i) {
    Random random(log->seed + i);
    input.emplace_back(&random);
  }
  // A program keeps these, so they are made before the time is taken.
  protozero::HeapBuffered<Message> message;
  protozero::HeapBuffered<Batch> batch;
  std::string bytes;
  for (int i = 0; i < log->repetitions; ++i) {
    std::vector<Data> output;
    const uint64_t begin = NowNs();
    bool is_ok = false;
    if (count == 1) {
      message.Reset();
      Encode(input[0], message.get());
      is_ok = message.SerializeToString(&bytes);
    } else {
      batch.Reset();
      for (const Data& data : input)
        Encode(data, batch->add_items());
      is_ok = batch.SerializeToString(&bytes);
    }
    const uint64_t encoded = NowNs();
    const protozero::ConstBytes all = {
        reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
    if (count == 1) {
      Decode(all, &output.emplace_back());
    } else {
      const typename Batch::Decoder decoder(all);
      for (protozero::ConstBytes item : decoder.items())
        Decode(item, &output.emplace_back());
    }
    const uint64_t decoded = NowNs();
    is_ok = is_ok && output == input;
    log->is_ok = log->is_ok && is_ok;
    fprintf(log->file,
            "cpp,bytes,%s,%d,%d,protozero,%d.%d.%d,%llu,%llu,%zu,%llu,%.6f,%."
            "6f,%.6f,"
            "%d,%zu,%s\n",
            type, log->repetitions, i, PROTOZERO_VERSION / 10000,
            PROTOZERO_VERSION / 100 % 100, PROTOZERO_VERSION % 100,
            static_cast<unsigned long long>(encoded - begin),
            static_cast<unsigned long long>(decoded - encoded), bytes.size(),
            static_cast<unsigned long long>(decoded - begin),
            PerSecond(encoded - begin), PerSecond(decoded - encoded),
            PerSecond(decoded - begin), is_ok ? 1 : 0, count, hash);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? atoi(argv[1]) : 100;
  const time_t now = time(nullptr);
  char name[32];
  strftime(name, sizeof(name), "/%Y-%m-%d-%H%M%S.csv", localtime(&now));
  const std::string path = (argc > 2 ? argv[2] : ".") + std::string(name);
  FILE* const file = fopen(path.c_str(), "w");
  if (repetitions < 1 || file == nullptr) {
    fprintf(stderr, "usage: gld [REPETITIONS [FOLDER]]\n");
    return 1;
  }
  const char* const seed = getenv("BENCHMARK_SEED");
  Log log = {file, repetitions,
             seed == nullptr ? 42 : strtoull(seed, nullptr, 10)};
  fputs(
      "Language,StringOrStream,TestDataName,Repetitions,RepetitionIndex,"
      "SerializerName,SerializerVersion,TimeSer,TimeDeser,Size,TimeSerAndDeser,"
      "OpPerSecSer,OpPerSecDeser,OpPerSecSerAndDeser,FidelityScore,"
      "DataTypeInstanceCount,TypeConfigHash\n",
      file);
  for (size_t count : {1u, 100u}) {
    Measure<FlatData, Flat, Flats>(&log, "message", "99d1c7fab316", count);
    Measure<DocumentData, Document, Documents>(&log, "document", "c4a54cdecc67",
                                               count);
    Measure<TelemetryData, Telemetry, Telemetries>(&log, "telemetry",
                                                   "0dc568076b54", count);
    Measure<StringsData, Strings, StringLists>(&log, "strings", "68ff6ad99f20",
                                               count);
    Measure<EventData, Event, Events>(&log, "event", "963dc8e1b85e", count);
  }
  const bool is_written = fclose(file) == 0;
  puts(path.c_str());
  return log.is_ok && is_written ? 0 : 1;
}
