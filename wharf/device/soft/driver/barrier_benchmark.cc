// Kernels whose threads meet (barrier_kernels.cl): the software device, the same work natively, and the same kernels on
// an OpenCL device, such as PoCL, where there is one; in turns, least of all rounds, results compared. Prints a table.
//
// barrier_benchmark [ROUNDS [NAME]]: rounds of each, 20 by default; only kernels whose name has NAME in it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wharf/base/subprocess/subprocess.h"
#include "wharf/device/soft/driver/barrier_native.h"
#include "wharf/device/soft/driver/barrier_works.h"
#include "wharf/device/soft/driver/benchmark_session.h"
#include "wharf/device/soft/driver/generated/barrier_kernels_ptx.h"

namespace wharf::device::soft {
namespace {

using Native = std::function<void(float* out, const float* in)>;

const Native& NativeOf(const BarrierWork& work) {
  const auto sums = [](float* out, const float* in) { native::SumsOf256(out, in, kArray / 256); };
  const auto product = [](float* out, const float* in) { native::Product512(out, in, in + 512 * 512); };
  static const auto* all = new std::map<std::string, Native>{
      {"block_reduction", sums},
      {"warp_reduction", sums},
      {"scan", [](float* out, const float* in) { native::ScanBlocks(out, in, 8192); }},
      {"layer_norm", [](float* out, const float* in) { native::LayerNormRows(out, in, 8192); }},
      {"tiled_stencil", [](float* out, const float* in) { native::Stencil5(out, in, 2048, 2048); }},
      {"product_16", product},
      {"product_32", product},
      {"softmax", [](float* out, const float* in) { native::SoftmaxRows(out, in, 8192); }},
      {"bitonic_sort", [](float* out, const float* in) { native::SortBlocks(out, in, 8192); }},
      {"histogram",
       [](float* out, const float* in) {
         native::Histogram(reinterpret_cast<uint32_t*>(out), reinterpret_cast<const uint8_t*>(in), kArray);
       }},
      {"scaled_sum", [](float* out, const float* in) { native::ScaledSum(out, in, 0.5F, kArray); }}};
  return all->at(work.kernel);
}

// barrier_opencl.cc in a process of its own, and the memory they share.
class OpenCl {
 public:
  // Null, with a line on standard error, if there is none.
  static std::unique_ptr<OpenCl> Start(const float* in) {
#ifdef WHARF_OPENCL_PROGRAM
    std::unique_ptr<OpenCl> opencl(new OpenCl);
    const int memory = memfd_create("arrays", MFD_CLOEXEC);
    int to_child[2], from_child[2];
    if (memory < 0 || ftruncate(memory, kBytes) != 0 || pipe2(to_child, O_CLOEXEC) != 0 ||
        pipe2(from_child, O_CLOEXEC) != 0) {
      std::abort();
    }
    opencl->arrays_ = static_cast<float*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0));
    std::copy(in, in + kArray, opencl->arrays_);
    auto process = Subprocess::Start({.path = WHARF_OPENCL_PROGRAM,
                                      .arguments = {"barrier_opencl"},
                                      .descriptors = {to_child[0], from_child[1], 2, memory}});
    close(to_child[0]);
    close(from_child[1]);
    close(memory);
    opencl->to_ = to_child[1];
    opencl->from_ = from_child[0];
    if (!process.ok() || !opencl->Read()) return nullptr;
    opencl->process_.emplace(*std::move(process));
    return opencl;
#else
    std::cerr << "built without OpenCL: no rows of it (Debian: ocl-icd-opencl-dev, pocl-opencl-icd; then CMake anew)\n";
    (void)in;
    return nullptr;
#endif
  }

  float* out() { return arrays_ + kArray; }
  // Milliseconds.
  double Run(size_t work) {
    const auto number = static_cast<uint8_t>(work);
    const std::optional<double> time = write(to_, &number, 1) == 1 ? Read() : std::nullopt;
    if (!time) std::abort();
    return *time;
  }

 private:
  static constexpr size_t kBytes = size_t{kArray} * 8;
  OpenCl() = default;

  std::optional<double> Read() const {
    double value = 0;
    return read(from_, &value, sizeof value) == sizeof value ? std::optional(value) : std::nullopt;
  }

  float* arrays_ = nullptr;
  int to_ = -1, from_ = -1;
  std::optional<Subprocess> process_;
};

// The greatest difference of two results, beside the greatest of them.
template <typename T>
double Apart(const float* a, const float* b, int count) {
  double most = 0, apart = 0;
  for (int i = 0; i < count; ++i) {
    const auto left = static_cast<double>(reinterpret_cast<const T*>(a)[i]);
    const auto right = static_cast<double>(reinterpret_cast<const T*>(b)[i]);
    most = std::max(most, std::abs(left));
    apart = std::max(apart, std::abs(left - right));
  }
  return most == 0 ? apart : apart / most;
}

// Each implementation writes to an array of its own.
class Comparison {
 public:
  explicit Comparison(int rounds)
      : rounds_(rounds), session_(kBarrierKernels, kArray), opencl_(OpenCl::Start(session_.data(0))), out_(kArray) {
    std::cout << "| kernel | work | native ms | Wharf ms | OpenCL ms | Wharf / native | OpenCL / native | Wharf / "
                 "OpenCL |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  }

  // False if results differ.
  bool Run(size_t number, const BarrierWork& work) {
    const auto wharf = Wharf(work);
    const Native& native = NativeOf(work);
    Times natives, wharfs;
    std::vector<double> opencl;
    for (int round = -1; round < rounds_; ++round) {  // the first compiles and does not count
      Times first;
      const auto prepare = [&](float* out) {
        if (work.adds) std::fill(out, out + work.results, 0.0F);
      };
      prepare(out_.data());
      (round < 0 ? first : natives).Measure([&] { native(out_.data(), session_.data(0)); });
      prepare(session_.data(1));
      (round < 0 ? first : wharfs).Measure(wharf);
      if (opencl_ == nullptr) continue;
      prepare(opencl_->out());
      const double time = opencl_->Run(number);
      if (round >= 0) opencl.push_back(time);
    }
    Print(work, Times::Best(natives.wall) * 1e3, Times::Best(wharfs.wall) * 1e3,
          opencl.empty() ? std::nullopt : std::optional(Times::Best(opencl)));
    return IsSame(work, session_.data(1)) && (opencl_ == nullptr || IsSame(work, opencl_->out()));
  }

  void PrintMeans() const {
    const auto mean = [](const std::vector<double>& ratios) {
      double sum = 0;
      for (const double ratio : ratios) sum += std::log(ratio);
      return std::exp(sum / static_cast<double>(ratios.size()));
    };
    if (wharf_.empty()) return;
    std::cout << fmt::format("\nGeometric mean of the {} that meet: Wharf {:.2f} times native", wharf_.size(),
                             mean(wharf_));
    if (!opencls_.empty()) std::cout << fmt::format(", OpenCL {:.2f} times", mean(opencls_));
    std::cout << "\n";
  }

 private:
  std::function<void()> Wharf(const BarrierWork& work) {
    const LaunchConfig config{.grid = {work.grid[0], work.grid[1]}, .block = {work.block[0], work.block[1]}};
    const DeviceAddress in = session_.array(0), out = session_.array(1);
    std::vector<std::byte> parameters =
        work.second == 0 ? Pack(in, out) : Pack(in, in + 4 * static_cast<uint64_t>(work.second), out);
    const auto append = [&](const auto& values) {
      const auto bytes = std::as_bytes(std::span(values));
      parameters.insert(parameters.end(), bytes.begin(), bytes.end());
    };
    append(work.factors);
    append(work.counts);
    return [this, config, parameters, function = session_.Define(work.kernel)] {
      session_.Launch(function, config, parameters);
    };
  }

  bool IsSame(const BarrierWork& work, const float* out) const {
    const double apart = std::string_view(work.kernel) == "histogram" ? Apart<uint32_t>(out_.data(), out, work.results)
                                                                      : Apart<float>(out_.data(), out, work.results);
    if (apart < 1e-4) return true;
    std::cerr << fmt::format("{}: results differ by {:.2g} of the greatest\n", work.kernel, apart);
    return false;
  }

  void Print(const BarrierWork& work, double native, double wharf, std::optional<double> opencl) {
    const bool meets = std::string_view(work.kernel) != "scaled_sum";
    if (meets) wharf_.push_back(wharf / native);
    std::cout << fmt::format("| {} | {} | {:.2f} | {:.2f} |", work.kernel, work.what, native, wharf);
    if (opencl) {
      if (meets) opencls_.push_back(*opencl / native);
      std::cout << fmt::format(" {:.2f} | {:.2f} | {:.2f} | {:.2f} |", *opencl, wharf / native, *opencl / native,
                               wharf / *opencl);
    } else {
      std::cout << fmt::format(" | {:.2f} | | |", wharf / native);
    }
    std::cout << std::endl;
  }

  const int rounds_;
  Session session_;
  std::unique_ptr<OpenCl> opencl_;
  std::vector<float> out_;
  std::vector<double> wharf_, opencls_;
};

int Main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20;
  const std::string name = argc > 2 ? argv[2] : "";
  if (rounds <= 0) {
    std::cerr << "usage: barrier_benchmark [ROUNDS [NAME]]\n";
    return 2;
  }
  Comparison comparison(rounds);
  const std::vector<BarrierWork> works = BarrierWorks();
  bool same = true;
  for (size_t i = 0; i < works.size(); ++i) {
    if (std::string(works[i].kernel).find(name) != std::string::npos) same = comparison.Run(i, works[i]) && same;
  }
  comparison.PrintMeans();
  return same ? 0 : 1;
}

}  // namespace
}  // namespace wharf::device::soft

int main(int argc, char** argv) { return wharf::device::soft::Main(argc, argv); }
