// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The selection: an event, or a range of time, or neither. There may be the name of slices
// besides: that of the event, or one of a range's.

"use strict";

// Selects an event, a slice, an instant or a value of a counter, or nothing.
function select(event) {
  timeline.selected = event;
  timeline.range = null;
  timeline.name = event && !event.line.isCounter ?
    trace.nameOfText[event.line.text[event.i]] : null;
  if (event)
    timeline.row = event.line.row;
  say(...(!event ? [] : [
    trace.nameOf(event),
    event.line.isCounter ? event.line.textOf(event.line.value[event.i]) :
      event.line.isInstants ? "" : shownDurationOf(event),
    "at " + timeText(event.line.begin[event.i]), trackOf(event)]));
  showSelection();
}

function goTo(event) {
  timeline.reveal(event);
  select(event);
}

// Selects a range {from, to, rows}.
function selectRange(range) {
  timeline.selected = null;
  timeline.range = range;
  timeline.name = null;
  say("range of " + durationText(range.to - range.from), "from " + timeText(range.from));
  showSelection();
}

// Selects all slices of a name. A range stays, an event of another name does not.
function selectName(name) {
  if (timeline.selected)
    select(null);
  timeline.name = name;
  showSelection();
}

// Takes back the last thing that is chosen: the ruler, the name, or the selection.
function unselect() {
  if (timeline.marks.length) {
    timeline.marks = [];
    timeline.draw();
  } else if (timeline.range && timeline.name !== null) {
    selectName(null);
  } else {
    select(null);
  }
}

// Selects the range of the ruler, or of the selected event, or all that is shown.
function selectShownRange() {
  const {marks, selected, from, to} = timeline;
  const ends = marks.length === 2 ? marks : selected ?
    [selected.line.begin[selected.i], selected.line.end[selected.i]] :
    [Math.max(from, trace.from), Math.min(to, trace.to)];
  if (ends[0] !== ends[1])
    selectRange({from: Math.min(...ends), to: Math.max(...ends), rows: timeline.allRows()});
}

// Puts an end of the ruler at a time.
function mark(time) {
  timeline.marks = timeline.marks.length === 2 ? [time] : [...timeline.marks, time];
  const [a, b] = timeline.marks;
  say(b === undefined ? "ruler from " + timeText(a) : durationText(Math.abs(b - a)));
  timeline.draw();
}

// Puts an end of the ruler at the beginning or the end of the selected event, or at the
// pointer.
function markHere(column) {
  const {selected, pointer, from, to} = timeline;
  mark(selected ? selected.line[column][selected.i] : pointer ?? (from + to) / 2);
}

// Goes to another event of the selected name.
function goToName(step) {
  if (timeline.name === null)
    return;
  const {selected} = timeline;
  const place = selected ? {time: selected.line.begin[selected.i], number: selected.line.number,
                            i: selected.i} : {time: timeline.from, number: -1, i: 0};
  const next = nextOfName(trace, timeline.name, place, step);
  if (next)
    goTo(next);
}

function showSelection() {
  // The filter ends if it has hidden what is selected.
  $("filter").value = timeline.filter;
  showDetails();
  showName();
  showFlameGraph();
  showHits();
  for (const row of $("slowest").tBodies[0].rows) {
    row.classList.toggle("chosen",
                         Boolean(timeline.selected) && isSame(row.event, timeline.selected));
  }
  timeline.draw();
}
