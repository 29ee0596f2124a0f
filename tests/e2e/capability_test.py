"""--compute-capability: what a software device says it has, and the limits that come with it."""

import unittest

from wharf_fixture import BIN, PROGRAMS, EndToEndTest

SAYS = {"7.5": f"7.5 {64 << 10} right\n", "8.0": f"8.0 {163 << 10} right\n", "8.6": f"8.6 {99 << 10} right\n",
        "8.9": f"8.9 {99 << 10} right\n"}


class CapabilityTest(EndToEndTest):
    def test_programs_are_told_it_and_get_its_shared_memory(self):
        self.assertEqual(self.run_program(None, "shared").stdout, SAYS["8.0"])
        for capability, said in SAYS.items():
            with self.subTest(capability=capability):
                done = self.run_program(None, "shared", options=["--compute-capability", capability])
                self.assertEqual((done.returncode, done.stdout), (0, said), done.stderr)
        server = self.serve("--compute-capability", "8.9")
        for mode in ("percall", "cached", "posted", "replay"):
            with self.subTest(mode=mode):
                done = self.run_program(server, "shared", options=["--mode", mode])
                self.assertEqual((done.returncode, done.stdout), (0, SAYS["8.9"]), done.stderr)

    def test_packs_are_made_for_another(self):
        pack = BIN.parent / "cuda" / "packs.pack"
        if not pack.exists():
            self.skipTest("no pack was built")
        done = self.run_program(None, "shared", options=["--kernel-pack", pack])
        self.assertEqual((done.returncode, done.stdout), (0, SAYS["7.5"]), done.stderr)
        done = self.run_program(None, "shared", options=["--kernel-pack", pack, "--compute-capability", "8.0"])
        self.assertEqual((done.returncode, done.stdout), (0, SAYS["8.0"]), done.stderr)

    def test_what_cannot_be_is_refused(self):
        done = self.run_program(None, "shared", options=["--compute-capability", "9.0"])
        self.assert_one_clear_line(done, "7.5, 8.0, 8.6 or 8.9, not 9.0")
        done = self.command("serve", "--device", "cuda", "--compute-capability", "8.0")
        self.assert_one_clear_line(done, "--compute-capability is for --device soft")
        done = self.command("run", "--server", "127.0.0.1:1", "--compute-capability", "8.0", "--", PROGRAMS / "shared")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("--compute-capability goes with --local", done.stderr)


if __name__ == "__main__":
    unittest.main()
