// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Statistics of the slices of a name, and of a range of time.

"use strict";

const NUM_BARS = 40;
// The part of the time that a node of the tree of calls has at least.
const SMALLEST = 1e-4;

// Returns the durations of all slices of a name, from the shortest to the longest.
function durationsOf(trace, name) {
  const found = [];
  for (const line of trace.lines) {
    for (let i = 0; !line.isInstants && !line.isCopy && i < line.length; ++i) {
      if (trace.nameOfText[line.text[i]] === name)
        found.push(line.end[i] - line.begin[i]);
    }
  }
  return Float64Array.from(found).sort();
}

// Returns the number of events of a name that are instants.
function countInstants(trace, name) {
  let count = 0;
  for (const line of trace.lines) {
    for (let i = 0; line.isInstants && i < line.length; ++i)
      count += trace.nameOfText[line.text[i]] === name;
  }
  return count;
}

// Returns the least of the sorted values that no more than `percent` % of them exceed.
function percentile(sorted, percent) {
  return sorted[Math.max(0, Math.ceil(sorted.length * percent / 100) - 1)];
}

// Returns the numbers of durations between steps that are a factor apart.
function histogramOf(sorted) {
  const low = Math.max(1, sorted[0]);
  const high = Math.max(low * 1.01, sorted.at(-1));
  const factor = (high / low) ** (1 / NUM_BARS);
  const bars = Array.from({length: NUM_BARS}, (_, i) => (
    {from: low * factor ** i, to: low * factor ** (i + 1), count: 0}));
  const barOf = (ns) => Math.min(NUM_BARS - 1, Math.max(0, Math.floor(
    Math.log(Math.max(ns, low) / low) / Math.log(factor))));
  for (const ns of sorted)
    ++bars[barOf(ns)].count;
  return {bars, barOf};
}

// Returns the event of a name that is the next one after, or, if `step` is -1, before a
// place in the order of time; null if there is none. Lines order events of one time.
function nextOfName(trace, name, {time, number, i}, step) {
  let best = null;
  const isNearer = (a, b) => !b || step * (a.line.begin[a.i] - b.line.begin[b.i]) < 0 ||
    (a.line.begin[a.i] === b.line.begin[b.i] && step * (a.line.number - b.line.number) < 0);
  for (const line of trace.lines) {
    let at = line.number === number ? i + step :
      lowerBound(line.begin, time + (line.number < number ? 1e-3 : 0));
    if (line.number !== number && step < 0)
      --at;
    if (line.begin[at] === time && line.number !== number &&
        Math.sign(line.number - number) !== step)
      at += step;
    for (; at >= 0 && at < line.length; at += step) {
      if (best && step * (line.begin[at] - best.line.begin[best.i]) > 0)
        break;
      if (trace.nameOfText[line.text[at]] === name) {
        if (isNearer({line, i: at}, best))
          best = {line, i: at};
        break;
      }
    }
  }
  return best;
}

// Numbers for pairs of small integers.
class PairNumbers {
  constructor() {
    this.count = 0;
    this.resize(1 << 10);
  }

  resize(size) {
    const old = this.values ? [this.firsts, this.seconds, this.values] : null;
    this.mask = size - 1;
    this.firsts = new Int32Array(size);
    this.seconds = new Int32Array(size);
    this.values = new Int32Array(size).fill(-1);
    for (let i = 0; old && i < old[2].length; ++i) {
      if (old[2][i] >= 0)
        this.put(this.placeOf(old[0][i], old[1][i]), old[0][i], old[1][i], old[2][i]);
    }
  }

  // Returns the place of a pair, or the free one for it.
  placeOf(first, second) {
    let place = Math.imul(Math.imul(first, 0x9e3779b1) ^ second, 0x85ebca6b);
    place = (place ^ (place >>> 15)) & this.mask;
    while (this.values[place] >= 0 &&
           (this.firsts[place] !== first || this.seconds[place] !== second))
      place = (place + 1) & this.mask;
    return place;
  }

  put(place, first, second, value) {
    this.firsts[place] = first;
    this.seconds[place] = second;
    this.values[place] = value;
  }

  // Returns the number of a pair, or `next`, which it has from now on.
  numberOf(first, second, next) {
    let place = this.placeOf(first, second);
    if (this.values[place] < 0) {
      if (++this.count * 2 > this.mask) {
        this.resize(2 * (this.mask + 1));
        place = this.placeOf(first, second);
      }
      this.put(place, first, second, next);
    }
    return this.values[place];
  }
}

// Counts and times by number.
class Sums {
  constructor(size) {
    this.count = new Float64Array(size);
    this.total = new Float64Array(size);
    this.self = new Float64Array(size);
  }

  add(number, ns) {
    ++this.count[number];
    this.total[number] += ns;
    this.self[number] += ns;
  }

  // Makes room for so many numbers.
  fit(size) {
    if (size <= this.count.length)
      return;
    for (const name of ["count", "total", "self"]) {
      const larger = new Float64Array(2 * size);
      larger.set(this[name]);
      this[name] = larger;
    }
  }
}

// The slices of a range by name, and their tree, in which slices with the same names around
// them are one node. Times are those within the range.
class CallTree {
  constructor(trace, {from, to, rows}) {
    Object.assign(this, {trace, from, to});
    this.sums = new Sums(trace.names.length);
    this.longest = new Float64Array(trace.names.length).fill(-1);
    this.longestEvent = trace.names.map(() => null);
    // Node 0 is around all others.
    this.nodes = new Sums(1);
    this.nameOfNode = [-1];
    this.parent = [-1];
    this.children = [[]];
    this.numbers = new PairNumbers();
    const lanes = [...rows].filter(({kind}) => kind !== "tasks").flatMap((row) => row.lanes);
    const depth = lanes.reduce((most, lane) => Math.max(most, lane.length), 0);
    // The nodes of the slices of the lines above.
    let above = new Map();
    for (let level = 0, first = 1; level < depth; ++level) {
      const lines = lanes.map((lane) => lane[level]).filter(Boolean);
      above = new Map(lines.map((line) => [line, this.addLine(line, above.get(line.outer))]));
      first = this.keepLarge(first);
    }
  }

  // Decides which nodes from `first` on are large enough for others to be within. Returns
  // the number of nodes.
  keepLarge(first) {
    const {total} = this.nodes;
    for (let node = first; node < this.parent.length; ++node) {
      this.children.push(total[node] >= total[0] * SMALLEST ? [] : null);
      if (this.children[node])
        this.children[this.parent[node]].push(node);
    }
    for (const list of this.children)
      list?.sort((a, b) => total[b] - total[a]);
    return this.parent.length;
  }

  nodeOf(parent, name) {
    const node = this.numbers.numberOf(parent, name, this.parent.length);
    if (node === this.parent.length) {
      this.nameOfNode.push(name);
      this.parent.push(parent);
      this.nodes.fit(node + 1);
    }
    return node;
  }

  // Adds the slices of a line, and returns the nodes of those in the range: {first, nodes}.
  // `outer` is what this has returned for the line of the slices around them.
  addLine(line, outer) {
    const {from, to, sums, longest, trace: {nameOfText}} = this;
    const first = lowerBound(line.reach, from);
    const last = lowerBound(line.begin, to, first);
    const nodes = new Int32Array(Math.max(0, last - first));
    let around = outer ? outer.first : 0;
    const lastAround = outer ? outer.first + outer.nodes.length - 1 : -1;
    for (let i = first; i < last; ++i) {
      const begin = line.begin[i];
      const end = line.end[i];
      const name = nameOfText[line.text[i]];
      const ns = Math.max(0, Math.min(end, to) - Math.max(begin, from));
      sums.add(name, ns);
      if (ns > longest[name]) {
        longest[name] = ns;
        this.longestEvent[name] = {line, i};
      }
      let parent = 0;
      while (around < lastAround && line.outer.begin[around + 1] <= begin)
        ++around;
      if (around <= lastAround && line.outer.begin[around] <= begin &&
          line.outer.end[around] >= end) {
        parent = outer.nodes[around - outer.first];
        sums.self[nameOfText[line.outer.text[around]]] -= ns;
      }
      if (parent < 0 || !this.children[parent]) {
        nodes[i - first] = -1;
        continue;
      }
      nodes[i - first] = this.nodeOf(parent, name);
      this.nodes.add(nodes[i - first], ns);
      this.nodes.self[parent] -= ns;
      if (parent === 0)
        this.nodes.total[0] += ns;
    }
    return {first, nodes};
  }

  // The sums of the names that are there, the largest first.
  get names() {
    const {count, total, self} = this.sums;
    return this.trace.names.map((_, name) => (
      {name, count: count[name], total: total[name], self: self[name],
       longest: this.longest[name], event: this.longestEvent[name]})).filter(
      ({count}) => count).sort((a, b) => b.total - a.total || b.count - a.count);
  }
}

// Returns the statistics of a range.
function statisticsOf(trace, range) {
  const {from, to} = range;
  const counters = [];
  let numInstants = 0;
  for (const row of range.rows) {
    if (row.instants)
      numInstants += lowerBound(row.instants.begin, to) - lowerBound(row.instants.begin, from);
    if (row.counter)
      counters.push({row, ...valuesOf(row.counter, from, to)});
  }
  const tree = new CallTree(trace, range);
  return {tree, names: tree.names, numInstants, counters: counters.filter(({count}) => count)};
}

// Returns the least, the mean and the greatest value of a counter in a range. The mean is
// that over the time.
function valuesOf(counter, from, to) {
  const begin = Math.max(0, lowerBound(counter.begin, from + 0.5) - 1);
  const end = lowerBound(counter.begin, to, begin);
  let sum = 0;
  let time = 0;
  for (let i = begin; i < end; ++i) {
    const ns = Math.max(0, Math.min(counter.end[i], to) - Math.max(counter.begin[i], from));
    sum += ns * counter.value[i];
    time += ns;
  }
  const [least, greatest] = counter.extremes(begin, end);
  return {count: end - begin, least, greatest, mean: time ? sum / time : counter.value[begin]};
}
