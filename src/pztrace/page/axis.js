// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The axis of the time, and what is measured on it: a range, and a ruler between two
// points.
//
//   +893 ms |  100 us    200 us    300 us

"use strict";

// Returns the ticks: {x, text, isOffset}. All have one unit, and count from the last
// multiple of 1000 of it, which the axis shows as an offset.
function ticksOf(timeline) {
  const {from, to, scale, left} = timeline;
  const least = 90 / scale;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((ns) => ns >= least);
  // A unit of which the window has at least one.
  const [factor, unit] = UNITS.find(([factor]) => to - from >= factor) ?? UNITS.at(-1);
  const whole = factor < 1e9 ? 1000 * factor : Infinity;
  const ticks = [];
  const offset = Math.floor(from / whole) * whole;
  if (offset > 0)
    ticks.push({x: left, text: "+" + timeText(offset), isOffset: true});
  const first = Math.ceil(from / step);
  // Counted from 0, since a number far from it may have no next integer.
  for (let i = 0; i <= (to - from) / step; ++i) {
    const time = (first + i) * step;
    if (time > to)
      break;
    const before = whole === Infinity || time < 0 ? 0 : Math.floor(time / whole) * whole;
    const number = (time - before) / factor + 0;  // No -0.
    const isOffset = before > 0 && Math.abs(number) < 1e-6;
    const text = isOffset ? "+" + timeText(Math.round(time)) :
      number.toLocaleString("en", {maximumFractionDigits: 3}) + " " + unit;
    if (text !== ticks.at(-1)?.text)
      ticks.push({x: timeline.x(time), text, isOffset});
  }
  return ticks;
}

function drawAxis(timeline, ticks) {
  const {colors, width, context} = timeline;
  timeline.fill(colors.panel, 0, 0, width, AXIS);
  timeline.fill(colors.border, 0, AXIS - 1, width, 1);
  let free = 0;
  for (const {x, text, isOffset} of ticks) {
    if (x > timeline.left || !isOffset)
      timeline.fill(colors.border, Math.round(x), AXIS - 8, 1, 7);
    if (x < free)
      continue;
    timeline.text(text, x + 4, 16, isOffset ? "600 " + SMALL_FONT : SMALL_FONT,
                  isOffset ? colors.text : colors.muted);
    if (isOffset)
      free = x + context.measureText(text).width + 12;
  }
}

// Draws how long something is, between two times, in the axis.
function drawLength(timeline, from, to, color) {
  const {context, colors, left, width} = timeline;
  const text = durationText(Math.abs(to - from));
  context.font = "600 " + SMALL_FONT;
  const room = context.measureText(text).width + 12;
  const begin = Math.max(left, timeline.x(Math.min(from, to)));
  const end = Math.min(width, timeline.x(Math.max(from, to)));
  const x = Math.min(Math.max((begin + end - room) / 2, left), width - room);
  timeline.fill(color, begin, AXIS - 4, end - begin, 3);
  timeline.fill(colors.panel, x, 3, room, AXIS - 8);
  timeline.text(text, x + 6, 16, "600 " + SMALL_FONT, color);
}

// Draws the selected range over its rows.
function drawRange(timeline) {
  const {range, colors, context, height} = timeline;
  if (!range)
    return;
  const begin = timeline.x(range.from);
  const end = timeline.x(range.to);
  context.globalAlpha = 0.14;
  for (const row of [...timeline.stuck, ...timeline.rowsInWindow()]) {
    if (!range.rows.has(row))
      continue;
    const y = row.top - timeline.scrolled(row);
    timeline.fill(colors.accent, begin, Math.max(y, row.isStuck ? AXIS : timeline.stuckBottom),
                  end - begin, row.bottom - row.top);
  }
  context.globalAlpha = 1;
  timeline.fill(colors.accent, begin, AXIS, 1, height);
  timeline.fill(colors.accent, end - 1, AXIS, 1, height);
}

// Draws the lengths of the range and of the ruler, whose second point may be the pointer.
function drawRuler(timeline) {
  const {range, colors, marks, pointer, height} = timeline;
  if (range)
    drawLength(timeline, range.from, range.to, colors.accent);
  const ends = marks.length === 1 && pointer !== null ? [marks[0], pointer] : marks;
  for (const time of ends)
    timeline.fill(colors.hit, Math.round(timeline.x(time)), 0, 1, height);
  if (ends.length === 2)
    drawLength(timeline, ...ends, colors.hit);
}
