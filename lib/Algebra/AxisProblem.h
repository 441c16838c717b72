/// One axis of a placement problem: its operations, as the axis sees them.
#ifndef TPSP_ALGEBRA_AXISPROBLEM_H
#define TPSP_ALGEBRA_AXISPROBLEM_H

#include "AxisExtents.h"
#include "AxisOperation.h"

#include "tpsp/Algebra/ShardsIndex.h"

#include "llvm/ADT/STLExtras.h"

#include <vector>

namespace tpsp {

/// Holds references to the problem and the decisions, which must outlive it.
class AxisProblem : public AxisExtents {
public:
  AxisProblem(const PlacementProblem &problem, const DecidedAxes &decided,
              AxisId axis)
      : AxisExtents(problem, decided, axis),
        role(problem.mesh.axis(axis).role) {
    for (const Operation &operation : problem.operations)
      divided.push_back(indicesDivided(operation));
    findDemand();
  }

  /// The wanted state of a value along the axis.
  AxisState stateOf(unsigned value) const {
    return AxisState::of(*problem.values[value].wanted, axis);
  }

  AxisOperation operation(size_t at) const {
    const Operation &source = problem.operations[at];
    AxisOperation operation;
    operation.ways = waysOf(at);
    for (auto [i, value] : llvm::enumerate(source.operands)) {
      operation.operands.push_back(describe(value));
      operation.operands.back().divisible = divisible(source, i);
      operation.sameAs.push_back(llvm::find(source.operands, value) -
                                 source.operands.begin());
    }
    for (unsigned value : source.results) {
      operation.results.push_back(describe(value));
      operation.reducedLater.push_back(reducedLater(value));
    }
    operation.isSum = source.isSum;
    operation.isConvertingSum = source.isConvertingSum;
    operation.isReshard = source.isReshard;
    operation.work = static_cast<__int128>(source.structure.work());
    operation.times = source.times;
    return operation;
  }

protected:
  AxisRole role;

private:
  //===--------------------------------------------------------------------===//
  // Ways
  //===--------------------------------------------------------------------===//

  /// The indices that the axis may drive.
  llvm::SmallVector<IndexId, 4> indicesDivided(const Operation &operation) {
    const IndexStructure &structure = operation.structure;
    llvm::SmallVector<IndexId, 4> found;
    for (IndexId index = 0; index < structure.indices.size(); ++index)
      if (!structure.indices[index].whole && divides(operation, index))
        found.push_back(index);
    return found;
  }

  /// The ways of an operation. An index of shards exists because axes divide
  /// it, so there is no other way for it.
  std::vector<AxisWay> waysOf(size_t at) const {
    const Operation &operation = problem.operations[at];
    const IndexStructure &structure = operation.structure;
    for (IndexId index : divided[at])
      if (isShardsIndex(structure.indices[index].name) &&
          isExpectedOn(operation, index))
        return {alongIndex(at, index)};
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
    for (IndexId index : divided[at])
      ways.push_back(alongIndex(at, index));
    return ways;
  }

  AxisWay alongIndex(size_t at, IndexId index) const {
    const Operation &operation = problem.operations[at];
    AxisWay way = along(operation.structure, {Drive::Index, index});
    way.isWanted = isWantedOn(operation, index);
    return way;
  }

  /// Whether a tensor of the operation is expected to have the axis on the
  /// index.
  bool isExpectedOn(const Operation &operation, IndexId index) const {
    return !allTensors(
        operation, [&](const IndexStructure::Tensor &tensor, unsigned value) {
          std::optional<unsigned> dim = tensor.dimOf(index);
          return !dim || AxisState::of(expected(value), axis).dim() != dim;
        });
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

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  AxisTensor describe(unsigned number) const {
    const Value &value = problem.values[number];
    AxisTensor tensor;
    for (auto [dim, extent] : llvm::enumerate(value.shape))
      tensor.elements *=
          std::max<int64_t>(extent / partsByOthers(number, dim), 1);
    tensor.elementBytes = value.elementBytes;
    tensor.isWeight = value.isWeight;
    tensor.isSmall = value.isSmall;
    tensor.isVector = value.shape.size() < 2;
    if (!value.wanted)
      return tensor;
    tensor.wanted = stateOf(number);
    tensor.mayDepart = mayDepart(number);
    return tensor;
  }

  /// The states of an operand that divide the operation's work: they divide a
  /// dimension whose major index may be sharded.
  States divisible(const Operation &operation, unsigned operand) const {
    const IndexStructure &structure = operation.structure;
    auto hasNumbers = [&](unsigned other) {
      return !problem.values[operation.operands[other]].isSmall;
    };
    States states = 0;
    for (auto [dim, index] :
         llvm::enumerate(structure.operands[operand].indices))
      if (!structure.indices[index].whole &&
          !structure.isLookedUp(operand, index, hasNumbers))
        states |= bit(AxisState::on(dim));
    return states;
  }

  /// The tensors that the other phase reduces if the value stays a pending sum.
  llvm::SmallVector<AxisTensor, 1> reducedLater(unsigned value) const {
    const auto &readers = problem.values[value].readers;
    bool allLinear = llvm::all_of(
        readers, [](const auto &reader) { return reader.has_value(); });
    llvm::SmallVector<AxisTensor, 1> reduced;
    if (!allLinear)
      reduced.push_back(describe(value));
    else
      for (std::optional<unsigned> made : readers)
        reduced.push_back(describe(*made));
    return reduced;
  }

  /// Whether a value with a wanted state may be in another state.
  bool mayDepart(unsigned value) const {
    Value::Freedom freedom = problem.values[value].freedom;
    return freedom == Value::Free ||
           (freedom == Value::Undivided && !stateOf(value).dim());
  }

  //===--------------------------------------------------------------------===//
  // Demand
  //===--------------------------------------------------------------------===//

  /// Finds the dimensions on which free values are useful. Spreads the wanted
  /// states of tensors through the operations, forwards, then backwards.
  void findDemand() {
    demand.assign(problem.values.size(), 0);
    size_t count = problem.operations.size();
    for (size_t at = 0; at < count; ++at)
      spread(at, problem.operations[at].structure.results,
             problem.operations[at].results);
    for (size_t at = count; at-- > 0;)
      spread(at, problem.operations[at].structure.operands,
             problem.operations[at].operands);
  }

  /// Spreads demand for an index on which one tensor is wanted to the other
  /// tensors that have the index.
  void spread(size_t at, llvm::ArrayRef<IndexStructure::Tensor> tensors,
              llvm::ArrayRef<unsigned> values) {
    for (IndexId index : divided[at]) {
      if (!isWantedOn(problem.operations[at], index))
        continue;
      for (auto [tensor, value] : llvm::zip_equal(tensors, values))
        if (std::optional<unsigned> dim = tensor.dimOf(index))
          demand[value] |= bit(AxisState::on(*dim));
    }
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

  /// Per operation, the indices that the axis may drive.
  std::vector<llvm::SmallVector<IndexId, 4>> divided;
  /// Per value, the states in which other operations would use it.
  std::vector<States> demand;
};

} // namespace tpsp

#endif // TPSP_ALGEBRA_AXISPROBLEM_H
