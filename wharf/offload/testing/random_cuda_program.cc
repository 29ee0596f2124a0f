#include "wharf/offload/testing/random_cuda_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <utility>

namespace wharf::offload {
namespace {

constexpr std::string_view kKernelNames[] = {
    "accumulate", "axpy",    "copy_words", "count", "histogram", "gather", "write_at", "bump_variable", "read_variable",
    "reverse",    "iterate", "toss",       "say",   "check",     "aim",    "shoot",    "poke",
};
static_assert(std::size(kKernelNames) == kKernels);

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {
    buffers_ = Between(3, kBufferSlots);
    streams_ = Between(1, kStreamSlots);
    threads_ = Chance(25) ? Between(2, kThreads) : 1;
    deviation_ = static_cast<int>(Pick<uint32_t>({0, 1, 3, 10}));
    pads_ = Chance(1);
  }

  RandomCudaProgram Generate() {
    Load();
    std::vector<Template> templates(Chance(30) ? 2 : 1);
    for (Template& each : templates) each = MakeTemplate();
    const uint32_t inferences = Between(3, 10);
    size_t current = 0;
    for (uint32_t i = 0; i < inferences; ++i) {
      if (Chance(30)) current = Between(0, static_cast<uint32_t>(templates.size()) - 1);
      Infer(templates[current], i);
    }
    return std::move(program_);
  }

 private:
  // A stretch of it, its loop, is repeated a varying number of times.
  struct Template {
    RandomCudaProgram ops;
    size_t loop_begin = 0, loop_end = 0;
    std::vector<bool> varies;  // by place: its value is another one in each inference
  };

  uint32_t Between(uint32_t low, uint32_t high) { return std::uniform_int_distribution<uint32_t>(low, high)(random_); }
  bool Chance(uint32_t percent) { return Between(0, 99) < percent; }
  template <typename T>
  T Pick(std::initializer_list<T> choices) {
    return choices.begin()[Between(0, static_cast<uint32_t>(choices.size()) - 1)];
  }
  uint8_t Buffer() { return static_cast<uint8_t>(Between(0, buffers_ - 1)); }
  uint8_t Stream() { return static_cast<uint8_t>(Between(0, streams_ - 1)); }
  uint8_t Event() { return static_cast<uint8_t>(Between(0, kEventSlots - 1)); }
  uint8_t Thread() { return static_cast<uint8_t>(Between(0, threads_ - 1)); }

  // An operation of this kind with random arguments.
  Op Make(OpKind kind) {
    Op op;
    op.kind = kind;
    op.thread = Thread();
    op.stream = Stream();
    op.event = Event();
    for (uint8_t& buffer : op.buffers) buffer = Buffer();
    op.kernel = kind == OpKind::kToss ? Kernel::kToss : RandomKernel();
    op.offset = Chance(80) ? 0 : Between(0, 64);
    op.count = Pick<uint32_t>({1, 16, 64, 65, 200});
    op.rows = Chance(90) ? 1 : Between(2, 3);
    op.value = Between(0, 1000);
    op.padded = pads_;
    return op;
  }

  Kernel RandomKernel() {
    if (Chance(4)) return Pick({Kernel::kSay, Kernel::kCheck, Kernel::kAim, Kernel::kShoot, Kernel::kShoot});
    // What is not idempotent shows mistakes best.
    if (Chance(30)) return Pick({Kernel::kAccumulate, Kernel::kReverse, Kernel::kCount, Kernel::kBumpVariable});
    return static_cast<Kernel>(Between(0, static_cast<uint32_t>(Kernel::kIterate)));
  }

  OpKind RandomKind() {
    if (Chance(50)) return OpKind::kLaunch;
    if (Chance(60)) {
      return Pick(
          {OpKind::kUpload, OpKind::kDownload, OpKind::kDownloadLater, OpKind::kCopy, OpKind::kFill, OpKind::kGemm});
    }
    if (Chance(70)) {
      return Pick({OpKind::kRecordEvent, OpKind::kWaitEvent, OpKind::kSynchronizeEvent, OpKind::kSynchronizeStream,
                   OpKind::kSynchronizeDevice, OpKind::kQueryEvent, OpKind::kQueryStream, OpKind::kPollStream});
    }
    return Pick({OpKind::kAllocate, OpKind::kFree, OpKind::kHostCall, OpKind::kCreateEvent, OpKind::kDestroyEvent,
                 OpKind::kSkip, OpKind::kDestroyStream, OpKind::kCreateStream});
  }

  void Load() {
    for (uint8_t slot = 0; slot < buffers_; ++slot) {
      Op allocate = Make(OpKind::kAllocate);
      allocate.buffers[0] = slot;
      program_.push_back(allocate);
      if (Chance(70)) {
        Op upload = Make(OpKind::kUpload);
        upload.buffers[0] = slot;
        upload.stream = 0;
        program_.push_back(upload);
      }
    }
    for (uint8_t slot = 1; slot < streams_; ++slot) {
      program_.push_back(Make(OpKind::kCreateStream));
      program_.back().stream = slot;
    }
    for (uint8_t slot = 0; slot < kEventSlots; ++slot) {
      program_.push_back(Make(OpKind::kCreateEvent));
      program_.back().event = slot;
    }
    program_.push_back(Make(OpKind::kSynchronizeDevice));
  }

  // Puts what orders `next` after `last` between operations on two streams.
  void HandOver(RandomCudaProgram& ops, uint8_t last, uint8_t next) {
    const uint8_t event = Event();
    if (Chance(70)) {
      ops.push_back(Make(OpKind::kRecordEvent));
      ops.back().event = event;
      ops.back().stream = last;
      ops.push_back(Make(OpKind::kWaitEvent));
      ops.back().event = event;
      ops.back().stream = next;
    } else {
      ops.push_back(Make(Pick({OpKind::kSynchronizeStream, OpKind::kSynchronizeDevice})));
      ops.back().stream = last;
    }
  }

  Template MakeTemplate() {
    Template made;
    uint8_t stream = 0;
    const uint32_t length = Chance(95) ? Between(4, 24) : Between(60, 150);
    if (Chance(60)) {
      made.ops.push_back(Make(OpKind::kUpload));
      made.ops.back().stream = stream;
    }
    // Where it waits, the server may run ahead.
    const uint32_t waits = Pick<uint32_t>({0, 10, 30});
    while (made.ops.size() < length) {
      OpKind kind = Chance(75) ? OpKind::kLaunch : RandomKind();
      if (Chance(waits)) {
        kind = Pick({OpKind::kDownload, OpKind::kToss, OpKind::kSynchronizeStream, OpKind::kSynchronizeDevice});
      }
      Op op = Make(kind);
      if (op.stream != stream) HandOver(made.ops, stream, op.stream);
      stream = op.stream;
      if (op.kind == OpKind::kFill && Chance(20)) op = Endless(op);
      made.ops.push_back(op);
    }
    made.ops.push_back(Make(Chance(70) ? OpKind::kDownload : OpKind::kDownloadLater));
    made.ops.back().stream = stream;
    made.ops.push_back(Make(Pick({OpKind::kSynchronizeStream, OpKind::kSynchronizeDevice})));
    made.ops.back().stream = stream;
    for (const Op& op : made.ops) made.varies.push_back(pads_ || Chance(op.kind == OpKind::kUpload ? 80 : 5));
    made.loop_begin = Between(0, static_cast<uint32_t>(made.ops.size()));
    made.loop_end = Between(static_cast<uint32_t>(made.loop_begin), static_cast<uint32_t>(made.ops.size()));
    return made;
  }

  void Infer(const Template& from, uint32_t inference) {
    const bool faithful = Chance(50);
    uint32_t repeats = faithful ? 1 : Pick<uint32_t>({1, 1, 0, 2, 3});
    for (size_t at = 0; at < from.ops.size(); ++at) {
      if (at == from.loop_end && repeats > 1) {
        --repeats;
        at = from.loop_begin;
      }
      if (at == from.loop_begin && repeats == 0) at = from.loop_end;
      if (at == from.ops.size()) break;
      Op op = from.ops[at];
      if (from.varies[at]) op.value += inference;
      if (faithful || !Chance(static_cast<uint32_t>(deviation_))) {
        program_.push_back(op);
      } else if (!Deviate(op)) {
        break;
      }
    }
    if (Chance(5)) program_.push_back(Make(OpKind::kReadAll));
  }

  // Something else in the place of `op`; false if the inference ends here.
  bool Deviate(Op op) {
    switch (Between(0, 11)) {
      case 0:
        break;
      case 1:
        program_.push_back(Make(RandomKind()));
        break;
      case 2:
        program_.push_back(Make(RandomKind()));
        program_.push_back(op);
        break;
      case 3:
        program_.insert(program_.end() - 1, op);  // before the one it follows
        break;
      case 4:
        op.buffers[Between(0, 2)] = Buffer();
        program_.push_back(op);
        break;
      case 5:
        op.count = Between(1, 300);
        program_.push_back(op);
        break;
      case 6:
        op.value = Between(0, 1000);
        program_.push_back(op);
        break;
      case 7:
        op.stream = Stream();
        op.thread = Thread();
        program_.push_back(op);
        break;
      case 8:
        MoveBuffer(op.buffers[0]);
        program_.push_back(op);
        break;
      case 9:
        program_.push_back(Make(OpKind::kSkip));
        program_.push_back(op);
        break;
      case 10:
        Rarity(op);
        break;
      default:
        return false;
    }
    return true;
  }

  void MoveBuffer(uint8_t buffer) {
    program_.push_back(Make(OpKind::kFree));
    program_.back().buffers[0] = buffer;
    program_.push_back(Make(OpKind::kAllocate));
    program_.back().buffers[0] = buffer;
  }

  // Beyond the end of its buffer.
  static Op Endless(Op op) {
    op.count = 3000;
    op.wild = true;
    return op;
  }

  void Rarity(Op op) {
    switch (Between(0, 5)) {
      case 0:
        program_.push_back(Make(OpKind::kReload));
        break;
      case 1:
        program_.push_back(Make(OpKind::kLaunch));
        program_.back().kernel = Kernel::kPoke;
        break;
      case 2:
        program_.push_back(Make(OpKind::kLaunch));
        program_.back().kernel = Kernel::kSay;
        break;
      case 3:
        program_.push_back(Make(OpKind::kFree));
        program_.back().buffers[0] = op.buffers[0];
        op.wild = true;
        break;
      case 4:
        op = Endless(op);
        break;
      default:
        program_.push_back(Make(OpKind::kReadAll));
    }
    program_.push_back(op);
  }

  std::mt19937_64 random_;
  uint32_t buffers_ = 0, streams_ = 0, threads_ = 0;
  int deviation_ = 0;  // per cent of the places
  bool pads_ = false;
  RandomCudaProgram program_;
};

std::string Buffers(const Op& op, int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format(" b{}", op.buffers[static_cast<size_t>(i)]);
  return text;
}

std::string Range(const Op& op) {
  std::string text = fmt::format(" [{}, +{}]", op.offset, op.count);
  if (op.rows > 1) text += fmt::format(" x {} rows", op.rows);
  return text;
}

std::string Arguments(const Op& op) {
  switch (op.kind) {
    case OpKind::kAllocate:
      return fmt::format("allocate{} at {}", Buffers(op, 1), op.value % 2);
    case OpKind::kFree:
      return fmt::format("free{}", Buffers(op, 1));
    case OpKind::kUpload:
      return fmt::format("upload{}{} seed {}", Buffers(op, 1), Range(op), op.value);
    case OpKind::kDownload:
      return fmt::format("download{}{}", Buffers(op, 1), Range(op));
    case OpKind::kDownloadLater:
      return fmt::format("download later{}{}", Buffers(op, 1), Range(op));
    case OpKind::kCopy:
      return fmt::format("copy{}{}", Buffers(op, 2), Range(op));
    case OpKind::kFill:
      return fmt::format("fill{}{} with {}", Buffers(op, 1), Range(op), op.value);
    case OpKind::kLaunch:
      return fmt::format("launch {}{} [{}, +{}] k={}{}", Name(op.kernel), Buffers(op, 3), op.offset, op.count, op.value,
                         op.padded ? " padded" : "");
    case OpKind::kGemm:
      return fmt::format("gemm{} of {}", Buffers(op, 3), op.value % 8 + 1);
    case OpKind::kToss:
      return fmt::format("toss{} [{}, +{}] k={} if even", Buffers(op, 3), op.offset, op.count, op.value);
    case OpKind::kHostCall:
      return "host call";
    case OpKind::kCreateStream:
      return "create stream";
    case OpKind::kDestroyStream:
      return "destroy stream";
    case OpKind::kCreateEvent:
      return fmt::format("create event e{}", op.event);
    case OpKind::kDestroyEvent:
      return fmt::format("destroy event e{}", op.event);
    case OpKind::kRecordEvent:
      return fmt::format("record event e{}", op.event);
    case OpKind::kWaitEvent:
      return fmt::format("wait event e{}", op.event);
    case OpKind::kSynchronizeEvent:
      return fmt::format("synchronize event e{}", op.event);
    case OpKind::kQueryEvent:
      return fmt::format("query event e{}", op.event);
    case OpKind::kSynchronizeStream:
      return "synchronize stream";
    case OpKind::kQueryStream:
      return "query stream";
    case OpKind::kPollStream:
      return "poll stream";
    case OpKind::kSynchronizeDevice:
      return "synchronize device";
    case OpKind::kSkip:
      return fmt::format("skip {} if byte {} of the last download is odd", op.count % 8, op.value % 64);
    case OpKind::kReadAll:
      return "read all";
    case OpKind::kReload:
      return "reload the module";
  }
  return "?";
}

}  // namespace

std::string_view Name(Kernel kernel) { return kKernelNames[static_cast<size_t>(kernel)]; }

std::string Print(const RandomCudaProgram& program) {
  std::string text;
  for (size_t i = 0; i < program.size(); ++i) {
    const Op& op = program[i];
    text += fmt::format("{:4}  t{} s{}  {}{}\n", i, op.thread, op.stream, Arguments(op), op.wild ? " (wild)" : "");
  }
  return text;
}

RandomCudaProgram GenerateCudaProgram(uint64_t seed) { return Generator(seed).Generate(); }

RandomCudaProgram GenerateIndependentCudaProgram(uint64_t seed) {
  RandomCudaProgram program = GenerateCudaProgram(seed);
  std::erase_if(program,
                [](const Op& op) { return op.wild || (op.kind == OpKind::kLaunch && op.kernel >= Kernel::kSay); });
  for (Op& op : program) op.thread = 0;
  return program;
}

}  // namespace wharf::offload
