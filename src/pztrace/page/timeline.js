// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Draws the trace on a canvas that is as large as what is seen of it. The number of shapes
// depends on the number of pixels and rows, not on that of events: what begins in the same
// cell of two pixels and is narrower is one shape, and binary search finds what begins
// behind it.

"use strict";

const AXIS = 24;
const LINE = 18;
const SLICE = LINE - 1;
const INSTANTS = 14;
const COUNTER = 38;
const HEADING = 22;
const GAP = 6;
const INDENT = 12;
const MAX_LABELS = 220;
const CELL = 2;
const MIN_SPAN = 20;  // Nanoseconds.
const NUM_COLORS = 8;
const NAME_FONT = "11px ui-monospace, Menlo, Consolas, monospace";
const LABEL_FONT = "12px system-ui, sans-serif";
const SMALL_FONT = "11px system-ui, sans-serif";

class Timeline {
  constructor(trace, canvas, overview, scroller, spacer) {
    Object.assign(this, {trace, canvas, overview, scroller, spacer});
    this.context = canvas.getContext("2d");
    // The cells of a line: a pixel each, to be drawn at once.
    this.strip = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
    this.context.font = NAME_FONT;
    this.letter = this.context.measureText("0").width;
    // Numbers do not tell times apart that are closer, if the trace is very long.
    this.minSpan = Math.max(MIN_SPAN, trace.to / 2 ** 40);
    this.whole = {from: trace.from, to: Math.max(trace.to, trace.from + this.minSpan)};
    const margin = (this.whole.to - this.whole.from) / 100;
    this.whole.from -= margin;
    this.whole.to += margin;
    this.from = this.whole.from;
    this.to = this.whole.to;
    this.selected = null;
    this.hovered = null;
    this.drawn = {frames: 0, shapes: 0, steps: 0, ms: 0};
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
                        "dim", "hit", "lost"])
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

  // Places the rows.
  resize() {
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
    // Labels of a narrow page are above what they name.
    this.isNarrow = this.width < 600;
    this.context.font = LABEL_FONT;
    const widths = this.trace.rows.map((row) => INDENT * row.level + Math.max(
      this.context.measureText(row.label).width,
      row.counter ? this.context.measureText(row.counter.maxText).width : 0));
    this.left = this.isNarrow ? 0 : Math.ceil(Math.min(
      MAX_LABELS, widths.reduce((a, b) => Math.max(a, b), 0) + 24));
    let y = AXIS + GAP / 2;
    for (const row of this.trace.rows) {
      row.top = y;
      const isHeading = !row.instants && !row.slices.length && !row.counter;
      row.content = y + (this.isNarrow ? LINE : GAP / 2);
      y = row.content;
      if (row.counter)
        y += COUNTER;
      if (row.instants) {
        row.instants.top = y;
        y += INSTANTS;
      }
      for (const line of row.slices) {
        line.top = y;
        y += LINE;
      }
      row.bottom = isHeading ? row.top + HEADING : Math.max(y, row.content + LINE) + GAP / 2;
      y = row.bottom;
    }
    this.contentHeight = y;
    this.canvas.width = Math.round(this.width * devicePixelRatio);
    this.canvas.height = Math.round(this.height * devicePixelRatio);
    this.strip.canvas.width = Math.max(1, Math.ceil(this.width / CELL));
    this.strip.canvas.height = 1;
    this.image = this.strip.createImageData(this.strip.canvas.width, 1);
    this.cells = new Uint32Array(this.image.data.buffer);
    this.canvas.style.width = this.width + "px";
    this.canvas.style.height = this.height + "px";
    // The canvas sticks to the top of the scroller, and takes part of the height.
    this.spacer.style.height = Math.max(0, y - this.height) + "px";
    this.drawNow();
  }

  get scale() {
    return (this.width - this.left) / (this.to - this.from);
  }

  x(time) {
    return this.left + (time - this.from) * this.scale;
  }

  time(x) {
    return this.from + (x - this.left) / this.scale;
  }

  setView(from, to) {
    const limit = this.whole.to - this.whole.from;
    const middle = (from + to) / 2;
    const span = Math.min(limit, Math.max(this.minSpan, to - from));
    if (span !== to - from)
      from = middle - span / 2;
    this.from = Math.min(Math.max(from, this.whole.from), this.whole.to - span);
    this.to = this.from + span;
    this.draw();
  }

  // The time at `x` stays where it is.
  zoom(factor, x = (this.left + this.width) / 2) {
    const limit = this.whole.to - this.whole.from;
    const span = this.to - this.from;
    const next = Math.min(limit, Math.max(this.minSpan, span * factor));
    const time = this.time(Math.max(x, this.left));
    const from = time - (time - this.from) * next / span;
    this.setView(from, from + next);
  }

  pan(pixels) {
    const time = pixels / this.scale;
    this.setView(this.from + time, this.to + time);
  }

  showAll() {
    this.setView(this.whole.from, this.whole.to);
  }

  zoomTo({line, i}) {
    const margin = Math.max(MIN_SPAN, line.end[i] - line.begin[i]) / 8;
    this.setView(line.begin[i] - margin, line.end[i] + margin);
    this.scrollTo(line);
  }

  // Moves as little as shows the event, wide enough to be recognized.
  reveal({line, i}) {
    const begin = line.begin[i];
    const ns = line.end[i] - begin;
    const span = this.to - this.from;
    const isNarrow = ns > 0 && ns * this.scale < 4;
    if (isNarrow || ns > span)
      this.setView(begin - 3 * ns, begin + 4 * ns);
    else if (begin < this.from || line.end[i] > this.to)
      this.setView(begin + ns / 2 - span / 2, begin + ns / 2 + span / 2);
    this.scrollTo(line);
  }

  scrollTo(line) {
    const y = line.top - this.scroller.scrollTop;
    if (y < AXIS + LINE || y > this.height - 2 * LINE)
      this.scroller.scrollTop = line.top - this.height / 2;
    this.draw();
  }

  // The event at a place of the canvas, or null. Where there are several, the longest.
  eventAt(x, y) {
    if (x < this.left || y < AXIS)
      return null;
    const top = y + this.scroller.scrollTop;
    const line = this.trace.lines.find(
      (line) => top >= line.top && top < line.top + (line.isInstants ? INSTANTS : SLICE));
    if (!line)
      return null;
    const reach = line.isInstants ? 5 : 1;
    const begin = lowerBound(line.reach, this.time(x - reach));
    const end = Math.min(lowerBound(line.begin, this.time(x + reach), begin), begin + 1000);
    const time = this.time(x);
    let best = null;
    for (let i = begin; i < end; ++i) {
      if (line.begin[i] <= time && line.end[i] > time)
        return {line, i};
      if (best === null || line.end[i] - line.begin[i] > line.end[best] - line.begin[best])
        best = i;
    }
    return best === null ? null : {line, i: best};
  }

  // Where an event is on the canvas.
  placeOf({line, i}) {
    return {x: this.x(line.begin[i]), y: line.top - this.scroller.scrollTop,
            width: (line.end[i] - line.begin[i]) * this.scale,
            height: line.isInstants ? INSTANTS : SLICE};
  }

  // Before the next frame.
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

  drawRows() {
    const {context, colors, width, height, left} = this;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    this.fill(colors.back, 0, 0, width, height);
    if (!this.trace.rows.length)
      return;
    const ticks = this.ticks();
    for (const {x} of ticks)
      this.fill(colors.grid, Math.round(x), AXIS, 1, height);
    if (left)
      this.fill(colors.border, left - 1, AXIS, 1, height);
    const scroll = this.scroller.scrollTop;
    context.save();
    context.translate(0, -scroll);
    for (const row of this.trace.rows) {
      if (row.bottom > scroll + AXIS && row.top < scroll + height)
        this.drawRow(row, scroll);
    }
    context.restore();
    context.save();
    context.beginPath();
    context.rect(left, AXIS, width - left, height);
    context.clip();
    this.drawFlows();
    context.restore();
    this.fill(colors.panel, 0, 0, width, AXIS);
    this.fill(colors.border, 0, AXIS - 1, width, 1);
    for (const {x, text} of ticks) {
      this.fill(colors.border, Math.round(x), AXIS - 7, 1, 6);
      this.text(text, x + 4, 15, SMALL_FONT, colors.muted);
    }
  }

  ticks() {
    const least = 100 / this.scale;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((ns) => ns >= least);
    // The unit is that of the step, so that the numbers are easy to compare.
    const [factor, unit] = UNITS.find(([factor]) => step >= factor) ?? UNITS.at(-1);
    const ticks = [];
    const first = Math.ceil(this.from / step);
    // Counted from 0, since a number far from it may have no next integer.
    for (let i = 0; i <= (this.to - this.from) / step; ++i) {
      const tick = first + i;
      if (tick * step > this.to)
        break;
      const number = tick * step / factor + 0;  // No -0.
      ticks.push({x: this.x(tick * step),
                  text: number.toLocaleString("en", {maximumFractionDigits: 3}) + " " + unit});
    }
    return ticks;
  }

  drawRow(row, scroll) {
    const {context, colors, left, width} = this;
    const isHeading = row.bottom - row.top === HEADING && row.kind === "process";
    if (row.kind === "process")
      this.fill(colors.band, 0, row.top, width, isHeading ? HEADING - 2 : row.content - row.top);
    const font = row.kind === "process" ? "600 " + LABEL_FONT : LABEL_FONT;
    const x = 10 + INDENT * row.level;
    this.text(row.label, x, (this.isNarrow ? row.top : row.content) + 13, font, colors.text,
              (left && row.kind !== "process" ? left : width) - x - 8);
    if (row.counter && !this.isNarrow)
      this.text(row.counter.maxText, x, row.content + 28, SMALL_FONT, colors.muted, left - x - 8);
    context.save();
    context.beginPath();
    context.rect(left, row.top, width - left, row.bottom - row.top);
    context.clip();
    if (row.counter) {
      this.drawCounter(row);
      if (this.isNarrow)
        this.text(row.counter.maxText, x + INDENT, row.content + 12, SMALL_FONT, colors.muted);
    }
    if (row.instants && row.instants.top < scroll + this.height)
      this.drawLine(row.instants);
    const hidden = row.slices.length ? Math.floor((scroll - row.slices[0].top) / LINE) : 0;
    for (let depth = Math.max(0, hidden); depth < row.slices.length; ++depth) {
      if (row.slices[depth].top > scroll + this.height)
        break;
      this.drawLine(row.slices[depth]);
    }
    if (row.lost)
      this.drawLost(row);
    context.restore();
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

  drawLine(line) {
    const {from, to, scale, left} = this;
    const x = (time) => left + (time - from) * scale;
    let hasCells = false;
    let i = lowerBound(line.reach, from - 6 / scale);
    while (i < line.length && line.begin[i] <= to) {
      ++this.drawn.steps;
      const begin = x(line.begin[i]);
      const end = x(line.end[i]);
      if (!line.isInstants && end - begin >= CELL) {
        this.drawSlice(line, i++, begin, end);
        continue;
      }
      // Those that begin in this cell.
      const edge = (Math.floor(Math.max(begin, left) / CELL) + 1) * CELL;
      let next = Math.max(i + 1, lowerBound(line.begin, from + (edge - left) / scale, i + 1));
      // Only the last one may reach into the next cells.
      if (next - 1 > i && !line.isInstants && x(line.end[next - 1]) - edge >= CELL)
        --next;
      const color = this.colorOf(line, i, next);
      if (line.isInstants) {
        this.drawInstant(line, begin, color);
      } else {
        if (!hasCells)
          this.cells.fill(0);
        hasCells = true;
        this.cells[edge / CELL - 1] = this.pixels.get(color);
      }
      i = next;
    }
    if (hasCells) {
      ++this.drawn.shapes;
      this.strip.putImageData(this.image, 0, 0);
      this.context.imageSmoothingEnabled = false;
      this.context.drawImage(this.strip.canvas, 0, line.top, this.cells.length * CELL, SLICE);
    }
    for (const [event, color] of [[this.hovered, this.colors.muted],
                                  [this.selected, this.colors.accent]]) {
      if (event?.line !== line || line.begin[event.i] > to || line.end[event.i] < from)
        continue;
      const begin = Math.max(x(line.begin[event.i]), left - 4);
      const end = Math.min(x(line.end[event.i]), this.width + 4);
      const margin = line.isInstants ? 6 : 0;
      ++this.drawn.shapes;
      this.context.strokeStyle = color;
      this.context.lineWidth = 2;
      this.context.strokeRect(begin - margin, line.top,
                              Math.max(end - begin + 2 * margin, 3), line.isInstants ? 12 : SLICE);
    }
  }

  // Of the events from `i` to `end`. Those that a search has not found are gray.
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

  drawInstant(line, x, color) {
    const {context} = this;
    ++this.drawn.shapes;
    context.fillStyle = color;
    context.beginPath();
    context.moveTo(x, line.top + 1);
    context.lineTo(x + 4.5, line.top + 11);
    context.lineTo(x - 4.5, line.top + 11);
    context.fill();
  }

  // A pixel shows the range of the values in it.
  drawCounter(row) {
    const {context, colors, left, width} = this;
    const counter = row.counter;
    const bottom = row.content + COUNTER - 4;
    const high = counter.high > counter.low ? counter.high : counter.low + 1;
    const y = (value) => bottom - (value - counter.low) / (high - counter.low) * (COUNTER - 8);
    const path = new Path2D();
    const line = new Path2D();
    let i = Math.max(0, lowerBound(counter.time, this.from) - 1);
    for (let x = Math.max(left, Math.floor(this.x(counter.time[i])));
         i < counter.time.length && x < width;) {
      ++this.drawn.steps;
      // The values of this pixel; the last of them lasts until the next one's pixel.
      const next = Math.max(i + 1, lowerBound(counter.time, this.time(x + 1), i));
      const [least, greatest] = counter.extremes(i, next);
      const end = next < counter.time.length
        ? Math.max(x + 1, Math.min(width, Math.floor(this.x(counter.time[next])))) : width;
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
  }

  // From each event to the next one of the same flow.
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
