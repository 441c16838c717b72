#include "LayerFolding.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace tpsp;

std::optional<unsigned> tpsp::callOf(ArrayRef<FoldedItem> block, size_t level,
                                     const Repetition &repetition) {
  for (const FoldedItem &item : block) {
    const auto &calls = repetition.placeOf(item.op).calls;
    if (calls.size() > level)
      return calls[level];
  }
  return std::nullopt;
}

namespace {

/// Holds tensors of one block against those that take their places in the next.
class Tensors {
public:
  Tensors(ArrayRef<FoldedItem> items, const Repetition &repetition)
      : repetition(repetition) {
    for (auto [i, item] : llvm::enumerate(items))
      for (Value value : item.made)
        made.try_emplace(value, i);
  }

  /// How far the next block is from a block.
  struct Step {
    size_t items;
    /// Calls at `level`.
    int64_t calls;
    size_t level;
  };

  bool isMadeIn(Value value, size_t begin, size_t end) const {
    auto at = made.find(value);
    return at != made.end() && at->second >= begin && at->second < end;
  }

  /// Whether `b` is to the next block what `a` is to this.
  bool goesAlong(Value a, Value b, const Step &step) const {
    if (a == b)
      return true;
    auto from = made.find(a), to = made.find(b);
    bool areMade = from != made.end() && to != made.end();
    return (areMade && from->second + step.items == to->second) ||
           distance(a, b, step.level) == step.calls;
  }

  /// Counts `first` as what the layer before has instead of `second`.
  void countAs(Value first, Value second, int64_t calls) {
    if (first.getDefiningOp() != second.getDefiningOp())
      handed.try_emplace(first, std::pair(second, -calls));
  }

private:
  /// The number of calls from one tensor's layer to the other's, if they are
  /// the same result of one operation in the source.
  std::optional<int64_t> distance(Value a, Value b, size_t level) const {
    auto [from, before] = placed(a);
    auto [to, behind] = placed(b);
    if (!from || !to || from.getResultNumber() != to.getResultNumber())
      return std::nullopt;
    std::optional<int64_t> calls =
        Repetition::distance(repetition.placeOf(from.getOwner()),
                             repetition.placeOf(to.getOwner()), level);
    return calls ? std::optional(*calls + behind - before) : std::nullopt;
  }

  /// The result that the tensor is, or counts as so many calls away.
  std::pair<OpResult, int64_t> placed(Value value) const {
    auto as = handed.find(value);
    auto [tensor, calls] =
        as == handed.end() ? std::pair(value, int64_t(0)) : as->second;
    return {dyn_cast<OpResult>(tensor), calls};
  }

  const Repetition &repetition;
  /// The number of the item that makes a tensor.
  llvm::DenseMap<Value, size_t> made;
  llvm::DenseMap<Value, std::pair<Value, int64_t>> handed;
};

/// Holds blocks of a list against each other.
class BlockChecker {
public:
  BlockChecker(ArrayRef<FoldedItem> items, const Repetition &repetition,
               const Tensors &tensors)
      : items(items), repetition(repetition), tensors(tensors) {}

  /// Returns the blocks from `begin` that go along. `isRepeated(n)`: whether n
  /// blocks are followed by one of equal forms. If the first block hands
  /// nothing on to the second, they are no layers, and the fold ends with the
  /// second block. So a list without layers is read a few times, and not from
  /// each of its items to the end.
  LayerFold check(size_t begin, size_t period, size_t level,
                  function_ref<bool(size_t)> isRepeated) const {
    LayerFold fold{begin, period, 1, level, {}};
    llvm::DenseSet<Value> arguments;
    while (isRepeated(fold.times) && joins(fold, arguments)) {
      ++fold.times;
      if (fold.handedOn.empty())
        break;
    }
    return fold;
  }

  /// How far the block is from the one before it.
  std::optional<Tensors::Step> stepTo(size_t begin, size_t period,
                                      size_t level) const {
    std::optional<unsigned> from = callOf(items.slice(begin - period, period),
                                          level, repetition),
                            to = callOf(items.slice(begin, period), level,
                                        repetition);
    if (!from || !to)
      return std::nullopt;
    return Tensors::Step{period, int64_t(*to) - int64_t(*from), level};
  }

private:
  SmallVector<Value> mentions(size_t begin, size_t period) const {
    SmallVector<Value> values;
    for (const FoldedItem &item : items.slice(begin, period))
      llvm::append_range(values, item.tensors);
    return values;
  }

  /// Whether the block after those of `fold` goes along. `arguments`: those of
  /// earlier blocks.
  bool joins(LayerFold &fold, llvm::DenseSet<Value> &arguments) const {
    std::optional<Tensors::Step> step =
        stepTo(fold.end(), fold.period, fold.level);
    if (!step)
      return false;
    SmallVector<Value> last = mentions(fold.end() - fold.period, fold.period);
    SmallVector<Value> next = mentions(fold.end(), fold.period);
    arguments.insert(last.begin(), last.end());
    if (!areOneToOne(last, next))
      return false;
    return llvm::all_of(llvm::zip_equal(last, next), [&](auto pair) {
      auto [a, b] = pair;
      bool isHandedOn = fold.times == 1 && takeHandedOn(fold, a, b);
      bool isOwn = isa<BlockArgument>(a) && isa<BlockArgument>(b) &&
                   !arguments.contains(b);
      return isHandedOn || isOwn || tensors.goesAlong(a, b, *step);
    });
  }

  /// Whether the second block has of the first what that has from outside.
  bool takeHandedOn(LayerFold &fold, Value first, Value second) const {
    size_t end = fold.begin + fold.period;
    if (first == second || tensors.isMadeIn(first, fold.begin, end) ||
        !tensors.isMadeIn(second, fold.begin, end))
      return false;
    if (std::pair pair(first, second); !llvm::is_contained(fold.handedOn, pair))
      fold.handedOn.push_back(pair);
    return true;
  }

  static bool areOneToOne(ArrayRef<Value> a, ArrayRef<Value> b) {
    llvm::DenseMap<Value, Value> there, back;
    return llvm::all_of(llvm::zip_equal(a, b), [&](auto pair) {
      auto [from, to] = pair;
      return there.try_emplace(from, to).first->second == to &&
             back.try_emplace(to, from).first->second == from;
    });
  }

  ArrayRef<FoldedItem> items;
  const Repetition &repetition;
  const Tensors &tensors;
};

/// Folds one phase after another, so that what the first block of a pass was
/// handed is known to the next.
class LayerFinder {
public:
  LayerFinder(ArrayRef<FoldedItem> items, const Repetition &repetition)
      : items(items), repetition(repetition), tensors(items, repetition),
        checker(items, repetition, tensors) {}

  std::vector<LayerFold> find() {
    for (size_t begin = 0, end; begin < items.size(); begin = end) {
      end = begin + 1;
      while (end < items.size() && items[end].phase == items[begin].phase)
        ++end;
      findIn(begin, end, /*level=*/0);
    }
    return std::move(folds);
  }

private:
  static constexpr size_t mostStretches = 8;

  /// Neighbours of one call, or of none.
  struct Stretch {
    size_t begin, end;
    std::optional<unsigned> call;
    /// Equal for equal sequences of forms.
    unsigned form;
  };

  /// Items that share `level` calls.
  void findIn(size_t begin, size_t end, size_t level) {
    SmallVector<Stretch> stretches = stretchesOf(begin, end, level);
    for (ArrayRef<Stretch> left = stretches; !left.empty();) {
      LayerFold fold = bestAtFront(left, level);
      if (isLayer(fold)) {
        accept(fold);
        left = left.drop_while(
            [&](const Stretch &each) { return each.begin < fold.end(); });
        continue;
      }
      if (left.front().call)
        findIn(left.front().begin, left.front().end, level + 1);
      left = left.drop_front();
    }
  }

  SmallVector<Stretch> stretchesOf(size_t begin, size_t end, size_t level) {
    SmallVector<Stretch> stretches;
    for (size_t i = begin; i < end; ++i) {
      std::optional<unsigned> call =
          callOf(items.slice(i, 1), level, repetition);
      if (stretches.empty() || stretches.back().call != call)
        stretches.push_back({i, i, call, 0});
      ++stretches.back().end;
    }
    for (Stretch &each : stretches) {
      std::vector<unsigned> sequence;
      for (size_t i = each.begin; i < each.end; ++i)
        sequence.push_back(items[i].form);
      each.form =
          forms.try_emplace(std::move(sequence), forms.size()).first->second;
    }
    return stretches;
  }

  /// The fold from the first stretch on that saves most. Where a layer ends
  /// with what is written after its call, the fold begins with the call.
  LayerFold bestAtFront(ArrayRef<Stretch> left, size_t level) const {
    LayerFold best{left.front().begin, 0, 1, level, {}};
    for (size_t period = 1;
         2 * period <= left.size() && period <= mostStretches; ++period) {
      LayerFold fold = checker.check(
          left.front().begin, left[period].begin - left.front().begin, level,
          [&](size_t times) { return isRepeated(left, period, times); });
      if (isLayer(fold) && fold.saved() > best.saved())
        best = fold;
    }
    bool isBetterLater =
        !left.front().call && left.size() > 1 && isLayer(best) &&
        bestAtFront(left.drop_front(), level).saved() >= best.saved();
    return isBetterLater ? LayerFold{best.begin, 0, 1, level, {}} : best;
  }

  /// Whether `times` blocks are followed by one of the same forms.
  static bool isRepeated(ArrayRef<Stretch> left, size_t period, size_t times) {
    return left.size() >= (times + 1) * period &&
           llvm::equal(left.slice(times * period, period),
                       left.slice((times - 1) * period, period),
                       [](const Stretch &a, const Stretch &b) {
                         return a.form == b.form;
                       });
  }

  /// Enough to be worth a line, and each hands something on to the next.
  static bool isLayer(const LayerFold &fold) {
    return fold.saved() >= 3 && !fold.handedOn.empty();
  }

  void accept(const LayerFold &fold) {
    auto step =
        checker.stepTo(fold.begin + fold.period, fold.period, fold.level);
    for (auto [first, second] : fold.handedOn)
      tensors.countAs(first, second, step->calls);
    folds.push_back(fold);
  }

  ArrayRef<FoldedItem> items;
  const Repetition &repetition;
  Tensors tensors;
  BlockChecker checker;
  std::map<std::vector<unsigned>, unsigned> forms;
  std::vector<LayerFold> folds;
};

} // namespace

std::vector<LayerFold> tpsp::foldLayers(ArrayRef<FoldedItem> items,
                                        const Repetition &repetition) {
  return LayerFinder(items, repetition).find();
}
