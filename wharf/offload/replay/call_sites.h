// CallSites: places in a program that make the same call with other arguments from one time to the next, and how these
// arguments follow from what the program has seen: the count that it copied from the device is how many rows the next
// kernel has; the rows so far are those before and the new ones. Learnt from examples, so it may be wrong, which costs
// the running ahead of it and nothing else. docs/replay.md, "Arguments that follow from answers".
//
// A site is a set of operations of which one came in another's place. Each argument word that differs between them
// (32 bits of the encoded operation) is looked for among the words of the last answers and of the last operations of
// other sites: as it is, as a multiple, as a sum of two, or as a function of one, given by the values seen; and among
// the operation's own words, of which one may be a part, rounded up: so many blocks. Of the site's operations that one
// is chosen that agrees best with the words that can be predicted; one that was never made is not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "wharf/offload/replay/operation_history.h"
#include "wharf/offload/small_answer.h"

namespace wharf::offload {

using SiteId = uint32_t;
inline constexpr SiteId kNoSite = 0;

// What a program has seen and done lately. Cheap to copy.
class RecentWords {
 public:
  static constexpr size_t kAnswers = 8, kSites = 24;

  void AddAnswer(std::shared_ptr<const SmallAnswer> answer);
  // The operation that was made last at this site.
  void SetOperation(SiteId site, OperationId id);
  void Clear() { *this = {}; }

  // The newest first.
  const std::deque<std::shared_ptr<const SmallAnswer>>& Answers() const { return answers_; }
  const std::deque<std::pair<SiteId, OperationId>>& Operations() const { return operations_; }

 private:
  std::deque<std::shared_ptr<const SmallAnswer>> answers_;
  std::deque<std::pair<SiteId, OperationId>> operations_;
};

// Not thread-safe. Operations are named by their numbers in a table, which the caller keeps.
class CallSites {
 public:
  static constexpr size_t kSamples = 16;                          // from which a site's words are explained
  static constexpr size_t kMaxSites = 256, kMaxOperations = 256;  // sites; operations of one

  // `operations` outlives the sites.
  explicit CallSites(const OperationTable* operations) : operations_(*operations) {}

  // Whether one may be the other with other arguments: the same kernel on the same stream, the same kind of copy.
  static bool MayReplace(const OperationTable& operations, OperationId a, OperationId b);
  // A new site, of this operation; kNoSite if there are too many.
  SiteId Add(OperationId id);
  // At `site` the program made `id`, perhaps for the first time. `recent`: before it did. Amortised O(features);
  // O(features²) when a word is looked for anew.
  void Record(SiteId site, OperationId id, const RecentWords& recent);
  // Whether what Choose says has of late been better than what was made at this site the last time.
  bool Predicts(SiteId site) const {
    return site != kNoSite && sites_[site - 1].score > 0 && sites_[site - 1].unchanged < kSamples;
  }

  struct Choice {
    OperationId id = kNoOperation;              // none: one that was not made yet, or cannot be told
    std::shared_ptr<const SmallAnswer> awaits;  // set: that must come first
  };
  // What the program makes next at `site`, where `expected`, one of this site's operations, is predicted by its history
  // alone. REQUIRES: not kNoSite.
  Choice Choose(SiteId site, OperationId expected, const RecentWords& recent) const;
  void Clear() { sites_.clear(); }

 private:
  // A word of what the program has seen: of the answer of that rank, the newest first, or of the operation made last at
  // that site.
  struct Source {
    SiteId site = kNoSite;  // kNoSite: an answer
    uint32_t rank = 0, word = 0;
    friend bool operator==(const Source&, const Source&) = default;
  };
  struct Feature {
    Source source;
    uint32_t value = 0;
  };
  enum class Form : uint8_t { kUnknown, kEqual, kLinear, kSum, kTable, kPart };
  // How one word of the site's operations comes about.
  struct Word {
    uint32_t index = 0;
    Form form = Form::kUnknown;
    Source a, b;
    uint32_t factor = 1, offset = 0;     // kLinear: a · factor + offset, modulo 2^32
    uint32_t of = 0, divisor = 1;        // kPart: the operation's own word of that index, divided and rounded up
    std::map<uint32_t, uint32_t> table;  // kTable: of a
    int trust = 0;                       // how often in a row it was right
    uint32_t failed = 0;                 // searches in vain: each makes the next one rarer
    uint32_t patience = 0;
  };
  struct Sample {
    OperationId id = kNoOperation;
    std::vector<Feature> features;
  };
  struct Told {
    uint32_t index = 0, value = 0;
    bool certain = false;  // tables are of few examples
  };
  struct Site {
    std::vector<OperationId> operations;  // the latest last
    std::vector<Word> words;
    std::deque<Sample> samples;
    int score = 0;
    size_t unchanged = 0;  // how often in a row the same was made
  };

  uint32_t WordOf(OperationId id, uint32_t index) const;
  std::vector<Feature> FeaturesOf(const RecentWords& recent) const;
  std::optional<uint32_t> Find(const Source& source, const RecentWords& recent,
                               std::shared_ptr<const SmallAnswer>* awaits) const;
  // Of every form but kPart.
  std::optional<uint32_t> PredictWord(const Word& word, const RecentWords& recent,
                                      std::shared_ptr<const SmallAnswer>* awaits) const;
  // The words that can be predicted; empty if one of them waits for `awaits`.
  std::vector<Told> PredictWords(const Site& site, const RecentWords& recent,
                                 std::shared_ptr<const SmallAnswer>* awaits) const;
  void AddOperation(Site& site, OperationId id);
  void Check(const Site& site, Word& word, OperationId made, const RecentWords& recent) const;
  bool Extend(const Site& site, Word& word, uint32_t value, const RecentWords& recent) const;
  size_t Values(const Site& site, uint32_t index) const;
  void Learn(const Site& site, Word& word) const;
  // All samples; `at_a`, `at_b`: where in most of them the word's sources stand.
  bool Explains(const Site& site, const Word& word, size_t at_a = 0, size_t at_b = 0) const;
  bool LearnEqual(const Site& site, Word& word) const;
  bool LearnLinear(const Site& site, Word& word) const;
  bool LearnPart(const Site& site, Word& word) const;
  bool LearnSum(const Site& site, Word& word) const;
  bool LearnTable(const Site& site, Word& word) const;

  const OperationTable& operations_;
  std::vector<Site> sites_;
};

}  // namespace wharf::offload
