// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_IPC_MESSAGES_H_
#define SRC_TRACING_IPC_MESSAGES_H_

#include <vector>

#include "protozero/const_bytes.h"
#include "protozero/tracing/data_source_config.h"
#include "protozero/tracing/producer_endpoint.h"
#include "src/tracing/protos/data_source.pbzero.h"
#include "src/tracing/protos/namespace.h"
#include "src/tracing/protos/producer_port.pbzero.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

// Convert between the messages of the protocol and the structs of the API.
// Reading returns false if the message is malformed. A number that is out of
// its type's range becomes one that is not valid.

void WriteDataSourceDescriptor(const DataSourceDescriptor& descriptor,
                               tracing::pbzero::DataSourceDescriptor* message);
bool ReadDataSourceDescriptor(ConstBytes message,
                              DataSourceDescriptor* descriptor);

void WriteDataSourceConfig(const DataSourceConfig& config,
                           tracing::pbzero::DataSourceConfig* message);
bool ReadDataSourceConfig(ConstBytes message, DataSourceConfig* config);

void WriteCommitDataRequest(const CommitDataRequest& request,
                            tracing::pbzero::CommitDataRequest* message);

// Reads a request, and holds its memory. A reader that is reused does not
// allocate. The request is valid until the next Read(), and as long as the
// message.
class CommitDataReader {
 public:
  bool Read(ConstBytes message);
  const CommitDataRequest& request() const { return request_; }

 private:
  std::vector<CommitDataRequest::ChunkToMove> chunks_to_move_;
  std::vector<CommitDataRequest::ChunkToPatch> chunks_to_patch_;
  std::vector<CommitDataRequest::Patch> patches_;
  std::vector<CommitDataRequest::WriterLosses> losses_;
  CommitDataRequest request_{};
};

PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_IPC_MESSAGES_H_
