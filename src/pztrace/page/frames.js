// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The frames of a flame graph: each is as wide as its part of the time, below the frame that
// it is within. The page's frameOf() makes a frame. The tree may name the place of its frames.
//
//   | all                       |
//   | item             | idle   |
//   | check | make |

"use strict";

const FRAME = 18;
// Percent of the width. Narrower frames are left out.
const MIN_FRAME = 0.2;

// Shows the frames in which `widest` has the whole width. Returns the number of frames
// around it.
function showFrames(tree, widest) {
  const frames = [];
  let rows = 0;
  const add = (node, left, width, depth) => {
    rows = Math.max(rows, depth + 1);
    const frame = frameOf(tree, node);
    if (width < 1.5) {
      // There is no room for a letter.
      frame.textContent = "";
      frame.className = "thin";
    }
    frame.style.left = left + "%";
    frame.style.width = width + "%";
    frame.style.top = depth * FRAME + "px";
    frames.push(frame);
  };
  const around = [];
  for (let at = tree.parent[widest]; at >= 0; at = tree.parent[at])
    around.unshift(at);
  around.forEach((node, depth) => add(node, 0, 100, depth));
  const waiting = tree.nodes.total[widest] > 0 ? [[widest, 0, 100, around.length]] : [];
  while (waiting.length) {
    const [node, left, width, depth] = waiting.pop();
    add(node, left, width, depth);
    let at = left;
    const within = [];
    for (const child of tree.children[node]) {
      const part = width * tree.nodes.total[child] / tree.nodes.total[node];
      if (part < MIN_FRAME)
        break;
      within.push([child, at, part, depth + 1]);
      at += part;
    }
    waiting.push(...within.reverse());
  }
  const place = $(tree.place ?? "frames");
  place.replaceChildren(...frames);
  place.style.height = rows * FRAME + "px";
  return around.length;
}
