"""Random numbers by cuRAND: inferences that make them are found and replayed, and wait for one answer each."""

import unittest

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40
OPERATIONS = 8  # the upload, two kernels for each of three calls, the copy back


class Curand(EndToEndTest):
    def test_posted_waits_once(self):
        server = self.serve()
        few, more = (self.stats(server, "noise", count, mode="posted") for count in (FEW, MORE))
        self.assertEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_in_replay_an_inference_waits_once_at_most(self):
        server = self.serve()
        few, more = (self.stats(server, "noise", count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], OPERATIONS)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * OPERATIONS * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)


if __name__ == "__main__":
    unittest.main()
