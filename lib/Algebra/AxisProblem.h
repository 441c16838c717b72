/// One axis of a placement problem: the ways that an operation may go along it,
/// and what they cost.
#ifndef TPSP_ALGEBRA_AXISPROBLEM_H
#define TPSP_ALGEBRA_AXISPROBLEM_H

#include "AxisExtents.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace tpsp {

/// The states in which a value is available: a bit for each, and one that says
/// that only an operation which could have done without it has gathered it.
using States = char32_t;
constexpr States idleBit = States(1) << 31;
inline States bit(AxisState state) { return States(1) << state.number(); }
inline const States wholeBit = bit(AxisState::whole());
inline const States pendingBits = bit(AxisState::pending(Reduction::Sum)) |
                                  bit(AxisState::pending(Reduction::Max));
constexpr unsigned mostDims = 27; // more bits there are not

/// One drive of an operation, as one axis sees it.
struct AxisWay {
  Drive drive;
  llvm::SmallVector<AxisState, 3> needs;
  llvm::SmallVector<AxisState, 1> results;
  /// Whether a tensor is wanted on the index, wherever it comes out.
  bool isWanted = false;
};

/// Refers to the problem and to what was decided, which outlive it.
class AxisProblem : public AxisExtents {
public:
  AxisProblem(const PlacementProblem &problem, const DecidedAxes &decided,
              AxisId axis)
      : AxisExtents(problem, decided, axis),
        role(problem.mesh.axis(axis).role) {
    findDemand();
  }

  /// Where a value is wanted along the axis.
  AxisState stateOf(unsigned value) const {
    return AxisState::of(*problem.values[value].wanted, axis);
  }

  /// In the order of preference among equals.
  std::vector<AxisWay> waysOf(const Operation &operation) const {
    const IndexStructure &structure = operation.structure;
    std::vector<AxisWay> ways = {along(structure, {})};
    auto all = [](unsigned) { return true; };
    AxisState sum = AxisState::pending(Reduction::Sum);
    if (!structure.operands.empty()) {
      if (structure.linearity == Linearity::Joint)
        ways.push_back(passing(structure, sum, all));
      if (structure.linearity == Linearity::Multi)
        for (unsigned i = 0; i < structure.operands.size(); ++i) {
          ways.push_back(
              passing(structure, sum, [&](unsigned j) { return i == j; }));
          ways.back().drive.index = i;
        }
      if (structure.selects)
        ways.push_back(
            passing(structure, AxisState::pending(Reduction::Max), all));
    }
    for (IndexId index = 0; index < structure.indices.size(); ++index) {
      if (structure.indices[index].whole || !divides(operation, index))
        continue;
      ways.push_back(along(structure, {Drive::Index, index}));
      ways.back().isWanted = isWantedOn(operation, index);
    }
    return ways;
  }

  /// Bytes of a rank's shard, were it not for this axis.
  int64_t localBytes(unsigned value) const {
    return localBytes(value, problem.values[value].elementBytes);
  }
  /// Likewise if elements had so many bytes.
  int64_t localBytes(unsigned value, int64_t elementBytes) const {
    const Value &v = problem.values[value];
    int64_t bytes = elementBytes;
    for (auto [dim, extent] : llvm::enumerate(v.shape))
      bytes *= std::max<int64_t>(extent / partsByOthers(value, dim), 1);
    return bytes;
  }

  void pay(unsigned value, CollectiveKind kind, bool isReduced,
           SearchCost &cost) const {
    pay(value, problem.values[value].elementBytes, kind, isReduced, cost);
  }

  /// What is moved has the value's shape, in elements of `elementBytes`.
  void pay(unsigned value, int64_t elementBytes, CollectiveKind kind,
           bool isReduced, SearchCost &cost) const {
    const Value &v = problem.values[value];
    bool isVector = v.shape.size() < 2;
    bool isWantedDivided = v.wanted && stateOf(value).dim();
    bool mustMove =
        isReduced && kind == CollectiveKind::AllReduce && !isWantedDivided;
    // Gradients of vectors are reduced with those of matrices, and these with
    // each other.
    if (!(v.isWeight && isVector && isReduced))
      ++(v.isSmall || (v.isWeight && isReduced) ? cost.small
                                                : cost.collectives);
    if (v.isWeight ? role == AxisRole::Model && !isVector && !mustMove
                   : role == AxisRole::Data && !v.isSmall)
      ++cost.againstRole;
    int64_t bytes = localBytes(value, elementBytes);
    if (kind == CollectiveKind::AllToAll)
      bytes /= size;
    cost.bytes += bytesSent(kind, bytes, size);
  }

  /// Whether a sum may wait that need not be where it is wanted. A
  /// reduce-scatter makes a tensor smaller: a gradient does not wait for it,
  /// nor does what is saved.
  bool mayWait(unsigned value) const {
    const Value &v = problem.values[value];
    return (v.freedom == Value::Free && v.readers.empty()) ||
           !stateOf(value).dim();
  }

  /// Whether a value that is wanted somewhere may be elsewhere.
  bool mayDepart(unsigned value) const {
    Value::Freedom freedom = problem.values[value].freedom;
    return freedom == Value::Free ||
           (freedom == Value::Undivided && !stateOf(value).dim());
  }

  /// What the other phase pays for a sum that waits.
  void payReaders(unsigned value, SearchCost &cost) const {
    const auto &readers = problem.values[value].readers;
    bool allLinear = llvm::all_of(
        readers, [](const auto &reader) { return reader.has_value(); });
    if (!allLinear)
      return pay(value, CollectiveKind::AllReduce, /*isReduced=*/true, cost);
    for (std::optional<unsigned> made : readers)
      pay(*made, CollectiveKind::AllReduce, /*isReduced=*/true, cost);
  }

  /// Makes a value available in a state; false if it cannot be.
  bool bring(unsigned value, States &states, AxisState to,
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
    pay(value, kind, /*isReduced=*/!divided, cost);
    cost.earlySums += !divided;
    states |= bit(to);
    return true;
  }

  States wantedBit(unsigned value) const {
    return problem.values[value].wanted ? bit(stateOf(value)) : 0;
  }

  /// Whether an operation that all ranks do alike could have worked on the
  /// operand where it is, or is wanted.
  static bool couldDivide(const IndexStructure &structure, unsigned operand,
                          States states) {
    for (auto [dim, index] :
         llvm::enumerate(structure.operands[operand].indices))
      if (states & bit(AxisState::on(dim)) && !structure.indices[index].whole)
        return true;
    return false;
  }

private:
  /// On which dimensions values that may stay as they come out may be had, from
  /// where tensors are wanted: forwards, then backwards.
  void findDemand() {
    demand.assign(problem.values.size(), 0);
    for (const Operation &operation : problem.operations)
      spread(operation, operation.structure.results, operation.results);
    for (const Operation &operation : llvm::reverse(problem.operations))
      spread(operation, operation.structure.operands, operation.operands);
  }

  /// To the values that are on an index on which another one is.
  void spread(const Operation &operation,
              llvm::ArrayRef<IndexStructure::Tensor> tensors,
              llvm::ArrayRef<unsigned> values) {
    const IndexStructure &structure = operation.structure;
    for (IndexId index = 0; index < structure.indices.size(); ++index) {
      if (structure.indices[index].whole || !divides(operation, index) ||
          !isWantedOn(operation, index))
        continue;
      for (auto [tensor, value] : llvm::zip_equal(tensors, values))
        if (std::optional<unsigned> dim = tensor.dimOf(index))
          demand[value] |= bit(AxisState::on(*dim));
    }
  }

  static AxisState onIndex(const IndexStructure::Tensor &tensor,
                           IndexId index) {
    std::optional<unsigned> dim = tensor.dimOf(index);
    return dim ? AxisState::on(*dim) : AxisState::whole();
  }

  AxisWay along(const IndexStructure &structure, const Drive &drive) const {
    AxisWay way;
    way.drive = drive;
    bool drives = drive.kind == Drive::Index;
    for (const auto &tensor : structure.operands)
      way.needs.push_back(drives ? onIndex(tensor, drive.index)
                                 : AxisState::whole());
    for (const auto &tensor : structure.results)
      way.results.push_back(drives && !tensor.dimOf(drive.index)
                                ? AxisState::pending(structure.reduction)
                            : drives ? onIndex(tensor, drive.index)
                                     : AxisState::whole());
    return way;
  }

  /// The pending state `state` passes through the operands marked.
  AxisWay passing(const IndexStructure &structure, AxisState state,
                  llvm::function_ref<bool(unsigned)> isPending) const {
    AxisWay way = along(structure, {Drive::Pending, 0});
    for (unsigned i = 0; i < way.needs.size(); ++i)
      if (isPending(i))
        way.needs[i] = state;
    way.results.assign(way.results.size(), state);
    return way;
  }

  bool isWantedOn(const Operation &operation, IndexId index) const {
    return !allTensors(
        operation, [&](const IndexStructure::Tensor &tensor, unsigned number) {
          std::optional<unsigned> dim = tensor.dimOf(index);
          if (!dim)
            return true;
          const Value &value = problem.values[number];
          AxisState state = AxisState::on(*dim);
          return !(value.wanted && stateOf(number) == state) &&
                 !(mayDepart(number) && demand[number] & bit(state));
        });
  }

  AxisRole role;
  /// Per value: the states that other operations would have it in.
  std::vector<States> demand;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISPROBLEM_H
