// ResumableStream: an ordered stream of bytes that outlives the connections it runs over. docs/protocol.md, "Resume".
//
//   client   auto stream = OpenResumable([&] { return Connect(address); });
//   server   auto stream = ResumableStream::Accept(std::move(connection), key);
//            … stream->Resume(std::move(next_connection), opening);
//
// Every byte has its place in the stream. A sender keeps what it sent until the peer acknowledges it, at most
// kResumeWindow bytes (then it waits); when the connection breaks, the client dials anew, both ends say how far they
// got, and what is missing is sent again. A reader or writer meanwhile waits, for at most ResumeOptions::limit.
//
// On the connection the bytes travel in chunks behind a header of 4 bytes, so that acknowledgements find a place
// between them. A sender that finds the stream free still writes itself; acknowledgements ride along with what is sent
// anyway, or leave alone after 256 KiB and when the stream falls silent.
//
// The streams underneath must implement TryWrite.
#pragma once

#include <functional>
#include <memory>

#include "wharf/base/clock.h"
#include "wharf/base/status.h"
#include "wharf/link/byte_stream.h"
#include "wharf/link/resume/resume_opening.h"

namespace wharf::link {

// What either end may have sent without an acknowledgement. Part of the protocol: more from a peer ends the stream.
inline constexpr size_t kResumeWindow = 32 << 20;

struct ResumeOptions {
  Nanoseconds limit = std::chrono::seconds(30);  // how long a stream waits for its next connection
  // Client: a connection counts as broken when something is unacknowledged and nothing at all has come for this long.
  // A peer that does not read for longer than this should send something now and then.
  Nanoseconds stall = std::chrono::seconds(3);
  Nanoseconds attempt = std::chrono::seconds(5);   // client: what an answer to an opening may take
  Nanoseconds opening = std::chrono::seconds(10);  // client: how long the first connection is tried
  Clock* clock = &Clock::Real();                   // must outlive the stream
  // Client: called once when a connection breaks and the search for the next begins, on any thread that uses the
  // stream; must not use it. A break over which nothing came forward since the last belongs to the same outage.
  std::function<void()> on_outage = nullptr;
  // Client: called once, by OpenResumable, if the server does not offer to resume: what it returns ends with its
  // connection.
  std::function<void()> on_declined = nullptr;
};

// A new connection to the same server; its handshake (TLS) is done. Called on a thread of the stream, one call at a
// time; what it uses must outlive the stream. Its time should be bounded.
using Dial = std::function<absl::StatusOr<std::unique_ptr<ByteStream>>()>;

// Client: dials and agrees with the server on a stream that can be resumed; a stream without that ability, plain
// frames, only if the server says that it does not offer it. What may pass, a connection that breaks or an answer that
// does not come, is tried again, at most `opening` long in all, unless nobody listens there (IsRefused). The last error
// of `dial` or of ExchangeOpenings.
absl::StatusOr<std::unique_ptr<ByteStream>> OpenResumable(Dial dial, const ResumeOptions& options = {});

// As a ByteStream: FinishWriting and Shutdown tell the peer that this is an end and no break. Read and Write fail with
// kUnavailable when `limit` has passed after a break or the server refuses to resume, kDataLoss when the peer breaks
// the rules.
class ResumableStream : public ByteStream {
 public:
  // Server: answers the client's kNew with `key`. kUnavailable if the connection is lost already.
  static absl::StatusOr<std::unique_ptr<ResumableStream>> Accept(std::unique_ptr<ByteStream> connection,
                                                                 const ResumeKey& key,
                                                                 const ResumeOptions& options = {});

  // Server: goes on over `connection`, whose opening (kResume) was read; the connection in use, if any, is dropped.
  // Answers there. False if a wrong secret or an impossible place in the stream was refused, which changes nothing
  // else. Does not wait. Thread-safe.
  virtual bool Resume(std::unique_ptr<ByteStream> connection, const Opening& opening) = 0;
};

}  // namespace wharf::link
