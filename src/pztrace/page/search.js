// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The search for events, and the filter of rows.

"use strict";

let hits = [];

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

// Goes to a hit from the selection, or from what is shown, around the ends of the list.
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

function filterRows() {
  timeline.filter = $("filter").value;
  $("scroller").scrollTop = 0;
  timeline.placeRows();
  timeline.draw();
  say(countText(timeline.stuck.length + timeline.flowing.length, "row"));
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
$("filter").addEventListener("input", filterRows);
