// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PZTRACE_COMMANDS_LINE_READER_H_
#define SRC_PZTRACE_COMMANDS_LINE_READER_H_

#include <stddef.h>

#include <optional>
#include <string>
#include <vector>

namespace pztrace {

// Reads lines from the terminal that is the standard input, with the keys that
// one expects of a shell, as far as the terminal has them: the arrows, Home,
// End, Delete, Backspace, Ctrl-A, E, K, U, C and D. Up and Down go through the
// lines before.
class LineReader {
 public:
  // Prints |prompt|. Returns the next line, an empty one after Ctrl-C, or
  // nothing at the end.
  std::optional<std::string> Read(const char* prompt);
  // Remembers a text that Up finds.
  void Remember(const std::string& text);

 private:
  // Reads a line without keys.
  static std::optional<std::string> ReadPlain();
  std::optional<std::string> ReadKeys(const char* prompt);
  // Handles a key. Returns false if the line is complete.
  bool Press(int key);
  void PressSequence();
  void Recall(size_t index);
  void Show(const char* prompt) const;
  // Return the places of the characters around the cursor.
  size_t Before() const;
  size_t After() const;

  std::vector<std::string> history_;
  size_t recalled_ = 0;  // The index in the history.
  std::string line_;
  size_t cursor_ = 0;
  bool is_at_end_ = false;
};

}  // namespace pztrace

#endif  // SRC_PZTRACE_COMMANDS_LINE_READER_H_
