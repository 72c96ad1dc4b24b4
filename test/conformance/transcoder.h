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

// A transcoder reads messages with ProtoDecoder and writes them with Message.
// The output is the same as from a protobuf library that parses the message to
// objects: it has each singular field once, merged messages, map entries
// without duplicates, repeated fields packed as the schema says, and unknown
// fields unchanged.
class Transcoder {
 public:
  // |drops_unknown_fields| makes a mistake, to test that the tests find it.
  explicit Transcoder(bool drops_unknown_fields)
      : drops_unknown_fields_(drops_unknown_fields) {}

  // Appends the fields of the message |in| to |out|. Returns false if it is
  // malformed; then error() has the reason, and |out| may have some fields.
  bool Transcode(const pbz::MessageType& type, ConstBytes in, Message* out) {
    depth_ = 0;
    return TranscodeMessage(type, in, out);
  }

  // Returns the error of the last call that returned false, in words.
  const std::string& error() const { return error_; }

 private:
  using Fields = std::vector<Field>;

  bool TranscodeMessage(const pbz::MessageType&, ConstBytes, Message*);
  bool TranscodeFields(const pbz::MessageType&, ConstBytes, Message*);
  bool TranscodeMessageSet(const pbz::MessageType&, ConstBytes, Message*);

  // Write all occurrences of one field, in the order of the input. REQUIRES:
  // there is at least one.
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
