// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The events of the trace, as the program has written them into the page. Times are
// nanoseconds since the first event.

"use strict";

// Returns the first index in sorted `values`, from `low` on, whose value is at least
// `least`.
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

// Returns the last index in sorted `values` whose value is at most `most`, or -1.
function lastUpTo(values, most) {
  let at = lowerBound(values, most);
  while (values[at] === most)
    ++at;
  return at - 1;
}

// Returns the times that differ by `differences`. There may be millions: a loop takes a
// fraction of the time of Float64Array.from().
function sums(differences) {
  const times = new Float64Array(differences.length);
  for (let i = 0, sum = 0; i < times.length; ++i)
    times[i] = sum += differences[i];
  return times;
}

// The columns of events besides their beginnings. The page leaves out a column of zeros.
const COLUMNS = {duration: Float64Array, nested: Float64Array, open: Uint8Array,
                 text: Int32Array, args: Int32Array, flows: Int32Array};

// Returns the columns of several lists of events after each other, in the order of time.
function joined(lists) {
  const length = lists.reduce((sum, list) => sum + list.text.length, 0);
  const columns = {begin: new Float64Array(length)};
  for (const [name, Column] of Object.entries(COLUMNS)) {
    const isThere = lists.some((list) => list[name]);
    columns[name] = isThere ? new Column(length) : new Uint8Array(length);
  }
  let at = 0;
  let isSorted = true;
  for (const list of lists) {
    for (const name of Object.keys(COLUMNS)) {
      if (list[name])
        columns[name].set(list[name], at);
    }
    let time = 0;
    for (const difference of list.begin) {
      columns.begin[at] = time += difference;
      isSorted = isSorted && (at === 0 || columns.begin[at - 1] <= time);
      ++at;
    }
  }
  if (!isSorted) {
    const {begin} = columns;
    const order = Uint32Array.from(begin.keys()).sort((a, b) => begin[a] - begin[b]);
    for (const [name, column] of Object.entries(columns))
      columns[name] = column.map((_, i) => column[order[i]]);
  }
  return columns;
}

// Slices of one depth that do not overlap, or instants, in the order of their beginnings.
class Line {
  constructor(row, columns, isInstants, outer = null) {
    this.row = row;
    this.isInstants = isInstants;
    // The states of tasks are no slices of the program.
    this.isOfTasks = row.kind === "tasks";
    // Below them are slices of threads, which are there, too.
    this.isCopy = this.isOfTasks && Boolean(outer?.outer);
    // The line of the slices around these.
    this.outer = outer;
    this.begin = columns.begin;
    this.length = this.begin.length;
    // A slice that had not ended lasts until the end of the trace.
    this.open = columns.open;
    this.end = this.begin.map((begin, i) => begin + columns.duration[i]);
    this.self = columns.duration.map((ns, i) => Math.max(0, ns - columns.nested[i]));
    this.text = columns.text;
    this.args = columns.args;
    this.flows = columns.flows;
    // Slices of a damaged trace may overlap: the last end of those up to here.
    let reach = -Infinity;
    this.reach = this.end.map((end) => (reach = Math.max(reach, end)));
    // The number of hits of the search before each event.
    this.hitsBefore = null;
  }

  isHit(i) {
    return this.hitsBefore && this.hitsBefore[i + 1] > this.hitsBefore[i];
  }

  countHits(isHitText, isHitArgs) {
    this.hitsBefore = isHitText && new Uint32Array(this.length + 1);
    for (let i = 0; isHitText && i < this.length; ++i) {
      this.hitsBefore[i + 1] =
        this.hitsBefore[i] + (isHitText[this.text[i]] | isHitArgs[this.args[i]]);
    }
  }
}

// The values of a counter, with their extremes in blocks of 16, of 256, and so on, so
// that those of any range are found in a few steps. A value lasts until the next one.
class Counter {
  constructor(row, begin, values, unit, last) {
    this.row = row;
    this.isCounter = true;
    this.begin = begin;
    this.length = begin.length;
    this.end = begin.map((ns, i) => i + 1 < begin.length ? begin[i + 1] : Math.max(ns, last));
    this.reach = this.end;
    this.unit = unit;
    // A value may be null: it is not a finite number.
    this.value = Float64Array.from(values, (value) => value ?? 0);
    this.low = this.value.reduce((a, b) => Math.min(a, b), 0);
    this.high = this.value.reduce((a, b) => Math.max(a, b), 0);
    this.maxText = "max " + this.textOf(this.high);
    this.levels = [[this.value, this.value]];
    for (let [lows, highs] = this.levels[0]; lows.length > 16; [lows, highs] = this.levels.at(-1)) {
      const blocks = Array.from({length: Math.ceil(lows.length / 16)}, (_, i) => 16 * i);
      this.levels.push([blocks.map((i) => Math.min(...lows.slice(i, i + 16))),
                        blocks.map((i) => Math.max(...highs.slice(i, i + 16)))]);
    }
  }

  textOf(value) {
    return Number(value.toPrecision(12)).toLocaleString("en", {maximumSignificantDigits: 12}) +
      (this.unit && " " + this.unit);
  }

  // Returns the least and the greatest of the values from `begin` to `end`.
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

// An event is a line and an index: {line, i}. The line may be that of a counter, and the
// event one of its values.
class Trace {
  constructor(data) {
    Object.assign(this, data);
    this.rows = rowsOf(data.rows, data.to);
    this.rows.forEach((row, number) => (row.number = number));
    this.lines = this.rows.flatMap(
      (row) => [...(row.instants ? [row.instants] : []), ...row.slices]);
    // As links name them.
    this.numbered = [...this.lines, ...this.rows.flatMap((row) => row.counter ?? [])];
    this.numbered.forEach((line, number) => (line.number = number));
    // Texts of one name differ in their categories.
    const numbers = new Map();
    this.nameOfText = Int32Array.from(this.texts, ([, string]) => {
      const name = this.strings[string];
      if (!numbers.has(name))
        numbers.set(name, numbers.size);
      return numbers.get(name);
    });
    this.names = [...numbers.keys()];
    this.numSlices = this.lines.reduce(
      (sum, line) => sum + (line.isInstants || line.isOfTasks ? 0 : line.length), 0);
  }

  nameOf({line, i}) {
    return line.isCounter ? line.row.label : this.strings[this.texts[line.text[i]][1]];
  }

  categoryOf({line, i}) {
    return line.isCounter ? "" : this.strings[this.texts[line.text[i]][0]];
  }

  argsOf({line, i}) {
    return line.isCounter ? {} : parsedArgs(this.strings[line.args[i]]);
  }

  flowsOf({line, i}) {
    const flows = line.isCounter ? "" : this.strings[line.flows[i]];
    return flows ? [...new Set(flows.split(","))] : [];
  }

  // Returns the events of a flow, in the order of time.
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

  // Marks the events that have `query` in their name or arguments, and returns them in
  // the order of time.
  search(query) {
    const wanted = query.toLowerCase();
    // Arguments are JSON.
    const escaped = JSON.stringify(wanted).slice(1, -1);
    const isHitText = query && this.texts.map(([, name]) =>
      Number(this.strings[name].toLowerCase().includes(wanted)));
    const isHitArgs = query && Uint8Array.from(this.strings, (string) =>
      Number(string.toLowerCase().includes(escaped)));
    if (query)
      isHitArgs[0] = 0;
    for (const line of this.lines.filter((line) => !line.isCopy))
      line.countHits(isHitText || null, isHitArgs);
    return query ? [...this.events((line, i) => line.isHit(i))].sort(
      (a, b) => a.line.begin[a.i] - b.line.begin[b.i]) : [];
  }

  // Returns the slowest slices; if there is a search, the slowest that it has found.
  slowest(count) {
    const found = [];
    let least = -1;
    for (const line of this.lines) {
      if (line.isInstants || line.isCopy || (line.isOfTasks && !line.hitsBefore))
        continue;
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

  // Returns the part of the time in which each of `count` parts of the trace is busy, on
  // all tracks; if there are no events, by the states of threads.
  busy(count) {
    const parts = new Float64Array(count);
    const scale = count / Math.max(1, this.to - this.from);
    for (const line of this.lines) {
      if (line.isInstants || line.isOfTasks || line.outer)
        continue;
      for (let i = 0; i < line.length; ++i) {
        const begin = Math.max(0, (line.begin[i] - this.from) * scale);
        const end = Math.min(count, (line.end[i] - this.from) * scale);
        for (let part = Math.floor(begin); part < end; ++part)
          parts[part] += Math.min(end, part + 1) - Math.max(begin, part);
      }
    }
    for (let part = 0; !this.lines.length && part < count; ++part) {
      const [from, to] = [part, part + 1].map((end) => this.from + end / scale);
      parts[part] = dividedTimes(this.rows, from, to)[1] * scale;
    }
    return parts;
  }
}
