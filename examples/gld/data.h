// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef EXAMPLES_GLD_DATA_H_
#define EXAMPLES_GLD_DATA_H_

#include <stdint.h>

#include <random>
#include <string>
#include <vector>

// The objects that the suite has encoded and decoded, with the sizes of its
// default run. The suite asks for the same objects in each run of one language,
// not for those of other languages.

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  // Returns a number from |min| to |max|.
  int32_t Int(int32_t min, int32_t max) {
    const auto count = static_cast<uint64_t>(max - min) + 1;
    return min + static_cast<int32_t>(engine_() % count);
  }
  bool Bool() { return Int(0, 1) != 0; }
  double Double(double max) {
    return max * static_cast<double>(engine_() >> 11) / 9007199254740992.0;
  }
  // Returns |min| to |max| letters.
  std::string Word(int32_t min, int32_t max) {
    std::string word(static_cast<size_t>(Int(min, max)), ' ');
    for (char& letter : word)
      letter = static_cast<char>('a' + Int(0, 25));
    return word;
  }
  // Returns a time of one day, in milliseconds.
  int64_t Time() { return 1700000000000 + Int(0, 86400000); }

 private:
  std::mt19937_64 engine_;
};

struct FlatData {
  explicit FlatData(Random* random)
      : bool_1(random->Bool()),
        int32_1(random->Int(0, 1000000)),
        int64_1(random->Int(0, 1000000)),
        double_1(random->Double(1000)),
        string_1(random->Word(3, 16)),
        bool_2(random->Bool()),
        int32_2(random->Int(0, 1000000)),
        string_2(random->Word(3, 16)) {}
  FlatData() = default;
  bool operator==(const FlatData& other) const {
    return bool_1 == other.bool_1 && int32_1 == other.int32_1 &&
           int64_1 == other.int64_1 && double_1 == other.double_1 &&
           string_1 == other.string_1 && bool_2 == other.bool_2 &&
           int32_2 == other.int32_2 && string_2 == other.string_2;
  }

  bool bool_1;
  int32_t int32_1;
  int64_t int64_1;
  double double_1;
  std::string string_1;
  bool bool_2;
  int32_t int32_2;
  std::string string_2;
};

struct DocumentData {
  struct Item {
    bool operator==(const Item& other) const {
      return sku == other.sku && quantity == other.quantity &&
             price == other.price;
    }
    std::string sku;
    int32_t quantity;
    int64_t price;
  };

  explicit DocumentData(Random* random)
      : id(random->Word(8, 12)),
        status(random->Int(0, 5)),
        region(random->Word(3, 12)),
        version(random->Int(1, 10)) {
    for (int i = 0; i < 8; ++i) {
      items.push_back(
          {random->Word(3, 12), random->Int(1, 100), random->Int(0, 100000)});
    }
  }
  DocumentData() = default;
  bool operator==(const DocumentData& other) const {
    return id == other.id && status == other.status && region == other.region &&
           version == other.version && items == other.items;
  }

  std::string id;
  int32_t status;
  std::string region;
  int32_t version;
  std::vector<Item> items;
};

struct TelemetryData {
  explicit TelemetryData(Random* random)
      : source(random->Word(3, 10)), time_ms(random->Time()) {
    for (int i = 0; i < 2; ++i)
      tags.push_back(random->Word(3, 10));
    for (int i = 0; i < 32; ++i)
      values.push_back(random->Double(100));
  }
  TelemetryData() = default;
  bool operator==(const TelemetryData& other) const {
    return source == other.source && time_ms == other.time_ms &&
           tags == other.tags && values == other.values;
  }

  std::string source;
  int64_t time_ms;
  std::vector<std::string> tags;
  std::vector<double> values;
};

struct StringsData {
  // One in ten repeats another one.
  explicit StringsData(Random* random) {
    for (int i = 0; i < 32; ++i) {
      items.push_back(i > 0 && random->Int(0, 9) == 0
                          ? items[static_cast<size_t>(random->Int(0, i - 1))]
                          : random->Word(3, 16));
    }
  }
  StringsData() = default;
  bool operator==(const StringsData& other) const {
    return items == other.items;
  }

  std::vector<std::string> items;
};

struct EventData {
  struct Attribute {
    bool operator==(const Attribute& other) const {
      return key == other.key && value == other.value;
    }
    std::string key;
    std::string value;
  };

  explicit EventData(Random* random)
      : id(random->Word(8, 12)),
        type(random->Word(3, 12)),
        time_ms(random->Time()),
        producer(random->Word(3, 12)) {
    for (int i = 0; i < 4; ++i)
      attributes.push_back({random->Word(3, 12), random->Word(3, 12)});
  }
  EventData() = default;
  bool operator==(const EventData& other) const {
    return id == other.id && type == other.type && time_ms == other.time_ms &&
           producer == other.producer && attributes == other.attributes;
  }

  std::string id;
  std::string type;
  int64_t time_ms;
  std::string producer;
  std::vector<Attribute> attributes;
};

#endif  // EXAMPLES_GLD_DATA_H_
