#include "EpilogueForms.h"

#include "tpsp/Dialect/Tpsp/Operations/FunctionOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// x, x + bias, or a function of either, where x and bias are read by the
/// kernel.
struct Chain {
  Value product, bias = {}, slopeOf = {};
  bool isGelu = false;
};

/// Whether `vector` has the last indices of `matrix`, but not all.
bool isSuffix(Value vector, Value matrix) {
  SmallVector<LoopIndex> inner = loopIndices(vector.getType()),
                         all = loopIndices(matrix.getType());
  return inner.size() < all.size() &&
         ArrayRef<LoopIndex>(all).take_back(inner.size()) ==
             ArrayRef<LoopIndex>(inner);
}

ScalarFormula formulaOf(Operation *op) {
  return cast<LoopOpInterface>(op).getScalarFormula();
}

/// Whether the value at a point is its operand's element: a sum or product of
/// one.
bool isSingle(Operation *op) {
  ScalarFormula::Kind kind = formulaOf(op).kind;
  return op->getNumOperands() == 1 &&
         (kind == ScalarFormula::Sum || kind == ScalarFormula::Product);
}

/// Whether each element of the result is an element of the operand, rounded.
bool isCopy(Operation *op) { return isSingle(op) && isPointwise(op); }

class EpilogueMatcher {
public:
  explicit EpilogueMatcher(const KernelGroup &group) : group(group) {}

  std::optional<EpilogueForm> match() const {
    EpilogueForm form;
    bool matches = llvm::all_of(group.getOps(), isPointwise)
                       ? matchPointwise(form)
                       : matchSums(form);
    return matches ? std::optional(std::move(form)) : std::nullopt;
  }

  std::optional<EpilogueForm> matchAdditions(const SumMemory &sums) const {
    EpilogueForm form;
    for (Value output : group.getOutputs()) {
      std::optional<PointwiseEpilogue> part = additionOf(output, sums);
      if (!part)
        return std::nullopt;
      form.pointwise.push_back(std::move(*part));
    }
    return form;
  }

private:
  using Result = std::pair<Chain, Value>;

  /// The kernel's operation that computes a value, past copies; null for values
  /// that the kernel reads.
  Operation *makerOf(Value value) const {
    Value made = uncopied(value);
    return group.produces(made) ? made.getDefiningOp() : nullptr;
  }

  Value uncopied(Value value) const {
    while (group.produces(value) && isCopy(value.getDefiningOp()))
      value = value.getDefiningOp()->getOperand(0);
    return value;
  }

  //===--------------------------------------------------------------------===//
  // Elementwise epilogues
  //===--------------------------------------------------------------------===//

  bool matchPointwise(EpilogueForm &form) const {
    llvm::MapVector<Value, SmallVector<Result, 2>> results;
    for (Value output : group.getOutputs()) {
      std::optional<Chain> chain = chainOf(output, output);
      if (!chain)
        return false;
      results[chain->product].push_back({*chain, output});
    }
    for (const auto &[product, chains] : results) {
      std::optional<PointwiseEpilogue> part = partOf(chains);
      if (!part)
        return false;
      form.pointwise.push_back(std::move(*part));
    }
    return true;
  }

  /// The tensor, read by the kernel, that `value` copies with the indices of
  /// `output`; else null.
  Value matrixOf(Value value, Value output) const {
    Value read = uncopied(value);
    bool isMatrix = !group.produces(read) && loopIndices(read.getType()) ==
                                                 loopIndices(output.getType());
    return isMatrix ? read : Value();
  }

  Value vectorOf(Value value, Value output) const {
    Value read = uncopied(value);
    return !group.produces(read) && isSuffix(read, output) ? read : Value();
  }

  /// x or x + bias.
  std::optional<Chain> sumOf(Value value, Value output) const {
    if (Value matrix = matrixOf(value, output))
      return Chain{matrix};
    Operation *op = makerOf(value);
    if (!op || formulaOf(op).kind != ScalarFormula::Sum ||
        op->getNumOperands() != 2)
      return std::nullopt;
    for (unsigned i : {0, 1}) {
      Value matrix = matrixOf(op->getOperand(i), output),
            vector = vectorOf(op->getOperand(1 - i), output);
      if (matrix && vector)
        return Chain{matrix, vector};
    }
    return std::nullopt;
  }

  std::optional<Chain> chainOf(Value value, Value output) const {
    if (std::optional<Chain> sum = sumOf(value, output))
      return sum;
    Operation *op = makerOf(value);
    if (!op)
      return std::nullopt;
    ScalarFormula formula = formulaOf(op);
    if (formula.kind == ScalarFormula::Function &&
        formula.function == GeluOp::function) {
      std::optional<Chain> chain = sumOf(op->getOperand(0), output);
      if (chain)
        chain->isGelu = true;
      return chain;
    }
    if (formula.kind == ScalarFormula::Product && op->getNumOperands() == 2)
      for (unsigned i : {0, 1}) {
        Value matrix = matrixOf(op->getOperand(i), output),
              argument = argumentOfSlope(op->getOperand(1 - i), output);
        if (matrix && argument)
          return Chain{matrix, /*bias=*/{}, argument};
      }
    return std::nullopt;
  }

  /// The matrix whose GELU derivative a value is; null if there is none.
  Value argumentOfSlope(Value value, Value output) const {
    Operation *op = makerOf(value);
    if (!op || formulaOf(op).kind != ScalarFormula::Slope ||
        formulaOf(op).function != GeluOp::function)
      return {};
    return matrixOf(op->getOperand(0), output);
  }

  /// The results that come from one product: its GELU, and the GELU's argument.
  static std::optional<PointwiseEpilogue> partOf(ArrayRef<Result> results) {
    const Result *last = &results.front(), *kept = nullptr;
    if (results.size() == 2) {
      kept = &results[results[0].first.isGelu];
      last = &results[!results[0].first.isGelu];
    }
    const Chain &chain = last->first;
    bool isUnchanged = !chain.bias && !chain.isGelu && !chain.slopeOf;
    if (results.size() > 2 || isUnchanged)
      return std::nullopt;
    if (kept && (!chain.isGelu || kept->first.isGelu || kept->first.slopeOf ||
                 kept->first.bias != chain.bias))
      return std::nullopt;
    PointwiseEpilogue part{chain.product, last->second, {}};
    if (chain.bias)
      part.steps.push_back({rt::EpilogueStep::Bias, chain.bias});
    if (kept)
      part.steps.push_back({rt::EpilogueStep::Keep, kept->second});
    if (chain.isGelu)
      part.steps.push_back({rt::EpilogueStep::Gelu});
    if (chain.slopeOf)
      part.steps.push_back({rt::EpilogueStep::Slope, chain.slopeOf});
    return part;
  }

  //===--------------------------------------------------------------------===//
  // Additions to sums over micro-batches
  //===--------------------------------------------------------------------===//

  std::optional<PointwiseEpilogue> additionOf(Value output,
                                              const SumMemory &sums) const {
    auto memory = sums.find(output);
    Operation *op = output.getDefiningOp();
    if (memory == sums.end() || !isPointwise(op) ||
        formulaOf(op).kind != ScalarFormula::Sum || op->getNumOperands() != 2)
      return std::nullopt;
    for (unsigned i : {0, 1}) {
      Value product = matrixOf(op->getOperand(i), output),
            sum = op->getOperand(1 - i);
      auto root = sums.find(sum);
      if (product &&
          (root == sums.end() ? sum : root->second) == memory->second)
        return PointwiseEpilogue{
            product, output, {{rt::EpilogueStep::Add, sum}}};
    }
    return std::nullopt;
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  bool matchSums(EpilogueForm &form) const {
    for (Value output : group.getOutputs()) {
      Value summed = summedBy(makerOf(output));
      if (!summed || !isSuffix(output, summed))
        return false;
      form.sums.push_back({summed, output});
    }
    return true;
  }

  /// The tensor, read by the kernel, that an operation sums; null if it does
  /// anything else.
  Value summedBy(Operation *op) const {
    if (!op || !isSumOfOne(op))
      return {};
    Value summed = uncopied(op->getOperand(0));
    return group.produces(summed) ? Value() : summed;
  }

  const KernelGroup &group;
};

} // namespace

bool tpsp::isSumOfOne(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  return indexed && isa<LoopOpInterface>(op) && isSingle(op) &&
         indexed.getReduction() == Reduction::Sum && !isPointwise(op);
}

std::optional<EpilogueForm> tpsp::matchEpilogue(const KernelGroup &group) {
  return EpilogueMatcher(group).match();
}

std::optional<EpilogueForm> tpsp::matchAdditions(const KernelGroup &group,
                                                 const SumMemory &sums) {
  return EpilogueMatcher(group).matchAdditions(sums);
}
