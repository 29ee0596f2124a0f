#!/usr/bin/env python3
"""What is worth trying on a machine with a GPU, in one go of ten minutes.

  tools/gpu_check.py pack FILE.tar.xz     here, after `make build benchmarks`: the programs and the libraries they need, to carry
  tools/gpu_check.py run                  there: with build/default, or --pack FILE.tar.xz

Each step says how it went, and the next begins whatever that was. At the end there are a table and, with --json FILE, all
of it as JSON. Exit code 1 if a step failed. A step is skipped where what it needs is not there.
"""

import argparse
import concurrent.futures
import contextlib
import ctypes.util
import dataclasses
import functools
import json
import lzma
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time

from gpu_programs import FRAMEWORKS, RESNET

SOURCE = pathlib.Path(__file__).resolve().parent.parent
# Programs that test themselves and print what does not depend on the device.
NOT_HERE = {"interrupted", "looper", "looper_no_ptx", "misbehave", "cuda_decode", "cuda_pose",
            "memory_spaces_packed", "packs_packed", "pose_client", "pose_server", "reduce", "convolver", "listener",
            "racing", "racing_plain", "spectra", "straying", "unwritten", "weights"}
ALONE = {"management", "memcpy_forms", "memcpy_forms_static"}  # they look at the GPU's free memory, which others take
# Natively only: cuBLAS writes a line on standard output for each wrong argument.
NVIDIA_SAYS = re.compile(r"^ \*\* On entry to .*\n", re.MULTILINE)
# Of these libraries the functions are kernels of ours, which round otherwise than NVIDIA's: a case passes in both, and the
# hash of its numbers is the same in all modes.
OWN_KERNELS = re.compile(r"^(cublas|curand|cusolver|cusparse)_(?!device)")
HASH = re.compile(r"(?<=: ok )[0-9a-f]{16}$", re.MULTILINE)
OF_CUDA_12 = re.compile(r"^cuda_12_|_12(_static)?$")  # whose libraries the machine does not have
SYSTEM_LIBRARIES = re.compile(r"^(ld-linux|libc|libm|libdl|libpthread|librt|libresolv|libstdc\+\+|libgcc_s)[-.]")
MODES = ("posted", "replay")
SIZE_LIMIT_MIB = 64
MACHINE_CODE = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 6}]
SKIPPED = 77

RRTO_MODELS = ("fasterrcnn_resnet50_fpn", "deeplabv3_resnet50", "fcn_resnet50", "retinanet_resnet50_fpn", "convnext_tiny",
               "resnet50")


@dataclasses.dataclass
class Result:
    step: str
    verdict: str  # passed, failed, skipped, timed out, not begun
    seconds: float = 0.0
    said: str = ""


class Skip(Exception):
    """What the step needs is not there."""


@functools.cache
def toolkit_libraries():
    """The toolkit's, and PyPI's for what it does not have, in front of what the user's environment names: programs link its
    runtime, and NVRTC is its own."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    own = pathlib.Path(nvcc).resolve().parent.parent
    listing = subprocess.run([shutil.which("python3"), "-c", "import nvidia; print(*nvidia.__path__)"],
                             capture_output=True, text=True).stdout
    of_packages = [folder for package in listing.split() for folder in sorted(pathlib.Path(package).glob("*/lib"))]
    folders = [str(folder) for folder in [own / "lib64", own / "lib", *of_packages] if folder.is_dir()]
    return ":".join(filter(None, [*folders, os.environ.get("LD_LIBRARY_PATH", "")]))


def last_line(text, most=160):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:most] if lines else ""


class Check:
    def __init__(self, options, bin_folder, programs, environment):
        self.options, self.bin, self.programs, self.environment = options, bin_folder, programs, environment
        self.end = time.monotonic() + 60 * options.minutes
        self.results, self.facts = [], {}
        self.sandbox = "strong"
        self.logs = pathlib.Path(options.logs or tempfile.mkdtemp(prefix="wharf-gpu-"))
        self.logs.mkdir(parents=True, exist_ok=True)

    # --- running things ---

    def environment_of(self, native):
        """`native`: with the vendor's libraries, as if there were no Wharf."""
        return {**os.environ, "LD_LIBRARY_PATH": toolkit_libraries()} if native else self.environment

    def run(self, name, command, limit=60, native=False, ok=(0,), more=None):
        """A command's output; its log is kept. `native`: as environment_of has it. `more`: of the environment."""
        limit = max(1, min(limit, self.end - time.monotonic()))
        with open(self.logs / f"{name}.log", "w+") as log, open(self.logs / f"{name}.err", "w+") as errors:
            done = subprocess.run([*map(str, command)], stdout=log, stderr=errors, timeout=limit, cwd=SOURCE,
                                  env={**self.environment_of(native), **(more or {})})
        done.stdout = (self.logs / f"{name}.log").read_text(errors="replace")
        done.stderr = (self.logs / f"{name}.err").read_text(errors="replace")
        if done.returncode == SKIPPED:
            raise Skip(last_line(done.stdout + done.stderr))
        if done.returncode not in ok:
            raise AssertionError(f"exit code {done.returncode}: {last_line(done.stderr) or last_line(done.stdout)}")
        return done.stdout

    def step(self, name, work):
        if time.monotonic() >= self.end:
            result = Result(name, "not begun", said="no time was left")
        else:
            start = time.monotonic()
            try:
                verdict, said = "passed", work() or ""
            except Skip as why:
                verdict, said = "skipped", str(why)
            except subprocess.TimeoutExpired as why:
                verdict, said = "timed out", f"after {why.timeout:.0f} s"
            except (AssertionError, OSError, ValueError, KeyError) as why:
                verdict, said = "failed", str(why)
            result = Result(name, verdict, time.monotonic() - start, said)
        self.results.append(result)
        print(f"{result.verdict:>10}  {result.seconds:6.1f} s  {result.step}  {result.said}", flush=True)

    @contextlib.contextmanager
    def serving(self, name, command, native=False):
        """While a program serves: the words of the line by which it says that it does."""
        file = self.logs / f"{name}.log"
        with open(file, "w") as log:
            process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=log, text=True,
                                       env=self.environment_of(native))
        try:
            line = process.stdout.readline()
            if not line:
                raise AssertionError(f"{name} did not start: {last_line(file.read_text())}")
            yield line.split()
        finally:
            process.terminate()
            process.wait(30)

    @contextlib.contextmanager
    def server(self, name):
        command = [self.bin / "wharf", "serve", "--device", self.options.device, "--sandbox", self.sandbox, "--listen",
                   "127.0.0.1:0", "--cache-dir", self.logs / "cache", "--max-sessions", "64"]
        with self.serving(f"{name}.server", command) as words:
            yield words[-1]

    def through(self, address, mode, command):
        return [self.bin / "wharf", "run", "--server", address, "--mode", mode, "--timeout", "120s", "--", *command]

    def needs_gpu(self):
        if self.options.device != "cuda":
            raise Skip("needs a GPU")

    # --- steps ---

    def machine(self):
        self.needs_gpu()
        said = self.run("machine", ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"],
                        native=True)
        self.facts["gpu"] = last_line(said)
        return last_line(said)

    def conformance(self):
        """Each test in a process of its own: a fault leaves a process without a GPU for good."""
        listing = subprocess.run([self.bin / "device_tests", "--gtest_list_tests"], capture_output=True, text=True,
                                 env=self.environment).stdout
        tests, suite = [], ""
        for line in listing.splitlines():
            name = line.split("#")[0].strip()
            if not line.startswith(" "):
                suite = name
            elif name.endswith(f"/{self.options.device}") and "RandomConformance" not in suite:
                tests.append(suite + name)
        failed, skipped = {}, []
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = {pool.submit(self.gtest, f"conformance.{test.replace('/', '.')}", "device_tests", test, 40): test
                    for test in tests}
            for job in concurrent.futures.as_completed(jobs):
                if isinstance(job.exception(), Skip):
                    skipped.append(jobs[job])
                elif job.exception() is not None:
                    failed[jobs[job]] = str(job.exception())
        if failed:
            raise AssertionError(f"{len(failed)} of {len(tests)}: " + "; ".join(f"{k}: {v}" for k, v in sorted(failed.items())))
        return f"{len(tests) - len(skipped)} tests, {len(skipped)} skipped: {', '.join(sorted(skipped))}"

    def calls(self):
        said = self.run("calls", [self.bin / "device_device_benchmark", "--benchmark_format=json"], limit=60)
        self.facts["calls"] = json.loads(said)
        return ", ".join(f"{row['name'].removesuffix('/real_time')} {row['real_time']:.0f} µs"
                         for row in self.facts["calls"]["benchmarks"] if "real_time" in row)

    def random_programs(self):
        """Programs drawn at random, of other seeds in each process."""
        def share(index):
            more = {"WHARF_RANDOM_PROGRAMS": str(self.options.random), "WHARF_REGION_PROGRAMS": str(self.options.random),
                    "WHARF_RANDOM_SEED": str(1_000_000 * index + 1), "WHARF_REGION_SEED": str(1_000_000 * index + 1)}
            return self.gtest(f"random{index}", "device_tests", f"*RandomConformance*/{self.options.device}", limit=50,
                              more=more)
        with concurrent.futures.ThreadPoolExecutor(self.options.jobs) as pool:
            jobs = [pool.submit(share, index) for index in range(self.options.jobs)]
            said = [job.exception() for job in jobs]
        if any(said):
            raise AssertionError("; ".join(f"random{index}: {why}" for index, why in enumerate(said) if why))
        return f"{self.options.jobs} × {self.options.random} programs of each kind"

    def driver(self):
        self.needs_gpu()
        return self.gtest("driver", "device_cuda_tests", "*Real*", limit=60)

    def gtest(self, name, program, tests, limit, more=None):
        said = self.run(name, [self.bin / program, f"--gtest_filter={tests}"], limit, more=more)
        passed = re.search(r"PASSED +\] (\d+) test", said)
        if "[  SKIPPED ]" in said and passed and passed.group(1) == "0":
            raise Skip(f"{tests} is skipped")
        if not passed or passed.group(1) == "0":
            raise AssertionError(f"no test of {tests} ran")
        return f"{passed.group(1)} tests"

    def strong_sandbox(self):
        """A worker has what it needs of the GPU, and no more. Others go on with weak if it has not."""
        try:
            with self.server("strong") as address:
                self.run("strong", self.through(address, "posted", [self.programs / "memcpy_forms"]))
        except BaseException as why:
            self.sandbox = "weak"
            raise AssertionError(f"{why}; the server: {last_line((self.logs / 'strong.server.log').read_text())}") from why

    def program(self, address, path):
        name = path.name
        if time.monotonic() >= self.end:
            raise Skip("no time was left")
        if self.options.device == "cuda":
            want = NVIDIA_SAYS.sub("", self.run(f"{name}.native", [path], limit=60, native=True))
        else:
            want = self.run(f"{name}.local", [self.bin / "wharf", "run", "--local", "--device", "soft", "--", path])
        rounds = self.options.device == "cuda" and OWN_KERNELS.match(name)
        for mode in MODES:
            got = self.run(f"{name}.{mode}", self.through(address, mode, [path]), limit=30)
            if rounds and HASH.sub("", got) == HASH.sub("", want):
                rounds, want = False, got
            if got != want:
                raise AssertionError(f"prints something else in mode {mode}: see {self.logs}/{name}.*.log")

    def all_programs(self):
        """One line for all that pass, and one for each that does not."""
        paths = sorted(path for path in self.programs.iterdir()
                       if path.is_file() and os.access(path, os.X_OK) and path.name not in NOT_HERE
                       and not OF_CUDA_12.search(path.name)
                       and (not self.options.programs or path.name in self.options.programs.split(",")))
        failed, passed, skipped = {}, [], []
        with self.server("programs") as address:
            for alone in (False, True):
                with concurrent.futures.ThreadPoolExecutor(1 if alone else self.options.jobs) as pool:
                    jobs = {pool.submit(self.program, address, path): path.name
                            for path in paths if (path.name in ALONE) == alone}
                    for job in concurrent.futures.as_completed(jobs):
                        try:
                            job.result()
                            passed.append(jobs[job])
                        except Skip:
                            skipped.append(jobs[job])
                        except (AssertionError, OSError, subprocess.TimeoutExpired) as why:
                            failed[jobs[job]] = str(why)
        self.facts["programs"] = {"passed": sorted(passed), "skipped": sorted(skipped), "failed": failed}
        said = f"{len(passed)} of {len(paths)} as without a server in {', '.join(MODES)}"
        if failed:
            raise AssertionError(f"{said}; " + "; ".join(f"{name}: {why}" for name, why in sorted(failed.items())))
        return said

    def bench(self):
        rows = self.logs / "bench.json"
        self.run("bench", [self.bin / "wharf", "bench", "offload", "--device", self.options.device, "--modes",
                           "device_only,native,replay,posted", "--scenarios", "indoors", "--inferences",
                           self.options.inferences, "--json", rows, "--markdown"], limit=150)
        self.facts["bench"] = json.loads(rows.read_text())
        return f"rows in {rows}"

    def framework(self, name):
        self.needs_gpu()
        # A file, for Triton reads its functions' text, and not of a module's name.
        source = self.logs / f"try_{name.replace(' ', '_').replace('.', '_')}.py"
        source.write_text(FRAMEWORKS[name])
        program = [shutil.which("python3"), source]
        try:
            said = self.run(f"{name}.native", program, limit=60, native=True)
        except AssertionError as why:
            raise Skip(f"not natively either: {why}") from why
        with self.server(name) as address:
            for mode in MODES:
                self.run(f"{name}.{mode}", self.through(address, mode, program), limit=60)
        return last_line(said)

    def resnet(self):
        source = self.logs / "resnet.py"
        source.write_text(RESNET)
        source.chmod(0o755)
        return source

    def latency(self):
        """One inference of ResNet-18 by PyTorch, picture in and answer out, without a link: what Wharf itself costs."""
        self.needs_gpu()
        program = [shutil.which("python3"), self.resnet()]
        rows = {"native": json.loads(last_line(self.run("latency.native", program, limit=60, native=True), 4096))}
        with self.server("latency") as address:
            for mode in MODES:
                said = self.run(f"latency.{mode}", self.through(address, mode, program), limit=60)
                rows[mode] = json.loads(last_line(said, 4096))
        self.facts["latency"] = rows
        return ", ".join(f"{mode} {row['median_ms']:.2f} ms" for mode, row in rows.items())

    def wifi(self):
        """The same over the links of a robot."""
        self.needs_gpu()
        said = ""
        for mode in ("replay", "posted", "percall"):  # a file each: what is done is kept
            rows = self.logs / f"wifi.{mode}.json"
            self.run(f"wifi.{mode}", [self.bin / "wharf", "bench", "offload", "--device", "cuda", "--program", self.resnet(),
                                      "--modes", mode, "--scenarios", "indoors", "--inferences", self.options.inferences,
                                      "--json", rows, "--markdown"], limit=240)
            self.facts.setdefault("wifi", []).append(json.loads(rows.read_text()))
            said += f"{mode}: {rows} "
        return said

    @contextlib.contextmanager
    def link(self, name, target):
        """A robot's Wi-Fi in front of a server: 93 Mbit/s, 2.6 ms."""
        command = [self.bin / "wharf", "link", "--listen", "127.0.0.1:0", "--target", target, "--rate", "93mbit", "--rtt",
                   "2.6ms"]
        with self.serving(f"{name}.link", command) as words:
            yield words[-3]  # "… from LISTEN to TARGET"

    def by_hand(self, name, model, rows):
        python, scripts = shutil.which("python3"), SOURCE / "examples" / "pytorch"
        with (self.serving(f"{name}.server", [python, scripts / "server.py", model], native=True) as words,
              self.link(name, words[-1]) as address):
            self.run(name, [python, scripts / "client.py", model, "--server", address, "--inferences",
                            self.options.inferences, "--json", rows], limit=200, native=True)

    def model(self, address, model, mode):
        """Milliseconds of an inference, the median of the later half, and all that `wharf run --stats` counted."""
        name = f"models.{model}.{mode.replace(' ', '_')}"
        rows, counters = self.logs / f"{name}.json", self.logs / f"{name}.stats.json"
        if mode == "by hand":
            self.by_hand(name, model, rows)
        else:
            inferences = 3 if mode == "percall" else self.options.inferences
            with self.link(name, address) as link:
                self.run(name, [self.bin / "wharf", "run", "--server", link, "--mode", mode, "--timeout", "120s", "--stats",
                                counters, "--", shutil.which("python3"), SOURCE / "examples" / "pytorch" / "inference.py",
                                model, "--inferences", inferences, "--json", rows], limit=400)
        taken = json.loads(rows.read_text())["latency_ms"]
        return {"model": model, "mode": mode, "inferences": len(taken),
                "median_ms": statistics.median(taken[len(taken) // 2:]),
                "counters": json.loads(counters.read_text()) if counters.exists() else None}

    def models(self):
        """The networks of RRTO's Figure 12 over Wi-Fi, all at once: each waits for its own link. Every way in turns, of
        each network another first, and call by call beside them."""
        self.needs_gpu()
        rows, failed = [], {}

        def one(address, model, mode):
            try:
                rows.append(self.model(address, model, mode))
            except (AssertionError, OSError, ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as why:
                failed[f"{model} {mode}"] = str(why)

        def in_turns(address, model):
            modes = ["replay", "posted", "by hand"]
            first = RRTO_MODELS.index(model) % len(modes)
            for mode in modes[first:] + modes[:first]:
                one(address, model, mode)
        with self.server("models") as address, concurrent.futures.ThreadPoolExecutor(2 * len(RRTO_MODELS)) as pool:
            for model in RRTO_MODELS:
                pool.submit(in_turns, address, model)
                pool.submit(one, address, model, "percall")
        self.facts["models"] = sorted(rows, key=lambda row: (row["model"], row["mode"]))
        said = ", ".join(f"{row['model']} {row['mode']} {row['median_ms']:.1f} ms" for row in self.facts["models"])
        if failed:
            raise AssertionError("; ".join(f"{name}: {why}" for name, why in sorted(failed.items())) + f"; {said}")
        return said

    def all(self):
        steps = {
            "machine": self.machine, "driver": self.driver, "conformance": self.conformance,
            "calls": self.calls,
            "strong sandbox": self.strong_sandbox, "programs": self.all_programs,
            **{name: lambda name=name: self.framework(name) for name in FRAMEWORKS},
            "latency": self.latency, "Wi-Fi": self.wifi, "models": self.models,
            "random programs": self.random_programs, "bench": self.bench,
        }
        wanted = self.options.steps.split(",") if self.options.steps else list(steps)
        for name in wanted:
            self.step(name, steps[name])


def libraries_of(programs):
    """What the programs load that not every system has."""
    found = {}
    for program in programs:
        listing = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        for name, path in re.findall(r"(\S+) => (/\S+)", listing):
            if not SYSTEM_LIBRARIES.match(name):
                found[name] = pathlib.Path(path).resolve()
    return found


def pack(options):
    build = pathlib.Path(options.build)
    programs = [build / "bin" / name for name in ("wharf", "wharf-worker", "device_tests", "device_cuda_tests",
                                            "device_device_benchmark")]
    missing = [str(program) for program in programs if not program.exists()]
    if missing:
        sys.exit(f"{', '.join(missing)} is not there: make build benchmarks")
    dropin = sorted((build / "lib" / "wharf").glob("*.so*"))
    with (tempfile.TemporaryDirectory() as folder, lzma.open(options.file, "w", filters=MACHINE_CODE) as compressed,
          tarfile.open(fileobj=compressed, mode="w|") as archive):
        def add(path, name):
            if path.is_symlink():
                return archive.add(path, name)
            stripped = pathlib.Path(folder) / "stripped"
            shutil.copy(path, stripped)
            subprocess.run(["strip", "--strip-unneeded", stripped], capture_output=True)  # scripts stay as they are
            return archive.add(stripped, name)

        for program in programs:
            add(program, f"bin/{program.name}")
        for library in dropin:
            add(library, f"lib/wharf/{library.name}")
        for program in sorted((build / "cuda").iterdir()):
            if program.is_file():
                add(program, f"cuda/{program.name}")
        for name, path in sorted(libraries_of([*programs, *dropin]).items()):
            if build.resolve() not in path.parents:
                add(path, f"lib/system/{name}")
    mib = pathlib.Path(options.file).stat().st_size / (1 << 20)
    print(f"{options.file}: {mib:.1f} MiB")
    if mib > SIZE_LIMIT_MIB:
        sys.exit(f"that is more than {SIZE_LIMIT_MIB} MiB")


def run(options):
    with tempfile.TemporaryDirectory(prefix="wharf-pack-") as folder:
        build, environment = pathlib.Path(options.build), {**os.environ, "LD_LIBRARY_PATH": toolkit_libraries()}
        if options.pack:
            build = pathlib.Path(folder)
            with tarfile.open(options.pack) as archive:
                archive.extractall(build, filter="data")
        if (carried := build / "lib" / "system").is_dir():
            environment["LD_LIBRARY_PATH"] = f"{carried}:{environment['LD_LIBRARY_PATH']}"
        if options.device == "cuda" and ctypes.util.find_library("cuda") is None and shutil.which("nvidia-smi") is None:
            sys.exit("there is no NVIDIA driver here; --device soft tries the same on the CPU")
        check = Check(options, build.resolve() / "bin", build.resolve() / "cuda", environment)
        check.all()
    if options.json:
        document = {"device": options.device, **check.facts, "steps": [dataclasses.asdict(one) for one in check.results]}
        pathlib.Path(options.json).write_text(json.dumps(document, indent=2) + "\n")
    counts = {verdict: sum(one.verdict == verdict for one in check.results)
              for verdict in ("passed", "failed", "timed out", "skipped", "not begun")}
    print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count), f"(logs: {check.logs})")
    return 1 if counts["failed"] or counts["timed out"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=SOURCE / "build" / "default", help="the build (default: build/default)")
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack", help="make an archive of what is built")
    packing.add_argument("file")
    running = commands.add_parser("run", help="try everything")
    running.add_argument("--pack", help="the archive, instead of a build")
    running.add_argument("--device", choices=("cuda", "soft"), default="cuda", help="soft: the same steps without a GPU")
    running.add_argument("--steps", help="only these, separated by commas")
    running.add_argument("--programs", help="only these of tests/cuda, separated by commas")
    running.add_argument("--inferences", type=int, default=20, help="of each row of the bench")
    running.add_argument("--random", type=int, default=200, help="random programs of each kind, in each of the jobs")
    running.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="programs at a time")
    running.add_argument("--minutes", type=float, default=10, help="steps that have not begun by then do not")
    running.add_argument("--json", help="write everything to this file")
    running.add_argument("--logs", help="keep logs in this folder")
    options = parser.parse_args()
    return pack(options) if options.command == "pack" else run(options)


if __name__ == "__main__":
    sys.exit(main())
