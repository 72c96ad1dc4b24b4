// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Which time and which rows are shown, and where. Pinned rows stay at the top while the
// others scroll.

"use strict";

const AXIS = 26;
const LINE = 18;
const SLICE = LINE - 1;
const INSTANTS = 14;
const COUNTER = 38;
const HEADING = 22;
const STRIP = 8;  // The states of a thread, above its slices.
const GAP = 6;
const INDENT = 12;
const MAX_LABELS = 260;
const MIN_SPAN = 20;  // Nanoseconds.
const LABEL_FONT = "12px system-ui, sans-serif";
// The room of the marks before a label: collapsed or not.
const MARK = 14;

function heightOf(line) {
  return line.isCounter ? COUNTER : line.isInstants ? INSTANTS : LINE;
}

class View {
  constructor(trace, canvas, scroller, spacer) {
    Object.assign(this, {trace, canvas, scroller, spacer});
    this.context = canvas.getContext("2d");
    // Numbers do not tell times apart that are closer, if the trace is very long.
    this.minSpan = Math.max(MIN_SPAN, trace.to / 2 ** 40);
    this.whole = {from: trace.from, to: Math.max(trace.to, trace.from + this.minSpan)};
    const margin = (this.whole.to - this.whole.from) / 100;
    this.whole.from -= margin;
    this.whole.to += margin;
    this.from = this.whole.from;
    this.to = this.whole.to;
    // A text that is in the labels of the rows that are shown, or of a row around them.
    this.filter = "";
  }

  // ---- Rows.

  // Returns the rows to show.
  wantedRows() {
    const wanted = this.filter.toLowerCase();
    const matching = new Set();
    if (wanted) {
      for (const row of this.trace.rows) {
        if (row.label.toLowerCase().includes(wanted) || matching.has(row.parent))
          matching.add(row);
      }
      for (const row of [...matching]) {
        for (let around = row.parent; around && !matching.has(around); around = around.parent)
          matching.add(around);
      }
      return this.trace.rows.filter((row) => matching.has(row));
    }
    // Rows come after those that they are part of.
    const hidden = new Set();
    return this.trace.rows.filter((row) => {
      if (row.parent && (hidden.has(row.parent) || row.parent.isCollapsed))
        hidden.add(row);
      return !hidden.has(row);
    });
  }

  // Measures the labels: of those that are as long, one.
  labelWidth() {
    this.context.font = LABEL_FONT;
    const measured = new Map();
    for (const row of this.trace.rows) {
      for (const text of [row.label, row.counter ? row.counter.maxText : ""]) {
        const key = row.level * 1000 + Math.min(999, text.length);
        if (!measured.has(key))
          measured.set(key, INDENT * row.level + this.context.measureText(text).width);
      }
    }
    return [...measured.values()].reduce((a, b) => Math.max(a, b), 0);
  }

  placeRow(row, y) {
    row.top = y;
    row.lines = row.shown;
    row.isHeading = !row.lines.length && !row.states && !row.samples;
    row.content = y + (this.isNarrow ? LINE : GAP / 2);
    y = row.content;
    if (row.states)
      y += STRIP;
    for (const line of row.lines) {
      line.top = y;
      y += heightOf(line);
    }
    row.bottom = row.isHeading ? row.top + HEADING : Math.max(y, row.content + LINE) + GAP / 2;
    return row.bottom;
  }

  placeRows() {
    this.width = this.scroller.clientWidth;
    this.height = this.scroller.clientHeight;
    // Labels of a narrow page are above what they name.
    this.isNarrow = this.width < 600;
    this.labels ??= this.labelWidth();
    this.left = this.isNarrow ? 0 : Math.ceil(Math.min(MAX_LABELS, this.labels + MARK + 44));
    for (const row of this.trace.rows) {
      row.top = row.bottom = null;
      row.isStuck = false;
      for (const line of row.lines ?? [])
        line.top = null;
      row.lines = [];
    }
    // Pinned rows that would fill the window scroll.
    const wanted = this.wantedRows();
    let y = AXIS + GAP / 2;
    this.stuck = this.trace.rows.filter((row) => {
      const bottom = row.isPinned ? this.placeRow(row, y) : Infinity;
      row.isStuck = bottom < this.height * 0.6;
      if (row.isStuck)
        y = bottom;
      return row.isStuck;
    });
    this.stuckBottom = this.stuck.length ? y + 2 : AXIS;
    this.flowing = wanted.filter((row) => !row.isStuck);
    y = this.stuckBottom + GAP / 2;
    for (const row of this.flowing)
      y = this.placeRow(row, y);
    // The canvas sticks to the top of the scroller, and takes part of the height.
    this.spacer.style.height = Math.max(0, y - this.height) + "px";
  }

  // Returns the distance of a row from where it is if nothing is scrolled.
  scrolled(row) {
    return row.isStuck ? 0 : this.scroller.scrollTop;
  }

  // Returns the rows that are in the window, but for those that are stuck.
  rowsInWindow() {
    const {scrollTop} = this.scroller;
    const bottoms = this.flowing;
    let low = 0;
    for (let high = bottoms.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (bottoms[middle].bottom <= scrollTop + this.stuckBottom)
        low = middle + 1;
      else
        high = middle;
    }
    const rows = [];
    for (; low < bottoms.length && bottoms[low].top < scrollTop + this.height; ++low)
      rows.push(bottoms[low]);
    return rows;
  }

  // Returns the row at a height of the canvas, or null.
  rowAt(y) {
    if (y < AXIS)
      return null;
    const isThere = (row) => {
      const top = y + this.scrolled(row);
      return top >= row.top && top < row.bottom;
    };
    return (y < this.stuckBottom ? this.stuck : this.rowsInWindow()).find(isThere) ?? null;
  }

  // Returns these rows with those that are hidden in them.
  withHidden(rows) {
    return new Set(rows.flatMap((row) => row.isCollapsed && !this.filter ? row.all : [row]));
  }

  // Returns all rows that the filter lets through.
  allRows() {
    return this.withHidden([...this.stuck, ...this.flowing]);
  }

  // Returns the rows from one height of the canvas to another.
  rowsBetween(low, high) {
    return this.withHidden([...this.stuck, ...this.rowsInWindow()].filter((row) => {
      const y = this.scrolled(row);
      return row.bottom - y > low && row.top - y <= high;
    }));
  }

  // Makes a row visible that is within a collapsed one, or that the filter hides.
  uncover(row) {
    for (const around of row.path.slice(0, -1))
      around.isCollapsed = false;
    this.placeRows();
    if (row.bottom === null) {
      this.filter = "";
      this.placeRows();
    }
  }

  // ---- Times.

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

  // Zooms. The time at `x` stays where it is.
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

  zoomToRange({from, to}) {
    const margin = Math.max(MIN_SPAN, to - from) / 8;
    this.setView(from - margin, to + margin);
  }

  zoomTo({line, i}) {
    this.zoomToRange({from: line.begin[i], to: line.end[i]});
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
    const {row} = line;
    if (line.top === null || line.top === undefined) {
      row.isCollapsed = false;
      this.uncover(row);
    }
    this.scrollToPlace(row, line.top, heightOf(line));
  }

  scrollToRow(row) {
    this.scrollToPlace(row, row.top, HEADING);
  }

  scrollToPlace(row, top, height) {
    const y = top - this.scrolled(row);
    if (!row.isStuck && (y < this.stuckBottom || y + height > this.height - LINE))
      this.scroller.scrollTop = top - (this.stuckBottom + this.height) / 2;
    this.draw();
  }

  // ---- Events.

  // Returns the event at a place of the canvas, or null. Where there are several, the
  // longest.
  eventAt(x, y) {
    const row = x < this.left ? null : this.rowAt(y);
    if (!row)
      return null;
    const top = y + this.scrolled(row);
    const line = row.lines.find((line) => top >= line.top && top < line.top + heightOf(line));
    if (!line || !line.length)
      return null;
    const reach = line.isInstants ? 5 : 1;
    const time = this.time(x);
    if (line.isCounter) {
      const i = lastUpTo(line.begin, time);
      return i < 0 || line.end[i] < time ? null : {line, i};
    }
    const begin = lowerBound(line.reach, this.time(x - reach));
    const end = Math.min(lowerBound(line.begin, this.time(x + reach), begin), begin + 1000);
    let best = null;
    for (let i = begin; i < end; ++i) {
      if (line.begin[i] <= time && line.end[i] > time)
        return {line, i};
      if (best === null || line.end[i] - line.begin[i] > line.end[best] - line.begin[best])
        best = i;
    }
    return best === null ? null : {line, i: best};
  }

  // Returns the time at a place of the canvas: that of the next edge of a slice, if it is
  // near.
  snappedTime(x, y) {
    const NEAR = 5;
    const event = this.eventAt(x, y) ?? this.eventAt(x - NEAR, y) ?? this.eventAt(x + NEAR, y);
    if (event) {
      for (const edge of [event.line.begin[event.i], event.line.end[event.i]]) {
        if (Math.abs(this.x(edge) - x) <= NEAR)
          return edge;
      }
    }
    return Math.min(this.trace.to, Math.max(this.trace.from, this.time(x)));
  }

  // Returns the place of an event on the canvas. An event that is hidden is in the
  // collapsed row around it.
  placeOf({line, i}) {
    let {row} = line;
    const isShown = line.top !== null && line.top !== undefined;
    while (!isShown && row.bottom === null && row.parent)
      row = row.parent;
    return {x: this.x(line.begin[i]), y: (isShown ? line.top : row.content) - this.scrolled(row),
            width: (line.end[i] - line.begin[i]) * this.scale,
            height: line.isInstants ? INSTANTS : SLICE};
  }
}
