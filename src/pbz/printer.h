// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_PRINTER_H_
#define SRC_PBZ_PRINTER_H_

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <string>

#include "src/pbz/walk.h"

namespace pbz {

// Prints fields as protobuf's text format, in the order in which they are read.
// With a schema, it prints the same lines as protoc --decode:
//
//   name: "text"
//   child {
//     sizes: 1
//     sizes: 150
//   }
//
// Without one, it prints ids, and comments mark guesses:
//
//   1: "text"
//   2 {  # message?
//     3: [1, 150]  # packed?
//   }
class Printer : public Visitor {
 public:
  struct Options {
    bool color = false;
    // True to print the place and the size of each field in front of it.
    bool offsets = false;
  };

  // Writes to |file|. The caller has to check its error state.
  Printer(FILE* file, const Options& options);

  void OnValue(const Node& node) override;
  void OnBegin(const Node& node) override;
  void OnEnd(const Node& node) override;
  void OnMessage(uint64_t offset, size_t size, size_t size_size) override;
  void OnMalformed(uint64_t offset, size_t size, const char* reason) override;

 private:
  enum class Color { kName, kString, kNumber, kComment, kError };

  void StartLine();
  void StartLine(uint64_t offset, size_t size);
  void AddName(const Node& node);
  // Adds the field's name and the number.
  void AddNumber(Node node, uint64_t bits);
  void AddUntypedNumber(const Node& node, uint64_t bits);
  void AddGuessedNumbers(const Node& node);
  void AddComment(const char* text);
  void Paint(Color color);
  void EndPaint();
  void EndLine();

  FILE* const file_;
  const Options options_;
  uint64_t num_messages_ = 0;  // The number of calls of OnMessage().
  size_t depth_ = 0;
  std::string line_;
};

}  // namespace pbz

#endif  // SRC_PBZ_PRINTER_H_
