// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The flame graphs of the selected range, and of the samples in it or in the selected slice.

"use strict";

function showFlameGraph() {
  const isShown = timeline.range && timeline.name === null && rangeStatistics.names.length > 0;
  $("flame").hidden = !isShown;
  $("slow").parentNode.hidden = Boolean(timeline.range) || !trace.lines.length;
  if (isShown)
    showFrames(rangeStatistics.tree, 0);
  showSamples();
}

function showSamples() {
  const {range, selected} = timeline;
  $("sampled").hidden = true;
  const place = range ?? (selected && !selected.line.isInstants && !selected.line.isCounter ?
    {from: selected.line.begin[selected.i], to: selected.line.end[selected.i],
     rows: [selected.line.row]} : null);
  if (!place || !trace.stacks)
    return;
  const tree = new SampleTree(trace, [...place.rows], place.from, place.to);
  if (!tree.numSamples)
    return;
  $("sampled").hidden = false;
  showFrames(tree, 0);
}

function frameOf(tree, number) {
  if (tree.frameTexts)
    return frameButton(tree, number, ...tree.frameTexts(number), number % NUM_COLORS);
  const name = tree.nameOfNode[number];
  const [count, total, self] = [tree.nodes.count, tree.nodes.total, tree.nodes.self].map(
    (column) => column[number]);
  const isRoot = number === 0;
  const label = isRoot ? "all" : trace.names[name];
  const all = tree.nodes.total[0];
  const text = isRoot ? durationText(all) + " on all rows" :
    countText(count, "slice") + ", " + durationText(total) + " (" +
    (total / all * 100).toFixed(1) + " %), self " + durationText(self);
  return frameButton(tree, number, label, text, name % NUM_COLORS);
}

function frameButton(tree, number, label, text, color) {
  const frame = element("button", {type: "button", textContent: label, title: label + "\n" + text,
                                   ariaLabel: label + ", " + text});
  frame.style.background = "var(--" + (number === 0 ? "dim" : color) + ")";
  frame.onclick = () => {
    const depth = showFrames(tree, number);
    $(tree.place ?? "frames").children[depth].focus();
  };
  return frame;
}
