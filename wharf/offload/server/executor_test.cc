#include <rapidcheck/gtest.h>

#include "wharf/link/emulation/emulator.h"
#include "wharf/offload/bulk/compression.h"
#include "wharf/offload/server/executor_testing.h"

namespace wharf::offload {
namespace {

using device::CudaError;
using device::FakeDevice;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::Le;

TEST_F(ExecutorTest, CopiesLaunchesAndReadsBackInOrder) {
  MapMemory map;
  map.address = kBase;
  map.size = 4096;
  ASSERT_TRUE(client_->Post(map).ok());
  Copy(kBase, Bytes("abc"));
  Define(7, "increment");
  LaunchOn(kBase, 7);
  LaunchOn(kBase + 2, 7);
  const auto read = client_->Ask(Read(kBase, 3));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->header.error, CudaError::kSuccess);
  EXPECT_EQ(read->header.posted_error, CudaError::kSuccess);
  EXPECT_EQ(read->bulk, Bytes("bbd"));
  EXPECT_EQ(executor_->Counters().launches, 2U);
  EXPECT_EQ(executor_->Counters().mapped_bytes, 4096U);
}

TEST_F(ExecutorTest, AnErrorOfAPostedOperationComesOnceWithTheNextReply) {
  UnmapMemory unmap;
  unmap.address = kBase;
  ASSERT_TRUE(client_->Post(unmap).ok());
  LaunchOn(kBase, 99);
  const ReplyHeader first = Synchronize();
  EXPECT_EQ(first.error, CudaError::kSuccess);
  EXPECT_EQ(first.posted_error, CudaError::kInvalidValue) << "the first of the two";
  EXPECT_EQ(first.message, "not mapped");
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, AFaultIsStickyAndInEveryReply) {
  Define(1, "fault");
  LaunchOn(kBase, 1);
  const ReplyHeader first = Synchronize();
  EXPECT_EQ(first.error, CudaError::kIllegalAddress);
  EXPECT_EQ(first.fault, CudaError::kIllegalAddress);
  EXPECT_THAT(first.message, HasSubstr("out of bounds"));
  const auto acknowledged = client_->Ask(Acknowledge{});
  ASSERT_TRUE(acknowledged.ok());
  EXPECT_EQ(acknowledged->header.error, CudaError::kSuccess);
  EXPECT_EQ(acknowledged->header.fault, CudaError::kIllegalAddress);
}

TEST_F(ExecutorTest, OutputOfKernelsComesBeforeTheReply) {
  Define(1, "print");
  LaunchOn(kBase, 1);
  Synchronize();
  ASSERT_TRUE(client_->Has(FrameKind::kOutput));
  EXPECT_EQ(client_->Next(FrameKind::kOutput)->As<Output>().text, "hello from a kernel\n");
}

TEST_F(ExecutorTest, OutputIsBoundedAndSaysSo) {
  Define(1, "print_much");
  LaunchOn(kBase, 1);
  Synchronize();
  std::string text;
  while (client_->Has(FrameKind::kOutput)) text += client_->Next(FrameKind::kOutput)->As<Output>().text;
  EXPECT_THAT(text.size(), AllOf(Ge(4U << 20), Le((4U << 20) + 100)));
  EXPECT_THAT(text, HasSubstr("was dropped"));
}

TEST_F(ExecutorTest, AcknowledgeDoesNotWaitForTheDevice) {
  device_->Hold();
  Copy(kBase, Bytes("x"));
  EXPECT_TRUE(client_->Ask(Acknowledge{}).ok());
  QueryStream query;
  EXPECT_EQ(client_->Ask(query)->header.error, CudaError::kNotReady);
  const uint64_t synchronize = client_->Begin(SynchronizeDevice{});
  const uint64_t acknowledge = client_->Begin(Acknowledge{});
  EXPECT_TRUE(client_->Await<Acknowledge>(acknowledge).ok());
  EXPECT_FALSE(client_->Has(FrameKind::kReply)) << "the device is held";
  device_->Resume();
  EXPECT_EQ(client_->Await<SynchronizeDevice>(synchronize)->header.error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, AHostCallHoldsItsStreamUntilTheClientIsDone) {
  RequestHostCall request;
  request.call = 5;
  ASSERT_TRUE(client_->Post(request).ok());
  const uint64_t synchronize = client_->Begin(SynchronizeDevice{});
  EXPECT_EQ(client_->Next(FrameKind::kHostCall)->As<HostCall>().call, 5U);
  EXPECT_TRUE(client_->Ask(Acknowledge{}).ok());
  EXPECT_FALSE(client_->Has(FrameKind::kReply));
  HostCallDone done;
  done.call = 5;
  ASSERT_TRUE(client_->Post(done).ok());
  EXPECT_EQ(client_->Await<SynchronizeDevice>(synchronize)->header.error, CudaError::kSuccess);
  done.call = 6;
  ASSERT_TRUE(client_->Post(done).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kNotFound);
}

TEST_F(ExecutorTest, AnOperationMayWaitForAHostCall) {
  device_->LoadBehindWork();
  RequestHostCall request;
  request.call = 5;
  ASSERT_TRUE(client_->Post(request).ok());
  Define(1, "increment");
  LaunchOn(kBase, 1);
  const uint64_t synchronize = client_->Begin(SynchronizeDevice{});
  ASSERT_TRUE(client_->Next(FrameKind::kHostCall).ok());
  HostCallDone done;
  done.call = 5;
  ASSERT_TRUE(client_->Post(done).ok());
  EXPECT_EQ(client_->Await<SynchronizeDevice>(synchronize)->header.posted_error, CudaError::kSuccess);
  EXPECT_EQ(*device_->At(kBase), std::byte{1});
}

TEST_F(ExecutorTest, WhatWaitsBehindAHostCallIsBounded) {
  Shut();
  ExecutorOptions options;
  options.queued_bytes_hard = 1 << 20;
  Open(options);
  device_->LoadBehindWork();
  RequestHostCall request;
  request.call = 1;
  ASSERT_TRUE(client_->Post(request).ok());
  Define(1, "increment");
  for (int i = 0; i < 16; ++i) Copy(kBase, std::vector<std::byte>(64 << 10));
  const auto goodbye = client_->Next(FrameKind::kGoodbye);
  ASSERT_TRUE(goodbye.ok());
  EXPECT_EQ(goodbye->As<Goodbye>().reason, "1 MiB of operations wait behind a host function");
}

TEST_F(ExecutorTest, AClientThatVanishesDuringAHostCallFreesTheDevice) {
  RequestHostCall request;
  request.call = 1;
  ASSERT_TRUE(client_->Post(request).ok());
  ASSERT_TRUE(client_->Next(FrameKind::kHostCall).ok());
  client_.reset();
  Shut();  // would hang if the stream were still held
}

TEST_F(ExecutorTest, ModulesAreAssembledFromPieces) {
  LoadModule piece;
  piece.module = 3;
  piece.final = false;
  ASSERT_TRUE(client_->Post(piece, Bytes("one ")).ok());
  ASSERT_TRUE(client_->Post(piece, Bytes("two ")).ok());
  piece.final = true;
  ASSERT_TRUE(client_->Post(piece, Bytes("three")).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
  ASSERT_NE(device_->Image(3), nullptr);
  EXPECT_EQ(*device_->Image(3), Bytes("one two three"));
}

TEST_F(ExecutorTest, ModulesBeyondTheLimitAreRefusedAndForgotten) {
  Shut();
  ExecutorOptions options;
  options.module_bytes = kModuleBytes + 8;
  Open(options);
  LoadModule piece;
  piece.module = 3;
  piece.final = false;
  ASSERT_TRUE(client_->Post(piece, Bytes("12345")).ok());
  ASSERT_TRUE(client_->Post(piece, Bytes("6789")).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kOutOfMemory);
  piece.final = true;
  ASSERT_TRUE(client_->Post(piece, Bytes("12345678")).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess) << "the refused pieces count no more";
  UnloadModule unload;
  unload.module = 3;
  ASSERT_TRUE(client_->Post(unload).ok());
  ASSERT_TRUE(client_->Post(piece, Bytes("abcdefgh")).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
}

// The device has a megabyte.
TEST_F(ExecutorTest, ModulesCountWhetherTheyAreWholeOrNot) {
  const std::vector<std::byte> megabyte(1 << 20);
  LoadModule piece;
  for (piece.module = 1; piece.module < kLeastModuleBytes / megabyte.size(); ++piece.module) {
    piece.final = piece.module % 2 == 0;
    ASSERT_TRUE(client_->Post(piece, megabyte).ok());
  }
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
  ASSERT_TRUE(client_->Post(piece, megabyte).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kOutOfMemory);
}

TEST_F(ExecutorTest, ModulesThatNeverBeginCount) {
  LoadModule piece;
  piece.final = false;
  for (piece.module = 1; piece.module <= kLeastModuleBytes / kModuleBytes; ++piece.module) {
    ASSERT_TRUE(client_->Post(piece, {}).ok());
  }
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
  ASSERT_TRUE(client_->Post(piece, {}).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kOutOfMemory);
}

TEST_F(ExecutorTest, ObjectsAreBounded) {
  Shut();
  ExecutorOptions options;
  options.objects = 2;
  Open(options);
  CreateStream create;
  for (create.stream = 10; create.stream < 13; ++create.stream) ASSERT_TRUE(client_->Post(create).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kOutOfMemory);
  DestroyStream destroy;
  destroy.stream = 10;
  ASSERT_TRUE(client_->Post(destroy).ok());
  ASSERT_TRUE(client_->Post(create).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, QueuedCopiesHoldTheReaderBackAndNothingIsLost) {
  Shut();
  ExecutorOptions options;
  options.queued_bytes = 1 << 20;
  Open(options);
  device_->Hold();
  constexpr uint64_t kPiece = 256 << 10, kPieces = 64;
  std::thread sender([&] {
    for (uint64_t i = 0; i < kPieces; ++i) Copy(kBase, std::vector<std::byte>(kPiece, static_cast<std::byte>(i)));
    client_->Begin(SynchronizeDevice{});
  });
  // The reader stops a little beyond the limit; what the queue holds then is what was read.
  while (executor_->Counters().operations < 4) std::this_thread::yield();
  EXPECT_THAT(executor_->Counters().operations, Le(8U));
  device_->Resume();
  sender.join();
  EXPECT_EQ(client_->Await<SynchronizeDevice>(1)->header.error, CudaError::kSuccess);
  EXPECT_EQ(*device_->At(kBase), static_cast<std::byte>(kPieces - 1));
}

TEST_F(ExecutorTest, AHostCallIsDoneEvenWhenTheQueueIsFull) {
  Shut();
  ExecutorOptions options;
  options.queued_bytes = 1 << 10;
  Open(options);
  RequestHostCall request;
  request.call = 1;
  ASSERT_TRUE(client_->Post(request).ok());
  for (int i = 0; i < 16; ++i) Copy(kBase, std::vector<std::byte>(64 << 10));
  ASSERT_TRUE(client_->Next(FrameKind::kHostCall).ok());
  HostCallDone done;
  done.call = 1;
  ASSERT_TRUE(client_->Post(done).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, RepliesNobodyReadsAreBounded) {
  Shut();
  ExecutorOptions options;
  options.unsent_bytes = 64 << 10;
  Open(options);
  client_->Hold(true);
  constexpr int kRequests = 20'000;
  std::thread sender([&] {
    for (int i = 0; i < kRequests; ++i) client_->Begin(Acknowledge{});
  });
  // Held back by the transport long before the end; then everything is answered.
  while (executor_->Counters().operations < 1000) std::this_thread::yield();
  client_->Hold(false);
  sender.join();
  EXPECT_TRUE(client_->Await<Acknowledge>(kRequests).ok());
  EXPECT_EQ(executor_->Counters().operations, static_cast<uint64_t>(kRequests));
}

TEST_F(ExecutorTest, QueriesAnswerFromTheDevice) {
  Define(1, "increment");
  CreateEvent event;
  event.event = 4;
  ASSERT_TRUE(client_->Post(event).ok());
  RecordEvent record;
  record.event = 4;
  ASSERT_TRUE(client_->Post(record).ok());
  SynchronizeEvent synchronize;
  synchronize.event = 4;
  EXPECT_EQ(client_->Ask(synchronize)->header.error, CudaError::kSuccess);
  QueryEvent query;
  query.event = 4;
  EXPECT_EQ(client_->Ask(query)->header.error, CudaError::kSuccess);
  query.event = 5;
  EXPECT_EQ(client_->Ask(query)->header.error, CudaError::kInvalidHandle);
  ElapsedTime elapsed;
  elapsed.start = elapsed.end = 4;
  EXPECT_EQ(client_->Ask(elapsed)->reply.milliseconds, 1.5F);
  GetAttributes attributes;
  attributes.function = 1;
  EXPECT_EQ(client_->Ask(attributes)->reply.attributes.parameters.size(), 2U);
  FindSymbol symbol;
  symbol.module = 1;
  symbol.name = "symbol";
  EXPECT_EQ(client_->Ask(symbol)->reply.symbol.size, 16U);
  symbol.name = "other";
  EXPECT_EQ(client_->Ask(symbol)->header.error, CudaError::kInvalidSymbol);
  const auto stats = client_->Ask(SessionStats{});
  EXPECT_EQ(stats->reply.busy_nanoseconds, 7'000'000U);
  EXPECT_THAT(stats->header.server_nanoseconds, Gt(0U));
}

device::ImageDescription SmallPlane(uint64_t base = FakeDevice::kBase) {
  return {device::ImageKind::kArray, {device::ChannelKind::kUnsigned, 8, 4}, base, 4, 3, 0, 32, 96};
}

TEST_F(ExecutorTest, TexturesAndSurfacesAreMadeAndDestroyed) {
  CreateTexture create;
  create.texture.image = SmallPlane();
  create.texture.border = {1, 2, 3, 4};
  const auto texture = client_->Ask(create);
  ASSERT_EQ(texture->header.error, CudaError::kSuccess);
  const auto surface = client_->Ask(CreateSurface{SmallPlane()});
  ASSERT_EQ(surface->header.error, CudaError::kSuccess);
  EXPECT_EQ(device_->Textures().at(texture->reply.texture), create.texture);
  EXPECT_EQ(device_->Surfaces().at(surface->reply.surface), SmallPlane());

  // Each is no number of the other kind.
  ASSERT_TRUE(client_->Post(DestroyTexture{surface->reply.surface}).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kInvalidHandle);
  ASSERT_TRUE(client_->Post(DestroySurface{texture->reply.texture}).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kInvalidHandle);
  ASSERT_TRUE(client_->Post(DestroyTexture{texture->reply.texture}).ok());
  ASSERT_TRUE(client_->Post(DestroySurface{surface->reply.surface}).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
  EXPECT_TRUE(device_->Textures().empty());
  EXPECT_TRUE(device_->Surfaces().empty());
  ASSERT_TRUE(client_->Post(DestroyTexture{texture->reply.texture}).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kInvalidHandle);
}

TEST_F(ExecutorTest, ForgedImagesAreRefused) {
  const auto error_of = [&](auto change) {
    CreateTexture create;
    create.texture.image = SmallPlane();
    change(create.texture);
    return client_->Ask(create)->header.error;
  };
  using device::TextureDescription;
  EXPECT_EQ(error_of([](TextureDescription&) {}), CudaError::kSuccess);
  const auto refused = {
      error_of([](TextureDescription& t) { t.image.width = UINT32_MAX; }),
      error_of([](TextureDescription& t) { t.image.width = t.image.height = t.image.depth = UINT32_MAX; }),
      error_of([](TextureDescription& t) { t.image.row_pitch = UINT64_MAX - 3; }),
      error_of([](TextureDescription& t) { t.image.depth = 3, t.image.slice_pitch = UINT64_MAX - 3; }),
      error_of([](TextureDescription& t) { t.image.base = UINT64_MAX - 3; }),
      error_of([](TextureDescription& t) { t.image.base = 0; }),
      error_of([](TextureDescription& t) { t.image.kind = static_cast<device::ImageKind>(3); }),
      error_of([](TextureDescription& t) { t.image.format.bits = 7; }),
      error_of([](TextureDescription& t) { t.image.format.channels = 0; }),
      error_of([](TextureDescription& t) { t.image.format.kind = static_cast<device::ChannelKind>(9); }),
      error_of([](TextureDescription& t) { t.address[2] = static_cast<device::AddressMode>(4); }),
      error_of([](TextureDescription& t) { t.filter = static_cast<device::FilterMode>(255); }),
      error_of([](TextureDescription& t) { t.read = static_cast<device::ReadMode>(2); }),
  };
  for (const CudaError error : refused) EXPECT_EQ(error, CudaError::kInvalidValue);
  EXPECT_EQ(device_->Textures().size(), 1U);
  CreateSurface surface{SmallPlane()};
  surface.image.kind = device::ImageKind::kPitched;
  EXPECT_EQ(client_->Ask(surface)->header.error, CudaError::kInvalidValue);
}

TEST_F(ExecutorTest, TexturesAndSurfacesAreBoundedTogether) {
  Shut();
  ExecutorOptions options;
  options.objects = 2;
  Open(options);
  CreateTexture create;
  create.texture.image = SmallPlane();
  CreateTexture wrong;  // which costs nothing
  EXPECT_EQ(client_->Ask(wrong)->header.error, CudaError::kInvalidValue);
  const auto first = client_->Ask(create);
  EXPECT_EQ(first->header.error, CudaError::kSuccess);
  EXPECT_EQ(client_->Ask(CreateSurface{SmallPlane()})->header.error, CudaError::kSuccess);
  const auto third = client_->Ask(create);
  EXPECT_EQ(third->header.error, CudaError::kOutOfMemory);
  EXPECT_EQ(third->header.message, "a session may have 2 textures and surfaces");
  EXPECT_EQ(client_->Ask(CreateSurface{SmallPlane()})->header.error, CudaError::kOutOfMemory);
  ASSERT_TRUE(client_->Post(DestroyTexture{first->reply.texture}).ok());
  EXPECT_EQ(client_->Ask(create)->header.error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, TexturesCountWithModules) {
  Shut();
  ExecutorOptions options;
  options.module_bytes = kModuleBytes + 8 + kTextureBytes;
  Open(options);
  LoadModule load;
  load.module = 1;
  ASSERT_TRUE(client_->Post(load, std::vector<std::byte>(8)).ok());
  const auto surface = client_->Ask(CreateSurface{SmallPlane()});
  EXPECT_EQ(surface->header.error, CudaError::kSuccess);
  const auto second = client_->Ask(CreateSurface{SmallPlane()});
  EXPECT_EQ(second->header.error, CudaError::kOutOfMemory);
  EXPECT_THAT(second->header.message, HasSubstr("modules and textures may have"));
  ASSERT_TRUE(client_->Post(DestroySurface{surface->reply.surface}).ok());
  EXPECT_EQ(client_->Ask(CreateSurface{SmallPlane()})->header.error, CudaError::kSuccess);
}

TEST_F(ExecutorTest, FillChecksItsElements) {
  Fill fill;
  fill.to.address = kBase;
  fill.extent.width = 8;
  fill.value = 0x01020304;
  fill.element_bytes = 4;
  ASSERT_TRUE(client_->Post(fill).ok());
  EXPECT_EQ(client_->Ask(Read(kBase, 5))->bulk, Bytes("\x04\x03\x02\x01\x04"));
  fill.element_bytes = 3;
  ASSERT_TRUE(client_->Post(fill).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kInvalidValue);
  fill.element_bytes = 4;
  fill.extent.width = 6;
  ASSERT_TRUE(client_->Post(fill).ok());
  EXPECT_EQ(Synchronize().posted_error, CudaError::kInvalidValue);
}

TEST_F(ExecutorTest, ReadsThatAreTooLargeOrOverflowAreRefused) {
  EXPECT_EQ(client_->Ask(Read(kBase, uint64_t{kMaxBulkBytes} + 1))->header.error, CudaError::kInvalidValue);
  CopyToHost wrapping = Read(kBase, uint64_t{1} << 33);
  wrapping.extent.height = uint64_t{1} << 31;
  EXPECT_EQ(client_->Ask(wrapping)->header.error, CudaError::kInvalidValue);
  EXPECT_EQ(client_->Ask(Read(kBase, 0))->header.error, CudaError::kSuccess);
}

// The client does not wait for a copy it wants later; of its failure it must know when a later question is answered.
TEST_F(ExecutorTest, ARefusedCopyIsAnsweredBeforeWhatIsAskedAfterIt) {
  CopyToHost copy = Read(kBase, 5);
  copy.stream = 77;
  for (int i = 0; i < 100; ++i) {
    const uint64_t refused = client_->Begin(copy);
    client_->Begin(QueryStream{});
    const auto first = client_->Next(FrameKind::kReply), second = client_->Next(FrameKind::kReply);
    ASSERT_EQ(second.status(), absl::OkStatus());
    ASSERT_EQ(first->header.tag, refused);
    ASSERT_EQ(first->As<ReplyHeader>().error, CudaError::kInvalidHandle);
  }
}

TEST_F(ExecutorTest, PingIsAnsweredAndGoodbyeCloses) {
  ASSERT_TRUE(client_->SendFrame(static_cast<uint16_t>(FrameKind::kPing), 17, {}).ok());
  EXPECT_EQ(client_->Next(FrameKind::kPong)->header.tag, 17U);
  ASSERT_TRUE(client_->SendControl(FrameKind::kGoodbye, Goodbye{}).ok());
  EXPECT_EQ(client_->AwaitClosed().code(), absl::StatusCode::kUnavailable);
}

TEST_F(ExecutorTest, AnUnknownOperationEndsTheSession) {
  ASSERT_TRUE(client_->SendFrame(4711, 0, {}).ok());
  ExpectGoodbye("operation 4711 is not known");
}

TEST_F(ExecutorTest, AMalformedHeadEndsTheSession) {
  ASSERT_TRUE(client_->SendFrame(MapMemory::kNumber, 0, Bytes("short")).ok());
  ExpectGoodbye("a malformed MapMemory");
}

TEST_F(ExecutorTest, DataThatDoesNotMatchItsExtentEndsTheSession) {
  CopyToDevice copy;
  copy.to.address = kBase;
  copy.extent.width = 10;
  ASSERT_TRUE(client_->Post(copy, Bytes("nine bytes")).ok());  // ten of them
  EXPECT_EQ(Synchronize().posted_error, CudaError::kSuccess);
  copy.extent.width = 11;
  ASSERT_TRUE(client_->Post(copy, Bytes("nine bytes")).ok());
  ExpectGoodbye("do not match its extent");
}

TEST_F(ExecutorTest, DataWhereNoneBelongsEndsTheSession) {
  ASSERT_TRUE(client_->Post(MapMemory{}, Bytes("surplus")).ok());
  ExpectGoodbye("unexpected bytes");
}

TEST_F(ExecutorTest, ASecondHelloEndsTheSession) {
  ASSERT_TRUE(client_->SendControl(FrameKind::kHello, Hello{}).ok());
  ExpectGoodbye("not expected here");
}

// Whatever well-framed operations come, in whatever order, the session answers or says goodbye; it never hangs.
RC_GTEST_FIXTURE_PROP(ExecutorTest, RandomOperationsNeverHang, ()) {
  Shut();
  Open();
  const auto kinds = *rc::gen::container<std::vector<uint16_t>>(rc::gen::inRange<uint16_t>(30, 78));
  for (const uint16_t kind : kinds) {
    const auto head = *rc::gen::container<std::vector<uint8_t>>(rc::gen::inRange<uint8_t>(0, 3));
    std::vector<std::byte> bytes(head.size());
    std::transform(head.begin(), head.end(), bytes.begin(), [](uint8_t byte) { return std::byte{byte}; });
    if (!client_->SendFrame(kind, UINT64_MAX, bytes).ok()) break;
  }
  const auto answered = client_->Ask(Acknowledge{});
  // RC_ASSERT's operators do not short-circuit.
  const bool over = answered.ok() || client_->AwaitClosed().code() == absl::StatusCode::kUnavailable;
  RC_ASSERT(over);
  Shut();
}

}  // namespace
}  // namespace wharf::offload
