# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""What fuzzers begin with. All of it is made by programs in this tree."""

import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

SCHEMAS = [
    'test_msg.proto',
    'examples/ninja_trace/perfetto_trace.proto',
    'test/claims/claims.proto',
    'test/install/consumer/sensors/reading.proto',
] + sorted(str(path.relative_to(ROOT))
           for path in (ROOT / 'test' / 'protos').rglob('*.proto'))


def varint(value):
  encoded = bytearray()
  while value >= 0x80:
    encoded.append(value & 0x7f | 0x80)
    value >>= 7
  encoded.append(value)
  return bytes(encoded)


def length_delimited(field_id, payload):
  return varint(field_id << 3 | 2) + varint(len(payload)) + payload


def descriptor_sets():
  """The schemas, one set of files each, as protoc gives them to plugins."""
  for schema in SCHEMAS:
    with tempfile.NamedTemporaryFile() as file:
      done = subprocess.run(
          ['protoc', '-I', ROOT, '-I', ROOT / 'test/install/consumer',
           '--include_imports', '--descriptor_set_out=' + file.name,
           ROOT / schema], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
          check=False)
      if done.returncode:  # What only newer ones understand.
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
      yield bytes([i * 8 & 0xfe | 1]) + length_delimited(1, file_set) + data


SEEDS = {
    'decoder_fuzzer': typed_seeds,
    'pbz_fuzzer': pbz_seeds,
    'plugin_fuzzer': plugin_seeds,
    'roundtrip_fuzzer': typed_seeds,
}
