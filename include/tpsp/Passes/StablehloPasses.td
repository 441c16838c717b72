#ifndef TPSP_PASSES_STABLEHLOPASSES_TD
#define TPSP_PASSES_STABLEHLOPASSES_TD

// To other compilers.
// docs/reference/Passes.md is made of the descriptions.

include "mlir/Pass/PassBase.td"

def ConvertTpspToStablehlo
    : Pass<"convert-tpsp-to-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Convert a program to StableHLO with Shardy's annotations";
  let description = [{
    Before: one function on global shapes, with or without its backward pass.
    After: the same as `func.func @main` of operations of StableHLO, without
    index names. The text is for XLA and JAX ([Leaving](../Leaving.md)).

    The mesh is an `sdy.mesh`. Arguments and results have an `sdy.sharding`. A
    value has an `sdy.sharding_constraint` where its placement does not follow
    from its operands' by name. A collective is no operation of the module: its
    operand and its result are placed, and what moves is left to XLA.

    - A loop over points (`LoopOpInterface`) is the operation's own scalar, of
      whole tensors, and a `reduce`. So pointwise operations have one body for
      kernels and for StableHLO.
    - A product that is summed over what both operands have is a `dot_general`.
    - A view is a `reshape`.
    - Lookups, routing, sequences and runs of positions have rows of a table
      (`lib/Passes/Stablehlo/Forms.cpp`).

    Norms, softmax and rope are taken apart; attention and other early composites
    have been. Numbers are computed in f32 (f64 for f64), as in kernels. Arguments
    and results that are partial are refused.

    ```
    tpsp-opt examples/tp.mlir --tpsp-to-stablehlo -o tp.stablehlo.mlir
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", "",
           "The function that becomes @main; needed if there are several">
  ];
  let dependentDialects = [
    "::tpsp::hlo::StablehloDialect", "::tpsp::hlo::ChloDialect",
    "::tpsp::hlo::SdyDialect", "::tpsp::hlo::JaxDialect",
    // Of scalars, before they are tensors.
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // TPSP_PASSES_STABLEHLOPASSES_TD
