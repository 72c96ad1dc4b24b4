// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The link to what is shown and selected, and what the page says of the trace at first.
//
//   #from=893120&to=904410&event=3.17        The 17th event of line 3.
//   #from=893120&to=904410&range=893500-894000&rows=0-4,7&name=parse

"use strict";

// Returns numbers such as 0, 1, 2, 7 as "0-2,7".
function listText(numbers) {
  const parts = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === number - 1)
      last[1] = number;
    else
      parts.push([number, number]);
  }
  return parts.map(([first, last]) => first === last ? first : first + "-" + last).join(",");
}

// Returns the fragment of the page's address that leads here again.
function linkText() {
  const {from, to, whole, selected, range} = timeline;
  const parts = [];
  if (from !== whole.from || to !== whole.to)
    parts.push("from=" + Math.round(from), "to=" + Math.round(to));
  if (selected && selected.line.number !== undefined)
    parts.push("event=" + selected.line.number + "." + selected.i);
  if (range) {
    const numbers = [...range.rows].map((row) => row.number).sort((a, b) => a - b);
    parts.push("range=" + Math.round(range.from) + "-" + Math.round(range.to),
               "rows=" + listText(numbers));
  }
  if (timeline.name !== null && !selected)
    parts.push("name=" + encodeURIComponent(trace.names[timeline.name]));
  return parts.length ? "#" + parts.join("&") : "";
}

let linkTimer;

// Puts the link into the address when nothing has changed for a moment.
function keepLink() {
  clearTimeout(linkTimer);
  linkTimer = setTimeout(() => {
    const link = linkText();
    if (link !== location.hash)
      history.replaceState(null, "", link || location.pathname + location.search);
  }, 300);
}

// Returns the rows of a text such as "0-2,7".
function rowsOfText(text) {
  const rows = new Set();
  for (const part of text.split(",")) {
    const [first, last = first] = part.split("-").map(Number);
    for (let number = Math.max(0, first); number <= last && number < trace.rows.length; ++number)
      rows.add(trace.rows[number]);
  }
  return rows;
}

// Goes where the address leads.
function followLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  const numbers = (name, between) => (link.get(name) ?? "").split(between).map(parseFloat);
  const [number, i] = numbers("event", ".");
  const [begin, end] = numbers("range", "-");
  const line = trace.numbered[number];
  if (line && i >= 0 && i < line.length)
    goTo({line, i});
  else if (begin < end)
    selectRange({from: begin, to: end, rows: rowsOfText(link.get("rows") ?? "")});
  const name = trace.names.indexOf(link.get("name"));
  if (name >= 0)
    selectName(name);
  const [from] = numbers("from");
  const [to] = numbers("to");
  if (from < to)
    timeline.setView(from, to);
}

function showSummary() {
  const instants = trace.lines.reduce((sum, line) => sum + (line.isInstants ? line.length : 0), 0);
  const counters = trace.rows.filter((row) => row.counter).length;
  const threads = trace.rows.filter((row) => row.states || row.samples).length;
  const parts = [trace.lines.length || !threads ? countText(trace.numSlices, "slice") :
                                                  countText(threads, "thread")];
  if (instants)
    parts.push(countText(instants, "instant"));
  if (counters)
    parts.push(countText(counters, "counter"));
  parts.push(durationText(trace.to - trace.from));
  document.title = trace.name + " - pztrace";
  $("name").textContent = trace.name;
  $("summary").textContent = parts.join(" · ");
  $("empty").hidden = trace.rows.length > 0;
  $("legend").hidden = !trace.rows.some((row) => row.states);
  $("notes").hidden = !trace.notes.length;
  const [summary, list] = $("notes").children;
  summary.textContent =
    trace.complete ? "At the edges of the trace" : "⚠ The trace is not complete";
  list.append(...trace.notes.map((note) => element("li", {textContent: note})));
}

showSummary();
search();
select(null);
followLink();
timeline.onDrawn = keepLink;
addEventListener("hashchange", followLink);
