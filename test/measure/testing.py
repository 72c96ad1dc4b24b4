# Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0
"""What the tests of tools/measure_* have in common."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / 'tools'


def load_tool(name):
    """The script tools/<name>, which has no .py, as a module."""
    sys.path.insert(0, str(TOOLS))
    # A tool run from its place leaves no __pycache__ beside it.
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name, str(TOOLS / name))
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


def run_cases(*cases):
    """Runs the test cases; the last line is "N passed, N failed"."""
    suite = unittest.TestSuite(
        unittest.defaultTestLoader.loadTestsFromTestCase(case)
        for case in cases)
    outcome = unittest.TextTestRunner(verbosity=1).run(suite)
    failed = len(outcome.failures) + len(outcome.errors)
    print(f'{outcome.testsRun - failed} passed, {failed} failed')
    return 1 if failed else 0
