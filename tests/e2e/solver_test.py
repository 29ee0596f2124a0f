"""Dense and sparse algebra by cuSOLVER and cuSPARSE: an inference is found and replayed, and waits for one answer."""

import unittest

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40
OPERATIONS = 5  # the upload, two of cuSOLVER's, the sparse product, the copy back


class Solver(EndToEndTest):
    def test_posted_waits_once(self):
        server = self.serve()
        few, more = (self.stats(server, "solver", count, mode="posted") for count in (FEW, MORE))
        self.assertEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_in_replay_an_inference_waits_once_at_most(self):
        server = self.serve()
        few, more = (self.stats(server, "solver", count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], OPERATIONS)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * OPERATIONS * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)


if __name__ == "__main__":
    unittest.main()
