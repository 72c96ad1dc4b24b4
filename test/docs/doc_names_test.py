#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Looks whether what our pages name exists: the tests that docs/security.md names,
and in every page the names of code that prose quotes. And whether test/README.md
names every folder of tests.

The last line of its output is "N passed, N failed".
"""

import pathlib
import re
import subprocess
import sys

from cases import defined_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r'^```.*?^```|<!--.*?-->', re.M | re.S)
# A word that looks like a name of ours: CamelCase, snake_case, or a macro. But
# not the end of a name, as in `...Unsafe`.
NAME = re.compile(r'(?<!\.\.)\b(?:[a-z]*[A-Z]\w*[a-z]\w*|[A-Za-z]\w*_\w+)\b')
# Names of others, of rows, that were, and that pages make up for schemas of their own.
OTHERS = re.compile(
    r'writeDelimitedTo|SerializeDelimited\w+|CURLOPT_\w+|rd_kafka_\w+|'
    r'PLUGIN_OPTIONS|pbf_writer|PERFETTO_\w+|BM_ProtoWorkload|StaticCoroutine|'
    r'add_x|o_case|kMember|FooBarCase|XEntry|X_Decoder|M_[EI]\w*|M_Decoder|'
    r'M_(?:begin|end|set|add|x|XEntry)\w*|Child_end|a_b_\w+|'
    r'heap_buffered|preserve_most|TRACE_(?:EVENT|COUNTER)\w*|NamedTrack|'
    r'ProcessScoped|EventContext|SetTrackDescriptor|'
    # OpenTelemetry's, and those of its library for C++.
    r'TracerProvider|BatchSpanProcessor|SpanExporter|AlwaysOnSampler|'
    r'TraceIdRatioBasedSampler|ParentBasedSampler|SpanLimits|'
    r'OtlpHttpExporterFactory|ForceFlush|GetTracer|'
    r'StartSpanOptions|start_system_time|WithActiveSpan|GetCurrentSpan|'
    r'HttpTraceContext|Extract|Inject|EmitLogRecord|'
    # Perfetto's, which its trace processor has.
    r'cpu_counter_track|create_function|parent_upid|'
    r'PTHREAD_\w+|S3Queue|Distributed|from_protobuf|'
    r'mutable_\w+|nanopb_generator|(?:pb|PB)_\w+|'
    r'(?:kF|FieldMetadata_F|f|has_f)oo_?[bB]ar\w*')
# A generated name, and the field or message that it is made of.
GENERATED = re.compile(r'(?:set|add|has|clear)_(\w+)|k([A-Z]\w+)')


def snake_case(name):
  return re.sub(r'(?<=.)([A-Z])', r'_\1', name).lower()


def wrong_names():
  """(page, name) of each name that no file of ours has, and how many there are."""
  files = subprocess.run(
      ['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
      cwd=ROOT, stdout=subprocess.PIPE, check=False).stdout.decode().split('\0')
  known, pages = set(), []
  for name in files:
    path = ROOT / name
    known.update(re.findall(r'\w+', name))
    if path.suffix == '.md' and path.is_file():
      pages.append(path)
    elif path.is_file():
      known.update(re.findall(r'\w+', path.read_text(errors='replace')))

  wrong, count = [], 0
  for page in pages:
    text = page.read_text()
    shown = set(re.findall(r'\w+', ' '.join(BLOCK.findall(text))))
    for code in re.findall(r'`([^`\n]+)`', BLOCK.sub('', text)):
      for name in NAME.findall(code):
        count += 1
        made = GENERATED.fullmatch(name)
        field = made and (made[1] or snake_case(made[2]))
        if not (name in known | shown or OTHERS.fullmatch(name) or
                field and field in known | shown):
          wrong.append((page.relative_to(ROOT), name))
  return wrong, count


def main():
  page = (ROOT / 'docs' / 'security.md').read_text()
  named = re.findall(r'`(\w+Test\.\w+|\w+_fuzzer)`', page)
  defined = defined_tests()
  errors = ['docs/security.md names %s, which is not there' % name
            for name in named if name not in defined]
  listed = re.findall(r'\]\((\w+)\)', (ROOT / 'test' / 'README.md').read_text())
  folders = [path.parent.name for path in (ROOT / 'test').glob('*/BUILD.gn')]
  errors += ['test/README.md does not say what test/%s is for' % name
             for name in folders if name not in listed]
  wrong, quoted = wrong_names()
  errors += ['%s quotes %s, which is nowhere' % pair for pair in wrong]
  for error in errors:
    print(error)
  checked = len(named) + len(folders) + quoted
  print('%d passed, %d failed' % (checked - len(errors), len(errors)))
  return 1 if errors or not named else 0


if __name__ == '__main__':
  sys.exit(main())
