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

std::string Bytes(uint64_t bytes) { return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes"); }

// Of an access outside of memory.
std::string Beside(const Finding& finding) {
  constexpr uint64_t kNear = uint64_t{1} << 30;
  const uint64_t end = finding.begin + finding.size;
  if (finding.size == 0) return "nothing is allocated";
  if (finding.address + kNear < finding.begin || finding.address > end + kNear) return "far from all that is allocated";
  if (finding.address >= end) {
    return fmt::format("{} behind an allocation of {}", Bytes(finding.address - end), Bytes(finding.size));
  }
  if (finding.address < finding.begin) {
    return fmt::format("{} before an allocation of {}", Bytes(finding.begin - finding.address), Bytes(finding.size));
  }
  return fmt::format("over the end of an allocation of {}", Bytes(finding.size));
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

// "wharf: race: softmax(float*): a.cu:31 writes what a.cu:24 read, and no barrier is between: …"
std::string Findings::DescribeRace(const Place& place, const Found& found) {
  const Finding& finding = found.first;
  const auto& [x, y, z] = found.where.block;
  return fmt::format(
      "wharf: race: {}: {} {} what {} {}, and no barrier is between: threads {} and {} of block ({},{},{}), {} of "
      "shared memory at {:#x}, {}",
      KernelName(place.kernel), SiteName(*place.sites, place.site), Verb(place.flags, false),
      SiteName(*place.sites, place.other_site), Verb(place.other_flags, true),
      Coordinates(finding.thread, found.where.shape), Coordinates(finding.other_thread, found.where.shape), x, y, z,
      Bytes(finding.bytes), finding.address, Times(found.times));
}

// "wharf: memory: add(float*): a.cu:7 writes 4 bytes at 0x7f0000000190, which is outside of memory (0 bytes behind an
// allocation of 400 bytes): thread (100,0,0) of block (0,0,0), 28 times"
std::string Findings::Describe(const Place& place, const Found& found) {
  const Finding& finding = found.first;
  std::string_view check = "memory";
  std::string what;
  switch (finding.kind) {
    case Finding::Kind::kRace:
      return DescribeRace(place, found);
    case Finding::Kind::kOutside:
      what = fmt::format("is outside of memory ({})", Beside(finding));
      break;
    case Finding::Kind::kOutsideShared:
      what = fmt::format("is beyond the {} of shared memory", Bytes(finding.size));
      break;
    case Finding::Kind::kMisaligned:
      what = fmt::format("is no multiple of {}{}", finding.size, finding.shared ? " (shared memory)" : "");
      break;
    case Finding::Kind::kUnwritten:
      check = "init";
      what = finding.shared ? "nobody has written (shared memory)" : "nobody has written";
      break;
  }
  const auto& [x, y, z] = found.where.block;
  return fmt::format("wharf: {}: {}: {} {} {} at {:#x}, which {}: thread {} of block ({},{},{}), {}", check,
                     KernelName(place.kernel), SiteName(*place.sites, place.site), Verb(place.flags, false),
                     Bytes(finding.bytes), finding.address, what, Coordinates(finding.thread, found.where.shape), x, y,
                     z, Times(found.times));
}

void Findings::AddLeaks(uint64_t allocations, uint64_t bytes) {
  if (allocations == 0) return;
  {
    absl::MutexLock lock(&mutex_);
    leaks_ += allocations;
  }
  sink_(allocations == 1
            ? fmt::format("wharf: memory: an allocation of {} is never freed", Bytes(bytes))
            : fmt::format("wharf: memory: {} allocations of {} in all are never freed", allocations, Bytes(bytes)));
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
  if (kernels_ == 0 && leaks_ == 0) return;
  const std::string in = kernels_ == 1 ? "one launch" : fmt::format("{} launches", kernels_);
  std::string what = "nothing found";
  if (times_ != 0) {
    what = fmt::format("found at {}{} {}, {}", more_ ? "more than " : "", places_.size(),
                       places_.size() == 1 ? "place" : "places", Times(times_));
  }
  const std::string leaks =
      leaks_ == 0 ? ""
                  : fmt::format(", {} never freed",
                                leaks_ == 1 ? "an allocation is" : fmt::format("{} allocations are", leaks_));
  sink_(fmt::format("wharf: check {}: {} in {}{}", check::Describe(checks_), what, in, leaks));
}

}  // namespace wharf::device::soft::check
