#include "PlannedCommands.h"

#include "EpilogueForms.h"
#include "PlanMatmul.h"

#include "Passes/Kernels/KernelGrouping.h"
#include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.h"
#include "tpsp/Dialect/Tpsp/Operations/CollectiveOps.h"
#include "tpsp/Passes/Kernels/KernelInterfaces.h"
#include "tpsp/Schedule/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

/// Matches a matrix product, or gives the obstacle; nullopt if `op` is not a
/// product.
static std::optional<MatmulMatch> matchProduct(Operation *op) {
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed || !indexed.isSumOfProducts())
    return std::nullopt;
  return matchMatmul(indexed.getIndexStructure());
}

static bool becomesMatmul(Operation *op) {
  std::optional<MatmulMatch> match = matchProduct(op);
  return match && match->obstacle == MatmulObstacle::None;
}

/// The same for a product in which integers choose the matrix of each row.
static std::optional<GroupedMatmulMatch> matchGrouped(Operation *op) {
  std::optional<Factors> factors = factorsOf(cast<IndexedOpInterface>(op));
  if (!factors || !factors->chosen)
    return std::nullopt;
  return matchGroupedMatmul(cast<IndexedOpInterface>(op).getIndexStructure(),
                            *factors->chosen);
}

static bool becomesGroupedMatmul(Operation *op) {
  std::optional<GroupedMatmulMatch> match = matchGrouped(op);
  return match && match->obstacle == MatmulObstacle::None;
}

/// Whether a grouped product fails to match for lack of a layout.
static bool lacksLayout(Operation *op) {
  std::optional<GroupedMatmulMatch> match = matchGrouped(op);
  return match && match->obstacle == MatmulObstacle::Layout;
}

static bool becomesRowKernel(Operation *op) {
  auto row = dyn_cast<RowKernelOpInterface>(op);
  return row ? row.runsByRow() : isa<BucketKernelOpInterface>(op);
}

CommandForm tpsp::commandFormOf(Operation *op) {
  if (isa<CollectiveOpInterface>(op))
    return CommandForm::Collective;
  if (isa<AttentionOpInterface>(op))
    return CommandForm::Attention;
  if (isa<ExchangeOpInterface>(op))
    return CommandForm::Exchange;
  if (isa<SendOp, ReceiveOp>(op))
    return CommandForm::Transfer;
  auto indexed = dyn_cast<IndexedOpInterface>(op);
  if (!indexed)
    return CommandForm::None;
  if (indexed.isView())
    return CommandForm::View;
  if (isa<BlockCopyOpInterface>(op))
    return CommandForm::BlockCopy;
  if (becomesMatmul(op))
    return CommandForm::Matmul;
  if (becomesGroupedMatmul(op))
    return CommandForm::GroupedMatmul;
  if (becomesRowKernel(op))
    return CommandForm::Rows;
  return isa<LoopOpInterface>(op) ? CommandForm::Kernel : CommandForm::None;
}

Value tpsp::withoutViews(Value value) {
  while (auto op = value.getDefiningOp<IndexedOpInterface>()) {
    if (!op.isView())
      break;
    value = op->getOperand(0);
  }
  return value;
}

void PlannedMatmul::add(rt::EpilogueStep step, Value tensor) {
  epilogue.push_back(step);
  if (rt::hasBuffer(step))
    (rt::writesBuffer(step) ? writes : reads).push_back(tensor);
}

std::string tpsp::stemOf(const KernelGroup &group) {
  std::string text;
  for (Operation *op : group.getOps().take_front(4))
    text += (text.empty() ? "" : "_") + op->getName().stripDialect().str();
  return text;
}

static PlannedGroupedMatmul groupedMatmulOf(IndexedOpInterface op) {
  GroupedMatmulMatch match = *matchGrouped(op);
  PlannedGroupedMatmul planned;
  planned.form = std::move(match.form);
  planned.ids = op->getOperand(0);
  planned.a = op->getOperand(1 + match.isSwapped);
  planned.b = op->getOperand(2 - match.isSwapped);
  planned.c = op->getResult(0);
  planned.chosen = cast<GroupedProductOpInterface>(*op).getChosenIndex();
  planned.matrices = planned.form.sumsRows ? planned.c : planned.b;
  return planned;
}

namespace {

/// Plans a function in one walk, in its order.
class CommandPlanner {
public:
  CommandPlanner(func::FuncOp function, int64_t keptBytes, FusionKind fusion,
                 const SumMemory &added, FusionCost cost)
      : function(function), added(added), cost(cost),
        grouping([this](Operation *op) { return mayJoin(op); },
                 {keptBytes,
                  fusion == FusionKind::All
                      ? nullptr
                      : std::make_shared<const FusionRule>(fusion, function)}) {
  }

  FailureOr<PlannedCommands> run() {
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(visit(&op)))
        return failure();
    flush();
    return std::move(planned);
  }

private:
  CommandForm formOf(Operation *op) {
    auto [known, isNew] = forms.try_emplace(op);
    if (isNew)
      known->second = commandFormOf(op);
    return known->second;
  }

  /// Whether a kernel may take the operation ahead.
  bool mayJoin(Operation *op) {
    return formOf(op) == CommandForm::Kernel && !addsProduct(op) &&
           (isForwardDone || !readsCotangent(op));
  }

  /// Whether the operation adds a product to a sum over micro-batches that the
  /// product can add to itself.
  bool addsProduct(Operation *op) {
    if (op->getNumResults() != 1 || !added.count(op->getResult(0)))
      return false;
    // Products are summed in f32 or f64.
    return typeOf(op->getResult(0)).getElementTypeBitWidth() > 16 &&
           llvm::any_of(op->getOperands(), [&](Value operand) {
             Operation *maker = withoutViews(operand).getDefiningOp();
             return maker && formOf(maker) == CommandForm::Matmul &&
                    addsFaster(maker);
           });
  }

  bool addsFaster(Operation *product) const {
    PlannedMatmul matmul = matmulOf(product);
    if (!cost.model)
      return true;
    double summed = 0;
    for (Value operand : {matmul.a, matmul.b})
      if (cost.hasEpilogues && isSummed(operand))
        summed += double(typeOf(operand).getNumElements()) *
                  double(typeOf(operand).getElementTypeBitWidth()) / 8;
    return cost.model->addsFaster(
        matmulWork(matmul),
        plan::runtimeType(typeOf(matmul.a).getElementType()), summed);
  }

  /// Whether an operation sums the tensor over rows, which an epilogue may do.
  static bool isSummed(Value tensor) {
    auto sums = [](Operation *user) { return isSumOfOne(user); };
    return llvm::any_of(tensor.getUsers(), sums) ||
           llvm::any_of(withoutViews(tensor).getUsers(), sums);
  }

  static PlannedMatmul matmulOf(Operation *op) {
    MatmulMatch match = *matchProduct(op);
    return {match.form, op->getOperand(match.isSwapped),
            op->getOperand(!match.isSwapped), op->getResult(0)};
  }

  void addAlone(LoopOpInterface op) {
    KernelGroup group;
    group.add(op);
    planned.commands.push_back({CommandForm::Kernel, op, std::move(group)});
    grouping.pass(op);
  }

  LogicalResult visit(Operation *op) {
    if (grouping.isTaken(op))
      return success();
    finishForward(op);
    finishSegment(op);
    CommandForm form = formOf(op);
    // A view needs nothing computed, so it waits with its operand.
    if (form == CommandForm::View && isWaiting(op->getOperand(0))) {
      waitingViews.insert(op);
      return success();
    }
    bool isAlone = form == CommandForm::Kernel && addsProduct(op),
         isLoop = form == CommandForm::Kernel && !isAlone;
    if (isLoop ? readsWaitingView(op) : readsWaiting(op))
      flush();
    if (grouping.isTaken(op)) // just now
      return success();
    if (isLoop) {
      addToKernel(cast<LoopOpInterface>(op));
      return success();
    }
    if (isAlone) {
      addAlone(cast<LoopOpInterface>(op));
      return success();
    }
    if (form != CommandForm::View && failed(addCommand(op, form)))
      return failure();
    grouping.pass(op);
    return success();
  }

  bool readsWaitingView(Operation *op) const {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      return waitingViews.contains(operand.getDefiningOp());
    });
  }
  /// Whether a kernel that is not closed yet computes the value.
  bool isWaiting(Value value) const {
    return grouping.produces(value) ||
           waitingViews.contains(value.getDefiningOp());
  }
  bool readsWaiting(Operation *op) const {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) { return isWaiting(operand); });
  }

  void addToKernel(LoopOpInterface op) {
    std::optional<MatmulMatch> match = matchProduct(op);
    if (match && match->obstacle == MatmulObstacle::Layout)
      planned.withoutLayout.push_back(op);
    if (grouping.add(op))
      return;
    flush();
    if (!grouping.isTaken(op))
      grouping.add(op);
  }

  /// A cotangent is known only after its result is. So no kernel may compute
  /// results of the forward pass after, or together with, readers of a
  /// cotangent.
  void finishForward(Operation *op) {
    if (isForwardDone || !readsCotangent(op))
      return;
    flush();
    isForwardDone = true;
  }

  /// No kernel has work of two segments.
  void finishSegment(Operation *op) {
    std::optional<int64_t> segment = originOf(op).segment;
    if (segment == currentSegment)
      return;
    flush();
    currentSegment = segment;
  }

  bool readsCotangent(Operation *op) {
    return llvm::any_of(op->getOperands(), [&](Value operand) {
      auto argument = dyn_cast<BlockArgument>(operand);
      return argument &&
             function.getArgAttr(argument.getArgNumber(), cotangentAttrName);
    });
  }

  LogicalResult addCommand(Operation *op, CommandForm form) {
    if (form == CommandForm::None && !isa<IndexedOpInterface>(op))
      return op->emitOpError("has no command; run tpsp-insert-collectives and "
                             "tpsp-decompose-late before converting to a plan");
    if (form == CommandForm::None)
      return op->emitOpError("has no loop form; run tpsp-decompose-late first");
    PlannedCommand &command = planned.commands.emplace_back();
    command.form = form;
    command.op = op;
    if (form == CommandForm::Rows && lacksLayout(op))
      planned.withoutLayout.push_back(op);
    if (form == CommandForm::GroupedMatmul)
      command.groupedMatmul = groupedMatmulOf(cast<IndexedOpInterface>(op));
    if (form == CommandForm::Matmul)
      command.matmul = matmulOf(op);
    return success();
  }

  void flush() {
    for (KernelGroup &group : grouping.take()) {
      Operation *first = group.getOps().front();
      planned.commands.push_back(
          {CommandForm::Kernel, first, std::move(group)});
    }
    for (Operation *view : waitingViews)
      grouping.pass(view);
    waitingViews.clear();
  }

  func::FuncOp function;
  const SumMemory &added;
  const FusionCost cost;
  KernelGrouping grouping;
  llvm::DenseMap<Operation *, CommandForm> forms;
  /// Views of values that open groups compute, in order.
  llvm::SetVector<Operation *> waitingViews;
  PlannedCommands planned;
  bool isForwardDone = false;
  std::optional<int64_t> currentSegment;
};

} // namespace

FailureOr<PlannedCommands>
tpsp::planCommands(func::FuncOp function, int64_t keptBytes, FusionKind fusion,
                   const SumMemory &added, FusionCost cost) {
  return CommandPlanner(function, keptBytes, fusion, added, cost).run();
}
