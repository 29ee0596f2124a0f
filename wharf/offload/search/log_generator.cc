#include "wharf/offload/search/log_generator.h"

#include <algorithm>
#include <utility>

#include "wharf/base/random.h"

namespace wharf::offload {
namespace {

using Operator = GeneratedLog::Operator;
using Buffers = std::vector<uint64_t>;

// One inference: operators, and which of them are the turns of a loop.
struct Model {
  std::vector<uint32_t> operators;
  std::vector<std::pair<uint64_t, uint64_t>> turns;
  bool turns_need_inference = false;  // each uses what the inference computed before the loop
  Buffers weights;
  std::vector<uint32_t> inputs;  // its input copies
  bool started = false;
};

class Generator {
 public:
  Generator(const LogFeatures& features, uint64_t seed) : features_(features), random_(seed) {
    sync_ = Make(OperatorClass::kSynchronize, {}, {});
  }

  GeneratedLog Run() {
    for (int m = 0; m < features_.models; ++m) {
      if (features_.reuse_buffers) next_buffer_ = 1;
      models_.push_back(MakeModel());
      log_.ambiguous_cut.push_back(features_.unknown_roles && (features_.several_exchanges || features_.copy_loops));
    }
    for (size_t m = 0; m < models_.size(); ++m) {
      if (features_.load) Load(models_[m]);
      // A model with state and several exchanges has to run by itself once.
      const bool binds = features_.state && (features_.several_exchanges || features_.copy_loops);
      const bool only_in_turns = features_.alternate && m > 0 && m + 1 == models_.size() && !binds && Chance(50);
      if (!only_in_turns) Steady(m);
      if (features_.deviations) Deviate(m);
      if (features_.alternate && m > 0) Alternate(m);
    }
    return std::move(log_);
  }

 private:
  uint64_t Up(uint64_t low, uint64_t high) { return std::uniform_int_distribution<uint64_t>(low, high)(random_); }
  bool Chance(int percent) { return Up(1, 100) <= static_cast<uint64_t>(percent); }
  uint64_t Pick(const Buffers& from) { return from[Up(0, from.size() - 1)]; }
  uint64_t NewBuffer() { return next_buffer_++ << 21; }

  uint32_t Make(OperatorClass operator_class, Buffers reads, Buffers writes) {
    const uint64_t number = log_.operators.size() + 1;
    if (operator_class == OperatorClass::kCompute && features_.unknown_roles) {
      reads.insert(reads.end(), writes.begin(), writes.end());
      writes = reads;
    }
    // Tags are few, as a model launches the same kernels in many layers.
    const uint64_t tag =
        static_cast<uint64_t>(operator_class) * 100 + (operator_class == OperatorClass::kCompute ? Up(0, 7) : 0);
    log_.operators.push_back({operator_class, tag, number * kGoldenRatio, std::move(reads), std::move(writes)});
    return static_cast<uint32_t>(number - 1);
  }

  // A chain of kernels from `live` buffers on; their results are appended to `live`.
  void Kernels(Model& model, Buffers& live, uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      Buffers reads{live.back(), Pick(live)};
      if (!model.weights.empty()) reads.push_back(Pick(model.weights));
      const uint64_t result = NewBuffer();
      model.operators.push_back(Make(OperatorClass::kCompute, reads, {result}));
      live.push_back(result);
    }
    if (features_.kernel_loops && Chance(60)) {
      const uint32_t in_place = Make(OperatorClass::kCompute, {live.back(), Pick(live)}, {live.back()});
      const uint32_t second = Make(OperatorClass::kCompute, {live.back()}, {live.back()});
      for (uint64_t turn = Up(2, 12); turn > 0; --turn) {
        model.operators.push_back(in_place);
        model.operators.push_back(second);
      }
    }
  }

  // Into memory of its own, or where another input of this inference went.
  void Input(Model& model, Buffers& live) {
    if (!model.inputs.empty() && Chance(20)) {
      const uint32_t again = model.inputs[Up(0, model.inputs.size() - 1)];
      model.operators.push_back(again);
      live.push_back(log_.operators[again].writes[0]);
      return;
    }
    live.push_back(NewBuffer());
    model.inputs.push_back(Make(OperatorClass::kHostToDevice, {}, {live.back()}));
    model.operators.push_back(model.inputs.back());
  }

  void Outputs(Model& model, const Buffers& live) {
    for (uint64_t n = Up(1, 3); n > 0; --n) {
      model.operators.push_back(Make(OperatorClass::kDeviceToHost, {n == 1 ? live.back() : Pick(live)}, {}));
      if (Chance(60)) model.operators.push_back(sync_);
    }
    if (Chance(30)) model.operators.push_back(sync_);
  }

  // For each region: input, kernels, output, wait; perhaps in two exchanges. A turn uses what the inference computed
  // before, or adds to it, or stands on its own.
  void CopyLoop(Model& model, const Buffers& live) {
    const uint64_t region = NewBuffer(), result = NewBuffer();
    Buffers reads{region}, writes{result};
    model.turns_need_inference = Chance(80);
    if (model.turns_need_inference) reads.push_back(live.back());
    if (Chance(40)) reads.push_back(live.end()[-2]), writes.push_back(live.end()[-2]);
    std::vector<uint32_t> turn{Make(OperatorClass::kHostToDevice, {}, {region}),
                               Make(OperatorClass::kCompute, reads, writes),
                               Make(OperatorClass::kDeviceToHost, {result}, {}), sync_};
    if (Chance(30)) {
      model.turns_need_inference = true;
      turn.push_back(turn[0]);
      turn.push_back(Make(OperatorClass::kCompute, {result, region, live.back()}, {result}));
      turn.push_back(turn[2]);
      turn.push_back(sync_);
    }
    for (uint64_t n = Up(2, 7); n > 0; --n) {
      model.turns.emplace_back(model.operators.size(), model.operators.size() + turn.size());
      model.operators.insert(model.operators.end(), turn.begin(), turn.end());
    }
  }

  Model MakeModel() {
    Model model;
    for (uint64_t n = Up(1, 4); n > 0; --n) model.weights.push_back(NewBuffer());
    const uint64_t state = NewBuffer();
    Buffers cleared;
    if (features_.lead_in && Chance(70)) {
      cleared.push_back(NewBuffer());
      model.operators.push_back(Make(OperatorClass::kOther, {}, cleared));
      model.operators.push_back(Make(OperatorClass::kOther, {}, {}));
    }
    Buffers carried;  // what the exchanges before left
    const uint64_t exchanges = features_.several_exchanges ? Up(2, 4) : 1;
    for (uint64_t e = 0; e < exchanges; ++e) {
      Buffers live = carried;
      if (e == 0) live = cleared;
      for (uint64_t n = Up(1, 3); n > 0; --n) Input(model, live);
      if (features_.state && e == 0) {
        model.operators.push_back(Make(OperatorClass::kCompute, {state, live.back()}, {live.back()}));
      }
      Join(model, live, carried);
      Kernels(model, live, Up(2, static_cast<uint64_t>(2 * features_.kernels)));
      if (features_.inner_outputs && Chance(70)) {
        Outputs(model, live);
        Kernels(model, live, Up(1, static_cast<uint64_t>(features_.kernels)));
      }
      if (features_.copy_loops && e + 1 == exchanges) {
        const Buffers before = live;
        CopyLoop(model, live);
        Join(model, live, before);
      }
      if (features_.state && e + 1 == exchanges) {
        model.operators.push_back(Make(OperatorClass::kCompute, {live.back()}, {state}));
      }
      Outputs(model, live);
      carried = {live.end()[-1], live.end()[-2], live.end()[-3]};
    }
    return model;
  }

  // A kernel that reads two of the buffers left by what came before.
  void Join(Model& model, Buffers& live, const Buffers& carried) {
    if (carried.size() < 2) return;
    const uint64_t result = NewBuffer();
    model.operators.push_back(
        Make(OperatorClass::kCompute, {carried.end()[-1], carried.end()[-2], live.back()}, {result}));
    live.push_back(result);
  }

  void Issue(uint32_t op) { log_.order.push_back(op); }

  void Noise(uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) Issue(Make(OperatorClass::kOther, {}, {}));
  }

  void Load(const Model& model) {
    Noise(Up(1, 5));
    for (uint64_t weight : model.weights) {
      Issue(Make(OperatorClass::kHostToDevice, {}, {weight}));
      if (Chance(40)) Issue(Make(OperatorClass::kCompute, {weight}, {weight}));  // prepares it
      if (Chance(30)) {                                                          // checks it
        const uint64_t sum = NewBuffer();
        Issue(Make(OperatorClass::kCompute, {weight}, {sum}));
        Issue(Make(OperatorClass::kDeviceToHost, {sum}, {}));
        Issue(sync_);
        Issue(Make(OperatorClass::kHostToDevice, {}, {weight}));
      }
    }
  }

  void Infer(size_t m) {
    Model& model = models_[m];
    const uint64_t begin = log_.order.size();
    log_.order.insert(log_.order.end(), model.operators.begin(), model.operators.end());
    log_.inferences.push_back({begin, log_.order.size(), m});
    RecordTurns(m, begin);
  }

  void RecordTurns(size_t m, uint64_t begin) {
    Model& model = models_[m];
    if (!model.started) {
      for (const auto& [from, to] : model.turns) log_.first_turns.push_back({begin + from, begin + to, m});
    }
    model.started = true;
  }

  // An inference with operators too many.
  void InferDifferently(size_t m) {
    Model& model = models_[m];
    if (model.turns.size() > 3 && model.turns_need_inference && !features_.unknown_roles && Chance(50)) {
      InferWithBrokenLoop(model);
      return;
    }
    const uint64_t plain = model.turns.empty() ? model.operators.size() : model.turns.front().first;
    const uint64_t at = Up(1, plain - 1);
    const auto middle = model.operators.begin() + static_cast<ptrdiff_t>(at);
    log_.order.insert(log_.order.end(), model.operators.begin(), middle);
    Noise(1);
    if (Chance(50)) {  // a tuning run, whose time is taken
      const uint64_t tuned = NewBuffer();
      Issue(Make(OperatorClass::kCompute, model.weights, {tuned}));
      if (Chance(50)) Issue(Make(OperatorClass::kDeviceToHost, {tuned}, {}));
    }
    const uint64_t begin = log_.order.size() - at;  // as if it had been an undisturbed one
    log_.order.insert(log_.order.end(), middle, model.operators.end());
    RecordTurns(m, begin);
  }

  // Every other turn has an operator more: turns were seen, but no three in a row.
  void InferWithBrokenLoop(Model& model) {
    for (uint64_t i = 0; i < model.operators.size(); ++i) {
      Issue(model.operators[i]);
      for (size_t turn = 1; turn < model.turns.size(); turn += 2) {
        if (model.turns[turn].first == i) Noise(1);
      }
    }
    model.started = true;
  }

  void Steady(size_t m) {
    if (features_.different_first) InferDifferently(m);
    for (uint64_t n = Up(3, 3 + static_cast<uint64_t>(features_.inferences)); n > 0; --n) Infer(m);
  }

  void Deviate(size_t m) {
    for (uint64_t n = Up(1, 3); n > 0; --n) {
      if (Chance(50)) Noise(Up(1, 4));
      if (Chance(70)) InferDifferently(m);
      for (uint64_t k = Up(0, 4); k > 0; --k) Infer(m);
    }
  }

  void Alternate(size_t last) {
    const auto count = static_cast<uint64_t>(features_.inferences);
    for (uint64_t n = Up(1, count); n > 0; --n) {
      for (size_t m = 0; m <= last; ++m) Infer(m);
    }
    for (uint64_t n = Up(1, 2 * count); n > 0; --n) Infer(Up(0, last));
  }

  const LogFeatures features_;
  std::mt19937_64 random_;
  GeneratedLog log_;
  std::vector<Model> models_;
  uint64_t next_buffer_ = 1;
  uint32_t sync_ = 0;
};

}  // namespace

GeneratedLog GenerateLog(const LogFeatures& features, uint64_t seed) { return Generator(features, seed).Run(); }

}  // namespace wharf::offload
