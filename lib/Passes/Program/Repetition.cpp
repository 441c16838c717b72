#include "tpsp/Passes/Program/Repetition.h"

#include "tpsp/Dialect/Tpsp/IR/Origin.h"
#include "tpsp/Passes/Program/CallPlace.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace tpsp;

namespace {

/// Numbers from 0, in the order in which keys come.
template <typename Key> class Numbers {
public:
  unsigned of(const Key &key) {
    return numbers.try_emplace(key, numbers.size()).first->second;
  }

private:
  std::map<Key, unsigned> numbers;
};

/// Reads places.
class PlaceReader {
public:
  explicit PlaceReader(std::vector<std::vector<std::string>> &callNames)
      : callNames(callNames) {}

  Repetition::Place read(Operation *op) {
    CallPlace own = callPlaceOf(op->getLoc());
    Repetition::Place place;
    place.written = own.written.getAsOpaquePointer();
    SmallVector<StringRef> names = callNamesOf(op->getLoc());
    bool isKnown = llvm::none_of(own.calls, llvm::IsaPred<UnknownLoc>);
    for (auto [level, call] : llvm::enumerate(own.calls))
      if (isKnown)
        place.calls.push_back(numberOf(level, call, names[level]));
    Origin origin = originOf(op);
    unsigned kind = kinds.of({place.written, op->getName().getStringRef(),
                              int(origin.phase), origin.isRecomputed});
    place.what = whats.of({kind, seen[{kind, place.calls}]++});
    return place;
  }

private:
  unsigned numberOf(size_t level, Location call, StringRef name) {
    calls.resize(std::max(calls.size(), level + 1));
    callNames.resize(calls.size());
    unsigned number = calls[level].of(call.getAsOpaquePointer());
    if (number == callNames[level].size())
      callNames[level].push_back(name.str());
    return number;
  }

  using Calls = SmallVector<unsigned, 2>;
  std::vector<Numbers<const void *>> calls;
  Numbers<std::tuple<const void *, StringRef, int, bool>> kinds;
  /// A place may make several operations of one kind: these are counted.
  Numbers<std::pair<unsigned, unsigned>> whats;
  std::map<std::pair<unsigned, Calls>, unsigned> seen;
  std::vector<std::vector<std::string>> &callNames;
};

/// Tells which calls of one level do the same.
class AlikeCalls {
public:
  /// Calls are alike if an operation is the same but for the call.
  void add(const Repetition::Place &place) {
    ArrayRef<unsigned> calls = place.calls;
    for (auto [level, call] : llvm::enumerate(calls)) {
      auto inner = llvm::to_vector<2>(calls.drop_front(level + 1));
      auto first = firsts.try_emplace({level, place.what, inner}, call).first;
      groups.unionSets({level, first->second}, {level, call});
    }
  }

  bool areAlike(size_t level, unsigned a, unsigned b) const {
    return groups.isEquivalent({level, a}, {level, b});
  }

private:
  using Call = std::pair<size_t, unsigned>;
  /// The first call with an operation, by what it is inside of the call.
  std::map<std::tuple<size_t, unsigned, SmallVector<unsigned, 2>>, unsigned>
      firsts;
  llvm::EquivalenceClasses<Call> groups;
};

} // namespace

/// The number of calls that both are inside of.
static size_t sharedLength(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
  auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return differs.first - a.begin();
}

Repetition::Repetition(Block &block) {
  PlaceReader reader(names);
  AlikeCalls alike;
  places.reserve(block.getOperations().size());
  for (Operation &op : block)
    alike.add(places.try_emplace(&op, reader.read(&op)).first->second);
  std::optional<size_t> outermost;
  for (Operation &op : block)
    for (Value operand : op.getOperands()) {
      auto made = places.find(operand.getDefiningOp());
      if (made == places.end())
        continue;
      ArrayRef<unsigned> from = made->second.calls, to = placeOf(&op).calls;
      size_t level = sharedLength(from, to);
      if (level < std::min({from.size(), to.size(), outermost.value_or(-1)}) &&
          alike.areAlike(level, from[level], to[level]))
        outermost = level;
    }
  shared = outermost.value_or(0);
}

ArrayRef<unsigned> Repetition::layerCallsOf(Operation *op) const {
  ArrayRef<unsigned> calls = placeOf(op).calls;
  return calls.take_front(std::min(calls.size(), shared + 1));
}

std::optional<unsigned> Repetition::layerOf(Operation *op) const {
  ArrayRef<unsigned> calls = placeOf(op).calls;
  return calls.size() > shared ? std::optional(calls[shared]) : std::nullopt;
}

std::optional<int64_t> Repetition::distance(const Place &a, const Place &b,
                                            size_t level) {
  if (a.what != b.what || a.calls.size() != b.calls.size() ||
      level >= a.calls.size())
    return std::nullopt;
  for (auto [i, call] : llvm::enumerate(a.calls))
    if (i != level && call != b.calls[i])
      return std::nullopt;
  return int64_t(b.calls[level]) - int64_t(a.calls[level]);
}
