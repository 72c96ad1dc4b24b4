#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests ninja_trace as users call it.

Runs in the build directory. sample.ninja_log is from a few days' work, so it
has everything: builds that failed, rebuilt files, commands with two outputs.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import empty_pb2  # Debian's python3-protobuf.

from cases import run_cases
from trace_text import Trace

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / 'test' / 'examples'
SAMPLE = HERE / 'sample.ninja_log'
SCHEMA_DIR = ROOT / 'include' / 'protozero' / 'tracing'
BUILD_DIR = pathlib.Path.cwd()
NINJA_TRACE = BUILD_DIR / 'ninja_trace'
PROTOC = BUILD_DIR / 'protoc'

HEADER = b'# ninja log v5\n'


def run(*command, stdin=b'', cwd=None):
  """Returns (exit code, standard output, standard error)."""
  process = subprocess.run([str(part) for part in command], input=stdin,
                           cwd=cwd, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, check=False)
  return process.returncode, process.stdout, process.stderr.decode()


def convert(log, *options):
  """The trace of a log, through standard input and output."""
  code, trace, report = run(NINJA_TRACE, *options, '-o', '-', '-', stdin=log)
  assert code == 0, report
  return trace, report


def decode(trace):
  """The text that protoc makes of a trace."""
  code, text, error = run(PROTOC, '-I', SCHEMA_DIR,
                          '--decode=perfetto.protos.Trace',
                          'trace.proto', stdin=trace)
  assert code == 0 and not error, error
  return text.decode()


def expected_steps(log, keep_all):
  """Independently: (start, end, hash) -> outputs of each step to be shown."""
  build, last_end, newest, current = 0, -1, {}, set()
  for line in log.decode().splitlines():
    if line.startswith('#'):
      continue
    start, end, _, output, command_hash = line.split('\t')
    if int(end) < last_end or output in current:
      build, current = build + 1, set()
    last_end = int(end)
    current.add(output)
    newest[output] = (build, int(start), int(end), int(command_hash, 16))
  steps = {}
  for output, step in newest.items():
    if keep_all or step[0] == build:
      steps.setdefault(step, set()).add(output)
  return steps


def shown_steps(text):
  """From protoc's text: (duration in ms, hash) and outputs of each step."""
  steps, open_slices = [], {}
  for packet in re.findall(r'^packet \{\n(.*?)^\}\n', text, re.M | re.S):
    if 'TYPE_SLICE' not in packet:
      continue
    time = int(re.search(r'^  timestamp: (\d+)$', packet, re.M)[1])
    track = re.search(r'^    track_uuid: (\d+)$', packet, re.M)[1]
    if 'TYPE_SLICE_END' in packet:
      begin, step_hash, outputs = open_slices.pop(track)
      if step_hash is not None:
        steps.append(((time - begin) // 1000000, step_hash, outputs))
      continue
    name = re.search(r'^    name: "(.*)"$', packet, re.M)[1]
    step_hash = re.search(r'pointer_value: (\d+)$', packet, re.M)
    outputs = re.findall(r'string_value: "(.*)"$', packet, re.M)
    assert track not in open_slices
    open_slices[track] = (time, int(step_hash[1]) if step_hash else None,
                          tuple(sorted(outputs or [name])))
  assert not open_slices
  return sorted(steps)


def split_packets(trace):
  """The packets of a trace, by the framing alone."""
  # A message without fields of its own takes all of them for unknown ones.
  fields = empty_pb2.Empty.FromString(trace).UnknownFields()
  assert all(field.field_number == 1 for field in fields)
  return [field.data for field in fields]


class ConversionTest(unittest.TestCase):

  def check(self, log, *options):
    """Compares the slices of a log's trace with the log."""
    trace, report = convert(log, *options)
    text = decode(trace)
    steps = expected_steps(log, '--all' in options)
    self.assertEqual(
        shown_steps(text),
        sorted((end - start, step_hash, tuple(sorted(outputs)))
               for (_, start, end, step_hash), outputs in steps.items()))

    counts = re.fullmatch(r'<stdout>: (\d+) steps? of (\d+) builds? in '
                          r'(\d+) slots?, (\d+) packets?\n', report)
    self.assertTrue(counts, report)
    steps_count, builds, slots, packets = map(int, counts.groups())
    self.assertEqual(steps_count, len(steps))
    self.assertEqual(builds, len({step[0] for step in steps}))
    # The process, the slots, and both ends of each slice.
    self.assertEqual(packets, 1 + slots + 2 * (steps_count + builds))
    self.assertEqual(len(split_packets(trace)), packets)
    slices = Trace(text).slices
    self.assertEqual(len(slices), steps_count + builds)
    return slices

  def test_all_of_sample(self):
    slices = self.check(SAMPLE.read_bytes(), '--all', '--name=out/sample')
    kinds = collections.defaultdict(lambda: [0, 0])
    for step in slices:
      kinds[step.category][0] += 1
      kinds[step.category][1] += step.duration // 10**6
    self.assertEqual(kinds, {
        'build': [6, 69132], 'compile': [40, 99093], 'link': [3, 561],
        'stamp': [14, 126], 'generate': [2, 111], 'archive': [1, 5]})
    longest = max(slices[1:], key=lambda s: s.duration * (s.category != 'build'))
    self.assertEqual(
        (longest.name, longest.begin, longest.duration),
        ('obj/examples/ninja_trace/testing/'
         'ninja_trace_unittests.trace_checker_unittest.o', 41922000000, 11791000000))

  def test_last_build_of_sample(self):
    self.assertEqual(
        [(s.name, s.category, s.begin, s.duration)
         for s in self.check(SAMPLE.read_bytes())],
        [('build 1', 'build', 1000000, 910000000),
         ('obj/examples/ninja_trace/ninja_trace.main.o', 'compile', 1000000, 822000000),
         ('ninja_trace', 'link', 823000000, 88000000)])

  def test_every_version(self):
    log = SAMPLE.read_bytes()
    for version in (b'6', b'7'):
      self.check(log.replace(b' v5\n', b' v%s\n' % version), '--all')

  def test_log_of_this_build(self):
    path = BUILD_DIR / '.ninja_log'
    if not path.exists():
      self.skipTest('not in a build directory')
    self.check(path.read_bytes())
    self.check(path.read_bytes(), '--all')

  def test_empty_log(self):
    self.check(HEADER)
    self.check(HEADER, '--all')

  def test_large_log(self):
    steps = 200000
    log = HEADER + b''.join(
        b'%d\t%d\t0\tobj/%d.o\t%x\n' % (i, i + 3, i, i * 0x123456789abc)
        for i in range(steps))
    trace, report = convert(log)
    self.assertIn('200000 steps of 1 build in 3 slots, 400006 packets',
                  report)
    self.assertEqual(len(split_packets(trace)), 400006)

  def test_traces_can_be_concatenated(self):
    trace, _ = convert(SAMPLE.read_bytes())
    self.assertEqual(decode(trace + trace), 2 * decode(trace))


class CommandLineTest(unittest.TestCase):

  def setUp(self):
    scratch = tempfile.TemporaryDirectory()
    self.addCleanup(scratch.cleanup)
    self.scratch = pathlib.Path(scratch.name)

  def test_help(self):
    code, output, error = run(NINJA_TRACE, '--help')
    self.assertEqual((code, error), (0, ''))
    self.assertTrue(output.startswith(b'Usage: ninja_trace '))
    self.assertEqual(run(NINJA_TRACE, '-h'), (code, output, error))
    # Fits a terminal.
    self.assertLessEqual(max(map(len, output.splitlines())), 80)

  def test_wrong_usage(self):
    for arguments, reason in [
            ([], 'LOG is missing'),
            (['--nonsense', SAMPLE], "unknown option '--nonsense'"),
            (['-x'], "unknown option '-x'"),
            ([SAMPLE, 'b'], "'b' is one argument too many"),
            ([''], 'LOG is missing'),
            ([SAMPLE, '-o'], '-o needs a value'),
            ([SAMPLE, '--name'], '--name needs a value'),
    ]:
      code, output, error = run(NINJA_TRACE, *arguments, cwd=self.scratch)
      self.assertEqual((code, output), (2, b''))
      self.assertEqual(error, 'ninja_trace: %s\nTry ninja_trace --help.\n'
                       % reason)
    self.assertEqual(os.listdir(self.scratch), [])

  def test_default_output(self):
    code, output, error = run(NINJA_TRACE, SAMPLE, cwd=self.scratch)
    self.assertEqual((code, error), (0, ''))
    self.assertTrue(output.startswith(b'build.pftrace: 2 steps of 1 build'))
    self.assertEqual((self.scratch / 'build.pftrace').read_bytes(),
                     convert(SAMPLE.read_bytes(), '--name', HERE)[0])

  def test_directory_stands_for_the_log_in_it(self):
    directory = self.scratch / 'out' / 'debug'
    directory.mkdir(parents=True)
    (directory / '.ninja_log').write_bytes(SAMPLE.read_bytes())
    for log in ('out/debug', 'out/debug/', 'out/debug/.ninja_log'):
      code, _, error = run(NINJA_TRACE, '-o', 'trace', '--', log,
                           cwd=self.scratch)
      self.assertEqual((code, error), (0, ''))
      self.assertIn('process_name: "out/debug"',
                    decode((self.scratch / 'trace').read_bytes()))

  def test_name(self):
    for options in (['--name', 'my build'], ['--name=my build']):
      trace, _ = convert(HEADER, *options)
      self.assertIn('process_name: "my build"', decode(trace))
    trace, _ = convert(HEADER)
    self.assertIn('process_name: "build"', decode(trace))

  def test_files_that_cannot_be_used(self):
    code, _, error = run(NINJA_TRACE, self.scratch / 'missing')
    self.assertEqual(code, 1)
    self.assertEqual(error, 'ninja_trace: %s/missing: No such file or '
                     'directory\n' % self.scratch)
    code, _, error = run(NINJA_TRACE, '-o', '/dev/full', SAMPLE)
    self.assertEqual((code, error), (1, 'ninja_trace: /dev/full: No space '
                                     'left on device\n'))
    code, _, error = run(NINJA_TRACE, '-o', self.scratch, SAMPLE)
    self.assertEqual((code, error), (1, 'ninja_trace: %s: Is a directory\n'
                                     % self.scratch))

  def test_files_that_are_no_logs(self):
    for content, reason in [
            (b'', '1: the file is empty'),
            (b'# ninja log v5 \n', '1: the version of the log is not a number'),
            (b'# ninja log v4294967301\n',
             '1: the version of the log is not a number'),
            (b'\x7fELF\0\0\0', '1: the file ends in the middle of this line'),
            (b'plain text\n',
             "1: not a ninja log: it does not begin with '# ninja log v'"),
            (b'# ninja log v4\n',
             '1: this version of the log is not supported; 5 to 7 are'),
    ]:
      path = self.scratch / 'log'
      path.write_bytes(content)
      code, output, error = run(NINJA_TRACE, '-o', self.scratch / 'trace',
                                path)
      self.assertEqual((code, output), (1, b''))
      self.assertEqual(error, '%s:%s\n' % (path, reason))
      self.assertFalse((self.scratch / 'trace').exists())

  def test_damaged_lines_are_reported(self):
    trace, report = convert(HEADER + b'1\t2\t0\ta.o\t1\n'
                            b'damage\n'
                            b'3\t2\t0\tb.o\t2\n'
                            b'2\t3\t0\tc.o\t3\n'
                            b'2\t4\t0\td.')
    self.assertEqual(report.splitlines()[:-1], [
        '<stdin>:3: fewer than five fields',
        '<stdin>:4: the end time is before the start time',
        '<stdin>:6: the file ends in the middle of this line',
    ])
    self.assertEqual([outputs for _, _, outputs in
                      shown_steps(decode(trace))], [('a.o',), ('c.o',)])

  def test_a_lot_of_damage_is_reported_briefly(self):
    _, report = convert(HEADER + 100000 * b'damage\n')
    lines = report.splitlines()
    self.assertEqual(len(lines), 22)
    self.assertEqual(lines[19], '<stdin>:21: fewer than five fields')
    self.assertEqual(lines[20], '<stdin>: 99980 more such lines')


class LogTest(unittest.TestCase):
  """Small logs, and what is made of each."""

  def slices(self, log, *options):
    trace, report = convert(HEADER + log, '--all', *options)
    self.assertEqual(len(report.splitlines()), 1, report)
    return Trace(decode(trace)).slices

  def shown(self, log):
    """(name, slot or 0, begin, end) of each slice, in milliseconds."""
    slices = self.slices(log)
    return [(s.name, int(s.track) - int(slices[0].track), s.begin // 10**6,
             s.end // 10**6) for s in slices]

  def test_steps_take_the_lowest_free_slot(self):
    self.assertEqual(self.shown(b'10\t20\t0\ta\t1\n5\t30\t0\tb\t2\n'
                                b'20\t40\t0\tc\t3\n31\t50\t0\td\t4\n'),
                     [('build 1', 0, 5, 50), ('b', 1, 5, 30), ('a', 2, 10, 20),
                      ('c', 2, 20, 40), ('d', 1, 31, 50)])

  def test_times_that_go_back_and_outputs_made_again_are_builds(self):
    self.assertEqual(self.shown(b'7\t9\t0\ta\t1\n7\t9\t0\ta\t1\n'
                                b'1\t3\t0\tb\t2\n'
                                b'2\t4\t0\tb\t3\n'),
                     [('build 1', 0, 7, 9), ('a', 1, 7, 9),
                      ('build 2', 0, 1009, 1011), ('b', 1, 1009, 1011)])

  def test_a_header_begins_a_build_and_comments_do_not(self):
    self.assertEqual(self.shown(b'1\t2\t0\ta\t1\n# a comment\n\n'
                                b'1\t3\t0\tb\t2\r\n' + HEADER +
                                b'1\t4\t0\tc\t3\n'),
                     [('build 1', 0, 1, 3), ('a', 1, 1, 2), ('b', 2, 1, 3),
                      ('build 2', 0, 1003, 1006), ('c', 1, 1003, 1006)])

  def test_times_end_at_the_largest_one(self):
    end = 2**31 - 1
    log = b''.join(b'0\t%d\t0\ta%d\t1\n%s' % (end, i, HEADER) for i in range(3))
    self.assertEqual(self.shown(log)[-1], ('a2', 1, 2 * (end + 1000), 3 * end + 2000))

  def test_extreme_values(self):
    trace, _ = convert(HEADER + b'2147483647\t2147483647\t-9223372036854775808\tx\t'
                       b'ffffffffffffffff\n')
    text = decode(trace)
    self.assertIn('int_value: -9223372036854775808\n', text)
    self.assertIn('pointer_value: 18446744073709551615\n', text)

  def test_kinds(self):
    kinds = {'a.o': 'compile', 'a.rlib': 'compile', 'liba.a': 'archive', 'a': 'link',
             'a.b/c': 'link', '.a': 'link', 'a.so': 'link', 'a.so.1.2': 'link',
             'a.TOC': 'link', 'a.pb.h': 'generate', 'a.stamp': 'stamp',
             'a.o.d': 'other', 'a.': 'other'}
    slices = self.slices(''.join('1\t2\t0\t%s\t%x\n' % row for row in
                                 zip(kinds, range(99))).encode())
    self.assertEqual({s.name: s.category for s in slices[1:]}, kinds)

  def test_names_are_made_valid(self):
    for name, shown in [
        (b'caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8c\x8d', 'caf\u00e9 \u20ac \U0001f30d'),
        (b'\xff\x80.', '\ufffd\ufffd.'),
        (b'\xc0\x80', '\ufffd\ufffd'),
        (b'\xe0\x9f\xbf', '\ufffd\ufffd\ufffd'),
        (b'\xed\xa0\x80', '\ufffd\ufffd\ufffd'),
        (b'\xf4\x90\x80\x80', '\ufffd\ufffd\ufffd\ufffd'),
        (b'\xf5\x80\x80\x80', '\ufffd\ufffd\ufffd\ufffd'),
        (b'\xe2\x82', '\ufffd\ufffd')]:
      trace, _ = convert(HEADER + b'1\t2\t0\t%s\t1\n' % name)
      self.assertIn(shown.encode(), trace)
      self.assertEqual(Trace(decode(trace)).slices[1].name, shown)

  def test_a_step_larger_than_the_memory(self):
    log = b''.join(b'1\t2\t0\t%d%s\t1\n' % (i, 1000 * b'x') for i in range(200))
    packets = split_packets(convert(HEADER + log)[0])
    self.assertEqual(len(packets), 6)
    self.assertGreater(max(map(len, packets)), 200 * 1000)

  def test_every_prefix_of_a_log_is_a_valid_trace(self):
    log = b'1\t12\t3\ta.o\tab\n2\t12\t3\tb.o\tcd\n'
    for size in range(len(log)):
      trace, _ = convert(HEADER + log[:size])
      slices = Trace(decode(trace)).slices
      whole = log[:size].count(b'\n')
      self.assertEqual(len(slices), whole + bool(whole), log[:size])

  def test_damaged_lines_and_why(self):
    number = 'is not a number of milliseconds'
    command = 'the command hash is not a hexadecimal number of up to 64 bits'
    cases = [
        (b'1\t2\t3\tx', 'fewer than five fields'),
        (b'1 2 3 x 4', 'fewer than five fields'),
        (b'1\t2\t3\tx\t4\t5', 'more than five fields'),
        (b'\t2\t3\tx\t4', 'the start time ' + number),
        (b'-1\t2\t3\tx\t4', 'the start time ' + number),
        (b'1.5\t2\t3\tx\t4', 'the start time ' + number),
        (b'2147483648\t2147483649\t3\tx\t4', 'the start time ' + number),
        (b'99999999999999999999\t2\t3\tx\t4', 'the start time ' + number),
        (b'1\t2x\t3\tx\t4', 'the end time ' + number),
        (b'1\t2147483648\t3\tx\t4', 'the end time ' + number),
        (b'1\t2\t\tx\t4', 'the mtime is not a number'),
        (b'1\t2\t9223372036854775808\tx\t4', 'the mtime is not a number'),
        (b'1\t2\t3\t\t4', 'the output has no name'),
        (b'1\t2\t3\tx\0y\t4', 'the name of the output contains a null character'),
        (b'1\t2\t3\tx\t', command),
        (b'1\t2\t3\tx\t0x4', command),
        (b'1\t2\t3\tx\t12345678901234567', command),
        ((256 * 1024 + 1) * b'x', 'the line is too long'),
        (b'# ninja log v9', 'this version of the log is not supported; 5 to 7 are'),
    ]
    _, report = convert(HEADER + b''.join(line + b'\n' for line, _ in cases))
    self.assertEqual(report.splitlines()[:-1],
                     ['<stdin>:%d: %s' % (number, reason)
                      for number, (_, reason) in enumerate(cases, 2)])


if __name__ == '__main__':
  sys.exit(run_cases())
