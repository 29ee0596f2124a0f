"""Networks on cuDNN: what an inference costs, and what is refused."""

import unittest

from inferences import FEW, InferencesTest


class Cudnn(InferencesTest):
    def test_an_inference_waits_once(self):
        self.waits_once("convolver", 20)  # the upload, 18 of cuDNN, the copy back

    def test_so_does_one_of_recurrent_networks(self):
        self.waits_once("listener", 4)  # the upload, an LSTM, a GRU, the copy back

    def test_training_is_refused_by_name(self):
        done = self.run_program(None, "listener", "train")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cudnnRNNForward: training of recurrent networks", done.stderr)

    def test_percall_waits_at_every_call(self):
        stats = self.stats(self.serve(), "convolver", FEW, mode="percall")
        self.assertEqual(stats["blocking_round_trips"], stats["calls"])


if __name__ == "__main__":
    unittest.main()
