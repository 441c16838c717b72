// Expands calls of a program in short form that are repeated or leave out
// parameters. They become plain calls, and the caller gets the parameters as
// arguments.
#include "ProgramResolution.h"

#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"

#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tpsp;

std::string tpsp::parameterName(StringRef pattern, int64_t number,
                                StringRef name) {
  std::string text;
  for (char c : pattern)
    text += c == '#'   ? std::to_string(number)
            : c == '*' ? name.str()
                       : std::string(1, c);
  return text;
}

LogicalResult tpsp::checkCounts(func::CallOp call,
                                func::FuncOp callee) { // (Q6)
  size_t wanted = callee.getNumArguments(), given = call.getNumOperands();
  bool isNamed = call->hasAttr(namesAttrName);
  if (given > wanted || (!isNamed && given < wanted))
    return emitError(call.getLoc())
           << "@" << callee.getSymName() << " has " << wanted
           << " arguments and is given " << given
           << (isNamed ? ""
                       : "; parameters may be left out with names, as in as "
                         "\"layer.*\"");
  if (call->getNumResults() != callee.getNumResults())
    return emitError(call.getLoc())
           << "@" << callee.getSymName() << " has " << callee.getNumResults()
           << " results, not " << call->getNumResults();
  return success();
}

namespace {

/// Expands one call that names parameters or is repeated.
class CallExpansion {
public:
  CallExpansion(func::CallOp call, func::FuncOp caller, func::FuncOp callee)
      : call(call), caller(caller), callee(callee),
        names(call->getAttrOfType<StringAttr>(namesAttrName)),
        given(call.getOperands()) {
    if (auto attr = call->getAttrOfType<IntegerAttr>(timesAttrName)) {
      isRepeated = true;
      times = attr.getInt();
      first = call->getAttrOfType<IntegerAttr>(firstAttrName).getInt();
    }
  }

  LogicalResult expand() {
    if (failed(check()))
      return failure();
    size_t own = addParameters();
    size_t left = callee.getNumArguments() - given.size();
    SmallVector<Value> operands(given);
    func::CallOp last = call;
    for (int64_t i = 0; i < times; ++i) {
      operands.resize(given.size());
      llvm::append_range(operands,
                         caller.getArguments().slice(own + i * left, left));
      if (i == 0)
        call->setOperands(operands);
      else
        last = repeated(last, operands);
      llvm::copy(last.getResults(), operands.begin());
    }
    redirectUses(last);
    for (StringRef name : {namesAttrName, timesAttrName, firstAttrName})
      call->removeAttr(name);
    return success();
  }

private:
  InFlightDiagnostic error() { return emitError(call.getLoc()); }
  LogicalResult check() {
    size_t wanted = callee.getNumArguments();
    if (failed(checkCounts(call, callee)))
      return failure();
    for (size_t i = given.size(); i < wanted; ++i)
      if (!callee.getArgAttr(i, paramAttrName))
        return error() << "argument #" << i << " of @" << callee.getSymName()
                       << " is no parameter; give it, or mark it 'param'";
    return failure(failed(checkNames()) || failed(checkChain()));
  }

  LogicalResult checkNames() { // (Q7)
    size_t left = callee.getNumArguments() - given.size();
    if (!names || left == 0)
      return success();
    StringRef pattern = names.getValue();
    if (left > 1 && !pattern.contains('*'))
      return error() << "\"" << pattern << "\" calls " << left
                     << " parameters alike; write * for the parameter, as in "
                        "\"layer.*\"";
    if (times > 1 && !pattern.contains('#'))
      return error() << "\"" << pattern << "\" calls the parameters of "
                     << times
                     << " repetitions alike; write # for the repetition, as in "
                        "\"layer#.*\"";
    return success();
  }

  LogicalResult checkChain() { // (Q8)
    if (!isRepeated)
      return success();
    FunctionType type = callee.getFunctionType();
    if (type.getNumResults() > given.size() ||
        type.getInputs().take_front(type.getNumResults()) != type.getResults())
      return error() << "@" << callee.getSymName()
                     << " cannot be repeated: it returns (" << type.getResults()
                     << "), which is not what its first operands are; return "
                        "these";
    return success();
  }

  /// Creates the next call after `last`.
  func::CallOp repeated(func::CallOp last, ValueRange operands) {
    OpBuilder builder(last);
    builder.setInsertionPointAfter(last);
    return func::CallOp::create(builder, call.getLoc(), callee.getSymName(),
                                call.getResultTypes(), operands);
  }

  /// Gives the caller an argument for each parameter that the call leaves out,
  /// in every repetition. Returns the first argument's number.
  size_t addParameters() {
    MLIRContext *context = caller.getContext();
    AddedArguments added(caller);
    for (int64_t number = first; number < first + times; ++number)
      for (size_t i = given.size(); i < callee.getNumArguments(); ++i) {
        NamedAttrList own(callee.getArgAttrDict(i));
        auto old = dyn_cast<StringAttr>(own.get(paramAttrName));
        std::string name = parameterName(names.getValue(), number,
                                         old ? old.getValue() : StringRef());
        own.set(paramAttrName, StringAttr::get(context, name));
        BlockArgument parameter = callee.getArgument(i);
        added.add(parameter.getType(), own.getDictionary(context),
                  parameter.getLoc());
      }
    unsigned before = caller.getNumArguments();
    added.insert();
    return before;
  }

  /// Redirects uses of the call's results to the last call's. If there are
  /// several calls, each is named by its number.
  void redirectUses(func::CallOp last) {
    if (last == call)
      return;
    Operation *second = call->getNextNode();
    for (auto [from, to] :
         llvm::zip_equal(call.getResults(), last.getResults()))
      from.replaceUsesWithIf(
          to, [&](OpOperand &use) { return use.getOwner() != second; });
    int64_t number = first;
    for (Operation *each = call; each != last->getNextNode();
         each = each->getNextNode()) {
      std::string name = callee.getSymName().str() + std::to_string(number++);
      each->setLoc(NameLoc::get(StringAttr::get(each->getContext(), name),
                                each->getLoc()));
    }
  }

  func::CallOp call;
  func::FuncOp caller, callee;
  StringAttr names;
  SmallVector<Value> given;
  bool isRepeated = false;
  int64_t times = 1, first = 0;
};

} // namespace

LogicalResult tpsp::expandCall(func::CallOp call, func::FuncOp caller,
                               func::FuncOp callee) {
  return CallExpansion(call, caller, callee).expand();
}
