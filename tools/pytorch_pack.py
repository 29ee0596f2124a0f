#!/usr/bin/env python3
"""Makes a kernel pack (docs/packs.md) for PyTorch from PyPI, which carries machine code only.

  tools/pytorch_pack.py --work DIR -o torch.pack          what inference needs: some hundred files, half an hour
  tools/pytorch_pack.py --work DIR -o torch.pack --all    every CUDA source

The sources are those of Debian's source package of the same version, or what --source names: an archive of PyTorch's
sources, or a folder of them such as a checkout of the version's tag. The headers are the wheel's: of the PyTorch that
--python runs, else of a wheel that pip fetches to DIR (1 GB). CUTLASS's headers, which attention wants, come from
PyPI, too. What is there already is not fetched again, and what was compiled is kept in DIR until the pack is made.
`wharf` and nvcc must be there; nvcc of the CUDA release that the wheel was made with gives the same kernels of CUB and
Thrust, too.
"""

import argparse
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import urllib.request
import zipfile

# Debian's source package, by the checksums of its signed description. A mirror keeps it as long as some suite has it;
# the archive of snapshots keeps it for good.
VERSION = "2.12.1"
ARCHIVE = f"pytorch_{VERSION}+dfsg.orig.tar.xz"
SHA256 = "95b6f85e1da2776f0cb0e5a635c4430b4e3f05b6ccb9e00237f3cecd15572875"
SHA1 = "38ab3cca5e345e079c95c7e86b3e18e1bbdea1a2"
CUTLASS = "4.2.0.0"
# What networks launch in inference, and what fills and copies tensors. Names are of
# aten/src/ATen/native/cuda, aten/src/ATen/cuda and ATTENTION's folder.
FILES = """
AbsKernel ActivationEluKernel ActivationGeluKernel ActivationGluKernel ActivationHardsigmoidKernel
ActivationHardswishKernel ActivationHardtanhKernel ActivationLeakyReluKernel ActivationLogSigmoidKernel
ActivationMishKernel ActivationPreluKernel ActivationSiluKernel ActivationSoftplusKernel ActivationThresholdKernel
AdaptiveAveragePooling AdaptiveMaxPooling2d AveragePool2d BinaryBitwiseOpsKernels BinaryDivFloorKernel
BinaryDivTrueKernel BinaryDivTruncKernel BinaryLogicalOpsKernels BinaryMiscOpsKernels BinaryMulKernel
BinaryRemainderKernel Bucketization Col2Im CompareEQKernel CompareKernels ConvolutionMM2d Copy CrossKernel CumsumKernel
DepthwiseConv2d DilatedMaxPool2d DistributionBernoulli DistributionNormal DistributionRandomKernel DistributionUniform
Dropout Embedding FillKernel GridSampler Im2Col IndexKernel IndexKernelUtils Indexing Lerp LinearAlgebra LogAddExpKernel
Loss MaxMinElementwiseKernel NaiveConvolutionTranspose2d Nonzero Normalization PointwiseOpsKernel PowKernel RNN Randperm
RangeFactories ReduceAMinMaxKernel ReduceArgMaxKernel ReduceArgMinKernel ReduceLogicKernel ReduceMaxValuesKernel
ReduceMinValuesKernel ReduceMomentKernel ReduceNormKernel ReduceSumProdKernel ReflectionPad Repeat ReplicationPadding
ScatterGatherKernel Shape SoftMax Sort SortStable TensorCompare TensorFactories TensorTopK TensorTransformations
TriangularOps UnaryComplexKernels UnaryFractionKernels UnaryGeometricCosKernel UnaryGeometricSinKernel
UnaryGeometricTanhKernel UnaryLogKernels UnaryOpsKernel UnarySignKernels UnarySpecialOpsKernel UpSampleBicubic2d
UpSampleBilinear2d UpSampleNearest2d WeightNorm group_norm_kernel layer_norm_kernel cub-RadixSortKeys
cub-RadixSortPairs-int64-1 cub-RadixSortPairs-int64-2 cub-RadixSortPairs-int64-4 cub-RadixSortPairs-scalars cub
attention mem_eff_attention/kernels/cutlassF_f16_aligned mem_eff_attention/kernels/cutlassF_f32_aligned
mem_eff_attention/kernels/cutlassF_f32_notaligned
""".split()
ATTENTION = "native/transformers/cuda"
# Which kernels CUB's algorithms are made of depends on all the architectures of the wheel.
ARCHITECTURES = "750,800,860,900,1000,1200"
GENERATED = ("UfuncCUDA_add.cu",)  # made by PyTorch's own generator
# As PyTorch's build gives them, where kernels and their names depend on them.
FLAGS = """
-std=c++20 -O3 --expt-relaxed-constexpr --expt-extended-lambda -D__CUDA_NO_HALF_OPERATORS__
-D__CUDA_NO_HALF_CONVERSIONS__ -D__CUDA_NO_HALF2_OPERATORS__ -D__CUDA_NO_BFLOAT16_CONVERSIONS__ -DNDEBUG -DUSE_CUDA
-DTORCH_CUDA_BUILD_MAIN_LIB -DAT_PER_OPERATOR_HEADERS -DCUB_WRAPPED_NAMESPACE=at_cuda_detail
-DCUDA_HAS_FP16=1 -DLIBCUDACXX_ENABLE_SIMPLIFIED_COMPLEX_OPERATIONS -DUSE_MEM_EFF_ATTENTION -w
""".split()


def run(*words, **options):
    return subprocess.run([str(word) for word in words], check=True, **options)


def say(text):
    print(f"pytorch_pack: {text}", file=sys.stderr, flush=True)


def mirror():
    """The Debian mirror that this machine uses."""
    for file in [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]:
        if file.is_file():
            found = re.search(r"^(?:URIs:|deb(?: \[.*\])?)\s+(\S+/debian)/?(?=\s|$)", file.read_text(), re.MULTILINE)
            if found:
                return found.group(1)
    return "http://deb.debian.org/debian"


def fetch_sources(work):
    """Debian's tar archive of PyTorch's sources."""
    archive = work / ARCHIVE
    for address in (f"{mirror()}/pool/main/p/pytorch/{ARCHIVE}", f"https://snapshot.debian.org/file/{SHA1}"):
        if archive.exists():
            break
        say(f"fetching {address}")
        try:
            with urllib.request.urlopen(address, timeout=60) as answer, open(f"{archive}.part", "wb") as file:
                shutil.copyfileobj(answer, file)
        except OSError as error:
            say(str(error))
        else:
            pathlib.Path(f"{archive}.part").rename(archive)
    if not archive.exists():
        sys.exit(f"pytorch_pack: no sources of PyTorch {VERSION}: give --source, such as a checkout of tag v{VERSION}")
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        sys.exit(f"pytorch_pack: {archive} is not what Debian published: remove it")
    return archive


def unpack_sources(archive, work):
    """The folder in which aten/ and c10/ are."""
    root = work / f"source-{archive.name}"
    if not (root / "complete").exists():
        say("unpacking the sources")
        with tarfile.open(archive) as tar:
            for member in tar:
                _, _, path = member.name.partition("/")
                if member.isfile() and (path == "version.txt" or path.split("/")[0] in ("aten", "c10", "torch")):
                    target = (root / path).resolve()
                    if root.resolve() not in target.parents:
                        sys.exit(f"pytorch_pack: {archive} holds {member.name}")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with tar.extractfile(member) as content, target.open("wb") as file:
                        shutil.copyfileobj(content, file)
        (root / "complete").touch()
    return root


def version_of(source):
    """2.12.1 of the sources' version.txt, which says 2.12.1a0."""
    return re.match(r"[0-9.]+[0-9]", (source / "version.txt").read_text()).group()


def fetch_wheel(name, version, work, folders):
    """Where those folders of a package from PyPI are unpacked."""
    target = work / name
    if not (target / "complete").exists():
        if not list(work.glob(f"{name}-{version}*.whl")):
            say(f"fetching {name} {version} from PyPI")
            run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, f"{name}=={version}",
                stdout=sys.stderr)
        with zipfile.ZipFile(next(work.glob(f"{name}-{version}*.whl"))) as wheel:
            wheel.extractall(target, [member for member in wheel.namelist() if member.startswith(folders)])
        (target / "complete").touch()
    return target


def find_package(python, version, work):
    """The folder of the package torch: with its headers and its generator."""
    if not python:
        return fetch_wheel("torch", version, work, ("torch/include/", "torchgen/")) / "torch"
    program = "import os, torch; print(torch.__version__, os.path.dirname(torch.__file__))"
    found, _, folder = run(python, "-c", program, stdout=subprocess.PIPE, text=True).stdout.strip().partition(" ")
    if found.partition("+")[0] != version:
        sys.exit(f"pytorch_pack: {python} has PyTorch {found}, the sources are of {version}: give --source of the same")
    return pathlib.Path(folder)


def generate(package, python, work):
    """Sources that PyTorch's generator makes, of what the wheel has for it. It wants PyYAML."""
    folder = work / "generated"
    if all((folder / name).exists() for name in GENERATED):
        return folder
    folder.mkdir(exist_ok=True)
    done = subprocess.run([pathlib.Path(python or sys.executable).absolute(), "-m", "torchgen.gen", "-s",
                           package.parent / "torchgen/packaged/ATen", "-d", folder,
                           "--per-operator-headers", "--backend-whitelist", "CUDA", "--generate", "sources"],
                          env={"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"}, capture_output=True,
                          text=True, cwd=folder)  # it looks for, and writes, other files below it
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        say(f"PyTorch's generator does not run, so its kernels of add are left out: {last}")
    return folder


def sources(source, generated, everything, only):
    aten = source / "aten/src/ATen"
    made = [generated / name for name in GENERATED if (generated / name).exists()]
    if everything:
        return made + sorted(path for path in aten.rglob("*.cu")
                             if not {"hip", "test", "tests", "composable_kernel"} & set(path.parts))
    found, missing = [], []
    for name in only or FILES:
        places = [folder / f"{name}.cu" for folder in (aten / "native/cuda", aten / "cuda", aten / ATTENTION, generated)]
        there = [path for path in places if path.exists()]
        (found if there else missing).extend(there or [name])
    if missing:
        say(f"this version has no {', '.join(missing)}")
    return found if only else made + found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="DIR", help="where all is kept")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE", help="the pack")
    parser.add_argument("--all", action="store_true", help="every CUDA source")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these, such as SoftMax")
    parser.add_argument("--source", type=pathlib.Path, metavar="PATH",
                        help=f"PyTorch's sources: an archive or a folder, instead of Debian's of {VERSION}")
    parser.add_argument("--python", metavar="FILE", help="an interpreter with torch of that version, instead of a wheel")
    parser.add_argument("--wharf", default=shutil.which("wharf") or "build/default/bin/wharf", metavar="FILE")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc", metavar="FILE")
    parser.add_argument("--include", action="append", default=[], metavar="DIR",
                        help="headers that come before all others, such as another CCCL's")
    parser.add_argument("-j", "--jobs", default="0", metavar="N", help="files at a time; 0 = one for each core")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    source = options.source
    if not source or source.is_file():
        source = unpack_sources(source or fetch_sources(work), work)
    package = find_package(options.python, version_of(source), work)
    cutlass = fetch_wheel("nvidia_cutlass", CUTLASS, work, ("cutlass_library/source/include/",))
    generated = generate(package, options.python, work)
    headers = package / "include"
    includes = [*options.include, headers, headers / "torch/csrc/api/include", source.resolve() / "aten/src",
                source.resolve(), cutlass / "cutlass_library/source/include"]
    flags = FLAGS + [word for folder in includes for word in ("-I", str(folder))]
    list_of_all = work / "architectures.h"
    text = f"#undef __CUDA_ARCH_LIST__\n#define __CUDA_ARCH_LIST__ {ARCHITECTURES}\n"
    if not list_of_all.exists() or list_of_all.read_text() != text:  # what includes it is compiled anew
        list_of_all.write_text(text)
    commands = []
    for file in sources(source, generated, options.all, options.only):
        more = ["-include", str(list_of_all)] if file.name.startswith("cub") else []
        commands.append({"directory": str(work), "file": str(file),
                         "arguments": ["nvcc", *flags, *more, "-c", str(file)]})
    listing = work / "compile_commands.json"
    listing.write_text(json.dumps(commands, indent=1))
    say(f"compiling {len(commands)} files; an interruption costs what is being compiled")
    return subprocess.run([options.wharf, "pack", "build", "-o", options.output, "--compile-commands", listing,
                           "--parts", work / "parts", "--keep-going", "--nvcc", options.nvcc, "--jobs", options.jobs],
                          check=False).returncode


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failed:
        sys.exit(f"pytorch_pack: {pathlib.Path(failed.cmd[0]).name} failed; what it said is above")
