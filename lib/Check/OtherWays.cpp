#include "Form.h"
#include "Hypotheses.h"
#include "Matching.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

using namespace tpsp;
using namespace tpsp::check;

namespace {

int64_t ranksOver(const rt::RankMesh &mesh, const Axes &axes) {
  int64_t product = 1;
  for (int64_t axis : axes)
    product *= mesh.axes()[axis].size;
  return product;
}

/// The rows that add up one tensor, over one set of axes after another.
struct SumChain {
  std::vector<Need *> rows;
  Axes axes;
  /// The elements of the tensor before the first row, and of a rank's part
  /// after the last.
  int64_t elements = 0, left = 0;
};

/// Sums that the run makes over other sets of axes, or at other sizes, than the
/// program, and that add up the same.
///
/// A sum over dp and tp of E elements is made by calls over disjoint axes that
/// together are dp and tp. Each has E elements, or fewer by the size of axes
/// over which an earlier call has scattered them.
class JoinedSums {
public:
  explicit JoinedSums(Matching &matching) : all(matching) {}

  void run() {
    makeChains();
    for (Made &made : all.calls)
      if (!made.isMatched && made.axes && isSum(made.call->kind) &&
          !made.call->isExtremum)
        open[*made.axes].emplace(made.call->elements, &made);
    for (SumChain &chain : chains)
      coverChain(chain);
    poolAll();
  }

private:
  using Calls = std::vector<Made *>;

  void makeChains() {
    std::map<std::pair<std::vector<int64_t>, std::string>, std::vector<size_t>>
        byTensor;
    for (Need &need : all.needs) {
      if (need.isMatched || !isSum(need.kind))
        continue;
      std::string tensor = need.row->gradients.empty() ? need.row->tensor : "";
      std::vector<size_t> &own = byTensor[{need.row->gradients, tensor}];
      auto found = std::find_if(own.begin(), own.end(), [&](size_t i) {
        return chains[i].left == need.elements &&
               without(need.axes, chains[i].axes) == need.axes;
      });
      size_t number = found == own.end() ? chains.size() : *found;
      if (found == own.end()) {
        own.push_back(number);
        chains.emplace_back().elements = need.elements;
      }
      SumChain &chain = chains[number];
      chain.rows.push_back(&need);
      chain.axes = joined(chain.axes, need.axes);
      chain.left =
          need.elements /
          (need.kind == CollectiveKind::ReduceScatter ? need.row->group : 1);
    }
  }

  /// Finds the calls that add up the chain over as many of `left` as possible.
  /// Sets of axes are tried in one order: the first axes ascend from `least`.
  void search(const Axes &left, int64_t least, const SumChain &chain,
              Calls &taken, Calls &best, size_t &covered) {
    size_t now = chain.axes.size() - left.size();
    if (now > covered && areScattered(taken, chain)) {
      covered = now;
      best = taken;
    }
    for (auto &[axes, calls] : open) {
      if (axes.empty() || axes.front() < least || !contains(left, axes))
        continue;
      Made *made = callOf(calls, chain);
      if (!made)
        continue;
      taken.push_back(made);
      search(without(left, axes), axes.front(), chain, taken, best, covered);
      taken.pop_back();
    }
  }

  /// Whether other calls have scattered the parts that smaller calls add up.
  bool areScattered(const Calls &taken, const SumChain &chain) const {
    return std::all_of(taken.begin(), taken.end(), [&](const Made *made) {
      return isScattered(*made, taken, chain);
    });
  }

  /// Only a call of more elements leaves a part of so few.
  bool isScattered(const Made &made, const Calls &taken,
                   const SumChain &chain) const {
    int64_t elements = made.call->elements;
    if (elements == chain.elements)
      return true;
    if (elements == 0)
      return false;
    int64_t ratio = chain.elements / elements, scattered = 1;
    bool isOne = false;
    for (const Made *other : taken) {
      if (other->call->kind != CollectiveKind::ReduceScatter ||
          other->call->elements <= elements)
        continue;
      int64_t size = ranksOver(all.mesh, *other->axes);
      scattered *= size;
      isOne |= size == ratio;
    }
    return isOne || scattered == ratio;
  }

  /// An open call of the chain's size, or of a part that may be scattered.
  Made *callOf(const std::multimap<int64_t, Made *> &calls,
               const SumChain &chain) const {
    for (const Axes &scattered : subsetsOf(chain.axes)) {
      int64_t size = ranksOver(all.mesh, scattered);
      if (chain.elements % size != 0)
        continue;
      auto [begin, end] = calls.equal_range(chain.elements / size);
      for (auto each = begin; each != end; ++each)
        if (!each->second->isMatched)
          return each->second;
    }
    return nullptr;
  }

  void coverChain(SumChain &chain) {
    Calls taken, best;
    size_t covered = 0;
    search(chain.axes, 0, chain, taken, best, covered);
    if (best.empty())
      return;
    Axes done;
    for (Made *made : best)
      done = joined(done, *made->axes);
    take(chain, best);
    if (Axes missing = without(chain.axes, done); !missing.empty())
      all.partial.push_back(
          {chain.rows.back(), done, missing, best.front()->call});
    else
      all.addNote(fmt::format("{} is added up over {} in another way than in "
                              "the program, to the same sum",
                              tensorOf(chain), axesText(all.mesh, done)));
  }

  void take(SumChain &chain, const Calls &calls) {
    for (Need *need : chain.rows)
      for (Made *made : calls)
        all.match(*need, *made);
  }

  static std::string tensorOf(const SumChain &chain) {
    return chain.rows.front()->row->tensor;
  }

  //===--- Buckets over joined axes
  //----------------------------------------===//

  /// Chains that no single calls cover: calls over the same axes may add up
  /// several together.
  void poolAll() {
    std::map<Axes, std::vector<SumChain *>> byAxes;
    for (SumChain &chain : chains)
      if (!chain.rows.front()->isMatched)
        byAxes[chain.axes].push_back(&chain);
    for (auto &[axes, several] : byAxes)
      pool(axes, several);
  }

  int64_t openElements(const Axes &axes, Calls &calls) {
    int64_t sum = 0;
    for (auto &[elements, made] : open[axes])
      if (!made->isMatched && elements > fewElements) {
        sum += elements;
        calls.push_back(made);
      }
    return sum;
  }

  void pool(const Axes &axes, std::vector<SumChain *> several) {
    int64_t wanted = 0;
    for (const SumChain *chain : several)
      wanted += chain->elements;
    for (const Axes &first : subsetsOf(axes)) {
      Axes rest = without(axes, first);
      Calls calls, others;
      int64_t made = openElements(first, calls);
      if (calls.empty() || (!rest.empty() && openElements(rest, others) < made))
        continue;
      // Buckets are padded for their ranks.
      int64_t padding =
          int64_t(calls.size() + several.size()) * ranksOver(all.mesh, axes);
      SumChain *left = nullptr;
      if (!isNear(made, wanted, padding) &&
          !(left = chainOf(several, wanted - made)))
        continue;
      calls.insert(calls.end(), others.begin(), others.end());
      for (SumChain *chain : several)
        if (chain != left)
          take(*chain, calls);
      all.addNote(fmt::format("{} sums over {} are made in {} calls",
                              several.size() - (left ? 1 : 0),
                              axesText(all.mesh, axes), calls.size()));
      return;
    }
  }

  static bool isNear(int64_t made, int64_t wanted, int64_t padding) {
    return made >= wanted && made - wanted < padding;
  }

  /// The only chain of exactly this size: without it the calls add up all.
  static SumChain *chainOf(const std::vector<SumChain *> &several,
                           int64_t elements) {
    SumChain *found = nullptr;
    for (SumChain *chain : several)
      if (chain->elements == elements) {
        if (found)
          return nullptr;
        found = chain;
      }
    return several.size() > 1 ? found : nullptr;
  }

  Matching &all;
  std::vector<SumChain> chains;
  /// The open sums by axes and elements.
  std::map<Axes, std::multimap<int64_t, Made *>> open;
};

/// Gathers and exchanges, which add up nothing.
class Movements {
public:
  explicit Movements(Matching &matching) : all(matching) {}

  void run() {
    keptGathers();
    transfers();
    extraGathers();
  }

private:
  /// A tensor may be kept, in place of gathering it again.
  void keptGathers() {
    std::map<std::pair<std::string, Axes>, bool> isGathered;
    for (const Need &need : all.needs)
      if (need.isMatched && need.kind == CollectiveKind::AllGather)
        isGathered[{need.row->tensor, need.axes}] = true;
    for (Need &need : all.needs) {
      if (need.isMatched || need.kind != CollectiveKind::AllGather ||
          !isGathered.count({need.row->tensor, need.axes}))
        continue;
      need.isMatched = true;
      all.addNote(fmt::format(
          "{} is gathered once and kept, where the program gathers it again",
          need.row->tensor));
    }
  }

  /// A gather that the program does not need adds up nothing.
  void extraGathers() {
    for (Made &made : all.calls) {
      if (made.isMatched || !made.axes ||
          made.call->kind != CollectiveKind::AllGather)
        continue;
      const Need *same = nullptr;
      bool isGather = false;
      for (const Need &need : all.needs)
        if (need.isMatched && need.elements == made.call->elements &&
            need.axes == *made.axes && !isGather) {
          same = &need;
          isGather = need.kind == CollectiveKind::AllGather;
        }
      if (!same)
        continue;
      made.isMatched = true;
      ++all.matched;
      all.addNote(fmt::format(
          isGather ? "{} is gathered once more"
                   : "a tensor of the size of {} is gathered, which adds up "
                     "nothing",
          same->row->tensor));
    }
  }

  /// The elements that a rank receives in place of a row of E elements over n
  /// ranks. They are (n - 1) / n E, and twice as many for an all_reduce.
  int64_t transferred(const Need &need) const {
    int64_t ranks = need.row->group;
    if (need.kind == CollectiveKind::Permute ||
        need.kind == CollectiveKind::Transfer)
      return need.elements;
    int64_t once = need.elements / ranks * (ranks - 1);
    return need.kind == CollectiveKind::AllReduce ? 2 * once : once;
  }

  /// Rows over the same axes as sends, which may move the same data.
  void transfers() {
    std::map<Axes, std::vector<Need *>> byAxes;
    for (Need &need : all.needs)
      if (!need.isMatched)
        byAxes[need.axes].push_back(&need);
    for (auto &[axes, rows] : byAxes)
      transfersOver(axes, rows);
  }

  void transfersOver(const Axes &axes, const std::vector<Need *> &rows) {
    std::vector<Made *> calls;
    int64_t received = 0, wanted = 0;
    for (Made &made : all.calls)
      if (!made.isMatched && made.axes && !made.axes->empty() &&
          made.call->kind == CollectiveKind::Transfer &&
          contains(axes, *made.axes)) {
        calls.push_back(&made);
        received += made.call->isReceive ? made.call->elements : 0;
      }
    for (const Need *need : rows)
      wanted += transferred(*need);
    if (calls.empty() || received < wanted)
      return;
    std::vector<std::string> tensors;
    bool isMovement = true;
    for (Need *need : rows) {
      if (std::find(tensors.begin(), tensors.end(), need->row->tensor) ==
          tensors.end())
        tensors.push_back(need->row->tensor);
      isMovement &= need->kind == CollectiveKind::Permute ||
                    need->kind == CollectiveKind::Transfer;
      for (Made *made : calls)
        all.match(*need, *made);
    }
    constexpr size_t shown = 4;
    if (tensors.size() > shown)
      tensors.resize(shown);
    TraceFinding &finding = all.addFinding(
        TraceFault::OtherWay,
        isMovement ? TraceOutcome::Right : TraceOutcome::Untold,
        fmt::format("{} sends and receives over {} ({} elements received) in "
                    "place of {} collectives, of {}",
                    calls.size(), axesText(all.mesh, axes), received,
                    rows.size(), fmt::join(tensors, ", ")),
        rows.front(), calls.front()->call);
    finding.doubt = "they may move the same data; which summands a rank adds "
                    "to what it receives is not recorded";
  }

  Matching &all;
};

} // namespace

void tpsp::check::matchOtherWays(Matching &matching) {
  JoinedSums(matching).run();
  Movements(matching).run();
}
