#include "wharf/cli/split/profile_table.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "wharf/report/table.h"

namespace wharf::cli {

using report::Align;

namespace {

// When it was measured, and how quietly.
std::string Conditions(const split::MachineProfile& profile) {
  if (profile.measured_at == 0) return "";
  const absl::Time at = absl::FromUnixSeconds(profile.measured_at);
  std::string text =
      fmt::format("measured {} ({} ago); times {:.0f} % above the shortest seen",
                  absl::FormatTime("%Y-%m-%d %H:%M", at, absl::LocalTimeZone()),
                  absl::FormatDuration(absl::Trunc(absl::Now() - at, absl::Minutes(1))), 100 * profile.noise);
  if (profile.waited > 0) text += fmt::format(", others had the processor {:.0f} % of the time", 100 * profile.waited);
  if (profile.Doubtful())
    text += "\nTHE MACHINE WAS BUSY: times are doubtful and not kept; measure again when it is quiet";
  return text + "\n";
}

}  // namespace

std::string MachineProfileAsText(const split::MachineProfile& profile, const split::ModelOperators& operators) {
  report::Table table({{"", Align::kRight},
                       {"operator"},
                       {"rows", Align::kRight},
                       {"all rows ms", Align::kRight},
                       {"fixed ms", Align::kRight},
                       {"a row ms", Align::kRight},
                       {"fit off by", Align::kRight},
                       {"output kB", Align::kRight}});
  for (size_t i = 1; i + 1 < profile.operators.size(); ++i) {
    const split::MeasuredOperator& one = profile.operators[i];
    const bool cut = one.rows > 1;
    table.AddRow({std::to_string(i), one.name, std::to_string(one.rows), fmt::format("{:.3f}", one.full_ms),
                  cut ? fmt::format("{:.3f}", one.slice.fixed_ms) : "",
                  cut ? fmt::format("{:.4f}", one.slice.row_ms) : "",
                  cut ? fmt::format("{:.0f} %", 100 * one.fit_error) : "",
                  fmt::format("{:.1f}", static_cast<double>(operators.operators[i].output_bytes) / 1e3)});
  }
  const double sum = profile.SumMs();
  const split::Machine& machine = profile.machine;
  std::string text =
      table.Text() + fmt::format("\n{} on {}, {} thread{}, {}: {:.2f} ms whole, {:.2f} ms operator by operator",
                                 profile.model, machine.cpu, machine.threads, machine.threads == 1 ? "" : "s",
                                 machine.engine, profile.whole_ms, sum);
  if (profile.whole_ms > 0) text += fmt::format(" ({:+.1f} %)", 100 * (sum / profile.whole_ms - 1));
  text += fmt::format("; fits off by {:.0f} %", 100 * profile.MeanFitError());
  if (profile.time_scale != 1) text += fmt::format("; all times {:g} times as measured", profile.time_scale);
  return text + "\n" + Conditions(profile);
}

}  // namespace wharf::cli
