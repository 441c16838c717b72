#include "LayerCounts.h"

#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

static bool isPartOf(const std::set<unsigned> &part,
                     const std::set<unsigned> &all) {
  return std::includes(all.begin(), all.end(), part.begin(), part.end());
}

LayerCounts::LayerCounts(FunctionOpInterface function,
                         function_ref<bool(StringRef)> isTaken)
    : function(function), repetition(function.getFunctionBody().front()) {
  readCalls();
  formLayers(isTaken);
}

void LayerCounts::readCalls() {
  /// By where it is written and the layer: all ways there.
  std::map<const void *, std::map<unsigned, std::set<SmallVector<unsigned, 2>>>>
      ways;
  for (Operation &op : function.getFunctionBody().front())
    if (std::optional<unsigned> call = repetition.layerOf(&op)) {
      const Repetition::Place &place = repetition.placeOf(&op);
      ways[place.written][*call].insert(place.calls);
    }
  for (const auto &[written, ofCalls] : ways) {
    size_t first = ofCalls.begin()->second.size();
    if (llvm::all_of(ofCalls, [&](const auto &each) {
          return each.second.size() == first;
        }))
      for (const auto &[call, own] : ofCalls)
        calls[written].insert(call);
  }
}

/// Sets of calls that no other contains, with more than one: each is the calls
/// of a function.
void LayerCounts::formLayers(function_ref<bool(StringRef)> isTaken) {
  std::set<std::set<unsigned>> all;
  for (const auto &[written, own] : calls)
    all.insert(own);
  auto nameOf = [&](unsigned call) {
    return repetition.nameOf(repetition.sharedCalls(), call).str();
  };
  for (const std::set<unsigned> &own : all) {
    bool isPart = llvm::any_of(all, [&](const std::set<unsigned> &other) {
      return other.size() > own.size() && isPartOf(own, other);
    });
    if (own.size() > 1 && !isPart)
      found.push_back({"", nameOf(*own.begin()), nameOf(*own.rbegin()), own});
  }
  for (auto [i, layers] : llvm::enumerate(found)) {
    layers.name = found.size() == 1 ? "L" : "L" + std::to_string(i + 1);
    while (isTaken(layers.name))
      layers.name = "#" + layers.name;
  }
}

LayerCounts::Place LayerCounts::placeOf(Operation *op) {
  if (repetition.layerOf(op))
    return {repetition.placeOf(op).written, false};
  return isUpdate(op) ? placeThroughOperands(op) : Place();
}

LayerCounts::Place LayerCounts::placeThroughOperands(Operation *op) {
  auto [place, isNew] = known.try_emplace(op);
  if (!isNew)
    return place->second;
  for (Value operand : op->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    Place found =
        argument ? placeOf(argument) : placeOf(operand.getDefiningOp());
    if (found.written)
      return known[op] = {found.written, true};
  }
  return {};
}

LayerCounts::Place LayerCounts::placeOf(BlockArgument argument) {
  auto of = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(),
                                                   stateAttrName);
  if (of && of.getInt() >= 0)
    return placeOf(function.getArgument(of.getInt()));
  std::set<unsigned> users;
  Operation *first = nullptr;
  for (Operation *user : argument.getUsers())
    if (std::optional<unsigned> call = repetition.layerOf(user)) {
      users.insert(*call);
      if (!first || user->isBeforeInBlock(first))
        first = user;
    }
  if (users.size() != 1)
    return {};
  return {repetition.placeOf(first).written, true};
}

Formula LayerCounts::countOf(int64_t count, Place place) const {
  auto own = calls.find(place.written);
  if (own == calls.end())
    return count;
  auto layers = llvm::find_if(found, [&](const Layers &each) {
    return isPartOf(own->second, each.calls);
  });
  if (layers == found.end())
    return count;
  auto size = int64_t(layers->calls.size());
  auto times = [&](int64_t number) {
    return Formula(number) * Formula::power(layers->name);
  };
  if (count % size == 0)
    return times(count / size);
  if (place.isThroughTensor)
    return count;
  if (count + 1 == size)
    return Formula::lessOne({layers->name});
  if ((count + 1) % size == 0)
    return times((count + 1) / size) + Formula(-1);
  if (count > size && (count - 1) % size == 0)
    return times((count - 1) / size) + Formula(1);
  return count;
}
