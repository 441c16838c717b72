#include "tpsp/Passes/Program/Repetition.h"

#include "tpsp/Dialect/Tpsp/IR/Origin.h"
#include "tpsp/Passes/Program/CallPlace.h"

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

} // namespace

/// The number of calls that both are inside of.
static size_t sharedLength(ArrayRef<unsigned> a, ArrayRef<unsigned> b) {
  auto differs = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return differs.first - a.begin();
}

Repetition::Repetition(Block &block, function_ref<bool(Operation *)> tells) {
  PlaceReader reader(names);
  std::optional<ArrayRef<unsigned>> all;
  places.reserve(block.getOperations().size());
  for (Operation &op : block) {
    const Place &place =
        places.try_emplace(&op, reader.read(&op)).first->second;
    ArrayRef<unsigned> calls = place.calls;
    if (!calls.empty() && (!tells || tells(&op)))
      all = all ? all->take_front(sharedLength(*all, calls)) : calls;
  }
  shared = all ? all->size() : 0;
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
