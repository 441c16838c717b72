#include "MovementModel.h"
#include "Ledger.h"

#include "tpsp/Dialect/Plan/PlanDialect.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

double OverlapRule::exposed(CollectiveKind kind, double seconds,
                            double products, int64_t group) const {
  if (kind == CollectiveKind::Slice)
    return 0;
  // The backward pass gathers again what the forward pass gathered.
  int backward = grad + (grad && kind == CollectiveKind::AllGather);
  if (!overlap)
    return (1 + backward) * seconds;
  bool isCut = kind != CollectiveKind::AllReduce;
  double under = products * double(group - 1) / double(group);
  double left = std::max(0.0, seconds - under);
  return (isCut ? left : seconds) + backward * left;
}

double tpsp::productSeconds(IndexedOpInterface op, ArrayRef<Placement> operands,
                            const Mesh &mesh, const CostModel &cost) {
  const std::optional<Factors> factors = factorsOf(op);
  if (!factors)
    return 0;
  const IndexStructure &structure = factors->structure;
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  MatmulWork work;
  auto multiply = [&](const IndexStructure::Tensor &tensor,
                      ArrayRef<int64_t> shape, auto factorOf) {
    for (auto [index, extent] : llvm::zip_equal(tensor.indices, shape))
      if (int64_t *factor =
              index == factors->chosen ? nullptr : factorOf(index))
        *factor *= extent;
  };
  auto shapeOf = [&](unsigned operand) {
    auto type = cast<RankedTensorType>(op->getOperand(operand).getType());
    return localShape(type.getShape(), operands[operand], mesh);
  };
  const IndexStructure::Tensor &a = structure.operands[0],
                               &b = structure.operands[1],
                               &c = structure.results[0];
  multiply(a, shapeOf(factors->a), [&](IndexId index) {
    if (!c.dimOf(index))
      return &work.k;
    return b.dimOf(index) ? &work.batch : &work.m;
  });
  multiply(b, shapeOf(factors->b), [&](IndexId index) -> int64_t * {
    return a.dimOf(index) ? nullptr : &work.n;
  });
  return cost.matmulSeconds(work, plan::runtimeType(result.getElementType()));
}

namespace {

/// A placement that operations need a value in, and the seconds of the products
/// among them.
struct Use {
  Placement needs;
  double products = 0;
};

} // namespace

static Use &useOf(SmallVectorImpl<Use> &uses, const Placement &needs) {
  auto *known =
      llvm::find_if(uses, [&](const Use &use) { return use.needs == needs; });
  if (known != uses.end())
    return *known;
  return uses.emplace_back(Use{needs});
}

Movement MovementModel::movementOf(ArrayRef<Operation *> ops) const {
  Movement sum;
  llvm::MapVector<Value, SmallVector<Use, 1>> moved;
  for (Operation *op : ops) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!indexed)
      continue;
    PlacedStructure placed(indexed, mesh);
    auto choice = chooseComputePlacement(placed.get());
    if (!choice)
      continue;
    bool goesUnder = cost && rule.overlap;
    double product =
        goesUnder ? productSeconds(indexed, choice->operands, mesh, *cost) : 0;
    for (auto [i, needs] : llvm::enumerate(choice->operands))
      useOf(moved[op->getOperand(i)], needs).products += product;
    for (auto [i, result] : llvm::enumerate(choice->results))
      if (placed.wanted[i])
        add(sum, op->getResult(i), result, *placed.wanted[i], product);
    sum.seconds += passes * computeSeconds(indexed);
  }
  for (auto &[value, uses] : moved)
    for (const Use &use : uses)
      add(sum, value, placementOf(value.getType(), mesh), use.needs,
          use.products);
  return sum;
}

/// Seconds of an operation that memory bounds. Other operations count as 0,
/// because products take equally long in either case.
double MovementModel::computeSeconds(IndexedOpInterface op) const {
  if (!cost || op.isView() || pending.lookup(op) || op.isSumOfProducts() ||
      factorsOf(op))
    return 0;
  // Only a slice of an operand is read if it is larger than the result's part.
  int64_t result = tpsp::localBytes(op->getResult(0).getType(), mesh);
  double bytes = result;
  for (Value operand : op->getOperands())
    bytes += std::min(result, tpsp::localBytes(operand.getType(), mesh));
  return cost->copySeconds(bytes);
}

void MovementModel::add(Movement &sum, Value value, const Placement &from,
                        const Placement &to, double products) const {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<Transition> steps = planTransition(from, to, mesh);
  if (!steps)
    return;
  int64_t width = type.getElementTypeBitWidth() / 8;
  sum.bytes += tpsp::cost(*steps, from, type.getShape(), width, mesh).bytes;
  if (!cost)
    return;
  const Placement *before = &from;
  for (const CollectiveStep &step : *steps) {
    int64_t bytes = std::max(localBytes(type, *before, width),
                             localBytes(type, step.after, width));
    double seconds = step.kind == CollectiveKind::Slice
                         ? 0
                         : cost->collectiveSeconds(step.kind, bytes, step.axes);
    sum.seconds +=
        rule.exposed(step.kind, seconds, products, mesh.groupSize(step.axes));
    before = &step.after;
  }
}

int64_t MovementModel::localBytes(RankedTensorType type,
                                  const Placement &placement,
                                  int64_t width) const {
  int64_t bytes = width;
  for (int64_t extent : localShape(type.getShape(), placement, mesh))
    bytes *= extent;
  return bytes;
}
