#!/usr/bin/python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests ninja_trace and tools/trace_summary as users call them.

Runs in the build directory. sample.ninja_log is from a few days' work, so it
has everything: builds that failed, rebuilt files, commands with two outputs.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import empty_pb2  # Debian's python3-protobuf.

from cases import run_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / 'test' / 'examples'
SAMPLE = HERE / 'sample.ninja_log'
SCHEMA_DIR = ROOT / 'include' / 'protozero' / 'tracing'
BUILD_DIR = pathlib.Path.cwd()
NINJA_TRACE = BUILD_DIR / 'ninja_trace'
PROTOC = BUILD_DIR / 'protoc'
TRACE_SUMMARY = ROOT / 'tools' / 'trace_summary'

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


def summarize(text, *options):
  code, summary, error = run(TRACE_SUMMARY, *options, stdin=text.encode())
  return code, summary.decode(), error


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
    code, summary, error = summarize(text, '--packets=%d' % packets)
    self.assertEqual((code, error), (0, ''))
    return summary

  def test_all_of_sample(self):
    summary = self.check(SAMPLE.read_bytes(), '--all', '--name=out/sample')
    self.assertEqual(summary, (HERE / 'sample_summary.txt').read_text())

  def test_last_build_of_sample(self):
    summary = self.check(SAMPLE.read_bytes())
    self.assertIn(': 2 steps in 1 build\n', summary)
    self.assertIn('0.823  link     ninja_trace', summary)

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


class SummaryTest(unittest.TestCase):
  PROCESS = '''packet {
  track_descriptor {
    uuid: 1
    process {
      process_name: "out"
    }
  }
  interned_data {
    event_categories {
      iid: 5
      name: "link"
    }
  }
}
'''
  BEGIN = '''packet {
  timestamp: 1000000000
  track_event {
    category_iids: 5
    type: TYPE_SLICE_BEGIN
    track_uuid: 1
    name: "caf\\303\\251 \\"x\\"\\t\\\\"
  }
}
'''
  END = '''packet {
  timestamp: 3500000000
  track_event {
    type: TYPE_SLICE_END
    track_uuid: 1
  }
}
'''

  def check_error(self, text, reason, *options):
    code, summary, error = summarize(text, *options)
    self.assertEqual((code, summary), (1, ''))
    self.assertEqual(error, 'trace_summary: %s\n' % reason)

  def test_times_and_escapes(self):
    code, summary, error = summarize(self.PROCESS + self.BEGIN + self.END)
    self.assertEqual((code, error), (0, ''))
    self.assertIn('    2.500       1.000  link  caf\u00e9 "x"\t\\\n', summary)

  def test_number_of_slowest_steps(self):
    text = decode(convert(SAMPLE.read_bytes(), '--all')[0])
    lengths = [len(summarize(text, '--top=%d' % top)[1].splitlines())
               for top in (0, 1, 30)]
    self.assertEqual(lengths[1] - lengths[0], 1)
    self.assertEqual(lengths[2] - lengths[0], 30)

  def test_wrong_packet_count(self):
    text = self.PROCESS + self.BEGIN + self.END
    self.assertEqual(summarize(text, '--packets=3')[0], 0)
    self.check_error(text, '4 packets were written, 3 are here',
                     '--packets=4')

  def test_what_viewers_would_not_show(self):
    self.check_error('', 'the trace is empty')
    self.check_error('something else\n', 'line 1: not the output of protoc '
                     '--decode: something else')
    self.check_error('other {\n}\n', 'not a perfetto.protos.Trace')
    self.check_error('}\n', 'line 1: nothing to close')
    self.check_error(self.PROCESS[:-2],
                     'the text ends in the middle of a message')
    self.check_error('packet {\n  9: 1\n}\n',
                     'line 2: the schema has no field 9')
    self.check_error('packet {\n  9 {\n',
                     'line 2: the schema has no field 9')
    self.check_error(self.BEGIN, 'packet 1: an event on an unknown track')
    self.check_error(self.PROCESS + self.END,
                     'packet 2: an end without a beginning')
    self.check_error(self.PROCESS + self.BEGIN, 'a slice has no end')
    self.check_error(
        self.PROCESS + self.BEGIN.replace('category_iids: 5',
                                          'category_iids: 6'),
        'packet 2: an event of an unknown category')
    self.check_error(
        self.PROCESS + self.BEGIN.replace('  timestamp: 1000000000\n', ''),
        'packet 2: an event without a time')
    self.check_error(
        self.PROCESS + self.END.replace('SLICE_END', 'INSTANT'),
        'packet 2: an event of type TYPE_INSTANT')

  def test_file_that_is_missing(self):
    code, _, error = run(TRACE_SUMMARY, '/nonexistent')
    self.assertEqual(code, 1)
    self.assertIn('No such file or directory', error)


if __name__ == '__main__':
  sys.exit(run_cases())
