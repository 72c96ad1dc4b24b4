// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/tracing/trace_rules/rule_text.h"

#include <stdio.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "protozero/testing/trace_rules.h"

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN

namespace {

using Kind = TraceRule::Kind;

constexpr struct {
  const char* name;
  uint64_t ns;
} kUnits[] = {{"s", 1000000000}, {"ms", 1000000}, {"us", 1000}, {"ns", 1}};

constexpr struct {
  Kind kind;
  const char* words;
} kCounts[] = {{Kind::kExactly, "exactly"},
               {Kind::kAtLeast, "at least"},
               {Kind::kAtMost, "at most"}};

constexpr const char* kParts[] = {"ran", "ready", "waited"};

constexpr char kAllTasksEndedWords[] = "all tasks ended";
constexpr char kNothingLostWords[] = "nothing lost";
constexpr char kBeginnings[] =
    "'exactly 3 NAME', 'at least', 'at most', 'in each NAME exactly 1 NAME', "
    "'never NAME inside NAME', '99 % of NAME under 16 ms', 'strictly', "
    "'slice NAME ran < 8 ms', 'all tasks ended' or 'nothing lost'";

bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

int HexDigit(char c) {
  if (IsDigit(c))
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// A decimal number: |digits| / |divisor|.
struct Decimal {
  uint64_t digits = 0;
  uint64_t divisor = 1;
};

// Parses a rule, from left to right.
class RuleParser {
 public:
  explicit RuleParser(std::string_view words) : rest_(words) { SkipSpaces(); }

  std::optional<TraceRule> Parse(std::string* error) {
    TraceRule rule;
    if (ParseRule(&rule) && !IsAtEnd())
      Expect("the end of the line");
    if (error_.empty())
      return rule;
    *error = std::move(error_);
    return std::nullopt;
  }

 private:
  // The longest text that an error repeats.
  static constexpr size_t kMaxShown = 60;
  // The most digits on either side of the point. Their value times a second
  // fits 64 bits.
  static constexpr size_t kMaxDigits = 9;

  bool ParseRule(TraceRule* rule) {
    if (TakeWords(kAllTasksEndedWords)) {
      rule->kind = Kind::kAllTasksEnded;
      return true;
    }
    if (TakeWords(kNothingLostWords)) {
      rule->kind = Kind::kNothingLost;
      return true;
    }
    if (TakeWords("never"))
      return ParseNever(rule);
    if (TakeWords("slice"))
      return ParseTime(rule);
    if (TakeWords("strictly")) {
      rule->is_strict = true;
      return ParseShare(rule);
    }
    if (!rest_.empty() && IsDigit(rest_.front()))
      return ParseShare(rule);
    const bool is_in_each = TakeWords("in each");
    if (is_in_each && !TakeName(&rule->outer.emplace()))
      return false;
    for (const auto& count : kCounts) {
      if (!TakeWords(count.words))
        continue;
      rule->kind = count.kind;
      return TakeCount(&rule->number) && TakeName(&rule->name);
    }
    return Expect(is_in_each ? "'exactly', 'at least' or 'at most'"
                             : kBeginnings);
  }

  bool ParseNever(TraceRule* rule) {
    rule->kind = Kind::kNever;
    return TakeName(&rule->name) &&
           (!TakeWords("inside") || TakeName(&rule->outer.emplace()));
  }

  bool ParseShare(TraceRule* rule) {
    rule->kind = Kind::kShare;
    Decimal share;
    const std::string_view before = rest_;
    if (!TakeDecimal(&share) || !TakeText("%"))
      return Expect("a share such as '99 %'");
    rule->percent =
        static_cast<double>(share.digits) / static_cast<double>(share.divisor);
    if (rule->percent > 100) {
      rest_ = before;
      return Expect("at most 100 %");
    }
    if (!TakeWords("of"))
      return Expect("'of' and a name");
    if (!TakeName(&rule->name))
      return false;
    if (!TakeWords("under"))
      return Expect("'under' and a time");
    return TakeTime(&rule->limit_ns);
  }

  bool ParseTime(TraceRule* rule) {
    rule->kind = Kind::kTime;
    if (!TakeName(&rule->name))
      return false;
    for (size_t i = 0; i < std::size(kParts); ++i) {
      if (!TakeWords(kParts[i]))
        continue;
      rule->part = static_cast<TraceRule::Part>(i);
      return TakeText("<") ? TakeTime(&rule->limit_ns)
                           : Expect("'<' and a time");
    }
    return Expect("'ran', 'ready' or 'waited'");
  }

  bool TakeTime(uint64_t* ns) {
    const std::string_view before = rest_;
    Decimal time;
    if (TakeDecimal(&time)) {
      for (const auto& unit : kUnits) {
        if (!TakeWords(unit.name))
          continue;
        const uint64_t whole = time.digits / time.divisor;
        const uint64_t part = time.digits % time.divisor;
        *ns = whole * unit.ns + part * unit.ns / time.divisor;
        return true;
      }
    }
    rest_ = before;
    return Expect("a time such as '16 ms', in ns, us, ms or s");
  }

  bool TakeCount(uint64_t* number) {
    Decimal decimal;
    const std::string_view before = rest_;
    if (TakeDecimal(&decimal) && decimal.divisor == 1 && IsAtWordEnd(before)) {
      *number = decimal.digits;
      return true;
    }
    rest_ = before;
    return Expect("a number of events");
  }

  // Takes digits with a point between them, not too many.
  bool TakeDecimal(Decimal* decimal) {
    size_t size = 0;
    size_t num_digits = 0;
    bool is_fraction = false;
    for (; size < rest_.size(); ++size) {
      const char c = rest_[size];
      if (c == '.' && !is_fraction && size > 0) {
        is_fraction = true;
        num_digits = 0;
        continue;
      }
      if (!IsDigit(c))
        break;
      if (++num_digits > kMaxDigits)
        return false;
      decimal->digits = decimal->digits * 10 + static_cast<uint64_t>(c - '0');
      decimal->divisor *= is_fraction ? 10 : 1;
    }
    if (num_digits == 0)
      return false;
    Advance(size);
    return true;
  }

  bool TakeName(std::string* name) {
    if (IsAtEnd())
      return Expect("a name");
    if (rest_.front() == '"')
      return TakeQuotedName(name);
    size_t size = 0;
    while (size < rest_.size() && !IsSpace(rest_[size]))
      ++size;
    *name = rest_.substr(0, size);
    Advance(size);
    return true;
  }

  bool TakeQuotedName(std::string* name) {
    const std::string_view before = rest_;
    for (size_t i = 1; i < rest_.size(); ++i) {
      if (rest_[i] == '"') {
        Advance(i + 1);
        return true;
      }
      if (rest_[i] != '\\') {
        *name += rest_[i];
        continue;
      }
      const std::string_view escape = rest_.substr(i + 1);
      if (!escape.empty() && (escape[0] == '"' || escape[0] == '\\')) {
        *name += escape[0];
        i += 1;
      } else if (escape.size() >= 3 && escape[0] == 'x' &&
                 HexDigit(escape[1]) >= 0 && HexDigit(escape[2]) >= 0) {
        *name +=
            static_cast<char>(HexDigit(escape[1]) * 16 + HexDigit(escape[2]));
        i += 3;
      } else {
        rest_ = rest_.substr(i);
        return Expect("\\\", \\\\ or \\x and two digits such as \\x0a");
      }
    }
    rest_ = before;
    return Expect("a quote at the end of the name");
  }

  // Takes words if they are there, whole, with any spaces between them.
  bool TakeWords(std::string_view words) {
    const std::string_view before = rest_;
    while (!words.empty()) {
      const size_t size = std::min(words.find(' '), words.size());
      if (rest_.substr(0, size) != words.substr(0, size) ||
          (size < rest_.size() && !IsSpace(rest_[size]) &&
           rest_[size] != '#')) {
        rest_ = before;
        return false;
      }
      Advance(size);
      words.remove_prefix(std::min(size + 1, words.size()));
    }
    return true;
  }

  bool TakeText(std::string_view text) {
    if (rest_.substr(0, text.size()) != text)
      return false;
    Advance(text.size());
    return true;
  }

  // Returns whether what was taken since |before| ends where a word does.
  bool IsAtWordEnd(std::string_view before) const {
    const size_t taken = before.size() - rest_.size();
    return rest_.empty() || IsSpace(before[taken - 1]);
  }
  bool IsAtEnd() const { return rest_.empty() || rest_.front() == '#'; }

  // Says what should stand here. Returns false.
  bool Expect(const std::string& expected) {
    error_ = "write " + expected;
    if (IsAtEnd()) {
      error_ += " at the end of the line";
    } else {
      std::string found(rest_.substr(0, kMaxShown));
      while (IsSpace(found.back()))
        found.pop_back();
      error_ += " where it says " + internal::RuleName(found) +
                (rest_.size() > kMaxShown ? "..." : "");
    }
    return false;
  }

  void Advance(size_t size) {
    rest_.remove_prefix(size);
    SkipSpaces();
  }
  void SkipSpaces() {
    while (!rest_.empty() && IsSpace(rest_.front()))
      rest_.remove_prefix(1);
  }

  std::string_view rest_;
  std::string error_;
};

}  // namespace

std::string internal::PlainNumber(const char* format, double number) {
  char text[64];
  snprintf(text, sizeof(text), format, number);
  std::string plain;
  for (const char c : std::string_view(text)) {
    const bool is_plain =
        IsDigit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '+';
    // The locale's decimal point may be a character of several bytes.
    if (is_plain)
      plain += c;
    else if (plain.empty() || plain.back() != '.')
      plain += '.';
  }
  return plain;
}

std::string internal::RuleName(std::string_view name) {
  bool is_plain = !name.empty() && name.front() != '#';
  std::string quoted = "\"";
  for (const char c : name) {
    const auto byte = static_cast<uint8_t>(c);
    is_plain = is_plain && byte > ' ' && byte != 0x7f && c != '"' && c != '\\';
    if (byte < ' ' || byte == 0x7f) {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\x%02x", byte);
      quoted += escape;
      continue;
    }
    if (c == '"' || c == '\\')
      quoted += '\\';
    quoted += c;
  }
  return is_plain ? std::string(name) : quoted + "\"";
}

std::string internal::RuleTime(uint64_t ns) {
  for (const auto& unit : kUnits) {
    if (ns % unit.ns == 0)
      return std::to_string(ns / unit.ns) + " " + unit.name;
  }
  return "";
}

std::string TraceRuleToText(const TraceRule& rule) {
  const std::string name = internal::RuleName(rule.name);
  std::string text;
  switch (rule.kind) {
    case Kind::kExactly:
    case Kind::kAtLeast:
    case Kind::kAtMost:
      if (rule.outer)
        text = "in each " + internal::RuleName(*rule.outer) + " ";
      return text + kCounts[static_cast<size_t>(rule.kind)].words + " " +
             std::to_string(rule.number) + " " + name;
    case Kind::kNever:
      text = "never " + name;
      if (rule.outer)
        text += " inside " + internal::RuleName(*rule.outer);
      return text;
    case Kind::kShare:
      return (rule.is_strict ? "strictly " : "") +
             internal::PlainNumber("%.12g", rule.percent) + " %" + " of " +
             name + " under " + internal::RuleTime(rule.limit_ns);
    case Kind::kTime:
      return "slice " + name + " " + kParts[static_cast<size_t>(rule.part)] +
             " < " + internal::RuleTime(rule.limit_ns);
    case Kind::kAllTasksEnded:
      return kAllTasksEndedWords;
    case Kind::kNothingLost:
      return kNothingLostWords;
  }
  return text;
}

std::optional<TraceRule> ParseTraceRule(std::string_view words,
                                        std::string* error) {
  return RuleParser(words).Parse(error);
}

PROTOZERO_ABI_END
}  // namespace protozero
