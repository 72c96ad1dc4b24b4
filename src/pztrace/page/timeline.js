// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Draws the trace on a canvas that is as large as what is seen of it. The number of shapes
// depends on the number of pixels and rows, not on that of events: what begins in the same
// cell of two pixels and is narrower is one shape, and binary search finds what begins
// after it.

"use strict";

const CELL = 2;
// Instants that begin in a cell of so many pixels are one shape.
const INSTANT_CELL = 10;
const NUM_COLORS = 8;
const NAME_FONT = "11px ui-monospace, Menlo, Consolas, monospace";
const SMALL_FONT = "11px system-ui, sans-serif";

class Timeline extends View {
  constructor(trace, canvas, overview, scroller, spacer) {
    super(trace, canvas, scroller, spacer);
    this.overview = overview;
    // The cells of a line: a pixel each, to be drawn at once.
    this.strip = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    this.context.font = NAME_FONT;
    this.letter = this.context.measureText("0").width;
    this.selected = null;
    this.hovered = null;
    // The number of the name that is underlined.
    this.name = null;
    // A range of time and its rows: {from, to, rows}.
    this.range = null;
    // The row that the keys for rows are for.
    this.row = null;
    // The ends of the ruler: up to two times, and where the pointer is.
    this.marks = [];
    this.pointer = null;
    this.drawn = {frames: 0, shapes: 0, steps: 0, ms: 0};
    this.onDrawn = () => {};
    this.readColors();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.readColors();
      this.draw();
    });
    new ResizeObserver(() => this.resize()).observe(scroller);
    scroller.addEventListener("scroll", () => this.draw());
    this.resize();
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue("--" + name).trim();
    this.colors = {slices: Array.from({length: NUM_COLORS}, (_, i) => color(i))};
    for (const name of ["back", "panel", "band", "border", "grid", "text", "muted", "accent",
                        "dim", "hit", "lost", ...STATES.slice(1)])
      this.colors[name] = color(name);
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const lines = tile.getContext("2d");
    lines.strokeStyle = this.colors.lost;
    lines.beginPath();
    for (const x of [-6, 0, 6]) {
      lines.moveTo(x, 6);
      lines.lineTo(x + 6, 0);
    }
    lines.stroke();
    this.hatching = this.context.createPattern(tile, "repeat");
    // As an image has them.
    this.pixels = new Map([...this.colors.slices, this.colors.dim, this.colors.hit].map((name) => {
      this.strip.fillStyle = name;
      this.strip.fillRect(0, 0, 1, 1);
      return [name, new Uint32Array(this.strip.getImageData(0, 0, 1, 1).data.buffer)[0]];
    }));
  }

  resize() {
    this.placeRows();
    this.canvas.width = Math.round(this.width * devicePixelRatio);
    this.canvas.height = Math.round(this.height * devicePixelRatio);
    this.strip.canvas.width = Math.max(1, Math.ceil(this.width / CELL));
    this.strip.canvas.height = 1;
    this.image = this.strip.createImageData(this.strip.canvas.width, 1);
    this.cells = new Uint32Array(this.image.data.buffer);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.height + "px";
    this.drawNow();
  }

  // Draws before the next frame.
  draw() {
    this.frame ??= requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    const start = performance.now();
    this.drawn.shapes = this.drawn.steps = 0;
    this.drawRows();
    this.overview.draw(this);
    ++this.drawn.frames;
    this.drawn.ms = performance.now() - start;
    this.onDrawn();
  }

  fill(color, x, y, width, height) {
    ++this.drawn.shapes;
    this.context.fillStyle = color;
    this.context.fillRect(x, y, width, height);
  }

  text(text, x, y, font, color, width = Infinity) {
    const context = this.context;
    context.font = font;
    context.fillStyle = color;
    if (width !== Infinity && context.measureText(text).width > width) {
      let length = Math.floor(text.length * width / context.measureText(text).width);
      while (length > 0 && context.measureText(text.slice(0, length) + "…").width > width)
        --length;
      text = length > 0 ? text.slice(0, length) + "…" : "";
    }
    context.fillText(text, x, y);
    ++this.drawn.shapes;
  }

  // Draws within a part of the canvas.
  within(x, y, width, height, draw) {
    const {context} = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }

  drawRows() {
    const {context, colors, width, height, left, stuckBottom} = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    this.fill(colors.back, 0, 0, width, height);
    if (!this.trace.rows.length)
      return;
    const ticks = ticksOf(this);
    for (const {x} of ticks)
      this.fill(colors.grid, Math.round(x), AXIS, 1, height);
    if (left)
      this.fill(colors.border, left - 1, AXIS, 1, height);
    const scroll = this.scroller.scrollTop;
    this.within(0, stuckBottom, width, height, () => {
      context.translate(0, -scroll);
      for (const row of this.rowsInWindow())
        this.drawRow(row, scroll);
    });
    for (const row of this.stuck)
      this.drawRow(row, 0);
    if (this.stuck.length)
      this.fill(colors.muted, 0, stuckBottom - 2, width, 1);
    this.within(left, AXIS, width - left, height, () => {
      this.drawFlows();
      drawRange(this);
    });
    drawAxis(this, ticks);
    this.within(left, 0, width - left, height, () => drawRuler(this));
  }

  // Draws the mark of a row that can be collapsed, its label, and its pin.
  drawLabel(row) {
    const {context, colors, left, width} = this;
    const isProcess = row.kind === "process";
    const y = (this.isNarrow ? row.top : row.content) + 13;
    const x = 6 + INDENT * row.level;
    if (row === this.row)
      this.fill(colors.accent, 0, row.top, 3, row.bottom - row.top - 2);
    if (row.canCollapse) {
      ++this.drawn.shapes;
      context.fillStyle = colors.muted;
      context.beginPath();
      const corners = row.isCollapsed ? [[2, -4], [2, 4], [7, 0]] : [[0, -2], [9, -2], [4.5, 3]];
      for (const [a, b] of corners)
        context.lineTo(x + a, y - 4 + b);
      context.fill();
    }
    const end = left && !row.isHeading ? left : width;
    if (!row.isHeading || row.isPinned)
      this.drawPin(row, (left || width) - 14, y - 5);
    const label = row.isStuck ? row.path.map(({label}) => label).join(" / ") : row.label;
    this.text(label, x + MARK, y, isProcess ? "600 " + LABEL_FONT : LABEL_FONT, colors.text,
              end - x - MARK - 24);
    const counter = row.lines.find((line) => line.isCounter);
    if (counter) {
      if (this.isNarrow)
        this.note = [counter.maxText, x + MARK, row.content + 12];
      else
        this.text(counter.maxText, x + MARK, row.content + 28, SMALL_FONT, colors.muted,
                  left - x - MARK - 8);
    }
  }

  // Draws a circle: full if the row is pinned.
  drawPin(row, x, y) {
    const {context, colors} = this;
    if (!row.isPinned && row !== this.rowUnder && row !== this.row && !this.isNarrow)
      return;
    ++this.drawn.shapes;
    context.beginPath();
    context.arc(x, y, 4, 0, 2 * Math.PI);
    context.strokeStyle = context.fillStyle = row.isPinned ? colors.accent : colors.muted;
    context.lineWidth = 1.5;
    if (row.isPinned)
      context.fill();
    context.stroke();
  }

  drawRow(row, scroll) {
    const {colors, left, width} = this;
    if (row.kind === "process" && !row.isStuck)
      this.fill(colors.band, 0, row.top, width,
                row.isHeading ? HEADING - 2 : row.content - row.top);
    this.note = null;
    this.drawLabel(row);
    this.within(left, row.top, width - left, row.bottom - row.top, () => {
      if (row.states)
        this.drawStates(row);
      for (const line of row.lines) {
        if (line.top > scroll + this.height)
          break;
        if (line.top + heightOf(line) < scroll)
          continue;
        if (line.isCounter)
          this.drawCounter(line);
        else
          this.drawLine(line);
      }
      if (row.lost)
        this.drawLost(row);
    });
    if (this.note)
      this.text(...this.note, SMALL_FONT, colors.muted);
  }

  // Hatches the time in which packets are lost. Stretches of the same cell are one.
  drawLost(row) {
    const {context, left, width} = this;
    const {begin, end} = row.lost;
    const cell = (time) => Math.floor(this.x(time) / CELL) * CELL;
    context.fillStyle = this.hatching;
    for (let i = 0; i < begin.length && begin[i] <= this.to; ++i) {
      if (end[i] < this.from)
        continue;
      const x = Math.max(left - CELL, cell(begin[i]));
      let right = Math.max(x, cell(end[i]));
      while (i + 1 < begin.length && cell(begin[i + 1]) <= right)
        right = Math.max(right, cell(end[++i]));
      ++this.drawn.shapes;
      context.fillRect(x, row.content, Math.min(width, right) + CELL - x, row.bottom - row.content);
    }
  }

  // Draws a strip of the thread's states. A cell with several has the color of the one that
  // lasts longest in it.
  drawStates({states, content}) {
    const end = Math.min(this.width, this.x(this.trace.to));
    let begin = Math.max(this.left, this.x(states.begin[0]));
    let color = null;
    const fill = (x) => {
      if (color && x > begin)
        this.fill(color, begin, content, x - begin, STRIP - 2);
      begin = x;
    };
    for (let x = begin; x < end;) {
      ++this.drawn.steps;
      const i = lastUpTo(states.begin, this.time(x));
      const next = i + 1 < states.length ? this.x(states.begin[i + 1]) : end;
      let kind = states.kind[Math.max(0, i)];
      let to = Math.min(end, next);
      if (to - x < CELL) {
        to = Math.min(end, x + CELL);
        const times = states.divide(this.time(x), this.time(to));
        kind = times.indexOf(times.reduce((a, b) => Math.max(a, b), 0));
      }
      const found = this.colors[STATES[kind]] ?? null;
      if (found !== color)
        fill(x);
      color = found;
      x = to;
    }
    fill(end);
  }

  drawLine(line) {
    const {from, to, scale, left} = this;
    const x = (time) => left + (time - from) * scale;
    if (line.isInstants)
      return this.drawInstants(line);
    let hasCells = false;
    let i = lowerBound(line.reach, from - 6 / scale);
    while (i < line.length && line.begin[i] <= to) {
      ++this.drawn.steps;
      const begin = x(line.begin[i]);
      const end = x(line.end[i]);
      if (end - begin >= CELL) {
        this.drawSlice(line, i++, begin, end);
        continue;
      }
      // Those that begin in this cell.
      const edge = (Math.floor(Math.max(begin, left) / CELL) + 1) * CELL;
      let next = Math.max(i + 1, lowerBound(line.begin, from + (edge - left) / scale, i + 1));
      // Only the last one may reach into the next cells.
      if (next - 1 > i && x(line.end[next - 1]) - edge >= CELL)
        --next;
      if (!hasCells)
        this.cells.fill(0);
      hasCells = true;
      this.cells[edge / CELL - 1] = this.pixels.get(this.colorOf(line, i, next));
      i = next;
    }
    if (hasCells) {
      ++this.drawn.shapes;
      this.strip.putImageData(this.image, 0, 0);
      this.context.imageSmoothingEnabled = false;
      this.context.drawImage(this.strip.canvas, 0, line.top, this.cells.length * CELL, SLICE);
    }
    this.drawOutlines(line);
  }

  // Draws what is selected, and what the pointer is on.
  drawOutlines(line) {
    for (const [event, color] of [[this.hovered, this.colors.muted],
                                  [this.selected, this.colors.accent]]) {
      if (event?.line !== line || line.begin[event.i] > this.to || line.end[event.i] < this.from)
        continue;
      const begin = Math.max(this.x(line.begin[event.i]), this.left - 4);
      const end = Math.min(this.x(line.end[event.i]), this.width + 4);
      const margin = line.isInstants ? 6 : 0;
      ++this.drawn.shapes;
      this.context.strokeStyle = color;
      this.context.lineWidth = 2;
      this.context.strokeRect(begin - margin, line.top,
                              Math.max(end - begin + 2 * margin, 3),
                              heightOf(line) - (line.isInstants ? 2 : 1));
    }
  }

  // Returns the color of the events from `i` to `end`. Those that a search has not found are
  // gray.
  colorOf(line, i, end) {
    if (line.hitsBefore) {
      if (line.hitsBefore[end] === line.hitsBefore[i])
        return this.colors.dim;
      if (line.isInstants || end - i > 1)
        return this.colors.hit;
    }
    return line.isInstants ? this.colors.accent : this.colors.slices[line.text[i] % NUM_COLORS];
  }

  drawSlice(line, i, begin, end) {
    begin = Math.max(begin, this.left - 4);
    end = Math.min(end, this.width + 4);
    // A gap, where there is room for one.
    const width = end - begin - (end - begin > 3 ? 1 : 0);
    this.fill(this.colorOf(line, i, i + 1), begin, line.top, width, SLICE);
    if (line.isHit(i))
      this.fill(this.colors.hit, begin, line.top + SLICE - 2, width, 2);
    else if (!line.hitsBefore && this.trace.nameOfText[line.text[i]] === this.name)
      this.fill(this.colors.accent, begin, line.top + SLICE - 2, width, 2);
    for (let y = 1; line.open[i] && y < SLICE; y += 5)
      this.fill(this.colors.lost, begin + width - 2, line.top + y, 2, 3);
    const start = Math.max(begin, this.left) + 4;
    const letters = Math.floor((begin + width - start - 2) / this.letter);
    if (letters < 3)
      return;
    const name = this.trace.nameOf({line, i});
    this.text(name.length <= letters ? name : name.slice(0, letters - 1) + "…", start,
              line.top + 12.5, NAME_FONT,
              line.hitsBefore && !line.isHit(i) ? this.colors.muted : this.colors.text);
  }

  // Draws a triangle for an instant, and for several in one cell a bar: the more, the
  // higher.
  drawInstants(line) {
    const {context, left, scale} = this;
    let i = lowerBound(line.begin, this.from - 6 / scale);
    while (i < line.length && line.begin[i] <= this.to) {
      ++this.drawn.steps;
      ++this.drawn.shapes;
      const x = this.x(line.begin[i]);
      const edge = (Math.floor(x / INSTANT_CELL) + 1) * INSTANT_CELL;
      const behind = this.from + (edge - left) / scale;
      const next = Math.max(i + 1, lowerBound(line.begin, behind, i + 1));
      context.fillStyle = this.colorOf(line, i, next);
      // Bars are paler, so that they do not outshine the slices.
      context.globalAlpha = next === i + 1 || line.hitsBefore ? 1 : 0.5;
      context.beginPath();
      if (next === i + 1) {
        context.moveTo(x, line.top + 1);
        context.lineTo(x + 4.5, line.top + 11);
        context.lineTo(x - 4.5, line.top + 11);
      } else {
        const height = Math.min(11, 4 + Math.log2(next - i));
        context.rect(edge - INSTANT_CELL + 2, line.top + 12 - height, INSTANT_CELL - 4, height);
      }
      context.fill();
      i = next;
    }
    context.globalAlpha = 1;
    this.drawOutlines(line);
  }

  // Draws a counter. A pixel shows the range of the values in it.
  drawCounter(counter) {
    const {context, colors, left, width} = this;
    const bottom = counter.top + COUNTER - 4;
    const high = counter.high > counter.low ? counter.high : counter.low + 1;
    const y = (value) => bottom - (value - counter.low) / (high - counter.low) * (COUNTER - 8);
    const path = new Path2D();
    const line = new Path2D();
    let i = Math.max(0, lowerBound(counter.begin, this.from) - 1);
    for (let x = Math.max(left, Math.floor(this.x(counter.begin[i])));
         i < counter.begin.length && x < width;) {
      ++this.drawn.steps;
      // The values of this pixel; the last of them lasts until the next one's pixel.
      const next = Math.max(i + 1, lowerBound(counter.begin, this.time(x + 1), i));
      const [least, greatest] = counter.extremes(i, next);
      const end = next < counter.begin.length
        ? Math.max(x + 1, Math.min(width, Math.floor(this.x(counter.begin[next])))) : width;
      const last = y(counter.value[next - 1]);
      path.rect(x, last, end - x, bottom - last);
      line.rect(x, y(greatest), 1, y(least) - y(greatest) + 1);
      line.rect(x, last, end - x, 1.5);
      x = end;
      i = next;
      this.drawn.shapes += 3;
    }
    context.fillStyle = colors.slices[0];
    context.fill(path);
    context.fillStyle = colors.accent;
    context.fill(line);
    for (const [event, color] of [[this.hovered, colors.muted], [this.selected, colors.accent]]) {
      if (event?.line !== counter)
        continue;
      context.fillStyle = color;
      context.beginPath();
      context.arc(Math.max(left, this.x(counter.begin[event.i])), y(counter.value[event.i]), 4, 0,
                  2 * Math.PI);
      context.fill();
    }
  }

  // Draws a line from each event to the next one of the same flow.
  drawFlows() {
    if (!this.selected)
      return;
    const {context} = this;
    context.strokeStyle = this.colors.accent;
    context.lineWidth = 1.5;
    for (const flow of this.trace.flowsOf(this.selected)) {
      const events = this.trace.eventsOfFlow(flow).slice(0, 1000);
      for (let i = 0; i + 1 < events.length; ++i) {
        const a = this.placeOf(events[i]);
        const b = this.placeOf(events[i + 1]);
        // The next one may begin before this one ends.
        const fromX = Math.min(a.x + a.width, Math.max(a.x, b.x));
        const bend = Math.min(80, Math.max(12, Math.abs(b.x - fromX) / 2));
        ++this.drawn.shapes;
        context.beginPath();
        context.moveTo(fromX, a.y + a.height / 2);
        context.bezierCurveTo(fromX + bend, a.y + a.height / 2, b.x - bend, b.y + b.height / 2,
                              b.x, b.y + b.height / 2);
        context.stroke();
      }
    }
  }
}
