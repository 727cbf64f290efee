"""Runs the Python tests; no test at all and a skipped one are failures."""

import pathlib
import sys
import unittest

if __name__ == "__main__":
    tests = unittest.defaultTestLoader.discover(str(pathlib.Path(__file__).parent))
    result = unittest.TextTestRunner(verbosity=2).run(tests)
    if result.skipped or not result.testsRun:
        print(f"{len(result.skipped)} of {result.testsRun} tests were skipped", file=sys.stderr)
        sys.exit(1)
    sys.exit(not result.wasSuccessful())
