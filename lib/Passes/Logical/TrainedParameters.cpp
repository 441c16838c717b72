#include "TrainedParameters.h"

#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SourceName.h"
#include "tpsp/Abi/FlatCut.h"
#include "tpsp/Abi/NamePattern.h"
#include "tpsp/Abi/Optimizers.h"
#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"

#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;
using namespace tpsp;

std::string tpsp::noOptimizer(StringRef name) {
  return ("no optimizer is called '" + name + "'; there are " +
          llvm::join(optimizerNames(), ", "))
      .str();
}

/// The dimensions that data axes divide, then all: one collective scatters a
/// gradient along the axes of one dimension.
static SmallVector<AxisList *> inOrderOfUse(Placement &placement,
                                            const Mesh &mesh) {
  SmallVector<AxisList *> dims;
  for (AxisList &dim : placement.dims)
    dims.push_back(&dim);
  llvm::stable_sort(dims, [&](const AxisList *a, const AxisList *b) {
    auto isOfData = [&](AxisId axis) {
      return mesh.axis(axis).role == AxisRole::Data;
    };
    return llvm::any_of(*a, isOfData) > llvm::any_of(*b, isOfData);
  });
  return dims;
}

/// The ranks among which a placement divides a tensor.
static int64_t ranksOf(const Placement &placement, const Mesh &mesh) {
  int64_t ranks = 1;
  for (const AxisList &axes : placement.dims)
    ranks *= mesh.groupSize(axes);
  return ranks;
}

/// Whether the axes of `placement` may be used to store a tensor that is used
/// as `whole`. Pieces of a row must be pieces of the pieces that `whole` has.
static bool mayStore(ArrayRef<int64_t> shape, const Placement &placement,
                     const Placement &whole, const Mesh &mesh) {
  if (!canBeStored(shape, placement, mesh))
    return false;
  std::optional<FlatCut> cut = flatCut(shape, whole, mesh);
  if (!cut)
    return true;
  Placement rest = placement;
  rest.dims[cut->dim].truncate(whole.dims[cut->dim].size());
  if (rest != whole)
    return false;
  auto elements = [&](const Placement &each) {
    return llvm::product_of(localShape(shape, each, mesh)) *
           ranksOf(each, mesh);
  };
  return elements(placement) == elements(whole);
}

/// The tensor's type with each axis on the first of these dimensions that it
/// divides, by the extents in `shape`. An axis that divides none cuts a large
/// tensor as a row of elements if `mayCut`. An axis that the tensor already
/// has, or that cannot be used, is left out.
static RankedTensorType withAxes(RankedTensorType type, ArrayRef<int64_t> shape,
                                 ArrayRef<AxisId> axes, bool mayCut,
                                 const Mesh &mesh) {
  Placement whole = placementOf(type, mesh), placement = whole;
  auto put = [&](AxisId axis, auto isPossible) {
    for (AxisList *dim : inOrderOfUse(placement, mesh)) {
      dim->push_back(axis);
      if (isPossible())
        return true;
      dim->pop_back();
    }
    return false;
  };
  mayCut &= llvm::product_of(shape) >= fewestCutElements;
  for (AxisId axis : axes) {
    if (placement.uses(axis) ||
        put(axis, [&] { return !firstUnevenDim(shape, placement, mesh); }))
      continue;
    if (mayCut)
      put(axis, [&] { return mayStore(shape, placement, whole, mesh); });
  }
  return withPlacement(type, placement, mesh);
}

namespace {

class Search {
public:
  Search(func::FuncOp function, const UpdateSettings &settings)
      : function(function), settings(settings), mesh(meshOf(function)),
        b(function.getContext()) {}

  static bool isTrained(BlockArgument argument) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    return isParameter(argument) && type && getIdx(type) &&
           isa<FloatType>(type.getElementType()) &&
           !function.getArgAttr(argument.getArgNumber(), frozenAttrName);
  }

  LogicalResult find() {
    llvm::StringSet<> ofIntegers = indicesOfIntegers(function);
    ArgumentAttrs attributes(function);
    for (BlockArgument argument : function.getArguments()) {
      if (!isTrained(argument))
        continue;
      Trained entry;
      entry.argument = argument.getArgNumber();
      entry.optimizer = optimizerOf(argument);
      if (!entry.optimizer)
        return failure();
      if (auto roles = matrixRolesOf(argument, ofIntegers))
        entry.matrix = *roles;
      else if (failed(takeOther(argument, entry.optimizer)))
        return failure();
      auto type = typeOf(argument);
      if (!getIdx(type).getPending().empty()) {
        emitErrorAt(argument)
            << "parameter '" << tensorName(argument) << "' is ["
            << subscripts(type)
            << "], a sum over ranks, which no update can be written to; give "
               "it whole, or divided, or mark it tpsp.frozen";
        return failure();
      }
      auto placed = withAxes(
          type, shapeToRun(function, type), settings.axes,
          /*mayCut=*/entry.matrix.empty() || !entry.optimizer->otherwise, mesh);
      entry.hasMaster = type.getElementTypeBitWidth() < 32;
      entry.stateType =
          entry.hasMaster ? withElement(placed, b.getF32Type()) : placed;
      noteUndivided(argument, entry);
      if (auto factor = function.getArgAttrOfType<FloatAttr>(
              entry.argument, learningRateAttrName))
        entry.learningRateFactor = factor.getValueAsDouble();
      attributes.set(entry.argument, gradientAtAttrName, getIdx(placed));
      if (settings.gathersForward)
        gatherFirst(argument, placed);
      trained.push_back(std::move(entry));
    }
    attributes.write();
    updateType(function);
    warnUndivided();
    return success();
  }

  std::vector<Trained> trained;

private:
  /// The optimizer of the argument; null after a diagnostic.
  const Optimizer *optimizerOf(BlockArgument argument) {
    std::string name = settings.optimizer;
    if (auto own = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), optimizerAttrName))
      name = own.getValue().str();
    const Optimizer *optimizer = findOptimizer(name);
    if (!optimizer)
      emitErrorAt(argument) << noOptimizer(name);
    return optimizer;
  }

  /// Chooses the other optimizer for a parameter that is not a matrix.
  LogicalResult takeOther(BlockArgument argument, const Optimizer *&optimizer) {
    if (!optimizer->otherwise)
      return success();
    auto own = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(),
                                                     optimizerAttrName);
    if (own)
      return emitErrorAt(argument)
             << own << " trains matrices, and '" << tensorName(argument)
             << "' is none: it is not only a factor of products with rows and "
                "columns, or integers look up in it; leave out "
             << optimizerAttrName << " or name another";
    optimizer = &optimizer->otherwise();
    return success();
  }

  /// Notes a parameter whose state a requested axis does not divide.
  void noteUndivided(BlockArgument argument, const Trained &entry) {
    Placement placement = placementOf(entry.stateType, mesh);
    AxisList left;
    for (AxisId axis : settings.axes)
      if (!placement.uses(axis) && mesh.size(axis) > 1)
        left.push_back(axis);
    if (left.empty())
      return;
    remark::missed(
        argument.getLoc(),
        remark::RemarkOpts::name("state").category("tpsp-build-update"))
        << remark::reason("{0} divides no index of '{1}' evenly, so every "
                          "rank of it has its state whole",
                          mesh.names(left), tensorName(argument));
    int64_t tensors = entry.optimizer->state.size() + entry.hasMaster;
    int64_t bytes = tensors * localBytes(entry.stateType, mesh);
    undivided.bytes += bytes;
    ++undivided.tensors[{patternOf(tensorName(argument)), bytes}];
    undivided.axes.insert_range(left);
  }

  /// Warns of state that stays whole, with the bytes of each tensor. Tensors of
  /// all layers are named once.
  void warnUndivided() {
    if (undivided.bytes == 0)
      return;
    SmallVector<std::string> each;
    for (const auto &[tensor, count] : undivided.tensors)
      each.push_back("'" + tensor.first + "' " +
                     (count > 1 ? std::to_string(count) + " x " : "") +
                     formatBytes(tensor.second));
    emitWarning(function.getLoc())
        << "state stays whole on every rank of "
        << mesh.names(undivided.axes.getArrayRef()) << ", "
        << formatBytes(undivided.bytes) << " a rank: " << llvm::join(each, ", ")
        << "; where axes divide no extent, state is cut as a row only if it "
           "has at least "
        << fewestCutElements
        << " elements, its optimizer works element by element, and its pieces "
           "are parts of its parameter's";
  }

  /// Changes the argument's type to `placed`, and gathers it before its first
  /// use, so that the gather belongs to that use's layer.
  void gatherFirst(BlockArgument argument, RankedTensorType placed) {
    auto type = typeOf(argument);
    if (placed == type || argument.use_empty())
      return;
    Operation *first = *argument.user_begin();
    for (Operation *user : argument.getUsers())
      if (user->isBeforeInBlock(first))
        first = user;
    argument.setType(placed);
    b.setInsertionPoint(first);
    auto whole = ReshardOp::create(b, withoutSourceName(first->getLoc()), type,
                                   argument);
    setName(whole, b.getStringAttr(tensorName(argument)));
    argument.replaceAllUsesExcept(whole, whole);
  }

  func::FuncOp function;
  const UpdateSettings &settings;
  Mesh mesh;
  OpBuilder b;
  /// State that requested axes do not divide. For each pattern of names and
  /// number of bytes, there is the number of parameters. The axes and all bytes
  /// on a rank follow.
  struct {
    std::map<std::pair<std::string, int64_t>, int64_t> tensors;
    llvm::SmallSetVector<AxisId, 4> axes;
    int64_t bytes = 0;
  } undivided;
};

} // namespace

FailureOr<std::vector<Trained>>
tpsp::findTrained(func::FuncOp function, const UpdateSettings &settings) {
  Search search(function, settings);
  if (failed(search.find()))
    return failure();
  return std::move(search.trained);
}

void tpsp::freezeOthers(func::FuncOp function) {
  auto mark = UnitAttr::get(function.getContext());
  ArgumentAttrs attributes(function);
  for (BlockArgument argument : function.getArguments())
    if (!Search::isTrained(argument) &&
        !attributes.get(argument.getArgNumber(), receivedAttrName) &&
        isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      attributes.set(argument.getArgNumber(), frozenAttrName, mark);
  attributes.write();
}
