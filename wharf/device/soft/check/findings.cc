#include "wharf/device/soft/check/findings.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>
#include <utility>

namespace wharf::device::soft::check {
namespace {

constexpr size_t kMostText = 200;  // of a name or an instruction

// Names and instructions are the program's: a line stays a line.
std::string Clean(std::string_view text) {
  std::string clean(text.substr(0, kMostText));
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  }
  return text.size() > kMostText ? clean + "…" : clean;
}

std::string KernelName(const std::string& name) {
  if (!name.starts_with("_Z") || name.size() > 1000) return Clean(name);
  int status = 0;
  char* plain = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = Clean(status == 0 && plain != nullptr ? plain : name);
  std::free(plain);
  return result;
}

std::string SiteName(const SiteTable& sites, uint32_t number) {
  if (number >= sites.size()) return "?";
  const Site& site = sites[number];
  if (site.file.empty()) return fmt::format("PTX line {} `{}`", site.ptx_line, Clean(site.ptx));
  const auto line = [](const std::string& file, uint32_t number) {
    return fmt::format("{}:{}", Clean(file.substr(file.find_last_of('/') + 1)), number);
  };
  if (site.caller_file.empty()) return line(site.file, site.line);
  return fmt::format("{} (inlined at {})", line(site.file, site.line), line(site.caller_file, site.caller_line));
}

uint32_t SameSite(const SiteTable& sites, uint32_t number) {
  return number < sites.size() ? sites[number].same : number;
}

std::string_view Verb(uint8_t flags, bool past) {
  if ((flags & kReads) == 0) return past ? "wrote" : "writes";
  if ((flags & kWrites) == 0) return past ? "read" : "reads";
  return past ? "updated" : "updates";
}

std::string Coordinates(uint32_t thread, const std::array<uint32_t, 3>& shape) {
  const uint32_t x = std::max(1U, shape[0]), y = std::max(1U, shape[1]);
  return fmt::format("({},{},{})", thread % x, thread / x % y, thread / x / y);
}

std::string Times(uint64_t times) { return times == 1 ? "once" : fmt::format("{} times", times); }

}  // namespace

void Findings::Add(const FoundIn& where, const Finding& finding) {
  const uint64_t block = where.block[0] + where.grid[0] * (where.block[1] + uint64_t{where.grid[1]} * where.block[2]);
  Place place{.sites = where.sites,
              .kernel = std::string(where.kernel),
              .kind = finding.kind,
              .site = SameSite(*where.sites, finding.site),
              .other_site = SameSite(*where.sites, finding.other_site),
              .flags = finding.flags,
              .other_flags = finding.other_flags};
  absl::MutexLock lock(&mutex_);
  ++times_;
  auto found = places_.find(place);
  if (found == places_.end()) {
    if (places_.size() >= kMostPlaces) {
      more_ = true;
      return;
    }
    found = places_.emplace(std::move(place), Found()).first;
  }
  Found& known = found->second;
  if (++known.times == 1 || (!known.told && block < known.block_index)) {
    known.block_index = block;
    known.where = where;
    known.where.kernel = {};
    known.first = finding;
  }
}

// "wharf: race: softmax(float*): a.cu:31 writes what a.cu:24 read, with no barrier between: …"
std::string Findings::Describe(const Place& place, const Found& found) {
  const Finding& finding = found.first;
  const auto& [x, y, z] = found.where.block;
  return fmt::format(
      "wharf: race: {}: {} {} what {} {}, and no barrier is between: threads {} and {} of block ({},{},{}), {} {} of "
      "shared memory at {:#x}, {}",
      KernelName(place.kernel), SiteName(*place.sites, place.site), Verb(place.flags, false),
      SiteName(*place.sites, place.other_site), Verb(place.other_flags, true),
      Coordinates(finding.thread, found.where.shape), Coordinates(finding.other_thread, found.where.shape), x, y, z,
      finding.bytes, finding.bytes == 1 ? "byte" : "bytes", finding.address, Times(found.times));
}

void Findings::EndKernel() {
  std::vector<std::string> lines;
  {
    absl::MutexLock lock(&mutex_);
    ++kernels_;
    std::vector<std::pair<const Place*, Found*>> fresh;
    for (auto& [place, found] : places_) {
      if (!std::exchange(found.told, true)) fresh.emplace_back(&place, &found);
    }
    // In the order of the grid and of the code, whichever worker came first.
    std::stable_sort(fresh.begin(), fresh.end(), [](const auto& a, const auto& b) {
      const auto key = [](const auto& x) {
        return std::tuple(x.second->block_index, x.first->site, x.first->other_site);
      };
      return key(a) < key(b);
    });
    for (const auto& [place, found] : fresh) lines.push_back(Describe(*place, *found));
  }
  for (const std::string& line : lines) sink_(line);
}

void Findings::Summarize() {
  absl::MutexLock lock(&mutex_);
  if (kernels_ == 0) return;
  const std::string in = kernels_ == 1 ? "one launch" : fmt::format("{} launches", kernels_);
  if (times_ == 0) return sink_(fmt::format("wharf: check {}: nothing found in {}", check::Describe(checks_), in));
  sink_(fmt::format("wharf: check {}: found at {}{} {}, {} in {}", check::Describe(checks_), more_ ? "more than " : "",
                    places_.size(), places_.size() == 1 ? "place" : "places", Times(times_), in));
}

}  // namespace wharf::device::soft::check
