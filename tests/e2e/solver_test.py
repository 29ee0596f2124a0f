"""Dense and sparse algebra by cuSOLVER and cuSPARSE: what an inference of it costs."""

import unittest

from inferences import InferencesTest


class Solver(InferencesTest):
    def test_an_inference_waits_once(self):
        self.waits_once("solver", 5)  # the upload, two of cuSOLVER's, the sparse product, the copy back


if __name__ == "__main__":
    unittest.main()
