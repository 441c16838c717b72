#include "FunctionPlacement.h"
#include "Ledger.h"
#include "MicroBatchTwins.h"

#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/IR/ResultAttrs.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tpsp;

using ProblemValue = PlacementProblem::Value;

namespace {

/// Dimensions of a model's features, as opposed to its tokens: those of an
/// index of a parameter, and those that views make of them.
class Features {
public:
  explicit Features(FunctionOpInterface function) {
    for (BlockArgument argument : function.getArguments())
      if (isParameter(argument) && getIdx(argument.getType()))
        addNames(argument);
    // Heads, where a parameter has a row of features that a view splits.
    function->walk([&](IndexedOpInterface op) {
      if (op.isView() && isWeight(op->getResult(0)))
        addNames(op->getResult(0));
    });
  }

  bool has(Value value) const {
    return llvm::any_of(getIdx(value).getNames(),
                        [&](StringAttr name) {
                          return names.contains(name.getValue());
                        }) ||
           views.contains(value);
  }

  /// Must be called in program order.
  void pass(IndexedOpInterface op) {
    if (op.isView() && has(op->getOperand(0)))
      views.insert(op->getResult(0));
  }

private:
  void addNames(Value value) {
    for (StringAttr name : getIdx(value.getType()).getNames())
      names.insert(name.getValue());
  }

  llvm::StringSet<> names;
  llvm::DenseSet<Value> views;
};

bool isActivation(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType())) &&
         !isWeight(value);
}

/// Whether a value is an activation with these indices, and more.
bool hasMoreIndices(Value value, ArrayRef<StringAttr> names) {
  if (!isActivation(value))
    return false;
  ArrayRef<StringAttr> own = getIdx(value).getNames();
  return own.size() > names.size() && llvm::all_of(names, [&](StringAttr name) {
           return llvm::is_contained(own, name);
         });
}

/// Whether an activation has one number for each row of another, and scales
/// it, like the weights of experts' results. Gradients of scales count, too.
bool scalesRows(Value value) {
  if (!isActivation(value))
    return false;
  ArrayRef<StringAttr> names = getIdx(value).getNames();
  auto isProduct = [](Operation *op) {
    auto indexed = dyn_cast_or_null<IndexedOpInterface>(op);
    return indexed && indexed.getLinearity() == Linearity::Multi &&
           op->getNumOperands() > 1;
  };
  for (Operation *user : value.getUsers())
    if (isProduct(user) && llvm::any_of(user->getOperands(), [&](Value other) {
          return hasMoreIndices(other, names);
        }))
      return true;
  Operation *maker = value.getDefiningOp();
  return isProduct(maker) &&
         llvm::all_of(maker->getOperands(), [&](Value operand) {
           return hasMoreIndices(operand, names);
         });
}

/// The expected placement of an unplaced value: on the axes that the operands
/// have on its indices.
Placement expectedResult(const IndexStructure &structure, unsigned result,
                         ArrayRef<Placement> operands, const Mesh &mesh) {
  const IndexStructure::Tensor &tensor = structure.results[result];
  Placement placement(tensor.indices.size());
  for (auto [source, has] : llvm::zip_equal(structure.operands, operands))
    for (const AxisList &axes : has.dims)
      for (AxisId axis : axes) {
        auto index = structure.indexDivided(source, has, axis, mesh);
        auto dim = index ? tensor.dimOf(*index) : std::nullopt;
        if (dim && !structure.indices[*index].whole && !placement.uses(axis))
          placement.dims[*dim].push_back(axis);
      }
  return placement;
}

/// `base` changed to the given states of the axes.
Placement withStates(Placement base, ArrayRef<AxisState> states) {
  for (auto [axis, state] : llvm::enumerate(states)) {
    AxisId id = axis;
    if (AxisState::of(base, id) == state)
      continue;
    for (AxisList &axes : base.dims)
      llvm::erase(axes, id);
    llvm::erase(base.pending, id);
    if (state.dim()) {
      base.dims[*state.dim()].push_back(id);
    } else if (state.isPending()) {
      base.pending.push_back(id);
      base.reduction = state == AxisState::pending(Reduction::Max)
                           ? Reduction::Max
                           : Reduction::Sum;
    }
  }
  return base;
}

/// The operations of one phase as a problem for the search. The last
/// micro-batch stands for all.
class PhaseProblem {
public:
  PhaseProblem(ArrayRef<IndexedOpInterface> all, const MicroBatchTwins &twins,
               const Mesh &mesh, const llvm::DenseMap<Value, Placement> &homes)
      : twins(twins), homes(homes) {
    problem.mesh = mesh;
    if (all.empty())
      return;
    problem.operations.reserve(all.size());
    problem.values.reserve(2 * all.size());
    features.emplace(all.front()->getParentOfType<FunctionOpInterface>());
    for (IndexedOpInterface op : all)
      add(op);
  }

  PlacementProblem problem;
  /// The operations of the problem.
  SmallVector<IndexedOpInterface> ops;

private:
  void add(IndexedOpInterface op) {
    ops.push_back(op);
    PlacementProblem::Operation operation;
    operation.structure = op.getIndexStructure();
    operation.times =
        std::max(twins.isOfEach(op) ? twins.count() : 1, timesOf(op));
    operation.isSum = op.isSumOfOperands();
    operation.isConvertingSum =
        operation.isSum && op->getNumOperands() == 1 &&
        getElementTypeOrSelf(op->getOperand(0).getType()) !=
            getElementTypeOrSelf(op->getResult(0).getType());
    operation.isReshard = isRequested(op);
    operation.part = partOf(op);
    std::optional<unsigned> sum = sumSoFar(op);
    SmallVector<Placement> operands;
    for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
      // Summands of earlier micro-batches stay in the placement of this one's
      // summand.
      Value standsFor = sum == i ? op->getOperand(1 - i) : operand;
      unsigned number = numberOf(twins.lastOf(standsFor));
      operation.operands.push_back(number);
      const ProblemValue &value = problem.values[number];
      operands.push_back(value.wanted ? *value.wanted : value.expected);
    }
    features->pass(op);
    for (auto [i, result] : llvm::enumerate(op->getResults())) {
      ProblemValue value = describe(result);
      value.freedom = freedomOf(result);
      for (Operation *user : result.getUsers())
        if (phaseOf(user) != phaseOf(op))
          value.readers.push_back(madeLinearly(user));
      if (!value.wanted)
        value.expected =
            expectedResult(operation.structure, i, operands, problem.mesh);
      operation.results.push_back(enter(result, std::move(value)));
    }
    problem.operations.push_back(std::move(operation));
  }

  /// Whether the program asks for the movement of a tensor of features. The
  /// compiler's own requests are about gradients and numbers of labels.
  bool isRequested(IndexedOpInterface op) const {
    return isa<ReshardOp>(op) && phaseOf(op) == Phase::Forward &&
           features->has(op->getOperand(0));
  }

  std::optional<unsigned> sumSoFar(Operation *op) const {
    return twins.count() > 1 ? MicroBatchTwins::sumSoFar(op) : std::nullopt;
  }

  /// The number of an operation's result in the other phase, if the operation
  /// is linear in each of its operands.
  std::optional<unsigned> madeLinearly(Operation *op) {
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (!indexed || indexed.getLinearity() != Linearity::Multi)
      return std::nullopt;
    Value made = op->getResult(0);
    ProblemValue description = describe(made);
    description.expected = Placement(getIdx(made).getRank());
    return enter(made, std::move(description));
  }

  /// The number of a micro-batch, in the order of first occurrence; 0 for none.
  unsigned partOf(Operation *op) {
    std::optional<int64_t> part = originOf(op).part;
    return part ? parts.try_emplace(*part, parts.size() + 1).first->second : 0;
  }

  unsigned numberOf(Value value) {
    auto known = numbers.find(value);
    return known != numbers.end() ? known->second
                                  : enter(value, describe(value));
  }

  unsigned enter(Value value, ProblemValue description) {
    unsigned number = problem.values.size();
    problem.values.push_back(std::move(description));
    numbers[value] = number;
    return number;
  }

  ProblemValue describe(Value value) const {
    auto type = cast<RankedTensorType>(value.getType());
    ProblemValue description;
    description.shape.assign(type.getShape().begin(), type.getShape().end());
    description.elementBytes = (type.getElementTypeBitWidth() + 7) / 8;
    auto home = homes.find(value);
    if (home != homes.end())
      description.wanted = home->second;
    else if (!isUnplaced(type))
      description.wanted = placementOf(type, problem.mesh);
    description.isWeight = isWeight(value);
    description.isSmall =
        !description.isWeight && (!features->has(value) || scalesRows(value));
    return description;
  }

  static ProblemValue::Freedom freedomOf(Value value) {
    for (Operation *user : value.getUsers())
      if (!isa<IndexedOpInterface>(user))
        return ProblemValue::Fixed;
    Operation *op = value.getDefiningOp();
    if (isUnplaced(value.getType()) || getResultAttr(value, proposedAttrName))
      return ProblemValue::Free;
    return phaseOf(op) != Phase::Forward ? ProblemValue::Undivided
                                         : ProblemValue::Fixed;
  }

  const MicroBatchTwins &twins;
  const llvm::DenseMap<Value, Placement> &homes;
  std::optional<Features> features;
  llvm::DenseMap<int64_t, unsigned> parts;
  llvm::DenseMap<Value, unsigned> numbers;
};

/// Orders a phase for the search, so that few values are open at once, each in
/// several placements. A view of a parameter comes before its first user. In a
/// loop over micro-batches, what follows them, as the sum of a gradient, comes
/// as soon as its operands are there.
class SearchOrder {
public:
  SearchOrder(ArrayRef<IndexedOpInterface> ops, bool isLoop) : ops(ops) {
    findDelayed();
    if (isLoop)
      findFollowing();
  }

  SmallVector<IndexedOpInterface> run() {
    const auto waits = missing;
    for (IndexedOpInterface op : ops)
      if (!waits.contains(op) && !delayed.contains(op))
        add(op);
    for (IndexedOpInterface op : ops)
      if (delayed.contains(op))
        addDelayed(op);
    return std::move(ordered);
  }

private:
  void findDelayed() {
    for (IndexedOpInterface op : ops)
      if (op.isView() && llvm::all_of(op->getOperands(), [&](Value operand) {
            auto argument = dyn_cast<BlockArgument>(operand);
            return argument ? isParameter(argument)
                            : delayed.contains(operand.getDefiningOp());
          }))
        delayed.insert(op);
  }

  void findFollowing() {
    llvm::SmallDenseSet<Operation *> earlier;
    auto firstPart =
        llvm::find_if(ops, [](IndexedOpInterface op) { return hasPart(op); });
    for (auto op = ops.begin(); op != ops.end(); ++op) {
      Operation *each = *op;
      bool follows = op > firstPart && !hasPart(each);
      for (Value operand : each->getOperands())
        if (Operation *maker = operand.getDefiningOp();
            follows && earlier.contains(maker)) {
          users[maker].push_back(*op);
          ++missing[each];
        }
      if (!delayed.contains(each))
        earlier.insert(each);
    }
  }

  /// Adds a delayed operation, and the delayed operations that it reads.
  void addDelayed(IndexedOpInterface op) {
    if (!delayed.erase(op))
      return;
    addOperandsOf(op);
    ordered.push_back(op);
  }

  void addOperandsOf(IndexedOpInterface op) {
    for (Value operand : op->getOperands())
      if (auto maker = operand.getDefiningOp<IndexedOpInterface>())
        addDelayed(maker);
  }

  void add(IndexedOpInterface op) {
    addOperandsOf(op);
    ordered.push_back(op);
    for (IndexedOpInterface user : users.lookup(op))
      if (--missing[user] == 0)
        add(user);
  }

  ArrayRef<IndexedOpInterface> ops;
  /// Operations that are not added before a user is.
  llvm::SmallDenseSet<Operation *> delayed;
  /// For operations that follow micro-batches: how many operands are not there
  /// yet.
  llvm::DenseMap<Operation *, unsigned> missing;
  llvm::DenseMap<Operation *, SmallVector<IndexedOpInterface>> users;
  SmallVector<IndexedOpInterface> ordered;
};

/// The drives of a sum whose summands all stay in `placement`.
SmallVector<Drive, 2> drivesOfSum(const IndexStructure &structure,
                                  const Placement &placement,
                                  const Mesh &mesh) {
  SmallVector<Drive, 2> drives(mesh.numAxes());
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
    AxisState state = AxisState::of(placement, axis);
    if (state.isPending())
      drives[axis].kind = Drive::Pending;
    else if (auto dim = state.dim())
      drives[axis] = {Drive::Index, structure.results.front().indices[*dim]};
  }
  return drives;
}

} // namespace

FunctionPlacement::FunctionPlacement(FunctionOpInterface function,
                                     const Mesh &mesh)
    : mesh(mesh) {
  SmallVector<IndexedOpInterface> phases[std::size(EnumNames<Phase>::all)];
  function->walk([&](IndexedOpInterface op) {
    phases[size_t(phaseOf(op))].push_back(op);
  });
  bool isLoop = function->hasAttr(microBatchesAttrName);
  // A phase knows the placements of its operands from the decisions of earlier
  // phases.
  for (ArrayRef<IndexedOpInterface> ops : phases)
    if (!decide(ops, isLoop))
      return;
}

const FunctionPlacement::Decision *
FunctionPlacement::of(IndexedOpInterface op) const {
  auto found = decisions.find(op);
  return found == decisions.end() ? nullptr : &found->second;
}

bool FunctionPlacement::decide(ArrayRef<IndexedOpInterface> ops, bool isLoop) {
  MicroBatchTwins twins(ops);
  auto last = llvm::to_vector(llvm::make_filter_range(
      ops, [&](IndexedOpInterface op) { return twins.lastOf(op) == op; }));
  PhaseProblem phase(SearchOrder(last, isLoop).run(), twins, mesh, homes);
  const PlacementProblem &problem =
      asked.emplace_back(std::move(phase.problem));
  std::optional<PlacementAnswer> answer = searchPlacements(problem);
  if (!answer)
    return false;
  for (auto [op, drives, operation] :
       llvm::zip_equal(phase.ops, answer->drives, problem.operations)) {
    Decision decision{drives, {}};
    for (auto [result, number] :
         llvm::zip_equal(op->getResults(), operation.results)) {
      const ProblemValue &value = problem.values[number];
      const Placement &base = value.wanted ? *value.wanted : value.expected;
      Placement home = withStates(base, answer->homes[number]);
      homes[result] = home;
      decision.results.push_back({home, value.wanted == home});
    }
    decisions[op] = std::move(decision);
  }
  for (IndexedOpInterface op : ops)
    if (twins.lastOf(op) != op)
      decideAs(op, twins.lastOf(op));
  return true;
}

void FunctionPlacement::decideAs(IndexedOpInterface op, Operation *twin) {
  Decision decision = decisions.lookup(twin);
  if (std::optional<unsigned> sum = MicroBatchTwins::sumSoFar(op)) {
    // The last addition brings the sum to its placement.
    Value own = op->getOperand(1 - *sum);
    Placement stays = homes.lookup(own);
    decision.drives = drivesOfSum(op.getIndexStructure(), stays, mesh);
    Type type = op->getResult(0).getType();
    decision.results = {
        {stays, !isUnplaced(type) && stays == placementOf(type, mesh)}};
  }
  for (auto [result, home] :
       llvm::zip_equal(op->getResults(), decision.results))
    homes[result] = home.placement;
  decisions[op] = std::move(decision);
}
