/// A mistake for tests to plant: an adjoint that is three times too large.
#ifndef TPSP_TEST_PROPERTY_WRONGADJOINT_H
#define TPSP_TEST_PROPERTY_WRONGADJOINT_H

#include "mlir/IR/BuiltinOps.h"

namespace tpsp::property {

/// Multiplies by 3 the values that adjoints of operations `mnemonic` pass on to
/// other operations' gradients. `module` has been differentiated; its locations
/// are those of `text`, which has one operation a line. Returns the number of
/// these values.
unsigned tripleAdjoints(mlir::ModuleOp module, const std::string &text,
                        const std::string &mnemonic);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_WRONGADJOINT_H
