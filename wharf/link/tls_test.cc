// TLS with certificates made here: accepted, refused and mutual.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "wharf/link/certificate.h"
#include "wharf/link/channel.h"
#include "wharf/link/connect_again.h"
#include "wharf/link/socket.h"
#include "wharf/link/testing.h"

namespace wharf::link {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

struct Identity {
  std::shared_ptr<X509> certificate;
  std::shared_ptr<EVP_PKEY> key;
};

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

struct Request {
  std::string name;
  std::string alternative_names;     // "DNS:edge.test,IP:127.0.0.1"; empty: a CA
  long from = -3600, until = +3600;  // seconds from now
  std::vector<std::string> units;    // OU
};

// Signed by `issuer`, or by itself.
Identity Issue(const Request& request, const Identity* issuer) {
  Identity made{{X509_new(), X509_free}, {EVP_EC_gen("P-256"), EVP_PKEY_free}};
  X509* certificate = made.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  X509_gmtime_adj(X509_getm_notBefore(certificate), request.from);
  X509_gmtime_adj(X509_getm_notAfter(certificate), request.until);
  X509_set_pubkey(certificate, made.key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(request.name.c_str()), -1, -1, 0);
  for (const std::string& unit : request.units) {
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "OU", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(unit.c_str()), -1, -1, 0);
  }
  X509* signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  if (request.alternative_names.empty()) {
    AddExtension(certificate, signer, NID_basic_constraints, "critical,CA:TRUE");
    AddExtension(certificate, signer, NID_key_usage, "critical,keyCertSign");
  } else {
    AddExtension(certificate, signer, NID_subject_alt_name, request.alternative_names);
  }
  X509_sign(certificate, issuer != nullptr ? issuer->key.get() : made.key.get(), EVP_sha256());
  return made;
}

absl::StatusOr<std::unique_ptr<ByteStream>> AcceptTls(int fd, const TlsServerOptions& options, Nanoseconds timeout) {
  UniqueFd owned(fd);
  WHARF_ASSIGN_OR_RETURN(const auto server, TlsServer::Create(options));
  return server->Accept(owned.Release(), timeout);
}

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = std::filesystem::path(testing::TempDir()) / fmt::format("wharf_tls_{}", getpid());
    std::filesystem::create_directories(directory_);
    ca_ = Issue({"Test CA", ""}, nullptr);
    other_ca_ = Issue({"Other CA", ""}, nullptr);
    Store("ca", ca_);
    Store("other_ca", other_ca_);
    Store("server", Issue({"server", "DNS:edge.test,IP:127.0.0.1"}, &ca_));
    Store("client", Issue({"client", "DNS:client.test"}, &ca_));
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string File(const std::string& name) { return (directory_ / name).string(); }
  void Store(const std::string& name, const Identity& identity) {
    FILE* file = fopen(File(name + ".crt").c_str(), "w");
    PEM_write_X509(file, identity.certificate.get());
    fclose(file);
    file = fopen(File(name + ".key").c_str(), "w");
    PEM_write_PrivateKey(file, identity.key.get(), nullptr, nullptr, 0, nullptr, nullptr);
    fclose(file);
  }
  TlsServerOptions Server(const std::string& name = "server", const std::string& client_ca = "") {
    return {File(name + ".crt"), File(name + ".key"), client_ca.empty() ? "" : File(client_ca + ".crt")};
  }
  TlsClientOptions Client(const std::string& ca = "ca", const std::string& name = "") {
    TlsClientOptions options;
    options.ca_file = File(ca + ".crt");
    if (!name.empty()) options.certificate_file = File(name + ".crt"), options.key_file = File(name + ".key");
    return options;
  }

  struct Outcome {
    absl::StatusOr<std::unique_ptr<ByteStream>> client, server;
  };
  Outcome Handshake(const TlsClientOptions& client, const TlsServerOptions& server) {
    auto listener = Listener::Create("127.0.0.1:0").value();
    auto accepted =
        std::async(std::launch::async, [&] { return AcceptTls(listener->Accept().value(), server, seconds(60)); });
    ConnectOptions options;
    options.timeout = seconds(60);
    options.tls = client;
    auto connected = Connect(listener->Address(), options);
    return {std::move(connected), accepted.get()};
  }

  std::filesystem::path directory_;
  Identity ca_, other_ca_;
};

TEST_F(TlsTest, WhoConnectsAgainSaysSoInItsFirstMessage) {
  for (const bool again : {false, true}) {
    auto listener = Listener::Create("127.0.0.1:0").value();
    auto served = std::async(std::launch::async, [&] {
      const int socket = listener->Accept().value();
      std::array<std::byte, kBeginningBytes> first{};
      ssize_t count = 0;  // of a message that may come in pieces
      while (count < 200) count = recv(socket, first.data(), first.size(), MSG_PEEK);
      EXPECT_EQ(GoesOn(std::span(first).first(static_cast<size_t>(count))), again);
      return AcceptTls(socket, Server(), seconds(60));
    });
    const ConnectOptions options{.timeout = seconds(60), .tls = Client()};
    const auto connected = again ? ConnectAgain(listener->Address(), options) : Connect(listener->Address(), options);
    EXPECT_TRUE(connected.ok()) << connected.status();
    EXPECT_TRUE(served.get().ok());
  }
  const auto bytes = [](std::string_view text) { return std::as_bytes(std::span(text)); };
  EXPECT_TRUE(GoesOn(bytes("\x16 \x0cwharf-resume")));
  EXPECT_FALSE(GoesOn(bytes("GET \x0cwharf-resume")));
  EXPECT_FALSE(GoesOn(bytes("\x16 \x0cwharf-resum")));
  EXPECT_FALSE(GoesOn({}));
}

TEST_F(TlsTest, AClientIsWhoItsCertificateSays) {
  const auto identity = [this](const std::string& name) {
    const Outcome outcome = Handshake(Client("ca", name), Server("server", name.empty() ? "" : "ca"));
    EXPECT_TRUE(outcome.server.ok()) << outcome.server.status();
    return outcome.server.ok() ? PeerIdentity(**outcome.server) : "failed";
  };
  EXPECT_EQ(identity(""), "");
  const std::string client = identity("client");
  EXPECT_EQ(client.size(), 32u);
  EXPECT_EQ(identity("client"), client);
  EXPECT_NE(identity("server"), client);
}

TEST_F(TlsTest, BothEndsHaveTheSameBindingAndNoOtherConnectionHasIt) {
  const Outcome one = Handshake(Client(), Server()), other = Handshake(Client(), Server());
  ASSERT_TRUE(one.client.ok() && one.server.ok() && other.client.ok() && other.server.ok());
  const std::string binding = (*one.client)->ChannelBinding();
  EXPECT_EQ(binding.size(), 32u);
  EXPECT_EQ((*one.server)->ChannelBinding(), binding);
  EXPECT_NE((*other.client)->ChannelBinding(), binding);
  EXPECT_EQ((*other.server)->ChannelBinding(), (*other.client)->ChannelBinding());
}

TEST_F(TlsTest, TheUnitsOfAVerifiedCertificateAreKnown) {
  Store("worker", Issue({"worker", "DNS:worker.test", -3600, 3600, {"wharf-worker", "wharf-scheduler"}}, &ca_));
  const Outcome mutual = Handshake(Client("ca", "worker"), Server("server", "ca"));
  ASSERT_TRUE(mutual.server.ok()) << mutual.server.status();
  EXPECT_EQ((*mutual.server)->PeerUnits(), (std::vector<std::string>{"wharf-worker", "wharf-scheduler"}));
  EXPECT_EQ((*mutual.client)->PeerUnits(), std::vector<std::string>());
  const Outcome anonymous = Handshake(Client(), Server());
  ASSERT_TRUE(anonymous.server.ok());
  EXPECT_EQ((*anonymous.server)->PeerUnits(), std::vector<std::string>());
}

absl::Status WriteText(ByteStream& stream, std::string_view text) {
  const std::span<const std::byte> piece = AsBytes(text);
  return stream.Write(std::span(&piece, 1));
}

TEST_F(TlsTest, CarriesFramesBothWaysAtOnce) {
  auto [client, server] = Handshake(Client(), Server());
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_TRUE((*client)->IsLocal());
  EXPECT_THAT((*client)->Peer(), HasSubstr("127.0.0.1:"));
  EXPECT_TRUE((*client)->Info().has_value());
  Recorder at_a, at_b;
  auto a = Channel::Create(*std::move(client));
  auto b = Channel::Create(*std::move(server));
  a->Start(&at_a);
  b->Start(&at_b);
  const auto flood = [](Channel& channel) {
    for (uint32_t i = 0; i < 60; ++i) {
      const auto ownership = i % 2 == 0 ? BulkOwnership::kBorrow : BulkOwnership::kCopy;
      EXPECT_TRUE(channel.Send(1, i, AsBytes("head"), Pattern(i * 20'011, i), ownership).ok());
    }
    EXPECT_TRUE(channel.Flush().ok());
  };
  std::thread other([&] { flood(*b); });
  flood(*a);
  other.join();
  for (Recorder* recorder : {&at_a, &at_b}) {
    for (uint32_t got = 0; got < 60;) {
      for (const auto& frame : recorder->Take(1)) {
        ASSERT_EQ(frame.header.tag, got);
        ASSERT_EQ(frame.bulk, Pattern(got * 20'011, got));
        ++got;
      }
    }
  }
  a->Close(seconds(30));
  EXPECT_EQ(at_b.WaitClosed(), absl::UnavailableError("closed by peer"));
}

// As a process that opens files no more, and makes many connections at a time.
TEST_F(TlsTest, WhatWasReadBeforeServesManyConnections) {
  const auto server = TlsServer::Create(Server("server", "ca"));
  ASSERT_TRUE(server.ok()) << server.status();
  std::vector<ConnectOptions> clients(2, {.timeout = seconds(60), .tls = std::nullopt});
  for (ConnectOptions& client : clients) {
    const auto made = TlsClient::Create(Client("ca", "client"));
    ASSERT_TRUE(made.ok()) << made.status();
    client.tls_client = *made;
  }
  clients[1].tls_client = *TlsClient::Create(Client("other_ca", "client"));
  std::filesystem::remove_all(directory_);
  auto listener = Listener::Create("127.0.0.1:0").value();
  std::vector<std::thread> connecting;
  std::atomic<int> accepted = 0, refused = 0;
  for (int i = 0; i < 16; ++i) {
    connecting.emplace_back([&, i] {
      const absl::Status status = Connect(listener->Address(), clients[i % 2]).status();
      ++(status.ok() ? accepted : refused);
    });
    connecting.emplace_back([&, socket = listener->Accept().value()] {
      (*server)->Accept(socket, seconds(60)).IgnoreError();  // the client says how it went
    });
  }
  for (std::thread& thread : connecting) thread.join();
  EXPECT_EQ(accepted, 8);
  EXPECT_EQ(refused, 8);
}

TEST_F(TlsTest, AFingerprintMayBeSharedToo) {
  const auto server = TlsServer::Create(Server());
  ASSERT_TRUE(server.ok()) << server.status();
  TlsClientOptions options;
  options.fingerprint = "sha256:" + std::string(64, '0');
  const auto client = TlsClient::Create(options);
  ASSERT_TRUE(client.ok()) << client.status();
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async,
                             [&] { return (*server)->Accept(listener->Accept().value(), seconds(60)).status(); });
  ConnectOptions connecting{.timeout = seconds(60), .tls = std::nullopt};
  connecting.tls_client = *client;
  const absl::Status refused = Connect(listener->Address(), connecting).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(refused), HasSubstr("its fingerprint is sha256:"));
  EXPECT_FALSE(accepted.get().ok());
  options.fingerprint = "sha256:12";
  EXPECT_EQ(TlsClient::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(TlsTest, ChecksAServerNameThatIsNotTheHost) {
  TlsClientOptions options = Client();
  options.server_name = "edge.test";
  auto outcome = Handshake(options, Server());
  EXPECT_TRUE(outcome.client.ok()) << outcome.client.status();
}

TEST_F(TlsTest, RefusesAnotherName) {
  TlsClientOptions options = Client();
  options.server_name = "elsewhere.test";
  auto outcome = Handshake(options, Server());
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("ostname mismatch"));
  EXPECT_EQ(outcome.server.status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TlsTest, RefusesAnotherIpAddress) {
  Store("elsewhere", Issue({"server", "DNS:edge.test,IP:192.0.2.1"}, &ca_));
  auto outcome = Handshake(Client(), Server("elsewhere"));
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("IP address mismatch"));
}

TEST_F(TlsTest, RefusesAnUnknownAuthority) {
  auto outcome = Handshake(Client("other_ca"), Server());
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("server's certificate is not accepted"));
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("by --tls-ca"));
}

TEST_F(TlsTest, WhoMeetsACertificateThatSignedItselfIsToldOfPins) {
  Store("own", Issue({"server", "IP:127.0.0.1"}, nullptr));
  const auto outcome = Handshake(Client(), Server("own"));
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("by --tls-pin"));
}

TEST_F(TlsTest, RefusesExpiredAndFutureCertificates) {
  Store("expired", Issue({"server", "IP:127.0.0.1", -7200, -3600}, &ca_));
  auto outcome = Handshake(Client(), Server("expired"));
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("expired"));
  Store("future", Issue({"server", "IP:127.0.0.1", +3600, +7200}, &ca_));
  outcome = Handshake(Client(), Server("future"));
  EXPECT_EQ(outcome.client.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.client.status()), HasSubstr("not yet valid"));
}

TEST_F(TlsTest, MutualTlsAcceptsTheRightClient) {
  auto outcome = Handshake(Client("ca", "client"), Server("server", "ca"));
  ASSERT_TRUE(outcome.client.ok()) << outcome.client.status();
  ASSERT_TRUE(outcome.server.ok()) << outcome.server.status();
  ASSERT_TRUE(WriteText(**outcome.client, "x").ok());
  std::byte byte;
  EXPECT_EQ((*outcome.server)->Read(std::span(&byte, 1)).value(), 1u);
}

TEST_F(TlsTest, MutualTlsRefusesNoCertificateAndAForeignOne) {
  auto outcome = Handshake(Client(), Server("server", "ca"));
  EXPECT_EQ(outcome.server.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.server.status()), HasSubstr("no certificate"));
  ASSERT_TRUE(outcome.client.ok());  // TLS 1.3: the client is done before the server has looked at its certificate
  std::byte byte;
  const auto answer = (*outcome.client)->Read(std::span(&byte, 1)).status();
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(answer), HasSubstr("certificate"));

  Store("stranger", Issue({"stranger", "DNS:client.test"}, &other_ca_));
  outcome = Handshake(Client("ca", "stranger"), Server("server", "ca"));
  EXPECT_EQ(outcome.server.status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(ToString(outcome.server.status()), HasSubstr("client's certificate is not accepted"));
}

TEST_F(TlsTest, SaysWhichFileCannotBeUsed) {
  auto [first, second] = Handshake(Client("absent"), Server());
  EXPECT_EQ(first.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ToString(first.status()), HasSubstr("absent.crt"));
  TlsServerOptions server = Server();
  server.key_file = File("client.key");  // of another certificate
  auto outcome = Handshake(Client(), server);
  EXPECT_EQ(outcome.server.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(ToString(outcome.server.status()), HasSubstr("client.key"));
}

TEST_F(TlsTest, APeerWithoutTlsIsRefused) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async,
                             [&] { return AcceptTls(listener->Accept().value(), Server(), seconds(60)).status(); });
  auto client = Connect(listener->Address()).value();
  ASSERT_TRUE(WriteText(*client, "WHF1 this is no handshake at all").ok());
  EXPECT_EQ(accepted.get().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TlsTest, AServerWithoutTlsIsRefused) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] {
    auto stream = FromSocket(listener->Accept().value());
    EXPECT_TRUE(WriteText(*stream, "HTTP/1.1 400 Bad Request\r\n\r\n").ok());
  });
  ConnectOptions options;
  options.timeout = seconds(60);
  options.tls = Client();
  EXPECT_EQ(Connect(listener->Address(), options).status().code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(TlsTest, AServerThatHangsUpOnAHandshakeIsSaidToHaveNoTls) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto accepted = std::async(std::launch::async, [&] {
    auto stream = FromSocket(listener->Accept().value());
    std::array<std::byte, 16> hello;
    EXPECT_TRUE(stream->Read(hello).ok());
  });
  ConnectOptions options;
  options.timeout = seconds(60);
  options.tls = Client();
  const absl::Status status = Connect(listener->Address(), options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(ToString(status), HasSubstr("does it speak TLS"));
}

TEST_F(TlsTest, ASilentPeerIsGivenUp) {
  auto listener = Listener::Create("127.0.0.1:0").value();
  auto client = Connect(listener->Address()).value();
  EXPECT_EQ(AcceptTls(listener->Accept().value(), Server(), std::chrono::milliseconds(1)).status().code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST_F(TlsTest, ShutdownWakesABlockedReader) {
  auto [client, server] = Handshake(Client(), Server());
  ASSERT_TRUE(client.ok() && server.ok());
  std::thread reader([&] {
    std::byte byte;
    const auto read = (*client)->Read(std::span(&byte, 1));
    EXPECT_TRUE(!read.ok() || *read == 0);
  });
  (*client)->Shutdown();
  reader.join();
}

}  // namespace
}  // namespace wharf::link
