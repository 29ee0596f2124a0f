"""What tools/third_party.py knows of collections of CUDA programs: how their own files build and run them.

No code of theirs is here, only names, arguments and the formats of their inputs, which are made at random.
"""

import dataclasses
import json
import pathlib
import random
import re
import shlex
import shutil
import struct


@dataclasses.dataclass
class Run:
    """One way to run a program. `wants`: a pattern that its output must have."""
    arguments: list
    label: str = ""
    wants: str = ""


@dataclasses.dataclass
class Program:
    suite: str
    name: str
    folder: pathlib.Path  # where it runs
    builds: list  # commands, in the folder they are to run in: (folder, [arguments])
    executable: str  # relative to `folder`
    runs: list = dataclasses.field(default_factory=lambda: [Run([])])
    skipped: str = ""  # why it is not tried at all


class Samples:
    """NVIDIA/cuda-samples: CMake for each, as its README says, for all of libNVVM's together; arguments and exceptions in
    test_args.json, smaller ones here where a GPU's sizes are known to take long."""

    SOURCES = "Samples/[0-7]_*/*"  # one for each program
    ARGUMENTS = {
        "FDTD3d": "-dimx=96 -dimy=96 -dimz=96",
        "NV12toBGRandResize": "-input=data/test1920x1080.nv12 -width=1920 -height=1080 -dst_width=640 -dst_height=480 -batch=1",
        "globalToShmemAsyncCopy": "-wA=320 -hA=320 -wB=320 -hB=320",
        "radixSortThrust": "-iterations=5",
    }
    # Sizes that are constants: what is there, and what is put there in a copy. The products of matrices also get the check
    # that they have for such sizes.
    CONSTANTS = {
        **{f"{kind}TensorCoreGemm": ((f"_TILES {tiles}\n", "_TILES 32\n"), ("CPU_DEBUG 0", "CPU_DEBUG 1"))
           for kind, tiles in (("cuda", 256), ("imma", 256), ("bf16", 512), ("tf32", 512), ("dmma", 1024))},
        "HSOpticalFlow": (("nSolverIters = 500", "nSolverIters = 20"),),
        "alignedTypes": (("NUM_ITERATIONS = 32", "NUM_ITERATIONS = 4"),),
        "interval": (("NUM_RUNS (100)", "NUM_RUNS (2)"),),
        "scan": (("iCycles = 100", "iCycles = 2"),),
    }
    NVVM = "7_libNVVM"

    @staticmethod
    def fits(folder):
        return (folder / "Samples").is_dir() and (folder / "test_args.json").is_file()

    def __init__(self, folder, setting):
        self.folder, self.build, self.setting = folder, setting.work / "samples", setting
        self.smaller = setting.work / "samples_smaller"

    def prepare(self):
        """What CMake finds out about compilers is the same for all of them, and takes longer than most builds."""
        first, known = self.build / "compilers", self.build / "CMakeFiles"
        if not known.is_dir():
            first.mkdir(parents=True, exist_ok=True)
            (first / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(x LANGUAGES C CXX CUDA)\n")
            self.setting.call(first, self.configure(first, first), self.setting.work / "samples.log")
            shutil.copytree(first / "CMakeFiles", known)

    def configure(self, source, build):
        return ["cmake", "-S", source, "-B", build, "-G", "Unix Makefiles", f"-DCMAKE_CUDA_COMPILER={self.setting.nvcc}"]

    def source(self, folder):
        """Where a program's sources are: in the checkout, or in a copy with smaller constants."""
        constants = self.CONSTANTS.get(folder.name)
        if constants is None:
            return folder
        copy = self.smaller / folder.relative_to(self.folder)
        if not copy.is_dir():
            copied(folder, copy)
            for part in ("Common", "cmake"):
                if not (self.smaller / part).exists():
                    (self.smaller / part).symlink_to(self.folder / part)
            for file in filter(lambda file: file.suffix in LANGUAGES, copy.rglob("*")):
                replace_in(file, constants)
        return copy

    def builds(self, source, folder):
        """The commands that build the program whose sources are there, and the folder they leave it in."""
        if source.parent.name == self.NVVM:
            folder, source = folder.parent, source.parent
            places = [f"-DCMAKE_{kind}_PATH={self.setting.toolkit}/{place}"
                      for kind, place in (("LIBRARY", "lib64"), ("INCLUDE", "include"))]
            return [(self.build, [*self.configure(source, folder), *places]), (folder, ["make"])]
        builds = [(self.build, ["cp", "-rT", self.build / "CMakeFiles", folder / "CMakeFiles"]),
                  (self.build, self.configure(source, folder)), (folder, ["make"])]
        if (source / "data").is_dir():  # where test_args.json says that references are
            builds.append((folder, ["ln", "-sfnT", source / "data", "data"]))
        return builds

    def programs(self):
        arguments = json.loads((self.folder / "test_args.json").read_text())
        for listed in sorted((self.folder / "Samples").glob("[0-7]_*/*/CMakeLists.txt")):
            source = self.source(listed.parent)
            folder = self.build / listed.parent.relative_to(self.folder)
            names = re.findall(r"add_executable\s*\(\s*([\w-]+)", listed.read_text())
            for name in dict.fromkeys(names or ([] if listed.parent.parent.name == self.NVVM else [listed.parent.name])):
                known = {"args": self.ARGUMENTS[name].split()} if name in self.ARGUMENTS else arguments.get(name, {})
                skipped = "skipped by the samples' own test_args.json" if known.get("skip") else ""
                if known.get("min_gpus", 1) > 1:
                    skipped = "wants several GPUs"
                runs = [Run(one.get("args", []), str(index) if "runs" in known else "")
                        for index, one in enumerate(known.get("runs", [known]))]
                yield Program("samples", name, folder, self.builds(source, folder), f"./{name}", runs, skipped)


class Rodinia:
    """yuhc/gpu-rodinia: a Makefile each; inputs, which are no part of the repository, are made here, small."""

    # Program: folder below cuda/, executable, arguments of each run.
    KNOWN = {
        "b+tree": ("b+tree", "./b+tree.out", ["file ../../data/b+tree/mil.txt command ../../data/b+tree/command.txt"]),
        "backprop": ("backprop", "./backprop", ["4096"]),
        "bfs": ("bfs", "./bfs.out", ["../../data/bfs/graph.txt"]),
        "euler3d": ("cfd", "./euler3d", ["../../data/cfd/mesh"]),
        "euler3d_double": ("cfd", "./euler3d_double", ["../../data/cfd/mesh"]),
        "pre_euler3d": ("cfd", "./pre_euler3d", ["../../data/cfd/mesh"]),
        "pre_euler3d_double": ("cfd", "./pre_euler3d_double", ["../../data/cfd/mesh"]),
        "dwt2d": ("dwt2d", "./dwt2d", ["192.bmp -d 192x192 -f -5 -l 3", "192.bmp -d 192x192 -f -9 -l 3"]),
        "gaussian": ("gaussian", "./gaussian", ["-s 16", "-f ../../data/gaussian/matrix4.txt"]),
        "heartwall": ("heartwall", "./heartwall", ["../../data/heartwall/test.avi 2"]),
        "hotspot": ("hotspot", "./hotspot", ["64 2 2 ../../data/hotspot/temp ../../data/hotspot/power output.out"]),
        "hotspot3D": ("hotspot3D", "./3D", ["64 8 20 ../../data/hotspot3D/power ../../data/hotspot3D/temp output.out"]),
        "huffman": ("huffman", "./pavle", ["../../data/huffman/input"]),
        "hybridsort": ("hybridsort", "./hybridsort", ["r"]),
        "kmeans": ("kmeans", "./kmeans", ["-o -i ../../data/kmeans/points"]),
        "lavaMD": ("lavaMD", "./lavaMD", ["-boxes1d 3"]),
        "leukocyte": ("leukocyte", "./CUDA/leukocyte", ["../../data/leukocyte/test.avi 2"]),
        "lud": ("lud", "cuda/lud_cuda", ["-s 256 -v"]),
        "mummergpu": ("mummergpu", "bin/mummergpu", ["../../data/mummergpu/reference.fna ../../data/mummergpu/query.fna"]),
        "myocyte": ("myocyte", "./myocyte.out", ["10 1 0"]),
        "nn": ("nn", "./nn", ["filelist_4 -r 5 -lat 30 -lng 90"]),
        "nw": ("nw", "./needle", ["256 10"]),
        "particlefilter_naive": ("particlefilter", "./particlefilter_naive", ["-x 64 -y 64 -z 4 -np 256"]),
        "particlefilter_float": ("particlefilter", "./particlefilter_float", ["-x 64 -y 64 -z 4 -np 256"]),
        "pathfinder": ("pathfinder", "./pathfinder", ["10000 100 20"]),
        "srad_v1": ("srad/srad_v1", "./srad", ["10 0.5 64 64"]),
        "srad_v2": ("srad/srad_v2", "./srad", ["256 256 0 127 0 127 0.5 2"]),
        "streamcluster": ("streamcluster", "./sc_gpu", ["5 10 16 1024 1024 100 none output.txt 1"]),
    }

    SOURCES = "cuda/*"

    @staticmethod
    def fits(folder):
        return (folder / "cuda" / "hotspot").is_dir() and (folder / "common" / "make.config").is_file()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / "rodinia", setting

    def prepare(self):
        copied(self.folder, self.copy, ("cuda", "common"))
        if not (self.copy / "data").is_dir():
            rodinia_inputs(self.copy / "data")

    def programs(self):
        # Some want a header of NVIDIA's samples, which is there if their checkout lies beside this one.
        helpers = "".join(f" -I{header.parent}" for header in self.folder.parent.glob("*/Common/helper_cuda.h"))
        make = ["env", f"NVCC_APPEND_FLAGS=-include {self.setting.old_names}{helpers}",
                f"PATH={self.setting.links_cpp}:{self.setting.environment['PATH']}", "make",
                f"CUDA_DIR={self.setting.toolkit}", "SDK_DIR=/nonexistent"]
        for name, (place, executable, runs) in self.KNOWN.items():
            folder = self.copy / "cuda" / place
            yield Program("rodinia", name, folder, [(folder, make)], executable,
                          [Run(shlex.split(run), str(index) if len(runs) > 1 else "") for index, run in enumerate(runs)])


def rodinia_inputs(data):
    """Inputs in the formats that Rodinia's programs read, at random."""
    chance = random.Random(1)

    def lines(place, rows):
        path = data / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")

    nodes = 4096
    edges = [[chance.randrange(nodes) for _ in range(chance.randrange(1, 7))] for _ in range(nodes)]
    starts = [sum(map(len, edges[:index])) for index in range(nodes)]
    lines("bfs/graph.txt", [str(nodes), *(f"{start} {len(out)}" for start, out in zip(starts, edges)), "", "0", "",
                            str(sum(map(len, edges))), *(f"{to} 1" for out in edges for to in out)])
    lines("b+tree/mil.txt", ["10000", *map(str, range(10000))])
    lines("b+tree/command.txt", ["j 600 300", "k 1000"])
    elements = 2048
    rows = [str(elements)]
    for index in range(elements):
        rows.append("0.5")
        for step, normal in ((1, "0.5 0 0"), (-1, "-0.5 0 0"), (64, "0 0.5 0"), (-64, "0 -0.5 0")):
            rows.append(f"{(index + step) % elements + 1} {normal}")
    lines("cfd/mesh", rows)
    lines("gaussian/matrix4.txt", ["4", "", "-0.6 -0.5 0.7 0.3", "-0.3 -0.9 0.3 0.7", "-0.4 -0.5 -0.3 -0.8",
                                   "0.0 -0.1 0.2 0.9", "", "-0.85 -0.68 0.24 -0.53", "", "0.7 0.0 -0.4 -0.5"])
    for place, count in (("hotspot/", 64 * 64), ("hotspot3D/", 64 * 64 * 8)):
        lines(place + "temp", [f"{chance.uniform(320, 340):.4f}" for _ in range(count)])
        lines(place + "power", [f"{chance.uniform(0, 0.001):.8f}" for _ in range(count)])
    lines("kmeans/points", [" ".join([str(index), *(f"{chance.random():.4f}" for _ in range(34))]) for index in range(1000)])
    (data / "huffman").mkdir()
    (data / "huffman" / "input").write_bytes(bytes(min(255, int(chance.expovariate(0.05))) for _ in range(1 << 18)))
    for index in range(4):
        lines(f"nn/cane4_{index}.db", [f"1978 12 {day % 28 + 1:2d} 12 0 STORM{day % 10:1d}    {chance.uniform(0, 60):4.1f}  "
                                       f"{chance.uniform(100, 300):5.1f}   30  100"[:48] for day in range(2000)])
    genome = "".join(chance.choice("ACGT") for _ in range(4000))
    lines("mummergpu/reference.fna", [">reference", genome])
    lines("mummergpu/query.fna", [row for at in range(0, 3900, 100) for row in (f">q{at}", genome[at:at + 100])])
    lines("myocyte/y.txt", [f"{chance.uniform(0.01, 1):.4f}" for _ in range(91)])
    lines("myocyte/params.txt", [f"{chance.uniform(0.5, 1):.4f}" for _ in range(18)])
    (data / "srad").mkdir()
    (data / "srad" / "image.pgm").write_text("P2\n# noise\n64 64\n255\n" + " ".join(str(chance.randrange(256))
                                                                                    for _ in range(64 * 64)) + "\n")
    (data / "heartwall").mkdir()
    (data / "heartwall" / "test.avi").write_bytes(avi(609, 590, [chance.randbytes(609 * 590) for _ in range(3)]))
    pixels = bytes(chance.randrange(256) for _ in range(192 * 192 * 3))
    (data / "dwt2d").mkdir()
    (data / "dwt2d" / "192.bmp").write_bytes(b"BM" + struct.pack("<IHHIIiiHHIIiiII", 54 + len(pixels), 0, 0, 54, 40, 192, 192,
                                                                  1, 24, 0, len(pixels), 2835, 2835, 0, 0) + pixels)


def avi(width, height, frames):
    """An uncompressed video, a byte a pixel."""
    def chunk(name, content):
        return name + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    bytes_each = width * height
    header = chunk(b"avih", struct.pack("<10I4I", 40000, 0, 0, 16, len(frames), 0, 1, bytes_each, width, height, 0, 0, 0, 0))
    stream = chunk(b"strh", b"vidsDIB " + struct.pack("<10I4H", 0, 0, 0, 1, 25, 0, len(frames), bytes_each, 0, 0, 0, 0,
                                                      width, height))
    form = chunk(b"strf", struct.pack("<IiiHH6I", 40, width, height, 1, 8, 0, bytes_each, 0, 0, 0, 0))
    index, at = b"", 4  # from the word "movi" on
    for _ in frames:
        index += b"00db" + struct.pack("<III", 16, at, bytes_each)
        at += 8 + bytes_each + bytes_each % 2
    return chunk(b"RIFF", b"AVI " + chunk(b"LIST", b"hdrl" + header + chunk(b"LIST", b"strl" + stream + form)) +
                 chunk(b"LIST", b"movi" + b"".join(chunk(b"00db", frame) for frame in frames)) + chunk(b"idx1", index))


class PolyBench:
    """PolyBench for GPUs: a Makefile each, sizes by macros; each compares with the CPU and prints how much does not match."""

    SOURCES = "CUDA/*"
    # Each of its named data sets has the sizes of a GPU, with which the references on the processor take minutes.
    SIZES = dict.fromkeys(("N", "M", "NI", "NJ", "NK", "NL", "NM", "NX", "NY"), 256) | {"TMAX": 20, "TSTEPS": 20}

    @staticmethod
    def fits(folder):
        return (folder / "CUDA" / "common.mk").is_file()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / "polybench", setting

    def prepare(self):
        copied(self.folder, self.copy, ("CUDA", "common"))
        # CUDA's own headers have such names, too, so they come first.
        (self.copy / "sizes.h").write_text("#include <cuda.h>\n#include <cuda_runtime.h>\n" + "".join(
            f"#define {name} {size}\n" for name, size in self.SIZES.items()))

    def programs(self):
        make = ["env", f"NVCC_APPEND_FLAGS=-include {self.setting.old_names} -include {self.copy / 'sizes.h'}", "make"]
        for makefile in sorted((self.copy / "CUDA").glob("*/Makefile")):
            executable = re.search(r"(?:EXECUTABLE\s*:?=|-o)\s*(\S+)", makefile.read_text()).group(1)
            yield Program("polybench", makefile.parent.name, makefile.parent,
                          [(makefile.parent, make)], f"./{executable}", [Run([], wants=r"(?i)(?:non-matching .*|number of misses): 0\s")])


class HeCBench:
    """zjin-lcf/HeCBench: a Makefile each, whose target `run` has the arguments. Their last number is mostly how often a kernel
    is repeated to time it: more than two are two. Where sizes are a GPU's, too, others are given here if they are known."""

    SOURCES = "src/*-cuda"
    ARGUMENTS = {
        "affine": "data/CT-MONO2-16-brain.raw result.raw 1", "asmooth": "512 200 9 1", "atomicAggregate": "1",
        "atomicPerf": "1", "atomicReduction": "262144 2", "atomicSystemWide": "1", "blas-dot": "262144 1",
        "blas-gemmEx": "256 256 256 1",
        "blas-gemmStridedBatched": "-l 5 -u 7 -n 4 -r 1", "btree": "300 100", "channelSum": "64 64 1", "complex": "10000 1",
        "debayer": "256 256 1", "dwconv": "2 4 32 32 1", "epistasis": "64 256 1", "expdist": "512 1", "feynman-kac": "1",
        "dxtc2": "../dxtc2-sycl/data/lena_std.ppm ../dxtc2-sycl/data/lena_ref.dds 1", "fresnel": "1", "ga": "20000 100 11 1",
        "kiss": "1", "libor": "1", "lombscargle": "1", "md5hash": "1 1", "mlp": "3 8 64 64 10 0 0 1",
        "mxfp4": "65536 1", "ne": "512 512 1", "projectile": "1", "reverse2D": "256 256 1", "ring": "1 65536 1",
        "sampling": "1", "scan3": "1 65536", "slit": "64 1", "sort": "1 1", "spgemm": "64 64 64 64 100 1",
        "storeKVCache": "1", "streamcluster": "10 20 16 512 512 100 none output.txt 1", "tissue": "8 1",
        "warpexchange": "64 64 1",
    }
    # Sizes that are constants: the file, and what is there and what is put there in the copy.
    CONSTANTS = {
        "addBiasResidualLayerNorm": ("main.cu", ("m = 4096;", "m = 64;"), ("i < 100; i++", "i < 1; i++")),
        "bitpacking": ("kernels.cu", ("n < 1000", "n < 2")),
        "bitpermute": ("main.cu", ("bit_permute(27,", "bit_permute(16,"), ("bit_permute(28,", "bit_permute(17,")),
        "f16max": ("main.cu", ("NUM_OF_BLOCKS 1048576", "NUM_OF_BLOCKS 1024")),
        "f16sp": ("kernels.h", ("NUM_OF_BLOCKS (1024 * 1024)", "NUM_OF_BLOCKS 256")),
        "feynman-kac": ("main.cu", ("int N = 1000;", "int N = 2;")),
        "geglu": ("main.cu", ("batch <= 16;", "batch <= 1;"),
                  ("shape = 4096; shape <= 8192", "shape = 256; shape <= 512")),
        "grrt": ("constants.h", ("IMAGE_SIZE\t\t\t\t  1024", "IMAGE_SIZE 32")),
        "jacobi": ("main.cu", ("#define N 2048", "#define N 64")),
        "kiss": ("main.cu", ("n = 1UL << 28", "n = 1UL << 20")),
        "md5hash": ("MD5Hash.cu", ("size <= 4; size++", "size <= 1; size++")),
        "opticalFlow": ("main.cu", ("nSolverIters = 500", "nSolverIters = 20")),
        "storeKVCache": ("main.cu", ("item_size <= 1024", "item_size <= 64"), ("batch_size <= 16384", "batch_size <= 512")),
    }

    @staticmethod
    def fits(folder):
        return (folder / "src" / "accuracy-cuda").is_dir()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / "hecbench", setting

    def prepare(self):
        copied(self.folder, self.copy)  # with the versions for other languages: inputs and headers lie there
        for name, (file, *changes) in self.CONSTANTS.items():
            source = self.copy / "src" / f"{name}-cuda" / file
            if source.is_file():
                replace_in(source, changes)

    def programs(self):
        for makefile in sorted((self.copy / "src").glob("*-cuda/Makefile")):
            text = makefile.read_text(errors="replace")
            variables = dict(re.findall(r"^\s*(\w+)\s*[:?]?=\s*(.*?)\s*$", text, re.M))
            text = text.replace("\\\n", " ")
            command = re.search(r"^run\s*:.*\n(?:\t.*\n)*?\t(?!@?echo)(.*\./.*)$", text + "\n", re.M)
            line = command.group(1) if command else "./main"
            for _ in range(3):
                line = re.sub(r"\$[({](\w+)[)}]", lambda name: variables.get(name.group(1), ""), line)
            words = line.split("|")[0].split(">")[0].split()
            at = next((index for index, word in enumerate(words) if word.startswith("./")), None)
            if at is None:
                words, at = ["./main"], 0
            name = makefile.parent.name.removesuffix("-cuda")
            known = self.ARGUMENTS.get(name)
            yield Program("hecbench", name, makefile.parent,
                          [(makefile.parent, ["make", "ARCH=sm_80", words[at].removeprefix("./")])], words[at],
                          [Run(repeated_twice(words[at + 1:]) if known is None else known.split())])


def repeated_twice(arguments):
    numbers = [index for index, word in enumerate(arguments) if re.fullmatch(r"\d+", word)]
    size = arguments[-2:-1] == ["-s"]
    if numbers and numbers[-1] == len(arguments) - 1 and int(arguments[-1]) > 2 and not size:
        return [*arguments[:-1], "2"]
    return arguments


class LlmC:
    """karpathy/llm.c: kernels under dev/cuda, a run for each version that the head of the source names, and the training of a
    small GPT-2, whose weights and text are made here."""

    SOURCES = "dev/cuda/*.cu"

    @staticmethod
    def fits(folder):
        return (folder / "dev" / "cuda" / "attention_forward.cu").is_file()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / "llm.c", setting

    def prepare(self):
        copied(self.folder, self.copy, ("dev", "llmc", "Makefile", "train_gpt2.cu", "train_gpt2_fp32.cu", "train_gpt2.c"))
        if not (self.copy / "gpt2_124M.bin").is_file():
            small_gpt2(self.copy)

    def programs(self):
        trained = Run(shlex.split("-b 4 -t 64 -s 1000 -v 5 -m 1"), wants=r"step +10/10: train loss 10\.[0-4]")  # from 10.77 on
        yield Program("llm.c", "train_gpt2_fp32", self.copy,
                      [(self.copy, ["make", "GPU_COMPUTE_CAPABILITY=80", "train_gpt2fp32cu"])], "./train_gpt2fp32cu", [trained])
        folder = self.copy / "dev" / "cuda"
        for source in sorted(folder.glob("*.cu")):
            name, text = source.stem, source.read_text()
            versions = sorted(set(re.findall(rf"^\./{name} (\d+)", text, re.M)), key=int)
            runs = [Run([version], version) for version in versions] or [Run([])]
            yield Program("llm.c", name, folder, [(folder, ["make", "GPU_COMPUTE_CAPABILITY=80", name])], f"./{name}", runs)


def small_gpt2(folder):
    """A checkpoint and texts in the formats of llm.c: two layers of 128 channels, the least that its products can, and tokens
    of which each says the next."""
    chance = random.Random(1)
    channels, layers, heads, length, vocabulary, padded = 128, 2, 4, 64, 50257, 50304
    ones, zeros = lambda count: [1.0] * count, lambda count: [0.0] * count  # noqa: E731
    small = lambda count: [chance.gauss(0, 0.02) for _ in range(count)]  # noqa: E731
    c = channels
    parameters = [small(padded * c), small(length * c), ones(layers * c), zeros(layers * c), small(layers * 3 * c * c),
                  zeros(layers * 3 * c), small(layers * c * c), zeros(layers * c), ones(layers * c), zeros(layers * c),
                  small(layers * 4 * c * c), zeros(layers * 4 * c), small(layers * 4 * c * c), zeros(layers * c), ones(c),
                  zeros(c)]
    header = [20240326, 3, length, vocabulary, layers, heads, channels, padded]
    with open(folder / "gpt2_124M.bin", "wb") as file:
        file.write(struct.pack("<256i", *header, *[0] * (256 - len(header))))
        for part in parameters:
            file.write(struct.pack(f"<{len(part)}f", *part))
    texts = folder / "dev" / "data" / "tinyshakespeare"
    texts.mkdir(parents=True, exist_ok=True)
    for name, count in (("train", 10 * 4 * 64 + 1), ("val", 2 * 4 * 64 + 1)):
        tokens = [0]
        while len(tokens) < count:
            tokens.append((tokens[-1] * 7 + 3) % 64)
        header = struct.pack("<256i", 20240520, 1, count, *[0] * 253)
        (texts / f"tiny_shakespeare_{name}.bin").write_bytes(header + struct.pack(f"<{count}H", *tokens))


class BabelStream:
    SOURCES = "src/cuda"

    @staticmethod
    def fits(folder):
        return (folder / "src" / "cuda" / "CUDAStream.cu").is_file()

    def __init__(self, folder, setting):
        self.folder, self.build, self.setting = folder, setting.work / "babelstream-build", setting

    def prepare(self):
        pass

    def programs(self):
        configure = ["cmake", "-S", self.folder, "-B", self.build, "-DMODEL=cuda", "-DCUDA_ARCH=sm_75",
                     f"-DCMAKE_CUDA_COMPILER={self.setting.nvcc}"]
        yield Program("babelstream", "cuda-stream", self.build, [(self.folder, configure), (self.build, ["make"])],
                      "./cuda-stream", [Run(["-s", "1048576", "-n", "5"], "double"),
                                        Run(["-s", "1048576", "-n", "5", "--float"], "float")])


class Darknet:
    SOURCES = "src"

    @staticmethod
    def fits(folder):
        return (folder / "src" / "blas_kernels.cu").is_file()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / "darknet", setting

    def prepare(self):
        copied(self.folder, self.copy)

    def programs(self):
        builds = [(self.copy, ["make", "GPU=1", "CUDNN=0", f"NVCC={self.setting.nvcc}"])]
        runs = [Run(["detector", "test", "cfg/coco.data", "cfg/yolov4-tiny.cfg", "data/dog.jpg", "-dont_show"], "yolov4-tiny"),
                Run(["classifier", "predict", "cfg/imagenet1k.data", "cfg/darknet.cfg", "data/dog.jpg"], "classifier")]
        runs = [Run([*run.arguments[:4], "/dev/null", *run.arguments[4:]], run.label) for run in runs]
        yield Program("darknet", "darknet", self.copy, builds, "./darknet", runs)


class Manifest:
    """Any folder with a third_party.json (see --help)."""

    SOURCES = "*"

    @staticmethod
    def fits(folder):
        return (folder / "third_party.json").is_file()

    def __init__(self, folder, setting):
        self.folder, self.copy, self.setting = folder, setting.work / folder.name, setting

    def prepare(self):
        copied(self.folder, self.copy)

    def programs(self):
        for row in json.loads((self.folder / "third_party.json").read_text())["programs"]:
            folder = self.copy / row.get("folder", ".")
            runs = [Run(shlex.split(run), str(index) if len(row.get("runs", [])) > 1 else "", row.get("wants", ""))
                    for index, run in enumerate(row.get("runs", [""]))]
            yield Program(self.folder.name, row["name"], folder, [(folder, ["sh", "-ec", row["build"]])],
                          row.get("executable", f"./{row['name']}"), runs)


SUITES = (Manifest, Samples, Rodinia, PolyBench, HeCBench, LlmC, BabelStream, Darknet)


def replace_in(file, changes):
    """`changes`: pairs of what is there and what is put there. A file in which nothing changes is not written."""
    text = before = file.read_bytes()  # not all are UTF-8
    for was, is_now in changes:
        text = text.replace(was.encode(), is_now.encode())
    if text != before:
        file.write_bytes(text)


def copied(source, target, parts=None):
    """Makefiles that build in place get a copy, of these parts or of everything: a checkout stays as it is."""
    if target.is_dir():
        return
    if parts is None:
        shutil.copytree(source, target, symlinks=True)
        return
    target.mkdir(parents=True)
    for part in parts:
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, symlinks=True)
        elif (source / part).is_file():
            shutil.copy(source / part, target / part)


# --- what sources call ---

LANGUAGES = (".cu", ".cuh", ".c", ".cc", ".cpp", ".cxx", ".h", ".hpp", ".inl")
VERSION = re.compile(r"(?:_v\d+|_ptsz|_ptds|_64)+$")  # under which headers hide a function
# Libraries that have no rows in `wharf api`.
LIBRARIES = re.compile(r"\b(npp[a-z]*_?|nvjpeg|nccl|cutensor|cudss|cuSPARSELt)[A-Z]\w*\s*\(")


def uncovered_calls(sources, rows):
    """Which of these programs (folders or files) call what is not covered: {function or library: {program}}. `rows`: what
    `wharf api` tells of functions. What a program calls only where it is compiled otherwise counts, too."""
    covered = {}
    for row in rows:
        name = VERSION.sub("", row["name"])
        covered[name] = covered.get(name, False) or row["covered"]
    found = {}
    for source in sources:
        files = [source] if source.is_file() else [file for file in source.rglob("*") if file.suffix in LANGUAGES]
        for file in filter(pathlib.Path.is_file, files):
            text = re.sub(r"//.*|/\*(?s:.*?)\*/", "", file.read_text(errors="replace"))
            for name in set(re.findall(r"\b(cu[A-Za-z]\w+)\s*\(", text)):
                if not covered.get(VERSION.sub("", name), True):
                    found.setdefault(name, set()).add(source.name)
            for library in set(LIBRARIES.findall(text)):
                found.setdefault(library.rstrip("_") + "…", set()).add(source.name)
    return found


# --- nvcc, for one architecture ---

OLDEST = 75  # of which CUDA 13 compiles for
DEVICE = 80  # what the software device says it is


def one_architecture(arguments):
    """The command line of an nvcc for one architecture, of those it names that whose PTX the software device would choose:
    the newest that is not newer than it is, else the oldest. Each more takes as long again. If PTX was to be made, it is
    made, and nothing else, which is what the software device wants; beside it code for the device linker, which reads
    nothing else."""
    rest, named, ptx, index = [], [], False, 0
    while index < len(arguments):
        word, value = arguments[index], None
        option, _, glued = word.partition("=")
        if option in ("-gencode", "--generate-code", "-arch", "--gpu-architecture", "-code", "--gpu-code"):
            value = glued
            if not glued:
                index += 1
                value = arguments[index] if index < len(arguments) else ""
        if value is None:
            rest.append(word)
        elif value.strip("'\"") not in ("native", "all", "all-major"):
            named += re.findall(r"(?:sm|compute|lto)_(\d+[af]?)", value)
            codes = value.partition("code=")[2] if "gencode" in option or "generate" in option else value
            ptx = ptx or "compute_" in codes or option in ("-arch", "--gpu-architecture")
        else:
            named, ptx = [*named, str(OLDEST)], True
        index += 1
    if not named:
        return rest
    known = [name for name in named if int(re.match(r"\d+", name).group()) >= OLDEST] or [str(OLDEST)]
    number = lambda name: int(re.match(r"\d+", name).group())  # noqa: E731
    fits = [name for name in known if number(name) <= DEVICE]
    chosen = max(fits, key=number) if fits else min(known, key=lambda name: (number(name), len(name)))
    if any(word in ("-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin") for word in rest):
        return [*rest, f"-arch={'compute' if '-ptx' in rest or '--ptx' in rest else 'sm'}_{chosen}"]
    linked = any(word.startswith(("-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dlink")) for word in rest)
    code = f"[compute_{chosen},sm_{chosen}]" if ptx and linked else f"compute_{chosen}" if ptx else f"sm_{chosen}"
    return [*rest, "-gencode", f"arch=compute_{chosen},code={code}"]
