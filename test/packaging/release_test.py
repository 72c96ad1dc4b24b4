#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the archives that tools/build_release makes, from two clones."""

import hashlib
import json
import pathlib
import re
import shutil
import sys
import unittest

from cases import run_cases, version
from projects import ProjectsTest, execute

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ('tester', 'tester@example.org')
GIT = {'GIT_CONFIG_GLOBAL': '/dev/null',
       **{'GIT_%s_%s' % (who, what): value for who in ('AUTHOR', 'COMMITTER')
          for what, value in zip(('NAME', 'EMAIL', 'DATE'),
                                 NAMES + ('2026-01-02T03:04:05Z',))}}


def is_repository():
  return execute('git', '-C', ROOT, 'rev-parse', '--git-dir')[0] == 0


@unittest.skipUnless(is_repository(), 'this is not a git repository')
class ReleaseTest(ProjectsTest):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    # The origin has the files of the tree, committed or not.
    origin = cls.scratch / 'origin'
    files = cls.must('git', '-C', ROOT, 'ls-files', '-co', '--exclude-standard',
                     '-z').decode().split('\0')[:-1]
    for file in files:
      if (ROOT / file).is_file():
        (origin / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, origin / file)
    for command in (('init', '-q'), ('add', '-A'), ('commit', '-qm', 'all')):
      cls.must('git', '-C', origin, *command, env=GIT)
    # Not optimized. The release sets flags of its own, and these come after them.
    compiler = cls.scratch / 'compiler'
    compiler.write_text('#!/bin/sh\nexec /usr/bin/c++ "$@" -O0\n')
    compiler.chmod(0o755)
    cls.outs = []
    for name in ('clone', 'a clone of another name'):
      clone, out = cls.scratch / name, cls.scratch / ('out of ' + name)
      cls.must('git', 'clone', '-q', origin, clone, env=GIT)
      cls.must(clone / 'tools/build_release', '--out', out, env={'CXX': str(compiler)})
      cls.outs.append(out)
    cls.clone = clone
    cls.archive = ('protoc-gen-pbzero-%s-linux-' % version())

  def test_same_bytes_from_two_clones(self):
    one, other = ({path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                   for path in out.iterdir()} for out in self.outs)
    self.assertEqual(one, other)
    self.assertEqual(len(one), 5)
    self.must('sha256sum', '--check', '--strict', 'SHA256SUMS', cwd=self.outs[0])

  def test_plugin_is_one_static_file(self):
    self.must('tar', '-xf', next(self.outs[0].glob(self.archive + '*')),
              cwd=self.scratch)
    folder = next(path for path in self.scratch.glob(self.archive + '*'))
    plugin = folder / 'bin/protoc-gen-pbzero'
    self.assertNotIn(b'INTERP', self.must('readelf', '-lW', plugin))
    self.assertIn(version().encode(), self.must(plugin, '--version'))
    project = self.new_project('project')
    self.must('protoc', '-I', '.', '--pbzero_out=.', 'unit.proto', cwd=project,
              env={'PATH': '%s:/usr/bin:/bin' % plugin.parent})
    self.assertTrue((project / 'unit.pbzero.h').exists())
    self.assertTrue((folder / 'share/man/man1/protoc-gen-pbzero.1').exists())
    content = plugin.read_bytes()
    self.assertNotIn(str(self.scratch).encode(), content)

  def test_sources_are_complete(self):
    self.must('tar', '-xf', self.outs[0] / ('protozero-%s.tar.gz' % version()),
              cwd=self.scratch)
    sources = self.scratch / ('protozero-' + version())
    self.assertRegex((sources / 'CHANGELOG.md').read_text(),
                     r'\n## %s - \d{4}-\d\d-\d\d\n' % re.escape(version()))
    printed = self.must('cmake', '-S', sources, '-B',
                        self.scratch / 'build of archive').decode()
    self.assertIn('protozero: plugin: built', printed)

  def test_bill_of_materials(self):
    bill = json.loads((self.outs[0] / ('protozero-%s.spdx.json' % version()))
                      .read_text())
    self.assertEqual(bill['spdxVersion'], 'SPDX-2.3')
    by_id = {package['SPDXID']: package for package in bill['packages']}
    for package in by_id.values():
      for checksum in package.get('checksums', []):
        path = self.outs[0] / package['packageFileName']
        self.assertEqual(hashlib.sha256(path.read_bytes()).hexdigest(),
                         checksum['checksumValue'])
    described = [by_id[relation['relatedSpdxElement']]['name']
                 for relation in bill['relationships']
                 if relation['relationshipType'] == 'DESCRIBES']
    self.assertEqual(sorted(described), sorted(
        path.name for path in self.outs[0].glob('*.tar.gz')))
    linked = [by_id[relation['relatedSpdxElement']]
              for relation in bill['relationships']
              if relation['relationshipType'] == 'STATIC_LINK']
    self.assertEqual([package['name'] for package in linked],
                     ['libprotobuf and libprotoc', 'libstdc++ and libgcc', 'glibc'])

  def test_changed_files_are_refused(self):
    readme = self.clone / 'README.md'
    text = readme.read_text()
    readme.write_text(text + 'changed\n')
    status, printed = execute(self.clone / 'tools/build_release', '--out',
                              self.scratch / 'refused')
    readme.write_text(text)
    self.assertEqual(status, 1)
    self.assertIn(b'files have changed since', printed)


if __name__ == '__main__':
  sys.exit(run_cases())
