// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_PBZ_TEXT_TOKENS_H_
#define SRC_PBZ_TEXT_TOKENS_H_

#include <stddef.h>

#include <string>
#include <string_view>

namespace pbz {

// The tokens of protobuf's text format, one after the other. Comments and
// spaces are between them.
class TextTokens {
 public:
  enum class Kind {
    kWord,    // A name, or "true".
    kNumber,  // Without a sign.
    kString,  // With its quotes, or without the second one if that is missing.
    kSign,    // Any other character.
    kEnd,
  };

  // Finds the first token. REQUIRES: the text outlives this.
  explicit TextTokens(std::string_view text) : rest_(text) { Next(); }

  Kind kind() const { return kind_; }
  std::string_view text() const { return text_; }
  // Returns the number of the token's line.
  size_t line() const { return line_; }

  // Goes to the next token; at the end, stays there.
  void Next();
  bool Is(char sign) const { return kind_ == Kind::kSign && text_[0] == sign; }
  // Goes to the next token if this is that sign. Returns whether it did.
  bool Accept(char sign);

 private:
  void SkipSpaces();
  // Returns the size of the token that the rest begins with.
  size_t FindEnd();

  std::string_view rest_;
  std::string_view text_;
  Kind kind_ = Kind::kEnd;
  size_t line_ = 1;
};

// Appends the content of a string with its quotes. Returns false if its second
// quote is missing, or if an escape is not valid.
bool AppendUnescaped(std::string_view quoted, std::string* value);

}  // namespace pbz

#endif  // SRC_PBZ_TEXT_TOKENS_H_
