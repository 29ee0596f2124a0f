// Modules of machine code with packs of PTX. The machine code is nvcc's, of fatbin/testdata/machine_code.cu; the PTX is
// made here, of what the machine code says of itself, and has other hashes in its names. Nothing is compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "wharf/base/read_file.h"
#include "wharf/device/fatbin/machine_code.h"
#include "wharf/device/pack/name.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/driver/soft_device.h"

namespace wharf::device::soft {
namespace {

using ::testing::HasSubstr;

class DescribingCompiler final : public Compiler {
 public:
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Compile(const ptx::Module& module, std::string_view name,
                                                                const SymbolResolver&, const Dim3&) override {
    return Describe(module, name);
  }
  absl::StatusOr<std::shared_ptr<const CompiledKernel>> Describe(const ptx::Module& module,
                                                                 std::string_view name) const override {
    const ptx::Function* const function = module.FindFunction(name);
    if (function == nullptr) return NotFound("no kernel {}", name);
    auto kernel = std::make_shared<CompiledKernel>();
    kernel->loop_entry = [](BlockContext*) {};
    kernel->parameters = ptx::LayoutParameters(*function);
    if (!kernel->parameters.empty()) {
      kernel->parameter_bytes = kernel->parameters.back().offset + kernel->parameters.back().size;
    }
    return kernel;
  }
};

std::vector<std::byte> MachineCodeImage() { return *ReadBytes(WHARF_CUBIN); }

// The same name with another hash.
std::string Elsewhere(std::string name) {
  for (const char* before : {"_GLOBAL__N__", "_INTERNAL_"}) {
    for (size_t at = name.find(before); at != std::string::npos; at = name.find(before, at + 1)) {
      name.replace(at + std::string_view(before).size(), 8, "01234567");
    }
  }
  return name;
}

std::string PtxFor(const fatbin::MachineCode& code) {
  std::string text = ".version 8.5\n.target sm_75\n.address_size 64\n";
  for (const fatbin::MachineVariable& variable : code.variables) {
    text += fmt::format(".{} .align 4 .b8 {}[{}] = {{7}};\n", variable.is_constant ? "const" : "global",
                        Elsewhere(variable.name), variable.size);
  }
  for (const fatbin::MachineKernel& kernel : code.kernels) {
    std::vector<std::string> parameters;
    for (const auto& [offset, size] : kernel.parameters) {
      const uint32_t alignment = offset == 0 ? 8 : std::min<uint32_t>(8, offset & (~offset + 1));
      parameters.push_back(fmt::format(".param .align {} .b8 p{}[{}]", alignment, parameters.size(), size));
    }
    text += fmt::format(".visible .entry {}({}) {{ ret; }}\n", Elsewhere(kernel.name), fmt::join(parameters, ", "));
  }
  return text;
}

class PackedModuleTest : public ::testing::Test {
 protected:
  PackedModuleTest() : code_(*fatbin::ReadMachineCode(MachineCodeImage())) {
    std::filesystem::create_directory(folder_);
  }
  ~PackedModuleTest() override { std::filesystem::remove_all(folder_); }

  // A device with a pack of this text, or with none. The machine code is loaded.
  std::unique_ptr<SoftDevice> DeviceWith(const std::string& ptx) const {
    std::shared_ptr<const pack::PackSet> packs;
    if (!ptx.empty()) {
      pack::PackWriter writer;
      EXPECT_EQ(writer.Add(ptx, "source.cu"), absl::OkStatus());
      const std::string paths[] = {folder_ + "/pack"};
      EXPECT_EQ(writer.Write(paths[0]), absl::OkStatus());
      packs = *pack::PackSet::Open(paths);
    }
    auto device =
        *SoftDevice::Create({.memory_quota = 1 << 20, .threads = 1}, std::make_unique<DescribingCompiler>(), packs);
    EXPECT_EQ(device->LoadModule(1, MachineCodeImage()), absl::OkStatus());
    return device;
  }

  const fatbin::MachineCode code_;
  const std::string folder_ =
      std::filesystem::temp_directory_path() / ("wharf_packed_module_test_" + std::to_string(getpid()));
};

TEST_F(PackedModuleTest, HasTheKernelsOfTheMachineCode) {
  const auto device = DeviceWith(PtxFor(code_));
  FunctionId id = 1;
  for (const fatbin::MachineKernel& kernel : code_.kernels) {
    ASSERT_EQ(device->DefineFunction(id, 1, kernel.name), absl::OkStatus()) << kernel.name;
    const auto attributes = device->Attributes(id++);
    ASSERT_TRUE(attributes.ok()) << attributes.status();
    EXPECT_EQ(attributes->parameters, kernel.parameters) << kernel.name;
  }
  EXPECT_EQ(CudaErrorOf(device->DefineFunction(id, 1, "other")), CudaError::kNotFound);
}

TEST_F(PackedModuleTest, HasTheVariablesOfTheMachineCode) {
  const auto device = DeviceWith(PtxFor(code_));
  for (const fatbin::MachineVariable& variable : code_.variables) {
    const auto symbol = device->FindSymbol(1, variable.name);
    ASSERT_TRUE(symbol.ok()) << symbol.status();
    EXPECT_EQ(symbol->size, variable.size) << variable.name;
    EXPECT_EQ(*reinterpret_cast<const uint8_t*>(symbol->address), 7) << "what the source gives it";
  }
  EXPECT_EQ(CudaErrorOf(device->FindSymbol(1, "other").status()), CudaError::kNotFound);
}

TEST_F(PackedModuleTest, LaunchesThem) {
  const auto device = DeviceWith(PtxFor(code_));
  ASSERT_EQ(device->DefineFunction(1, 1, "without_parameters"), absl::OkStatus());
  EXPECT_EQ(device->Launch(kDefaultStream, 1, {{1, 1, 1}, {1, 1, 1}}, {}), absl::OkStatus());
}

TEST_F(PackedModuleTest, SaysWhatIsMissingOfEachKernel) {
  const auto device = DeviceWith("");
  ASSERT_EQ(device->DefineFunction(1, 1, "without_parameters"), absl::OkStatus());
  for (const absl::Status& status :
       {device->Attributes(1).status(), device->FootprintOf(1).status(), device->SetMaxDynamicShared(1, 8),
        device->Launch(kDefaultStream, 1, {{1, 1, 1}, {1, 1, 1}}, {})}) {
    EXPECT_EQ(CudaErrorOf(status), CudaError::kNoBinaryForDevice);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("kernel without_parameters: the program carries only machine"));
  }
  EXPECT_EQ(CudaErrorOf(device->FindSymbol(1, "counter").status()), CudaError::kNoBinaryForDevice);
  EXPECT_EQ(CudaErrorOf(device->DefineFunction(2, 1, "other")), CudaError::kNotFound);
  EXPECT_EQ(device->UnloadModule(1), absl::OkStatus());
}

TEST_F(PackedModuleTest, TakesNoPtxOfAnotherVersion) {
  fatbin::MachineCode other = code_;
  for (fatbin::MachineKernel& kernel : other.kernels) {
    if (kernel.parameters.size() == 2) kernel.parameters.pop_back();
  }
  const auto device = DeviceWith(PtxFor(other));
  ASSERT_EQ(device->DefineFunction(1, 1, "without_parameters"), absl::OkStatus());
  const absl::Status status = device->Attributes(1).status();
  EXPECT_EQ(CudaErrorOf(status), CudaError::kNoBinaryForDevice);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("another version of the source"));
}

TEST_F(PackedModuleTest, RefusesMalformedMachineCode) {
  const auto device = DeviceWith("");
  std::vector<std::byte> image = MachineCodeImage();
  image.resize(image.size() / 2);
  EXPECT_EQ(CudaErrorOf(device->LoadModule(2, image)), CudaError::kInvalidImage);
}

}  // namespace
}  // namespace wharf::device::soft
