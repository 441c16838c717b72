/// One axis of a placement problem: the ways that an operation may go along it,
/// and what they cost.
#ifndef TPSP_ALGEBRA_AXISPROBLEM_H
#define TPSP_ALGEBRA_AXISPROBLEM_H

#include "tpsp/Algebra/PlacementSearch.h"

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

/// What was decided of the axes that were searched before.
struct DecidedAxes {
  llvm::SmallVector<bool, 4> is; ///< per axis
  PlacementAnswer answer;
};

/// Refers to the problem and to what was decided, which outlive it.
class AxisProblem {
public:
  using Value = PlacementProblem::Value;
  using Operation = PlacementProblem::Operation;

  AxisProblem(const PlacementProblem &problem, const DecidedAxes &decided,
              AxisId axis)
      : problem(problem), decided(decided), axis(axis),
        size(problem.mesh.size(axis)), role(problem.mesh.axis(axis).role) {
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
    const Value &v = problem.values[value];
    int64_t bytes = v.elementBytes;
    for (auto [dim, extent] : llvm::enumerate(v.shape))
      bytes *= std::max<int64_t>(extent / partsByOthers(value, dim), 1);
    return bytes;
  }

  void pay(unsigned value, CollectiveKind kind, bool isReduced,
           SearchCost &cost) const {
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
    int64_t bytes = localBytes(value);
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

  /// Whether an extent that the axis divides was too small for it because of
  /// other axes: then it matters which axis is searched first.
  bool wasCrowded() const { return isCrowded; }

protected:
  const PlacementProblem &problem;
  const DecidedAxes &decided;
  AxisId axis;
  int64_t size;
  AxisRole role;

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

  bool isUndecided(AxisId other) const {
    return other != axis && !decided.is[other];
  }

  /// Into how many parts the other axes divide a dimension: where those that
  /// are decided leave the value, and the rest is expected to.
  int64_t partsByOthers(unsigned value, unsigned dim) const {
    int64_t parts = 1;
    for (auto [other, is] : llvm::enumerate(decided.is))
      if (is && decided.answer.homes[value][other].dim() == dim)
        parts *= problem.mesh.size(other);
    for (AxisId other : expected(value).dims[dim])
      if (isUndecided(other))
        parts *= problem.mesh.size(other);
    return parts;
  }

  /// Into how many parts the decided axes divide the index of an operation.
  int64_t partsDecided(const Operation &operation, IndexId index) const {
    const llvm::SmallVector<Drive, 2> &drives =
        decided.answer.drives[&operation - problem.operations.data()];
    int64_t parts = 1;
    for (auto [other, is] : llvm::enumerate(decided.is))
      if (is && drives[other] == Drive{Drive::Index, index})
        parts *= problem.mesh.size(other);
    return parts;
  }

  /// Into how many parts axes that are not decided yet are expected to divide
  /// the index, where it is a dimension of its own.
  int64_t partsExpected(const Operation &operation, IndexId index) const {
    int64_t parts = 1;
    allTensors(operation,
               [&](const IndexStructure::Tensor &tensor, unsigned value) {
                 std::optional<unsigned> dim = tensor.dimOf(index);
                 if (!dim || tensor.parts(*dim).size() > 1)
                   return true;
                 int64_t here = 1;
                 for (AxisId other : expected(value).dims[*dim])
                   if (isUndecided(other))
                     here *= problem.mesh.size(other);
                 parts = std::max(parts, here);
                 return true;
               });
    return parts;
  }

  /// Whether the parts of merged dimensions before a divided one are used up,
  /// if the axis drives `index`.
  bool isOneBlock(const Operation &operation, IndexId index) const {
    const IndexStructure &structure = operation.structure;
    auto ranks = [&](IndexId part) {
      return partsDecided(operation, part) * partsExpected(operation, part) *
             (part == index ? size : 1);
    };
    return allTensors(
        operation, [&](const IndexStructure::Tensor &tensor, unsigned) {
          std::optional<unsigned> dim = tensor.dimOf(index);
          return !dim || structure.isOneBlock(tensor, *dim, ranks);
        });
  }

  /// Whether the axis divides the index's extents, together with the axes that
  /// are there anyway, or drive it.
  bool divides(const Operation &operation, IndexId index) const {
    if (!isOneBlock(operation, index))
      return false;
    int64_t driven = size * partsDecided(operation, index);
    auto fits = [&](const IndexStructure::Tensor &tensor, unsigned value) {
      std::optional<unsigned> dim = tensor.dimOf(index);
      if (!dim)
        return true;
      int64_t parts = driven;
      for (AxisId other : expected(value).dims[*dim])
        if (isUndecided(other))
          parts *= problem.mesh.size(other);
      bool isEven = tensor.shape[*dim] % parts == 0;
      isCrowded |= !isEven && tensor.shape[*dim] % size == 0;
      return isEven;
    };
    return allTensors(operation, fits);
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
                 !(value.freedom == Value::Free && demand[number] & bit(state));
        });
  }

  template <typename Test>
  static bool allTensors(const Operation &operation, Test test) {
    const IndexStructure &structure = operation.structure;
    for (auto [tensor, value] :
         llvm::zip_equal(structure.operands, operation.operands))
      if (!test(tensor, value))
        return false;
    for (auto [tensor, value] :
         llvm::zip_equal(structure.results, operation.results))
      if (!test(tensor, value))
        return false;
    return true;
  }

  const Placement &expected(unsigned value) const {
    const Value &v = problem.values[value];
    return v.wanted ? *v.wanted : v.expected;
  }

  /// Per value: the states that other operations would have it in.
  std::vector<States> demand;
  mutable bool isCrowded = false;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISPROBLEM_H
