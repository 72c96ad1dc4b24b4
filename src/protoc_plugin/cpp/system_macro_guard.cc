// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/cpp/system_macro_guard.h"

#include <set>
#include <string_view>
#include <unordered_set>

#include "src/protoc_plugin/c_family/reserved_words.h"
#include "src/protoc_plugin/naming.h"

namespace protozero::plugin {

namespace {

// Returns the words in generated code that a system header may have defined as
// macros. The text contains all words that the other writers produce:
// namespaces, `set_x` and everything else.
std::set<std::string> FindSystemMacros(std::string_view code) {
  std::set<std::string> found;
  std::unordered_set<std::string_view> seen;
  size_t i = 0;
  while (i < code.size()) {
    if (code[i] == '"') {
      // A string literal, with its escapes.
      for (++i; code[i] != '"'; ++i)
        i += code[i] == '\\';
      ++i;
    } else if (code.substr(i, 2) == "//") {
      i = code.find('\n', i);
    } else if (IsWordChar(code[i])) {
      // A number is a word, too, but no macro.
      const size_t begin = i;
      while (IsWordChar(code[i]))
        ++i;
      const bool is_called = code[i] == '(';
      // The word includes the parenthesis that a macro may need.
      const std::string_view use = code.substr(begin, i - begin + is_called);
      if (!seen.insert(use).second)
        continue;
      const std::string_view word = code.substr(begin, i - begin);
      if (IsSystemMacro(word) || (is_called && IsSystemFunctionMacro(word)))
        found.emplace(word);
    } else {
      ++i;
    }
  }
  return found;
}

}  // namespace

void HideSystemMacros(size_t begin, std::string* text) {
  const std::set<std::string> macros =
      FindSystemMacros(std::string_view(*text).substr(begin));
  if (macros.empty())
    return;
  std::string hide = "// Macros of system headers, until the end.\n";
  for (const std::string& name : macros)
    hide += "#pragma push_macro(\"" + name + "\")\n#undef " + name + "\n";
  text->insert(begin, hide + "\n");
  for (const std::string& name : macros)
    *text += "#pragma pop_macro(\"" + name + "\")\n";
  *text += '\n';
}

}  // namespace protozero::plugin
