#!/usr/bin/env python3
# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""Tests the Debian packages that tools/build_debs makes.

With DEBIAN_SUITES="bookworm trixie" in the environment it also installs them, beside
Mapbox's libprotozero-dev, in a clean root of each of these suites, and uses them
there. That needs root, mmdebstrap, a network and a minute for each.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from cases import run_cases, version
from projects import GREET, PROTOS, QUICK, ProjectsTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITES = os.environ.get('DEBIAN_SUITES', '').split()
MAPBOX = 'libprotozero-dev'

# The one of docs/building.md, with a header of Mapbox's library.
MAKEFILE = '''CXXFLAGS := -std=c++17 $(shell pkg-config --cflags protozero)
PLUGIN := $(shell pkg-config --variable=plugin protozero)

greet: greet.cc mapbox.cc
\tprotoc -I. --plugin=protoc-gen-pbzero=$(PLUGIN) \\
\t  --pbzero_out=wrapper_namespace=pbzero:. unit.proto
\t$(CXX) $(CXXFLAGS) -o $@ $^ unit.pbzero.cc $(shell pkg-config --libs protozero)
'''
MAPBOX_SOURCE = '''#include <protozero/pbf_writer.hpp>
std::string Empty() {
  std::string data;
  protozero::pbf_writer writer(data);
  return data;
}
'''


def is_installed(package):
  return subprocess.run(['dpkg', '-s', package], capture_output=True,
                        check=False).returncode == 0


@unittest.skipUnless(shutil.which('dpkg-shlibdeps'),
                     'there is no dpkg-shlibdeps (Debian: dpkg-dev)')
class DebTest(ProjectsTest):

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.debs = cls.scratch / 'debs'
    cls.must(ROOT / 'tools/build_debs', cls.debs, *QUICK)
    cls.packages = {path.name.partition('_')[0]: path
                    for path in cls.debs.glob('*.deb')}

  def files(self, package):
    self.must('dpkg-deb', '--extract', self.packages[package],
              self.scratch / package)
    return {'/' + path.relative_to(self.scratch / package).as_posix()
            for path in (self.scratch / package).rglob('*')
            if not path.is_dir() or path.is_symlink()}

  def test_packages(self):
    library = 'libprotozero' + version().rpartition('.')[0]
    self.assertEqual(set(self.packages),
                     {library, 'protozero-dev', 'protozero-tools'})
    self.assertEqual(len(list(self.debs.iterdir())), 3)
    tools = self.files('protozero-tools')
    self.assertLessEqual({'/usr/bin/pbz', '/usr/bin/pztrace',
                          '/usr/bin/protoc-gen-pbzero',
                          '/usr/share/man/man1/pbz.1'}, tools)
    self.assertTrue(all(path.startswith(('/usr/lib/', '/usr/share/doc/'))
                        for path in self.files(library)))
    dev = self.files('protozero-dev')
    self.assertIn('/usr/include/protozero/message.h', dev)
    self.assertFalse([path for path in dev if path.startswith('/usr/bin')])
    depends = self.must('dpkg-deb', '-f', self.packages['protozero-tools'],
                        'Depends').decode()
    self.assertIn('%s (= %s)' % (library, version()), depends)
    self.assertIn('libprotoc', depends)

  @unittest.skipUnless(is_installed(MAPBOX), 'there is no ' + MAPBOX)
  def test_no_file_is_one_of_mapbox(self):
    theirs = set(self.must('dpkg', '-L', MAPBOX).decode().splitlines())
    for package in self.packages:
      self.assertFalse(self.files(package) & theirs)

  @unittest.skipUnless(SUITES and shutil.which('mmdebstrap'),
                       'for clean roots, set DEBIAN_SUITES and install mmdebstrap')
  def test_clean_root(self):
    project = self.scratch / 'project'
    project.mkdir()
    (project / 'unit.proto').write_text(PROTOS['unit.proto'])
    (project / 'Makefile').write_text(MAKEFILE)
    (project / 'greet.cc').write_text(GREET)
    (project / 'mapbox.cc').write_text(MAPBOX_SOURCE)
    mirror = self.must('apt-get', 'indextargets', '--format', '$(REPO_URI)',
                       'Created-By: Packages', 'Origin: Debian',
                       'Component: main').decode().split()[0]
    for suite in SUITES:
      printed = self.must(
          'mmdebstrap', '--quiet', '--variant=apt', '--format=null',
          '--include=g++,make,pkg-config,protobuf-compiler,' + MAPBOX,
          '--customize-hook=cp "%s"/*.deb "$1/srv"' % self.debs,
          '--customize-hook=cp -r "%s" "$1/srv/my project"' % project,
          '--customize-hook=chroot "$1" sh -c "apt-get install -y '
          '/srv/*.deb"',
          '--customize-hook=chroot "$1" sh -c "cd \'/srv/my project\' && make '
          '&& ./greet | od -c && pbz --version && pztrace --version"',
          suite, '/dev/null', mirror).decode()
      self.assertIn('d   e   g   r   e   e   s', printed)
      self.assertIn('pztrace ' + version(), printed)


if __name__ == '__main__':
  sys.exit(run_cases())
