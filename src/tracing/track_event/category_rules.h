// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#ifndef SRC_TRACING_TRACK_EVENT_CATEGORY_RULES_H_
#define SRC_TRACING_TRACK_EVENT_CATEGORY_RULES_H_

#include <string>
#include <string_view>
#include <vector>

#include "protozero/internal/macros.h"

namespace protozero {
PROTOZERO_ABI_BEGIN
namespace internal {

// The categories that a session wants: its TrackEventConfig, with the meaning
// that Perfetto's SDK for C++ gives it.
class CategoryRules {
 public:
  // Wants all categories but those that are slow, as an empty config does.
  CategoryRules() = default;
  // Reads |fields| of a DataSourceConfig. Ignores malformed ones.
  explicit CategoryRules(std::string_view fields);

  // Returns whether the session wants |category|, or one of them if it is a
  // list with commas. |tags| are those of a single category, separated by
  // spaces.
  bool Wants(std::string_view category, std::string_view tags) const;

  bool filters_args() const { return filters_args_; }
  bool filters_dynamic_names() const { return filters_dynamic_names_; }

 private:
  using Patterns = std::vector<std::string>;

  bool WantsOne(std::string_view category, std::string_view tags) const;

  Patterns enabled_categories_;
  Patterns disabled_categories_;
  Patterns enabled_tags_;
  Patterns disabled_tags_ = {"slow", "debug"};
  bool filters_args_ = false;
  bool filters_dynamic_names_ = false;
};

// Returns whether |pattern| of the wanted or unwanted categories names this
// one.
bool NamesCategory(std::string_view pattern, std::string_view category);

// Returns the wanted patterns of a list as EncodeCategories() gets it.
std::vector<std::string> WantedPatterns(std::string_view categories);

// Returns the field of a DataSourceConfig that asks for |categories|: patterns
// with commas between them, with a '-' before unwanted ones. Spaces around them
// do not count. If any are wanted, all others are not.
std::string EncodeCategories(std::string_view categories);

}  // namespace internal
PROTOZERO_ABI_END
}  // namespace protozero

#endif  // SRC_TRACING_TRACK_EVENT_CATEGORY_RULES_H_
