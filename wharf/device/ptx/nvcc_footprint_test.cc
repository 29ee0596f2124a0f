// The kernels of the example network, as nvcc compiles them: all of them the server may run ahead of the program, some
// of them only guarded.
#include <cxxabi.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "wharf/device/ptx/footprint.h"
#include "wharf/device/ptx/test_util.h"

namespace wharf::device::ptx {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Offsets = std::vector<uint32_t>;

// The function's own name out of a mangled one.
std::string PlainName(const std::string& mangled) {
  int status = 0;
  char* demangled = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 ? demangled : mangled;
  std::free(demangled);
  const std::string space = "(anonymous namespace)::";
  if (const size_t at = name.find(space); at != std::string::npos) name = name.substr(at + space.size());
  return name.substr(0, name.find('('));
}

// Every kernel of the file by its plain name.
std::map<std::string, KernelFootprint> FootprintsOf(const std::string& file) {
  std::ifstream text(std::string(WHARF_FIXTURES "/") + file);
  const auto module = Parse(std::string(std::istreambuf_iterator<char>(text), {}));
  EXPECT_EQ(module.status(), absl::OkStatus());
  std::map<std::string, KernelFootprint> footprints;
  if (!module.ok()) return footprints;
  for (const Function& function : (*module)->functions) {
    if (!function.is_entry) continue;
    const auto footprint = FootprintOf(**module, function.name);
    EXPECT_EQ(footprint.status(), absl::OkStatus()) << function.name;
    if (footprint.ok()) footprints[PlainName(function.name)] = *footprint;
  }
  return footprints;
}

using Kind = bool KernelFootprint::*;

// What the kernels of one kind write.
std::map<std::string, Offsets> WrittenBy(const std::map<std::string, KernelFootprint>& footprints, Kind kind) {
  std::map<std::string, Offsets> written;
  for (const auto& [name, footprint] : footprints) {
    if (footprint.*kind) written[name] = footprint.written_parameters;
  }
  return written;
}

TEST(NvccFootprint, EveryLayerOfTheNetworkIsOblivious) {
  const auto footprints = FootprintsOf("ops.ptx");
  for (const auto& [name, footprint] : footprints) EXPECT_TRUE(footprint.oblivious) << name << ": " << footprint.reason;
  EXPECT_THAT(
      WrittenBy(footprints, &KernelFootprint::oblivious),
      ElementsAre(Pair("AddChannel", Offsets{16}), Pair("AddKernel", Offsets{16}), Pair("BytesToChannels", Offsets{8}),
                  Pair("Im2Col", Offsets{8}), Pair("MaxPool5Kernel", Offsets{8}), Pair("MultiplyChannel", Offsets{16}),
                  Pair("MultiplyKernel", Offsets{16}), Pair("OffsetKernel", Offsets{8}),
                  Pair("ScaleKernel", Offsets{8}), Pair("SelectChannelsKernel", Offsets{8}),
                  Pair("SigmoidKernel", Offsets{8}), Pair("SubtractChannel", Offsets{16}),
                  Pair("Upsample2Kernel", Offsets{8})));
  EXPECT_EQ(footprints.at("AddChannel").read_parameters, (Offsets{0, 8}));
  EXPECT_EQ(footprints.at("Im2Col").read_parameters, (Offsets{0}));
}

TEST(NvccFootprint, TheDetectorsOwnKernelsAreInPart) {
  const auto footprints = FootprintsOf("detector.ptx");
  EXPECT_THAT(
      WrittenBy(footprints, &KernelFootprint::oblivious),
      ElementsAre(Pair("Above", Offsets{8}), Pair("AddGrid", Offsets{16}), Pair("AtLeast", Offsets{8}),
                  Pair("CellCentres", Offsets{0, 8}), Pair("ClampBelow", Offsets{8}), Pair("Divide", Offsets{16}),
                  Pair("ExclusiveScan", Offsets{8}), Pair("Scale", Offsets{8}), Pair("ToPicture", Offsets{16})));
  // Where these write, or how often they loop, depends on what was detected.
  EXPECT_THAT(WrittenBy(footprints, &KernelFootprint::guardable),
              ElementsAre(Pair("Extreme", Offsets{16}), Pair("FlagKeypoints", Offsets{24}), Pair("Fuse", Offsets{16}),
                          Pair("GatherRows", Offsets{16}), Pair("Rank", Offsets{8}), Pair("ScatterBoxes", Offsets{96}),
                          Pair("ScatterJoints", Offsets{96}), Pair("ScatterKeypoints", Offsets{40}),
                          Pair("ScatterRows", Offsets{16}), Pair("SuppressionMask", Offsets{16})));
  EXPECT_EQ(footprints.at("ScatterRows").read_parameters, (Offsets{0, 8}));
}

}  // namespace
}  // namespace wharf::device::ptx
