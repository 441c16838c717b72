/// The dialects of a StableHLO module, as far as printing one needs them. LLVM
/// does not include these dialects. Their operations have no definition here,
/// and their attributes are opaque: they are printed and never parsed.
#ifndef TPSP_LIB_PASSES_STABLEHLO_HLODIALECTS_H
#define TPSP_LIB_PASSES_STABLEHLO_HLODIALECTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/MLIRContext.h"

namespace tpsp::hlo {

/// A dialect whose operations are defined elsewhere.
template <typename Self> class ForeignDialect : public mlir::Dialect {
public:
  explicit ForeignDialect(mlir::MLIRContext *context)
      : Dialect(Self::getDialectNamespace(), context,
                mlir::TypeID::get<Self>()) {
    allowUnknownOperations();
  }
};

/// Operations on tensors (openxla.org/stablehlo/spec).
struct StablehloDialect : ForeignDialect<StablehloDialect> {
  using ForeignDialect::ForeignDialect;
  static constexpr llvm::StringLiteral getDialectNamespace() {
    return "stablehlo";
  }
};

/// Scalar functions that StableHLO lacks; XLA expands them.
struct ChloDialect : ForeignDialect<ChloDialect> {
  using ForeignDialect::ForeignDialect;
  static constexpr llvm::StringLiteral getDialectNamespace() { return "chlo"; }
};

/// Shardy: meshes and shardings (openxla.org/shardy).
struct SdyDialect : ForeignDialect<SdyDialect> {
  using ForeignDialect::ForeignDialect;
  static constexpr llvm::StringLiteral getDialectNamespace() { return "sdy"; }
};

/// Attributes of arguments and results that JAX reads: their names.
struct JaxDialect : ForeignDialect<JaxDialect> {
  using ForeignDialect::ForeignDialect;
  static constexpr llvm::StringLiteral getDialectNamespace() { return "jax"; }
};

/// `#dialect.text`, or `#dialect<text>` if `text` has spaces outside of
/// brackets.
template <typename Dialect>
mlir::Attribute foreignAttr(mlir::MLIRContext *context,
                            const llvm::Twine &text) {
  return mlir::OpaqueAttr::get(
      mlir::StringAttr::get(context, Dialect::getDialectNamespace()),
      text.str(), mlir::NoneType::get(context));
}

} // namespace tpsp::hlo

#endif // TPSP_LIB_PASSES_STABLEHLO_HLODIALECTS_H
