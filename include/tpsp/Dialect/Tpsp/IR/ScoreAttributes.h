/// Reads and sets the options of an attention's scores as attributes.
#ifndef TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_H
#define TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_H

#include "tpsp/Abi/ScoreOptions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <type_traits>

namespace tpsp {

/// Reads the options of type `Options` that `op` states. The others keep their
/// defaults.
template <typename Options> Options optionsOf(mlir::Operation *op) {
  Options options;
  Options::visitAll(options, [&](const char *name, auto &option) {
    using Value = std::decay_t<decltype(option)>;
    mlir::Attribute stated = op->getAttr(name);
    if constexpr (std::is_same_v<Value, bool>)
      option = bool(stated);
    else if constexpr (std::is_same_v<Value, double>)
      option = stated ? llvm::cast<mlir::FloatAttr>(stated).getValueAsDouble()
                      : option;
    else
      option = stated ? llvm::cast<mlir::IntegerAttr>(stated).getInt() : option;
  });
  return options;
}

/// Sets the options among the properties of an operation. An option that is 0
/// or false has no attribute.
template <typename Op, typename Options>
void setOptions(mlir::Builder &b, const Options &options,
                typename Op::Properties &properties) {
  Options::visitAll(options, [&](const char *name, const auto &option) {
    using Value = std::decay_t<decltype(option)>;
    mlir::Attribute stated;
    if constexpr (std::is_same_v<Value, bool>)
      stated = option ? b.getUnitAttr() : mlir::UnitAttr();
    else if constexpr (std::is_same_v<Value, double>)
      stated = option != 0 ? b.getF64FloatAttr(option) : mlir::FloatAttr();
    else
      stated = option != 0 ? b.getI64IntegerAttr(option) : mlir::IntegerAttr();
    Op::setInherentAttr(properties, name, stated);
  });
}

} // namespace tpsp

#endif // TPSP_DIALECT_TPSP_IR_SCOREATTRIBUTES_H
