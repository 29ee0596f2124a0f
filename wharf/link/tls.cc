#include "wharf/link/tls.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <vector>

#include "absl/strings/escaping.h"
#include "wharf/link/certificate.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/socket.h"

namespace wharf::link {
namespace {

constexpr size_t kMaxRecord = 16 << 10;  // plaintext of one TLS record

template <auto function>
struct Deleter {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};
using Context = std::unique_ptr<SSL_CTX, Deleter<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Deleter<SSL_free>>;

// The program around us may use OpenSSL too: its pending errors stay, ours are gone at the end of the scope.
class ErrorScope {
 public:
  ErrorScope() { ERR_set_mark(); }
  ~ErrorScope() { ERR_pop_to_mark(); }
  ErrorScope(const ErrorScope&) = delete;
  ErrorScope& operator=(const ErrorScope&) = delete;
};

// A library context of our own, so that neither side's configuration or providers reach the other. Lives for ever.
OSSL_LIB_CTX* Library() {
  static OSSL_LIB_CTX* const library = OSSL_LIB_CTX_new();
  return library;
}

std::string LastError() {
  const unsigned long error = ERR_peek_last_error();
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : fmt::format("error {:x}", error);
}

// --- the socket underneath: OpenSSL's own socket BIO would raise SIGPIPE in the program ---

int FdOf(BIO* bio) { return *static_cast<const int*>(BIO_get_data(bio)); }

int BioDestroy(BIO* bio) {
  delete static_cast<int*>(BIO_get_data(bio));
  return 1;
}

int BioRead(BIO* bio, char* into, int size) {
  BIO_clear_retry_flags(bio);
  while (true) {
    const ssize_t count = recv(FdOf(bio), into, size, MSG_DONTWAIT);
    if (count >= 0) return static_cast<int>(count);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_read(bio);
    return -1;
  }
}

int BioWrite(BIO* bio, const char* from, int size) {
  BIO_clear_retry_flags(bio);
  while (true) {
    const ssize_t count = send(FdOf(bio), from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0) return static_cast<int>(count);
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) BIO_set_retry_write(bio);
    return -1;
  }
}

long BioControl(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wharf socket");
    BIO_meth_set_read(made, BioRead);
    BIO_meth_set_write(made, BioWrite);
    BIO_meth_set_ctrl(made, BioControl);
    BIO_meth_set_destroy(made, BioDestroy);
    return made;
  }();
  return method;
}

// --- contexts ---

absl::StatusOr<Context> MakeContext(const SSL_METHOD* method) {
  Context context(SSL_CTX_new_ex(Library(), nullptr, method));
  if (context == nullptr) return Internal("TLS: cannot set up OpenSSL: {}", LastError());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  // Sessions are never resumed; tickets left unread at the end would turn an orderly close into a reset.
  SSL_CTX_set_num_tickets(context.get(), 0);
  return context;
}

absl::Status UseCertificate(SSL_CTX* context, const std::string& certificate_file, const std::string& key_file) {
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return InvalidArgument("TLS: cannot use certificate {}: {}", certificate_file, LastError());
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1) {
    return InvalidArgument("TLS: cannot use key {} with certificate {}: {}", key_file, certificate_file, LastError());
  }
  return absl::OkStatus();
}

absl::Status TrustFile(SSL_CTX* context, const std::string& ca_file) {
  if (SSL_CTX_load_verify_file(context, ca_file.c_str()) == 1) return absl::OkStatus();
  return InvalidArgument("TLS: cannot read CA certificates from {}: {}", ca_file, LastError());
}

// What OpenSSL would look for in the directories of the system's certificates each time that it wants one.
absl::Status TrustDirectories(SSL_CTX* context) {
  const char* const variable = getenv(X509_get_default_cert_dir_env());
  std::istringstream directories(variable != nullptr ? variable : X509_get_default_cert_dir());
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::error_code missing;
    for (const auto& entry : std::filesystem::directory_iterator(directory, missing)) {
      // "9d04f354.0": the hash of a name, and a number.
      const std::string name = entry.path().filename();
      const bool is_hash = name.find_first_not_of("0123456789abcdef") == 8 && name[8] == '.' && name.size() > 9 &&
                           name.find_first_not_of("0123456789", 9) == std::string::npos;
      if (is_hash) WHARF_RETURN_IF_ERROR(TrustFile(context, entry.path()));
    }
  }
  return absl::OkStatus();
}

// The one certificate that is accepted, and the one that was shown.
struct Pin {
  std::string wanted, shown;  // SHA-256; "": none
};

absl::StatusOr<std::string> ReadFingerprint(const std::string& fingerprint) {
  const std::string digits = fingerprint.substr(fingerprint.starts_with("sha256:") ? 7 : 0);
  size_t size = 0;
  std::string read(SHA256_DIGEST_LENGTH, '\0');
  if (OPENSSL_hexstr2buf_ex(reinterpret_cast<unsigned char*>(read.data()), read.size(), &size, digits.c_str(), ':') ==
          1 &&
      size == read.size()) {
    return read;
  }
  return InvalidArgument("TLS: \"{}\" is no fingerprint: it is sha256: and 64 hexadecimal digits", fingerprint);
}

// Instead of the verification of a chain of certificates. The session's pin is its application's datum.
int IsPinned(X509_STORE_CTX* verification, void*) {
  void* const session = X509_STORE_CTX_get_ex_data(verification, SSL_get_ex_data_X509_STORE_CTX_idx());
  Pin& pin = *static_cast<Pin*>(SSL_get_app_data(static_cast<SSL*>(session)));
  const X509* const certificate = X509_STORE_CTX_get0_cert(verification);
  pin.shown.resize(SHA256_DIGEST_LENGTH);
  const bool digested =
      certificate != nullptr &&
      X509_digest(certificate, EVP_sha256(), reinterpret_cast<unsigned char*>(pin.shown.data()), nullptr) == 1;
  if (digested && pin.shown == pin.wanted) return 1;
  X509_STORE_CTX_set_error(verification, X509_V_ERR_CERT_UNTRUSTED);
  return 0;
}

// When the system's certificates are read.
enum class SystemTrust { kNow, kWhenWanted };

absl::StatusOr<Context> ClientContext(const TlsClientOptions& options, SystemTrust trust) {
  WHARF_ASSIGN_OR_RETURN(Context context, MakeContext(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  if (!options.fingerprint.empty()) {
    SSL_CTX_set_cert_verify_callback(context.get(), IsPinned, nullptr);
  } else if (options.ca_file.empty() && trust == SystemTrust::kWhenWanted) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (options.ca_file.empty()) {
    SSL_CTX_set_default_verify_file(context.get());
    WHARF_RETURN_IF_ERROR(TrustDirectories(context.get()));
  } else {
    WHARF_RETURN_IF_ERROR(TrustFile(context.get(), options.ca_file));
  }
  if (!options.certificate_file.empty()) {
    WHARF_RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate_file, options.key_file));
  }
  return context;
}

absl::StatusOr<Context> ServerContext(const TlsServerOptions& options) {
  WHARF_ASSIGN_OR_RETURN(Context context, MakeContext(TLS_server_method()));
  WHARF_RETURN_IF_ERROR(UseCertificate(context.get(), options.certificate_file, options.key_file));
  if (!options.client_ca_file.empty()) {
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    WHARF_RETURN_IF_ERROR(TrustFile(context.get(), options.client_ca_file));
    // Only for the client's choice of certificate; a failure costs nothing but that hint.
    SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(options.client_ca_file.c_str()));
  }
  return context;
}

absl::StatusOr<Session> MakeSession(const Context& context, int fd) {
  Session session(SSL_new(context.get()));
  BIO* bio = session != nullptr ? BIO_new(SocketMethod()) : nullptr;
  if (bio == nullptr) return ResourceExhausted("TLS: {}", LastError());
  BIO_set_data(bio, new int(fd));
  BIO_set_init(bio, 1);
  SSL_set_bio(session.get(), bio, bio);
  return session;
}

absl::Status ExpectPeer(SSL* session, const std::string& name) {
  unsigned char binary[16];
  const bool is_ip = inet_pton(AF_INET, name.c_str(), binary) == 1 || inet_pton(AF_INET6, name.c_str(), binary) == 1;
  const bool ok = is_ip ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), name.c_str()) == 1
                        : SSL_set1_host(session, name.c_str()) == 1 && SSL_set_tlsext_host_name(session, name.c_str());
  if (!ok) return InvalidArgument("TLS: \"{}\" is not a server name", name);
  return absl::OkStatus();
}

// --- failures ---

// What a client can do about a server's certificate that nobody it trusts has signed.
std::string_view AboutTrust(long verdict) {
  switch (verdict) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return "; trust it by --tls-pin and the fingerprint that the server says when it starts";
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
      return "; say who signed it by --tls-ca";
    default:
      return "";
  }
}

// What a failed operation means. Reads the thread's error queue.
absl::Status Failure(SSL* session, int result_of_ssl, int error_number, bool server) {
  const int kind = SSL_get_error(session, result_of_ssl);
  if (kind == SSL_ERROR_SYSCALL || kind == SSL_ERROR_ZERO_RETURN) {
    return error_number != 0 ? ConnectionError(error_number) : Unavailable("connection lost: closed without warning");
  }
  const long verdict = SSL_get_verify_result(session);
  const char* peer = server ? "client" : "server";
  const int reason = ERR_GET_REASON(ERR_peek_last_error());
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
    return Unauthenticated("TLS: the {}'s certificate is not accepted: {}{}", peer,
                           X509_verify_cert_error_string(verdict), server ? "" : AboutTrust(verdict));
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return Unauthenticated("TLS: the client presented no certificate and this server requires one");
  }
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return Unavailable("connection lost: closed without warning");
  if (reason > SSL_AD_REASON_OFFSET) {
    return Unauthenticated("TLS: refused by the {}: {}; does it want (another) certificate?", peer, LastError());
  }
  return Unauthenticated("TLS with the {} failed: {}; does it speak TLS 1.3 on this port?", peer, LastError());
}

class TlsStream final : public ByteStream {
 public:
  TlsStream(UniqueFd fd, Session session, bool server)
      : fd_(std::move(fd)), peer_(PeerAddress(fd_.get())), server_(server), session_(std::move(session)) {}

  absl::Status Handshake(TimePoint deadline) {
    SetStreamOptions(fd_.get());
    while (true) {
      ErrorScope errors;
      errno = 0;
      const int result = server_ ? SSL_accept(session_.get()) : SSL_connect(session_.get());
      if (result == 1) return ExportBinding();
      const short events = Awaited(result);
      if (events == 0) return Failure(session_.get(), result, errno, server_);
      if (!WaitFor(fd_.get(), events, &deadline))
        return DeadlineExceeded("TLS: {} did not finish the handshake", Peer());
    }
  }

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    while (true) {
      short events = 0;
      {
        std::lock_guard lock(mutex_);
        ErrorScope errors;
        errno = 0;
        size_t count = 0;
        const int result = SSL_read_ex(session_.get(), into.data(), into.size(), &count);
        if (result == 1) return count;
        const int error_number = errno;
        if (SSL_get_error(session_.get(), result) == SSL_ERROR_ZERO_RETURN) return 0;
        events = Awaited(result);
        if (events == 0) return Failure(session_.get(), result, error_number, server_);
      }
      WaitFor(fd_.get(), events);
    }
  }

  absl::Status Write(std::span<const std::span<const std::byte>> pieces) override {
    return WriteAll(pieces, /*wait=*/true).status();
  }
  absl::StatusOr<size_t> TryWrite(std::span<const std::span<const std::byte>> pieces) override {
    return WriteAll(pieces, /*wait=*/false);
  }

  void FinishWriting() override {
    {
      std::lock_guard lock(mutex_);
      ErrorScope errors;
      SSL_shutdown(session_.get());
    }
    shutdown(fd_.get(), SHUT_WR);
  }
  void Shutdown() override { shutdown(fd_.get(), SHUT_RDWR); }
  std::string Peer() const override { return peer_.family() == AF_UNIX ? "unix" : FormatAddress(peer_); }
  bool IsLocal() const override { return IsLoopback(peer_); }
  std::optional<TransportInfo> Info() const override { return SocketInfo(fd_.get()); }
  std::string ChannelBinding() const override { return binding_; }
  std::vector<std::string> PeerUnits() const override {
    std::lock_guard lock(mutex_);
    const X509* const certificate = SSL_get0_peer_certificate(session_.get());
    if (certificate == nullptr) return {};
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    std::vector<std::string> units;
    for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, NID_organizationalUnitName, at)) >= 0;) {
      const ASN1_STRING* const text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at));
      units.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), ASN1_STRING_length(text));
    }
    return units;
  }

  std::string Identity() const {
    std::lock_guard lock(mutex_);
    const X509* const certificate = SSL_get0_peer_certificate(session_.get());
    if (certificate == nullptr) return {};
    ErrorScope errors;
    std::array<unsigned char, 2 * SHA256_DIGEST_LENGTH> names{};
    const X509_NAME* const subject = X509_get_subject_name(certificate);
    unsigned char* const of_issuer = names.data() + SHA256_DIGEST_LENGTH;
    const bool taken = X509_NAME_entry_count(subject) == 0
                           ? X509_digest(certificate, EVP_sha256(), names.data(), nullptr) == 1
                           : X509_NAME_digest(subject, EVP_sha256(), names.data(), nullptr) == 1 &&
                                 X509_NAME_digest(X509_get_issuer_name(certificate), EVP_sha256(), of_issuer, nullptr);
    std::string identity(SHA256_DIGEST_LENGTH, '\0');
    if (!taken) return {};
    SHA256(names.data(), names.size(), reinterpret_cast<unsigned char*>(identity.data()));
    return identity;
  }

 private:
  absl::Status ExportBinding() {
    constexpr std::string_view kLabel = "EXPORTER-Channel-Binding";
    binding_.resize(32);
    const int exported = SSL_export_keying_material(session_.get(), reinterpret_cast<unsigned char*>(binding_.data()),
                                                    binding_.size(), kLabel.data(), kLabel.size(), nullptr, 0, 0);
    return exported == 1 ? absl::OkStatus() : Internal("TLS: no channel binding: {}", LastError());
  }

  // What the socket must be ready for before the operation can go on; 0: it failed.
  short Awaited(int result) const {
    switch (SSL_get_error(session_.get(), result)) {
      case SSL_ERROR_WANT_READ:
        return POLLIN;
      case SSL_ERROR_WANT_WRITE:
        return POLLOUT;
      default:
        return 0;
    }
  }

  // The next record's worth of bytes behind the first `skip`: in place if one piece has them, else put together in
  // `record_`. A record that OpenSSL has begun must be offered again with exactly the same bytes.
  std::span<const std::byte> NextRecord(std::span<const std::span<const std::byte>> pieces, size_t skip) {
    const size_t want = begun_ != 0 ? begun_ : kMaxRecord;
    record_.clear();
    for (const auto& piece : pieces) {
      if (skip >= piece.size()) {
        skip -= piece.size();
        continue;
      }
      const auto rest = piece.subspan(skip);
      skip = 0;
      if (record_.empty() && (rest.size() >= want || &piece == &pieces.back())) {
        return rest.first(std::min(rest.size(), want));
      }
      const auto part = rest.first(std::min(rest.size(), want - record_.size()));
      record_.insert(record_.end(), part.begin(), part.end());
      if (record_.size() == want) break;
    }
    return record_;
  }

  absl::StatusOr<size_t> WriteAll(std::span<const std::span<const std::byte>> pieces, bool wait) {
    size_t total = 0, done = 0;
    for (const auto& piece : pieces) total += piece.size();
    while (done < total) {
      short events = 0;
      {
        std::lock_guard lock(mutex_);
        const auto record = NextRecord(pieces, done);
        ErrorScope errors;
        errno = 0;
        size_t written = 0;
        const int result = SSL_write_ex(session_.get(), record.data(), record.size(), &written);
        if (result == 1) {
          begun_ = 0;
          done += written;
          continue;
        }
        events = Awaited(result);
        if (events == 0) return Failure(session_.get(), result, errno, server_);
        begun_ = record.size();
      }
      if (!wait) break;
      WaitFor(fd_.get(), events);
    }
    return done;
  }

  const UniqueFd fd_;
  const SocketAddress peer_;
  const bool server_;
  std::string binding_;  // once the handshake is done
  // SSL objects are not thread-safe; it is held while encrypting or decrypting, never while waiting for the socket.
  mutable std::mutex mutex_;
  const Session session_;
  size_t begun_ = 0;               // length of a record that the socket has not taken yet
  std::vector<std::byte> record_;  // of the one writing thread
};

class TlsClientImpl final : public TlsClient {
 public:
  static absl::StatusOr<TlsClientImpl> Make(const TlsClientOptions& options, SystemTrust trust) {
    ErrorScope errors;
    std::string fingerprint;
    if (!options.fingerprint.empty()) {
      WHARF_ASSIGN_OR_RETURN(fingerprint, ReadFingerprint(options.fingerprint));
    }
    WHARF_ASSIGN_OR_RETURN(Context context, ClientContext(options, trust));
    return TlsClientImpl(std::move(context), options.server_name, std::move(fingerprint));
  }
  absl::StatusOr<std::unique_ptr<ByteStream>> Connect(UniqueFd socket, const std::string& host, TimePoint deadline,
                                                      bool again) const;

 private:
  TlsClientImpl(Context context, std::string server_name, std::string fingerprint)
      : context_(std::move(context)), server_name_(std::move(server_name)), fingerprint_(std::move(fingerprint)) {}

  Context context_;
  std::string server_name_, fingerprint_;
};

absl::StatusOr<std::unique_ptr<ByteStream>> TlsClientImpl::Connect(UniqueFd socket, const std::string& host,
                                                                   TimePoint deadline, bool again) const {
  ErrorScope errors;
  Pin pin{fingerprint_, ""};
  WHARF_ASSIGN_OR_RETURN(Session session, MakeSession(context_, socket.get()));
  if (fingerprint_.empty()) {
    WHARF_RETURN_IF_ERROR(ExpectPeer(session.get(), server_name_.empty() ? host : server_name_));
  } else {
    SSL_set_app_data(session.get(), &pin);  // for this handshake, the only one there is
  }
  if (again) {
    SSL_set_alpn_protos(session.get(), reinterpret_cast<const unsigned char*>(kGoesOn.data()), kGoesOn.size());
  }
  auto stream = std::make_unique<TlsStream>(std::move(socket), std::move(session), /*server=*/false);
  const absl::Status handshake = stream->Handshake(deadline);
  if (absl::IsUnavailable(handshake)) {
    return Unavailable("TLS: {} ended the connection in the middle of the handshake; does it speak TLS on this port?",
                       host);
  }
  if (!handshake.ok() && !pin.shown.empty() && pin.shown != pin.wanted) {
    return Unauthenticated("TLS: the server's certificate is not the one of --tls-pin: its fingerprint is sha256:{}",
                           absl::BytesToHexString(pin.shown));
  }
  WHARF_RETURN_IF_ERROR(handshake);
  return stream;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ByteStream>> ConnectTls(int fd, const TlsClientOptions& options, const std::string& host,
                                                       TimePoint deadline, bool again) {
  UniqueFd socket(fd);
  WHARF_ASSIGN_OR_RETURN(const TlsClientImpl client, TlsClientImpl::Make(options, SystemTrust::kWhenWanted));
  return client.Connect(std::move(socket), host, deadline, again);
}

absl::StatusOr<std::unique_ptr<ByteStream>> ConnectTls(int fd, const TlsClient& client, const std::string& host,
                                                       TimePoint deadline, bool again) {
  return static_cast<const TlsClientImpl&>(client).Connect(UniqueFd(fd), host, deadline, again);
}

absl::StatusOr<std::shared_ptr<const TlsClient>> TlsClient::Create(const TlsClientOptions& options) {
  WHARF_ASSIGN_OR_RETURN(TlsClientImpl client, TlsClientImpl::Make(options, SystemTrust::kNow));
  return std::make_shared<const TlsClientImpl>(std::move(client));
}

namespace {

class TlsServerImpl final : public TlsServer {
 public:
  explicit TlsServerImpl(Context context) : context_(std::move(context)) {}

  absl::StatusOr<std::unique_ptr<ByteStream>> Accept(int fd, Nanoseconds timeout) const override {
    const TimePoint deadline = Clock::Real().Now() + timeout;
    UniqueFd owned(fd);
    ErrorScope errors;
    WHARF_ASSIGN_OR_RETURN(Session session, MakeSession(context_, fd));
    auto stream = std::make_unique<TlsStream>(std::move(owned), std::move(session), /*server=*/true);
    WHARF_RETURN_IF_ERROR(stream->Handshake(deadline));
    return stream;
  }

 private:
  const Context context_;
};

}  // namespace

std::string PeerIdentity(const ByteStream& stream) {
  const auto* const encrypted = dynamic_cast<const TlsStream*>(&stream);
  return encrypted == nullptr ? "" : encrypted->Identity();
}

absl::StatusOr<std::unique_ptr<TlsServer>> TlsServer::Create(const TlsServerOptions& options) {
  ErrorScope errors;
  WHARF_ASSIGN_OR_RETURN(Context context, ServerContext(options));
  return std::make_unique<TlsServerImpl>(std::move(context));
}

}  // namespace wharf::link
