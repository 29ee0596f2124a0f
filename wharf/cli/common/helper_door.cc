#include "wharf/cli/common/helper_door.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <utility>

#include "wharf/base/log.h"
#include "wharf/base/passed_descriptors.h"

namespace wharf::cli {
namespace {

// One that ends as soon as it begins must not take the machine's time.
constexpr Nanoseconds kBetweenHelpers = std::chrono::seconds(1);
// A helper ends when its server does, which may be seen before that.
constexpr Nanoseconds kServerGone = std::chrono::milliseconds(200);

}  // namespace

absl::StatusOr<int> HelperDoor::Open(Begin begin) {
  begin_ = std::move(begin);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return ErrnoStatus(errno, "socketpair");
  door_ = link::UniqueFd(ends[0]);
  link::UniqueFd servers(ends[1]);
  WHARF_RETURN_IF_ERROR(BeginOne());
  return servers.Release();
}

absl::Status HelperDoor::BeginOne() {
  begun_at_ = Clock::Real().Now();
  WHARF_ASSIGN_OR_RETURN(Helper helper, begin_());
  const link::UniqueFd socket = std::move(helper.socket);  // the server's alone from here on
  const absl::Status passed = PassSocket(door_.get(), socket.get());
  if (passed.ok()) {
    helper_ = std::move(helper);
    return passed;
  }
  kill(helper.process, SIGKILL);
  waitpid(helper.process, nullptr, 0);
  return passed;
}

void HelperDoor::LookAfter() {
  Reap();
  const TimePoint now = Clock::Real().Now();
  if (helper_.process >= 0 || now - begun_at_ < kBetweenHelpers || now - ended_at_ < kServerGone) return;
  SayEnd();
  const absl::Status begun = BeginOne();
  if (begun.ok()) {
    Log(LogLevel::kInfo, fmt::format("another {} has begun", what_));
  } else if (!failing_) {
    Log(LogLevel::kError, fmt::format("no other {} can be started", what_), {{"why", Message(begun)}});
  }
  failing_ = !begun.ok();
}

void HelperDoor::Reap() {
  int status = 0;
  if (helper_.process < 0 || waitpid(helper_.process, &status, WNOHANG) != helper_.process) return;
  helper_ = {};
  ended_at_ = Clock::Real().Now();
  end_ = status;
}

void HelperDoor::SayEnd() {
  if (!end_) return;
  Log(LogLevel::kError, fmt::format("the {} has ended", what_),
      {{"signal", WIFSIGNALED(*end_) ? WTERMSIG(*end_) : 0}, {"exit_code", WIFEXITED(*end_) ? WEXITSTATUS(*end_) : 0}});
  end_.reset();
}

}  // namespace wharf::cli
