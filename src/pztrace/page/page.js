// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The trace, its timeline, and how the rest of the page is made.

"use strict";

const trace = new Trace(JSON.parse($("trace").textContent));
const timeline = new Timeline(trace, $("timeline"), new Overview(trace, $("overview")),
                              $("scroller"), $("rows"));
const canvas = $("timeline");

function link(text, onclick) {
  return element("button", {type: "button", className: "link", textContent: text, onclick});
}

function definitions(pairs) {
  const list = element("dl");
  for (const [term, value] of pairs)
    list.append(element("dt", {textContent: term}), element("dd", {}, value));
  return list;
}

// Returns a list of figures beside each other.
function figures(pairs) {
  return element("dl", {className: "figures"}, ...pairs.map(([term, value]) => element(
    "div", {}, element("dt", {textContent: term}), element("dd", {textContent: value}))));
}

// Says something to screen readers.
function say(...parts) {
  $("said").textContent = parts.filter(Boolean).join(", ");
}

// Returns the name of the track of an event, which may be one of several in its row.
function trackNameOf({line, i}) {
  return line.tracks ? line.tracks[Math.max(0, lastUpTo(line.firstTimes, line.begin[i]))]
                     : line.row.label;
}

function trackOf(event) {
  return [...event.line.row.path.slice(0, -1).map((row) => row.label),
          trackNameOf(event)].join(" / ");
}

function durationOf({line, i}) {
  return line.end[i] - line.begin[i];
}

function shownDurationOf(event, format = durationText) {
  return (event.line.open?.[event.i] ? "not ended after " : "") + format(durationOf(event));
}

function isSame(a, b) {
  return a?.line === b?.line && a?.i === b?.i;
}

// Fits the pixels of a canvas to its size, and returns its context.
function fittedContext(canvas) {
  canvas.width = Math.round(canvas.clientWidth * devicePixelRatio);
  canvas.height = Math.round(canvas.clientHeight * devicePixelRatio);
  const context = canvas.getContext("2d");
  context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
  return context;
}
