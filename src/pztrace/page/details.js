// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// The tables below the timeline: the selected event or range, the slices of a name, and
// the slowest slices.

"use strict";

const MAX_NAMES = 200;

// The statistics of the selected range, which take their time.
let rangeStatistics = null;

function showDetails() {
  const {selected, range} = timeline;
  const details = $("details");
  details.replaceChildren();
  rangeStatistics = range && (rangeStatistics?.range === range ? rangeStatistics :
    {range, ...statisticsOf(trace, range)});
  $("selected").textContent = range ? "Range, with the times within it" : "Selection";
  if (range)
    showRange(details);
  else if (selected)
    showEvent(details, selected);
  else
    details.append(element("p", {textContent:
      "Click a slice, drag to select a range, or press Enter in the timeline; ? has all keys."}));
}

function argument(value) {
  if (value === null || typeof value !== "object")
    return String(value);
  const pairs = Object.entries(value);
  return pairs.length ? definitions(pairs.map(([key, value]) => [key, argument(value)])) : "{}";
}

function showEvent(details, event) {
  const {line, i} = event;
  const pairs = [["Name", trace.nameOf(event)]];
  if (line.isCounter)
    pairs.push([line.isConcurrency ? "At a time" : "Value", line.textOf(line.value[i])]);
  if (trace.categoryOf(event))
    pairs.push(["Category", trace.categoryOf(event)]);
  pairs.push(["Start", timeText(line.begin[i])]);
  const ns = BigInt(trace.first) + BigInt(Math.round(line.begin[i]));
  if (trace.realtime !== null)
    pairs.push(["Date", dateText(ns + BigInt(trace.realtime))]);
  pairs.push(["Clock", ns + " ns"]);
  if (!line.isInstants)
    pairs.push(["Duration", shownDurationOf(event, timeText)]);
  if (line.self && !line.isInstants)
    pairs.push(["Self", timeText(line.self[i])]);
  if (line.row.states && !line.isInstants)
    pairs.push(...dividedPairs(line.row.states.divide(line.begin[i], line.end[i])));
  for (const row of line.row.path) {
    pairs.push([row.kind[0].toUpperCase() + row.kind.slice(1),
                row === line.row ? trackNameOf(event) : row.label]);
  }
  const ruler = element("span", {className: "links"}, link("start", () => markHere("begin")));
  if (!line.isInstants)
    ruler.append(link("end", () => markHere("end")));
  pairs.push(["Ruler at", ruler]);
  details.append(definitions(pairs));
  const args = Object.entries(trace.argsOf(event));
  if (args.length) {
    details.append(element("h3", {textContent: "Arguments"}),
                   definitions(args.map(([key, value]) => [key, argument(value)])));
  }
  for (const flow of trace.flowsOf(event)) {
    const list = element("dl");
    for (const other of trace.eventsOfFlow(flow).slice(0, 100)) {
      const name = trace.nameOf(other);
      list.append(element("dt", {textContent: timeText(other.line.begin[other.i])}),
                  element("dd", {}, isSame(other, event) ? name : link(name, () => goTo(other))));
    }
    details.append(element("h3", {textContent: "Flow " + flow}), list);
  }
}

// Shows the range's length, its counters, and its slices by name. Times are those within
// the range.
function showRange(details) {
  const {range: {from, to, rows}, names, counters, numInstants} = rangeStatistics;
  const pairs = [["Length", durationText(to - from)], ["Start", timeText(from)],
                 ["End", timeText(to)], ["Rows", rows.size.toLocaleString("en")]];
  if (numInstants)
    pairs.push(["Instants", numInstants.toLocaleString("en")]);
  if ([...rows].some(({states}) => states))
    pairs.push(...dividedPairs(dividedTimes([...rows], from, to)));
  details.append(figures(pairs));
  if (counters.length) {
    const table = element("table", {id: "values"}, headOf("Counter", "Min", "Mean", "Max"));
    table.append(...counters.map(({row, least, mean, greatest}) => tableRow([
      row.label, ...[least, mean, greatest].map((value) => row.counter.textOf(
        Number(value.toPrecision(6))))])));
    details.append(element("div", {className: "wide"}, table));
  }
  if (!names.length)
    return;
  const table = element("table", {id: "names"},
                        headOf("Name", "Count", "Total", "Self", "Longest"));
  table.append(...names.slice(0, MAX_NAMES).map(({name, count, total, self, longest, event}) => {
    const row = tableRow([
      link(trace.names[name], () => selectName(name)), count.toLocaleString("en"),
      durationText(total), durationText(self), link(durationText(longest), () => goTo(event))]);
    row.classList.toggle("chosen", name === timeline.name);
    return row;
  }));
  details.append(element("div", {className: "wide"}, table));
  if (names.length > MAX_NAMES)
    details.append(element("p", {textContent: countText(names.length - MAX_NAMES, "more name")}));
}

function headOf(...names) {
  return element("thead", {}, element("tr", {}, ...names.map(
    (textContent) => element("th", {textContent}))));
}

// Shows statistics of all slices of the selected name.
function showName() {
  const place = $("statistics");
  place.hidden = timeline.name === null;
  if (place.hidden)
    return;
  const name = timeline.name;
  const durations = durationsOf(trace, name);
  const numInstants = countInstants(trace, name);
  const pairs = [];
  if (durations.length) {
    const total = durations.reduce((a, b) => a + b, 0);
    pairs.push(["Count", durations.length.toLocaleString("en")], ["Total", durationText(total)],
               ["Mean", durationText(total / durations.length)],
               ["p50", durationText(percentile(durations, 50))],
               ["p99", durationText(percentile(durations, 99))],
               ["Longest", durationText(durations.at(-1))]);
  }
  if (numInstants)
    pairs.push(["Instants", numInstants.toLocaleString("en")]);
  const button = (text, label, key, step) => element("button", {
    type: "button", textContent: text, title: label + " (" + key + ")", ariaLabel: label,
    onclick: () => goToName(step)});
  place.replaceChildren(
    element("h2", {}, element("span", {textContent: "All named " + trace.names[name]}),
            button("‹", "Previous of this name", ",", -1),
            button("›", "Next of this name", ".", 1)),
    figures(pairs));
  if (durations.length)
    showHistogram(place, durations);
}

function showHistogram(place, durations) {
  const {bars, barOf} = histogramOf(durations);
  const picture = element("canvas", {id: "histogram", role: "img",
                                     ariaLabel: "Histogram of the durations"});
  place.append(picture, element("p", {className: "ends"},
                                element("span", {textContent: durationText(bars[0].from)}),
                                element("span", {textContent: durationText(bars.at(-1).to)})));
  const context = fittedContext(picture);
  const {clientWidth: width, clientHeight: height} = picture;
  const most = bars.reduce((most, {count}) => Math.max(most, count), 0);
  const {selected, colors} = timeline;
  const chosen = selected ? barOf(durationOf(selected)) : -1;
  const step = width / bars.length;
  bars.forEach(({count}, i) => {
    const bar = count && Math.max(2, count / most * (height - 2));
    context.fillStyle = i === chosen ? colors.accent : colors.slices[0];
    context.fillRect(i * step, height - bar, step - 1, bar);
  });
  picture.onpointermove = (event) => {
    const bar = bars[Math.min(bars.length - 1, Math.floor(event.offsetX / step))];
    picture.title = durationText(bar.from) + " to " + durationText(bar.to) + ": " +
      countText(bar.count, "slice");
  };
}

function showSlowest() {
  const slices = trace.slowest(10);
  $("slow").textContent = $("query").value ? "The slowest hits" : "The slowest slices";
  $("slowest").tBodies[0].replaceChildren(...slices.map((event) => {
    const {line, i} = event;
    const row = tableRow([durationText(durationOf(event)), durationText(line.self[i]),
                          link(trace.nameOf(event), () => {
                            timeline.zoomTo(event);
                            select(event);
                          }), trackNameOf(event), timeText(line.begin[i])]);
    row.event = event;
    row.cells[3].title = trackOf(event);
    row.classList.toggle("chosen", isSame(event, timeline.selected));
    return row;
  }));
}
