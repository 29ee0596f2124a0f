"""`wharf run --check`: what it finds in kernels, where, and what its exit code is."""

import re
import unittest

from wharf_fixture import PROGRAMS, SOURCE, EndToEndTest

KERNELS = ("softmax", "tree", "blur", "pairs", "histogram")
FOUND = 66


def lines_of(program):
    """The lines that a comment marks, by its words."""
    text = (SOURCE / "tests" / "e2e" / "programs" / program).read_text()
    return {match.group(1): number for number, line in enumerate(text.splitlines(), 1)
            if (match := re.search(r"// @(.*)$", line))}


class CheckTest(EndToEndTest):
    def check(self, checks, name, *arguments, options=()):
        return self.run_program(None, name, *arguments, options=["--check", checks, *options])

    def reports(self, done, check):
        return [line for line in done.stderr.splitlines() if line.startswith(f"wharf: {check}: ")]

    def races_of(self, name):
        done = self.check("race", "racing", name)
        self.assertEqual(done.returncode, FOUND, done.stderr)
        self.assertEqual(done.stdout, "done\n")
        races = self.reports(done, "race")
        self.assertTrue(races, done.stderr)
        self.assertRegex(done.stderr, r"(?m)^wharf: check race: found at \d+ places?, \d+ times in one launch$")
        return races

    def test_kernels_with_all_their_barriers_are_left_in_peace(self):
        for name in KERNELS:
            with self.subTest(name):
                done = self.check("race", "racing", name, "ordered")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stderr, "wharf: check race: nothing found in one launch\n")

    def test_shared_words_that_are_used_again_too_soon(self):
        line = lines_of("racing.cu")
        reads = rf"racing.cu:({line['softmax first']}|{line['softmax read']})"
        writes = f"racing.cu:{line['softmax write']}"
        races = self.races_of("softmax")
        for race in races:
            self.assertRegex(
                race, rf"^wharf: race: void Softmax<false>\(float const\*, float\*\): "
                      rf"({reads} reads what {writes} wrote|{writes} writes what {reads} read), and no barrier is between: "
                      rf"threads \(\d+,0,0\) and \(\d+,0,0\) of block \(0,0,0\), 4 bytes of shared memory at "
                      rf"0x[0-9a-f]+, \d+ times$")
        self.assertTrue(any(f"racing.cu:{line['softmax read']} " in race for race in races), races)

    def test_lanes_of_a_warp_are_threads_too(self):
        line = lines_of("racing.cu")["tree"]
        for race in self.races_of("tree"):
            self.assertIn("Tree<false>", race)
            self.assertRegex(race, rf"racing.cu:{line} (reads|writes) what racing.cu:{line} (read|wrote),")

    def test_bytes_before_a_barrier(self):
        line = lines_of("racing.cu")
        races = self.races_of("blur")
        self.assertTrue(all(" 1 byte of shared memory" in race for race in races), races)
        pair = rf"racing.cu:({line['blur read']} reads what racing.cu:{line['blur write']} wrote" \
               rf"|{line['blur write']} writes what racing.cu:{line['blur read']} read)"
        self.assertTrue(all(re.search(pair, race) for race in races), races)

    def test_who_does_not_wait_for_those_that_arrive(self):
        line = lines_of("racing.cu")
        for race in self.races_of("pairs"):
            self.assertIn(f"racing.cu:{line['pairs read']} ", race)

    def test_atomic_operations_and_other_accesses(self):
        line = lines_of("racing.cu")
        races = self.races_of("histogram")
        update = rf"device_atomic_functions\.hpp:\d+ \(inlined at racing.cu:{line['histogram update']}\)"
        self.assertRegex("\n".join(races), rf"racing.cu:{line['histogram read']} reads what {update} updated")
        self.assertNotRegex("\n".join(races), rf"{update} updates what {update} updated")

    def test_the_programs_own_exit_code_comes_first(self):
        done = self.check("race", "racing", "blur", "7")
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertTrue(self.reports(done, "race"))

    def test_without_lineinfo_the_instruction_is_told(self):
        done = self.check("all", "racing_plain", "blur")
        self.assertEqual(done.returncode, FOUND, done.stderr)
        self.assertRegex(self.reports(done, "race")[0], r": PTX line \d+ `st\.shared\.u8 [^`]*` writes what PTX line \d+ `ld\.shared")

    def strays(self, name, code=FOUND):
        done = self.check("memory", "straying", name)
        self.assertEqual(done.returncode, code, done.stderr)
        return self.reports(done, "memory"), done

    def test_one_element_too_far(self):
        line = lines_of("straying.cu")["add"]
        found, done = self.strays("add")
        self.assertEqual(len(found), 2, "it reads and writes")
        for report, verb in zip(found, ("reads", "writes")):
            self.assertRegex(report, rf"^wharf: memory: Add\(float\*, int\): straying.cu:{line} {verb} 4 bytes at "
                                     rf"0x[0-9a-f]+, which is outside of memory \(0 bytes behind an allocation of 404 "
                                     rf"bytes\): thread \(37,0,0\) of block \(1,0,0\), once$")
        self.assertIn("wharf: check memory: found at 2 places, 2 times in 2 launches\n", done.stderr)
        self.assertEqual(self.strays("in_bounds", 0)[0], [])

    def test_what_faults_is_told_before_it_does(self):
        line = lines_of("straying.cu")["far"]
        found, done = self.strays("far", 3)
        self.assertRegex(found[0], rf"straying.cu:{line} writes 4 bytes at .* thread \(0,0,0\) of block \(0,0,0\), once$")
        self.assertRegex(found[-1], "an allocation of 404 bytes is never freed")

    def test_shared_memory_to_the_byte(self):
        found, _ = self.strays("tile")
        self.assertEqual(len(found), 1, found)
        self.assertIn(f"straying.cu:{lines_of('straying.cu')['tile']} writes 4 bytes at 0x100, which is beyond the 256 "
                      "bytes of shared memory: thread (63,0,0)", found[0])

    def test_misaligned_accesses(self):
        found, done = self.strays("pairs", code=4)
        self.assertEqual(done.stdout, "cudaErrorMisalignedAddress\n")
        self.assertIn("the device faulted", done.stderr)
        self.assertEqual(len(found), 2, found)  # what was not freed as well
        self.assertRegex(found[0], rf"straying.cu:{lines_of('straying.cu')['pairs']} reads 8 bytes at 0x[0-9a-f]+4, "
                                   r"which is no multiple of 8: thread \(0,0,0\) of block \(0,0,0\), 16 times$")

    def test_what_is_never_freed(self):
        found, done = self.strays("leak")
        self.assertEqual(found, ["wharf: memory: an allocation of 404 bytes is never freed"])
        self.assertTrue(done.stderr.endswith("nothing found in one launch, an allocation is never freed\n"), done.stderr)

    def test_what_nobody_has_written(self):
        line = lines_of("unwritten.cu")
        done = self.check("init", "unwritten", "half")
        self.assertEqual(done.returncode, FOUND, done.stderr)
        found = self.reports(done, "init")
        self.assertEqual(len(found), 2, found)
        self.assertRegex(found[0], rf"^wharf: init: Sum\(float const\*, float\*\): unwritten.cu:{line['sum']} reads 4 "
                                   rf"bytes at 0x[0-9a-f]+, which nobody has written: thread \(32,0,0\) of block "
                                   rf"\(0,0,0\), 32 times$")
        self.assertRegex(found[1], rf"Last\(float\*\): unwritten.cu:{line['last']} reads 4 bytes at 0xfc, which nobody "
                                   rf"has written \(shared memory\): thread \(0,0,0\) of block \(0,0,0\), 2 times$")

    def test_what_somebody_has_written(self):
        for name in ("host", "fill", "device", "kernel", "copied"):
            with self.subTest(name):
                done = self.check("init", "unwritten", name)
                self.assertEqual((done.returncode, self.reports(done, "init")), (0, []), done.stderr)

    def test_a_copy_of_what_nobody_has_written_is_no_better(self):
        done = self.check("init", "unwritten", "copied_half")
        self.assertEqual(done.returncode, FOUND, done.stderr)
        self.assertIn(", 32 times\n", done.stderr)

    def test_nothing_is_looked_for_unless_asked(self):
        done = self.run_program(None, "racing", "blur")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_says_where_there_is_no_checking(self):
        for options, why in ((["--server", "localhost:1", "--check", "race"], "--check goes with --local"),
                             (["--local", "--device", "cuda", "--check", "race"], "compute-sanitizer"),
                             (["--local", "--check", "races"], "'races' is no check; there are: race, memory, init"),
                             (["--local", "--mode", "replay_speculative", "--check", "race"], "--mode posted")):
            with self.subTest(options):
                done = self.command("run", *options, "--", PROGRAMS / "racing", "blur")
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertIn(why, done.stderr)


if __name__ == "__main__":
    unittest.main()
