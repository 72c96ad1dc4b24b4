// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

import * as fs from 'node:fs';

// What both programs have in common. Numbers are BigInts here, as trees have
// 64-bit ones, and floating-point ones are what DataView makes of their bits.

export const toHex = (bytes) => Buffer.from(bytes).toString('hex');
export const fromHex = (digits) => new Uint8Array(Buffer.from(digits, 'hex'));

export function bitsOf(number, isDouble) {
  const view = new DataView(new ArrayBuffer(isDouble ? 8 : 4));
  isDouble ? view.setFloat64(0, number) : view.setFloat32(0, number);
  return toHex(new Uint8Array(view.buffer));
}

export function ofBits(digits) {
  const bytes = fromHex(digits);
  const view = new DataView(bytes.buffer);
  return bytes.length == 8 ? view.getFloat64(0) : view.getFloat32(0);
}

// Calls answer() with each line of the standard input, which is JSON, and
// prints what it returns as a line. The protocol is described in
// libprotobuf_main.cc.
export function serve(answer) {
  const results = [];
  for (const line of fs.readFileSync(0, 'utf8').split('\n')) {
    if (!line) continue;
    let result;
    try {
      result = answer(JSON.parse(line));
    } catch (error) {
      result = {error: String(error)};
    }
    results.push(JSON.stringify(result) + '\n');
  }
  fs.writeFileSync(1, results.join(''));
}
