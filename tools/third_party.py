#!/usr/bin/env python3
"""Builds and runs CUDA programs of other people's, unchanged, on the software device: do they pass?

  tools/third_party.py [OPTIONS] CHECKOUT…

A checkout is a folder of NVIDIA/cuda-samples, yuhc/gpu-rodinia, sgrauerg/polybenchGpu, zjin-lcf/HeCBench, karpathy/llm.c,
UoB-HPC/BabelStream, AlexeyAB/darknet, or any with a third_party.json:

  {"programs": [{"name": "saxpy", "build": "nvcc saxpy.cu -o saxpy", "runs": ["1024", "4096 fast"], "wants": "PASSED"}]}

("folder": where, below it; "executable": if it is not ./NAME; "wants": a pattern that the output must have.)

  git clone --depth 1 https://github.com/NVIDIA/cuda-samples
  tools/third_party.py cuda-samples                       everything, in all three modes
  tools/third_party.py cuda-samples --only 'simple.*'     programs whose name fits
  tools/third_party.py HeCBench --sample 60               60 programs at random
  tools/third_party.py cuda-samples --again failed        what did not pass last time
  tools/third_party.py HeCBench --calls                   builds nothing: what do the sources call that is not covered?

Each program is built by its own build files, with their options, but for one architecture (of those they name the one that
the software device would choose), in --work; checkouts stay as they are. (Rodinia's and PolyBench's get a header with names
that CUDA has changed, Rodinia's a gcc that links C++. Some sizes are smaller, where a GPU's would take hours.) Then it runs
by `wharf run --local`, and through a `wharf serve` in the modes posted and replay. A line each: verdict, seconds, program,
mode, reason. Verdicts:

  passed     exit code 0, and no output that says that something failed
  refused    Wharf says what it does not support
  waived     the program itself says that it does not want this machine (exit code 2, or its words)
  failed     anything else
  timed out  longer than --time-limit
  not built  its own build files do not build it here: old CUDA, or libraries that are not there

What was done is kept in --work/results.json, also what they print (--work/logs), and is not done again. Exit code 1 if
anything failed or timed out.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import fcntl
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import third_party_suites as suites

SOURCE = pathlib.Path(__file__).resolve().parent.parent
MODES = ("local", "posted", "replay")
FAILED = re.compile(r"\bFAIL(?:ED|URE|S)?\b|\b[Tt]ests? failed|\bINCORRECT\b|[Vv]erification (?:has )?failed|"
                    r"\bMISMATCH(?:ES)?\b|^mismatch i=|CUDA (?:[Rr]untime )?[Ee]rror|CUDA error|\bcudaError[A-Z]\w+|not match the CPU|^runtime error")
# What is no failure, although the pattern above fits.
HARMLESS = re.compile(r"(?:FAIL(?:ED|URES?)?|[Tt]ests? failed|MISMATCH(?:ES)?)\s*[:=]?\s*0\b|\b0 (?:FAIL|MISMATCH|tests? failed)|"
                      r"\bfailed as expected\b")
# What Wharf says when it refuses: of a function that it does not cover, of the program as a whole, of a kernel.
REFUSED = re.compile(r"returned \"not supported\" function=(?:(\w+)|\"([^\"]+))|"
                     r"^wharf: (.*(?:not supported|not covered|cannot|refuse|carries no|no PTX).*)$|"
                     r"(kernel \S+: line \d+: .* is not supported \(.*\))", re.M)
WAIVED = re.compile(r"(?i)waiv\w*|requires (?:a )?(?:GPU|device|compute|SM|at least)\b.*|not supported on (?:this|the) .*|"
                    r"(?:two|2) or more GPUs.*|No CUDA devices support .*|requires .* GPUs.*|no .*support.*exiting.*")


class Setting:
    """Where things are: the toolkit, our build, the folder we work in."""

    def __init__(self, options):
        self.work = pathlib.Path(options.work).resolve()
        self.logs = self.work / "logs"
        self.logs.mkdir(parents=True, exist_ok=True)
        self.build_seconds = options.build_limit
        real = pathlib.Path(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc").resolve()
        if not real.is_file():
            real = SOURCE / "build" / "cuda" / "bin" / "nvcc"
        if not real.is_file():
            sys.exit("there is no nvcc: tools/install_cuda.sh fetches one")
        self.toolkit = self.work / "toolkit"
        self.nvcc = self.toolkit / "bin" / "nvcc"
        self.shadow(real)
        self.wharf = pathlib.Path(options.build).resolve() / "bin" / "wharf"
        if not self.wharf.is_file():
            sys.exit(f"{self.wharf} is not there: make build")
        library = real.parent.parent / "lib64"
        # What they link against and no toolkit need have: the driver's management library.
        drivers = self.work / "drivers"
        drivers.mkdir(exist_ok=True)
        if not (drivers / "libnvidia-ml.so").is_symlink():
            (drivers / "libnvidia-ml.so").symlink_to(self.wharf.parent.parent / "lib" / "wharf" / "libnvidia-ml.so.1")
        self.environment = {**os.environ, "CUDA_HOME": str(self.toolkit), "CUDA_PATH": str(self.toolkit),
                            "PATH": f"{self.nvcc.parent}:{os.environ['PATH']}",
                            "LIBRARY_PATH": f"{library}:{library}/stubs:{drivers}:{os.environ.get('LIBRARY_PATH', '')}",
                            "MAKEFLAGS": ""}

    def shadow(self, real):
        """A toolkit whose nvcc compiles for one architecture."""
        (self.toolkit / "bin").mkdir(parents=True, exist_ok=True)
        for part in real.parent.parent.iterdir():
            if part.name != "bin" and not (self.toolkit / part.name).exists():
                (self.toolkit / part.name).symlink_to(part)
        for part in real.parent.iterdir():
            if part.name != "nvcc" and not (self.toolkit / "bin" / part.name).exists():
                (self.toolkit / "bin" / part.name).symlink_to(part)
        # What older programs call and CUDA 13 has no longer, by a name of today.
        self.old_names = self.work / "old_names.h"
        self.old_names.write_text("#include <unistd.h>\n#ifdef __cplusplus\n#include <cuda_runtime_api.h>\n"
                       "#define cudaThreadSynchronize cudaDeviceSynchronize\n#define cudaThreadExit cudaDeviceReset\n"
                       "#define deviceOverlap asyncEngineCount\n"
                       "#define clockRate warpSize  // only printed, and CUDA 13 has no such member\n#endif\n")
        # They link by gcc what nvcc has compiled, which is C++.
        self.links_cpp = self.work / "links_cpp"
        self.links_cpp.mkdir(exist_ok=True)
        (self.links_cpp / "gcc").write_text('#!/bin/sh\nexec /usr/bin/gcc "$@" -lstdc++\n')
        (self.links_cpp / "gcc").chmod(0o755)
        script = self.nvcc.with_suffix(".new")
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {pathlib.Path(__file__).resolve()} --as-nvcc {real} "$@"\n')
        script.chmod(0o755)
        script.rename(self.nvcc)

    def call(self, folder, command, log):
        """Appends what the command prints to the log; its exit code, 124 if it took too long."""
        with open(log, "ab") as out:
            return bounded([*map(str, command)], folder, self.environment, out, self.build_seconds, 10)


def bounded(command, folder, environment, out, seconds, niceness):
    """The exit code of a command and of all that it starts; 124 if that takes too long."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                               stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=lambda: os.nice(niceness))
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return 124
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def judged(code, said, wants):
    """Verdict and reason."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    bad = next((line for line in lines if FAILED.search(line) and not HARMLESS.search(line) and not line.startswith("wharf")),
               "")
    found = REFUSED.search(said)
    refused = next(filter(None, found.groups())) if found else ""
    if code == 124:
        return "timed out", refused or (lines[-1] if lines else "")
    if code == 0 and not bad and (not wants or re.search(wants, said)):
        return "passed", ""
    if refused:
        return "refused", refused
    waived = next((line for line in lines if WAIVED.search(line)), "")
    if waived and (code == 2 or not bad):
        return "waived", waived
    own = [line for line in lines if line.startswith("wharf")]
    reason = bad or (own[0] if own else lines[-1] if lines else "no output")
    if code < 0 or code > 128:
        number = -code if code < 0 else code - 128
        reason = f"{signal.Signals(number).name if number in set(signal.Signals) else number}: {own[0] if own else reason}"
    return "failed", reason if code == 0 else f"exit code {code}: {reason}"


class Results:
    """What is known, on disk after every row; several of us may work in one folder."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        self.rows = self.stored()

    def stored(self):
        return json.loads(self.path.read_text()) if self.path.is_file() else {}

    def put(self, key, verdict, seconds, reason, **more):
        with self.lock, open(self.path.with_suffix(".lock"), "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.rows = self.stored()
            if key.rsplit("/", 1)[1] in MODES:
                self.rows.pop(key.split(":")[0].rsplit("/", 1)[0] if ":" in key else key.rsplit("/", 1)[0], None)
            self.rows[key] = {"verdict": verdict, "seconds": round(seconds, 1), "reason": reason[:300], **more}
            new = self.path.with_suffix(".new")
            new.write_text(json.dumps(self.rows, indent=1, sort_keys=True) + "\n")
            new.rename(self.path)
            print(f"{verdict:>9}  {seconds:6.1f} s  {key:<44} {reason[:160]}", flush=True)


class Trial:
    def __init__(self, options, setting, results):
        self.options, self.setting, self.results = options, setting, results
        self.socket = setting.work / f"server.{os.getpid()}"
        self.address = f"unix:{self.socket}"

    @contextlib.contextmanager
    def server(self):
        if not {"posted", "replay"} & set(self.options.modes):
            yield
            return
        self.socket.unlink(missing_ok=True)
        with open(self.setting.work / "server.log", "a") as log:
            process = subprocess.Popen([self.setting.wharf, "serve", "--device", "soft", "--listen", self.address,
                                        "--cache-dir", self.setting.work / "cache", "--idle-timeout", "600s"],
                                       stdout=log, stderr=log)
        try:
            for _ in range(300):
                if self.socket.exists() or process.poll() is not None:
                    break
                time.sleep(0.1)
            if not self.socket.exists():
                sys.exit(f"the server did not start: see {self.setting.work}/server.log")
            yield
        finally:
            process.terminate()
            process.wait()
            self.socket.unlink(missing_ok=True)

    def wanted(self, key):
        row = self.results.rows.get(key)
        return (row is None or self.options.again == "all" or
                self.options.again == "failed" and row["verdict"] not in ("passed", "skipped"))

    def log(self, key):
        return self.setting.logs / (re.sub(r"[^\w.+-]", "_", key) + ".log")

    def built(self, program):
        """Whether the program is there, building it if nobody has."""
        key = f"{program.suite}/{program.name}"
        if program.skipped:
            if self.wanted(key):
                self.results.put(key, "not built" if "built" in program.skipped else "skipped", 0, program.skipped)
            return False
        executable = program.folder / program.executable
        if executable.is_file() and not self.options.rebuild:
            return True
        if not self.wanted(key) and self.results.rows[key]["verdict"] == "not built":
            return False
        log, start, code = self.log(key + ".build"), time.monotonic(), 0
        log.unlink(missing_ok=True)
        program.folder.mkdir(parents=True, exist_ok=True)
        with open(self.setting.work / "nvcc.lock", "w") as lock:  # one build at a time, whoever else tries programs here
            fcntl.flock(lock, fcntl.LOCK_EX)
            for folder, command in program.builds:
                code = code or (self.setting.call(folder, command, log) if folder.is_dir() else 1)
        if executable.is_file():
            return True
        said = log.read_text(errors="replace") if log.is_file() else "its folder is not there"
        errors = [line.strip() for line in said.splitlines()
                  if re.search(r"(?i)\berror\b|fatal|cannot find|will not build", line) and "Werror" not in line]
        self.results.put(key, "not built", time.monotonic() - start,
                         "took too long" if code == 124 else errors[0] if errors else said.strip()[-200:])
        return False

    def program(self, program):
        if not self.built(program) or self.options.build_only:
            return
        for run in program.runs:
            name = f"{program.suite}/{program.name}{':' + run.label if run.label else ''}"
            for mode in self.options.modes:
                if self.wanted(f"{name}/{mode}") and (mode == "local" or self.quick(f"{name}/local")):
                    self.one(program, run, mode, f"{name}/{mode}")

    def quick(self, key):
        """Whether a run by --local passed as fast as --quick asks for."""
        row = self.results.rows.get(key)
        return self.options.quick is None or row and row["verdict"] == "passed" and row["seconds"] <= self.options.quick

    def one(self, program, run, mode, key):
        where = ["--local"] if mode == "local" else ["--server", self.address, "--mode", mode, "--timeout", "600s"]
        command = [self.setting.wharf, "run", *where, "--", program.executable, *run.arguments]
        environment = {**self.setting.environment, "XDG_CACHE_HOME": str(self.setting.work / "cache")}
        start = time.monotonic()
        with open(self.log(key), "wb") as out:
            code = bounded([*map(str, command)], program.folder, environment, out, self.options.time_limit,
                           self.options.niceness)
        seconds = time.monotonic() - start
        said = self.log(key).read_text(errors="replace")
        verdict, reason = judged(code, said, run.wants)
        self.results.put(key, verdict, seconds, reason, arguments=run.arguments)


def kinds(options):
    """The checkouts, with what is known of them."""
    for folder in map(lambda place: pathlib.Path(place).resolve(), options.checkouts):
        kind = next((kind for kind in suites.SUITES if kind.fits(folder)), None)
        if kind is None:
            sys.exit(f"{folder} is no checkout that is known, and has no third_party.json: see --help")
        yield kind, folder


def print_calls(options):
    """What the sources call that is not covered."""
    wharf = pathlib.Path(options.build).resolve() / "bin" / "wharf"
    rows = [row for missing in ([], ["--missing"])
            for row in json.loads(subprocess.run([wharf, "api", "--json", *missing], check=True, capture_output=True).stdout)]
    for kind, folder in kinds(options):
        sources = sorted(one for one in folder.glob(kind.SOURCES) if one.is_dir() or one.suffix == ".cu")
        found = suites.uncovered_calls(sources, rows)
        hit = set().union(*found.values())
        print(f"{folder.name}: {len(hit)} of {len(sources)} programs call what is not covered")
        for name, programs in sorted(found.items(), key=lambda one: (-len(one[1]), one[0])):
            print(f"{len(programs):>6}  {name}: {', '.join(sorted(programs)[:5])}{', …' if len(programs) > 5 else ''}")
    return 0


def chosen(options, setting):
    programs = []
    for kind, folder in kinds(options):
        suite = kind(folder, setting)
        suite.prepare()
        found = list(suite.programs())
        if options.sample and options.sample < len(found):
            found = sorted(random.Random(options.seed).sample(found, options.sample), key=lambda one: one.name)
        programs += found
    return [one for one in programs if not options.only or re.fullmatch(options.only, one.name)]


def summary(results):
    table = collections.defaultdict(collections.Counter)
    for key, row in results.rows.items():
        suite, mode = key.split("/")[0], key.rsplit("/", 1)[1]
        table[suite, mode if mode in MODES else "not run"][row["verdict"]] += 1
    for (suite, mode), counts in sorted(table.items()):
        print(f"{suite:>12} {mode:<8}", ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common()))
    return any(counts["failed"] or counts["timed out"] for counts in table.values())


def main():
    if sys.argv[1:2] == ["--as-nvcc"]:
        real, *arguments = sys.argv[2:]
        os.execv(real, [real, *suites.one_architecture(arguments)])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", nargs="*", metavar="CHECKOUT", help="folders; none: only what is known is summed up")
    parser.add_argument("--work", default="build/third_party", help="where everything is built and kept (%(default)s)")
    parser.add_argument("--build", default=SOURCE / "build" / "default", help="Wharf's build (default: build/default)")
    parser.add_argument("--only", help="a pattern that programs' names must fit")
    parser.add_argument("--sample", type=int, help="so many programs of each checkout, at random")
    parser.add_argument("--seed", type=int, default=1, help="of --sample")
    parser.add_argument("--modes", default=",".join(MODES), help="of %(default)s")
    parser.add_argument("--time-limit", type=float, default=120, metavar="SECONDS", help="of each run (%(default)s)")
    parser.add_argument("--quick", type=float, metavar="SECONDS",
                        help="posted and replay only for what has passed by --local within that")
    parser.add_argument("--build-limit", type=float, default=600, metavar="SECONDS", help="of each build (%(default)s)")
    parser.add_argument("--again", choices=("failed", "all"), help="run these although they have run")
    parser.add_argument("--rebuild", action="store_true", help="call their build files although the program is there")
    parser.add_argument("--build-only", action="store_true", help="build, do not run")
    parser.add_argument("--calls", action="store_true",
                        help="build nothing: which functions that Wharf does not cover do the sources call?")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="programs at a time (%(default)s)")
    parser.add_argument("--niceness", type=int, default=10, help="of programs (%(default)s); builds have 10")
    parser.add_argument("--json", help="write the results here, too")
    options = parser.parse_args()
    options.modes = [mode for mode in MODES if mode in options.modes.split(",")]
    if options.calls:
        return print_calls(options)
    setting = Setting(options)
    results = Results(setting.work / "results.json")
    trial = Trial(options, setting, results)
    programs = chosen(options, setting)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with trial.server(), concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        try:
            for job in [pool.submit(trial.program, program) for program in programs]:
                job.result()
        except BaseException:  # Ctrl-C too: what runs now is the last
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    if options.json:
        shutil.copy(results.path, options.json)
    return 1 if summary(results) else 0


if __name__ == "__main__":
    sys.exit(main())
