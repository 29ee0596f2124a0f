#include "wharf/device/soft/codegen/program.h"

#include <algorithm>
#include <array>

#include "wharf/device/cuda_error.h"
#include "wharf/device/ptx/link.h"
#include "wharf/device/ptx/parser.h"
#include "wharf/device/soft/codegen/spin.h"

namespace wharf::device::soft {
namespace {

constexpr uint64_t kMaxSharedBytes = uint64_t{16} << 20;
constexpr uint64_t kMaxLocalBytes = uint64_t{64} << 20;
constexpr uint32_t kSharedAlignment = 16;
// Longer kernels take too long to compile twice.
constexpr uint32_t kMostByShape = 4000;

uint64_t RoundUp(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

bool NamesReservedShared(const ptx::Operand& operand) {
  auto* special = std::get_if<ptx::SpecialOperand>(&operand.value);
  return special != nullptr && special->name.starts_with("reserved_smem_");
}

// Calls `visit(name)` for every symbol an operand names.
template <typename Visit>
void VisitSymbols(const ptx::Operand& operand, const Visit& visit) {
  if (auto* symbol = std::get_if<ptx::SymbolOperand>(&operand.value)) {
    visit(symbol->name);
  } else if (auto* address = std::get_if<ptx::AddressOperand>(&operand.value)) {
    if (auto* base = std::get_if<ptx::SymbolOperand>(&address->base)) visit(base->name);
  } else if (auto* vector = std::get_if<ptx::VectorOperand>(&operand.value)) {
    for (const ptx::Operand& element : vector->elements) VisitSymbols(element, visit);
  }
}

bool SuspendsThread(const ptx::Instruction& instruction) {
  static constexpr std::array<std::string_view, 15> kOpcodes = {
      "bar",       "barrier",    "shfl", "vote", "match",    "redux",    "activemask", "elect",
      "nanosleep", "setmaxnreg", "mma",  "wmma", "ldmatrix", "stmatrix", "movmatrix"};
  return std::find(kOpcodes.begin(), kOpcodes.end(), instruction.opcode) != kOpcodes.end();
}

// Functions of NVIDIA's device runtime, from CUDA 12 on and before.
bool IsOfDeviceRuntime(std::string_view function) {
  return function.starts_with("__cudaCDP2") || function.starts_with("cudaLaunchDevice") ||
         function.starts_with("cudaGetParameterBuffer");
}

bool SameShape(const std::vector<ptx::Variable>& a, const std::vector<ptx::Variable>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ptx::Variable& x, const ptx::Variable& y) { return x.Bytes() == y.Bytes(); });
}

class Analyzer {
 public:
  Analyzer(const ptx::Module& module, Program* program) : module_(module), program_(*program) {}

  absl::Status Run(std::string_view kernel) {
    const ptx::Function* entry = module_.FindFunction(ResolveAlias(module_, kernel));
    if (entry == nullptr || !entry->is_entry || entry->body_text.empty()) {
      return NotFound("there is no kernel {} in this module", kernel);
    }
    kernel_ = entry->name;
    WHARF_RETURN_IF_ERROR(CheckClusters(*entry));
    WHARF_RETURN_IF_ERROR(Reach(*entry));
    // Grows while it is walked.
    for (size_t i = 0; i < program_.functions.size(); ++i) WHARF_RETURN_IF_ERROR(Scan(i));
    WHARF_RETURN_IF_ERROR(LayOutShared());
    WHARF_RETURN_IF_ERROR(CountLocal());
    FindSpinEdges(&program_);
    PickMode();
    MakeKey();
    return absl::OkStatus();
  }

 private:
  // A kernel compiled for larger clusters (`__cluster_dims__`) counts on its blocks' being there together.
  absl::Status CheckClusters(const ptx::Function& entry) const {
    const auto found = entry.directives.find("reqnctapercluster");
    if (found == entry.directives.end()) return absl::OkStatus();
    if (std::ranges::all_of(found->second, [](uint64_t extent) { return extent == 1; })) return absl::OkStatus();
    return CudaStatus(CudaError::kUnsupportedPtx, "kernel {}: clusters of more than one block are not supported",
                      kernel_);
  }

  absl::Status Reach(const ptx::Function& function) {
    if (program_.index.contains(function.name)) return absl::OkStatus();
    program_.index[function.name] = static_cast<uint32_t>(program_.functions.size());
    auto body = ptx::ParseBody(module_, function);
    if (!body.ok()) {
      return CudaStatus(CudaError::kInvalidPtx, "kernel {}: function {}: {}", kernel_, function.name,
                        Message(body.status()));
    }
    program_.functions.push_back({&function, *std::move(body)});
    return absl::OkStatus();
  }

  absl::Status ReachName(std::string_view name, bool address_taken, const ptx::Function& from) {
    program_.launches_kernels |= ptx::LaunchesKernels(name);
    if (ptx::IsSystemFunction(name)) return absl::OkStatus();
    if (IsOfDeviceRuntime(name)) {
      return CudaStatus(CudaError::kUnsupportedPtx,
                        "kernel {}: {} calls {}, a part of dynamic parallelism that is not supported", kernel_,
                        from.name, name);
    }
    name = ResolveAlias(module_, name);
    if (const ptx::Variable* variable = module_.FindVariable(name)) {
      if (variable->space == ptx::Space::kGlobal || variable->space == ptx::Space::kConst) {
        program_.globals.insert(variable->name);
      } else if (variable->space == ptx::Space::kShared) {
        module_shared_.insert(variable->name);
      }
      return absl::OkStatus();
    }
    const ptx::Function* function = module_.FindFunction(name);
    if (function == nullptr) return absl::OkStatus();                  // a parameter, a body's variable or a label
    if (function->is_entry && address_taken) return absl::OkStatus();  // to be launched: nothing of it runs here
    if (function->body_text.empty()) {
      return CudaStatus(CudaError::kInvalidPtx, "kernel {}: function {}, which {} calls, is declared but not defined",
                        kernel_, name, from.name);
    }
    WHARF_RETURN_IF_ERROR(Reach(*function));
    if (address_taken) program_.functions[program_.index[function->name]].address_taken = true;
    return absl::OkStatus();
  }

  absl::Status Scan(size_t at) {
    ReachedFunction& reached = program_.functions[at];
    reached.first_instruction = program_.instructions;
    program_.instructions += static_cast<uint32_t>(reached.body.instructions.size());
    for (const ptx::Instruction& instruction : reached.body.instructions) {
      WHARF_RETURN_IF_ERROR(ScanInstruction(reached, instruction));
      if (SuspendsThread(instruction)) program_.mode = ExecutionMode::kSuspendable;
      program_.has_alloca |= instruction.opcode == "alloca";
    }
    return absl::OkStatus();
  }

  absl::Status ScanInstruction(const ReachedFunction& from, const ptx::Instruction& instruction) {
    const ptx::Function& function = *from.function;
    std::vector<std::string> names, callees;
    const bool call = instruction.opcode == "call";
    for (size_t i = 0; i < instruction.operands.size(); ++i) {
      program_.has_reserved_shared |= NamesReservedShared(instruction.operands[i]);
      VisitSymbols(instruction.operands[i],
                   [&](const std::string& name) { (call && i == 0 ? callees : names).push_back(name); });
    }
    for (const ptx::Operand& operand : instruction.call_arguments) {
      VisitSymbols(operand, [&](const std::string& name) { names.push_back(name); });
    }
    for (const std::string& name : callees) WHARF_RETURN_IF_ERROR(ReachName(name, false, function));
    for (const std::string& name : names) WHARF_RETURN_IF_ERROR(ReachName(name, true, function));
    if (call && callees.empty()) return ReachTargets(from, instruction);
    return absl::OkStatus();
  }

  // Functions an indirect call may reach: those of a fitting shape whose address is taken anywhere in the module.
  absl::Status ReachTargets(const ReachedFunction& caller, const ptx::Instruction& call) {
    program_.has_indirect_call = true;
    const ptx::Body& body = caller.body;
    const ptx::Function& from = *caller.function;
    if (auto targets = body.call_targets.find(call.call_prototype); targets != body.call_targets.end()) {
      for (const std::string& name : targets->second) WHARF_RETURN_IF_ERROR(ReachName(name, true, from));
      return absl::OkStatus();
    }
    auto found = body.prototypes.find(call.call_prototype);
    if (found == body.prototypes.end()) {
      return CudaStatus(CudaError::kInvalidPtx, "kernel {}: line {}: `{}` has no prototype", kernel_, call.line,
                        call.text);
    }
    const ptx::Body::Prototype& prototype = found->second;
    FindAddressTaken();
    for (const std::string& name : address_taken_) {
      const ptx::Function* target = module_.FindFunction(ResolveAlias(module_, name));
      if (target == nullptr || target->is_entry || target->body_text.empty()) continue;
      if (!SameShape(target->returns, prototype.returns) || !SameShape(target->parameters, prototype.parameters))
        continue;
      WHARF_RETURN_IF_ERROR(ReachName(name, true, from));
    }
    return absl::OkStatus();
  }

  void FindAddressTaken() {
    if (searched_) return;
    searched_ = true;
    for (const ptx::Variable& variable : module_.variables) {
      for (const ptx::Initializer& initializer : variable.initializer) {
        if (module_.function_index.contains(initializer.symbol)) address_taken_.insert(initializer.symbol);
      }
    }
    // `mov.u64 %rd1, name;` in any body, parsed or not.
    const std::string_view text = *module_.text;
    for (size_t at = text.find("mov."); at != std::string_view::npos; at = text.find("mov.", at + 4)) {
      const size_t end = text.find(';', at);
      if (end == std::string_view::npos) break;
      std::string_view name = text.substr(at, end - at);
      name.remove_prefix(std::min(name.size(), name.find_last_of(", \t") + 1));
      if (module_.function_index.contains(name)) address_taken_.insert(std::string(name));
    }
  }

  absl::Status LayOutShared() {
    uint64_t offset = 0;
    std::vector<std::string> unsized;
    auto place = [&](std::string key, const ptx::Variable& variable) {
      if (variable.Bytes() == 0) return unsized.push_back(std::move(key));
      offset = RoundUp(offset, std::max<uint64_t>(1, variable.alignment));
      program_.shared_offsets[std::move(key)] = static_cast<uint32_t>(std::min(offset, kMaxSharedBytes));
      offset += std::min(variable.Bytes(), kMaxSharedBytes);
    };
    for (const std::string& name : module_shared_) place(name, *module_.FindVariable(name));
    for (const ReachedFunction& reached : program_.functions) {
      for (const ptx::Variable& variable : reached.body.variables) {
        if (variable.space == ptx::Space::kShared) place(SharedKey(*reached.function, variable.name), variable);
      }
    }
    offset = RoundUp(offset, kSharedAlignment);
    program_.reserved_shared_offset = static_cast<uint32_t>(std::min(offset, kMaxSharedBytes));
    if (program_.has_reserved_shared) offset += kReservedSharedBytes;
    if (offset > kMaxSharedBytes) {
      return CudaStatus(CudaError::kInvalidPtx, "kernel {}: too much static shared memory", kernel_);
    }
    program_.static_shared_bytes = static_cast<uint32_t>(offset);
    for (const std::string& key : unsized) program_.shared_offsets[key] = program_.static_shared_bytes;
    return absl::OkStatus();
  }

  absl::Status CountLocal() {
    uint64_t bytes = 0;
    for (const ReachedFunction& reached : program_.functions) {
      for (const ptx::Variable& variable : reached.body.variables) {
        if (variable.space != ptx::Space::kLocal && variable.space != ptx::Space::kParam) continue;
        program_.has_local |= variable.space == ptx::Space::kLocal;
        bytes = RoundUp(bytes, 16) + std::min(variable.Bytes(), kMaxLocalBytes);
      }
    }
    if (bytes > kMaxLocalBytes) return CudaStatus(CudaError::kInvalidPtx, "kernel {}: too much local memory", kernel_);
    program_.local_bytes = static_cast<uint32_t>(bytes);
    return absl::OkStatus();
  }

  void PickMode() {
    for (const ReachedFunction& reached : program_.functions) {
      program_.spins |= !reached.spin_edges.empty();
    }
    if (program_.spins) program_.mode = ExecutionMode::kSuspendable;
  }

  static void AppendVariable(const ptx::Variable& v, std::string* key) {
    *key += fmt::format("{} {} {} {} {} {} {}\n", v.name, static_cast<int>(v.space), static_cast<int>(v.type),
                        v.alignment, v.vector, v.elements, v.opaque);
  }

  void MakeKey() {
    std::string& key = program_.key;
    for (const std::string& name : program_.globals) AppendVariable(*module_.FindVariable(name), &key);
    for (const std::string& name : module_shared_) AppendVariable(*module_.FindVariable(name), &key);
    for (const auto& [name, target] : module_.aliases) key += fmt::format("alias {} {}\n", name, target);
    for (const ReachedFunction& reached : program_.functions) {
      const ptx::Function& function = *reached.function;
      key += fmt::format("function {} {} {}\n", function.name, function.is_entry, reached.address_taken);
      for (const ptx::Variable& v : function.returns) AppendVariable(v, &key);
      key += "parameters\n";
      for (const ptx::Variable& v : function.parameters) AppendVariable(v, &key);
      for (const auto& [name, values] : function.directives) {
        key += fmt::format(".{} {}\n", name, fmt::join(values, ","));
      }
      key += fmt::format("{}\n", function.body_text);
    }
  }

  const ptx::Module& module_;
  Program& program_;
  std::string kernel_;
  std::set<std::string> module_shared_, address_taken_;
  bool searched_ = false;
};

}  // namespace

std::string SharedKey(const ptx::Function& function, std::string_view variable) {
  return fmt::format("{}\n{}", function.name, variable);
}

void AddChecks(check::Checks checks, Program* program) {
  if (checks == 0) return;
  program->checks = checks;
  program->mode = ExecutionMode::kSuspendable;
  program->key += fmt::format("checks {}\n", checks);
}

bool GainsByShape(const Program& program) {
  return program.checks == 0 && program.mode == ExecutionMode::kSuspendable && !program.spins &&
         !program.has_indirect_call && !program.has_alloca && program.instructions <= kMostByShape;
}

Dim3 CodeShape(const Program& program, const Dim3& block) {
  if (GainsByShape(program)) return block;
  return program.mode == ExecutionMode::kLoop && IsNarrow(block) ? kNarrow : kAnyBlock;
}

absl::StatusOr<Program> Analyze(const ptx::Module& module, std::string_view kernel) {
  Program program;
  program.module = &module;
  WHARF_RETURN_IF_ERROR(Analyzer(module, &program).Run(kernel));
  return program;
}

}  // namespace wharf::device::soft
