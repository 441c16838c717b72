#ifndef TPSP_PASSES_STABLEHLOPASSES_TD
#define TPSP_PASSES_STABLEHLOPASSES_TD

// Passes to other compilers. docs/reference/Passes.md is generated from the
// descriptions.

include "mlir/Pass/PassBase.td"

def ConvertTpspToStablehlo
    : Pass<"convert-tpsp-to-stablehlo", "::mlir::ModuleOp"> {
  let summary = "Convert a program to StableHLO with Shardy's annotations";
  let description = [{
    Before: one function on global shapes, with or without its backward pass.
    After: the same function as `func.func @main`, with StableHLO operations and
    without index names. The text is for XLA and JAX ([Leaving](../Leaving.md)).

    The mesh is an `sdy.mesh`. Arguments and results have an `sdy.sharding`. A
    value has an `sdy.sharding_constraint` if its placement does not follow by
    name from its operands' placements. Collectives are not operations of the
    module: operand and result are placed, and XLA decides what to send.

    - A loop over points (`LoopOpInterface`) becomes the operation's own scalar
      on whole tensors, and a `reduce`. So kernels and StableHLO share one
      definition of each pointwise operation.
    - A product that is summed over indices of both operands is a `dot_general`.
    - A view is a `reshape`.
    - Lookups, routing, sequences and runs of positions have rows of a table
      (`lib/Passes/Stablehlo/Forms.cpp`).

    Norms, softmax and rope are decomposed here; attention and other early
    composites were decomposed before. Numbers are computed in f32 (f64 for
    f64), as in kernels. Partial arguments and results are refused.

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
    // For scalars, before they become tensors.
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

#endif // TPSP_PASSES_STABLEHLOPASSES_TD
