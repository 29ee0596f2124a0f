"""`wharf bench offload`: what it counts, not how fast it was."""

import json
import unittest

from wharf_fixture import SOURCE, EndToEndTest

PICTURE = 320 * 256 * 3


class BenchTest(EndToEndTest):
    def bench(self, *options):
        """Rows by mode, what it printed, and its page."""
        rows, page = self.folder / "rows.json", self.folder / "page.html"
        done = self.command("bench", "offload", "--scenarios", "fixed", "--device", "soft", "--json", rows, "--html",
                            page, "--image", SOURCE / "examples" / "cuda_pose" / "scene.png", "--traces",
                            SOURCE / "data" / "traces", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return {row["mode"]: row for row in json.loads(rows.read_text())}, done.stdout, page.read_text()

    def test_native_sends_the_input_and_waits_once(self):
        rows, text, page = self.bench("--modes", "local,posted,replay,native", "--inferences", 16, "--compression", "both")
        self.assertEqual(list(rows), ["device_only", "posted", "posted_plain", "replay", "replay_plain", "native"])
        native, posted, replay, local = rows["native"], rows["posted"], rows["replay"], rows["device_only"]
        self.assertEqual(native["blocking_round_trips"], 1)
        self.assertEqual(native["bytes_up"], PICTURE + 16)
        self.assertLess(native["bytes_down"], posted["bytes_down"])
        self.assertGreater(rows["posted_plain"]["bytes_up"], PICTURE)
        self.assertGreater(rows["replay_plain"]["bytes_up"], PICTURE)
        # A picture that does not change travels as nothing, once the link's rate has been measured.
        self.assertLess(posted["bytes_up"] + replay["bytes_up"],
                        rows["posted_plain"]["bytes_up"] + rows["replay_plain"]["bytes_up"] - PICTURE / 8)
        self.assertGreater(posted["calls"], 5000)
        self.assertEqual(posted["calls"], local["calls"])
        self.assertEqual(local["bytes_up"], 0)
        self.assertEqual(replay["phase"], "replaying")
        self.assertEqual(replay["calls"], posted["calls"])
        self.assertLess(rows["replay_plain"]["bytes_up"], rows["posted_plain"]["bytes_up"])
        self.assertGreaterEqual(posted["blocking_round_trips"], 8)  # copies to the host
        self.assertEqual({rows[mode]["phase"] for mode in ("device_only", "posted", "native")}, {"none"})
        self.assertEqual({row["program"] for row in rows.values()}, {"cuda_pose"})
        # The calls by stage: the loop allocates nothing.
        self.assertRegex(text, r"cudaMalloc +\d+ \([\d.]+ %\) +\d+ \([\d.]+ %\) +0 \(0\.00 %\)")
        self.assertIn("× native", text)
        self.assertEqual(page.count("<svg"), 7)  # latency, every inference twice, round trips, bytes, device, energy

    def test_replay_waits_once(self):
        # The difference of two runs, by inferences. On a busy machine the sequence is found later in one than in the
        # other; not in every attempt.
        for _ in range(4):
            rows, _, _ = self.bench("--modes", "replay", "--inferences", 40)
            waits = rows["replay"]["blocking_round_trips"]
            if abs(waits - 1) <= 0.25:
                break
        self.assertAlmostEqual(waits, 1, delta=0.25)

    def test_programs_at_once_each_have_an_answer(self):
        rows, text, _ = self.bench("--modes", "posted", "--inferences", 3, "--programs", 2)
        posted = rows["posted"]
        self.assertEqual((posted["programs"], posted["inferences"]), (2, 6))
        self.assertEqual(round(posted["blocking_round_trips"]), 8, "of each: copies to the host")
        self.assertIn("2 copies of the program at once", text)
        done = self.command("bench", "offload", "--programs", "2", "--modes", "native")
        self.assert_one_clear_line(done, "native", "--programs")

    def test_decode_has_no_counterpart_offloaded_by_hand(self):
        rows, _, _ = self.bench("--program", "decode", "--modes", "posted", "--inferences", 2)
        self.assertGreater(rows["posted"]["blocking_round_trips"], 20)
        done = self.command("bench", "offload", "--program", "decode", "--modes", "native")
        self.assert_one_clear_line(done, "native", "--program pose")


if __name__ == "__main__":
    unittest.main()
