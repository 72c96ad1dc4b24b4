#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Runs a fuzzer for a while, from the seeds that make_seeds.py makes for it.

tools/test has each run a set number of inputs, which takes 10 to 20 seconds. For
longer:

  tools/gn gen out/fuzz --args='is_fuzzer=true is_asan=true is_ubsan=true'
  tools/ninja -C out/fuzz fuzzers
  test/fuzz/run_fuzzer.py out/fuzz/pbz_fuzzer --seconds 600

With --keep, interesting inputs stay in <build directory>/fuzz/<name>/corpus,
and the next run goes on from there. Inputs that fail are in <build
directory>/fuzz/<name>; give one to the fuzzer to try it again.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

import make_seeds

# Enough for a schema with a few messages and for several levels of messages,
# and small enough for thousands of runs in a second.
MAX_INPUT_SIZE = 4096
# An input takes milliseconds. Only what hangs takes this long, however busy the
# machine is.
HANG_SECONDS = 120


def stat(output, name):
  found = re.search(r'^stat::%s:\s*(\d+)' % name, output, re.M)
  return int(found[1]) if found else None


def main():
  parser = argparse.ArgumentParser(
      description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('fuzzer', type=pathlib.Path)
  amount = parser.add_mutually_exclusive_group()
  amount.add_argument('--runs', type=int, help='how many inputs to run')
  amount.add_argument('--seconds', type=int, default=60,
                      help='for how long to run them (default: 60)')
  parser.add_argument('--keep', action='store_true',
                      help='go on from the corpus of the last run')
  args = parser.parse_args()

  fuzzer = args.fuzzer.resolve()
  if not fuzzer.exists():
    parser.error('there is no %s' % args.fuzzer)
  folder = fuzzer.parent / 'fuzz' / fuzzer.name
  corpus, seeds = folder / 'corpus', folder / 'seeds'
  if not args.keep:
    shutil.rmtree(folder, ignore_errors=True)
  shutil.rmtree(seeds, ignore_errors=True)
  corpus.mkdir(parents=True, exist_ok=True)
  seeds.mkdir()
  number = 0
  for number, seed in enumerate(
      make_seeds.SEEDS[fuzzer.name](fuzzer.parent), 1):
    (seeds / ('%04d' % number)).write_bytes(seed)
  print('%d seeds' % number, flush=True)
  assert number

  start = time.monotonic()
  run = subprocess.run(
      [fuzzer, corpus, seeds,
       '-runs=%d' % args.runs if args.runs else
       '-max_total_time=%d' % args.seconds,
       '-max_len=%d' % MAX_INPUT_SIZE, '-timeout=%d' % HANG_SECONDS,
       '-rss_limit_mb=2048', '-print_final_stats=1',
       '-artifact_prefix=%s/' % folder],
      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
  output = run.stdout.decode(errors='replace')
  runs = stat(output, 'number_of_executed_units')
  ok = run.returncode == 0 and runs is not None and runs >= (args.runs or 1)
  if not ok:
    # Its own words come before libFuzzer's: look from both ends.
    print(output[-10000:])
    for line in re.findall(r'^%s: .*|^.*ERROR: .*' % fuzzer.name, output,
                           re.M):
      print(line)
    for found in sorted(folder.glob('*-*')):
      print('%s, in hex: %s' % (found, found.read_bytes().hex()))
  else:
    coverage = re.findall(r'cov: (\d+) ft: (\d+)', output)[-1]
    print('%s: %d runs in %d s, %d new inputs, %s edges, %s features' %
          (fuzzer.name, runs, time.monotonic() - start, stat(output, 'new_units_added'),
           *coverage))
    if not args.keep:
      shutil.rmtree(folder)
  print('%d passed, %d failed' % (ok, not ok))
  sys.exit(0 if ok else 1)


if __name__ == '__main__':
  main()
