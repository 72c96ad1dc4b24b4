#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""The streams of Arrow and the Parquet files that pbz and pztrace write have the rows of
their NDJSON: read by pyarrow, over random schemas and messages. Runs in the build
directory. Builds the programs with Arrow in a folder beside it, a copy of it; is skipped
where tools/install-build-deps --arrow has not been run."""

import base64
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import export_test
import round_trip_test
import schema_generator
from cases import run_cases
from track_events import (BEGIN, COUNTER, END, INSTANT, described, event, name,
                          packet)
from wire import delimited, double, integer, tag

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDK = ROOT / 'third_party' / 'arrow' / 'sdk'
PYTHON = ROOT / 'third_party' / 'arrow' / 'bin' / 'python'
ARROW_BUILD = export_test.BUILD_DIR.parent / 'arrow'
# The files of a build directory that Ninja has made there, and its notes on them.
COMPILED = ('obj', 'gen', 'protozero_plugin', '.ninja_log', '.ninja_deps')
PBZ = ARROW_BUILD / 'pbz'
PZTRACE = ARROW_BUILD / 'pztrace'
SEED = 9
MB = 1 << 20

# Prints the types of the columns, the sizes of the batches, and the rows.
READER = '''
import base64, json, sys
import pyarrow.ipc
rows, batches = [], []
with pyarrow.ipc.open_stream(sys.stdin.buffer) as reader:
  for batch in reader:
    batches.append((batch.num_rows, batch.nbytes))
    rows += batch.to_pylist()
json.dump([[(field.name, str(field.type)) for field in reader.schema], batches, rows],
          sys.stdout, default=lambda value: base64.b64encode(value).decode())
'''
# Prints the same of a Parquet file: the sizes are those of row groups, and of each,
# whether its texts have dictionaries.
PARQUET_READER = '''
import base64, io, json, sys
import pyarrow.parquet
file = pyarrow.parquet.ParquetFile(io.BytesIO(sys.stdin.buffer.read()))
groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
groups = [(group.num_rows, all(group.column(i).has_dictionary_page
                               for i in range(group.num_columns)
                               if group.column(i).physical_type == "BYTE_ARRAY"))
          for group in groups]
json.dump([[(field.name, str(field.type)) for field in file.schema_arrow], groups,
           file.read().to_pylist()],
          sys.stdout, default=lambda value: base64.b64encode(value).decode())
'''
READERS = {'arrow': READER, 'parquet': PARQUET_READER}
NOT_FINITE = {'NaN': 'nan', 'Infinity': 'inf', '-Infinity': '-inf'}


def read(stream, table_format='arrow'):
  process = subprocess.run([PYTHON, '-c', READERS[table_format]], input=stream,
                           stdout=subprocess.PIPE, check=True)
  return json.loads(process.stdout)


def is_same(value, of_json, is_json):
  """Returns whether a cell of Arrow is that of NDJSON."""
  if isinstance(value, float):
    if isinstance(of_json, str):
      return repr(value) == NOT_FINITE[of_json]
    return value == of_json or export_test.Float32(value) == of_json
  if is_json and value is not None:
    return json.loads(value, parse_int=export_test.number_of) == of_json
  return value == of_json and type(value) is type(of_json)


class ArrowTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    # Files that know nothing of Arrow are compiled already: Ninja finds them in the copy.
    shutil.rmtree(ARROW_BUILD, ignore_errors=True)
    ARROW_BUILD.mkdir()
    for path in COMPILED:
      source = export_test.BUILD_DIR / path
      copy = shutil.copytree if source.is_dir() else shutil.copy2
      copy(source, ARROW_BUILD / path)
    arguments = (export_test.BUILD_DIR / 'args.gn').read_text() + (
        'arrow_dir="//%s"' % SDK.relative_to(ROOT))
    for command in (['gn', 'gen', '-q', ARROW_BUILD, '--args=' + arguments],
                    ['ninja', '--quiet', '-C', ARROW_BUILD, 'pbz', 'pztrace']):
      subprocess.run([ROOT / 'tools' / command[0], *command[1:]], cwd=ROOT,
                     stdout=sys.stderr, check=True)

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.folder = pathlib.Path(scratch.name)
    self.file = self.folder / 'file.pb'

  def check(self, arrow_command, json_command, code=0):
    """Both have the same rows. Returns the types of the columns."""
    outputs = []
    for command in arrow_command, json_command:
      process = subprocess.run(command, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, check=False)
      self.assertEqual(process.returncode, code, process.stderr)
      outputs.append(process.stdout)
    columns, _, rows = read(outputs[0],
                            'parquet' if 'parquet' in arrow_command else 'arrow')
    objects = export_test.objects(outputs[1])
    for row, of_json in zip(rows, objects, strict=True):
      self.assertEqual(list(row), list(of_json))
      for column, value in row.items():
        is_json = isinstance(of_json[column], (dict, list))
        self.assertTrue(is_same(value, of_json[column], is_json),
                        (column, value, of_json[column]))
    return dict(columns), rows

  def check_pbz(self, *arguments, code=0):
    ndjson = [PBZ, 'export', '--format', 'ndjson', *arguments]
    _, rows = self.check([PBZ, 'export', '--format', 'parquet', *arguments], ndjson, code)
    types, rows_of_arrow = self.check([PBZ, 'export', '--format', 'arrow', *arguments],
                                      ndjson, code)
    self.assertEqual(str(rows), str(rows_of_arrow))
    return types, rows

  def test_rows_of_random_schemas(self):
    rng = random.Random(SEED)
    schemas = schema_generator.Generator(
        SEED, 6, 'rnd', schema_generator.HostileNames(SEED)).schemas
    roots = round_trip_test.write_schemas(schemas, self.folder, False, rng)
    schema = export_test.Schema(self.folder, round_trip_test.ALL)
    maker = round_trip_test.Bytes(rng, True, {})
    num_rows = 0
    for number, root in enumerate(roots, 1):
      if root.fields or root.oneofs:
        self.file.write_bytes(b''.join(
            delimited(number, maker.message(root, 3)) for _ in range(8)))
        _, rows = self.check_pbz('--schema', schema.path, '--type', 'all.All',
                                 '--rows', 'm%d' % number, self.file)
        num_rows += len(rows)
    self.assertGreater(num_rows, 100)

  def schema_of_rows(self):
    (self.folder / 'rows.proto').write_text(export_test.ROWS)
    return export_test.Schema(self.folder, 'rows.proto')

  def test_types(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, integer(9, 1) + double(13, float('nan')) +
                                    delimited(11, b'\xff\0')))
    types, rows = self.check_pbz(
        '--schema', schema.path, '--rows', 'row', '--columns',
        'id,peer.port,ratio,yes,kind,raw,many', '--file-column', 'file',
        self.file)
    self.assertEqual(list(types.values()),
                     ['large_string', 'int64', 'uint64', 'double', 'bool',
                      'large_string', 'large_binary', 'large_string'])
    self.assertEqual(rows[0]['raw'], base64.b64encode(b'\xff\0').decode())

  def test_malformed_rows_are_left_out(self):
    schema = self.schema_of_rows()
    good = delimited(1, integer(1, 1))
    self.file.write_bytes(good + delimited(1, tag(2, 2) + b'\x09') + good + b'\x0a')
    _, rows = self.check_pbz('--schema', schema.path, '--rows', 'row',
                             '--columns', 'id', self.file, code=1)
    self.assertEqual(rows, [{'id': 1}] * 2)

  def test_batches_and_memory_are_bounded(self):
    schema = self.schema_of_rows()
    for text, num_rows in ((b'', 200000), (b'x' * 1000, 50000)):
      self.file.write_bytes(
          delimited(1, integer(1, 1) + delimited(2, text)) * num_rows)
      command = [PBZ, 'export', '--format', 'arrow', '--schema', schema.path, '--rows',
                 'row', '--columns', 'id,text', self.file]
      with open(self.folder / 'stream', 'w+b') as stream:
        process = subprocess.Popen(command, stdout=stream)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.assertEqual(status, 0)
        stream.seek(0)
        _, batches, rows = read(stream.read())
      self.assertEqual(len(rows), num_rows)
      self.assertGreater(len(batches), 3)
      for rows, size in batches:
        self.assertLessEqual(rows, 1 << 16)
        self.assertLess(size, 2 * MB)
      # Most of it is Arrow's library.
      self.assertLess(usage.ru_maxrss, 150 * 1024)

  def test_output_that_cannot_be_written(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, integer(1, 1)) * 100000)
    for table_format in READERS:
      with open('/dev/full', 'wb') as full:
        process = subprocess.run(
            [PBZ, 'export', '--format', table_format, '--schema', schema.path, '--rows',
             'row', self.file], stdout=full, stderr=subprocess.PIPE, check=False)
      self.assertEqual(process.returncode, 1)
      self.assertIn(b'No space left', process.stderr)

  def test_row_groups_of_parquet(self):
    schema = self.schema_of_rows()
    self.file.write_bytes(delimited(1, integer(1, 1) + delimited(2, b'text')) * 200000)
    process = subprocess.run(
        [PBZ, 'export', '--format', 'parquet', '--schema', schema.path, '--rows', 'row',
         '--columns', 'id,text', self.file], stdout=subprocess.PIPE, check=True)
    columns, groups, rows = read(process.stdout, 'parquet')
    self.assertEqual(dict(columns)['id'], 'int64')
    self.assertEqual([number for number, _ in groups], [65536] * 3 + [200000 - 3 * 65536])
    self.assertTrue(all(has_dictionaries for _, has_dictionaries in groups))
    self.assertEqual(len(rows), 200000)
    self.assertLess(len(process.stdout), MB)

  def test_tables_of_a_trace(self):
    clocks = b''.join(delimited(1, integer(1, clock) + integer(2, time))
                      for clock, time in ((1, 5000), (6, 3000)))
    lost = delimited(1003, integer(1, 1) + integer(2, 10))
    trace = (packet(9, delimited(6, clocks)) + described() +
             event(1, BEGIN, 0, name('slice')) + event(1, END, 7) +
             event(1, INSTANT, 9, name('a "b"')) +
             event(1, COUNTER, 9, integer(11, 5), double(44, 0.5)) +
             packet(9, delimited(35, delimited(1, lost))))
    self.file.write_bytes(trace)
    for table in '--slices', '--instants', '--counters', '--losses':
      command = [PZTRACE, 'export', table, '--host', 'h', self.file]
      for table_format in READERS:
        types, rows = self.check([*command, '--format', table_format],
                                 [*command, '--format', 'ndjson'])
        self.assertTrue(rows, table)
        self.assertEqual(types['pid'], 'int64')
    # All tables at once, also those without rows.
    tables = self.folder / 'tables'
    subprocess.run([PZTRACE, 'export', '--format', 'parquet', '-o', tables, self.file],
                   check=True)
    sizes = {path.name: len(read(path.read_bytes(), 'parquet')[2])
             for path in tables.iterdir()}
    self.assertEqual(sizes, {'slices.parquet': 1, 'instants.parquet': 1,
                             'counters.parquet': 1, 'losses.parquet': 1,
                             'tasks.parquet': 0})


def main():
  if not PYTHON.exists() or not (SDK / 'lib' / 'libparquet.so').exists():
    print('skipped: tools/install-build-deps --arrow installs what is needed')
    print('0 passed, 0 failed, 1 skipped')
    return 0
  return run_cases()


if __name__ == '__main__':
  sys.exit(main())
