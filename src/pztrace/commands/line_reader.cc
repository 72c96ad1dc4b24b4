// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/commands/line_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <string_view>

#include "src/program/text.h"
#include "src/program/text_width.h"

namespace pztrace {

namespace {

constexpr int kNoKey = -1;
constexpr char kEscapeKey = 27;

constexpr int ControlKey(char letter) {
  return letter - 'a' + 1;
}

int ReadKey() {
  unsigned char key;
  return read(STDIN_FILENO, &key, 1) == 1 ? key : kNoKey;
}

}  // namespace

std::optional<std::string> LineReader::Read(const char* prompt) {
  const char* const terminal = getenv("TERM");
  termios settings;
  if (terminal == nullptr || strcmp(terminal, "dumb") == 0 ||
      tcgetattr(STDIN_FILENO, &settings) != 0) {
    printf("%s", prompt);
    fflush(stdout);
    return ReadPlain();
  }
  termios raw = settings;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
  auto line = ReadKeys(prompt);
  tcsetattr(STDIN_FILENO, TCSADRAIN, &settings);
  printf("\n");
  return line;
}

void LineReader::Remember(const std::string& text) {
  if (!text.empty() && (history_.empty() || history_.back() != text))
    history_.push_back(text);
}

std::optional<std::string> LineReader::ReadPlain() {
  std::string line;
  for (int key = ReadKey(); key != '\n'; key = ReadKey()) {
    if (key == kNoKey)
      return line.empty() ? std::nullopt : std::optional(line);
    line += static_cast<char>(key);
  }
  return line;
}

std::optional<std::string> LineReader::ReadKeys(const char* prompt) {
  line_.clear();
  cursor_ = 0;
  recalled_ = history_.size();
  is_at_end_ = false;
  do
    Show(prompt);
  while (Press(ReadKey()));
  if (is_at_end_)
    return std::nullopt;
  return line_;
}

bool LineReader::Press(int key) {
  switch (key) {
    case kNoKey:
      is_at_end_ = line_.empty();
      return false;
    case ControlKey('d'):
      is_at_end_ = line_.empty();
      line_.erase(cursor_, After() - cursor_);
      return !is_at_end_;
    case ControlKey('c'):
      line_.clear();
      return false;
    case '\n':
    case '\r':
      return false;
    case 127:
    case ControlKey('h'): {
      const size_t before = Before();
      line_.erase(before, cursor_ - before);
      cursor_ = before;
      return true;
    }
    case ControlKey('a'):
      cursor_ = 0;
      return true;
    case ControlKey('e'):
      cursor_ = line_.size();
      return true;
    case ControlKey('k'):
      line_.erase(cursor_);
      return true;
    case ControlKey('u'):
      line_.erase(0, cursor_);
      cursor_ = 0;
      return true;
    case kEscapeKey:
      PressSequence();
      return true;
  }
  if (key >= ' ' || key == '\t')
    line_.insert(cursor_++, 1, key == '\t' ? ' ' : static_cast<char>(key));
  return true;
}

// Handles the keys that terminals send as several bytes: ESC [ 3 ~ and so on.
void LineReader::PressSequence() {
  const int kind = ReadKey();
  if (kind != '[' && kind != 'O')
    return;
  int number = 0;
  int key = ReadKey();
  for (; (key >= '0' && key <= '9') || key == ';'; key = ReadKey())
    number = key == ';' ? 0 : (number * 10 + key - '0') % 100;
  if (key == 'A' && recalled_ != 0)
    return Recall(recalled_ - 1);
  if (key == 'B' && recalled_ != history_.size())
    return Recall(recalled_ + 1);
  if (key == 'C')
    cursor_ = After();
  else if (key == 'D')
    cursor_ = Before();
  else if (key == 'H' || (key == '~' && (number == 1 || number == 7)))
    cursor_ = 0;
  else if (key == 'F' || (key == '~' && (number == 4 || number == 8)))
    cursor_ = line_.size();
  else if (key == '~' && number == 3)
    line_.erase(cursor_, After() - cursor_);
}

void LineReader::Recall(size_t index) {
  recalled_ = index;
  line_ = index < history_.size() ? history_[index] : "";
  for (char& c : line_)
    c = c == '\n' ? ' ' : c;
  cursor_ = line_.size();
}

void LineReader::Show(const char* prompt) const {
  winsize size = {};
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
  const size_t columns = size.ws_col != 0 ? size.ws_col : 80;
  const size_t used = program::WidthOf(prompt) + 1;
  const size_t room = columns > used ? columns - used : 1;
  // Shows the part of a longer line that is around the cursor.
  const std::string_view line = line_;
  size_t begin = 0;
  while (program::WidthOf(line.substr(begin, cursor_ - begin)) > room)
    begin += program::CharacterSize(line.substr(begin));
  size_t end = cursor_;
  for (size_t next = end; next < line.size(); end = next) {
    next += program::CharacterSize(line.substr(next));
    if (program::WidthOf(line.substr(begin, next - begin)) > room)
      break;
  }
  // Prints the line, and once more up to the cursor.
  const std::string shown = program::MadeUtf8(line.substr(begin, end - begin));
  const std::string before =
      program::MadeUtf8(line.substr(begin, cursor_ - begin));
  printf("\r%s%s\x1b[K\r%s%s", prompt, shown.c_str(), prompt, before.c_str());
  fflush(stdout);
}

size_t LineReader::Before() const {
  size_t before = 0;
  const std::string_view line = line_;
  for (size_t at = 0; at < cursor_;
       at += program::CharacterSize(line.substr(at))) {
    before = at;
  }
  return before;
}

size_t LineReader::After() const {
  return cursor_ +
         program::CharacterSize(std::string_view(line_).substr(cursor_));
}

}  // namespace pztrace
