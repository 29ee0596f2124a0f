"""What a mode costs, by the counters: posted calls wait only where the program truly waits."""

import json
import os
import subprocess
import unittest

from wharf_fixture import EMULATOR, PATIENCE, PROGRAMS, SOURCE, EndToEndTest, environment

FEW, MORE = 2, 12


class Counters(EndToEndTest):
    def per_round(self, mode):
        """Counters of one round of `looper`, loading subtracted."""
        few = self.stats(self.server, "looper", FEW, mode=mode)
        more = self.stats(self.server, "looper", MORE, mode=mode)
        return {key: (more[key] - few[key]) / (MORE - FEW)
                for key in ("calls", "blocking_round_trips", "bytes_up", "bytes_down")}

    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def test_posted_waits_once_a_round_for_the_copy_to_the_host(self):
        self.assertEqual(self.per_round("posted")["blocking_round_trips"], 1)

    def test_the_calls_that_waited_are_named(self):
        waits = self.stats(self.server, "looper", MORE, mode="posted")["waits"]
        self.assertEqual(waits["cudaMemcpy"]["round_trips"], MORE)
        self.assertGreater(waits["cudaMemcpy"]["ms"], 0)
        in_percall = self.stats(self.server, "looper", MORE, mode="percall")
        self.assertEqual({name: wait["round_trips"] for name, wait in in_percall["waits"].items()},
                         {name: in_percall["per_function"][name] for name in in_percall["waits"]})
        self.assertEqual(sum(wait["round_trips"] for wait in in_percall["waits"].values()),
                         in_percall["blocking_round_trips"])

    def test_percall_waits_at_every_call(self):
        cost = self.per_round("percall")
        self.assertEqual(cost["blocking_round_trips"], cost["calls"])

    def test_cached_waits_at_every_call_but_the_getters(self):
        cost = self.per_round("cached")
        self.assertLess(cost["blocking_round_trips"], self.per_round("percall")["blocking_round_trips"])
        self.assertGreater(cost["blocking_round_trips"], self.per_round("posted")["blocking_round_trips"])

    def test_the_program_makes_the_same_calls_in_every_mode(self):
        calls = {mode: self.per_round(mode)["calls"] for mode in ("percall", "cached", "posted")}
        self.assertEqual(len(set(calls.values())), 1, calls)

    def test_calls_are_counted_as_the_mode_has_them_done(self):
        stats = {mode: self.stats(self.server, "looper", MORE, mode=mode) for mode in ("percall", "cached", "posted")}
        for mode in ("percall", "cached"):
            self.assertEqual((stats[mode]["posted_calls"], stats[mode]["posted_operations"]), (0, 0), mode)
        self.assertEqual(stats["percall"]["blocking_calls"], stats["percall"]["calls"])
        self.assertEqual(stats["percall"]["blocking_round_trips"], stats["percall"]["calls"])
        self.assertEqual(stats["cached"]["blocking_round_trips"], stats["cached"]["blocking_calls"])
        self.assertEqual(stats["cached"]["local_calls"], stats["posted"]["local_calls"])
        self.assertGreaterEqual(stats["posted"]["posted_operations"], stats["posted"]["posted_calls"])
        for of_mode in stats.values():
            self.assertEqual(sum(of_mode["per_function"].values()), of_mode["calls"] + of_mode["compiler_calls"])

    def test_an_inference_of_cuda_pose_waits_only_for_its_copies_and_synchronisations(self):
        scene = SOURCE / "examples" / "cuda_pose" / "scene.png"

        def stats(inferences):
            return self.stats(self.server, "cuda_pose", "--image", scene, "--inferences", inferences)

        few, more = stats(FEW), stats(FEW + 2)
        copies_to_host, synchronisations = 8, 11  # of one inference: examples/cuda_pose/README.md
        waits = (more["blocking_round_trips"] - few["blocking_round_trips"]) / 2
        self.assertLessEqual(waits, copies_to_host + synchronisations)
        self.assertGreaterEqual(waits, copies_to_host - 1)  # loading may wait once more, or not, in either run
        self.assertGreater((more["calls"] - few["calls"]) / 2, 5000)

    def test_the_search_is_the_users_choice(self):
        scene = SOURCE / "examples" / "cuda_pose" / "scene.png"
        file = self.folder / "stats.json"
        found = {}
        for search in ("incremental", "published", "data-dependency"):
            options = ["--mode", "replay", "--search", search, "--stats", file]
            done = self.run_program(self.server, "cuda_pose", "--image", scene, "--inferences", 6, options=options)
            self.assertEqual(done.returncode, 0, done.stderr)
            found[search] = json.loads(file.read_text())["replay"]["sequence_length"]
        self.assertGreater(found["incremental"], 500)
        self.assertEqual(found["data-dependency"], found["incremental"])
        # It refuses what may carry state, and what a kernel only reads is not known here.
        self.assertEqual(found["published"], 0)

    def test_a_search_there_is_not_is_wrong_usage(self):
        done = self.run_program(self.server, "looper", FEW, options=["--search", "clairvoyant"])
        self.assertEqual(done.returncode, 2)
        self.assert_one_clear_line(done, "--search", "incremental", "published", "data-dependency")

    def test_loading_costs_a_handful_of_round_trips(self):
        stats = self.stats(self.server, "looper", 1, mode="posted")
        self.assertLessEqual(stats["blocking_round_trips"], 1)

    def test_a_networks_weights_do_not_wait_for_each_other(self):
        for mode in ("posted", "replay"):
            few, more = (self.stats(self.server, "weights", tensors, mode=mode) for tensors in (10, 200))
            for stats in (few, more):
                self.assertLessEqual(stats["blocking_round_trips"], 6, mode)
            self.assertGreaterEqual(more["replay"]["elided"], 190, mode)

    def test_replay_as_published_runs(self):
        server = self.serve("--unsafe-replay")
        self.assertEqual(self.stats(server, "looper", 20, mode="replay_speculative")["mode"], "replay_speculative")
        self.assertEqual(self.stats(None, "looper", 20, mode="replay_speculative")["mode"], "replay_speculative")

    def test_a_server_has_replay_as_published_only_if_it_was_told_to(self):
        done = self.run_program(self.server, "looper", 20, options=["--mode", "replay_speculative"])
        self.assert_one_clear_line(done, "--unsafe-replay", "--mode replay")

    def test_the_library_that_programs_load_has_no_baselines(self):
        variables = {**(environment(self.folder) or os.environ), "LD_LIBRARY_PATH": str(PROGRAMS.parent / "lib" / "wharf"),
                     "WHARF_SERVER": self.server.address}
        for name, value, said in (("WHARF_SEARCH", "published", "`wharf run --search`"),
                                  ("WHARF_MODE", "replay_speculative", "it must be replay, posted, cached or percall")):
            done = subprocess.run([*EMULATOR, PROGRAMS / "looper", "2"], capture_output=True, text=True, timeout=PATIENCE,
                                  env={**variables, name: value})
            self.assert_one_clear_line(done, name, said)


if __name__ == "__main__":
    unittest.main()
