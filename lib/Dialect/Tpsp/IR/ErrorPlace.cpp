#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;
using namespace tpsp;

static bool hasLine(Location location) {
  return bool(location->findInstanceOf<FileLineColRange>());
}

/// "@f", or the operation's name in quotes if it is not a symbol.
static std::string nameOf(Operation *op) {
  if (auto name =
          op->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
    return "@" + name.getValue().str();
  return "'" + op->getName().getStringRef().str() + "'";
}

/// The nearest operation around `op` that is a symbol; null if there is none.
static Operation *namedAround(Operation *op) {
  for (op = op->getParentOp(); op; op = op->getParentOp())
    if (op->hasAttr(SymbolTable::getSymbolAttrName()))
      return op;
  return nullptr;
}

InFlightDiagnostic tpsp::emitErrorAt(Operation *op) {
  // op->emitError() would make tpsp-opt print the operation, too: for a module,
  // the whole program.
  InFlightDiagnostic diag = emitError(op->getLoc());
  if (hasLine(op->getLoc()))
    return diag;
  diag << nameOf(op);
  if (Operation *around = namedAround(op))
    diag << " in " << nameOf(around);
  diag << ": ";
  return diag;
}

InFlightDiagnostic tpsp::emitErrorAt(BlockArgument argument) {
  InFlightDiagnostic diag = emitError(argument.getLoc());
  Operation *owner = argument.getOwner()->getParentOp();
  if (!hasLine(argument.getLoc()) && owner)
    diag << nameOf(owner) << ": ";
  return diag;
}

InFlightDiagnostic tpsp::emitErrorAt(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return emitErrorAt(argument);
  return emitErrorAt(value.getDefiningOp());
}

InFlightDiagnostic tpsp::emitOptionError(Operation *root, StringRef pass,
                                         StringRef option) {
  InFlightDiagnostic diag = emitError(root->getLoc());
  diag << "option '" << option << "' of " << pass << ": ";
  return diag;
}
