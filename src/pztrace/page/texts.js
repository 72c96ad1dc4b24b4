// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Times, dates, counts and arguments as texts.

"use strict";

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
