// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Makes rows of the tracks in the page. Tracks of one name are one row, in which their
// slices do not overlap:
//
//   server 41
//     main 41          | Load          |
//     request          | a | | c |  | d |
//                        | b   |

"use strict";

// Siblings whose names differ in numbers only are one row, if there are as many, and if this
// row is at most half as high: those of requests, but not those of processors.
const MANY_TRACKS = 32;
// A row that is higher is collapsed at first.
const MANY_LINES = 24;

// Keeps the least of its numbers on top.
class Heap {
  constructor(isLess) {
    this.isLess = isLess;
    this.items = [];
  }

  get top() {
    return this.items[0];
  }

  push(item) {
    const {items} = this;
    let at = items.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const above = items[(at - 1) >> 1];
      if (!this.isLess(item, above))
        break;
      items[at] = above;
    }
    items[at] = item;
  }

  pop() {
    const {items} = this;
    const top = items[0];
    const item = items.pop();
    let at = 0;
    while (items.length) {
      let child = 2 * at + 1;
      if (child + 1 < items.length && this.isLess(items[child + 1], items[child]))
        ++child;
      if (child >= items.length || !this.isLess(items[child], item))
        break;
      items[at] = items[child];
      at = child;
    }
    if (items.length)
      items[at] = item;
    return top;
  }
}

// Returns the beginning and the end of the slices of a part.
function spanOf(part) {
  let time = 0;
  let end = 0;
  const {begin, duration} = part.slices[0];
  for (let i = 0; i < begin.length; ++i) {
    time += begin[i];
    end = Math.max(end, time + (duration ? duration[i] : 0));
  }
  return {part, begin: begin[0] ?? 0, end};
}

// Returns lists of parts: those of a list do not overlap. A part takes the first list that
// is free.
function packed(parts) {
  const spans = parts.filter((part) => part.slices).map(spanOf);
  if (spans.length < 2)
    return spans.map(({part}) => [part]);
  spans.sort((a, b) => a.begin - b.begin);
  const lanes = [];
  const taken = new Heap((a, b) => a.end < b.end);
  const free = new Heap((a, b) => a < b);
  for (const {part, begin, end} of spans) {
    while (taken.top && taken.top.end <= begin)
      free.push(taken.pop().lane);
    const lane = free.items.length ? free.pop() : lanes.push([]) - 1;
    lanes[lane].push(part);
    taken.push({lane, end});
  }
  return lanes;
}

// A row of the timeline. Its parts are the tracks of one name.
class Row {
  constructor({label, kind, parts, lanes, children}, parent, last) {
    Object.assign(this, {label, kind, parent, last});
    this.level = parent ? parent.level + 1 : 0;
    this.isPinned = false;
    const instants = parts.flatMap((part) => part.instants ?? []);
    this.instants = instants.length ? new Line(this, joined(instants), true) : null;
    // The first line of each lane has the outermost slices.
    this.lanes = (lanes ?? packed(parts)).map((lane) => this.linesOf(lane));
    this.slices = this.lanes.flat();
    const counter = parts[0].counter;
    this.counter = counter ?
      new Counter(this, sums(counter.time), counter.value, counter.unit, last) : null;
    this.lost = this.lostOf(parts);
    // The states of the thread.
    const {states, samples} = parts[0];
    this.states = states ? new States(states) : null;
    this.samples = samples ? {time: sums(samples.time), stack: samples.stack} : null;
    this.children = children.map((child) => new Row(child, this, last));
    this.isCollapsed = this.slices.length > MANY_LINES;
  }

  linesOf(lane) {
    const depth = lane.reduce((most, part) => Math.max(most, part.slices.length), 0);
    const lines = [];
    for (let i = 0; i < depth; ++i) {
      const parts = lane.filter((part) => part.slices[i]?.begin.length);
      const line = new Line(this, joined(parts.map((part) => part.slices[i])), false,
                            lines.at(-1));
      // The tracks of the slices, each from its first slice on.
      if (parts.some((part) => part.label !== this.label)) {
        line.tracks = parts.map((part) => part.label);
        line.firstTimes = parts.map((part) => part.slices[i].begin[0]);
      }
      lines.push(line);
    }
    return lines;
  }

  lostOf(parts) {
    const stretches = parts.flatMap(({lost}) => {
      const begin = sums(lost?.begin ?? []);
      return Array.from(begin, (ns, i) => [ns, ns + lost.duration[i]]);
    }).sort((a, b) => a[0] - b[0]);
    return stretches.length ? {begin: stretches.map(([begin]) => begin),
                               end: stretches.map(([, end]) => end)} : null;
  }

  // The row and the rows that are part of it, from the top to the bottom.
  get all() {
    return [this, ...this.children.flatMap((child) => child.all)];
  }

  // The rows that this row is part of, from the outside, and this row.
  get path() {
    return this.parent ? [...this.parent.path, this] : [this];
  }

  get canCollapse() {
    return this.children.length > 0 || this.slices.length > 1;
  }

  // Returns the lines to draw. A collapsed row has the outermost slices, or the number of
  // them that there are at each time, if there may be several.
  get shown() {
    const own = [this.counter, this.instants].filter(Boolean);
    if (!this.isCollapsed)
      return [...own, ...this.slices];
    if (this.lanes.length === 1)
      return [...own, this.slices[0]];
    return [...own, ...(this.concurrency ? [this.concurrency] : [])];
  }

  // The number of outermost slices at each time, as a counter. Null if there are none.
  get concurrency() {
    if (this.madeConcurrency === undefined) {
      const lines = this.all.flatMap((row) => row.lanes.map((lane) => lane[0]));
      this.madeConcurrency = lines.length ? concurrencyOf(this, lines) : null;
    }
    return this.madeConcurrency;
  }
}

function concurrencyOf(row, lines) {
  const length = lines.reduce((sum, line) => sum + line.length, 0);
  const begins = new Float64Array(length);
  const ends = new Float64Array(length);
  let at = 0;
  for (const line of lines) {
    begins.set(line.begin, at);
    ends.set(line.end, at);
    at += line.length;
  }
  begins.sort();
  ends.sort();
  const times = [];
  const values = [];
  for (let i = 0, j = 0; j < length;) {
    const time = i < length ? Math.min(begins[i], ends[j]) : ends[j];
    while (i < length && begins[i] === time)
      ++i;
    while (j < length && ends[j] === time)
      ++j;
    times.push(time);
    values.push(i - j);
  }
  const counter = new Counter(row, Float64Array.from(times), values, "", row.last);
  counter.maxText = "up to " + countText(counter.high, "at a time", "at a time");
  counter.isConcurrency = true;
  return counter;
}

// Returns the siblings. Those of one name, but for numbers, may be one.
function mergedSiblings(siblings) {
  const canMerge = ({kind, label, parts, children}) =>
    kind === "track" && /\d/.test(label) && !children.length && !parts[0].counter;
  const shapes = new Map();
  for (const node of siblings.filter(canMerge)) {
    const shape = node.label.replace(/\d+/g, "#");
    if (!shapes.has(shape))
      shapes.set(shape, []);
    shapes.get(shape).push(node);
  }
  const replaced = new Set();
  for (const [shape, alike] of shapes) {
    const parts = alike.flatMap((node) => node.parts);
    const lanes = alike.length < MANY_TRACKS ? null : packed(parts);
    if (!lanes || lanes.length * 2 > alike.length)
      continue;
    const [first, ...others] = alike;
    const label = shape + " (" + countText(alike.length, "track") + ")";
    Object.assign(first, {label, parts, lanes});
    others.forEach((node) => replaced.add(node));
  }
  return siblings.filter((node) => !replaced.has(node));
}

// Returns the rows from the top to the bottom: each process, its threads, and then its
// other tracks. `last` is the end of the trace.
function rowsOf(data, last) {
  const root = {children: []};
  const path = [root];
  for (const part of data) {
    if (part.continues) {
      path.at(-1).parts.push(part);
      continue;
    }
    path.length = Math.min(path.length, part.level + 1);
    const node = {label: part.label, kind: part.kind, parts: [part], children: []};
    path.at(-1).children.push(node);
    path.push(node);
  }
  const arrange = (node) => {
    node.children.forEach(arrange);
    const isOther = ({kind}) => Number(kind !== "thread");
    node.children = mergedSiblings(node.children);
    if (node !== root)
      node.children.sort((a, b) => isOther(a) - isOther(b));
  };
  arrange(root);
  return root.children.flatMap((node) => new Row(node, null, last).all);
}
