# Everything runs from here; `make help` lists it. CMake presets do the work, so all of it can be run without make.
SHELL := /bin/bash
.DEFAULT_GOAL := help
JOBS ?= $(shell nproc)
# Tests wait a fifth of their time, for timeouts and one another's processes.
TESTS ?= $(shell expr $(JOBS) + 1)
# Where tools/install_cuda.sh puts the compiler it had to fetch; CMake finds it by this.
export CMAKE_PREFIX_PATH := $(CURDIR)/build/cuda

.PHONY: help packages build test test-python test-pytorch test-ros2 test-debs debs bench-ros2 python arm64 arm64-models arm64-server \
  arm64-debs test-arm64-debs debian11 debian11-arm64 sizes asan tsan tidy lint \
  demo demo-ar demo-pipeline bench benchmarks format check-format clean distclean

help:  ## this list
	@sed -nE 's/^([a-z0-9-]+):[^#]*## (.*)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

packages:  ## install what is missing (packages.txt; the CUDA compiler where there is none)
	@tools/install_packages.sh
	@tools/install_cuda.sh
	@tools/install_cuda12.sh

build: packages  ## Release build in build/default
	@cmake --preset default
	@TIMEFORMAT='build: %R s, of processors %U + %S s'; time cmake --build --preset default -j $(JOBS)

test: build  ## build and run every test, as CI does
	@TIMEFORMAT='tests: %R s, of processors %U + %S s'; time ctest --preset default -j $(TESTS)

arm64: build  ## what a device needs, for ARM64, in build/arm64; CUDA programs there, by qemu, against this machine's server
	@tools/install_packages.sh packages-arm64.txt
	@tools/arm64_sysroot.sh
	@tools/arm64_qemu.sh
	@cmake --preset arm64
	@cmake --build --preset arm64 -j $(JOBS)
	@ctest --preset arm64 -j $(TESTS)

arm64-models: build  ## the same, and what computes models: split inference, AR, Python (270 MB of Debian's packages)
	@tools/install_packages.sh packages-arm64.txt
	@tools/arm64_sysroot.sh --models
	@tools/arm64_qemu.sh
	@cmake --preset arm64-models
	@cmake --build --preset arm64-models -j $(JOBS)
	@ctest --preset arm64-models -j $(TESTS)

arm64-server: build  ## what serves programs, for ARM64, in build/arm64-server; CUDA programs of here and there, by qemu
	@tools/install_packages.sh packages-arm64.txt
	@tools/arm64_sysroot.sh --server
	@tools/arm64_qemu.sh
	@cmake --preset arm64-server
	@cmake --build --preset arm64-server -j $(JOBS)
	@ctest --preset arm64-server -j $(TESTS)

arm64-debs:  ## Debian's packages for ARM64 of what make arm64, arm64-models and arm64-server have built last, in debs there
	@for build in build/arm64 build/arm64-server; do \
	  [[ ! -x $$build/bin/wharf ]] || \
	  (cd $$build && rm -rf debs && cpack --config CPackConfig.cmake > debs.log || (cat debs.log; exit 1)) || exit 1; \
	done
	@ls build/arm64*/debs/*.deb

test-arm64-debs: arm64-debs  ## use them, by qemu, in roots that have them and Debian's packages only; as root
	@python3 tools/test_arm64_debs.py

debian11: build  ## what a device needs, for x86-64 with glibc 2.31 or newer (Ubuntu 20.04), in build/debian11; CUDA programs in a root of Debian 11
	@tools/install_packages.sh packages-debian11.txt
	@JOBS=$(JOBS) tools/debian11_sysroot.sh
	@cmake --preset debian11
	@cmake --build --preset debian11 -j $(JOBS)
	@ctest --preset debian11 -j $(TESTS)

debian11-arm64: build  ## the same for ARM64, in build/debian11-arm64; CUDA programs in a root of Debian 11 for ARM64, by qemu
	@tools/install_packages.sh packages-arm64.txt
	@tools/install_packages.sh packages-debian11.txt
	@tools/arm64_qemu.sh
	@JOBS=$(JOBS) tools/debian11_sysroot.sh --arm64
	@cmake --preset debian11-arm64
	@cmake --build --preset debian11-arm64 -j $(JOBS)
	@ctest --preset debian11-arm64 -j $(TESTS)

sizes:  ## what a device needs: files, libraries, glibc, packages, of each build that is there; what `wharf run` takes to start
	@tools/sizes.py

python:  ## the wheel of the Python package, in build/python
	@tools/python_wheel.sh

test-python:  ## the wheel with PyTorch, which comes from PyPI (TORCH=torch==2.11.0: another; 4.5 GB; TORCH=none: NumPy only)
	@tools/test_python.sh

test-pytorch: build  ## torchvision's networks by PyTorch from PyPI, in every mode (4.5 GB to fetch; two hours)
	@tools/test_pytorch.py

debs: build  ## Debian's packages, in build/default/debs (docs/install.md)
	@cd build/default && rm -rf debs && cpack --config CPackConfig.cmake > debs.log || (cat debs.log; exit 1)
	@ls build/default/debs/*.deb

test-debs: debs  ## install them in roots of their own, use, upgrade, remove; as root, fetches Debian's packages (0.8 GB)
	@python3 tools/test_debs.py

bench-ros2: build  ## a camera's topic over an emulated Wi-Fi beside the node on the robot; as root, with ROS 2 of PyPI
	@tools/bench_ros2.sh

test-ros2:  ## the ROS 2 node with real topics; ROS 2 comes from PyPI (0.4 GB) and wants Python 3.12
	@tools/test_ros2.sh

asan tsan: packages
	@cmake --preset $@
	@cmake --build --preset $@ -j $(JOBS)
	@ctest --preset $@ -j $(JOBS)
asan:  ## every test under AddressSanitizer and UndefinedBehaviorSanitizer
tsan:  ## every test under ThreadSanitizer

tidy: packages  ## clang-tidy over every source
	@cmake --preset tidy
	@cmake --build --preset tidy -j $(JOBS)

demo:  ## install, build, run a CUDA program through an emulated Wi-Fi link; ends with a table and a picture
	@tools/demo.sh

demo-ar:  ## an AR server and three clients on this machine; ends with a video, a picture of each client and what it lost
	@tools/demo_ar.sh

demo-pipeline:  ## etcd, three workers of two classes, a plan and requests on this machine; ends with real beside simulated
	@tools/demo_pipeline.sh

bench: build  ## the figures of docs/benchmarks.md for offloading; rows and a page in out/bench
	@mkdir -p out/bench
	@build/default/bin/wharf bench offload --json out/bench/offload.json --html out/bench/offload.html

benchmarks: build  ## microbenchmarks of the rooms: build/default/bin/*_benchmark
	@cmake --build --preset default -j $(JOBS) --target benchmarks

format:  ## clang-format every C++ source in place
	@git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r clang-format -i

lint: packages  ## rooms, pages and format are as they should be; every header compiles alone, and benchmarks do
	@tools/check_rooms.py
	@tools/check_pages.py
	@! git grep -nE '^ *rc::check\(' -- '*.cc' || (echo "rc::check says whether the property holds: EXPECT_TRUE(rc::check(...))" >&2; false)
	@$(MAKE) --no-print-directory check-format
	@cmake --preset default
	@cmake --build --preset default -j $(JOBS) --target lint_headers benchmarks

check-format:  ## fail if clang-format would change anything
	@git ls-files '*.h' '*.cc' '*.cu' '*.cuh' | xargs -r clang-format --dry-run --Werror

clean:  ## remove what was built (the fetched CUDA compiler stays)
	@rm -rf build/default build/dev build/asan build/tsan build/tidy build/arm64 build/arm64-server build/debian11 build/debian11-arm64 out

distclean: clean  ## remove everything that is not in git's care
	@rm -rf build .cache
