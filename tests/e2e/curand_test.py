"""Random numbers by cuRAND: what an inference that makes them costs."""

import unittest

from inferences import InferencesTest


class Curand(InferencesTest):
    def test_an_inference_waits_once(self):
        self.waits_once("noise", 8)  # the upload, two kernels for each of three calls, the copy back


if __name__ == "__main__":
    unittest.main()
