# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Packets of trace events, to put traces together."""

from wire import delimited, integer

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
CLEARED, NEEDS_STATE = 1, 2
MS = 1000000


def packet(sequence, *fields):
  return delimited(1, b''.join(fields) + integer(10, sequence))


def first_packet(sequence, track=0, clock=b'', interned=b'', dropped=0):
  """Makes a sequence start over."""
  defaults = integer(58, 64) + delimited(11, integer(11, track))
  clocks = delimited(1, clock or integer(1, 64) + integer(2, 1000) + integer(3, 1))
  if not clock:
    clocks += delimited(1, integer(1, 6) + integer(2, 1000))
  return packet(sequence, integer(13, CLEARED), delimited(59, defaults),
                integer(42, dropped) if dropped else b'',
                delimited(12, interned), delimited(6, clocks))


def event(sequence, kind, time, *fields, dropped=0):
  return packet(sequence, integer(8, time), integer(13, NEEDS_STATE),
                integer(42, dropped) if dropped else b'',
                delimited(11, integer(9, kind) + b''.join(fields)))


def name(text):
  return delimited(23, text.encode())


def category(text):
  return delimited(22, text.encode())


def arg(key, value):
  """A DebugAnnotation, with the field `value`."""
  return delimited(4, delimited(10, key.encode()) + value)


PROCESS, THREAD = 7, 8


def track(uuid, *fields, parent=0):
  return packet(1, delimited(60, integer(1, uuid) + integer(5, parent) +
                             b''.join(fields)))


def described(interned=b'', dropped=0):
  """Begins a sequence of a thread, and says what its tracks are called."""
  return (first_packet(1, track=THREAD, interned=interned, dropped=dropped) +
          track(PROCESS, delimited(3, integer(1, 41) + delimited(6, b'app'))) +
          track(THREAD, delimited(4, integer(1, 41) + integer(2, 42) +
                                  delimited(5, b'main')), parent=PROCESS))
