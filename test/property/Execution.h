/// Runs a compiled program on its ranks with random arguments.
#ifndef TPSP_TEST_PROPERTY_EXECUTION_H
#define TPSP_TEST_PROPERTY_EXECUTION_H

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

namespace tpsp::property {

/// What the elements of an argument are.
struct ElementDomain {
  /// Rounded to this type; f64 to f32.
  int64_t dtype = TPSP_RT_F32;
  /// If not 0: integers in [0, below).
  int64_t below = 0;
};

/// The whole of argument `number`, of `elements`: between 0.05 and 1.5 in
/// magnitude, rounded so that the argument's type holds it.
std::vector<double> randomArgument(uint64_t seed, int64_t number,
                                   int64_t elements,
                                   const ElementDomain &domain = {});

/// The whole of an argument of a compiled program: the above, or what tpsp-run
/// makes up (Options::defaultData).
std::vector<double> wholeArgument(const PlanBuffer &tensor, uint64_t seed);

/// The bytes of each result on each rank: result 0 of all ranks, result 1, ...
using ResultBytes = std::vector<std::vector<std::byte>>;

/// Runs two steps, the second over what the first left, and compares every
/// result with its whole value, `expected[i]` result i of the function. `bytes`
/// becomes what came out. `planted`: a mistake that every comparison finds.
llvm::Expected<std::vector<rt::TensorError>>
runAndCompare(const CompiledModel &model, JitEffort effort, uint64_t seed,
              const std::vector<rt::ExpectedValues> &expected, double tolerance,
              ResultBytes &bytes, const rt::PlantedMistake &planted = {});

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_EXECUTION_H
