// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The flame graph of the selected range.

"use strict";

function showFlameGraph() {
  const isShown = Boolean(timeline.range) && timeline.name === null;
  $("flame").hidden = !isShown;
  $("slow").parentNode.hidden = Boolean(timeline.range);
  if (isShown)
    showFrames(rangeStatistics.tree, 0);
}

function frameOf(tree, number) {
  const name = tree.nameOfNode[number];
  const [count, total, self] = [tree.nodes.count, tree.nodes.total, tree.nodes.self].map(
    (column) => column[number]);
  const isRoot = number === 0;
  const label = isRoot ? "all" : trace.names[name];
  const all = tree.nodes.total[0];
  const text = isRoot ? durationText(all) + " on all rows" :
    countText(count, "slice") + ", " + durationText(total) + " (" +
    (total / all * 100).toFixed(1) + " %), self " + durationText(self);
  const frame = element("button", {type: "button", textContent: label, title: label + "\n" + text,
                                   ariaLabel: label + ", " + text});
  frame.style.background = "var(--" + (isRoot ? "dim" : name % NUM_COLORS) + ")";
  frame.onclick = () => {
    const depth = showFrames(tree, number);
    $("frames").children[depth].focus();
  };
  return frame;
}
