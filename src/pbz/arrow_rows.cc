// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/arrow_rows.h"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <stddef.h>
#include <stdint.h>

#include <string>
#include <utility>

#include "src/pbz/text.h"

namespace pbz {

namespace {

// A batch ends at whichever comes first.
constexpr int64_t kMaxRows = 1 << 16;
constexpr size_t kMaxBytes = size_t{1} << 20;

// The large types: JSON may have more than the 2 GiB of the others.
std::shared_ptr<arrow::DataType> ArrowType(Column::Type type) {
  switch (type) {
    case Column::Type::kBool:
      return arrow::boolean();
    case Column::Type::kInt64:
      return arrow::int64();
    case Column::Type::kUint64:
      return arrow::uint64();
    case Column::Type::kDouble:
      return arrow::float64();
    case Column::Type::kBytes:
      return arrow::large_binary();
    case Column::Type::kText:
    case Column::Type::kJson:
      break;
  }
  return arrow::large_utf8();
}

std::shared_ptr<arrow::Schema> ArrowSchema(const std::vector<Column>& columns) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const Column& column : columns)
    fields.push_back(arrow::field(column.name, ArrowType(column.type)));
  return arrow::schema(std::move(fields));
}

// Errors stay in |file|.
class FileOutput : public arrow::io::OutputStream {
 public:
  explicit FileOutput(FILE* file) : file_(file) {
    set_mode(arrow::io::FileMode::WRITE);
  }

  arrow::Status Write(const void* data, int64_t size) override {
    const auto wanted = static_cast<size_t>(size);
    const size_t written = fwrite(data, 1, wanted, file_);
    position_ += static_cast<int64_t>(written);
    return written == wanted ? arrow::Status::OK()
                             : arrow::Status::IOError("not written");
  }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Close() override {
    is_closed_ = true;
    return arrow::Status::OK();
  }
  bool closed() const override { return is_closed_; }

 private:
  FILE* const file_;
  int64_t position_ = 0;
  bool is_closed_ = false;
};

class ArrowRows : public RowWriter {
 public:
  ArrowRows(FILE* out, const std::vector<Column>& columns)
      : output_(out), schema_(ArrowSchema(columns)) {
    arrow::ipc::IpcWriteOptions options;
    options.use_threads = false;
    writer_ =
        arrow::ipc::MakeStreamWriter(&output_, schema_, options).ValueOrDie();
    builder_ =
        arrow::RecordBatchBuilder::Make(schema_, arrow::default_memory_pool())
            .ValueOrDie();
  }

  ~ArrowRows() override {
    Flush();
    Check(writer_->Close());
  }

  void Text(std::string_view text) override {
    if (IsUtf8(text))
      Append<arrow::LargeStringBuilder>(text);
    else
      Append<arrow::LargeStringBuilder>(MadeUtf8(text));
    size_ += text.size();
  }
  void Bytes(std::string_view bytes) override {
    Append<arrow::LargeBinaryBuilder>(bytes);
    size_ += bytes.size();
  }
  void Bool(bool value) override { Append<arrow::BooleanBuilder>(value); }
  void Number(int64_t number) override { Append<arrow::Int64Builder>(number); }
  void Number(uint64_t number) override {
    Append<arrow::UInt64Builder>(number);
  }
  void Number(float number) override { Number(static_cast<double>(number)); }
  void Number(double number) override { Append<arrow::DoubleBuilder>(number); }
  void Json(std::string_view json) override { Text(json); }
  void Null() override {
    Check(builder_->GetField(next_column_++)->AppendNull());
  }

  void EndRow() override {
    next_column_ = 0;
    size_ += sizeof(uint64_t) * static_cast<size_t>(builder_->num_fields());
    if (++rows_ == kMaxRows || size_ >= kMaxBytes)
      Flush();
  }

  void Flush() override {
    if (rows_ == 0)
      return;
    rows_ = 0;
    size_ = 0;
    const auto batch = builder_->Flush();
    Check(batch.status());
    if (batch.ok())
      Check(writer_->WriteRecordBatch(**batch));
  }

 private:
  template <typename Builder, typename Value>
  void Append(const Value& value) {
    Check(builder_->GetFieldAs<Builder>(next_column_++)->Append(value));
  }

  // What cannot be written has set the file's error. There is nothing else but
  // a lack of memory.
  void Check(const arrow::Status& status) {
    if (!status.ok() && !status.IsIOError())
      status.Abort("Arrow");
  }

  FileOutput output_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
  std::unique_ptr<arrow::RecordBatchBuilder> builder_;
  int next_column_ = 0;
  int64_t rows_ = 0;
  size_t size_ = 0;  // About how many bytes the rows have.
};

}  // namespace

bool HasArrow() {
  return true;
}

std::unique_ptr<RowWriter> CreateArrowRows(FILE* out,
                                           const std::vector<Column>& columns) {
  return std::make_unique<ArrowRows>(out, columns);
}

}  // namespace pbz
