"""Networks on cuDNN: their inferences are found and replayed, and wait for one answer each."""

import unittest

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40


class Cudnn(EndToEndTest):
    def per_inference(self, server, mode, program="convolver"):
        few = self.stats(server, program, FEW, mode=mode)
        more = self.stats(server, program, MORE, mode=mode)
        return {key: (more[key] - few[key]) / (MORE - FEW) for key in ("calls", "blocking_round_trips")}

    def waits_once(self, program, operations):
        server = self.serve()
        self.assertEqual(self.per_inference(server, "posted", program)["blocking_round_trips"], 1)
        few, more = (self.stats(server, program, count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], operations)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * operations * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)

    def test_in_replay_an_inference_waits_once(self):
        self.waits_once("convolver", 20)  # the upload, 18 of cuDNN, the copy back

    def test_so_does_one_of_recurrent_networks(self):
        self.waits_once("listener", 4)  # the upload, an LSTM, a GRU, the copy back

    def test_training_is_refused_by_name(self):
        done = self.run_program(None, "listener", "train")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cudnnRNNForward: training of recurrent networks", done.stderr)

    def test_percall_waits_at_every_call(self):
        cost = self.per_inference(self.serve(), "percall")
        self.assertEqual(cost["blocking_round_trips"], cost["calls"])


if __name__ == "__main__":
    unittest.main()
