// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/table/arrow_rows.h"

#include <arrow/api.h>
#include <arrow/io/interfaces.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/compression.h>
#include <parquet/arrow/writer.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/program/text.h"

namespace table {

namespace {

// The limits of a batch. It ends at the one that is reached first.
constexpr int64_t kMaxRows = 1 << 16;
constexpr size_t kMaxBytes = size_t{1} << 20;

// Returns the large types, because JSON may have more than the 2 GiB of the
// others.
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

// Writes to |file|, which remembers errors.
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

// The cells of a column in a batch, in the form that Arrow has in memory.
// Builders of Arrow check and count more for each cell than it takes to store
// one.
struct Cells {
  explicit Cells(bool has_text) : ends(has_text ? 1 : 0) {}

  void AddText(std::string_view text) {
    const auto begin = static_cast<size_t>(ends.back());
    // A string would append with a call, which costs more than most texts.
    if (texts.size() - begin < text.size())
      texts.resize(2 * (begin + text.size()));
    if (!text.empty())
      memcpy(texts.data() + begin, text.data(), text.size());
    ends.push_back(static_cast<int64_t>(begin + text.size()));
  }
  std::string_view LastText() const {
    const auto begin = static_cast<size_t>(ends[ends.size() - 2]);
    const auto end = static_cast<size_t>(ends.back());
    return {texts.data() + begin, end - begin};
  }

  // The bits of each number, or the place where each text begins and the last
  // one ends.
  std::vector<uint64_t> numbers;
  std::vector<int64_t> ends;
  std::vector<char> texts;  // Has room for more.
  // A bit for each row, beginning with the first null.
  std::vector<uint8_t> is_valid;
  int64_t num_nulls = 0;
};

void AppendBits(uint64_t bits, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&bits), sizeof(bits));
}

template <typename T>
std::shared_ptr<arrow::Buffer> BufferOf(const T& values) {
  return arrow::Buffer::Wrap(values.data(), values.size());
}

// Handles an error, and returns whether there is none. Those of the output are
// already in the file's error state. The only other one is a lack of memory,
// which throws or aborts.
bool Check(const arrow::Status& status) {
  if (status.ok() || status.IsIOError())
    return status.ok();
#if defined(__cpp_exceptions)
  if (status.IsOutOfMemory())
    throw std::bad_alloc();
#endif
  status.Abort("Arrow");
}

// Writes record batches in a format.
class BatchWriter {
 public:
  virtual ~BatchWriter() = default;
  virtual arrow::Status Write(const arrow::RecordBatch& batch) = 0;
  virtual arrow::Status Close() = 0;
};

class StreamWriter : public BatchWriter {
 public:
  explicit StreamWriter(std::shared_ptr<arrow::ipc::RecordBatchWriter> writer)
      : writer_(std::move(writer)) {}
  arrow::Status Write(const arrow::RecordBatch& batch) override {
    return writer_->WriteRecordBatch(batch);
  }
  arrow::Status Close() override { return writer_->Close(); }

 private:
  const std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

class ParquetWriter : public BatchWriter {
 public:
  explicit ParquetWriter(std::unique_ptr<parquet::arrow::FileWriter> writer)
      : writer_(std::move(writer)) {}
  arrow::Status Write(const arrow::RecordBatch& batch) override {
    return writer_->WriteRecordBatch(batch);
  }
  arrow::Status Close() override { return writer_->Close(); }

 private:
  const std::unique_ptr<parquet::arrow::FileWriter> writer_;
};

// Returns null if the beginning cannot be written.
std::unique_ptr<BatchWriter> CreateWriter(
    ArrowFormat format,
    const std::shared_ptr<arrow::Schema>& schema,
    arrow::io::OutputStream* output) {
  if (format == ArrowFormat::kStream) {
    arrow::ipc::IpcWriteOptions options;
    options.use_threads = false;
    auto writer = arrow::ipc::MakeStreamWriter(output, schema, options);
    return Check(writer.status())
               ? std::make_unique<StreamWriter>(*std::move(writer))
               : nullptr;
  }
  // Texts have a dictionary of their own in each row group, by default. A row
  // group is in memory until it is written.
  parquet::WriterProperties::Builder properties;
  properties.max_row_group_length(kMaxRows);
  if (arrow::util::Codec::IsAvailable(arrow::Compression::SNAPPY))
    properties.compression(parquet::Compression::SNAPPY);
  auto writer = parquet::arrow::FileWriter::Open(
      *schema, arrow::default_memory_pool(),
      // The writer shares what this object owns for longer.
      std::shared_ptr<arrow::io::OutputStream>(
          std::shared_ptr<arrow::io::OutputStream>(), output),
      properties.build());
  return Check(writer.status())
             ? std::make_unique<ParquetWriter>(*std::move(writer))
             : nullptr;
}

class ArrowRows : public RowWriter {
 public:
  ArrowRows(FILE* out, ArrowFormat format, const std::vector<Column>& columns)
      : output_(out),
        schema_(ArrowSchema(columns)),
        writer_(CreateWriter(format, schema_, &output_)) {
    for (const Column& column : columns)
      columns_.emplace_back(HasText(column.type));
  }

  ~ArrowRows() override {
    Flush();
    if (writer_)
      Check(writer_->Close());
  }

  void Text(std::string_view text) override {
    if (program::IsUtf8(text))
      Bytes(text);
    else
      Bytes(program::MadeUtf8(text));
  }
  void Bytes(std::string_view bytes) override {
    NextCells().AddText(bytes);
    size_ += bytes.size();
  }
  void Bool(bool value) override { AddNumber(value); }
  void Number(int64_t number) override {
    AddNumber(static_cast<uint64_t>(number));
  }
  void Number(uint64_t number) override { AddNumber(number); }
  void Number(float number) override { Number(static_cast<double>(number)); }
  void Number(double number) override {
    uint64_t bits;
    memcpy(&bits, &number, sizeof(bits));
    AddNumber(bits);
  }
  void Json(std::string_view json) override { Text(json); }
  void Null() override {
    Cells& cells = columns_[next_column_];
    const auto row = static_cast<size_t>(rows_);
    cells.is_valid.resize(row / 8 + 1, 0xff);
    cells.is_valid[row / 8] &= static_cast<uint8_t>(~(1u << row % 8));
    ++cells.num_nulls;
    NextCells();
    if (cells.ends.empty())
      cells.numbers.push_back(0);
    else
      cells.ends.push_back(cells.ends.back());
  }

  void EndRow() override {
    next_column_ = 0;
    size_ += sizeof(uint64_t) * columns_.size();
    if (++rows_ == kMaxRows || size_ >= kMaxBytes)
      Flush();
  }

  void KeepBeginning(Beginning* beginning) override {
    beginning->bytes.clear();
    beginning->num_cells = next_column_;
    for (size_t i = 0; i < next_column_; ++i) {
      const Cells& cells = columns_[i];
      if (cells.ends.empty()) {
        AppendBits(cells.numbers.back(), &beginning->bytes);
        continue;
      }
      const std::string_view text = cells.LastText();
      AppendBits(text.size(), &beginning->bytes);
      beginning->bytes += text;
    }
  }

  // Reads numbers from the bytes, and texts, each after its size.
  void Begin(const Beginning& beginning) override {
    const char* bytes = beginning.bytes.data();
    for (; next_column_ < beginning.num_cells; ++next_column_) {
      Cells& cells = columns_[next_column_];
      uint64_t bits;
      memcpy(&bits, bytes, sizeof(bits));
      bytes += sizeof(bits);
      if (cells.ends.empty()) {
        cells.numbers.push_back(bits);
        continue;
      }
      cells.AddText({bytes, static_cast<size_t>(bits)});
      bytes += bits;
    }
    size_ += beginning.bytes.size();
  }

  void Flush() override {
    if (rows_ == 0)
      return;
    std::vector<std::shared_ptr<arrow::ArrayData>> arrays;
    for (size_t i = 0; i < columns_.size(); ++i)
      arrays.push_back(
          ArrayOf(schema_->field(static_cast<int>(i))->type(), &columns_[i]));
    // After an error, the rest of the file would be of no use.
    if (writer_ && !Check(writer_->Write(*arrow::RecordBatch::Make(
                       schema_, rows_, std::move(arrays))))) {
      writer_.reset();
    }
    for (Cells& cells : columns_) {
      cells.numbers.clear();
      cells.ends.resize(std::min<size_t>(cells.ends.size(), 1));
      cells.is_valid.clear();
      cells.num_nulls = 0;
    }
    rows_ = 0;
    size_ = 0;
  }

 private:
  static bool HasText(Column::Type type) {
    return type == Column::Type::kText || type == Column::Type::kJson ||
           type == Column::Type::kBytes;
  }

  Cells& NextCells() { return columns_[next_column_++]; }
  void AddNumber(uint64_t bits) { NextCells().numbers.push_back(bits); }

  // Returns an array that refers to |cells|.
  std::shared_ptr<arrow::ArrayData> ArrayOf(
      const std::shared_ptr<arrow::DataType>& type,
      Cells* cells) const {
    std::shared_ptr<arrow::Buffer> validity;
    if (cells->num_nulls != 0) {
      cells->is_valid.resize(static_cast<size_t>(rows_ + 7) / 8, 0xff);
      validity = BufferOf(cells->is_valid);
    }
    std::vector<std::shared_ptr<arrow::Buffer>> buffers = {validity};
    if (!cells->ends.empty()) {
      buffers.push_back(BufferOf(cells->ends));
      buffers.push_back(arrow::Buffer::Wrap(
          cells->texts.data(), static_cast<size_t>(cells->ends.back())));
    } else if (type->id() == arrow::Type::BOOL) {
      cells->texts.assign(static_cast<size_t>(rows_ + 7) / 8, '\0');
      for (size_t row = 0; row < cells->numbers.size(); ++row) {
        if (cells->numbers[row] != 0)
          cells->texts[row / 8] |= static_cast<char>(1u << row % 8);
      }
      buffers.push_back(BufferOf(cells->texts));
    } else {
      buffers.push_back(BufferOf(cells->numbers));
    }
    return arrow::ArrayData::Make(type, rows_, std::move(buffers),
                                  cells->num_nulls);
  }

  FileOutput output_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::unique_ptr<BatchWriter> writer_;
  std::vector<Cells> columns_;
  size_t next_column_ = 0;
  int64_t rows_ = 0;
  size_t size_ = 0;  // The approximate size of the rows in bytes.
};

}  // namespace

bool HasArrow() {
  return true;
}

std::unique_ptr<RowWriter> CreateArrowRows(FILE* out,
                                           ArrowFormat format,
                                           const std::vector<Column>& columns) {
  return std::make_unique<ArrowRows>(out, format, columns);
}

}  // namespace table
