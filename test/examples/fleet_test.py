#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs examples/fleet: what ClickHouse says of the traces, by their tables and by their
packets, is what libprotobuf reads there, DuckDB says the same, and each question has an
answer. Skipped where the databases are not installed. Runs in the build directory.
"""

import collections
import csv
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from compilers import Counter
from trace_text import Trace, read_packets

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path.cwd()


def load(name, path):
  loader = importlib.machinery.SourceFileLoader(name, str(path))
  module = importlib.util.module_from_spec(
      importlib.util.spec_from_loader(name, loader))
  sys.modules[name] = module
  loader.exec_module(module)
  return module


FLEET = load('fleet', ROOT / 'examples' / 'fleet' / 'run')


# A buffer that is too small, and names that are said again and again.
LOSSY_HOST = 'host-d'
LOSSY_CONFIG = """
    buffers { size_kb: 64 fill_policy: RING_BUFFER }
    data_sources { config { name: "track_event" } }
    incremental_state_config { clear_period_ms: 2 }
"""


def protoc(argument, **kwargs):
  return subprocess.run(
      [BUILD / 'protoc', '-I', ROOT, argument,
       'include/protozero/tracing/trace.proto'], cwd=ROOT, check=True,
      stdout=subprocess.PIPE, **kwargs).stdout


def decode(trace):
  """The text of a trace: libprotobuf decodes it."""
  return protoc('--decode=perfetto.protos.Trace', input=trace).decode()


def slices_of(trace):
  """For each name, the number of slices and the sum of their durations."""
  found = collections.defaultdict(lambda: [0, 0])
  for slice_ in Trace(decode(trace)).slices:
    found[slice_.name][0] += 1
    found[slice_.name][1] += slice_.duration
  return dict(found)


def record_with_losses(folder):
  config = folder / 'config.pb'
  config.write_bytes(protoc('--encode=perfetto.protos.TraceConfig',
                            input=LOSSY_CONFIG.encode()))
  FLEET.host_folder(folder, LOSSY_HOST).mkdir()
  trace = FLEET.host_folder(folder, LOSSY_HOST) / 'trace.pftrace'
  subprocess.run([BUILD / 'pztrace', 'record', '--config', config, '-o', trace, '--',
                  BUILD / 'traced_workers', '--items', '3000', '--size', '3000'],
                 check=True, capture_output=True)
  return trace


def check_packets(ask, folder, counter):
  """The rows of the packets are those of libprotobuf and of our own reader."""
  for host in *FLEET.HOSTS, LOSSY_HOST:
    writers = collections.Counter()
    gaps, losses, values = 0, collections.Counter(), []
    trace = FLEET.trace(folder, host)
    for packet in read_packets(decode(trace)):
      writers[packet.int('trusted_packet_sequence_id')] += 1
      gaps += packet.get('previous_packet_dropped') is not None
      values += [event.int('counter_value') for event in packet.all('track_event')
                 if event.get('type') == 'TYPE_COUNTER']
      for stats in packet.all('trace_stats'):
        for buffer in stats.all('buffer_stats'):
          for lost in buffer.all('packets_lost'):
            losses[lost.get('reason')] += lost.int('packets')
    where = f"FROM packets WHERE host = '{host}'"
    found = {int(row['sequence']): int(row['n']) for row in ask(
        f'SELECT sequence, count() AS n {where} GROUP BY sequence')}
    counter.check(found == dict(writers), host + ': packets of each writer',
                  f'{found}\n{dict(writers)}')
    found, = ask(f"SELECT sum(dropped) AS gaps, countIf(type = 'TYPE_COUNTER') AS n, "
                 f"sum(value) AS total {where}")
    counter.check([int(found['gaps']), int(found['n']), found['total']] ==
                  [gaps, len(values), sum(values)], host + ': gaps and counters',
                  f'{found} {gaps} {len(values)} {sum(values)}')
    found = {row['reason']: int(row['n']) for row in ask(
        f"SELECT loss.1 AS reason, sum(loss.2) AS n FROM packets ARRAY JOIN lost AS "
        f"loss WHERE host = '{host}' GROUP BY reason")}
    counter.check(found == dict(losses) and bool(found) == (host == LOSSY_HOST),
                  host + ': losses', f'{found} {losses}')
    found = {row['name']: [int(row['n']), int(row['ns'])] for row in ask(
        f"SELECT name, count() AS n, sum(dur) AS ns FROM slices_of_packets "
        f"WHERE host = '{host}' GROUP BY name")}
    if host == LOSSY_HOST:  # Trace is not made for such.
      expected = collections.defaultdict(lambda: [0, 0])
      rows = subprocess.run(
          [BUILD / 'pztrace', 'export', '--slices', '-'], input=trace, check=True,
          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
      for row in csv.DictReader(rows.decode().splitlines()):
        expected[row['name']][0] += 1
        expected[row['name']][1] += int(row['dur'])
    else:
      expected = slices_of(trace)
    counter.check(found == dict(expected), host + ': slices of packets',
                  f'{found}\n{dict(expected)}')


def check_measure(counter):
  """Counts, and the arithmetic from one table to the other."""
  output = subprocess.run(
      [sys.executable, FLEET.FLEET / 'measure', '--build', BUILD, '--items', '50',
       '--hosts', '1000', '--rate', '100000'], check=True, stdout=subprocess.PIPE,
      text=True).stdout
  table = {row[1].strip(): [cell.strip().replace(',', '') for cell in row[2:]]
           for row in (line.split('|') for line in output.splitlines())
           if len(row) > 2}
  # Five slices and a value of a counter an item, in two processes.
  counter.check(table['events'][0] == str(50 * 2 * 11), 'events', output)
  counter.check(all(
      float(table[row][0]) < float(table['trace'][0]) for row in
      ('trace, lz4', 'trace, gz', 'trace, zst')), 'bytes', output)
  network, day = (float(cell.split()[0]) for cell in table['100 %'][1:3])
  counter.check(
      abs(network / (1e8 * 8 / 1e9 * float(table['trace, zst'][0])) - 1) < 0.1 and
      abs(day / (1e8 * 86400 / 1e12 * float(table['tables, ZSTD(3)'][0])) - 1) < 0.1,
      'arithmetic', output)


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
    expected = slices_of(FLEET.trace(folder, host))
    found = {row['name']: [int(row['n']), int(row['ns'])] for row in ask(
        f"SELECT name, count() AS n, sum(dur) AS ns FROM slices "
        f"WHERE host = '{host}' GROUP BY name")}
    counter.check(found == expected, host, f'{found}\n{expected}')
    counter.check({n for n, _ in found.values()} == {items}, host + ': items',
                  f'{items}: {found}')
    readings, = ask(f"SELECT count() AS n FROM counters WHERE host = '{host}'")
    counter.check(int(readings['n']) == items, host + ': counters')

  sums = ('SELECT host, name, sum(%s) AS n, sum(%s) AS ns FROM %s '
          'GROUP BY ALL ORDER BY ALL')
  counter.check(ask(sums % ('1', 'dur', 'slices')) ==
                ask(sums % ('slices', 'ns', 'slice_minutes')), 'aggregates')
  median, = ask('SELECT quantilesTDigestMerge(0.5, 0.99)(ns_quantiles)[1] AS ns '
                'FROM slice_minutes')
  ranks, = ask(f"SELECT countIf(dur < {median['ns']}) / count() AS below FROM slices")
  counter.check(0.4 < ranks['below'] < 0.6, 'percentiles', f'{median} {ranks}')

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

  record_with_losses(folder)
  FLEET.wrap_packets(BUILD, folder)
  FLEET.load_packets(database, folder)
  check_packets(ask, folder, counter)
  for question, query in FLEET.questions(FLEET.FLEET / 'packets' / 'questions'):
    rows = ask(query)
    counter.check(rows, question)

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
  counter.check(all(host in FLEET.draw(database) for host in FLEET.HOSTS), 'drawing')
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
  check_measure(counter)
  counter.finish()


if __name__ == '__main__':
  main()
