# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Packets of the kernel, and traces of slices whose threads did known things."""

from wire import delimited, integer, read_varint, varint
from track_events import (
    BEGIN, CLEARED, END, INSTANT, MS, NEEDS_STATE, THREAD, described, name, packet, track)

UNKNOWN, CREATED, READY, RUNNING, SLEEPING, BLOCKED, STOPPED, DEAD = range(8)
KERNEL = 900  # A sequence of a recorder.
TID = 42  # The thread of described().


def state(time, kind, tid=TID, cpu=0, dropped=0, sequence=KERNEL):
  """The thread enters a state, at a time of the boot clock."""
  return packet(sequence, integer(8, time), integer(58, 6),
                integer(42, dropped) if dropped else b'',
                delimited(117, integer(1, cpu) + integer(3, tid) + integer(4, kind)))


def waking(time, waker, tid=TID, cpu=0, flags=1, sequence=KERNEL):
  """The thread `waker` wakes another one, or an interrupt does if `flags` say so."""
  event = (integer(1, time) + integer(2, waker) + integer(5, flags) +
           delimited(20, integer(2, tid) + integer(5, cpu)))
  return packet(sequence, integer(8, time), integer(58, 6),
                delimited(1, integer(1, cpu) + delimited(2, event)))


def tree(*threads, sequence=KERNEL):
  """`threads` are (pid, tid, name)."""
  return packet(sequence, delimited(122, b''.join(
      delimited(2, integer(1, tid) + integer(2, pid) + delimited(3, text.encode()))
      for pid, tid, text in threads)))


def command_lines(*processes, sequence=KERNEL):
  """`processes` are (pid, words)."""
  return packet(sequence, delimited(122, b''.join(
      delimited(1, integer(1, pid) + delimited(3, words.encode())) for pid, words in processes)))


def timed_slice(begin, end, text, *fields, inner=b'', sequence=1, uuid=THREAD):
  """A slice at times of the boot clock."""
  def at(time, content):
    return packet(sequence, integer(8, time), integer(58, 6), delimited(11, content))
  return (at(begin, integer(9, BEGIN) + integer(11, uuid) + name(text) + b''.join(fields)) +
          inner + at(end, integer(9, END) + integer(11, uuid)))


def interned_stacks(*stacks, mapping='/usr/lib/libc.so.6', has_names=True, sequence=KERNEL):
  """Interned data with stacks of function names, the outermost first. Their numbers
  count from 1. Those of functions, in the order of the alphabet, times 16, are their
  addresses."""
  names = sorted({frame for stack in stacks for frame in stack})
  data = delimited(17, integer(1, 1) + delimited(2, mapping.encode()))
  data += delimited(19, integer(1, 1) + integer(7, 1))
  for iid, text in enumerate(names, 1):
    data += delimited(5, integer(1, iid) + delimited(2, text.encode()))
    data += delimited(6, integer(1, iid) + integer(2, iid if has_names else 0) +
                      integer(3, 1) + integer(4, 16 * iid))
  for iid, stack in enumerate(stacks, 1):
    data += delimited(7, integer(1, iid) +
                      b''.join(integer(2, names.index(frame) + 1) for frame in stack))
  return packet(sequence, integer(13, 1), delimited(12, data))


def written_by(trace, pid):
  """The trace as a service writes it that knows the program by this pid."""
  packets = b''
  at = 0
  while at < len(trace):
    size, at = read_varint(trace, at + 1)
    packets += delimited(1, trace[at:at + size] + integer(79, pid))
    at += size
  return packets


def symbol(path, address, text, sequence=KERNEL):
  """The function at an address of a file."""
  return packet(sequence, delimited(61, delimited(1, path.encode()) + delimited(
      3, integer(1, address) + delimited(2, delimited(1, text.encode())))))


def in_namespaces(*threads, sequence=KERNEL):
  """`threads` are (pid, tid, tid in the innermost namespace, for itself)."""
  return packet(sequence, delimited(2, b''.join(
      delimited(2, integer(1, tid) + integer(3, pid) + integer(4, 7) + integer(4, inner))
      for pid, tid, inner in threads)))


def sample(time, stack, tid=TID, cpu=0, weight=1000000, mode=1, unit=None, counter='',
           sequence=KERNEL):
  return packet(sequence, integer(8, time), integer(58, 6), integer(13, 2),
                delimited(135, delimited(1, integer(2, 41) + integer(3, tid)) +
                          delimited(3, integer(2, cpu) + integer(3, mode)) +
                          integer(6, stack) + integer(11, weight) +
                          (delimited(9, delimited(2, counter.encode()) + integer(3, unit))
                           if unit else b'')))


def counted_sample(time, stack, counts, tid=TID):
  """`counts` are (unit, increase)."""
  followers = b''.join(delimited(12, integer(3, unit)) for unit, _ in counts)
  return packet(KERNEL, integer(8, time), integer(58, 6), integer(13, 2),
                delimited(135, delimited(1, integer(2, 41) + integer(3, tid)) +
                          integer(6, stack) + integer(11, MS) + followers +
                          delimited(14, b''.join(varint(number) for _, number in counts))))


def waiting_stack(time, stack, **kwargs):
  """The stack with which the thread begins to wait."""
  return sample(time, stack, weight=1, unit=9, counter='context-switches', **kwargs)


def task_trace(runs, request=''):
  """A task that runs on the thread in `runs`, (begin, end) in milliseconds, and waits
  for "db.read" in between. It works on a request."""
  row, state_type = 9, 5
  sites = b''.join(delimited(4101, integer(1, iid) + delimited(2, text) + delimited(3, b'a.cc'))
                   for iid, text in ((1, b'session'), (2, b'db.read')))
  interned = (sites + delimited(2, integer(1, 5) + delimited(2, b'session')) +
              delimited(4102, integer(1, 5) + integer(2, 1) + integer(3, 1)))
  trace = (described() + track(row, delimited(2, b'tasks'), parent=THREAD) +
           packet(2, integer(13, CLEARED), delimited(12, interned),
                  delimited(59, integer(58, 6) + delimited(11, integer(11, row)))))

  def step(ms, kind, *fields):
    return packet(2, integer(8, ms * MS), integer(13, NEEDS_STATE),
                  delimited(11, integer(9, kind) + b''.join(fields)))
  for i, (begin, end) in enumerate(runs):
    trace += step(begin, state_type, integer(10, 5))
    if i == 0 and request:
      trace += step(begin, INSTANT, integer(11, THREAD),
                    delimited(4100, delimited(9, request.encode())))
    is_last = i + 1 == len(runs)
    trace += step(end, state_type, delimited(4100, integer(2, 1) if is_last else integer(1, 2)))
    if not is_last:
      # Something outside wakes it when it runs again.
      trace += step(runs[i + 1][0], INSTANT, integer(11, THREAD), delimited(4100, integer(7, 1)))
  return trace


def divided_trace(slices, kinds=((RUNNING, 4), (READY, 2), (RUNNING, 1), (SLEEPING, 3))):
  """Slices of 10 ms, one after the other, whose thread is in each of `kinds` for so
  many milliseconds."""
  trace = described() + tree((41, TID, 'main'), (41, 43, 'other'))
  time = 10 * MS
  for text in slices:
    trace += timed_slice(time, time + 10 * MS, text)
    for kind, ms in kinds:
      trace += state(time, kind)
      time += ms * MS
  return trace + state(time, RUNNING) + state(time + MS, DEAD)
