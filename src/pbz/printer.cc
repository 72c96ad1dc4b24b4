// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pbz/printer.h"

#include <inttypes.h>
#include <math.h>

#include "src/pbz/number.h"
#include "src/program/text.h"

namespace pbz {

namespace {

using protozero::proto_utils::ProtoWireType;

// The size at which a part of a line is written, so that a line of any length
// needs little memory.
constexpr size_t kFlushSize = size_t{1} << 16;

// The width of the columns of --offsets. Eleven digits are enough for 100 GB.
constexpr int kOffsetWidth = 11;
constexpr int kSizeWidth = 10;

// Returns whether people would write down this number. Integers that are read
// as floating-point numbers are mostly not such.
bool IsPlausible(double value) {
  return value == 0 || (fabs(value) >= 1e-9 && fabs(value) < 1e15);
}

void AppendHex(uint64_t value, int digits, std::string* out) {
  char text[20];
  snprintf(text, sizeof(text), "0x%0*" PRIx64, digits, value);
  *out += text;
}

}  // namespace

Printer::Printer(FILE* file, const Options& options)
    : file_(file), options_(options) {}

void Printer::OnValue(const Node& node) {
  if (node.shape == Shape::kPacked && node.type) {
    ForEachElement(node, [&](uint64_t bits, uint64_t offset, size_t size) {
      StartLine(offset, size);
      AddNumber(node, bits);
      EndLine();
    });
    return;
  }
  StartLine(node.offset, node.size);
  switch (node.shape) {
    case Shape::kNumber:
      AddNumber(node, node.field.as_uint64());
      break;
    case Shape::kPacked:
      AddGuessedNumbers(node);
      break;
    default:
      AddName(node);
      line_ += ": ";
      Paint(Color::kString);
      program::AppendQuoted(node.field.as_bytes().ToStdStringView(), &line_,
                            node.is_guess ? program::Escape::kLittle
                                          : program::Escape::kAsProtoc);
      EndPaint();
      if (node.is_guess && node.shape == Shape::kBytes)
        AddComment("bytes?");
      break;
  }
  EndLine();
}

void Printer::OnBegin(const Node& node) {
  StartLine(node.offset, node.size);
  AddName(node);
  line_ += " {";
  if (node.is_guess && node.shape == Shape::kMessage)
    AddComment("message?");
  if (node.is_guess && node.shape == Shape::kGroup)
    AddComment("group");
  EndLine();
  ++depth_;
}

void Printer::OnEnd(const Node&) {
  --depth_;
  StartLine();
  line_ += '}';
  EndLine();
}

void Printer::OnMessage(uint64_t offset, size_t size, size_t) {
  StartLine(offset, size);
  Paint(Color::kComment);
  line_ += "# message ";
  line_ += std::to_string(++num_messages_);
  EndPaint();
  EndLine();
}

void Printer::OnMalformed(uint64_t offset, size_t size, const char* reason) {
  StartLine(offset, size);
  Paint(Color::kError);
  line_ += "# malformed: ";
  line_ += reason;
  line_ += " (at offset ";
  line_ += std::to_string(offset);
  line_ += ", ";
  line_ += std::to_string(size);
  line_ += size == 1 ? " byte)" : " bytes)";
  EndPaint();
  EndLine();
}

void Printer::StartLine() {
  if (options_.offsets)
    line_.append(size_t{kOffsetWidth + 1 + kSizeWidth + 2}, ' ');
  line_.append(2 * depth_, ' ');
}

void Printer::StartLine(uint64_t offset, size_t size) {
  if (options_.offsets) {
    char columns[64];
    snprintf(columns, sizeof(columns), "%*" PRIu64 " %*zu  ", kOffsetWidth,
             offset, kSizeWidth, size);
    Paint(Color::kComment);
    line_ += columns;
    EndPaint();
  }
  line_.append(2 * depth_, ' ');
}

void Printer::AddName(const Node& node) {
  Paint(Color::kName);
  line_ += node.type ? node.type->text_name : std::to_string(node.id);
  EndPaint();
}

void Printer::AddNumber(Node node, uint64_t bits) {
  // A packed field of a closed enum may have elements that the enum lacks.
  if (node.type && !node.type->HasValue(static_cast<int32_t>(bits)))
    node.type = nullptr;
  AddName(node);
  line_ += ": ";
  Paint(Color::kNumber);
  if (!node.type)
    return AddUntypedNumber(node, bits);
  const EnumType* const type = node.type->enum_type;
  const std::string* name =
      type ? type->FindName(static_cast<int32_t>(bits)) : nullptr;
  if (name)
    line_ += *name;
  else
    AppendNumber(NumberOf(node.type->type, bits), &line_);
  EndPaint();
}

void Printer::AddUntypedNumber(const Node& node, uint64_t bits) {
  const ProtoWireType type =
      node.shape == Shape::kPacked ? node.element : node.field.type();
  if (type == ProtoWireType::kVarInt) {
    line_ += std::to_string(bits);
    EndPaint();
    if (node.is_guess && bits >> 63 != 0)
      AddComment(std::to_string(static_cast<int64_t>(bits)).c_str());
    return;
  }
  std::string number;
  if (type == ProtoWireType::kFixed64) {
    AppendHex(bits, 16, &line_);
    if (IsPlausible(DoubleOf(bits)))
      program::AppendDouble(DoubleOf(bits), &number);
  } else {
    AppendHex(bits, 8, &line_);
    if (IsPlausible(static_cast<double>(FloatOf(bits))))
      program::AppendFloat(FloatOf(bits), &number);
  }
  EndPaint();
  if (node.is_guess && !number.empty())
    AddComment((number + '?').c_str());
}

void Printer::AddGuessedNumbers(const Node& node) {
  AddName(node);
  line_ += ": ";
  const char* separator = "[";
  ForEachElement(node, [&](uint64_t bits, uint64_t, size_t) {
    line_ += separator;
    separator = ", ";
    Paint(Color::kNumber);
    line_ += std::to_string(bits);
    EndPaint();
    if (line_.size() >= kFlushSize) {
      fwrite(line_.data(), 1, line_.size(), file_);
      line_.clear();
    }
  });
  line_ += ']';
  AddComment("packed?");
}

void Printer::AddComment(const char* text) {
  line_ += "  ";
  Paint(Color::kComment);
  line_ += "# ";
  line_ += text;
  EndPaint();
}

void Printer::Paint(Color color) {
  if (!options_.color)
    return;
  switch (color) {
    case Color::kName:
      line_ += "\033[36m";
      break;
    case Color::kString:
      line_ += "\033[32m";
      break;
    case Color::kNumber:
      line_ += "\033[33m";
      break;
    case Color::kComment:
      line_ += "\033[2m";
      break;
    case Color::kError:
      line_ += "\033[1;31m";
      break;
  }
}

void Printer::EndPaint() {
  if (options_.color)
    line_ += "\033[0m";
}

void Printer::EndLine() {
  line_ += '\n';
  fwrite(line_.data(), 1, line_.size(), file_);
  line_.clear();
}

}  // namespace pbz
