// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The states of a thread, and samples of its stacks.

"use strict";

// The kinds of states, as the page numbers them. One more is that the thread is not there.
const STATES = ["unknown", "running", "ready", "waiting"];
const NUM_KINDS = 5;
// So many states have sums before them.
const STATES_A_SUM = 64;

// The states of a thread, each until the next one. The last has no end.
class States {
  constructor({begin, kind}) {
    this.begin = sums(begin);
    this.length = this.begin.length;
    this.kind = new Uint8Array(this.length);
    // The time in each kind before every 64th state.
    this.sums = new Float64Array(NUM_KINDS * Math.ceil(this.length / STATES_A_SUM));
    const sum = new Float64Array(NUM_KINDS);
    for (let i = 0; i < this.length; ++i) {
      if (i % STATES_A_SUM === 0)
        this.sums.set(sum, NUM_KINDS * (i / STATES_A_SUM));
      this.kind[i] = kind.charCodeAt(i) - 48;  // Digits.
      sum[this.kind[i]] += (i + 1 < this.length ? this.begin[i + 1] : this.begin[i]) -
        this.begin[i];
    }
  }

  // Returns the times by kind before a time.
  until(time) {
    const last = lastUpTo(this.begin, time);
    if (last < 0)
      return new Float64Array(NUM_KINDS);
    const block = Math.floor(last / STATES_A_SUM);
    const sum = this.sums.slice(NUM_KINDS * block, NUM_KINDS * (block + 1));
    for (let i = block * STATES_A_SUM; i <= last; ++i)
      sum[this.kind[i]] += (i < last ? this.begin[i + 1] : time) - this.begin[i];
    return sum;
  }

  // Returns the times by kind between two times. What is before the first state is unknown.
  divide(from, to) {
    const before = this.until(from);
    const times = this.until(to).map((ns, kind) => ns - before[kind]);
    times[0] = Math.max(0, to - from - times.subarray(1).reduce((a, b) => a + b));
    return times;
  }
}

// Returns the times by kind of several threads.
function dividedTimes(rows, from, to) {
  const times = new Float64Array(NUM_KINDS);
  for (const {states} of rows.filter(({states}) => states))
    states.divide(from, to).forEach((ns, kind) => (times[kind] += ns));
  return times;
}

// Returns the figures of times by kind, as parts of those in which the threads are there.
function dividedPairs(times) {
  const all = times.subarray(0, STATES.length).reduce((a, b) => a + b);
  return [["Ran", 1], ["Ready", 2], ["Waited", 3], ["Unknown", 0]].filter(
    ([, kind]) => kind || times[0]).map(([term, kind]) => [
    term, durationText(Math.round(times[kind])) + " (" +
      (all ? times[kind] / all * 100 : 0).toFixed(1) + " %)"]);
}

// The stacks of the samples of threads within a time, as a tree for showFrames(). Node 0 is
// around all others; the trace's stack i is node i + 1.
class SampleTree {
  constructor(trace, rows, from, to) {
    const {parent, name} = trace.stacks;
    const size = parent.length + 1;
    this.place = "sampled-frames";
    this.trace = trace;
    this.nodes = new Sums(size);
    this.parent = [-1, ...parent];
    this.nameOfNode = [0, ...name];
    for (const {samples} of rows.filter(({samples}) => samples)) {
      const end = lowerBound(samples.time, to);
      for (let i = lowerBound(samples.time, from); i < end; ++i)
        this.nodes.add(samples.stack[i], 1);
    }
    this.children = Array.from({length: size}, () => []);
    // A caller has a lower number.
    for (let node = size - 1; node > 0; --node) {
      if (this.nodes.total[node]) {
        this.nodes.total[this.parent[node]] += this.nodes.total[node];
        this.children[this.parent[node]].push(node);
      }
    }
    for (const children of this.children)
      children.sort((a, b) => this.nodes.total[b] - this.nodes.total[a]);
  }

  get numSamples() {
    return this.nodes.total[0];
  }

  frameTexts(node) {
    const part = this.nodes.total[node];
    return [node ? this.trace.strings[this.nameOfNode[node]] : "all",
            countText(part, "sample") + " (" + (part / this.numSamples * 100).toFixed(1) + " %)"];
  }
}
