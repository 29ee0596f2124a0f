#include "wharf/device/soft/jit/sites.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "wharf/device/ptx/locations.h"
#include "wharf/device/soft/codegen/program.h"

namespace wharf::device::soft {
namespace {

bool AccessesMemory(const ptx::Instruction& instruction) {
  static constexpr std::array<std::string_view, 9> kOpcodes = {"ld", "ldu",  "st",       "atom",    "red",
                                                               "cp", "wmma", "ldmatrix", "stmatrix"};
  return std::find(kOpcodes.begin(), kOpcodes.end(), instruction.opcode) != kOpcodes.end();
}

}  // namespace

std::shared_ptr<const check::SiteTable> SitesOf(const Program& program) {
  const std::map<uint32_t, std::string> files = ptx::FilesOf(*program.module);
  auto sites = std::make_shared<check::SiteTable>(program.instructions);
  std::map<std::tuple<std::string, uint32_t, std::string, uint32_t>, uint32_t> first;
  for (const ReachedFunction& reached : program.functions) {
    const std::vector<ptx::Location> locations = ptx::LocationsOf(reached.body);
    for (uint32_t i = 0; i < reached.body.instructions.size(); ++i) {
      const ptx::Instruction& instruction = reached.body.instructions[i];
      if (!AccessesMemory(instruction)) continue;
      const uint32_t number = reached.first_instruction + i;
      check::Site& site = sites->at(number);
      site.same = number;
      site.ptx_line = instruction.line;
      site.ptx = instruction.text;
      const auto file = files.find(locations[i].file);
      if (file == files.end()) continue;
      site.file = file->second;
      site.line = locations[i].line;
      if (const auto caller = files.find(locations[i].caller_file); caller != files.end()) {
        site.caller_file = caller->second;
        site.caller_line = locations[i].caller_line;
      }
      site.same = first.try_emplace({site.file, site.line, site.caller_file, site.caller_line}, number).first->second;
    }
  }
  return sites;
}

}  // namespace wharf::device::soft
