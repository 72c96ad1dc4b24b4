// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// The program that protobuf's official conformance_test_runner tests. It reads
// a message of a type that the request names, and writes it again. It does so
// with the headers for C, too, and fails if these read or write anything else.
// See run.py.
//
//   conformance_testee DESCRIPTOR_SET [--drop-unknown-fields]
//
// It reads requests from the standard input and answers each on the standard
// output. In front of each message is its size in four bytes, the lowest first.

#include <stdio.h>
#include <string.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "protozero/internal/byte_order.h"
#include "protozero/proto_decoder.h"
#include "protozero/scattered_heap_buffer.h"
#include "src/pbz/schema.h"
#include "test/conformance/c_copy.h"
#include "test/conformance/protocol.pbzero.h"
#include "test/conformance/transcoder.h"

namespace protozero::conformance {
namespace {

using pbzero::ConformanceRequest;
using pbzero::ConformanceResponse;

// The type of the runner's first request: it asks for the expected failures. An
// empty answer is enough, because run.py tells them to the runner.
constexpr std::string_view kFailureSet = "conformance.FailureSet";

void Answer(const pbz::Schema& schema,
            Transcoder* transcoder,
            const std::string& bytes,
            ConformanceResponse* response) {
  const ConformanceRequest::Decoder request(bytes);
  if (request.status() != DecodeStatus::kOk) {
    return response->set_runtime_error(std::string("the request: ") +
                                       DecodeStatusToString(request.status()));
  }
  const std::string type_name = request.message_type().ToStdString();
  if (type_name == kFailureSet)
    return response->set_protobuf_payload(ConstBytes());
  if (!request.has_protobuf_payload() ||
      request.requested_output_format() != pbzero::WireFormat::PROTOBUF) {
    return response->set_skipped("neither JSON nor text");
  }
  const pbz::MessageType* type = schema.FindMessage(type_name);
  if (type == nullptr)
    return response->set_runtime_error("no such message: " + type_name);
  const std::string difference =
      CompareCWithCpp(*type, request.protobuf_payload());
  if (!difference.empty())
    return response->set_runtime_error("by C: " + difference);
  // The chunks are small, so that some messages are larger than a chunk.
  HeapBuffered<Message> out(64, 1024);
  if (!transcoder->Transcode(*type, request.protobuf_payload(), out.get()))
    return response->set_parse_error(transcoder->error());
  response->set_protobuf_payload(out.SerializeAsString());
}

std::optional<std::string> ReadFrame() {
  uint8_t size[4];
  if (fread(size, sizeof(size), 1, stdin) != 1)
    return std::nullopt;
  std::string frame(internal::LoadLittleEndian<uint32_t>(size), '\0');
  if (!frame.empty() && fread(frame.data(), frame.size(), 1, stdin) != 1)
    return std::nullopt;
  return frame;
}

bool WriteFrame(const std::string& frame) {
  uint8_t size[4];
  internal::StoreLittleEndian(size, static_cast<uint32_t>(frame.size()));
  return fwrite(size, sizeof(size), 1, stdout) == 1 &&
         (frame.empty() ||
          fwrite(frame.data(), frame.size(), 1, stdout) == 1) &&
         fflush(stdout) == 0;
}

int Main(int argc, char** argv) {
  const bool drops_unknown_fields =
      argc == 3 && strcmp(argv[2], "--drop-unknown-fields") == 0;
  if (argc != 2 && !drops_unknown_fields) {
    fprintf(stderr, "usage: %s DESCRIPTOR_SET [--drop-unknown-fields]\n",
            argv[0]);
    return 2;
  }
  std::ifstream file(argv[1], std::ios::binary);
  const std::string descriptors{std::istreambuf_iterator<char>(file), {}};
  std::string error;
  const std::unique_ptr<pbz::Schema> schema = pbz::Schema::Parse(
      ConstBytes(reinterpret_cast<const uint8_t*>(descriptors.data()),
                 descriptors.size()),
      &error);
  if (schema == nullptr) {
    fprintf(stderr, "%s: %s\n", argv[1], error.c_str());
    return 1;
  }
  Transcoder transcoder(drops_unknown_fields);
  while (const std::optional<std::string> request = ReadFrame()) {
    HeapBuffered<ConformanceResponse> response;
    Answer(*schema, &transcoder, *request, response.get());
    if (!WriteFrame(response.SerializeAsString()))
      return 1;
  }
  return 0;
}

}  // namespace
}  // namespace protozero::conformance

int main(int argc, char** argv) {
  return protozero::conformance::Main(argc, argv);
}
