#!/usr/bin/env python3
"""What tools/third_party.py reads: command lines of nvcc, what programs print, how suites say what to run."""

import json
import pathlib
import shutil
import tempfile
import types
import unittest

import third_party
import third_party_suites as suites


class OneArchitecture(unittest.TestCase):
    def check(self, given, want):
        self.assertEqual(suites.one_architecture(given.split()), want.split())

    def test_what_the_software_device_would_choose(self):
        self.check("-O3 --generate-code=arch=compute_75,code=[compute_75,sm_75] --generate-code=arch=compute_80,code=[sm_80] "
                   "--generate-code=arch=compute_86,code=[sm_86] x.cu", "-O3 x.cu -gencode arch=compute_80,code=compute_80")
        self.check("-gencode arch=compute_90,code=[compute_90] -gencode arch=compute_100,code=[sm_100] x.cu",
                   "x.cu -gencode arch=compute_90,code=compute_90")
        self.check("-arch=sm_90a x.cu", "x.cu -gencode arch=compute_90a,code=compute_90a")

    def test_what_is_no_longer_compiled_for(self):
        self.check("-gencode arch=compute_50,code=[sm_50,compute_50] x.cu", "x.cu -gencode arch=compute_75,code=compute_75")
        self.check("-arch sm_13 x.cu", "x.cu -gencode arch=compute_75,code=compute_75")
        self.check("-arch=native x.cu", "x.cu -gencode arch=compute_75,code=compute_75")

    def test_no_ptx_stays_no_ptx(self):
        self.check("-gencode arch=compute_75,code=sm_75 x.cu", "x.cu -gencode arch=compute_75,code=sm_75")

    def test_the_device_linker_gets_code(self):
        self.check("-rdc=true -arch=sm_80 x.cu", "-rdc=true x.cu -gencode arch=compute_80,code=[compute_80,sm_80]")

    def test_nothing_named_is_left_alone(self):
        self.check("-O2 -c x.cu -o x.o", "-O2 -c x.cu -o x.o")
        self.check("-ptx -arch=compute_60 x.cu", "-ptx x.cu -arch=compute_75")


class Verdicts(unittest.TestCase):
    def check(self, code, said, verdict, reason="", wants=""):
        got = third_party.judged(code, said, wants)
        self.assertEqual(got[0], verdict, got)
        self.assertIn(reason, got[1])

    def test_passed(self):
        self.check(0, "Test PASSED\n", "passed")
        self.check(0, "0 tests failed, FAILED: 0\n", "passed")
        self.check(0, "Device assert failed as expected, CUDA error message is: assert triggered\n", "passed")
        self.check(0, "Non-Matching CPU-GPU Outputs: 0\n", "passed", wants="Outputs: 0")

    def test_failed(self):
        self.check(0, "GPU vs CPU\nFAILED\n", "failed", "FAILED")
        self.check(0, "Non-Matching CPU-GPU Outputs: 3\n", "failed", wants="Outputs: 0")
        self.check(0, "Verifying\nmismatch i=0 result_hD=0 result_host=5\n", "failed", "mismatch i=0")
        self.check(0, "runtime error (no generator)\n", "failed", "no generator")
        self.check(1, "something\nwent wrong\n", "failed", "exit code 1: went wrong")
        self.check(-11, "", "failed", "SIGSEGV")
        self.check(139, "", "failed", "SIGSEGV")

    def test_refused(self):
        line = ('2026-01-01 warning a CUDA function that Wharf does not cover was called; it returned "not supported" '
                "function=cuIpcGetMemHandle\nCUDA error at x.cu:300\n")
        self.check(1, line, "refused", "cuIpcGetMemHandle")
        self.check(0, line.split("\n")[0], "passed")
        self.check(1, line.replace("cuIpcGetMemHandle", '"cuRAND\'s scrambled"'), "refused", "cuRAND's scrambled")
        self.check(1, "kernel Scan: line 12: `mma.sync d, a;` is not supported (unknown instruction)\n", "refused", "mma.sync")

    def test_waived_and_timed_out(self):
        self.check(2, "Two or more GPUs with Peer-to-Peer access capability are required, waived\n", "waived")
        self.check(124, "iteration 3\n", "timed out", "iteration 3")


class Suites(unittest.TestCase):
    def folder(self, files):
        root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(lambda: shutil.rmtree(root))
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        return root

    def programs(self, files):
        root = self.folder(files)
        suite = next(kind for kind in suites.SUITES if kind.fits(root))
        setting = types.SimpleNamespace(work=root / "work", nvcc="nvcc", toolkit="/cuda", old_names="old.h", call=lambda *_: 0)
        suite = suite(root, setting)
        if not isinstance(suite, suites.Samples):
            suite.prepare()
        return {program.name: program for program in suite.programs()}

    def test_manifest(self):
        found = self.programs({"third_party.json": json.dumps({"programs": [
            {"name": "saxpy", "build": "nvcc saxpy.cu -o saxpy", "runs": ["1024", "4096 'a b'"], "wants": "OK"}]})})
        self.assertEqual([run.arguments for run in found["saxpy"].runs], [["1024"], ["4096", "a b"]])
        self.assertEqual(found["saxpy"].runs[1].wants, "OK")

    def test_samples(self):
        found = self.programs({
            "test_args.json": '{"boxFilter": {"runs": [{"args": ["-r=1"]}, {"args": ["-r=2"]}]}, "gl": {"skip": true},'
                              ' "p2p": {"min_gpus": 2}}',
            **{f"Samples/0_Introduction/{name}/CMakeLists.txt": f"add_executable({name} {name}.cu)"
               for name in ("boxFilter", "gl", "p2p", "plain")}})
        self.assertEqual([run.arguments for run in found["boxFilter"].runs], [["-r=1"], ["-r=2"]])
        self.assertTrue(found["gl"].skipped and found["p2p"].skipped)
        self.assertEqual([run.arguments for run in found["plain"].runs], [[]])

    def test_hecbench(self):
        found = self.programs({
            "src/accuracy-cuda/Makefile": "program = main\nrun: $(program)\n\t$(LAUNCHER) ./$(program) 8192 10 100\n",
            "src/other-cuda/Makefile": "program = test\nrun: $(program)\n\t./$(program) -s large \\\n\t  -r 10 > out\n",
            "src/named-cuda/Makefile": "run: x\n\t./x input.txt\n",
            "src/jacobi-cuda/Makefile": "run: x\n\t./main\n",
            "src/jacobi-cuda/main.cu": "#define N 2048\n",
            "src/sort-cuda/Makefile": "run: x\n\t./main 3 100\n"})
        self.assertEqual(found["accuracy"].runs[0].arguments, ["8192", "10", "2"])
        self.assertEqual(found["other"].runs[0].arguments, ["-s", "large", "-r", "2"])
        self.assertEqual((found["named"].executable, found["named"].runs[0].arguments), ("./x", ["input.txt"]))
        self.assertEqual(found["sort"].runs[0].arguments, ["1", "1"])
        self.assertEqual((found["jacobi"].folder / "main.cu").read_text(), "#define N 64\n")


class Calls(unittest.TestCase):
    def test_sizes_are_changed_where_they_are_constants(self):
        root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(lambda: shutil.rmtree(root))
        for name, (file, *changes) in suites.HeCBench.CONSTANTS.items():
            source = root / "HeCBench" / "src" / f"{name}-cuda" / file
            source.parent.mkdir(parents=True)
            source.write_text("".join(f"{was}\n" for was, _ in changes))
        suite = suites.HeCBench(root / "HeCBench", types.SimpleNamespace(work=root / "work"))
        for _ in range(2):
            suite.prepare()
            for name, (file, *changes) in suite.CONSTANTS.items():
                text = (suite.copy / "src" / f"{name}-cuda" / file).read_text()
                self.assertEqual(text, "".join(f"{is_now}\n" for _, is_now in changes), name)

    def test_what_is_not_covered(self):
        root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(lambda: shutil.rmtree(root))
        (root / "one").mkdir()
        (root / "one" / "a.cu").write_text("cudaMalloc(&p, 1); // cudaThing(1)\n/* cudaThing(\n) */ cuOther (x); cudaMine(2);")
        (root / "two").mkdir()
        (root / "two" / "b.cpp").write_text("cudaThing(3);\ncublasOld(h); nppiFilter(1);")
        rows = [{"name": name, "covered": covered} for name, covered in
                (("cudaMalloc", True), ("cudaThing", False), ("cuOther_v2", False), ("cublasOld_v2", True), ("cublasOld", False))]
        self.assertEqual(suites.uncovered_calls([root / "one", root / "two"], rows),
                         {"cuOther": {"one"}, "cudaThing": {"two"}, "nppi…": {"two"}})


if __name__ == "__main__":
    unittest.main()
