# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Writes a profile as callgrind would write it for a program whose costs are
round numbers."""

# A program that encodes `count` messages: main() calls a loop (its own cost 7
# per message), that calls the encoder (100), which calls memcpy (20 per call,
# two calls). 1500 are spent around it.
CALLGRIND = '''\
# callgrind format
version: 1
events: Ir
summary: {total}

ob=(1) /bin/encode_rows
fl=(1) main.cc
fn=(1) main
10 1000
+1 500
cfn=(2) Loop(int)
calls=1 20
+2 {loop_inclusive}

fn=(2)
20 {loop}
fi=(2) header.h
-5 0
fe=(1)
cfn=(3) bench::EncodeOutOfLine(bench::Row*)
calls={count} 30
* {encoder_inclusive}

fn=(3)
30 {encoder}
cob=(2) /lib/libc.so
cfi=(3) memcpy.S
cfn=(4) memcpy
calls={copies} 0
+1 {copy}

ob=(2)
fn=(4)
0 {copy}

totals: {total}
'''


def callgrind(count, encoder=100):
  loop, own, copy = 7 * count, encoder * count, 40 * count
  return CALLGRIND.format(count=count, loop=loop, encoder=own, copy=copy,
                          copies=2 * count, encoder_inclusive=own + copy,
                          loop_inclusive=loop + own + copy,
                          total=1500 + loop + own + copy)
