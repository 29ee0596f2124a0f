"""Programs that carry machine code only, on the software device: with a pack of their source, with one of another
source, and without one. How `wharf pack` makes packs and looks into them."""

import json
import os
import shutil
import unittest

from wharf_fixture import PROGRAMS, SANITIZER, SHELL, SOURCE, EndToEndTest

NVCC = os.environ["WHARF_NVCC"]
LOOPER = SOURCE / "tests" / "e2e" / "programs" / "looper.cu"


class PacksTest(EndToEndTest):
    def build(self, name, *sources, options=()):
        """`wharf pack build`; how it ended, and the pack."""
        pack = self.folder / name
        return self.command("pack", "build", "-o", pack, "--nvcc", self.nvcc(), *options, *sources), pack

    def nvcc(self):
        """The compiler, which does not stand the sanitizer's library in it that tests preload."""
        if not SANITIZER:
            return NVCC
        script = self.folder / "nvcc_without_sanitizer"
        script.write_text(f'{SHELL}\nexec {NVCC} "$@"\n')
        script.chmod(0o755)
        return script

    def pack_of(self, name, *sources):
        done, pack = self.build(name, *sources)
        self.assertEqual(done.returncode, 0, done.stderr)
        return pack

    def changed(self, old, new):
        """The source of looper with something else in it, under its own name."""
        folder = self.folder / "changed"
        folder.mkdir(exist_ok=True)
        shutil.copy(LOOPER.with_name("check.h"), folder)
        text = LOOPER.read_text()
        self.assertIn(old, text)
        (folder / "looper.cu").write_text(text.replace(old, new))
        return folder / "looper.cu"

    def compiler_that_counts(self):
        """nvcc, and a file that gets a line each time it runs."""
        counted = self.folder / "counted"
        script = self.folder / "nvcc"
        script.write_text(f'{SHELL}\necho run >>{counted}\nexec {self.nvcc()} "$@"\n')
        script.chmod(0o755)
        return script, lambda: len(counted.read_text().splitlines()) if counted.exists() else 0

    def test_a_program_without_ptx_runs_with_a_pack(self):
        pack = self.pack_of("looper.pack", LOOPER)
        done = self.run_program(None, "looper_no_ptx", 2, options=["--kernel-pack", pack])
        self.assertEqual((done.returncode, done.stdout), (0, "ready\ndone\n"), done.stderr)
        server = self.serve("--kernel-pack", pack)
        for mode in ("replay", "percall"):
            done = self.run_program(server, "looper_no_ptx", 5, options=["--mode", mode])
            self.assertEqual((done.returncode, done.stdout), (0, "ready\ndone\n"), done.stderr)

    def test_without_a_pack_one_line_names_the_kernel_and_the_way_out(self):
        done = self.run_program(None, "looper_no_ptx", 1)
        self.assert_one_clear_line(done, "carries no PTX", "kernel pack", "docs/packs.md")
        done = self.run_program(None, "looper_no_ptx", 1, options=["--no-check"])
        self.assert_one_clear_line(done, "kernel _Z6AddOnePii", "sm_75", "kernel pack", "docs/packs.md")
        self.assertIn("cudaErrorNoKernelImageForDevice", done.stderr)

    def test_a_kernel_that_no_pack_has_is_named(self):
        pack = self.pack_of("reduce.pack", LOOPER.parent / "reduce.cu")
        done = self.run_program(None, "looper_no_ptx", 1, options=["--kernel-pack", pack])
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("cudaErrorNoKernelImageForDevice", done.stderr)
        lines = [line for line in done.stderr.splitlines() if "kernel _Z6AddOnePii" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertIn("wharf pack build", lines[0])

    def test_a_pack_of_another_source_is_refused(self):
        source = self.changed("__global__ void AddOne(int* values, int count) {",
                              'extern "C" __global__ void _Z6AddOnePii(int* values, long long count) {')
        source.write_text(source.read_text().replace("AddOne<<<", "_Z6AddOnePii<<<"))
        pack = self.pack_of("changed.pack", source)
        done = self.run_program(None, "looper_no_ptx", 1, options=["--kernel-pack", pack])
        self.assertEqual(done.returncode, 3, done.stderr)
        lines = [line for line in done.stderr.splitlines() if "kernel _Z6AddOnePii" in line]
        self.assertEqual(len(lines), 1, done.stderr)
        for word in ("another version of the source", str(pack), "8 at 0, 8 at 8", "8 at 0, 4 at 8"):
            self.assertIn(word, lines[0])
        check = self.command("pack", "check", pack, PROGRAMS / "looper_no_ptx")
        self.assertEqual(check.returncode, 1)
        self.assertIn("refused", check.stdout)

    def test_packs_that_cannot_be_read_are_said_before_anything_runs(self):
        damaged = self.folder / "damaged.pack"
        damaged.write_bytes(self.pack_of("looper.pack", LOOPER).read_bytes()[:-1])
        for pack, why in [(self.folder / "none.pack", "No such file"), (LOOPER, "not a kernel pack"),
                          (damaged, "damaged")]:
            done = self.command("serve", "--device", "soft", "--listen", "127.0.0.1:0", "--kernel-pack", pack)
            self.assert_one_clear_line(done, str(pack), why)
            self.assert_one_clear_line(self.command("pack", "list", pack), str(pack), why)
        done = self.command("serve", "--device", "cuda", "--kernel-pack", damaged)
        self.assert_one_clear_line(done, "--kernel-pack")
        done = self.command("run", "--server", "127.0.0.1:1", "--kernel-pack", damaged, "--", PROGRAMS / "looper")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--kernel-pack goes with --local", done.stderr)

    def test_says_what_is_in_a_pack_and_what_a_program_lacks(self):
        pack = self.pack_of("looper.pack", LOOPER)
        self.assertIn(str(LOOPER), self.command("pack", "list", pack).stdout)
        self.assertIn("AddOne(int*, int)", self.command("pack", "list", pack, "--kernels").stdout)
        (row,) = json.loads(self.command("pack", "list", pack, "--json").stdout)
        self.assertEqual((row["source"], row["kernels"]), (str(LOOPER), ["_Z6AddOnePii"]))
        for program, code, state in [("looper", 0, "own PTX"), ("looper_no_ptx", 0, "in a pack"),
                                     ("packs_packed", 1, "missing")]:
            done = self.command("pack", "check", pack, PROGRAMS / program, "--json")
            self.assertEqual(done.returncode, code, done.stderr)
            self.assertEqual({row["state"] for row in json.loads(done.stdout)}, {state})
        self.assert_one_clear_line(self.command("pack", "check", pack, __file__), __file__)

    def test_goes_on_where_it_ended(self):
        nvcc, runs = self.compiler_that_counts()
        folder = self.folder / "changed"
        broken = self.changed('#include "check.h"', "#error broken on purpose")
        good = folder / "good.cu"
        shutil.copy(LOOPER, good)
        words = ["pack", "build", "-o", self.folder / "p.pack", "--nvcc", nvcc, "--no-ccache", "-j", 1, good, broken]
        done = self.command(*words)
        self.assertEqual(done.returncode, 1)
        self.assertIn("broken on purpose", done.stderr)
        self.assertFalse((self.folder / "p.pack").exists())
        self.assertEqual(runs(), 2)
        shutil.copy(LOOPER.parent / "reduce.cu", broken)
        done = self.command(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 sources", done.stdout)
        self.assertIn("1 were compiled before", done.stdout)
        self.assertEqual(runs(), 3)
        self.assertFalse((self.folder / "p.pack.parts").exists())

    def test_leaves_out_what_does_not_compile(self):
        broken = self.changed('#include "check.h"', "#error broken on purpose")
        done, pack = self.build("p.pack", broken, LOOPER, options=["--keep-going"])
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(json.loads(self.command("pack", "list", pack, "--json").stdout)), 1)

    def test_takes_sources_and_flags_from_compile_commands(self):
        source = self.changed("values[i] += 1;", "values[i] += STEP;")
        commands = self.folder / "compile_commands.json"
        commands.write_text(json.dumps([
            {"directory": str(source.parent), "file": "looper.cu",
             "command": f"{NVCC} -DSTEP=1 -gencode arch=compute_80,code=sm_80 -c looper.cu -o looper.o"},
            {"directory": "/", "file": "/missing/other.cu", "command": f"{NVCC} -c /missing/other.cu"}]))
        done, pack = self.build("p.pack", options=["--compile-commands", commands, "--only", "looper"])
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.run_program(None, "looper_no_ptx", 1, options=["--kernel-pack", pack])
        self.assertEqual((done.returncode, done.stdout), (0, "ready\ndone\n"), done.stderr)

    def test_wrong_usage(self):
        for words in (["pack"], ["pack", "build", "-o", "p"], ["pack", "build", LOOPER], ["pack", "check", "p"]):
            self.assertEqual(self.command(*words).returncode, 2, words)
        done, _ = self.build("p.pack", self.folder / "none.cu")
        self.assert_one_clear_line(done, "none.cu")
        done, _ = self.build("p.pack", LOOPER, options=["--flags", "'open"])
        self.assert_one_clear_line(done, "a quote that is not closed")


if __name__ == "__main__":
    unittest.main()
