# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Makes the seeds of fuzzers. Programs in this tree make all of them."""

import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# People run fuzzers without tools/test, which says where modules are.
sys.path.append(str(ROOT / 'test' / 'testing'))
import row_cases
from wire import delimited, integer, varint

SCHEMAS = [
    'test_msg.proto',
    'include/protozero/tracing/trace.proto',
    'test/claims/claims.proto',
    'test/install/consumer/sensors/reading.proto',
] + sorted(str(path.relative_to(ROOT))
           for path in (ROOT / 'test' / 'protos').rglob('*.proto'))


def descriptor_sets():
  """The schemas, one set of files each, as protoc gives them to plugins."""
  for schema in SCHEMAS:
    with tempfile.NamedTemporaryFile() as file:
      done = subprocess.run(
          ['protoc', '-I', ROOT, '-I', ROOT / 'test/install/consumer',
           '--include_imports', '--descriptor_set_out=' + file.name,
           ROOT / schema], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
          check=False)
      if done.returncode:  # Only newer versions of protoc understand it.
        continue
      yield pathlib.Path(file.name).read_bytes()


def typed_seeds(build_dir):
  """Messages of the types in generated_types.cc, by their generated setters."""
  with tempfile.TemporaryDirectory() as folder:
    subprocess.run([build_dir / 'typed_seeds', folder], check=True)
    for path in sorted(pathlib.Path(folder).iterdir()):
      yield path.read_bytes()


def plugin_seeds(_):
  for file_set in descriptor_sets():
    yield file_set


def pbz_seeds(_):
  """See pbz_fuzzer.cc for the first byte."""
  sets = list(descriptor_sets())
  for i, file_set in enumerate(sets):
    yield bytes([i * 8 & 0xfe]) + file_set[:4000]
  # With a schema. The data is of any type, and mostly of unknown fields.
  for i, file_set in enumerate(sorted(sets, key=len)[:8]):
    for data in sets[0][:200], b'\x08\x01\x12\x01a\x1b\x08\x05\x1c':
      yield bytes([i * 8 & 0xfe | 1]) + delimited(1, file_set) + data


def ipc_seeds(_):
  """See ipc_fuzzer.cc. Memory as shared_memory_abi.h draws it."""
  def call(method, *args):
    joined = b''.join(args)
    return bytes([method, len(joined)]) + joined

  def write(offset, data):
    return bytes([15, offset >> 10, offset >> 2 & 0xff, len(data)]) + data

  def chunk(packets, *fragments, chunk_id=0):
    """A complete chunk of page 0, the only one."""
    payload = b''.join(varint(len(data)) + data for data in fragments)
    return (write(8, chunk_id.to_bytes(4, 'little') + b'\1\0' +
                  packets.to_bytes(2, 'little') + payload) +
            write(0, (1 << 28 | 3).to_bytes(4, 'little')))

  def move(target_buffer=1):
    return delimited(
        1, integer(1, 0) + integer(2, 0) + integer(3, target_buffer))

  def patch(chunk_id, offset, more):
    return delimited(
        2, integer(1, 1) + integer(2, 1) + integer(3, chunk_id) +
        delimited(4, integer(1, offset) + delimited(2, b'abcd')) +
        integer(5, more))

  event = integer(8, 5) + delimited(900, b'event')
  writer = call(6, integer(1, 1), integer(2, 1))
  continues, continued, unpatched = 1 << 10, 1 << 11, 1 << 12
  # From the first byte on.
  yield bytes([0, 14, 16, 0x1a, 14]) + delimited(1, b'ProducerPort')
  yield (bytes([0]) + bytes([14, 16]) +
         delimited(3, delimited(1, b'ProducerPort')) +
         call(1, integer(1, 4096), integer(2, 65536),
              delimited(3, b'name'), integer(4, 1)) +
         call(5) + call(2, delimited(1, delimited(1, b'a'))) +
         call(8, integer(1, 1)) + call(11) + call(9, integer(1, 1)) +
         call(12, delimited(1, delimited(1, b'a'))) +
         call(3, delimited(1, b'a')))
  # Memory of its own.
  yield (bytes([0]) + bytes([14, 16]) +
         delimited(3, delimited(1, b'ProducerPort')) +
         bytes([0x61]) + call(1, integer(1, 4096), integer(6, 1))[1:] + call(5))
  # Commits.
  yield (bytes([1]) + writer + chunk(2, event, event) + call(4, move()) +
         chunk(1, event, chunk_id=1) + call(4, move(), integer(3, 1)))
  yield (bytes([1]) + chunk(1 | continued, event) + call(4, move()) +
         chunk(2 | continues, event, event, chunk_id=1) + call(4, move(2)) +
         call(4, move()))
  yield (bytes([1]) + chunk(1 | unpatched, event) +
         call(4, move(), patch(0, 3, 1)) + call(4, patch(0, 1, 0)))
  yield (bytes([3]) + writer + chunk(2, event, event) + call(11) * 20)
  # In the request.
  inline = b'\0\0\0\0\1\0\1\0' + varint(len(event)) + event
  yield (bytes([1]) + call(4, delimited(
      1, integer(3, 1) + delimited(4, inline) + integer(5, 1))))


def chunk(chunk_id, fragments, flags=0, writer=1, where=0, index=0, op=2):
  """The bytes that SharedMemoryWriter and its two fuzzers write."""
  payload = b''.join(varint(len(data)) + data for data in fragments)
  return (bytes([op, writer, where, index, chunk_id]) +
          struct.pack('<HH', len(fragments) | flags << 10, len(payload)) +
          payload)


def packet_reader_seeds(_):
  """packet_reader_fuzzer.cc says what the bytes mean."""
  packet = b'\x08\x01\x5a\x02\x08\x01'
  read, commit = b'\x07\xff', b'\x05\x04\x00\x10\x20\x30'
  one_writer, small = b'\x08\x01\xff\xff\x07', b'\x08\x00\x0a\x00\x02'
  patch = b'\x06\x01\x01\x00\x00\x05\x00\x81\x80\x80\x00'
  yield chunk(0, [packet] * 3, op=4) + read + chunk(0, [packet] * 4) + commit
  yield (chunk(0, [packet, packet[:3]], 2) + read +
         chunk(1, [packet[3:], packet], 1, where=1) + commit + read)
  yield (chunk(0, [packet[:2]], 2) + chunk(1, [packet[2:3]], 3, where=1) +
         chunk(2, [packet[3:]], 1, where=2) + read + commit)
  yield chunk(0, [packet, packet], 4) + read + patch + read + commit
  yield (chunk(2, [packet]) + chunk(0, [packet], where=1) + read +
         chunk(3, [packet], where=2) + read)
  yield b''.join(chunk(i, [packet], where=16, index=i, writer=1 + i % 5)
                 for i in range(14)) + small + read + one_writer + read
  yield chunk(0, [packet, b'x' * 40], op=4) + small + read
  yield (bytes([2, 1, 0, 0, 0]) + struct.pack('<HH', 2 | 1 << 10, 5) +
         b'\xff\xff\xff\x7f\x00' + read + chunk(1, [packet], where=1))


def flight_reader_seeds(_):
  """flight_reader_fuzzer.cc says what the bytes mean."""
  packet = b'\x08\x01\x5a\x02\x08\x01'
  yield chunk(0, [packet] * 3, op=4) + chunk(0, [packet] * 4, writer=2, where=1)
  yield (chunk(0, [packet, packet[:3]], 2) +
         chunk(1, [packet[3:], packet], 1, where=1))
  yield (chunk(0, [packet, packet[:2]], 2, op=4) +
         chunk(1, [packet[2:3]], 3, where=1) + chunk(2, [packet[3:]], 1, where=2))
  yield (chunk(2, [packet], op=5) + chunk(0, [packet], where=1) +
         chunk(3, [packet], where=2) + b'\x06\x40\x09')
  yield chunk(7, [packet]) + chunk(9, [packet], where=1) + b'\x07\x00\x20'


def shared_buffer_seeds(_):
  """shared_buffer_fuzzer.cc says what the bytes mean."""
  def patch(chunk_id, offsets, has_more=0):
    return bytes([6, len(offsets), 0, 1, chunk_id, has_more]) + b''.join(
        bytes([offset]) + b'\x81\x80\x80\x00' for offset in offsets)

  read, scrape = b'\x0c', b'\x0a\x0d\x0f'
  register, unregister = b'\x08\x01\x00', b'\x09\x01'
  other, die = b'\x0f\x01', b'\x0e\x03'
  packet = b'\x08\x01\x5a\x02\x08\x01'
  open_packet = b'\x08\x02\x5a\x00\x00\x00\x00'
  runs = [
      chunk(0, [packet]) + read + chunk(1, [packet, packet], where=4),
      chunk(0, [packet, packet[:3]], 2) + chunk(1, [packet[3:], packet], 1),
      chunk(0, [packet[:2]], 2) + chunk(1, [packet[2:3]], 3) + read +
      chunk(2, [packet[3:]], 1) + other,
      chunk(0, [packet, open_packet], 6) + read +
      chunk(1, [packet, packet], 1) + patch(0, [10], 1) + patch(0, [], 0),
      chunk(0, [packet, open_packet], 6) + chunk(1, [packet], 1) + die + other,
      chunk(0, [packet]) + chunk(2, [packet]) + read + chunk(1, [packet]),
      register + chunk(0, [packet] * 3, where=16, op=4) + scrape + read +
      chunk(0, [packet] * 4, where=16) + unregister + other,
      register + chunk(0, [packet] * 3, index=2, where=12, op=4) + die,
      chunk(0, [packet, b'\x50\x01', b'\x0b', packet]) +
      bytes([7, 0, 11, 1, 0, 0, 0, 1, 0, 1, 0, 2, 8, 1]) + chunk(2, [packet]),
      b''.join(chunk(i, [packet * 80]) for i in range(30)) + other,
      bytes([1, 1]) + struct.pack('<I', 0x50ffffff) +
      b'\x05\x04\x10\x00\x11\x00\x12\x00\x13\x00' + other,
      bytes([2, 1, 0, 0, 0]) + struct.pack('<HH', 2 | 1 << 10, 5) +
      b'\xff\xff\xff\x7f\x00' + chunk(1, [packet]),
  ]
  for policy in b'\x00', b'\x01':
    for run in runs:
      yield policy + run


# Sequence 1 has slices, sequence 2 the steps of tasks of the same thread.
TASKS = '''
thread
packet { trusted_packet_sequence_id: 1
  track_descriptor { uuid: 12 parent_uuid: 11 name: "tasks" state {} } }
packet { trusted_packet_sequence_id: 2 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 12 } }
  interned_data {
    task_sites { iid: 1 name: "s" file: "f" line: 3 }
    task_runs { iid: 5 task: 7 site_iid: 1 } task_runs { iid: 6 task: 8 } } }
2:100 INSTANT track_uuid: 11 task { spawned: 7 site_iid: 1 name: "n" parent: 0 }
2:110 STATE name_iid: 5
2:120 INSTANT track_uuid: 11 task { request: "r" }
2:130 INSTANT track_uuid: 11 task { woken: 8 }
2:140 STATE name_iid: 6 task { wait_site_iid: 1 }
1:145 BEGIN name: "a"
2:150 STATE task { result: RESULT_FAILED }
packet { trusted_packet_sequence_id: 2 previous_packet_dropped: 1 }
2:160 STATE name_iid: 5
packet { trusted_packet_sequence_id: 2 sequence_flags: 1
  trace_packet_defaults { track_event_defaults { track_uuid: 12 } }
  interned_data { task_runs { iid: 5 task: 7 } } }
2:170 STATE name_iid: 5
2:90 STATE name_iid: 9
2:180 INSTANT track_uuid: 11 task { ended: 7 result: RESULT_DESTROYED }
'''


def trace_reader_seeds(_):
  yield b''.join(row_cases.encode('\n'.join(
      map(row_cases.text_of_line, TASKS.splitlines()))))
  for case in row_cases.read_cases():
    yield b''.join(row_cases.encode(case.text))


def slice_nesting_seeds(_):
  """See slice_nesting_fuzzer.cc: slices in each other, and a state."""
  begin, end, exact_end, state, loss, details = range(6)

  def event(kind, time, track=0, text=3, duration=0, release=0):
    return (bytes([kind, track]) + struct.pack('<H', time) + b'\0' +
            (b'\1' if kind == end else b'') + bytes([text]) +
            (bytes([duration]) if kind == exact_end else b'') + bytes([1, release]))

  yield (b'\x04' + event(begin, 10) + event(begin, 20, text=2) +
         event(end, 30, text=0) + event(end, 40, text=0) + event(details, 15))
  yield (b'\x01' + event(end, 40, text=0) + event(begin, 10, release=255) +
         event(exact_end, 50, duration=5) + event(begin, 45) + event(loss, 60))
  yield b'\x02' + b''.join(event(state, time, 1, time % 4) for time in range(9))


def clock_table_seeds(_):
  """See clock_table_fuzzer.cc: snapshots, and times between them."""
  real, mono, boot, other, of_sequence = range(5)

  def snapshot(*readings, sequence=1, primary=31):
    return bytes([0, sequence, len(readings)]) + b''.join(
        struct.pack('<BHB', clock, time, kind)
        for clock, time, kind in readings) + bytes([primary])

  def convert(clock, time, more=5, sequence=1):
    return struct.pack('<BBBHB', 2, sequence, clock, time, more)

  realtime = struct.pack('<BH', 3, 105)
  yield (b'\0' + snapshot((real, 5000, 0), (boot, 100, 0), (mono, 40, 0)) +
         convert(mono, 50) + realtime +
         snapshot((real, 5100, 0), (boot, 200, 0), (mono, 60, 0)) +
         convert(mono, 59) + convert(real, 4000) + realtime)
  # A clock of a sequence counts microseconds; the wall clock is set back.
  yield (b'\0' + snapshot((boot, 1000, 0), (of_sequence, 7, 9)) +
         convert(of_sequence, 5) + convert(of_sequence, 3) +
         snapshot((real, 9000, 0), (boot, 2000, 0)) +
         snapshot((real, 500, 0), (boot, 3000, 0)) + convert(real, 505))
  # By way of others, and another clock of the trace.
  yield (b'\0' + snapshot((mono, 40, 0), (of_sequence, 1000, 0)) +
         convert(of_sequence, 1005) + snapshot((other, 5, 0), (mono, 45, 0)) +
         snapshot((boot, 100, 0), (mono, 50, 0), (other, 20, 0)) +
         convert(of_sequence, 1005) + convert(other, 7) +
         snapshot((real, 5000, 0), (mono, 70, 0), primary=mono) + realtime)


def track_table_seeds(_):
  """See track_table_fuzzer.cc: descriptions of tracks, and others."""
  def describe(uuid, kinds, *more, merging=7):
    return bytes([11, kinds, uuid, *more, merging])

  def writer(sequence, pid, machine=0):
    return bytes([10, sequence, pid + 1, machine])

  # Each track is part of the one before; then they are a circle.
  row = b''.join(describe(uuid, 3, uuid - 1, 2) for uuid in range(2, 12))
  yield row + describe(1, 1, 11) + describe(1, 1, 0)
  # A process, a thread and a counter.
  yield (describe(1, 8, 2, 1, 0) + describe(2, 5, 1, 2, 3, 4) +
         describe(3, 17, 1, 2) + bytes([5, 2, 1, 6, 2, 3, 5, 4, 0]) +
         bytes([7, 3, 255, 1, 8, 3, 4, 255]) +
         bytes([9, 2, 2, 1, 3, 2, 1, 3, 2, 7]) + describe(2, 68, 3, 4, 0, 2))
  yield bytes([0, 5, 1, 1, 2, 2, 3, 3, 1, 5, 4, 3, 1, 5, 7, 4, 1])
  # Two programs with one uuid, and tracks below it.
  yield b''.join(
      writer(pid, pid) + describe(1, 8, 2, 1, 0) + describe(2, 5, 1, 2, 3, 4) +
      describe(3, 3, 2, 1) for pid in (2, 3, 2))
  yield (describe(1, 0, merging=2) + describe(2, 0, merging=3 + 32 + 16) +
         describe(3, 0, merging=3 + 8) + b'\5' + describe(3, 0, merging=1))


SEEDS = {
    'clock_table_fuzzer': clock_table_seeds,
    'decoder_fuzzer': typed_seeds,
    'flight_reader_fuzzer': flight_reader_seeds,
    'ipc_fuzzer': ipc_seeds,
    'packet_reader_fuzzer': packet_reader_seeds,
    'pbz_fuzzer': pbz_seeds,
    'plugin_fuzzer': plugin_seeds,
    'roundtrip_fuzzer': typed_seeds,
    'shared_buffer_fuzzer': shared_buffer_seeds,
    'slice_nesting_fuzzer': slice_nesting_seeds,
    'trace_reader_fuzzer': trace_reader_seeds,
    'track_table_fuzzer': track_table_seeds,
}
