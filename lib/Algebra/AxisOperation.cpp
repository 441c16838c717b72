#include "AxisOperation.h"

#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <tuple>

using namespace tpsp;

bool AxisWay::operator==(const AxisWay &other) const {
  return drive == other.drive && needs == other.needs &&
         results == other.results && isWanted == other.isWanted;
}

static auto factsOf(const AxisTensor &tensor) {
  return std::tie(tensor.elements, tensor.elementBytes, tensor.wanted,
                  tensor.divisible, tensor.isWeight, tensor.isSmall,
                  tensor.isVector, tensor.mayDepart);
}

bool AxisTensor::operator==(const AxisTensor &other) const {
  return factsOf(*this) == factsOf(other);
}

static auto factsOf(const AxisOperation &operation) {
  return std::tie(operation.work, operation.times, operation.isSum,
                  operation.isConvertingSum, operation.isReshard,
                  operation.sameAs, operation.operands, operation.results,
                  operation.reducedLater, operation.ways);
}

bool AxisOperation::operator==(const AxisOperation &other) const {
  return factsOf(*this) == factsOf(other);
}

size_t AxisOperation::hash() const {
  auto hashOf = [](const AxisTensor &tensor) {
    return llvm::hash_combine(tensor.elements, tensor.elementBytes,
                              uint32_t(tensor.wantedBit()), tensor.mayDepart,
                              tensor.isWeight);
  };
  llvm::hash_code code =
      llvm::hash_combine(uint64_t(work), isSum, ways.size(), operands.size());
  for (const AxisTensor &tensor : operands)
    code = llvm::hash_combine(code, hashOf(tensor));
  for (const AxisTensor &tensor : results)
    code = llvm::hash_combine(code, hashOf(tensor));
  return code;
}

namespace {

/// Follows the ways of one operation and collects their outcomes.
class Following {
public:
  Following(const AxisOperation &operation, llvm::ArrayRef<States> states,
            AxisRole role, int64_t size)
      : operation(operation), given(states), role(role), size(size) {}

  std::vector<AxisOutcome> run() {
    for (auto [number, way] : llvm::enumerate(operation.ways)) {
      current.assign(given.begin(), given.end());
      if (!isOpen(way))
        continue;
      SearchCost cost;
      cost.work = operation.work / (way.drive.kind == Drive::Index ? size : 1);
      cost.moved = bytesTouched(way);
      if (bringOperands(way, cost))
        leaveResults(way, {unsigned(number), 0, {}, {}}, 0, cost);
    }
    return std::move(outcomes);
  }

private:
  States &statesOf(unsigned operand) {
    return current[operation.sameAs[operand]];
  }
  States statesOf(unsigned operand) const {
    return current[operation.sameAs[operand]];
  }
  static States sum() { return bit(AxisState::pending(Reduction::Sum)); }

  /// Whether the operands' states allow the axis this way's drive.
  bool isOpen(const AxisWay &way) const {
    if (way.drive.kind != Drive::Index || way.isWanted)
      return true;
    for (auto [i, needs] : llvm::enumerate(way.needs))
      if (needs.dim() && statesOf(i) & bit(needs))
        return true;
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Costs
  //===--------------------------------------------------------------------===//

  /// Bytes of activations that a rank reads and writes. Parameters are left
  /// out, because their bytes do not grow with the batch.
  int64_t bytesTouched(const AxisWay &way) const {
    int64_t sum = 0;
    auto add = [&](llvm::ArrayRef<AxisTensor> tensors,
                   llvm::ArrayRef<AxisState> states) {
      for (auto [tensor, state] : llvm::zip_equal(tensors, states))
        if (!tensor.isWeight)
          sum +=
              tensor.elements * tensor.elementBytes / (state.dim() ? size : 1);
    };
    if (operation.isReshard)
      return 0;
    add(operation.operands, way.needs);
    add(operation.results, way.results);
    return sum;
  }

  void pay(const AxisTensor &tensor, CollectiveKind kind, bool isReduced,
           SearchCost &cost) const {
    pay(tensor, tensor.elementBytes, kind, isReduced, cost);
  }

  /// Adds the cost of a collective that moves a tensor of this shape, with
  /// elements of `elementBytes`.
  void pay(const AxisTensor &tensor, int64_t elementBytes, CollectiveKind kind,
           bool isReduced, SearchCost &cost) const {
    int64_t bytes = tensor.elements * elementBytes;
    if (kind == CollectiveKind::AllToAll)
      bytes /= size;
    int64_t sent = bytesSent(kind, bytes, size);
    cost.bytes += sent;
    if (operation.isReshard)
      return;
    if (!tensor.isWeight)
      cost.moved += sendFactor * sent;
    count(tensor, kind, isReduced, cost);
  }

  /// Counts a collective by what it moves.
  void count(const AxisTensor &tensor, CollectiveKind kind, bool isReduced,
             SearchCost &cost) const {
    bool isWantedDivided = tensor.wanted && tensor.wanted->dim();
    bool mustMove =
        isReduced && kind == CollectiveKind::AllReduce && !isWantedDivided;
    // Gradients of vectors share the buckets of matrices' gradients, and those
    // share buckets with each other. Micro-batches share none.
    bool isInBucket = tensor.isWeight && tensor.isVector && isReduced;
    if (!isInBucket || operation.times > 1)
      ++(tensor.isSmall || (tensor.isWeight && isReduced) ? cost.small
                                                          : cost.collectives);
    if (tensor.isWeight
            ? role == AxisRole::Model && !tensor.isVector && !mustMove
            : role == AxisRole::Data && !tensor.isSmall)
      ++cost.againstRole;
  }

  /// Makes a tensor available in a state; false if that is impossible.
  bool bring(const AxisTensor &tensor, States &states, AxisState to,
             SearchCost &cost) const {
    if (states & bit(to) || (to.dim() && states & wholeBit))
      return true;
    if (to.isPending())
      return false;
    States divided = states & ~(pendingBits | wholeBit | idleBit);
    CollectiveKind kind = to.dim() ? (divided ? CollectiveKind::AllToAll
                                              : CollectiveKind::ReduceScatter)
                                   : (divided ? CollectiveKind::AllGather
                                              : CollectiveKind::AllReduce);
    pay(tensor, kind, /*isReduced=*/!divided, cost);
    cost.earlySums += !divided;
    states |= bit(to);
    return true;
  }

  bool bringOperand(const AxisWay &way, unsigned number, SearchCost &cost) {
    const AxisTensor &tensor = operation.operands[number];
    States &states = statesOf(number);
    AxisState needs = way.needs[number];
    bool couldWork = way.drive.kind != Drive::Index &&
                     needs == AxisState::whole() &&
                     (states | tensor.wantedBit()) & tensor.divisible;
    bool wasWhole = states & wholeBit;
    if (!bring(tensor, states, needs, cost))
      return false;
    if (needs != AxisState::whole())
      return true;
    if (!wasWhole && couldWork) {
      ++cost.idle;
      states |= idleBit;
    } else if (!couldWork && states & idleBit) {
      --cost.idle;
      states &= ~idleBit;
    }
    return true;
  }

  /// Whether a parameter or its gradient meets a whole activation that a data
  /// axis divides. Either the gradient is then gathered along the axis, or all
  /// ranks do the same work.
  bool meetsGathered(const AxisWay &way) const {
    if (role != AxisRole::Data || way.drive.kind == Drive::Pending)
      return false;
    auto isMatrix = [](const AxisTensor &tensor) {
      return tensor.isWeight && !tensor.isVector;
    };
    bool hasParameter = llvm::any_of(operation.results, isMatrix);
    bool isGathered = false;
    for (auto [i, tensor] : llvm::enumerate(operation.operands)) {
      bool isDivided = statesOf(i) & ~(pendingBits | wholeBit | idleBit);
      hasParameter |= isMatrix(tensor);
      isGathered |= !tensor.isWeight && !tensor.isSmall && isDivided &&
                    way.needs[i] == AxisState::whole();
    }
    return hasParameter && isGathered;
  }

  /// The operands of a sum that are pending and not available as the way needs
  /// them, ascending. They are added before they are reduced.
  llvm::SmallVector<unsigned, 4> alike(const AxisWay &way) const {
    llvm::SmallVector<unsigned, 4> found;
    if (!operation.isSum || way.drive.kind == Drive::Pending)
      return found;
    for (unsigned i = 0; i < operation.operands.size(); ++i) {
      States states = statesOf(i);
      bool isThere = states & bit(way.needs[i]) ||
                     (way.needs[i].dim() && states & wholeBit);
      if (!isThere && states & sum())
        found.push_back(i);
    }
    if (found.size() < 2)
      found.clear();
    return found;
  }

  /// Pays for one collective that reduces the sum of all of `group`.
  void reduceTogether(const AxisWay &way, llvm::ArrayRef<unsigned> group,
                      SearchCost &cost) const {
    auto bytesOf = [&](unsigned i) {
      const AxisTensor &tensor = operation.operands[i];
      return tensor.elements * tensor.elementBytes;
    };
    unsigned largest = *std::max_element(
        group.begin(), group.end(),
        [&](unsigned a, unsigned b) { return bytesOf(a) < bytesOf(b); });
    bool scatters =
        way.drive.kind == Drive::Index && llvm::any_of(group, [&](unsigned i) {
          return way.needs[i].dim().has_value();
        });
    // The sum has the result's precision.
    pay(operation.operands[largest], operation.results.front().elementBytes,
        scatters ? CollectiveKind::ReduceScatter : CollectiveKind::AllReduce,
        /*isReduced=*/true, cost);
  }

  bool bringOperands(const AxisWay &way, SearchCost &cost) {
    // The sum over ranks must come after the conversion.
    if (operation.isConvertingSum && statesOf(0) & sum() &&
        way.drive.kind != Drive::Pending)
      return false;
    llvm::SmallVector<unsigned, 4> group = alike(way);
    if (!group.empty())
      reduceTogether(way, group, cost);
    cost.againstRole += meetsGathered(way);
    for (unsigned i = 0; i < operation.operands.size(); ++i)
      if (!std::binary_search(group.begin(), group.end(), i) &&
          !bringOperand(way, i, cost))
        return false;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Results
  //===--------------------------------------------------------------------===//

  /// Leaves each result from number `next` on in its wanted state or, if it may
  /// depart from it, as computed. Each combination is an outcome.
  void leaveResults(const AxisWay &way, AxisOutcome outcome, unsigned next,
                    const SearchCost &cost) {
    if (next == operation.results.size()) {
      outcome.cost = cost;
      outcome.cost *= operation.times;
      outcome.states.assign(current.begin(), current.end());
      outcomes.push_back(std::move(outcome));
      return;
    }
    const AxisTensor &tensor = operation.results[next];
    States &left = current[operation.operands.size() + next];
    AxisState comesOut = way.results[next];
    if (tensor.wanted) {
      SearchCost paid = cost;
      States states = bit(comesOut);
      if (bring(tensor, states, *tensor.wanted, paid)) {
        paid.earlySums = cost.earlySums; // early sums are those of operands
        left = bit(*tensor.wanted);
        leaveResults(way, outcome, next + 1, paid);
      }
    }
    bool mayStay =
        !tensor.wanted || (comesOut != *tensor.wanted && tensor.mayDepart);
    if (!mayStay)
      return;
    left = bit(comesOut);
    outcome.kept |= 1u << next;
    SearchCost paid = cost;
    if (comesOut.isPending())
      for (const AxisTensor &made : operation.reducedLater[next])
        pay(made, CollectiveKind::AllReduce, /*isReduced=*/true, paid);
    leaveResults(way, std::move(outcome), next + 1, paid);
  }

  const AxisOperation &operation;
  llvm::ArrayRef<States> given;
  AxisRole role;
  int64_t size;
  llvm::SmallVector<States, 8> current; ///< states along the current way
  std::vector<AxisOutcome> outcomes;
};

} // namespace

std::vector<AxisOutcome> tpsp::outcomesOf(const AxisOperation &operation,
                                          llvm::ArrayRef<States> states,
                                          AxisRole role, int64_t size) {
  return Following(operation, states, role, size).run();
}
