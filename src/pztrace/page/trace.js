// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The events of the trace, as the program has written them into the page. Times are
// nanoseconds since the first event.

"use strict";

// The first index in sorted `values`, from `low` on, whose value is at least `least`.
function lowerBound(values, least, low = 0) {
  // It is often near.
  let step = 1;
  for (; low + step < values.length && values[low + step] < least; step *= 2)
    low += step;
  let high = Math.min(values.length, low + step);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (values[middle] < least)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The sums of differences.
function sums(differences) {
  let sum = 0;
  return Float64Array.from(differences, (difference) => (sum += difference));
}

// Slices of one depth of a track, or its instants, in the order of their beginnings.
class Line {
  constructor(row, data, isInstants) {
    this.row = row;
    this.isInstants = isInstants;
    this.length = data.text.length;
    this.begin = sums(data.begin);
    // What is 0 everywhere is not there.
    const column = (values) => values ?? new Uint8Array(this.length);
    const duration = column(data.duration);
    const nested = column(data.nested);
    // 1: it had not ended, and lasts until the end of the trace.
    this.open = column(data.open);
    this.end = this.begin.map((begin, i) => begin + duration[i]);
    this.self = Float64Array.from(duration, (ns, i) => Math.max(0, ns - nested[i]));
    this.text = data.text;
    this.args = column(data.args);
    this.flows = column(data.flows);
    // Slices of a damaged trace may overlap: how far those up to here reach.
    let reach = -Infinity;
    this.reach = this.end.map((end) => (reach = Math.max(reach, end)));
    // How many of those before an event are hits of the search.
    this.hitsBefore = null;
  }

  isHit(i) {
    return this.hitsBefore && this.hitsBefore[i + 1] > this.hitsBefore[i];
  }

  countHits(isHitText) {
    this.hitsBefore = isHitText && new Uint32Array(this.length + 1);
    for (let i = 0; isHitText && i < this.length; ++i)
      this.hitsBefore[i + 1] = this.hitsBefore[i] + isHitText[this.text[i]];
    return isHitText ? this.hitsBefore[this.length] : 0;
  }
}

// The values of a counter, with their extremes in blocks of 16, of 256, and so on, so
// that those of any range are found in a few steps.
class Counter {
  constructor(data) {
    this.time = sums(data.time);
    // A value may be null: it is not a finite number.
    const known = data.value.filter((value) => value !== null);
    this.low = known.reduce((a, b) => Math.min(a, b), 0);
    this.high = known.reduce((a, b) => Math.max(a, b), 0);
    this.maxText = "max " + Number(this.high.toPrecision(12)).toLocaleString("en") +
      (data.unit && " " + data.unit);
    this.value = Float64Array.from(data.value, (value) => value ?? 0);
    this.levels = [[this.value, this.value]];
    for (let [lows, highs] = this.levels[0]; lows.length > 16; [lows, highs] = this.levels.at(-1)) {
      const blocks = Array.from({length: Math.ceil(lows.length / 16)}, (_, i) => 16 * i);
      this.levels.push([blocks.map((i) => Math.min(...lows.slice(i, i + 16))),
                        blocks.map((i) => Math.max(...highs.slice(i, i + 16)))]);
    }
  }

  // The least and the greatest of the values from `begin` to `end`.
  extremes(begin, end) {
    let low = Infinity;
    let high = -Infinity;
    for (const [lows, highs] of this.levels) {
      const isTop = lows.length <= 16;
      while (begin < end && (begin % 16 || isTop)) {
        low = Math.min(low, lows[begin]);
        high = Math.max(high, highs[begin++]);
      }
      while (begin < end && (end % 16 || isTop)) {
        low = Math.min(low, lows[--end]);
        high = Math.max(high, highs[end]);
      }
      begin /= 16;
      end /= 16;
    }
    return [low, high];
  }
}

// An event is a line and an index: {line, i}.
class Trace {
  constructor(data) {
    Object.assign(this, data);
    this.lines = [];
    const path = [];
    for (const row of this.rows) {
      path.length = Math.min(path.length, row.level);
      row.parent = path.at(-1) ?? null;
      path.push(row);
      row.instants = row.instants && new Line(row, row.instants, true);
      row.slices = (row.slices ?? []).map((line) => new Line(row, line, false));
      row.counter = row.counter && new Counter(row.counter);
      if (row.lost) {
        const begin = sums(row.lost.begin);
        row.lost = {begin, end: begin.map((ns, i) => ns + row.lost.duration[i])};
      }
      this.lines.push(...(row.instants ? [row.instants] : []), ...row.slices);
    }
    this.lines.forEach((line, number) => (line.number = number));
    // Of the slices with each text.
    this.totals = this.texts.map(() => ({count: 0, ns: 0, max: 0}));
    this.numSlices = 0;
    for (const line of this.lines.filter((line) => !line.isInstants)) {
      this.numSlices += line.length;
      for (let i = 0; i < line.length; ++i) {
        const total = this.totals[line.text[i]];
        const ns = line.end[i] - line.begin[i];
        ++total.count;
        total.ns += ns;
        total.max = Math.max(total.max, ns);
      }
    }
  }

  nameOf({line, i}) {
    return this.strings[this.texts[line.text[i]][1]];
  }

  categoryOf({line, i}) {
    return this.strings[this.texts[line.text[i]][0]];
  }

  argsOf({line, i}) {
    return parsedArgs(this.strings[line.args[i]]);
  }

  flowsOf({line, i}) {
    const flows = this.strings[line.flows[i]];
    return flows ? [...new Set(flows.split(","))] : [];
  }

  // The events of a flow, in the order of time.
  eventsOfFlow(flow) {
    if (!this.byFlow) {
      this.byFlow = new Map();
      for (const event of this.events((line, i) => line.flows[i])) {
        for (const id of this.flowsOf(event)) {
          if (!this.byFlow.has(id))
            this.byFlow.set(id, []);
          this.byFlow.get(id).push(event);
        }
      }
      for (const events of this.byFlow.values())
        events.sort((a, b) => a.line.begin[a.i] - b.line.begin[b.i]);
    }
    return this.byFlow.get(flow) ?? [];
  }

  *events(isWanted) {
    for (const line of this.lines) {
      for (let i = 0; i < line.length; ++i) {
        if (isWanted(line, i))
          yield {line, i};
      }
    }
  }

  // Marks the events whose name has `query` in it, and returns them in the order of time.
  search(query) {
    const wanted = query.toLowerCase();
    const isHitText = query ? this.texts.map(([, name]) =>
      Number(this.strings[name].toLowerCase().includes(wanted))) : null;
    for (const line of this.lines)
      line.countHits(isHitText);
    return query ? [...this.events((line, i) => line.isHit(i))].sort(
      (a, b) => a.line.begin[a.i] - b.line.begin[b.i]) : [];
  }

  // Those that the search has found, if there is one.
  slowest(count) {
    const found = [];
    let least = -1;
    for (const line of this.lines.filter((line) => !line.isInstants)) {
      for (let i = 0; i < line.length; ++i) {
        const ns = line.end[i] - line.begin[i];
        if (ns <= least || (line.hitsBefore && !line.isHit(i)))
          continue;
        let at = found.length;
        while (at > 0 && found[at - 1].ns < ns)
          --at;
        found.splice(at, 0, {line, i, ns});
        found.length = Math.min(found.length, count);
        if (found.length === count)
          least = found[count - 1].ns;
      }
    }
    return found;
  }

  // What part of the time each of `count` parts of the trace is busy, on all tracks.
  busy(count) {
    const parts = new Float64Array(count);
    const scale = count / Math.max(1, this.to - this.from);
    for (const line of this.lines) {
      if (line !== line.row.slices[0])
        continue;
      for (let i = 0; i < line.length; ++i) {
        const begin = Math.max(0, (line.begin[i] - this.from) * scale);
        const end = Math.min(count, (line.end[i] - this.from) * scale);
        for (let part = Math.floor(begin); part < end; ++part)
          parts[part] += Math.min(end, part + 1) - Math.max(begin, part);
      }
    }
    return parts;
  }
}

// Integers that a number does not hold exactly remain text.
function parsedArgs(members) {
  const text = members.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g,
    (part) => /^-?\d{16,}$/.test(part) ? '"' + part + '"' : part);
  return JSON.parse("{" + text + "}");
}

const UNITS = [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]];

// "12 ns", "3.40 us".
function durationText(ns) {
  const [factor, unit] = UNITS.find(([factor]) => ns >= factor) ?? UNITS.at(-1);
  return factor === 1 ? ns + " ns" : (ns / factor).toFixed(2) + " " + unit;
}

// With all digits.
function timeText(ns) {
  const [factor, unit] = UNITS.find(([factor]) => Math.abs(ns) >= factor) ?? UNITS.at(-1);
  const text = (ns / factor).toFixed(Math.log10(factor));
  return (factor === 1 ? text : text.replace(/\.?0+$/, "")) + " " + unit;
}

// Nanoseconds since 1970, as ISO 8601.
function dateText(ns) {
  const milliseconds = ns / 1000000n;
  const date = new Date(Number(milliseconds));
  if (ns < 0n || isNaN(date))
    return ns + " ns";
  return date.toISOString().replace("Z", String(ns % 1000000n).padStart(6, "0") + "Z");
}

function countText(count, noun, nouns = noun + "s") {
  return count.toLocaleString("en") + " " + (count === 1 ? noun : nouns);
}
