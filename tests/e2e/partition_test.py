"""`wharf run --partition`: a program's operators on a device of its own, on the server's, or on both."""

import json
import unittest

from wharf_fixture import SOURCE, EndToEndTest

SCENE = SOURCE / "examples" / "cuda_pose" / "scene.png"
ENOUGH = 12  # inferences: the sequence is found, timed on both sides and planned


class Partition(EndToEndTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve("--threads", "1")

    def detections(self, name, inferences, *options):
        """What cuda_pose found, and its counters."""
        found, counters = self.folder / f"{name}.json", self.folder / f"{name}_stats.json"
        done = self.run_program(self.server, "cuda_pose", "--image", SCENE, "--inferences", inferences, "--json", found,
                                options=("--device", "soft", "--threads", "1", "--stats", counters, *options))
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(found.read_text())
        del result["latency_ms"], result["inferences"]
        return result, json.loads(counters.read_text())

    def test_local_computes_the_same_here(self):
        remote, stats = self.detections("remote", 2)
        self.assertIsNone(stats["partition"])
        local, stats = self.detections("local", 2, "--partition", "local")
        self.assertEqual(local, remote)
        self.assertGreater(stats["partition"]["operations_local"], stats["partition"]["operations_remote"])

    def test_auto_computes_the_same_and_makes_a_plan(self):
        remote, _ = self.detections("remote", 2)
        auto, stats = self.detections("auto", ENOUGH, "--partition", "auto")
        self.assertEqual(auto, remote)
        plan = stats["partition"]["plan"]
        self.assertGreaterEqual(plan["plans"], 1, stats["partition"])
        self.assertGreater(plan["operators"], 100)

    def test_a_large_input_is_reduced_here_and_large_weights_stay_there(self):
        # 2 MB take 0.8 s on this link, their sums none; the local device has no room for the weights.
        link = self.link(self.server, rate="20mbit")
        counters = self.folder / "stats.json"
        done = self.run_program(link, "reduce", ENOUGH, 64, options=(
            "--partition", "auto", "--device", "soft", "--memory", "16MiB", "--threads", "1", "--stats", counters))
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(counters.read_text())["partition"]["plan"]
        self.assertEqual(plan["operators"], 4, "two copies, two kernels")
        self.assertIn(plan["operators_local"], (2, 3), plan)

    def test_a_wrong_combination_is_said_before_the_program_starts(self):
        done = self.command("run", "--local", "--partition", "auto", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--partition wants a --server", done.stderr)


if __name__ == "__main__":
    unittest.main()
