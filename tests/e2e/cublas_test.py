"""Products of cuBLAS that need memory of their own: what an inference of them costs."""

import unittest

from inferences import InferencesTest


class Cublas(InferencesTest):
    def test_an_inference_waits_once(self):
        self.waits_once("algebra", 8)  # symm, syrk and trmv are two each: into memory of their own, and from there


if __name__ == "__main__":
    unittest.main()
