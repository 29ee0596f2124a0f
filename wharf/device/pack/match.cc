#include "wharf/device/pack/match.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "wharf/device/pack/name.h"
#include "wharf/device/ptx/parser.h"

namespace wharf::device::pack {
namespace {

// Modules that are read to see whether they fit: more sources than this with the same kernels are not told apart.
constexpr size_t kMostCandidates = 16;

std::string Text(const std::vector<ParameterLayout>& parameters) {
  std::vector<std::string> all;
  for (const ParameterLayout& one : parameters) all.push_back(fmt::format("{} at {}", one.size, one.offset));
  if (all.size() > 8) all = {all.begin(), all.begin() + 8}, all.emplace_back("…");
  return all.empty() ? "none" : fmt::format("{}", fmt::join(all, ", "));
}

// What the compiler names: texts of the program, which contain paths and differ from build to build.
bool IsCompilersOwn(std::string_view variable) {
  return variable.starts_with("$") || variable.starts_with("__unnamed") ||
         variable.find("__PRETTY_FUNCTION__") != std::string_view::npos ||
         variable.find("__func__") != std::string_view::npos;
}

absl::Status CheckKernels(const fatbin::MachineCode& code, const Match& match) {
  for (const fatbin::MachineKernel& kernel : code.kernels) {
    const auto found = match.kernels.find(CanonicalName(kernel.name));
    if (found == match.kernels.end()) {
      return FailedPrecondition("the pack's index is wrong: {} has no kernel {}", match.origin, kernel.name);
    }
    const std::vector<ParameterLayout> there = ptx::LayoutParameters(*match.ptx->FindFunction(found->second));
    if (there == kernel.parameters) continue;
    return FailedPrecondition(
        "{} is made of another version of the source: the parameters of kernel {} take {} bytes there, {} in the "
        "program; make the pack of the program's own source",
        match.origin, kernel.name, Text(there), Text(kernel.parameters));
  }
  return absl::OkStatus();
}

absl::Status CheckVariables(const fatbin::MachineCode& code, const Match& match) {
  for (const fatbin::MachineVariable& variable : code.variables) {
    if (IsCompilersOwn(variable.name)) continue;
    const auto found = match.variables.find(CanonicalName(variable.name));
    if (found == match.variables.end()) continue;
    const ptx::Variable& there = *match.ptx->FindVariable(found->second);
    if (there.Bytes() == variable.size) continue;
    return FailedPrecondition(
        "{} is made of another version of the source: variable {} has {} bytes there, {} in the program; make the pack "
        "of the program's own source",
        match.origin, variable.name, there.Bytes(), variable.size);
  }
  return absl::OkStatus();
}

void Index(Match& match) {
  for (const ptx::Function& function : match.ptx->functions) {
    if (function.is_entry && function.HasBody()) match.kernels.emplace(CanonicalName(function.name), function.name);
  }
  for (const ptx::Variable& variable : match.ptx->variables) {
    if (!variable.is_extern) match.variables.emplace(CanonicalName(variable.name), variable.name);
  }
}

// `text` without the numbers that functions have in their module, which labels and places for local variables carry.
std::string WithoutOrder(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const size_t at = std::min(text.find("$L__BB"), text.find("__local_depot"));
    const size_t name = at == std::string_view::npos ? text.size() : text.find_first_of("0123456789", at);
    kept += text.substr(0, name);
    text.remove_prefix(std::min(name, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
  }
  return kept;
}

std::map<std::string, std::string> Bodies(const ptx::Module& ptx) {
  std::map<std::string, std::string> bodies;
  for (const ptx::Function& function : ptx.functions) {
    if (function.HasBody()) {
      bodies.emplace(CanonicalName(function.name), WithoutOrder(CanonicalName(function.body_text)));
    }
  }
  return bodies;
}

bool SameContents(const ptx::Variable& a, const ptx::Variable& b) {
  const auto same = [](const ptx::Initializer& x, const ptx::Initializer& y) {
    return x.bits == y.bits && x.symbol == y.symbol && x.generic == y.generic && x.mask == y.mask;
  };
  return a.Bytes() == b.Bytes() && a.type == b.type && a.space == b.space && a.alignment == b.alignment &&
         std::equal(a.initializer.begin(), a.initializer.end(), b.initializer.begin(), b.initializer.end(), same);
}

// Whether it does not matter which of two modules is taken: they have the same functions, in any order, and what these
// name is the same. Sources that make nothing but kernels of one header are such.
bool DoTheSame(const Match& a, const Match& b) {
  const std::map<std::string, std::string> bodies = Bodies(*a.ptx);
  if (bodies != Bodies(*b.ptx)) return false;
  return std::all_of(a.variables.begin(), a.variables.end(), [&](const auto& variable) {
    const auto& [canonical, name] = variable;
    const bool named = std::any_of(bodies.begin(), bodies.end(),
                                   [&](const auto& body) { return body.second.find(canonical) != std::string::npos; });
    if (!named) return true;
    const auto other = b.variables.find(canonical);
    return other != b.variables.end() && SameContents(*a.ptx->FindVariable(name), *b.ptx->FindVariable(other->second));
  });
}

}  // namespace

std::string WithoutPtx(uint32_t sm) {
  return fmt::format(
      "the program carries only machine code (sm_{}) for it, which a CPU cannot run, and no kernel pack of the server "
      "has it: make one of its source (`wharf pack build`, docs/packs.md), or rebuild the program with PTX (nvcc "
      "-gencode arch=compute_75,code=compute_75)",
      sm);
}

absl::StatusOr<std::shared_ptr<const PackSet>> PackSet::Open(std::span<const std::string> paths) {
  std::vector<std::unique_ptr<Pack>> packs;
  for (const std::string& path : paths) {
    WHARF_ASSIGN_OR_RETURN(std::unique_ptr<Pack> pack, Pack::Open(path));
    packs.push_back(std::move(pack));
  }
  return std::make_shared<const PackSet>(std::move(packs));
}

// How many of the code's kernels each module defines.
absl::StatusOr<std::map<PackSet::Place, size_t>> PackSet::Count(const fatbin::MachineCode& code) const {
  std::map<Place, size_t> counts;
  for (const fatbin::MachineKernel& kernel : code.kernels) {
    const std::string name = CanonicalName(kernel.name);
    for (size_t i = 0; i < packs_.size(); ++i) {
      WHARF_ASSIGN_OR_RETURN(const std::vector<uint32_t> modules, packs_[i]->Find(name));
      for (const uint32_t module : modules) ++counts[{i, module}];
    }
  }
  return counts;
}

absl::StatusOr<PackSet::Found> PackSet::Load(const Place& place, const fatbin::MachineCode& code) const {
  const Pack& pack = *packs_[place.pack];
  WHARF_ASSIGN_OR_RETURN(std::string text, pack.Text(place.module));
  WHARF_ASSIGN_OR_RETURN(const std::string source, pack.Source(place.module));
  Found found;
  found.match.origin = fmt::format("{} ({})", pack.name(), source);
  absl::StatusOr<std::shared_ptr<const ptx::Module>> parsed = ptx::Parse(std::move(text));
  if (!parsed.ok()) return DataLoss("{}: {}", found.match.origin, Message(parsed.status()));
  found.match.ptx = *std::move(parsed);
  Index(found.match);
  found.extra = found.match.kernels.size() - std::min(found.match.kernels.size(), code.kernels.size());
  found.problem = CheckKernels(code, found.match);
  if (found.problem.ok()) found.problem = CheckVariables(code, found.match);
  return found;
}

// No module has all of the kernels.
absl::Status PackSet::WhyNone(const std::map<Place, size_t>& counts, size_t kernels) const {
  const auto best =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const auto& [place, most] = *best;
  WHARF_ASSIGN_OR_RETURN(const std::string source, packs_[place.pack]->Source(place.module));
  return FailedPrecondition(
      "{} ({}) has {} of the {} kernels of its source file, so it is made of another version of it, or of another "
      "program; make a pack of the program's own source",
      packs_[place.pack]->name(), source, most, kernels);
}

absl::StatusOr<Match> PackSet::Find(const fatbin::MachineCode& code) const {
  WHARF_ASSIGN_OR_RETURN(const auto counts, Count(code));
  if (counts.empty()) return NotFound("{}", WithoutPtx(code.sm));
  std::vector<Place> places;
  for (const auto& [place, count] : counts) {
    if (count == code.kernels.size()) places.push_back(place);
  }
  if (places.empty()) return WhyNone(counts, code.kernels.size());
  if (places.size() > kMostCandidates) {
    return FailedPrecondition(
        "{} sources in the packs define it and cannot be told apart: give the packs of this "
        "program only",
        places.size());
  }
  std::optional<Found> best;
  absl::Status problem;
  bool ambiguous = false;
  for (const Place& place : places) {
    WHARF_ASSIGN_OR_RETURN(Found found, Load(place, code));
    if (!found.problem.ok()) {
      if (problem.ok()) problem = found.problem;
    } else if (!best || found.extra < best->extra) {
      best = std::move(found);
      ambiguous = false;
    } else if (found.extra == best->extra) {
      ambiguous |= !DoTheSame(found.match, best->match);
    }
  }
  if (!best) return problem;
  if (ambiguous) {
    return FailedPrecondition(
        "several sources in the packs define it, {} among them, and cannot be told apart: give "
        "the packs of this program only",
        best->match.origin);
  }
  return std::move(best->match);
}

}  // namespace wharf::device::pack
