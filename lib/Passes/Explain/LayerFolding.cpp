#include "LayerFolding.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <optional>
#include <utility>

using namespace llvm;
using namespace tpsp;

namespace {

/// Where names are made, as positions in the list.
class Origins {
public:
  explicit Origins(ArrayRef<FoldedItem> items) {
    for (auto [i, item] : enumerate(items))
      for (unsigned name : item.made)
        made.try_emplace(name, i);
  }

  /// Also at `position`, which may be before the list.
  void countAs(unsigned name, int64_t position) {
    handed.try_emplace(name, position);
  }
  SmallVector<int64_t, 2> of(unsigned name) const {
    SmallVector<int64_t, 2> positions;
    for (const DenseMap<unsigned, int64_t> *map : {&made, &handed})
      if (auto it = map->find(name); it != map->end())
        positions.push_back(it->second);
    return positions;
  }
  std::optional<int64_t> madeAt(unsigned name) const {
    auto it = made.find(name);
    return it == made.end() ? std::nullopt : std::optional(it->second);
  }

private:
  DenseMap<unsigned, int64_t> made, handed;
};

/// How the name in one place of a block goes along from block to block: the
/// ways that are left.
class Course {
public:
  /// Returns false if no way is left. `period` is given where the second block
  /// may have been handed what the first made.
  bool goesOn(unsigned from, unsigned to, const Origins &origins,
              std::optional<int64_t> handedOn) {
    bool isFirst = seen.empty();
    seen.insert(from);
    isSame = (isFirst || isSame) && from == to;
    isOwn = (isFirst || isOwn) && !origins.madeAt(from) &&
            !origins.madeAt(to) && !seen.contains(to);
    SmallVector<int64_t, 4> steps;
    for (int64_t a : origins.of(from))
      for (int64_t b : origins.of(to))
        if (a != b)
          steps.push_back(b - a);
    if (isFirst) {
      left = steps;
      if (handedOn)
        left.push_back(*handedOn);
    } else {
      llvm::erase_if(left,
                     [&](int64_t step) { return !is_contained(steps, step); });
    }
    return isSame || isOwn || !left.empty();
  }

  /// Whether it goes along in steps, and not in those of the blocks themselves.
  bool isElsewhere(int64_t period) const {
    return !isSame && !isOwn && !is_contained(left, period);
  }
  ArrayRef<int64_t> steps() const { return left; }

private:
  bool isSame = true, isOwn = true;
  SmallVector<int64_t, 4> left;
  DenseSet<unsigned> seen;
};

/// Holds blocks of a list against each other.
class BlockChecker {
public:
  BlockChecker(ArrayRef<FoldedItem> items, const Origins &origins)
      : items(items), origins(origins) {}

  /// Returns the blocks from `begin` that go along, at most `most`. If the
  /// first block hands nothing on to the second, they are no layers, and the
  /// fold ends with the second block. So a list without layers is read once for
  /// each period, and not from each of its items to the end.
  LayerFold check(size_t begin, size_t period, size_t most) const {
    LayerFold fold{begin, period, 1, {}, 0};
    std::vector<Course> courses(mentions(begin, period).size());
    while (fold.times < most && joins(fold, courses)) {
      ++fold.times;
      if (fold.handedOn.empty())
        break;
    }
    return fold;
  }

private:
  SmallVector<unsigned> mentions(size_t begin, size_t period) const {
    SmallVector<unsigned> names;
    for (const FoldedItem &item : items.slice(begin, period))
      append_range(names, item.names);
    return names;
  }

  /// Whether the block after those of `fold` goes along.
  bool joins(LayerFold &fold, std::vector<Course> &courses) const {
    SmallVector<unsigned> first = mentions(fold.begin, fold.period);
    SmallVector<unsigned> last =
        mentions(fold.end() - fold.period, fold.period);
    SmallVector<unsigned> next = mentions(fold.end(), fold.period);
    if (!areOneToOne(first, next))
      return false;
    for (auto [i, course] : enumerate(courses)) {
      std::optional<int64_t> handedOn;
      if (fold.times == 1 && isHandedOn(fold, first[i], next[i])) {
        handedOn = fold.period;
        std::pair pair(first[i], next[i]);
        if (!is_contained(fold.handedOn, pair))
          fold.handedOn.push_back(pair);
      }
      if (!course.goesOn(last[i], next[i], origins, handedOn))
        return false;
    }
    return readElsewhereAlike(courses, fold.period);
  }

  /// Whether all values that a block reads from another pass belong to the same
  /// block there.
  static bool readElsewhereAlike(ArrayRef<Course> courses, int64_t period) {
    std::optional<SmallVector<int64_t>> common;
    for (const Course &course : courses) {
      if (!course.isElsewhere(period))
        continue;
      if (!common)
        common.emplace(course.steps());
      llvm::erase_if(*common, [&](int64_t step) {
        return !is_contained(course.steps(), step);
      });
    }
    return !common || !common->empty();
  }

  /// Whether the second block has of the first what that has from outside.
  bool isHandedOn(const LayerFold &fold, unsigned first,
                  unsigned second) const {
    auto isInFirst = [&](unsigned name) {
      std::optional<int64_t> at = origins.madeAt(name);
      return at && *at >= int64_t(fold.begin) &&
             *at < int64_t(fold.begin + fold.period);
    };
    return first != second && !isInFirst(first) && isInFirst(second);
  }

  static bool areOneToOne(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
    DenseMap<unsigned, unsigned> there, back;
    return all_of(zip_equal(a, b), [&](auto pair) {
      auto [from, to] = pair;
      return there.try_emplace(from, to).first->second == to &&
             back.try_emplace(to, from).first->second == from;
    });
  }

  ArrayRef<FoldedItem> items;
  const Origins &origins;
};

/// Folds one phase after another, so that what the first block of a pass was
/// handed is known to the next.
class LayerFinder {
public:
  explicit LayerFinder(ArrayRef<FoldedItem> items)
      : items(items), origins(items), checker(items, origins) {}

  std::vector<LayerFold> find() {
    for (size_t begin = 0, end; begin < items.size(); begin = end) {
      end = begin + 1;
      while (end < items.size() && items[end].phase == items[begin].phase)
        ++end;
      findIn(begin, end);
    }
    return std::move(folds);
  }

private:
  /// In equations.
  static constexpr size_t shortestLayer = 2;

  void findIn(size_t begin, size_t end) {
    std::vector<LayerFold> found;
    forEachRun(begin, end, [&](size_t first, size_t period, size_t last) {
      if (!isSeveralOf(found, first, period, last))
        addFoldsOf(first, period, last, found);
    });
    stable_sort(found, [](const LayerFold &a, const LayerFold &b) {
      return a.saved() > b.saved();
    });
    std::vector<LayerFold> kept;
    for (const LayerFold &fold : found)
      if (none_of(kept, [&](const LayerFold &other) {
            return fold.begin < other.end() && other.begin < fold.end();
          }))
        kept.push_back(fold);
    llvm::sort(kept, [](const LayerFold &a, const LayerFold &b) {
      return a.begin < b.begin;
    });
    for (const LayerFold &fold : kept)
      accept(fold);
  }

  /// Whether blocks of a fold, several together, would be this run's. That fold
  /// saves more: it leaves out less than one of its blocks, and has a shorter
  /// first one. Without this, layers are looked at once more by twos, by
  /// threes, ...: cubic in their number.
  static bool isSeveralOf(ArrayRef<LayerFold> found, size_t first,
                          size_t period, size_t last) {
    return any_of(found, [&](const LayerFold &fold) {
      size_t before = fold.begin - std::min(fold.begin, first),
             behind = last - std::min(last, fold.end());
      return period % fold.period == 0 && before + behind < fold.period;
    });
  }

  /// Longest stretches that look the same a period on. Only repetitions of one
  /// form that lie close are looked at, so that this stays linear.
  void forEachRun(size_t begin, size_t end,
                  function_ref<void(size_t, size_t, size_t)> visit) const {
    constexpr unsigned mostPeriods = 64;
    DenseMap<unsigned, size_t> nextOfForm;
    std::vector<size_t> next(end, end);
    for (size_t i = end; i-- > begin;) {
      auto [it, isLast] = nextOfForm.try_emplace(items[i].form, i);
      if (!isLast)
        next[i] = std::exchange(it->second, i);
    }
    DenseMap<size_t, size_t> seenUntil; // by period
    for (size_t i = begin; i < end; ++i) {
      size_t other = next[i];
      for (unsigned n = 0; n < mostPeriods && other < end;
           ++n, other = next[other]) {
        size_t period = other - i;
        if (period < shortestLayer)
          continue;
        size_t &seen = seenUntil[period];
        if (seen > i)
          continue;
        seen = i;
        while (seen + period < end &&
               items[seen].form == items[seen + period].form)
          ++seen;
        if (seen - i >= period)
          visit(i, period, seen + period);
      }
    }
  }

  void addFoldsOf(size_t begin, size_t period, size_t end,
                  std::vector<LayerFold> &found) const {
    for (size_t at = begin; at + 2 * period <= end;) {
      LayerFold fold = checker.check(at, period, (end - at) / period);
      if (!isLayer(fold)) {
        at += period;
        continue;
      }
      found.push_back(bestBegin(fold, end));
      at = found.back().end();
    }
  }

  /// Enough to be worth a line, and each hands something on to the next.
  static bool isLayer(const LayerFold &fold) {
    return fold.saved() >= 3 && !fold.handedOn.empty();
  }

  /// A run may begin before its layers do, with what looks like their end. They
  /// begin where a call does, or where the least is handed on.
  LayerFold bestBegin(const LayerFold &fold, size_t end) const {
    LayerFold best = fold;
    size_t slack = std::min(end - fold.end(), fold.period - 1);
    for (size_t shift = 1; shift <= slack; ++shift) {
      LayerFold other =
          checker.check(fold.begin + shift, fold.period, fold.times);
      if (other.times == fold.times && isLayer(other) &&
          std::pair(!beginsCall(other), other.handedOn.size()) <
              std::pair(!beginsCall(best), best.handedOn.size()))
        best = other;
    }
    return best;
  }

  /// Whether what stands before a fold was not called together with it.
  bool beginsCall(const LayerFold &fold) const {
    ArrayRef<StringRef> here = items[fold.begin].calls;
    size_t level = sharedCallsOf(fold);
    if (level >= here.size())
      return false;
    if (fold.begin == 0 ||
        items[fold.begin - 1].phase != items[fold.begin].phase)
      return true;
    ArrayRef<StringRef> before = items[fold.begin - 1].calls;
    return before.size() <= level || before[level] != here[level];
  }

  size_t sharedCallsOf(const LayerFold &fold) const {
    ArrayRef<StringRef> a = items[fold.begin].calls,
                        b = items[fold.begin + fold.period].calls;
    size_t shared = 0;
    while (shared < std::min(a.size(), b.size()) && a[shared] == b[shared])
      ++shared;
    return shared;
  }

  void accept(LayerFold fold) {
    fold.sharedCalls = sharedCallsOf(fold);
    for (auto [first, second] : fold.handedOn)
      origins.countAs(first, *origins.madeAt(second) - int64_t(fold.period));
    folds.push_back(std::move(fold));
  }

  ArrayRef<FoldedItem> items;
  Origins origins;
  BlockChecker checker;
  std::vector<LayerFold> folds;
};

} // namespace

std::vector<LayerFold> tpsp::foldLayers(ArrayRef<FoldedItem> items) {
  return LayerFinder(items).find();
}
