// Status helpers on top of absl::Status. Debian's absl::string_view is a type of its own, so everything here takes
// std::string_view and builds messages with fmt.
//
//   WHARF_RETURN_IF_ERROR(channel->Flush());
//   WHARF_ASSIGN_OR_RETURN(auto module, ptx::Parse(text));
//   return InvalidArgument("stride {} is not a multiple of {}", stride, width);
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace wharf {

template <typename... Args>
absl::Status MakeStatus(absl::StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return absl::Status(code, fmt::format(format, std::forward<Args>(args)...));
}

#define WHARF_DEFINE_STATUS(Name, code)                                   \
  template <typename... Args>                                             \
  absl::Status Name(fmt::format_string<Args...> format, Args&&... args) { \
    return MakeStatus(code, format, std::forward<Args>(args)...);         \
  }
WHARF_DEFINE_STATUS(InvalidArgument, absl::StatusCode::kInvalidArgument)
WHARF_DEFINE_STATUS(NotFound, absl::StatusCode::kNotFound)
WHARF_DEFINE_STATUS(AlreadyExists, absl::StatusCode::kAlreadyExists)
WHARF_DEFINE_STATUS(FailedPrecondition, absl::StatusCode::kFailedPrecondition)
WHARF_DEFINE_STATUS(ResourceExhausted, absl::StatusCode::kResourceExhausted)
WHARF_DEFINE_STATUS(Unavailable, absl::StatusCode::kUnavailable)
WHARF_DEFINE_STATUS(Unimplemented, absl::StatusCode::kUnimplemented)
WHARF_DEFINE_STATUS(DeadlineExceeded, absl::StatusCode::kDeadlineExceeded)
WHARF_DEFINE_STATUS(PermissionDenied, absl::StatusCode::kPermissionDenied)
WHARF_DEFINE_STATUS(Unauthenticated, absl::StatusCode::kUnauthenticated)
WHARF_DEFINE_STATUS(DataLoss, absl::StatusCode::kDataLoss)
WHARF_DEFINE_STATUS(OutOfRange, absl::StatusCode::kOutOfRange)
WHARF_DEFINE_STATUS(Aborted, absl::StatusCode::kAborted)
WHARF_DEFINE_STATUS(Internal, absl::StatusCode::kInternal)
#undef WHARF_DEFINE_STATUS

// A status for a failed system call: "WHAT: strerror(errno)". The code follows errno (ENOENT -> NotFound, EADDRINUSE ->
// AlreadyExists, EACCES/EPERM -> PermissionDenied, ECONNREFUSED/ECONNRESET/EPIPE/EHOSTUNREACH/ENETUNREACH ->
// Unavailable, ETIMEDOUT -> DeadlineExceeded, ENOMEM/EMFILE/ENFILE -> ResourceExhausted, otherwise Internal).
absl::Status ErrnoStatus(int error_number, std::string_view what);

// The message as a std::string_view (absl's own type is another one in Debian's build).
inline std::string_view Message(const absl::Status& status) {
  return {status.message().data(), status.message().size()};
}

// "INVALID_ARGUMENT: message" for logs.
std::string ToString(const absl::Status& status);

}  // namespace wharf

#define WHARF_RETURN_IF_ERROR(expression)                                                     \
  do {                                                                                        \
    if (absl::Status wharf_status_ = (expression); !wharf_status_.ok()) return wharf_status_; \
  } while (false)

#define WHARF_CONCAT_INNER_(a, b) a##b
#define WHARF_CONCAT_(a, b) WHARF_CONCAT_INNER_(a, b)
#define WHARF_ASSIGN_OR_RETURN(declaration, expression) \
  WHARF_ASSIGN_OR_RETURN_(WHARF_CONCAT_(wharf_statusor_, __LINE__), declaration, expression)
#define WHARF_ASSIGN_OR_RETURN_(result, declaration, expression) \
  auto result = (expression);                                    \
  if (!result.ok()) return std::move(result).status();           \
  declaration = *std::move(result)
