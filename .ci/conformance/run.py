"""Runs the Python tests, those of a directory beside if one is named; no test at all
and a skipped one are failures."""

import pathlib
import sys
import unittest

if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    tests = unittest.defaultTestLoader.discover(str(here.joinpath(*sys.argv[1:])))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    if result.skipped or not result.testsRun:
        print(f"{len(result.skipped)} of {result.testsRun} tests were skipped", file=sys.stderr)
        sys.exit(1)
    sys.exit(not result.wasSuccessful())
