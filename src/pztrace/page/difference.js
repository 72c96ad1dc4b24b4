// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The flame graph of what differs between two versions of a program. A frame is as wide as
// the time of its path before and after together, so what is new or has vanished is there.

"use strict";

const difference = JSON.parse($("trace").textContent);

// Returns the paths as nodes, each after its parent. Node 0 contains all of them.
function treeOf(paths) {
  const parent = [-1, ...paths.map((path) => path.outer + 1)];
  const total = [0, ...paths.map((path) => path.weight)];
  const children = parent.map(() => []);
  for (let node = parent.length - 1; node > 0; --node) {
    total[parent[node]] += total[node];
    children[parent[node]].push(node);
  }
  for (const nodes of children)
    nodes.sort((a, b) => total[b] - total[a]);
  return {parent, children, nodes: {total}};
}

// Returns the cells of a row of the table as a sentence.
function sentenceOf([column, before, after, change, percent, interval]) {
  return column + ": " + before + ", then " + after + (change ? ", " + change : "") +
    (percent ? ", " + percent : "") + (interval ? " (" + interval + ")" : "");
}

function frameOf(tree, number) {
  const path = difference.paths[number - 1];
  const label = path ? (path.name || "(no name)") + (path.state ? ": " + path.state : "") : "all";
  const lines = [label, ...(path ? path.cells.map(sentenceOf) : [])];
  const frame = element("button", {type: "button", textContent: label,
                                   title: lines.join("\n"), ariaLabel: lines.join("; ")});
  frame.style.background =
    "var(--" + (!path?.sign ? "dim" : path.sign > 0 ? "more" : "less") + ")";
  frame.onclick = () => {
    const depth = showFrames(tree, number);
    showChanges(number);
    $("frames").children[depth].focus();
  };
  return frame;
}

// Shows the table of a path.
function showChanges(number) {
  const path = difference.paths[number - 1];
  $("changes").hidden = !path;
  if (!path)
    return;
  $("path").textContent = path.path + (path.state ? ": " + path.state : "") +
    (path.stands_out ? " *" : "");
  $("changes").querySelector("tbody").replaceChildren(...path.cells.map(tableRow));
}

function showSummary() {
  const {summary, notes, paths} = difference;
  $("summary").textContent = summary;
  $("empty").hidden = paths.length > 0;
  $("notes").append(...notes.map((note) => element("li", {textContent: note})));
}

showSummary();
showFrames(treeOf(difference.paths), 0);
