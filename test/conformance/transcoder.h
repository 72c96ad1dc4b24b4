// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef TEST_CONFORMANCE_TRANSCODER_H_
#define TEST_CONFORMANCE_TRANSCODER_H_

#include <stdint.h>

#include <map>
#include <string>
#include <vector>

#include "protozero/field.h"
#include "protozero/message.h"
#include "src/pbz/schema.h"

namespace protozero::conformance {

// Reads messages with ProtoDecoder and writes them with Message. The output is
// that of a protobuf library that has parsed the message to objects: each
// singular field once, messages merged, entries of maps without duplicates,
// repeated fields packed as the schema says, and unknown fields unchanged.
class Transcoder {
 public:
  // |drops_unknown_fields| is a mistake, to see whether it is found.
  explicit Transcoder(bool drops_unknown_fields)
      : drops_unknown_fields_(drops_unknown_fields) {}

  // Appends to |out| the fields of the message |in|. Returns false if it is
  // malformed; error() tells why, and some fields may have been appended.
  bool Transcode(const pbz::MessageType& type, ConstBytes in, Message* out) {
    depth_ = 0;
    return TranscodeMessage(type, in, out);
  }

  // In words. For the last call that returned false.
  const std::string& error() const { return error_; }

 private:
  using Fields = std::vector<Field>;

  bool TranscodeMessage(const pbz::MessageType&, ConstBytes, Message*);
  bool TranscodeFields(const pbz::MessageType&, ConstBytes, Message*);
  bool TranscodeMessageSet(const pbz::MessageType&, ConstBytes, Message*);

  // Write the occurrences of one field: in the order of the input, one or more.
  bool Write(const pbz::FieldType&, const Fields&, Message*);
  bool WriteMessages(const pbz::FieldType&, const Fields&, Message*);
  bool WriteMap(const pbz::FieldType&, const Fields&, Message*);
  bool WriteStrings(const pbz::FieldType&, const Fields&, Message*);
  template <pbz::SchemaType>
  bool WriteScalars(const pbz::FieldType&, const Fields&, Message*);

  void WriteUnknown(const Field&, Message*);

  bool Fail(std::string error);

  const bool drops_unknown_fields_;
  int depth_ = 0;
  std::string error_;
};

}  // namespace protozero::conformance

#endif  // TEST_CONFORMANCE_TRANSCODER_H_
