#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs examples/fleet: what ClickHouse says of the traces is what libprotobuf reads
there, DuckDB says the same, and each question has an answer. Skipped where the
databases are not installed. Runs in the build directory.
"""

import collections
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'test' / 'plugin'))
from compilers import Counter  # pylint: disable=wrong-import-position

BUILD = pathlib.Path.cwd()


def load(name, path):
  loader = importlib.machinery.SourceFileLoader(name, str(path))
  module = importlib.util.module_from_spec(
      importlib.util.spec_from_loader(name, loader))
  sys.modules[name] = module
  loader.exec_module(module)
  return module


sys.dont_write_bytecode = True
FLEET = load('fleet', ROOT / 'examples' / 'fleet' / 'run')
SUMMARY = load('trace_summary', ROOT / 'tools' / 'trace_summary')


def read(path):
  """The slices of a trace: libprotobuf decodes it."""
  with open(path, 'rb') as trace:
    text = subprocess.run(
        [BUILD / 'protoc', '-I', ROOT, '--decode=perfetto.protos.Trace',
         'include/protozero/tracing/trace.proto'], cwd=ROOT, stdin=trace,
        stdout=subprocess.PIPE, check=True, text=True).stdout
  return SUMMARY.Trace(text.splitlines()).slices


def check(session, folder, counter):
  said = FLEET.record(BUILD, folder)
  FLEET.export(BUILD, folder)
  database = session.Session()
  FLEET.load(database, folder)

  def ask(query):
    return [json.loads(line) for line in
            str(database.query(query, 'JSONEachRow')).splitlines()]

  for host, output in zip(FLEET.HOSTS, said):
    items = sum(int(line.split()[-2]) for line in output.splitlines())
    expected = collections.defaultdict(lambda: [0, 0])
    for slice_ in read(folder / (host + '.pftrace')):
      expected[slice_.name][0] += 1
      expected[slice_.name][1] += slice_.duration
    found = {row['name']: [int(row['n']), int(row['ns'])] for row in ask(
        f"SELECT name, count() AS n, sum(dur) AS ns FROM slices "
        f"WHERE host = '{host}' GROUP BY name")}
    counter.check(found == dict(expected), host, f'{found}\n{dict(expected)}')
    counter.check({n for n, _ in found.values()} == {items}, host + ': items',
                  f'{items}: {found}')
    readings, = ask(f"SELECT count() AS n FROM counters WHERE host = '{host}'")
    counter.check(int(readings['n']) == items, host + ': counters')

  FLEET.write_parquet(database, folder)
  by_duckdb = subprocess.run(
      [sys.executable, '-c',
       "import duckdb, sys; print(duckdb.sql(f\"SELECT sum(dur), count(*) FROM "
       "'{sys.argv[1]}/slices.parquet'\").fetchall()[0])", folder],
      stdout=subprocess.PIPE, check=True, text=True).stdout
  total, = ask('SELECT sum(dur) AS ns, count() AS n FROM slices')
  counter.check(by_duckdb.strip() == '(%s, %s)' % (total['ns'], total['n']),
                'DuckDB', by_duckdb)
  result = subprocess.run(
      [sys.executable, ROOT / 'examples' / 'fleet' / 'in_duckdb', folder],
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
  counter.check(result.returncode == 0 and 'host-c' in result.stdout, 'in_duckdb',
                result.stdout)

  answers = {question: ask(query) for question, query in FLEET.questions()}
  counter.check(len(answers) == 10, 'ten questions')
  for question, rows in answers.items():
    # There may be no outliers, nothing beside the slowest slice, and no loss.
    may_be_empty = any(words in question for words in (
        'more than ten', 'while the slowest', 'is missing'))
    counter.check(rows or may_be_empty, question)
  database.query("INSERT INTO losses VALUES ('h', 'f', '', 0, 0, '', 'why', 7, NULL),"
                 "('h', 'f', 'p', 1, 1, 't', '', NULL, 2)")
  losses = ask(dict(FLEET.questions())['What is missing, why, and in which processes?'])
  counter.check([(row['of_process'], row['reason'], row['lost'], row['gaps'])
                 for row in losses if row['host'] == 'h'] ==
                [('(all)', 'why', 7, None), ('p', '', None, 2)], 'losses', str(losses))
  # Each thread's own slices are busy for no longer than it was there.
  busy = answers['How much of the time between its first and last slice was each '
                 'thread busy?']
  counter.check(all(0 < row['busy'] <= 1 for row in busy), 'busy', str(busy))


def main():
  try:
    from chdb import session  # pylint: disable=import-outside-toplevel
  except ImportError:
    if FLEET.PYTHON.exists() and pathlib.Path(sys.prefix) != FLEET.PYTHON.parents[1]:
      os.execv(FLEET.PYTHON, [str(FLEET.PYTHON), *sys.argv])
    print('chDB is not installed: tools/install-build-deps --fleet')
    print('0 passed, 0 failed, 1 skipped')
    return
  counter = Counter()
  with tempfile.TemporaryDirectory() as folder:
    check(session, pathlib.Path(folder), counter)
  counter.finish()


if __name__ == '__main__':
  main()
