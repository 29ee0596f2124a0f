"""`wharf profile`, `wharf plan --model` and `wharf explain`: from a model's file to a plan, in three commands."""

import json
import unittest

from wharf_fixture import SOURCE, EndToEndTest

MODEL = SOURCE / "wharf" / "exec" / "testdata" / "tiny" / "model.onnx"


class ProfileTest(EndToEndTest):
    def profile(self, name, *options):
        """The profile that the command wrote, its path, and what it printed."""
        path = self.folder / name
        done = self.command("profile", MODEL, "--threads", 1, "--cache-dir", self.folder / "cache", "--json", path, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(path.read_text()), path, done.stdout

    def test_a_model_is_measured_once_planned_and_explained(self):
        server, server_path, text = self.profile("server.json", "--rounds", 3)
        self.assertIn("Conv", text)
        self.assertRegex(text, r"tiny on .*, 1 thread, LibTorch [\d.]+: [\d.]+ ms whole, [\d.]+ ms operator by operator")
        self.assertTrue(all(one["full_ms"] > 0 for one in server["operators"][1:-1]))
        self.assertEqual(len(list((self.folder / "cache" / "profiles").iterdir())), 1)

        device, device_path, text = self.profile("device.json", "--time-scale", 10)
        self.assertIn("all times 10 times as measured", text)
        self.assertEqual([one["full_ms"] for one in device["operators"]],
                         [10 * one["full_ms"] for one in server["operators"]], "measured again")

        plan = self.folder / "plan.json"
        done = self.command("plan", "--model", MODEL, "--device-profile", device_path, "--server-profile", server_path,
                            "--bandwidth", "10MB/s", "--json", plan)
        self.assertEqual(done.returncode, 0, done.stderr)
        (stored,) = json.loads(plan.read_text())
        self.assertEqual(stored["operators"], [[one["name"], one["rows"]] for one in server["operators"]])
        svg = self.folder / "timeline.svg"
        done = self.command("explain", plan, "--svg", svg)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("tiny, intra-dp at 10 MB/s", done.stdout)
        self.assertIn("uplink", svg.read_text())

    def test_what_does_not_fit_is_one_clear_line(self):
        _, path, _ = self.profile("one.json", "--rounds", 1)
        self.assert_one_clear_line(self.command("profile", __file__, "--cache-dir", ""), "no ONNX model")
        self.assert_one_clear_line(self.command("plan", "--model", MODEL, "--bandwidth", "1MB/s"), "--device-profile")
        other = json.loads(path.read_text())
        other["operators"].pop(1)
        wrong = self.folder / "wrong.json"
        wrong.write_text(json.dumps(other))
        self.assert_one_clear_line(
            self.command("plan", "--model", MODEL, "--device-profile", path, "--server-profile", wrong, "--bandwidth",
                         "1MB/s"), "the server's profile")
        self.assert_one_clear_line(self.command("profile", MODEL, "--cpu-time", "--cache-dir", ""), "--threads 1")


if __name__ == "__main__":
    unittest.main()
