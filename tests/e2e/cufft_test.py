"""Fourier transforms by cuFFT: what an inference costs, and what is refused."""

import unittest

from inferences import InferencesTest


class Cufft(InferencesTest):
    def test_an_inference_waits_once(self):
        self.waits_once("spectra", 5)  # the upload, three transforms, the copy back

    def test_half_precision_is_refused_by_name(self):
        done = self.run_program(None, "spectra", "half")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cufftXtMakePlanMany of half precision", done.stderr)


if __name__ == "__main__":
    unittest.main()
