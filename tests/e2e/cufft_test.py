"""Fourier transforms by cuFFT: their inferences are found and replayed, and wait for one answer each."""

import unittest

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40
OPERATIONS = 5  # the upload, three transforms, the copy back


class Cufft(EndToEndTest):
    def test_posted_waits_once(self):
        server = self.serve()
        few, more = (self.stats(server, "spectra", count, mode="posted") for count in (FEW, MORE))
        self.assertEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_in_replay_an_inference_waits_once_at_most(self):
        server = self.serve()
        few, more = (self.stats(server, "spectra", count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], OPERATIONS)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * OPERATIONS * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_half_precision_is_refused_by_name(self):
        done = self.run_program(None, "spectra", "half")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cufftXtMakePlanMany of half precision", done.stderr)


if __name__ == "__main__":
    unittest.main()
