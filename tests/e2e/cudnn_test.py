"""A network on cuDNN: its inferences are found and replayed, and wait for one answer each."""

import unittest

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40


class Cudnn(EndToEndTest):
    def per_inference(self, server, mode):
        few = self.stats(server, "convolver", FEW, mode=mode)
        more = self.stats(server, "convolver", MORE, mode=mode)
        return {key: (more[key] - few[key]) / (MORE - FEW) for key in ("calls", "blocking_round_trips")}

    def test_in_replay_an_inference_waits_once(self):
        server = self.serve()
        operations = 20  # the upload, 18 of cuDNN, the copy back
        self.assertEqual(self.per_inference(server, "posted")["blocking_round_trips"], 1)
        few, more = (self.stats(server, "convolver", count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], operations)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * operations * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_percall_waits_at_every_call(self):
        cost = self.per_inference(self.serve(), "percall")
        self.assertEqual(cost["blocking_round_trips"], cost["calls"])


if __name__ == "__main__":
    unittest.main()
