"""What is asked of programs that compute the same in each inference, `PROGRAM INFERENCES`: it is found and replayed, and
the program waits for one answer each."""

from wharf_fixture import EndToEndTest

FEW, MORE = 20, 40


class InferencesTest(EndToEndTest):
    def waits_once(self, program, operations):
        """Of `operations` an inference, uploads and copies back included."""
        server = self.serve()
        few, more = (self.stats(server, program, count, mode="posted") for count in (FEW, MORE))
        self.assertEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)
        few, more = (self.stats(server, program, count, mode="replay") for count in (FEW, MORE))
        self.assertEqual(more["replay"]["sequence_length"], operations)
        hits = more["replay"]["hits"] - few["replay"]["hits"]
        self.assertGreater(hits, 0.9 * operations * (MORE - FEW))
        self.assertLessEqual(more["blocking_round_trips"] - few["blocking_round_trips"], MORE - FEW)
