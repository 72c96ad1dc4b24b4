// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Makes pbz decode any file, with and without a schema, and export it. The
// first byte chooses the options:
//   bit 0  the first field is a descriptor set, which is the schema
//   bit 1  --offsets
//   bit 2  --color
//   bits 3 to 7  the size of the blocks in which the file is read

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <iterator>
#include <memory>
#include <string>

#include "protozero/proto_decoder.h"
#include "src/pbz/field_stats.h"
#include "src/pbz/field_stream.h"
#include "src/pbz/input_kind.h"
#include "src/pbz/message_items.h"
#include "src/pbz/printer.h"
#include "src/pbz/report.h"
#include "src/pbz/row_columns.h"
#include "src/pbz/schema.h"
#include "src/pbz/walk.h"
#include "src/table/table_format.h"
#include "test/fuzz/check.h"

namespace {

using protozero::ConstBytes;
using protozero::test::Check;

// A printer that remembers if anything was malformed.
class CheckedPrinter : public pbz::Printer {
 public:
  using Printer::Printer;

  void OnMalformed(uint64_t offset, size_t size, const char* reason) override {
    Printer::OnMalformed(offset, size, reason);
    Check(reason && *reason, "no reason");
    ++malformed;
  }

  size_t malformed = 0;
};

struct Output {
  std::string text;
  size_t malformed = 0;
};

template <typename Use>
Output Print(const pbz::Printer::Options& options, Use use) {
  char* text = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  CheckedPrinter printer(file, options);
  use(&printer);
  fclose(file);
  Output output{std::string(text, size), printer.malformed};
  free(text);
  return output;
}

// Calls |use| with each run of fields of a file. Returns the number of bytes in
// all runs.
template <typename Use>
uint64_t Stream(ConstBytes bytes,
                size_t block_size,
                pbz::Framing framing,
                Use use) {
  static uint8_t nothing;
  FILE* file =
      fmemopen(const_cast<uint8_t*>(bytes.size ? bytes.data : &nothing),
               bytes.size ? bytes.size : 1, "rb");
  if (bytes.size == 0)
    fgetc(file);
  pbz::FieldStream stream(file, block_size, framing);
  pbz::FieldStream::Run run;
  uint64_t offset = 0;
  while (stream.Next(&run)) {
    Check(run.size + run.size_size != 0 && run.offset == offset + run.size_size,
          "runs do not follow");
    offset += run.size_size + run.size;
    use(ConstBytes(run.data, run.size), run.offset);
  }
  const uint64_t rest = stream.SkipRest();
  Check(stream.error().empty(), "an error of the system");
  fclose(file);
  return offset + rest;
}

// Writes |bytes| as a row. REQUIRES: they are well-formed.
void ExportRow(const pbz::MessageType& type, ConstBytes bytes) {
  std::string error;
  const auto columns = pbz::RowColumns::Choose(type, "", &error);
  Check(columns || !error.empty(), "no columns and no error");
  if (!columns)
    return;
  pbz::MalformedReport report("pbz_fuzzer", "file");
  pbz::MessageItems message;
  Check(message.Read(bytes, 0, type, &report), "malformed as a row only");
  for (const auto format :
       {table::TableFormat::kCsv, table::TableFormat::kNdjson}) {
    char* text = nullptr;
    size_t size = 0;
    FILE* file = open_memstream(&text, &size);
    {
      const auto rows =
          table::CreateRows(file, {format, true}, columns->Columns());
      columns->Write(message.items(), rows.get());
      rows->EndRow();
    }
    fclose(file);
    Check(size != 0 && text[size - 1] == '\n', "no row");
    free(text);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0)
    return -1;
  const uint8_t choice = data[0];
  ConstBytes bytes(data + 1, size - 1);
  pbz::Printer::Options options;
  options.offsets = (choice & 2) != 0;
  options.color = (choice & 4) != 0;
  const size_t block_size = 1 + (choice >> 3);

  std::unique_ptr<pbz::Schema> schema;
  const pbz::MessageType* type = nullptr;
  if (choice & 1) {
    protozero::ProtoDecoder decoder(bytes);
    const protozero::Field field = decoder.ReadField();
    std::string error;
    schema = pbz::Schema::Parse(field.as_bytes(), &error);
    Check(schema || !error.empty(), "no schema and no error");
    if (!schema)
      return 0;
    // The test takes any type.
    auto it = schema->messages().begin();
    std::advance(it, size % schema->messages().size());
    type = &it->second;
    bytes =
        ConstBytes(bytes.data + decoder.read_offset(), decoder.bytes_left());
  }

  const Output whole = Print(options, [&](pbz::Visitor* visitor) {
    pbz::Walk(bytes, 0, type, visitor);
  });
  const Output streamed = Print(options, [&](pbz::Visitor* visitor) {
    const uint64_t read = Stream(bytes, block_size, pbz::Framing::kOneMessage,
                                 [&](ConstBytes run, uint64_t offset) {
                                   pbz::Walk(run, offset, type, visitor);
                                 });
    Check(read == bytes.size, "bytes were lost");
  });
  Print(options, [&](pbz::Visitor* visitor) {
    const uint64_t read = Stream(bytes, block_size, pbz::Framing::kDelimited,
                                 [&](ConstBytes run, uint64_t offset) {
                                   visitor->OnMessage(offset, run.size, 1);
                                   pbz::Walk(run, offset, type, visitor);
                                 });
    Check(read == bytes.size, "bytes of messages were lost");
  });
  for (const auto framing :
       {pbz::Framing::kOneMessage, pbz::Framing::kDelimited}) {
    for (const bool is_whole : {false, true})
      pbz::WhyUnreadable(bytes, is_whole, framing, "file");
  }
  Check(whole.malformed == streamed.malformed,
        "malformed in a stream only, or elsewhere only");
  Check(whole.malformed || whole.text == streamed.text,
        "a stream is shown otherwise");

  // With a low limit of different paths, the limit is tested, too.
  pbz::Stats stats(50);
  pbz::Walk(bytes, 0, type, &stats);
  uint64_t sum = 0;
  for (const pbz::Stats::Path& path : stats.Paths()) {
    Check(path.overhead <= path.bytes && path.bytes <= path.total,
          "more overhead than bytes");
    sum += path.bytes;
  }
  Check(sum == bytes.size, "the statistics do not sum up");
  if (type && whole.malformed == 0)
    ExportRow(*type, bytes);
  return 0;
}
