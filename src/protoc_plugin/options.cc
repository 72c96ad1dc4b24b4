// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/protoc_plugin/options.h"

#include <algorithm>
#include <utility>

namespace protozero::plugin {

std::vector<Option> SplitOptions(const std::string& text) {
  std::vector<Option> options;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty())
      continue;
    const size_t equals = part.find('=');
    Option option{part.substr(0, equals), {}};
    if (equals != std::string::npos)
      option.value = part.substr(equals + 1);
    options.push_back(std::move(option));
  }
  return options;
}

std::string UnknownOption(const std::string& name, const std::string& known) {
  return "unknown option '" + name + "'; the known options are: " + known +
         (known.empty() ? "" : ", ") + "comments=false, lang=LANGUAGE";
}

}  // namespace protozero::plugin
