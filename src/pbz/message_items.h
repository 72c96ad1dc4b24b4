// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_MESSAGE_ITEMS_H_
#define SRC_PBZ_MESSAGE_ITEMS_H_

#include <stddef.h>
#include <stdint.h>

#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/field.h"
#include "src/pbz/report.h"
#include "src/pbz/walk.h"
#include "src/program/value_sink.h"

namespace pbz {

// A field of a message whose schema is known.
struct Item {
  const FieldType* type = nullptr;
  protozero::Field field{};
  Shape shape = Shape::kNumber;
  // The index of the next item that is not in this one.
  uint32_t end = 0;
};

// The known fields of a message and of the messages in it, as a list in the
// order of the file. The items of a message follow its own item.
class MessageItems : public Visitor {
 public:
  // Reads |bytes|, a message of |type| at |offset| in the file, and forgets the
  // one before. Returns false if it is malformed; |report|, which may be null,
  // gets that. The items are valid as long as |bytes|.
  bool Read(protozero::ConstBytes bytes,
            uint64_t offset,
            const MessageType& type,
            MalformedReport* report);

  const std::vector<Item>& items() const { return items_; }

  void OnValue(const Node& node) override;
  void OnBegin(const Node& node) override;
  void OnEnd(const Node& node) override;
  void OnMessage(uint64_t, size_t, size_t) override {}
  void OnMalformed(uint64_t offset, size_t size, const char* reason) override;

 private:
  std::vector<Item> items_;
  std::vector<uint32_t> open_;
  int unknown_depth_ = 0;  // The number of unknown messages around.
  bool is_malformed_ = false;
  MalformedReport* report_ = nullptr;
};

// Gives the value of a field to |sink|: an array if it is repeated, a
// dictionary if it is a map. |parts| are its items in |all|. Parsers merge a
// message that is there several times, and take the last one of other values.
//
// Its JSON is protobuf's, with changes that databases read more easily:
// fields have the names of the schema, integers of 64 bits are numbers, and
// well-known types are messages like others. Names of fields and of enum values
// that would take more than 64 KB, and 64 bytes for each byte of the field, are
// numbers.
void AddFieldValue(const std::vector<Item>& all,
                   const std::vector<uint32_t>& parts,
                   const FieldType& type,
                   program::ValueSink* sink);

// Gives the message that has the items |all| to |sink|, as a dictionary.
void AddMessageValue(const std::vector<Item>& all, program::ValueSink* sink);

}  // namespace pbz

#endif  // SRC_PBZ_MESSAGE_ITEMS_H_
