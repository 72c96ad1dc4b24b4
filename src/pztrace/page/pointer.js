// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The mouse and fingers. A mouse selects a range by dragging; so does a finger on the axis.
// Elsewhere a finger moves the timeline, as does a mouse with Shift.

"use strict";

// The part of a label's right end that pins its row.
const PIN = 26;

function placeIn(target, event) {
  const box = target.getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}

canvas.addEventListener("wheel", (event) => {
  const {x} = placeIn(canvas, event);
  if (x < timeline.left)
    return;  // Scrolls.
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 30 : 1;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    timeline.pan((event.deltaX || event.deltaY) * unit);
  else
    timeline.zoom(Math.exp(event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.002)), x);
}, {passive: false});

// The fingers that are down, or the mouse, and where they were.
const pointers = new Map();
let isDrag = false;
// The first point of a range that is being dragged: {time, y}.
let dragged = null;

canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0)
    return;
  canvas.setPointerCapture(event.pointerId);
  const place = placeIn(canvas, event);
  isDrag = pointers.size > 0;
  const isRange = !isDrag && place.x >= timeline.left && trace.rows.length > 0 &&
    (place.y < AXIS || (event.pointerType === "mouse" && !event.shiftKey));
  dragged = isRange ? {time: timeline.snappedTime(place.x, place.y), y: place.y} : null;
  pointers.set(event.pointerId, place);
  hover(null);
});

canvas.addEventListener("pointermove", (event) => {
  const place = placeIn(canvas, event);
  const before = pointers.get(event.pointerId);
  if (!before) {
    if (event.pointerType === "mouse")
      hover(place);
    return;
  }
  if (!isDrag && Math.hypot(place.x - before.x, place.y - before.y) < 4)
    return;
  isDrag = true;
  if (dragged) {
    dragRange(place);
    return;
  }
  if (pointers.size === 2)
    pinch(event.pointerId, place);
  else
    timeline.pan(before.x - place.x);
  $("scroller").scrollTop += before.y - place.y;
  pointers.set(event.pointerId, place);
});

function dragRange({x, y}) {
  const time = timeline.snappedTime(x, y);
  const rows = dragged.y < AXIS ? timeline.allRows() :
    timeline.rowsBetween(Math.min(dragged.y, y), Math.max(dragged.y, y));
  timeline.selected = null;
  timeline.range = {from: Math.min(dragged.time, time), to: Math.max(dragged.time, time), rows};
  timeline.draw();
}

// Keeps the times under two fingers under them.
function pinch(moved, place) {
  const [[, still]] = [...pointers].filter(([id]) => id !== moved);
  const before = pointers.get(moved);
  const distance = (a) => Math.max(30, Math.abs(a.x - still.x));
  timeline.zoom(distance(before) / distance(place), still.x);
}

for (const name of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(name, (event) => {
    if (!pointers.delete(event.pointerId))
      return;
    if (isDrag && dragged && timeline.range) {
      const {range} = timeline;
      if (range.to > range.from)
        selectRange(range);
      else
        select(null);
    } else if (!isDrag && name === "pointerup") {
      click(placeIn(canvas, event));
    }
    dragged = null;
  });
}

// Returns the row whose label is at a place, or null.
function labelAt({x, y}) {
  const row = timeline.rowAt(y);
  if (!row)
    return null;
  const isLabel = row.isHeading || x < timeline.left ||
    (timeline.isNarrow && y + timeline.scrolled(row) < row.content);
  return isLabel ? row : null;
}

function click(place) {
  const row = labelAt(place);
  if (!row) {
    select(timeline.eventAt(place.x, place.y));
    return;
  }
  const end = timeline.isNarrow || row.isHeading ? timeline.width : timeline.left;
  if (place.x > end - PIN && !row.isHeading)
    pin(row);
  else
    collapse(row);
}

canvas.addEventListener("dblclick", (event) => {
  const place = placeIn(canvas, event);
  const found = labelAt(place) ? null : timeline.eventAt(place.x, place.y);
  if (found)
    timeline.zoomTo(found);
});

canvas.addEventListener("pointerleave", () => hover(null));

function tipOf(event) {
  const {line, i} = event;
  if (line.isCounter) {
    return [line.textOf(line.value[i]) + (line.isConcurrency ? " at a time " : " "),
            element("small", {textContent: "from " + timeText(line.begin[i])})];
  }
  return [trace.nameOf(event) + " ", element("small", {
    textContent: line.isInstants ? "at " + timeText(line.begin[i]) : shownDurationOf(event)})];
}

function hover(place) {
  const isOver = place && place.x >= timeline.left;
  timeline.pointer = isOver ? timeline.snappedTime(place.x, place.y) : null;
  const row = place ? timeline.rowAt(place.y) : null;
  const event = place && timeline.eventAt(place.x, place.y);
  const tip = $("tip");
  tip.hidden = !event;
  if (event) {
    tip.replaceChildren(...tipOf(event));
    const main = document.querySelector("main");
    const left = Math.min(place.x + 12, main.clientWidth - tip.offsetWidth - 4);
    const below = $("scroller").offsetTop + place.y + 18;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.min(below, main.clientHeight - tip.offsetHeight - 4) + "px";
  }
  canvas.style.cursor = place && labelAt(place) ? "pointer" : "";
  if (!isSame(event, timeline.hovered) || row !== timeline.rowUnder ||
      timeline.marks.length === 1) {
    timeline.hovered = event;
    timeline.rowUnder = row;
    timeline.draw();
  }
}

function moveOverview(event) {
  if (!event.buttons)
    return;
  const {x} = placeIn($("overview"), event);
  const {whole} = timeline;
  const time = whole.from + x / $("overview").clientWidth * (whole.to - whole.from);
  const half = (timeline.to - timeline.from) / 2;
  timeline.setView(time - half, time + half);
}
$("overview").addEventListener("pointerdown", (event) => {
  $("overview").setPointerCapture(event.pointerId);
  moveOverview(event);
});
$("overview").addEventListener("pointermove", moveOverview);

$("in").addEventListener("click", () => timeline.zoom(1 / 1.4));
$("out").addEventListener("click", () => timeline.zoom(1.4));
$("whole").addEventListener("click", () => timeline.showAll());
$("help").addEventListener("click", showKeys);
