#!/usr/bin/env python3
"""Makes a kernel pack (docs/packs.md) for PyTorch from PyPI, which carries machine code only.

  tools/pytorch_pack.py --work DIR -o torch.pack          what inference needs: tens of files, minutes to an hour
  tools/pytorch_pack.py --work DIR -o torch.pack --all    every CUDA source

The sources are those of Debian's source package of the same version, fetched by apt with directories of its own in DIR.
The headers are the wheel's: of the PyTorch that --python runs, else of a wheel that pip fetches to DIR (1 GB). What is
there already is not fetched again, and what was compiled is kept in DIR until the pack is made. `wharf` and nvcc must
be there; nvcc of the CUDA release that the wheel was made with gives the same kernels of CUB and Thrust, too.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile

VERSION = "2.14.1"
SUITE = "sid"
# What networks launch in inference, and what fills and copies tensors. Names are of aten/src/ATen/native/cuda.
FILES = """
ActivationEluKernel ActivationGeluKernel ActivationGluKernel ActivationHardsigmoidKernel ActivationHardswishKernel
ActivationHardtanhKernel ActivationLeakyReluKernel ActivationLogSigmoidKernel ActivationMishKernel ActivationPreluKernel
ActivationSiluKernel ActivationSoftplusKernel ActivationThresholdKernel AdaptiveAveragePooling AdaptiveMaxPooling2d
AveragePool2d BinaryDivFloorKernel BinaryDivTrueKernel BinaryDivTruncKernel BinaryMiscOpsKernels BinaryMulKernel
Bucketization Col2Im CompareEQKernel CompareKernels ConvolutionMM2d Copy CrossKernel CumsumKernel DepthwiseConv2d
DilatedMaxPool2d DistributionNormal DistributionRandomKernel DistributionUniform Dropout Embedding FillKernel
GridSampler Im2Col IndexKernel Indexing LogAddExpKernel MaxMinElementwiseKernel NaiveConvolutionTranspose2d Nonzero
Normalization PointwiseOpsKernel PowKernel RNN Randperm RangeFactories ReduceArgMaxKernel ReduceArgMinKernel
ReduceLogicKernel ReduceMaxValuesKernel ReduceMinValuesKernel ReduceMomentKernel ReduceNormKernel ReduceSumProdKernel
ReflectionPad Repeat ReplicationPadding ScatterGatherKernel Shape SoftMax Sort SortStable TensorCompare TensorFactories
TensorTopK TensorTransformations TriangularOps UnaryComplexKernels UnaryFractionKernels UnaryGeometricCosKernel
UnaryGeometricSinKernel UnaryGeometricTanhKernel UnaryLogKernels UnaryOpsKernel UnarySignKernels UnarySpecialOpsKernel
UpSampleBicubic2d UpSampleBilinear2d UpSampleNearest2d WeightNorm cub-RadixSortKeys cub-RadixSortPairs cub
group_norm_kernel layer_norm_kernel
""".split()
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
    there = sorted(work.glob(f"pytorch_{VERSION}*.orig.tar.*"))
    if there:
        return there[0]
    say(f"fetching Debian's source package of PyTorch {VERSION}")
    apt = work / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial", "etc/parts"):
        (apt / folder).mkdir(parents=True, exist_ok=True)
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (apt / "etc/sources.list").write_text(f"deb-src [signed-by={keys}] {mirror()} {SUITE} main\n")
    (apt / "state/status").touch()
    options = [word for name, value in {"Dir::State": apt / "state", "Dir::State::status": apt / "state/status",
                                        "Dir::Cache": apt / "cache", "Dir::Etc::sourcelist": apt / "etc/sources.list",
                                        "Dir::Etc::sourceparts": apt / "etc/parts",
                                        "Dir::Etc::preferencesparts": apt / "etc/parts"}.items()
               for word in ("-o", f"{name}={value}")]
    run("apt-get", *options, "update", stdout=sys.stderr)
    listed = run("apt-cache", *options, "showsrc", "pytorch", stdout=subprocess.PIPE, text=True).stdout
    versions = [version for version in re.findall(r"^Version: (\S+)", listed, re.MULTILINE)
                if version.startswith(VERSION)]
    if not versions:
        sys.exit(f"pytorch_pack: suite {SUITE} has no pytorch {VERSION} (any more)")
    run("apt-get", *options, "source", "--download-only", f"pytorch={versions[0]}", cwd=work, stdout=sys.stderr)
    return sorted(work.glob(f"pytorch_{VERSION}*.orig.tar.*"))[0]


def unpack_sources(archive, work):
    """The folder in which aten/ and c10/ are."""
    root = work / "source"
    if not (root / "complete").exists():
        say("unpacking the sources")
        with tarfile.open(archive) as tar:
            for member in tar:
                _, _, path = member.name.partition("/")
                if member.isfile() and path.split("/")[0] in ("aten", "c10", "tools", "torch", "third_party"):
                    target = (root / path).resolve()
                    if root.resolve() not in target.parents:
                        sys.exit(f"pytorch_pack: {archive} holds {member.name}")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with tar.extractfile(member) as content, target.open("wb") as file:
                        shutil.copyfileobj(content, file)
        (root / "complete").touch()
    return root


def find_package(python, work):
    """The folder of the package torch: with its headers and its generator."""
    if python:
        found = run(python, "-c", "import importlib.util as u, os; print(os.path.dirname(u.find_spec('torch').origin))",
                    stdout=subprocess.PIPE, text=True).stdout.strip()
        return pathlib.Path(found)
    package = work / "wheel" / "torch"
    if not (work / "wheel" / "complete").exists():
        if not list(work.glob(f"torch-{VERSION}*.whl")):
            say(f"fetching the wheel of PyTorch {VERSION} (1 GB)")
            run(sys.executable, "-m", "pip", "download", "--no-deps", "--dest", work, f"torch=={VERSION}",
                stdout=sys.stderr)
        say("unpacking its headers")
        with zipfile.ZipFile(next(work.glob(f"torch-{VERSION}*.whl"))) as wheel:
            wanted = [name for name in wheel.namelist() if name.startswith(("torch/include/", "torchgen/"))]
            wheel.extractall(work / "wheel", wanted)
        (work / "wheel" / "complete").touch()
    return package


def generate(package, work):
    """Sources that PyTorch's generator makes, of what the wheel has for it."""
    folder = work / "generated"
    if all((folder / name).exists() for name in GENERATED):
        return folder
    folder.mkdir(exist_ok=True)
    done = subprocess.run([sys.executable, "-m", "torchgen.gen", "-s",
                           package.parent / "torchgen/packaged/ATen", "-d", folder,
                           "--per-operator-headers", "--backend-whitelist", "CUDA", "--generate", "sources"],
                          env={"PYTHONPATH": str(package.parent), "PATH": "/usr/bin:/bin"}, capture_output=True,
                          text=True, cwd=folder)  # it looks for, and writes, other files below it
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        say(f"PyTorch's generator does not run, so its kernels of add are left out: {last}")
    return folder


def sources(source, generated, everything, only):
    kernels = source / "aten/src/ATen/native/cuda"
    if only:
        return [kernels / f"{name}.cu" if (kernels / f"{name}.cu").exists() else generated / f"{name}.cu"
                for name in only]
    made = [generated / name for name in GENERATED if (generated / name).exists()]
    if everything:
        return made + sorted(path for path in (source / "aten/src/ATen").rglob("*.cu")
                             if not {"hip", "test", "tests", "composable_kernel"} & set(path.parts))
    missing = [name for name in FILES if not (kernels / f"{name}.cu").exists()]
    if missing:
        say(f"this version has no {', '.join(missing)}")
    return made + [kernels / f"{name}.cu" for name in FILES if name not in missing]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, required=True, metavar="DIR", help="where all is kept")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="FILE", help="the pack")
    parser.add_argument("--all", action="store_true", help="every CUDA source")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these, such as SoftMax")
    parser.add_argument("--python", metavar="FILE", help=f"an interpreter with torch {VERSION}, instead of a wheel")
    parser.add_argument("--wharf", default=shutil.which("wharf") or "build/default/bin/wharf", metavar="FILE")
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc", metavar="FILE")
    parser.add_argument("--include", action="append", default=[], metavar="DIR",
                        help="headers that come before all others, such as another CCCL's")
    parser.add_argument("-j", "--jobs", default="0", metavar="N", help="files at a time; 0 = one for each core")
    options = parser.parse_args()
    work = options.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    source = unpack_sources(fetch_sources(work), work)
    package = find_package(options.python, work)
    generated = generate(package, work)
    headers = package / "include"
    includes = [*options.include, headers, headers / "torch/csrc/api/include", source / "aten/src", source,
                source / "third_party/cutlass/include"]
    flags = FLAGS + [word for folder in includes for word in ("-I", str(folder))]
    commands = [{"directory": str(work), "file": str(file), "arguments": ["nvcc", *flags, "-c", str(file)]}
                for file in sources(source, generated, options.all, options.only)]
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
