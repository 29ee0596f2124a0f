#include "wharf/offload/replay/call_sites.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "wharf/offload/wire.h"

namespace wharf::offload {
namespace {

constexpr size_t kMaxWordsOfSite = 16, kMaxTable = 512;
constexpr int kMaxScore = 8, kMaxTrust = 8, kLeastTrust = 2;
// So many samples, of so many values, are no coincidence.
constexpr size_t kLeastSamples = 3, kLeastValues = 2, kLeastSums = 3, kLeastRepeats = 2;
// Sums are of counts, not of addresses.
constexpr uint32_t kMaxSummand = 1U << 28;

bool IsSite(uint16_t number) {
  return number == Launch::kNumber || number == CopyToHost::kNumber || number == CopyOnDevice::kNumber ||
         number == Fill::kNumber || number == RunGemm::kNumber;
}

}  // namespace

void RecentWords::AddAnswer(std::shared_ptr<const SmallAnswer> answer) {
  answers_.push_front(std::move(answer));
  if (answers_.size() > kAnswers) answers_.pop_back();
}

void RecentWords::SetOperation(SiteId site, OperationId id) {
  std::erase_if(operations_, [site](const auto& entry) { return entry.first == site; });
  operations_.emplace_front(site, id);
  if (operations_.size() > kSites) operations_.pop_back();
}

bool CallSites::MayReplace(const OperationTable& operations, OperationId a, OperationId b) {
  const uint16_t number = operations.Number(a);
  const auto head_a = operations.Head(a), head_b = operations.Head(b);
  if (a == b || number != operations.Number(b) || head_a.size() != head_b.size() || !IsSite(number)) return false;
  // The stream comes first; in a launch, then the function.
  const size_t same = std::min(head_a.size(), number == Launch::kNumber ? size_t{16} : size_t{8});
  return std::equal(head_a.begin(), head_a.begin() + static_cast<ptrdiff_t>(same), head_b.begin());
}

SiteId CallSites::Add(OperationId id) {
  if (sites_.size() >= kMaxSites) return kNoSite;
  sites_.emplace_back().operations.push_back(id);
  return static_cast<SiteId>(sites_.size());
}

uint32_t CallSites::WordOf(OperationId id, uint32_t index) const {
  uint32_t value = 0;
  std::memcpy(&value, operations_.Head(id).data() + size_t{index} * sizeof(value), sizeof(value));
  return value;
}

std::vector<CallSites::Feature> CallSites::FeaturesOf(const RecentWords& recent) const {
  std::vector<Feature> features;
  uint32_t rank = 0;
  for (const auto& answer : recent.Answers()) {
    uint32_t word = 0;
    for (const uint32_t value : answer->Words()) features.push_back({{kNoSite, rank, word++}, value});
    ++rank;
  }
  for (const auto& [site, id] : recent.Operations()) {
    for (const Word& word : sites_[site - 1].words) {
      features.push_back({{site, 0, word.index}, WordOf(id, word.index)});
    }
  }
  return features;
}

std::optional<uint32_t> CallSites::Find(const Source& source, const RecentWords& recent,
                                        std::shared_ptr<const SmallAnswer>* awaits) const {
  if (source.site != kNoSite) {
    for (const auto& [site, id] : recent.Operations()) {
      if (site == source.site) return WordOf(id, source.word);
    }
    return std::nullopt;
  }
  if (source.rank >= recent.Answers().size()) return std::nullopt;
  const std::shared_ptr<const SmallAnswer>& answer = recent.Answers()[source.rank];
  if (!answer->IsHere()) {
    *awaits = answer;
    return std::nullopt;
  }
  const std::span<const uint32_t> words = answer->Words();
  if (source.word >= words.size()) return std::nullopt;
  return words[source.word];
}

std::optional<uint32_t> CallSites::PredictWord(const Word& word, const RecentWords& recent,
                                               std::shared_ptr<const SmallAnswer>* awaits) const {
  if (word.form == Form::kUnknown) return std::nullopt;
  const std::optional<uint32_t> a = Find(word.a, recent, awaits);
  if (!a || word.form == Form::kEqual) return a;
  if (word.form == Form::kSum) {
    const std::optional<uint32_t> b = Find(word.b, recent, awaits);
    if (!b) return std::nullopt;
    return *a + *b;
  }
  const auto found = word.table.find(*a);
  if (found == word.table.end()) return std::nullopt;
  return found->second;
}

CallSites::Choice CallSites::Choose(SiteId id, OperationId expected, const RecentWords& recent) const {
  const Site& site = sites_[id - 1];
  struct Told {
    uint32_t index = 0, value = 0;
  };
  std::vector<Told> certain, likely;  // tables are of few examples
  for (const Word& word : site.words) {
    if (word.trust < kLeastTrust) continue;
    Choice choice;
    const std::optional<uint32_t> value = PredictWord(word, recent, &choice.awaits);
    if (choice.awaits != nullptr) return choice;
    if (value) (word.form == Form::kTable ? likely : certain).push_back({word.index, *value});
  }
  if (certain.empty() && likely.empty()) return {expected, nullptr};
  const auto agreeing = [&](OperationId candidate, const std::vector<Told>& told) {
    return static_cast<size_t>(
        std::ranges::count_if(told, [&](const Told& word) { return WordOf(candidate, word.index) == word.value; }));
  };
  // Then those words count that are as they were where the history leads.
  const auto kept = [&](OperationId candidate) {
    return static_cast<size_t>(std::ranges::count_if(
        site.words, [&](const Word& word) { return WordOf(candidate, word.index) == WordOf(expected, word.index); }));
  };
  Choice best;
  size_t most = 0;
  for (auto candidate = site.operations.rbegin(); candidate != site.operations.rend(); ++candidate) {
    const size_t agrees = agreeing(*candidate, likely);
    if (agreeing(*candidate, certain) < certain.size() || (certain.empty() && agrees == 0)) continue;
    const size_t score = 1 + 2 * agrees + kept(*candidate);
    if (score <= most) continue;
    most = score;
    best.id = *candidate;
  }
  return best;
}

// --- learning ---

void CallSites::Record(SiteId id, OperationId made, const RecentWords& recent) {
  Site& site = sites_[id - 1];
  const OperationId last = site.operations.back();
  site.unchanged = made == last ? site.unchanged + 1 : 0;
  if (site.unchanged >= kSamples) return;  // there is nothing to learn
  const Choice choice = Choose(id, last, recent);
  if (choice.awaits == nullptr && choice.id != last) {
    if (choice.id == made) site.score = std::min(site.score + 1, kMaxScore);
    if (last == made) site.score = std::max(site.score - 2, -kMaxScore);
  }
  AddOperation(site, made);
  site.samples.push_back({made, FeaturesOf(recent)});
  if (site.samples.size() > kSamples) site.samples.pop_front();
  for (Word& word : site.words) {
    const std::optional<uint32_t> value = WordOf(made, word.index);
    std::shared_ptr<const SmallAnswer> awaits;
    const std::optional<uint32_t> told = PredictWord(word, recent, &awaits);
    word.trust = told == value ? std::min(word.trust + 1, kMaxTrust) : 0;
    if (told == value) continue;
    if (!told && word.form == Form::kTable) {
      if (const auto a = Find(word.a, recent, &awaits); a && word.table.size() < kMaxTable) word.table[*a] = *value;
      continue;
    }
    Learn(site, word);
  }
}

void CallSites::AddOperation(Site& site, OperationId id) {
  const auto known = std::find(site.operations.begin(), site.operations.end(), id);
  if (known != site.operations.end()) {
    std::rotate(known, known + 1, site.operations.end());
    return;
  }
  const OperationId other = site.operations.back();
  const auto words = static_cast<uint32_t>(operations_.Head(id).size() / sizeof(uint32_t));
  for (uint32_t i = 0; i < words && site.words.size() < kMaxWordsOfSite; ++i) {
    const bool is_known =
        std::any_of(site.words.begin(), site.words.end(), [i](const Word& word) { return word.index == i; });
    if (!is_known && WordOf(id, i) != WordOf(other, i)) site.words.push_back({.index = i});
  }
  if (site.operations.size() >= kMaxOperations) site.operations.erase(site.operations.begin());
  site.operations.push_back(id);
}

void CallSites::Learn(Site& site, Word& word) const {
  word.form = Form::kUnknown;
  if (word.patience > 0) {
    --word.patience;
    return;
  }
  std::set<uint32_t> values;
  for (const Sample& sample : site.samples) values.insert(WordOf(sample.id, word.index));
  if (site.samples.size() < kLeastSamples || values.size() < kLeastValues) return;
  if (LearnEqual(site, word) || (values.size() >= kLeastSums && LearnSum(site, word)) || LearnTable(site, word)) {
    word.failed = 0;
    return;
  }
  word.form = Form::kUnknown;
  word.failed = std::min(word.failed + 1, 10U);
  word.patience = 1U << word.failed;
}

namespace {

template <typename Features, typename Source>
std::optional<uint32_t> ValueOf(const Features& features, const Source& source) {
  for (const auto& feature : features) {
    if (feature.source == source) return feature.value;
  }
  return std::nullopt;
}

}  // namespace

bool CallSites::Explains(const Site& site, const Word& word) const {
  return std::all_of(site.samples.begin(), site.samples.end(), [&](const Sample& sample) {
    const std::optional<uint32_t> a = ValueOf(sample.features, word.a);
    const std::optional<uint32_t> b = word.form == Form::kSum ? ValueOf(sample.features, word.b) : 0U;
    return a && b && *a + *b == WordOf(sample.id, word.index);
  });
}

bool CallSites::LearnEqual(const Site& site, Word& word) const {
  word.form = Form::kEqual;
  const uint32_t value = WordOf(site.samples.back().id, word.index);
  for (const Feature& feature : site.samples.back().features) {
    word.a = feature.source;
    if (feature.value == value && Explains(site, word)) return true;
  }
  return false;
}

bool CallSites::LearnSum(const Site& site, Word& word) const {
  word.form = Form::kSum;
  const uint32_t value = WordOf(site.samples.back().id, word.index);
  const std::vector<Feature>& features = site.samples.back().features;
  for (size_t i = 0; i < features.size(); ++i) {
    if (features[i].value > kMaxSummand) continue;
    word.a = features[i].source;
    for (size_t j = i + 1; j < features.size(); ++j) {
      if (features[i].value + features[j].value != value || features[j].value > kMaxSummand) continue;
      word.b = features[j].source;
      if (Explains(site, word)) return true;
    }
  }
  return false;
}

// The source whose values come again most often and always went with the same value of the word.
bool CallSites::LearnTable(const Site& site, Word& word) const {
  size_t best = kLeastRepeats - 1;
  for (const Feature& feature : site.samples.back().features) {
    std::map<uint32_t, uint32_t> table;
    bool consistent = true;
    for (const Sample& sample : site.samples) {
      const std::optional<uint32_t> from = ValueOf(sample.features, feature.source);
      if (!from) {
        consistent = false;
        break;
      }
      const uint32_t to = WordOf(sample.id, word.index);
      consistent &= table.try_emplace(*from, to).first->second == to;
    }
    const size_t repeats = site.samples.size() - table.size();
    if (!consistent || repeats <= best) continue;
    best = repeats;
    word.a = feature.source;
    word.table = {table.begin(), table.end()};
  }
  word.form = Form::kTable;
  return best >= kLeastRepeats;
}

}  // namespace wharf::offload
