// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The keyboard, the mouse, fingers, and what is around the timeline. Names come from the
// trace, so they become text, never markup.

"use strict";

const $ = (id) => document.getElementById(id);

const trace = new Trace(JSON.parse($("trace").textContent));
const timeline = new Timeline(trace, $("timeline"), new Overview(trace, $("overview")),
                              $("scroller"), $("rows"));
const canvas = $("timeline");
let hits = [];

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function link(text, onclick) {
  return element("button", {type: "button", className: "link", textContent: text, onclick});
}

// The row and what it is part of, from the outside.
function pathOf(row) {
  return row ? [...pathOf(row.parent), row] : [];
}

function trackOf({line}) {
  return pathOf(line.row).map((row) => row.label).join(" / ");
}

function durationOf({line, i}) {
  return line.end[i] - line.begin[i];
}

function shownDurationOf(event, format = durationText) {
  return (event.line.open[event.i] ? "not ended after " : "") + format(durationOf(event));
}

function isSame(a, b) {
  return a?.line === b?.line && a?.i === b?.i;
}

// ---- The selection and its details.

function select(event) {
  timeline.selected = event;
  showDetails(event);
  showHits();
  for (const row of $("slowest").tBodies[0].rows)
    row.classList.toggle("chosen", Boolean(event) && isSame(row.event, event));
  $("said").textContent = !event ? "" : [
    trace.nameOf(event), event.line.isInstants ? "" : shownDurationOf(event),
    "at " + timeText(event.line.begin[event.i]), trackOf(event)].filter(Boolean).join(", ");
  timeline.draw();
}

function goTo(event) {
  timeline.reveal(event);
  select(event);
}

function definitions(pairs) {
  const list = element("dl");
  for (const [term, value] of pairs)
    list.append(element("dt", {textContent: term}), element("dd", {}, value));
  return list;
}

function argument(value) {
  if (value === null || typeof value !== "object")
    return String(value);
  const pairs = Object.entries(value);
  return pairs.length ? definitions(pairs.map(([key, value]) => [key, argument(value)])) : "{}";
}

function showDetails(event) {
  const details = $("details");
  details.replaceChildren();
  if (!event) {
    details.append(element("p", {textContent: "Click a slice, or press Enter in the timeline."}));
    return;
  }
  const {line, i} = event;
  const pairs = [["Name", trace.nameOf(event)]];
  if (trace.categoryOf(event))
    pairs.push(["Category", trace.categoryOf(event)]);
  pairs.push(["Start", timeText(line.begin[i])]);
  const ns = BigInt(trace.first) + BigInt(Math.round(line.begin[i]));
  if (trace.realtime !== null)
    pairs.push(["Date", dateText(ns + BigInt(trace.realtime))]);
  pairs.push(["Clock", ns + " ns"]);
  if (!line.isInstants) {
    const total = trace.totals[line.text[i]];
    pairs.push(["Duration", shownDurationOf(event, timeText)], ["Self", timeText(line.self[i])],
               ["Of this name", countText(total.count, "slice") + ", " + durationText(total.ns) +
                ", the longest " + durationText(total.max)]);
  }
  for (const row of pathOf(line.row))
    pairs.push([row.kind[0].toUpperCase() + row.kind.slice(1), row.label]);
  details.append(definitions(pairs));
  const args = Object.entries(trace.argsOf(event));
  if (args.length) {
    details.append(element("h3", {textContent: "Arguments"}),
                   definitions(args.map(([key, value]) => [key, argument(value)])));
  }
  for (const flow of trace.flowsOf(event)) {
    const list = element("dl");
    for (const other of trace.eventsOfFlow(flow).slice(0, 100)) {
      const name = trace.nameOf(other);
      list.append(element("dt", {textContent: timeText(other.line.begin[other.i])}),
                  element("dd", {}, isSame(other, event) ? name : link(name, () => goTo(other))));
    }
    details.append(element("h3", {textContent: "Flow " + flow}), list);
  }
}

function showSlowest() {
  const slices = trace.slowest(10);
  $("slow").textContent = $("query").value ? "The slowest hits" : "The slowest slices";
  $("slowest").tBodies[0].replaceChildren(...slices.map((event) => {
    const {line, i} = event;
    const cells = [durationText(durationOf(event)), durationText(line.self[i]),
                   link(trace.nameOf(event), () => {
                     timeline.zoomTo(event);
                     select(event);
                   }), line.row.label, timeText(line.begin[i])];
    const row = element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
    row.event = event;
    row.cells[3].title = trackOf(event);
    row.classList.toggle("chosen", isSame(event, timeline.selected));
    return row;
  }));
}

// ---- The search.

function showHits() {
  const at = hits.findIndex((hit) => isSame(hit, timeline.selected));
  const count = hits.length.toLocaleString("en");
  $("hits").textContent = !$("query").value ? "" :
    at >= 0 ? (at + 1).toLocaleString("en") + " / " + count :
      hits.length ? count + (hits.length === 1 ? " hit" : " hits") : "no hits";
  $("next").disabled = $("previous").disabled = !hits.length;
}

function search() {
  hits = trace.search($("query").value);
  showHits();
  showSlowest();
  timeline.draw();
}

// From the selection, or from what is shown, around the ends of the list.
function goToHit(step) {
  if (!hits.length)
    return;
  let at = hits.findIndex((hit) => isSame(hit, timeline.selected));
  if (at < 0) {
    const from = timeline.selected ? timeline.selected.line.begin[timeline.selected.i]
                                   : timeline.from;
    at = hits.findIndex(({line, i}) => line.begin[i] >= from);
    at = step > 0 ? Math.max(at, 0) : (at < 0 ? hits.length : at) - 1;
  } else {
    at += step;
  }
  goTo(hits[(at + hits.length) % hits.length]);
}

$("query").addEventListener("input", search);
$("search").addEventListener("submit", (event) => {
  event.preventDefault();
  goToHit(1);
});
$("query").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) {
    event.preventDefault();
    goToHit(-1);
  }
});
$("previous").addEventListener("click", () => goToHit(-1));

// ---- The keyboard.

// The slice beside, above or below the selected one.
function neighbour(across, down) {
  const {line, i} = timeline.selected;
  if (across)
    return i + across in line.begin ? {line, i: i + across} : null;
  const middle = (line.begin[i] + line.end[i]) / 2;
  for (let number = line.number + down; number in trace.lines; number += down) {
    const other = trace.lines[number];
    if (!other.length)
      continue;
    // The one that is there, or the last one before.
    const at = Math.min(lowerBound(other.reach, middle), other.length - 1);
    return {line: other, i: other.begin[at] <= middle ? at : Math.max(0, at - 1)};
  }
  return null;
}

// That in the middle of what is shown.
function firstShown() {
  const middle = (timeline.from + timeline.to) / 2;
  for (const line of trace.lines) {
    const i = lowerBound(line.reach, middle);
    if (i < line.length && line.begin[i] <= timeline.to)
      return {line, i};
  }
  return null;
}

let pointerX;  // Where the mouse is, if it is over the timeline.

const STEPS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
const KEYS = {
  w: () => timeline.zoom(1 / 1.4, pointerX),
  s: () => timeline.zoom(1.4, pointerX),
  a: () => timeline.pan(-100),
  d: () => timeline.pan(100),
  f: () => timeline.selected && timeline.zoomTo(timeline.selected),
  0: () => timeline.showAll(),
  "?": () => $("keys").showModal(),
  "/": () => $("query").focus(),
  Escape: () => select(null),
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
  if (event.target === $("query")) {
    if (event.key === "Escape")
      canvas.focus();
    return;
  }
  const isFree = event.target === canvas || event.target === document.body;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (KEYS[key]) {
    KEYS[key]();
  } else if (isFree && STEPS[key]) {
    onStep(STEPS[key]);
  } else if (isFree && key === "Enter" && !timeline.selected && firstShown()) {
    goTo(firstShown());
  } else {
    return;
  }
  event.preventDefault();
});

// ---- The mouse and fingers.

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

// Those that are down, and where they were.
const pointers = new Map();
let isDrag = false;

canvas.addEventListener("pointerdown", (event) => {
  if (event.button !== 0)
    return;
  canvas.setPointerCapture(event.pointerId);
  isDrag = pointers.size > 0;
  pointers.set(event.pointerId, placeIn(canvas, event));
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
  if (pointers.size === 2)
    pinch(event.pointerId, place);
  else
    timeline.pan(before.x - place.x);
  $("scroller").scrollTop += before.y - place.y;
  pointers.set(event.pointerId, place);
});

// The times under two fingers stay under them.
function pinch(moved, place) {
  const [[, still]] = [...pointers].filter(([id]) => id !== moved);
  const before = pointers.get(moved);
  const distance = (a) => Math.max(30, Math.abs(a.x - still.x));
  timeline.zoom(distance(before) / distance(place), still.x);
}

for (const name of ["pointerup", "pointercancel"]) {
  canvas.addEventListener(name, (event) => {
    if (!pointers.delete(event.pointerId) || isDrag || name === "pointercancel")
      return;
    const {x, y} = placeIn(canvas, event);
    select(timeline.eventAt(x, y));
  });
}

canvas.addEventListener("dblclick", (event) => {
  const {x, y} = placeIn(canvas, event);
  const found = timeline.eventAt(x, y);
  if (found)
    timeline.zoomTo(found);
});

canvas.addEventListener("pointerleave", () => hover(null));

function hover(place) {
  pointerX = place && place.x >= timeline.left ? place.x : undefined;
  const event = place && timeline.eventAt(place.x, place.y);
  const tip = $("tip");
  tip.hidden = !event;
  if (event) {
    tip.replaceChildren(trace.nameOf(event) + " ", element("small", {
      textContent: event.line.isInstants ? "at " + timeText(event.line.begin[event.i])
                                         : shownDurationOf(event)}));
    const main = document.querySelector("main");
    const left = Math.min(place.x + 12, main.clientWidth - tip.offsetWidth - 4);
    const below = $("scroller").offsetTop + place.y + 18;
    tip.style.left = Math.max(0, left) + "px";
    tip.style.top = Math.min(below, main.clientHeight - tip.offsetHeight - 4) + "px";
  }
  if (!isSame(event, timeline.hovered)) {
    timeline.hovered = event;
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
$("help").addEventListener("click", () => $("keys").showModal());

// ---- What the page says of the trace.

function showSummary() {
  const instants = trace.lines.reduce((sum, line) => sum + (line.isInstants ? line.length : 0), 0);
  const counters = trace.rows.filter((row) => row.counter).length;
  const parts = [countText(trace.numSlices, "slice")];
  if (instants)
    parts.push(countText(instants, "instant"));
  if (counters)
    parts.push(countText(counters, "counter"));
  parts.push(durationText(trace.to - trace.from));
  document.title = trace.name + " - pztrace";
  $("name").textContent = trace.name;
  $("summary").textContent = parts.join(" · ");
  $("empty").hidden = trace.rows.length > 0;
  $("notes").hidden = !trace.notes.length;
  const [summary, list] = $("notes").children;
  summary.textContent = trace.complete ? "At the edges of the trace" : "⚠ The trace is not complete";
  list.append(...trace.notes.map((note) => element("li", {textContent: note})));
}

showSummary();
search();
select(null);
