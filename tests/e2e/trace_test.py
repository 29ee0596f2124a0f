"""`wharf trace`: a file of Chrome trace events, and a summary."""

import json
import re
import unittest

from wharf_fixture import PROGRAMS, EndToEndTest

ROUNDS = 3


class TraceTest(EndToEndTest):
    def trace(self, file, *options, program=("looper", ROUNDS)):
        name, *arguments = program
        return self.command("trace", "--local", "--device", "soft", "-o", file, *options, "--", PROGRAMS / name,
                            *arguments)

    def test_writes_events_that_a_viewer_opens(self):
        file = self.folder / "trace.json"
        file.write_text("of an earlier run")
        done = self.trace(file, "--mode", "posted")
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(file.read_text())
        self.assertEqual(events[0]["name"], "process_name")
        self.assertEqual(events[0]["args"]["name"], "looper")
        self.assertEqual(events[-1]["args"], {"dropped events": 0})
        for event in events:
            self.assertLessEqual({"ph", "name", "ts", "pid", "tid"}, set(event))
        waits = [event for event in events if event.get("args", {}).get("round trips", 0) > 0]
        copies = [event for event in waits if event["name"].startswith("cudaMemcpy")]
        self.assertEqual(len(copies), ROUNDS)  # the copy to the host is what each round waits for
        self.assertEqual({event["cat"] for event in copies}, {"blocking call"})
        self.assertIn("mode posted: nothing is replayed", done.stderr)
        self.assertIn(str(file), done.stderr)

    def test_says_what_replay_foresaw(self):
        done = self.trace(self.folder / "trace.json", "--mode", "replay", program=("looper", 100))
        self.assertEqual(done.returncode, 0, done.stderr)
        predicted, all_of_them = map(int, re.search(r"replay.*: (\d+) of (\d+) operations", done.stderr).groups())
        self.assertGreater(predicted, all_of_them / 2, done.stderr)
        self.assertRegex(done.stderr, r"\d+  misses")

    def test_passes_on_the_programs_exit_code_and_says_if_there_is_nothing(self):
        done = self.trace(self.folder / "none.json", "--no-check", program=("/bin/sh", "-c", "kill -9 $$"))
        self.assertEqual(done.returncode, 128 + 9)
        self.assertIn("no counters", done.stderr)
        self.assertIn("no trace was written", done.stderr)

    def test_wants_to_know_where_to_write(self):
        done = self.command("trace", "--local", "--", PROGRAMS / "looper", ROUNDS)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--output is required", done.stderr)


if __name__ == "__main__":
    unittest.main()
