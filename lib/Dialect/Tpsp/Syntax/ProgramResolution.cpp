// Resolves the types of a program in short form, and expands its repeated
// calls. This runs once, inside the parser, when the whole program is read. The
// result is an ordinary module, so passes know nothing of the short form.
#include "ProgramResolution.h"

#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tpsp;

RankedTensorType tpsp::closed(RankedTensorType type, const ProgramHead &head,
                              Location loc) {
  SmallVector<int64_t> shape(type.getShape());
  for (auto [extent, name] : llvm::zip_equal(shape, indexNames(type))) {
    auto found = head.extents.find(name);
    if (ShapedType::isDynamic(extent)) {
      if (found == head.extents.end()) { // (Q2)
        emitError(loc) << "index '" << name
                       << "' has no extent; add it to the program's, as in "
                          "tpsp.program <"
                       << name << " = 8>";
        return {};
      }
      extent = found->second;
    } else if (found != head.extents.end() && extent != found->second) { // (Q3)
      emitError(loc) << "index '" << name << "' has extent " << extent
                     << " in this type and " << found->second
                     << " in the program; write one of the two";
      return {};
    }
  }
  bool isWritten = !isa<InferredType>(type.getElementType());
  return RankedTensorType::get(shape,
                               isWritten ? type.getElementType() : head.element,
                               type.getEncoding());
}

/// Resolves several types; fails if one is null.
static LogicalResult closeAll(TypeRange types, const ProgramHead &head,
                              llvm::function_ref<Location(size_t)> locOf,
                              SmallVectorImpl<Type> &out) {
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    out.push_back(tensor && getIdx(type) ? closed(tensor, head, locOf(i))
                                         : type);
    if (!out.back())
      return failure();
  }
  return success();
}

namespace {

class Program {
public:
  Program(Region &region, const ProgramHead &head) : head(head) {
    for (Block &block : region)
      for (auto function : block.getOps<func::FuncOp>()) {
        functions.try_emplace(function.getSymName(), function);
        (function->hasAttr(shortFormAttrName) ? shortForms : longForms)
            .push_back(function);
      }
  }

  LogicalResult resolve() {
    for (func::FuncOp function : longForms)
      if (failed(checkExtents(function)))
        return failure();
    for (func::FuncOp function : shortForms)
      if (failed(typeSignature(function)))
        return failure();
    for (func::FuncOp function : shortForms)
      if (failed(expandCalls(function)))
        return failure();
    for (func::FuncOp function : shortForms)
      if (failed(inferBody(function, head, functions)))
        return failure();
    for (func::FuncOp function : shortForms)
      finish(function);
    return success();
  }

private:
  /// Verifies that a function in long form has the program's extents.
  LogicalResult checkExtents(func::FuncOp function) {
    SmallVector<Type> types;
    auto locOf = [&](size_t i) { return function.getArgument(i).getLoc(); };
    if (failed(closeAll(function.getArgumentTypes(), head, locOf, types)))
      return failure();
    WalkResult walked = function.walk([&](Operation *op) {
      auto ofOp = [&](size_t) { return op->getLoc(); };
      return WalkResult(closeAll(op->getResultTypes(), head, ofOp, types));
    });
    return failure(walked.wasInterrupted());
  }
  LogicalResult typeSignature(func::FuncOp function) {
    if (function.getBody().empty() || function.getBody().front().empty())
      return emitError(function.getLoc())
             << "@" << function.getSymName()
             << " has no body; write at least 'return'";
    FunctionType type = function.getFunctionType();
    SmallVector<Type> inputs, results;
    if (failed(closeAll(
            type.getInputs(), head,
            [&](size_t i) { return function.getArgument(i).getLoc(); },
            inputs)) ||
        failed(closeAll(
            type.getResults(), head, [&](size_t) { return function.getLoc(); },
            results)))
      return failure();
    function.setFunctionType(
        FunctionType::get(function.getContext(), inputs, results));
    for (auto [argument, input] :
         llvm::zip_equal(function.getArguments(), inputs))
      argument.setType(input);
    return success();
  }
  /// Adds the number of calls that one call expands to, including those of its
  /// callee, times its repetitions.
  LogicalResult countCalls(func::CallOp call, int64_t &calls) {
    auto attr = call->getAttrOfType<IntegerAttr>(timesAttrName);
    int64_t times = attr ? attr.getInt() : 1;
    calls += times * (1 + expanded.lookup(call.getCallee()));
    if (calls <= mostCalls)
      return success();
    return emitError(call.getLoc())
           << "with what @" << call.getCallee() << " itself calls, these are "
           << calls << " calls in all; write at most " << mostCalls;
  }
  LogicalResult expandCalls(func::FuncOp function) {
    int64_t &calls = expanded[function.getSymName()];
    for (auto call : llvm::make_early_inc_range(
             function.getBody().front().getOps<func::CallOp>())) {
      if (failed(countCalls(call, calls)))
        return failure();
      if (!call->hasAttr(namesAttrName) && !call->hasAttr(timesAttrName))
        continue;
      func::FuncOp callee = functions.lookup(call.getCallee());
      if (!callee)
        continue; // an error when it gets its types
      if (callee == function)
        return emitError(call.getLoc())
               << "@" << callee.getSymName()
               << " calls itself, which never ends; a program is a list of "
                  "operations, so write them, or 'repeat' another function";
      if (!expanded.contains(callee.getSymName()) ||
          !callee->hasAttr(shortFormAttrName))
        return emitError(call.getLoc())
               << "@" << callee.getSymName()
               << " is not in short form above this call; write it there";
      if (failed(expandCall(call, function, callee)))
        return failure();
    }

    return success();
  }

  /// Only functions that are called from outside have names and parameters.
  static void finish(func::FuncOp function) {
    function->removeAttr(shortFormAttrName);
    if (!function.isPrivate())
      return;
    ArgumentAttrs attributes(function);
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      attributes.set(i, paramAttrName, {});
      attributes.set(i, nameAttrName, {});
    }
    attributes.write();
  }

  const ProgramHead &head;
  FunctionsByName functions;
  SmallVector<func::FuncOp> shortForms, longForms;
  /// The number of calls, when inlined, of each function whose calls are
  /// already plain.
  llvm::StringMap<int64_t> expanded;
};

} // namespace

LogicalResult tpsp::resolveProgram(Region &program, const ProgramHead &head) {
  return Program(program, head).resolve();
}
