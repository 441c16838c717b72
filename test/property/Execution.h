/// Runs a compiled program on its ranks with random arguments.
#ifndef TPSP_TEST_PROPERTY_EXECUTION_H
#define TPSP_TEST_PROPERTY_EXECUTION_H

#include "tpsp/Runtime/Driver/Comparison.h"
#include "tpsp/Runtime/Jit/Compiler.h"

namespace tpsp::property {

/// What the elements of an argument are.
struct ElementDomain {
  /// Rounded to bf16; else to f32.
  bool isBf16 = false;
  /// If not 0: integers in [0, below).
  int64_t below = 0;
};

/// The whole of argument `number`, of `elements`: between 0.05 and 1.5 in
/// magnitude, rounded so that the argument's type holds it.
std::vector<double> randomArgument(uint64_t seed, int64_t number,
                                   int64_t elements,
                                   const ElementDomain &domain = {});

/// Runs two steps, the second over what the first left, and compares every
/// result with its whole value, `expected[i]` result i of the function.
llvm::Expected<std::vector<rt::TensorError>>
runAndCompare(const CompiledModel &model, JitEffort effort, uint64_t seed,
              const std::vector<std::vector<double>> &expected);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_EXECUTION_H
