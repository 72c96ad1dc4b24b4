// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
//
// Functions that make the parts of a page. Names come from the trace, so they become text, never
// markup.

"use strict";

const $ = (id) => document.getElementById(id);

function element(name, properties, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function tableRow(cells) {
  return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
}
