#include "wharf/device/ptx/guard.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>

#include "wharf/device/ptx/guard_rules.h"
#include "wharf/device/ptx/lexer.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::ptx {
namespace {

constexpr std::string_view kPrefix = "wharf_guard_";  // of every name that is added
constexpr uint32_t kWordBytes = 8;

std::string_view SpaceName(Space space) {
  switch (space) {
    case Space::kParam:
      return "param";
    case Space::kShared:
      return "shared";
    default:
      return "local";
  }
}

// `.param .align 8 .b8 name[24]`
std::string Declaration(const Variable& variable) {
  std::string text = fmt::format("{}.{}", variable.is_extern ? ".extern " : "", SpaceName(variable.space));
  if (variable.is_array) text += fmt::format(" .align {}", variable.alignment);
  if (variable.vector > 1) text += fmt::format(" .v{}", variable.vector);
  text += fmt::format(" .{} {}", TypeName(variable.type), variable.name);
  if (!variable.is_array) return text;
  return text + (variable.elements == 0 ? "[]" : fmt::format("[{}]", variable.elements));
}

// The parameters that have a range, ascending.
std::vector<uint32_t> Ranges(const std::vector<uint32_t>& written, const std::vector<uint32_t>& read) {
  std::vector<uint32_t> ranges;
  std::set_union(written.begin(), written.end(), read.begin(), read.end(), std::back_inserter(ranges));
  return ranges;
}

// Writes the guarded kernel's text. In what it adds to the body, `#` stands for the prefix of registers.
class Writer {
 public:
  // `ranges`: the parameters that have one, ascending.
  Writer(const Module& module, const Flow& flow, const GuardPlan& plan, std::vector<uint32_t> ranges)
      : module_(module),
        kernel_(flow.functions().front()),
        body_(kernel_.body),
        plan_(plan),
        ranges_(std::move(ranges)) {}

  std::string Write() {
    WriteHeader();
    WriteParameters();
    for (const auto& [name, values] : kernel_.function->directives) {
      text_ += fmt::format(".{} {}\n", name, fmt::join(values, ", "));
    }
    text_ += "{\n";
    WritePrologue();
    WriteBody();
    return std::move(text_) + "\n}\n";
  }

 private:
  void Line(std::string line) {
    for (size_t at = line.find('#'); at != std::string::npos; at = line.find('#', at)) {
      line.replace(at, 1, fmt::format("%{}", kPrefix));
    }
    text_ += line + "\n";
  }

  void WriteHeader() {
    text_ = fmt::format(".version {}.{}\n.target {}\n.address_size 64\n", module_.version_major, module_.version_minor,
                        module_.target);
    for (const Variable& variable : plan_.shared) {
      if (module_.FindVariable(variable.name) != nullptr) text_ += Declaration(variable) + ";\n";
    }
  }

  void WriteParameters() {
    std::vector<std::string> parameters;
    for (const Variable& parameter : kernel_.function->parameters) parameters.push_back(Declaration(parameter));
    const auto add = [&](std::string_view name) {
      parameters.push_back(fmt::format(".param .u64 {}{}", kPrefix, name));
    };
    for (size_t i = 0; i < ranges_.size(); ++i) {
      add(fmt::format("begin{}", i));
      add(fmt::format("size{}", i));
    }
    add("fuel");
    add("violation");
    text_ += fmt::format(".visible .entry {}(\n{}\n)\n", kernel_.function->name, fmt::join(parameters, ",\n"));
  }

  void WritePrologue() {
    Line(".reg .pred #inside, #outside, #one, #other;");
    Line(".reg .b32 #at32, #from32, #size32; .reg .b64 #at64, #from64, #size64;");
    const auto load = [&](std::string_view name) {
      Line(fmt::format(".reg .b64 #{0}; ld.param.u64 #{0}, [{1}{0}];", name, kPrefix));
    };
    load("violation");
    if (!plan_.burning.empty()) load("fuel");
    for (size_t i = 0; i < ranges_.size(); ++i) {
      load(fmt::format("begin{}", i));
      load(fmt::format("size{}", i));
    }
  }

  // The body as it stands in the module, but for the statements that are guarded and what names the module's files.
  void WriteBody() {
    const std::string_view body = kernel_.function->body_text;
    const char* done = body.data();
    auto location = body_.locations.begin();
    const auto copy_to = [&](const char* end) {
      for (; location != body_.locations.end() && location->data() < end; ++location) {
        text_.append(done, location->data());
        done = location->data() + location->size();
      }
      text_.append(done, end);
      done = end;
    };
    for (uint32_t at = 0; at < body_.instructions.size(); ++at) {
      const Instruction& i = body_.instructions[at];
      const auto access = plan_.accesses.find(at);
      const bool burns = plan_.burning.contains(at);
      if (access == plan_.accesses.end() && !burns) continue;
      copy_to(i.source.data());
      text_ += "\n";
      if (burns) {
        WriteBranch(i);
      } else {
        WriteAccess(i, access->second);
      }
      done = i.source.data() + i.source.size();
    }
    copy_to(body.data() + body.size());
  }

  // `@!p ` as the instruction has it, "" if it has no guard.
  std::string GuardOf(const Instruction& i) const {
    if (!i.has_guard) return "";
    return fmt::format("@{}{} ", i.guard_negated ? "!" : "", body_.registers[i.guard].name);
  }

  // Ands the instruction's own guard into `predicate`.
  void AndGuard(const Instruction& i, std::string_view predicate) {
    if (!i.has_guard) return;
    const std::string& guard = body_.registers[i.guard].name;
    if (i.guard_negated) Line(fmt::format("not.pred #other, {};", guard));
    Line(fmt::format("and.pred {0}, {0}, {1};", predicate, i.guard_negated ? "#other" : guard));
  }

  void WriteBranch(const Instruction& i) {
    Line("setp.eq.u64 #outside, #fuel, 0;");
    AndGuard(i, "#outside");
    Line("@#outside st.global.u32 [#violation], 1;");
    Line("@#outside exit;");
    Line(fmt::format("{}sub.s64 #fuel, #fuel, 1;", GuardOf(i)));
    text_ += std::string(i.source) + "\n";
  }

  void WriteAccess(const Instruction& i, const GuardedAccess& access) {
    const auto& address = std::get<AddressOperand>(i.operands[access.address].value);
    const uint32_t bits = WriteAddress(address);
    if (access.space == Space::kGlobal) {
      CheckRanges(access);
    } else {
      CheckVariables(access, bits);
    }
    if (access.bytes > 1) {
      Line(fmt::format("and.b{0} #from{0}, #at{0}, {1};", bits, access.bytes - 1));
      Line(fmt::format("setp.eq.u{0} #one, #from{0}, 0;", bits));
      Line("and.pred #inside, #inside, #one;");
    }
    Line("not.pred #outside, #inside;");
    AndGuard(i, "#inside");
    AndGuard(i, "#outside");
    Line("@#outside st.global.u32 [#violation], 1;");
    WriteGuarded(i, bits);
    ClearResults(i);
  }

  // Puts the address in #at32 or #at64, as wide as its register; returns that width.
  uint32_t WriteAddress(const AddressOperand& address) {
    if (const auto* symbol = std::get_if<SymbolOperand>(&address.base)) {
      Line(fmt::format("mov.u64 #at64, {};", symbol->name));
      Line(fmt::format("add.s64 #at64, #at64, {};", address.offset));
      return 64;
    }
    const Body::Register& base = body_.registers[std::get<RegisterOperand>(address.base).index];
    const uint32_t bits = 8 * SizeOf(base.type);
    const int64_t offset = bits == 32 ? static_cast<int32_t>(address.offset) : address.offset;
    Line(fmt::format("add.s{0} #at{0}, {1}, {2};", bits, base.name, offset));
    return bits;
  }

  // Whether #at lies in any of the ranges.
  void CheckRanges(const GuardedAccess& access) {
    bool first = true;
    for (const uint32_t parameter : access.parameters) {
      const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), parameter) - ranges_.begin();
      Line(fmt::format("sub.s64 #from64, #at64, #begin{};", range));
      CheckDistance(64, fmt::format("#size{}", range), access.bytes, std::exchange(first, false));
    }
  }

  // Or of the kernel's variables in its space.
  void CheckVariables(const GuardedAccess& access, uint32_t bits) {
    bool first = true;
    for (const Variable& variable : access.space == Space::kShared ? plan_.shared : plan_.local) {
      Line(fmt::format("mov.u{0} #from{0}, {1};", bits, variable.name));
      Line(fmt::format("sub.s{0} #from{0}, #at{0}, #from{0};", bits));
      if (variable.Bytes() == 0) {
        Line("mov.u32 #size32, %dynamic_smem_size;");
        if (bits == 64) Line("cvt.u64.u32 #size64, #size32;");
      } else {
        Line(fmt::format("mov.u{0} #size{0}, {1};", bits, variable.Bytes()));
      }
      CheckDistance(bits, fmt::format("#size{}", bits), access.bytes, std::exchange(first, false));
    }
  }

  // Sets #inside if `bytes` bytes at #from, a distance from the beginning of something, lie in its `size`; if this is
  // the first thing that is looked at, clears it otherwise.
  void CheckDistance(uint32_t bits, const std::string& size, uint32_t bytes, bool first) {
    Line(fmt::format("setp.lt.u{0} #one, #from{0}, {1};", bits, size));
    Line(fmt::format("sub.s{0} #from{0}, {1}, #from{0};", bits, size));
    Line(fmt::format("setp.ge.u{0} #other, #from{0}, {1};", bits, bytes));
    Line(fmt::format("and.pred {}, #one, #other;", first ? "#inside" : "#one"));
    if (!first) Line("or.pred #inside, #inside, #one;");
  }

  // The instruction itself, at the address that was checked.
  void WriteGuarded(const Instruction& i, uint32_t bits) {
    const std::string_view operation = i.source.substr(i.opcode_at);
    Lexer lexer(operation, 1);  // brackets may be in comments, too
    const auto find = [&](std::string_view bracket) {
      while (!lexer.Peek().Is(bracket)) lexer.Take();
      return static_cast<size_t>(lexer.position() - operation.data());
    };
    const size_t open = find("["), close = find("]");
    text_ += fmt::format("@%{0}inside {1}[%{0}at{2}{3}\n", kPrefix, operation.substr(0, open), bits,
                         operation.substr(close));
  }

  void ClearResults(const Instruction& i) {
    if (Flow::Results(i) == 0) return;
    const auto* vector = std::get_if<VectorOperand>(&i.operands[0].value);
    for (const Operand& result : vector == nullptr ? std::span(i.operands).first(1) : std::span(vector->elements)) {
      const auto* reg = std::get_if<RegisterOperand>(&result.value);
      if (reg == nullptr) continue;  // a sink
      const Body::Register& named = body_.registers[reg->index];
      Line(fmt::format("@#outside mov.b{} {}, 0;", 8 * SizeOf(named.type), named.name));
    }
  }

  const Module& module_;
  const Flow::Reached& kernel_;
  const Body& body_;
  const GuardPlan& plan_;
  std::vector<uint32_t> ranges_;
  std::string text_;
};

// That the text says what it should: a name may be hidden where the guard uses it, for example.
absl::Status Validate(const GuardedKernel& guarded, const Function& original) {
  const auto refused = [](std::string_view why) {
    return CudaStatus(CudaError::kNotSupported, "its guarded version is no kernel: {}", why);
  };
  const absl::StatusOr<std::shared_ptr<const Module>> module = Parse(guarded.ptx);
  if (!module.ok()) return refused(Message(module.status()));
  const Function& kernel = (*module)->functions.front();
  if (const absl::StatusOr<Body> body = ParseBody(**module, kernel); !body.ok()) return refused(Message(body.status()));
  const std::vector<ParameterLayout> before = LayoutParameters(original), after = LayoutParameters(kernel);
  if (!std::equal(before.begin(), before.end(), after.begin()) || after[before.size()].offset != guarded.guard_offset) {
    return refused("its parameters have moved");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::byte>> GuardedKernel::Parameters(std::vector<std::byte> own,
                                                                 const device::Guard& guard) const {
  if (own.size() < own_bytes) {
    return CudaStatus(CudaError::kInvalidValue, "{} bytes of parameters, {} given", own_bytes, own.size());
  }
  std::map<uint32_t, device::Guard::Range> ranges;
  for (const device::Guard::Range& range : guard.ranges) {
    if (!ranges.emplace(range.parameter, range).second) {
      return CudaStatus(CudaError::kInvalidValue, "two ranges for the parameter at {}", range.parameter);
    }
  }
  own.resize(guard_offset);
  const auto append = [&](uint64_t word) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    own.insert(own.end(), bytes, bytes + sizeof(word));
  };
  for (const uint32_t parameter : Ranges(written_parameters, read_parameters)) {
    append(ranges[parameter].begin);
    append(ranges[parameter].size);
  }
  append(guard.fuel);
  append(guard.violation);
  return own;
}

absl::StatusOr<GuardedKernel> GuardKernel(const Module& module, const Flow& flow) {
  const Function& kernel = *flow.functions().front().function;
  if (kernel.body_text.find(kPrefix) != std::string_view::npos) {
    return CudaStatus(CudaError::kNotSupported, "it uses names of the guard's own");
  }
  WHARF_ASSIGN_OR_RETURN(const GuardPlan plan, PlanGuard(module, flow));
  GuardedKernel guarded;
  guarded.written_parameters.assign(plan.written.begin(), plan.written.end());
  guarded.read_parameters.assign(plan.read.begin(), plan.read.end());
  for (const ParameterLayout& parameter : LayoutParameters(kernel)) {
    guarded.own_bytes = parameter.offset + parameter.size;
  }
  guarded.guard_offset = (guarded.own_bytes + kWordBytes - 1) / kWordBytes * kWordBytes;
  guarded.ptx = Writer(module, flow, plan, Ranges(guarded.written_parameters, guarded.read_parameters)).Write();
  WHARF_RETURN_IF_ERROR(Validate(guarded, kernel));
  return guarded;
}

absl::StatusOr<GuardedKernel> GuardKernel(const Module& module, std::string_view kernel) {
  Flow flow(module);
  WHARF_RETURN_IF_ERROR(flow.Solve(kernel));
  if (!flow.obstacle().empty()) return CudaStatus(CudaError::kNotSupported, "{}", flow.obstacle());
  return GuardKernel(module, flow);
}

}  // namespace wharf::device::ptx
