// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The strip above the timeline.

"use strict";

class Overview {
  constructor(trace, canvas) {
    Object.assign(this, {trace, canvas});
    this.context = canvas.getContext("2d");
    this.busy = trace.busy(500);
  }

  // How busy the trace is over all its time, and which part of it is shown.
  draw({whole, from: shownFrom, to: shownTo, colors}) {
    const {canvas, context, busy, trace} = this;
    const width = canvas.clientWidth;
    const height = canvas.clientHeight;
    const size = [width, height].map((pixels) => Math.round(pixels * devicePixelRatio));
    if (canvas.width !== size[0] || canvas.height !== size[1])
      [canvas.width, canvas.height] = size;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.fillStyle = colors.back;
    context.fillRect(0, 0, width, height);
    const most = busy.reduce((a, b) => Math.max(a, b), 0);
    const margin = (trace.from - whole.from) / (whole.to - whole.from) * width;
    const step = (width - 2 * margin) / busy.length;
    context.fillStyle = colors.slices[0];
    context.beginPath();
    context.moveTo(margin, height);
    for (let i = 0; most > 0 && i < busy.length; ++i) {
      const y = height - busy[i] / most * (height - 4);
      context.lineTo(margin + i * step, y);
      context.lineTo(margin + (i + 1) * step, y);
    }
    context.lineTo(width - margin, height);
    context.fill();
    const scale = width / (whole.to - whole.from);
    const from = (shownFrom - whole.from) * scale;
    const to = Math.max((shownTo - whole.from) * scale, from + 2);
    context.globalAlpha = 0.55;
    context.fillStyle = colors.dim;
    context.fillRect(0, 0, from, height);
    context.fillRect(to, 0, width - to, height);
    context.globalAlpha = 1;
    context.strokeStyle = colors.accent;
    context.strokeRect(from + 0.5, 0.5, to - from - 1, height - 1);
  }
}
