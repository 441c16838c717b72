/// Registers everything that the tools offer.
#ifndef TPSP_INITALL_H
#define TPSP_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace tpsp {

/// Our dialects and the upstream ones that models and compiled modules use.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Our passes and pipelines, and the upstream passes worth having beside them.
void registerAllPasses();

} // namespace tpsp

#endif // TPSP_INITALL_H
