// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The keyboard. The dialog in timeline.html has a line for each of its keys.

"use strict";

// Returns the slice beside, above or below the selected one.
function neighbour(across, down) {
  const {line, i} = timeline.selected;
  if (across)
    return i + across in line.begin ? {line, i: i + across} : null;
  const middle = (line.begin[i] + line.end[i]) / 2;
  const lines = [...timeline.stuck, ...timeline.flowing].flatMap((row) => row.lines);
  for (let at = lines.indexOf(line) + down; at in lines; at += down) {
    const other = lines[at];
    if (!other.length)
      continue;
    // The one that is there, or the last one before.
    const near = Math.min(lowerBound(other.reach, middle), other.length - 1);
    return {line: other, i: other.begin[near] <= middle ? near : Math.max(0, near - 1)};
  }
  return null;
}

// Returns the event in the middle of what is shown: that of the chosen row, if there is
// one.
function firstShown() {
  const middle = (timeline.from + timeline.to) / 2;
  const rows = [...timeline.stuck, ...timeline.flowing];
  for (const line of (rows.includes(timeline.row) ? [timeline.row] : rows).flatMap(
    (row) => row.lines)) {
    const i = lowerBound(line.reach, middle);
    if (i < line.length && line.begin[i] <= timeline.to)
      return {line, i};
  }
  return null;
}

function showRows() {
  timeline.placeRows();
  timeline.draw();
}

// Chooses the row above or below for the other keys.
function chooseRow(down) {
  const rows = [...timeline.stuck, ...timeline.flowing];
  const at = rows.indexOf(timeline.row);
  timeline.row = rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + down))] ?? null;
  if (!timeline.row)
    return;
  timeline.scrollToRow(timeline.row);
  sayRow(timeline.row);
}

function sayRow(row) {
  say(row.label, row.canCollapse ? (row.isCollapsed ? "collapsed" : "expanded") : "",
      row.isPinned ? "pinned" : "");
}

function collapse(row) {
  if (!row?.canCollapse)
    return;
  row.isCollapsed = !row.isCollapsed;
  timeline.row = row;
  showRows();
  sayRow(row);
}

function pin(row) {
  if (!row)
    return;
  row.isPinned = !row.isPinned;
  timeline.row = row;
  showRows();
  sayRow(row);
}

function zoomToSelection() {
  if (timeline.range)
    timeline.zoomToRange(timeline.range);
  else if (timeline.selected)
    timeline.zoomTo(timeline.selected);
}

function zoomByKey(factor) {
  timeline.zoom(factor, timeline.pointer === null ? undefined : timeline.x(timeline.pointer));
}

function scrollPage(down) {
  $("scroller").scrollTop += down * (timeline.height - timeline.stuckBottom) * 0.8;
}

function showKeys() {
  $("keys").showModal();
  // The button that has the focus is at the end.
  $("keys").scrollTop = 0;
}

const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
const KEYS = {
  w: () => zoomByKey(1 / 1.4),
  s: () => zoomByKey(1.4),
  a: () => timeline.pan(-100),
  d: () => timeline.pan(100),
  f: zoomToSelection,
  m: () => markHere("begin"),
  M: () => markHere("end"),
  x: selectShownRange,
  j: () => chooseRow(1),
  k: () => chooseRow(-1),
  c: () => collapse(timeline.row),
  p: () => pin(timeline.row),
  ",": () => goToName(-1),
  ".": () => goToName(1),
  0: () => timeline.showAll(),
  "?": showKeys,
  "/": () => $("query").focus(),
  r: () => $("filter").focus(),
  Escape: unselect,
  PageUp: () => scrollPage(-1),
  PageDown: () => scrollPage(1),
};
KEYS["+"] = KEYS["="] = KEYS.w;
KEYS["-"] = KEYS.s;

function onStep([across, down]) {
  const next = timeline.selected && neighbour(across, down);
  if (next)
    goTo(next);
  else if (!timeline.selected && across)
    timeline.pan(100 * across);
  else if (!timeline.selected)
    $("scroller").scrollTop += 60 * down;
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || $("keys").open)
    return;
  if (event.target === $("query") || event.target === $("filter")) {
    if (event.key === "Escape" || (event.key === "Enter" && event.target === $("filter")))
      canvas.focus();
    return;
  }
  const isFree = event.target === canvas || event.target === document.body;
  const run = KEYS[event.key] ?? KEYS[event.key.length === 1 ? event.key.toLowerCase() : ""];
  if (run) {
    run();
  } else if (isFree && STEPS[event.key]) {
    onStep(STEPS[event.key]);
  } else if (isFree && event.key === "Enter" && !timeline.selected && firstShown()) {
    goTo(firstShown());
  } else {
    return;
  }
  event.preventDefault();
});
