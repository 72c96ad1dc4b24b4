#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs examples/fleet/in_spark: the slices that Spark finds in traces are those that
pztrace exports, in a trace with losses, too, and it reads the Parquet files that
ClickHouse wrote. Skipped where Spark is not installed. Runs in the build directory.
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile

from fleet_test import BUILD, FLEET, LOSSY_HOST, ROOT, Counter, load, \
    record_with_losses

SPARK = load('in_spark', ROOT / 'examples' / 'fleet' / 'in_spark')
TOTALS = ('SELECT host, name, count(*), sum(dur) FROM {table} '
          'GROUP BY host, name ORDER BY host, name')


def run_script(*arguments):
  """In this process, which has a Java machine then. Returns what it printed, or what
  it exited with."""
  sys.argv = ['in_spark', *map(str, arguments)]
  with contextlib.redirect_stdout(io.StringIO()) as output:
    try:
      SPARK.main()
    except SystemExit as error:
      return str(error.code)
  return output.getvalue()


def check(folder, counter):
  has_parquet = FLEET.PYTHON.exists()
  if has_parquet:
    subprocess.run([FLEET.PYTHON, ROOT / 'examples' / 'fleet' / 'run', '--build',
                    BUILD, '--keep', folder], check=True, stdout=subprocess.DEVNULL)
  else:
    FLEET.record(BUILD, folder)
    FLEET.export(BUILD, folder)
  record_with_losses(folder)
  with open(FLEET.host_folder(folder, LOSSY_HOST) / 'slices.csv', 'wb') as rows:
    subprocess.run([BUILD / 'pztrace', 'export', '--slices', '--host', LOSSY_HOST, '-'],
                   input=FLEET.trace(folder, LOSSY_HOST), check=True, stdout=rows,
                   stderr=subprocess.DEVNULL)
  descriptors = folder / 'trace.desc'
  subprocess.run([BUILD / 'protoc', '-I', ROOT / 'include', '--descriptor_set_out',
                  descriptors, 'protozero/tracing/trace.proto'], check=True)

  for expected, arguments in (
      (['host-', 'times_the_fleet'], [folder, descriptors]),
      (['has no traces'], [folder / 'host=host-a', descriptors]),
      (['does not describe'], [folder, os.devnull])):
    output = run_script(*arguments)
    counter.check(all(text in output for text in expected), expected[-1], output)

  spark = SPARK.start()
  SPARK.slices_of(spark, folder, descriptors).createOrReplaceTempView('slices')
  tables = [str(path) for path in folder.glob('host=*/slices.csv')]
  spark.read.csv(tables, header=True, escape='"').selectExpr(
      'host', 'name', 'CAST(dur AS long) AS dur').createOrReplaceTempView('csv')

  def ask(query):
    return [tuple(row) for row in spark.sql(query).collect()]

  found = ask(TOTALS.format(table='slices'))
  expected = ask(TOTALS.format(table='csv'))
  counter.check(found == expected and len({row[0] for row in found}) == 4,
                'slices of packets', f'{found}\n{expected}')
  if has_parquet:
    spark.read.parquet(str(folder / 'slices.parquet')).createOrReplaceTempView(
        'parquet')
    found = [(host, name, n, int(ns)) for host, name, n, ns in
             ask(TOTALS.format(table='parquet'))]
    counter.check(found == [row for row in expected if row[0] != LOSSY_HOST],
                  'Parquet', f'{found}\n{expected}')
  spark.stop()


def main():
  try:
    from pyspark import cloudpickle  # pylint: disable=import-outside-toplevel
  except ImportError:
    if SPARK.PYTHON.exists() and pathlib.Path(sys.prefix) != SPARK.PYTHON.parents[1]:
      os.execv(SPARK.PYTHON, [str(SPARK.PYTHON), *sys.argv])
    print('Spark is not installed: tools/install-build-deps --spark')
    print('0 passed, 0 failed, 1 skipped')
    return
  # Compiling takes longer than these queries.
  os.environ['PYSPARK_SUBMIT_ARGS'] = (
      '--driver-java-options -XX:TieredStopAtLevel=1 pyspark-shell')
  # Workers do not find the script as a module.
  cloudpickle.register_pickle_by_value(SPARK)
  counter = Counter()
  with tempfile.TemporaryDirectory() as folder:
    check(pathlib.Path(folder), counter)
  counter.finish()


if __name__ == '__main__':
  main()
