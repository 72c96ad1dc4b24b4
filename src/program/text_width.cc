// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

#include "src/program/text_width.h"

#include <stdint.h>

#include <algorithm>
#include <iterator>

#include "src/program/text.h"

namespace program {

namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// Characters that take no column: marks, joiners, and selectors of variants.
constexpr Range kMarks[] = {
    {0x300, 0x36f},     {0x483, 0x489},     {0x591, 0x5bd},
    {0x610, 0x61a},     {0x64b, 0x65f},     {0x6d6, 0x6dc},
    {0x900, 0x902},     {0x93c, 0x93c},     {0x941, 0x948},
    {0x94d, 0x94d},     {0xe31, 0xe31},     {0xe34, 0xe3a},
    {0xe47, 0xe4e},     {0x1160, 0x11ff},   {0x1ab0, 0x1aff},
    {0x1dc0, 0x1dff},   {0x200b, 0x200f},   {0x202a, 0x202e},
    {0x2060, 0x2064},   {0x20d0, 0x20ff},   {0x302a, 0x302d},
    {0x3099, 0x309a},   {0xfe00, 0xfe0f},   {0xfe20, 0xfe2f},
    {0xfeff, 0xfeff},   {0x1f3fb, 0x1f3ff}, {0xe0020, 0xe007f},
    {0xe0100, 0xe01ef},
};

// Characters that take two columns.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},   {0x23e9, 0x23ec},
    {0x23f0, 0x23f0},   {0x23f3, 0x23f3},   {0x25fd, 0x25fe},
    {0x2614, 0x2615},   {0x2648, 0x2653},   {0x267f, 0x267f},
    {0x2693, 0x2693},   {0x26a1, 0x26a1},   {0x26aa, 0x26ab},
    {0x26bd, 0x26be},   {0x26c4, 0x26c5},   {0x26ce, 0x26ce},
    {0x26d4, 0x26d4},   {0x26ea, 0x26ea},   {0x26f2, 0x26f3},
    {0x26f5, 0x26f5},   {0x26fa, 0x26fa},   {0x26fd, 0x26fd},
    {0x2705, 0x2705},   {0x270a, 0x270b},   {0x2728, 0x2728},
    {0x274c, 0x274c},   {0x274e, 0x274e},   {0x2753, 0x2755},
    {0x2757, 0x2757},   {0x2795, 0x2797},   {0x27b0, 0x27b0},
    {0x27bf, 0x27bf},   {0x2b1b, 0x2b1c},   {0x2b50, 0x2b50},
    {0x2b55, 0x2b55},   {0x2e80, 0x303e},   {0x3041, 0x33ff},
    {0x3400, 0x4dbf},   {0x4e00, 0xa4cf},   {0xa960, 0xa97f},
    {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18aff},
    {0x1b000, 0x1b2ff}, {0x1f004, 0x1f004}, {0x1f0cf, 0x1f0cf},
    {0x1f18e, 0x1f18e}, {0x1f191, 0x1f19a}, {0x1f200, 0x1f320},
    {0x1f32d, 0x1f335}, {0x1f337, 0x1f37c}, {0x1f37e, 0x1f393},
    {0x1f3a0, 0x1f3ca}, {0x1f3cf, 0x1f3d3}, {0x1f3e0, 0x1f3f0},
    {0x1f3f4, 0x1f3f4}, {0x1f3f8, 0x1f43e}, {0x1f440, 0x1f440},
    {0x1f442, 0x1f4fc}, {0x1f4ff, 0x1f53d}, {0x1f54b, 0x1f54e},
    {0x1f550, 0x1f567}, {0x1f57a, 0x1f57a}, {0x1f595, 0x1f596},
    {0x1f5a4, 0x1f5a4}, {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5},
    {0x1f6cc, 0x1f6cc}, {0x1f6d0, 0x1f6d2}, {0x1f6d5, 0x1f6d7},
    {0x1f6dc, 0x1f6df}, {0x1f6eb, 0x1f6ec}, {0x1f6f4, 0x1f6fc},
    {0x1f7e0, 0x1f7eb}, {0x1f7f0, 0x1f7f0}, {0x1f90c, 0x1f93a},
    {0x1f93c, 0x1f945}, {0x1f947, 0x1f9ff}, {0x1fa70, 0x1faff},
    {0x20000, 0x3fffd},
};

template <size_t kSize>
bool IsIn(const Range (&ranges)[kSize], uint32_t character) {
  const Range* const range = std::upper_bound(
      std::begin(ranges), std::end(ranges), character,
      [](uint32_t value, const Range& one) { return value < one.first; });
  return range != std::begin(ranges) && character <= (range - 1)->last;
}

// Takes a character from the beginning of |text|, which is not empty.
uint32_t TakeCharacter(std::string_view* text) {
  const auto first = static_cast<uint8_t>(text->front());
  text->remove_prefix(1);
  uint32_t character = first < 0xc0   ? first
                       : first < 0xe0 ? first & 0x1f
                       : first < 0xf0 ? first & 0xf
                                      : first & 0x7;
  while (!text->empty() && ContinuesCharacter(text->front())) {
    character = character << 6 | (static_cast<uint8_t>(text->front()) & 0x3f);
    text->remove_prefix(1);
  }
  return character;
}

}  // namespace

size_t WidthOf(std::string_view text) {
  constexpr uint32_t kJoiner = 0x200d;
  size_t width = 0;
  uint32_t before = 0;
  while (!text.empty()) {
    const uint32_t character = TakeCharacter(&text);
    const bool is_plain = character < kMarks[0].first;  // Most are.
    // Joined emoji are shown as one.
    if (before != kJoiner && (is_plain || !IsIn(kMarks, character)))
      width += !is_plain && IsIn(kWide, character) ? 2 : 1;
    before = character;
  }
  return width;
}

size_t CharacterSize(std::string_view text) {
  if (text.empty())
    return 0;
  std::string_view rest = text;
  TakeCharacter(&rest);
  while (!rest.empty()) {
    std::string_view next = rest;
    if (!IsIn(kMarks, TakeCharacter(&next)))
      break;
    rest = next;
  }
  return text.size() - rest.size();
}

}  // namespace program
