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
// Searches in vain after which the next one comes so much later, and where the site has new operations, from which
// there is something to learn.
constexpr uint32_t kMaxFailed = 10, kMaxFailedIfNew = 3;
// So many samples, of so many values, are no coincidence.
constexpr size_t kLeastSamples = 3, kLeastValues = 2, kLeastSums = 3, kLeastRepeats = 2;
// Sums are of counts, not of addresses.
constexpr uint32_t kMaxSummand = 1U << 28;
constexpr uint32_t kMaxFactor = 1U << 16, kMaxDivisor = 1U << 12;

uint32_t PartOf(uint32_t whole, uint32_t divisor) { return whole / divisor + (whole % divisor != 0 ? 1 : 0); }

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
  if (word.form == Form::kUnknown || word.form == Form::kPart) return std::nullopt;
  const std::optional<uint32_t> a = Find(word.a, recent, awaits);
  if (!a || word.form == Form::kEqual) return a;
  if (word.form == Form::kLinear) return *a * word.factor + word.offset;
  if (word.form == Form::kSum) {
    const std::optional<uint32_t> b = Find(word.b, recent, awaits);
    if (!b) return std::nullopt;
    return *a + *b;
  }
  // Between two values that give the same, all do: where an allocator puts so many rows.
  const auto above = word.table.lower_bound(*a);
  if (above == word.table.end()) return std::nullopt;
  if (above->first == *a) return above->second;
  if (above == word.table.begin() || std::prev(above)->second != above->second) return std::nullopt;
  return above->second;
}

std::vector<CallSites::Told> CallSites::PredictWords(const Site& site, const RecentWords& recent,
                                                     std::shared_ptr<const SmallAnswer>* awaits) const {
  std::vector<Told> told;
  for (const Word& word : site.words) {
    if (word.trust < kLeastTrust) continue;
    const std::optional<uint32_t> value = PredictWord(word, recent, awaits);
    if (*awaits != nullptr) return {};
    if (value) told.push_back({word.index, *value, word.form != Form::kTable});
  }
  for (const Word& word : site.words) {
    if (word.trust < kLeastTrust || word.form != Form::kPart) continue;
    const auto of = std::ranges::find(told, word.of, &Told::index);
    if (of != told.end()) told.push_back({word.index, PartOf(of->value, word.divisor), of->certain});
  }
  return told;
}

CallSites::Choice CallSites::Choose(SiteId id, OperationId expected, const RecentWords& recent) const {
  const Site& site = sites_[id - 1];
  Choice best;
  const std::vector<Told> told = PredictWords(site, recent, &best.awaits);
  if (best.awaits != nullptr) return best;
  if (told.empty()) return {expected, nullptr};
  const bool any_certain = std::ranges::any_of(told, &Told::certain);
  // Then those words count that are as they were where the history leads.
  const auto kept = [&](OperationId candidate) {
    return static_cast<size_t>(std::ranges::count_if(
        site.words, [&](const Word& word) { return WordOf(candidate, word.index) == WordOf(expected, word.index); }));
  };
  size_t most = 0;
  for (auto candidate = site.operations.rbegin(); candidate != site.operations.rend(); ++candidate) {
    const auto agrees = [&](const Told& word) { return WordOf(*candidate, word.index) == word.value; };
    if (!std::ranges::all_of(told, [&](const Told& word) { return !word.certain || agrees(word); })) continue;
    const auto likely = static_cast<size_t>(
        std::ranges::count_if(told, [&](const Told& word) { return !word.certain && agrees(word); }));
    if (!any_certain && likely == 0) continue;
    const size_t score = 1 + 2 * likely + kept(*candidate);
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
  for (Word& word : site.words) Check(site, word, made, recent);
}

// Whether the word came about as it was explained; else looks for another explanation.
void CallSites::Check(const Site& site, Word& word, OperationId made, const RecentWords& recent) const {
  const uint32_t value = WordOf(made, word.index);
  std::shared_ptr<const SmallAnswer> awaits;
  const std::optional<uint32_t> told =
      word.form == Form::kPart ? PartOf(WordOf(made, word.of), word.divisor) : PredictWord(word, recent, &awaits);
  if (told == value) {
    word.trust = std::min(word.trust + 1, kMaxTrust);
    return;
  }
  if (word.form == Form::kTable && Extend(site, word, value, recent)) {
    if (told) word.trust /= 2;
    return;
  }
  word.trust = 0;
  Learn(site, word);
}

// A value that the table did not have: takes it up, unless now it is seen to be no table.
bool CallSites::Extend(const Site& site, Word& word, uint32_t value, const RecentWords& recent) const {
  std::shared_ptr<const SmallAnswer> awaits;
  const std::optional<uint32_t> a = Find(word.a, recent, &awaits);
  if (!a || word.table.contains(*a)) return false;
  Word other = word;
  if ((Values(site, word.index) >= kLeastSums && LearnLinear(site, other)) || LearnPart(site, other)) return false;
  if (word.table.size() < kMaxTable) word.table[*a] = value;
  return true;
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
  for (Word& word : site.words) {
    word.failed = std::min(word.failed, kMaxFailedIfNew);
    word.patience = std::min(word.patience, 1U << kMaxFailedIfNew);
  }
  if (site.operations.size() >= kMaxOperations) site.operations.erase(site.operations.begin());
  site.operations.push_back(id);
}

// How many different ones this word has lately had.
size_t CallSites::Values(const Site& site, uint32_t index) const {
  std::set<uint32_t> values;
  for (const Sample& sample : site.samples) values.insert(WordOf(sample.id, index));
  return values.size();
}

void CallSites::Learn(const Site& site, Word& word) const {
  word.form = Form::kUnknown;
  if (word.patience > 0) {
    --word.patience;
    return;
  }
  const size_t values = Values(site, word.index);
  if (site.samples.size() < kLeastSamples || values < kLeastValues) return;
  const bool many = values >= kLeastSums;
  if (LearnEqual(site, word) || (many && LearnLinear(site, word)) || LearnPart(site, word) ||
      (many && LearnSum(site, word)) || LearnTable(site, word)) {
    word.failed = 0;
    return;
  }
  word.form = Form::kUnknown;
  word.failed = std::min(word.failed + 1, kMaxFailed);
  word.patience = 1U << word.failed;
}

namespace {

// `hint`: where it stands in most samples, for a program mostly does the same.
template <typename Features, typename Source>
std::optional<uint32_t> ValueOf(const Features& features, const Source& source, size_t hint) {
  if (hint < features.size() && features[hint].source == source) return features[hint].value;
  for (const auto& feature : features) {
    if (feature.source == source) return feature.value;
  }
  return std::nullopt;
}

}  // namespace

bool CallSites::Explains(const Site& site, const Word& word, size_t at_a, size_t at_b) const {
  const auto explained = [&](const Sample& sample) -> std::optional<uint32_t> {
    if (word.form == Form::kPart) return PartOf(WordOf(sample.id, word.of), word.divisor);
    const std::optional<uint32_t> a = ValueOf(sample.features, word.a, at_a);
    if (!a || word.form == Form::kEqual) return a;
    if (word.form == Form::kLinear) return *a * word.factor + word.offset;
    const std::optional<uint32_t> b = ValueOf(sample.features, word.b, at_b);
    if (!b) return std::nullopt;
    return *a + *b;
  };
  return std::ranges::all_of(site.samples,
                             [&](const Sample& sample) { return explained(sample) == WordOf(sample.id, word.index); });
}

bool CallSites::LearnEqual(const Site& site, Word& word) const {
  word.form = Form::kEqual;
  const uint32_t value = WordOf(site.samples.back().id, word.index);
  const std::vector<Feature>& features = site.samples.back().features;
  for (size_t i = 0; i < features.size(); ++i) {
    word.a = features[i].source;
    if (features[i].value == value && Explains(site, word, i)) return true;
  }
  return false;
}

// Rows times columns, in elements or bytes.
bool CallSites::LearnLinear(const Site& site, Word& word) const {
  word.form = Form::kLinear;
  const uint32_t value = WordOf(site.samples.back().id, word.index);
  const auto other =
      std::ranges::find_if(site.samples, [&](const Sample& sample) { return WordOf(sample.id, word.index) != value; });
  if (other == site.samples.end() || value > kMaxSummand) return false;
  const int64_t rise = int64_t{value} - WordOf(other->id, word.index);
  const std::vector<Feature>& features = site.samples.back().features;
  for (size_t i = 0; i < features.size(); ++i) {
    const std::optional<uint32_t> from = ValueOf(other->features, features[i].source, i);
    if (!from || *from == features[i].value || features[i].value > kMaxSummand) continue;
    const int64_t run = int64_t{features[i].value} - *from;
    if (rise % run != 0 || rise / run < 1 || rise / run > kMaxFactor) continue;
    word.a = features[i].source;
    word.factor = static_cast<uint32_t>(rise / run);
    word.offset = value - features[i].value * word.factor;
    if (Explains(site, word, i)) return true;
  }
  return false;
}

// Blocks of so many threads.
bool CallSites::LearnPart(const Site& site, Word& word) const {
  word.form = Form::kPart;
  for (const Word& of : site.words) {
    if (of.index == word.index || Values(site, of.index) < kLeastSums) continue;
    word.of = of.index;
    for (word.divisor = 2; word.divisor <= kMaxDivisor; word.divisor *= 2) {
      if (Explains(site, word)) return true;
    }
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
      if (Explains(site, word, i, j)) return true;
    }
  }
  return false;
}

// The source whose values come again most often and always went with the same value of the word.
bool CallSites::LearnTable(const Site& site, Word& word) const {
  size_t best = kLeastRepeats - 1;
  const std::vector<Feature>& features = site.samples.back().features;
  for (size_t i = 0; i < features.size(); ++i) {
    std::map<uint32_t, uint32_t> table;
    const bool consistent = std::ranges::all_of(site.samples, [&](const Sample& sample) {
      const std::optional<uint32_t> from = ValueOf(sample.features, features[i].source, i);
      const uint32_t to = WordOf(sample.id, word.index);
      return from && table.try_emplace(*from, to).first->second == to;
    });
    const size_t repeats = site.samples.size() - table.size();
    if (!consistent || repeats <= best) continue;
    best = repeats;
    word.a = features[i].source;
    word.table = std::move(table);
  }
  word.form = Form::kTable;
  return best >= kLeastRepeats;
}

}  // namespace wharf::offload
