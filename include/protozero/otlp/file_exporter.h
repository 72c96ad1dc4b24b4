// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef INCLUDE_PROTOZERO_OTLP_FILE_EXPORTER_H_
#define INCLUDE_PROTOZERO_OTLP_FILE_EXPORTER_H_

#include <stddef.h>
#include <stdint.h>

#include <atomic>
#include <string>

#include "protozero/otlp/batch_sink.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace otlp {

// The formats of files with spans or logs.
enum class FileFormat : uint8_t {
  // Messages TracesData or LogsData, each after its size as a varint, as
  // protobuf's libraries and DelimitedReader read them.
  kDelimited,
  // The same after a size of four bytes, the highest first, as the file
  // exporter of OpenTelemetry's Collector writes them.
  kCollector,
  // A line of OTLP's JSON for each message, as the specification of file
  // exporters says.
  kJsonLines,
};

// Appends batches to files: one for spans and one for logs, since a file has
// one kind. A batch is written at once, so several programs, and the child of a
// fork(), may append to the same file. What cannot be written whole is taken
// back, as far as the file allows that, and counted as dropped. A pipe whose
// reader does not read is waited for until the batch's deadline.
class FileExporter : public BatchSink {
 public:
  // Opens the files, or makes them. An empty path is none: what would go there
  // is dropped. A pipe that no program reads is an error.
  explicit FileExporter(const std::string& spans_path,
                        const std::string& logs_path = {},
                        FileFormat format = FileFormat::kDelimited);
  ~FileExporter() override;
  FileExporter(const FileExporter&) = delete;
  FileExporter& operator=(const FileExporter&) = delete;

  // Returns the reason why a file could not be opened; empty if there is none.
  const std::string& error() const { return error_; }

  ExportResult Export(const Batch& batch) override;
  // Interrupts for good: pipes are not waited for any more.
  void Interrupt() override;

 private:
  int Open(const std::string& path);
  bool Write(int* descriptor, uint64_t deadline);
  bool WaitForRoom(int file, uint64_t deadline) const;
  ExportResult Failed(const char* what, int error);

  const FileFormat format_;
  // Before the files, whose opening sets it.
  std::string error_;
  int files_[2];
  std::atomic<bool> is_interrupted_{false};
  std::string reason_;
  std::string buffer_;
};

}  // namespace otlp
PROTOZERO_ABI_END
}  // namespace protozero

#include "protozero/internal/undef_macros.h"

#endif  // INCLUDE_PROTOZERO_OTLP_FILE_EXPORTER_H_
