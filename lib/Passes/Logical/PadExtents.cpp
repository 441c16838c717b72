// tpsp-pad-extents: gives padded indices larger extents, and masks where
// needed.
#include "Decompose.h"
#include "PaddingChoice.h"

#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/IndexFamilies.h"
#include "Passes/Program/SourceName.h"
#include "Passes/Program/ViewTies.h"
#include "tpsp/Passes/Passes.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/ProgramTypes.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Dialect/Tpsp/Tails/TailInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Pass/PassManager.h"

namespace tpsp {
#define GEN_PASS_DEF_PADEXTENTS
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

/// The padded extents of indices, by name.
class PaddedExtents {
public:
  explicit PaddedExtents(ModuleOp module)
      : extents(module->getAttrOfType<DictionaryAttr>(paddingAttrName)) {}

  bool contains(StringRef name) const { return bool(extents.get(name)); }
  int64_t of(StringRef name, int64_t written) const {
    auto extent = extents.getAs<IntegerAttr>(name);
    return extent ? extent.getInt() : written;
  }

private:
  DictionaryAttr extents;
};

/// A finite number below all values that may occur.
double lowestOf(Value value) {
  Type element = typeOf(value).getElementType();
  const llvm::fltSemantics &semantics =
      element.isF64() ? llvm::APFloat::IEEEsingle()
                      : cast<FloatType>(element).getFloatSemantics();
  llvm::APFloat lowest = llvm::APFloat::getLargest(semantics, true);
  return lowest.convertToDouble();
}

/// Tracks the tails of padded indices through a function, and inserts masks.
class TailWalk {
public:
  TailWalk(func::FuncOp function, const PaddedExtents &padded)
      : function(function), padded(padded), b(function.getContext()) {}

  LogicalResult run() {
    beginArguments();
    Block &block = function.getBody().front();
    for (auto next = block.begin(); next != block.end();) {
      Operation *op = &*next++;
      if (op == block.getTerminator())
        return finish(op);
      // If the operation is decomposed, its parts are visited next.
      auto last = op->getPrevNode();
      if (failed(visit(op)))
        return failure();
      if (isTakenApart)
        next = last ? std::next(last->getIterator()) : block.begin();
      isTakenApart = false;
    }
    return success();
  }

private:
  using Key = std::pair<Value, StringAttr>;

  /// Arguments have zeros after the end, except an update's gradients, which
  /// come from the backward pass.
  void beginArguments() {
    b.setInsertionPointToStart(&function.getBody().front());
    bool isUpdate = function->hasAttr(updateOfAttrName);
    for (BlockArgument argument : function.getArguments()) {
      bool isZero = !isUpdate || !function.getArgAttr(argument.getArgNumber(),
                                                      gradientAttrName);
      Value value = argument;
      for (StringAttr name : paddedIndicesOf(argument))
        if (isZero)
          tails[{argument, name}] = Tail::zero();
        else
          value = addMask(value, name, Tail::zero(), argument.getLoc());
      if (value != argument)
        argument.replaceUsesWithIf(
            value, [&](OpOperand &use) { return !isMask(use.getOwner()); });
    }
  }

  /// Whether this pass created the operation.
  bool isMask(Operation *op) const { return masks.contains(op); }

  SmallVector<StringAttr> paddedIndicesOf(Value value) const {
    SmallVector<StringAttr> names;
    if (IdxAttr idx = getIdx(value))
      for (StringAttr name : idx.getNames())
        if (padded.contains(name))
          names.push_back(name);
    return names;
  }

  SmallVector<StringAttr> paddedIndicesOf(Operation *op) const {
    SmallVector<StringAttr> names;
    auto add = [&](Value value) {
      for (StringAttr name : paddedIndicesOf(value))
        if (!llvm::is_contained(names, name))
          names.push_back(name);
    };
    llvm::for_each(op->getOperands(), add);
    llvm::for_each(op->getResults(), add);
    return names;
  }

  SmallVector<Tail> tailsOf(Operation *op, StringAttr name) const {
    return llvm::map_to_vector(op->getOperands(), [&](Value operand) {
      return tails.lookup({operand, name});
    });
  }

  LogicalResult visit(Operation *op) {
    SmallVector<StringAttr> names = paddedIndicesOf(op);
    auto indexed = dyn_cast<IndexedOpInterface>(op);
    if (names.empty())
      return success();
    if (isa<CollectiveOpInterface>(op))
      return passOn(op, names);
    if (indexed && indexed.isView())
      return view(indexed);
    for (StringAttr name : names) {
      SmallVector<Tail> needed = tailsOf(op, name);
      Tail result;
      std::string problem = ask(op, name, needed, result);
      if (!problem.empty())
        return takeApart(op, name, problem);
    }
    return settle(op, names);
  }

  /// Calls the operation's rule. Returns why no tails make it right; empty if
  /// some do.
  static std::string ask(Operation *op, StringAttr name,
                         MutableArrayRef<Tail> operands, Tail &result) {
    auto rule = dyn_cast<TailOpInterface>(op);
    if (!rule)
      return "it has no rule for what is behind the end of an index";
    return rule.carryTail(name, operands, result).str();
  }

  /// A collective moves tensors and changes no value.
  LogicalResult passOn(Operation *op, ArrayRef<StringAttr> names) {
    if (op->getNumOperands() != op->getNumResults())
      return refuse(op, names.front(), "it has no rule");
    for (auto [from, to] : llvm::zip_equal(op->getOperands(), op->getResults()))
      for (StringAttr name : names)
        tails[{to, name}] = tails.lookup({from, name});
    return success();
  }

  LogicalResult view(IndexedOpInterface op) {
    Value from = op->getOperand(0), to = op->getResult(0);
    for (StringRef name : minorParts(op))
      if (padded.contains(name))
        return refuse(op, StringAttr::get(op->getContext(), name),
                      "positions of a merged index would move");
    for (const ViewTie &tie : viewTies(op)) {
      auto extent = [&](Value value, StringRef name) {
        return padded.of(name, extentOf(value, name));
      };
      StringAttr source = StringAttr::get(op->getContext(), tie.from),
                 target = StringAttr::get(op->getContext(), tie.to);
      if (extent(from, source) * tie.toRun != extent(to, target) * tie.fromRun)
        return refuse(op, padded.contains(source) ? source : target,
                      "its positions are also those of another index, which "
                      "is not padded alike");
      tails[{to, target}] = tails.lookup({from, source});
    }
    return success();
  }

  /// Replaces the operation by its parts, each of which has a rule or is
  /// refused.
  LogicalResult takeApart(Operation *op, StringAttr name, StringRef problem) {
    auto composite = dyn_cast<DecomposableOpInterface>(op);
    if (!composite || op->getNumResults() > 1 || composite.hasOwnKernel())
      return refuse(op, name, problem);
    remark::passed(
        op->getLoc(),
        remark::RemarkOpts::name("taken-apart").category("tpsp-pad-extents"))
        << remark::reason("index '{0}' is padded: {1}", name.getValue(),
                          problem);
    decompose(op, /*tellsPartsApart=*/true,
              [&](DecomposableOpInterface each) { return each == composite; });
    isTakenApart = true;
    return success();
  }

  LogicalResult refuse(Operation *op, StringAttr name, StringRef problem) {
    return emitErrorAt(op)
           << "index '" << name.getValue() << "' is padded to "
           << padded.of(name, 0) << " positions, with which '" << op->getName()
           << "' is not exact: " << problem << "; leave '" << name.getValue()
           << "' out of --pad, or give it an extent that its axes divide";
  }

  /// Masks operands until each has the tail that is needed.
  LogicalResult settle(Operation *op, ArrayRef<StringAttr> names) {
    // A mask for one index may change the tail of another where both end.
    for (unsigned round = 0; round <= 2 * names.size(); ++round) {
      bool isSettled = true;
      for (StringAttr name : names) {
        SmallVector<Tail> needed = tailsOf(op, name);
        Tail result;
        if (std::string problem = ask(op, name, needed, result);
            !problem.empty())
          return refuse(op, name, problem);
        if (failed(maskOperands(op, name, needed, isSettled)))
          return failure();
        // A result without the index has no tail, whatever was summed.
        if (Value made = op->getResult(0); getIdx(made).dimOf(name))
          tails[{made, name}] = result;
      }
      if (isSettled)
        return success();
    }
    return refuse(op, names.front(), "no number fits behind all ends");
  }

  LogicalResult maskOperands(Operation *op, StringAttr name,
                             ArrayRef<Tail> needed, bool &isSettled) {
    b.setInsertionPoint(op);
    for (OpOperand &operand : op->getOpOperands()) {
      Tail want = needed[operand.getOperandNumber()];
      Value value = operand.get();
      if (want == tails.lookup({value, name}))
        continue;
      isSettled = false;
      if (integerWidth(value))
        return refuse(op, name, "integers behind the end would count");
      operand.set(masked(value, name, want, withoutSourceName(op->getLoc())));
    }
    return success();
  }

  /// The value with `tail` after the end of the index.
  Value masked(Value value, StringAttr name, Tail tail, Location loc) {
    SmallVector<Value> &known = maskedAs[{value, name}];
    for (Value each : known)
      if (tails.lookup({each, name}) == tail)
        return each;
    Value made = addMask(value, name, tail, loc);
    maskedAs[{value, name}].push_back(made);
    return made;
  }

  Value addMask(Value value, StringAttr name, Tail tail, Location loc) {
    auto type = typeOf(value);
    int64_t end = extentOf(type, name);
    double fill = tail.isLow() ? lowestOf(value) : *tail.getNumber();
    Value mask =
        EndMaskOp::create(b, loc, type, ValueRange{value}, name,
                          b.getI64IntegerAttr(end), b.getF64FloatAttr(fill));
    if (Operation *source = value.getDefiningOp())
      if (Attribute mark = source->getAttr(recomputeAttrName))
        mask.getDefiningOp()->setAttr(recomputeAttrName, mark);
    masks.insert(mask.getDefiningOp());
    for (StringAttr other : paddedIndicesOf(value))
      if (Tail old = tails.lookup({value, other}); old == tail)
        tails[{mask, other}] = old;
    tails[{mask, name}] = tail;
    remark::passed(
        loc, remark::RemarkOpts::name("mask").category("tpsp-pad-extents"))
        << remark::reason(
               "behind the end of index '{0}', at {1}, {2} is needed",
               name.getValue(), end, fill);
    return mask;
  }

  /// Results that replace a parameter, or its state, must have zeros after the
  /// end, too.
  LogicalResult finish(Operation *terminator) {
    b.setInsertionPoint(terminator);
    for (OpOperand &operand : terminator->getOpOperands()) {
      if (!function.getResultAttr(operand.getOperandNumber(), updatesAttrName))
        continue;
      for (StringAttr name : paddedIndicesOf(operand.get()))
        if (!tails.lookup({operand.get(), name}).isZero())
          operand.set(
              masked(operand.get(), name, Tail::zero(), terminator->getLoc()));
    }
    return success();
  }

  func::FuncOp function;
  const PaddedExtents &padded;
  OpBuilder b;
  /// Tails by value and index. A missing entry means that nothing is known.
  llvm::DenseMap<Key, Tail> tails;
  llvm::DenseMap<Key, SmallVector<Value>> maskedAs;
  llvm::DenseSet<Operation *> masks;
  bool isTakenApart = false;
};

struct PadExtents : public tpsp::impl::PadExtentsBase<PadExtents> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    Attribute asked = module->getAttr(paddingAttrName);
    if (!asked)
      return;
    if (!isa<DictionaryAttr>(asked)) {
      emitErrorAt(module) << paddingAttrName << " is a dictionary of extents, "
                          << "such as {v = 50264}";
      return signalPassFailure();
    }
    OpPassManager bounds(ModuleOp::getOperationName());
    bounds.addPass(createBoundIntegers());
    if (failed(runPipeline(bounds, module)) || failed(pad(module)))
      signalPassFailure();
  }

private:
  /// Notes the present and the padded extents of indices; no index may shrink.
  static LogicalResult noteExtents(ModuleOp module,
                                   const PaddedExtents &padded) {
    IndexFamilies families(module);
    Builder b(module.getContext());
    SmallVector<NamedAttribute> notes;
    for (StringRef name : families.names()) {
      if (!padded.contains(name))
        continue;
      int64_t written = families.extentsOf(families.familyOf(name)).front(),
              wanted = padded.of(name, written);
      if (wanted < written)
        return emitErrorAt(module)
               << paddingAttrName << " gives index '" << name << "' " << wanted
               << " positions, fewer than the program's " << written;
      notes.push_back(
          b.getNamedAttr(name, b.getDenseI64ArrayAttr({written, wanted})));
    }
    module->removeAttr(paddingAttrName);
    module->setAttr(unpaddedAttrName, b.getDictionaryAttr(notes));
    return success();
  }

  static LogicalResult pad(ModuleOp module) {
    PaddingChoice choice(module);
    if (failed(choice.resume()) || failed(choice.write()))
      return failure();
    // No index is padded.
    if (!module->hasAttr(paddingAttrName))
      return success();
    PaddedExtents padded(module);
    if (failed(noteExtents(module, padded)) ||
        failed(forEachFunction(module, [&](FunctionOpInterface each) {
          return TailWalk(cast<func::FuncOp>(each), padded).run();
        })))
      return failure();
    replaceTensorTypes(module, [&](RankedTensorType type) {
      SmallVector<int64_t> shape(type.getShape());
      for (auto [extent, name] : llvm::zip_equal(shape, indexNames(type)))
        extent = padded.of(name, extent);
      return RankedTensorType::get(shape, type.getElementType(),
                                   type.getEncoding());
    });
    return success();
  }
};

} // namespace
