// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/pztrace/compare/change_texts.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "src/program/text.h"
#include "src/pztrace/events/timeline_file.h"

namespace pztrace {

namespace {

std::string WithSign(double value, const std::string& text) {
  return (value < 0 ? "-" : value > 0 ? "+" : "") + text;
}

// Returns a count or a time, without its sign.
std::string AmountText(RunColumn column, double amount) {
  if (column != RunColumn::kCount)
    return DurationText(static_cast<uint64_t>(llround(fabs(amount))));
  std::string text;
  program::AppendDouble(fabs(amount), &text);
  return text;
}

std::string DifferenceText(RunColumn column, double difference) {
  return WithSign(difference, AmountText(column, difference));
}

std::string PercentText(double factor) {
  char text[32];
  snprintf(text, sizeof(text), "%+.1f %%", (factor - 1) * 100);
  return text;
}

std::string IntervalText(RunColumn column, const Change& change) {
  if (change.factor_interval) {
    return PercentText(change.factor_interval->low) + " to " +
           PercentText(change.factor_interval->high);
  }
  if (change.interval) {
    return DifferenceText(column, change.interval->low) + " to " +
           DifferenceText(column, change.interval->high);
  }
  return "";
}

}  // namespace

ChangeTexts TextsOf(RunColumn column, const Change& change) {
  return {AmountText(column, change.before), AmountText(column, change.after),
          DifferenceText(column, change.difference),
          change.factor ? PercentText(*change.factor) : "",
          IntervalText(column, change)};
}

}  // namespace pztrace
