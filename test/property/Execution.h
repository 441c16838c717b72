/// Runs a compiled program on its ranks with random arguments.
#ifndef TPSP_TEST_PROPERTY_EXECUTION_H
#define TPSP_TEST_PROPERTY_EXECUTION_H

#include "tpsp/Compile/Compiler.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

namespace tpsp::property {

/// The values that elements of an argument may have.
struct ElementDomain {
  /// The type to which values are rounded; f64 is rounded to f32.
  int64_t dtype = TPSP_RT_F32;
  /// If not 0, the elements are integers in [0, below).
  int64_t below = 0;
};

/// Returns the whole argument `number` with this many elements. Their
/// magnitudes are between 0.05 and 1.5, rounded so that the argument's type
/// holds them.
std::vector<double> randomArgument(uint64_t seed, int64_t number,
                                   int64_t elements,
                                   const ElementDomain &domain = {});

/// Returns a whole argument of a compiled program: as above, or with
/// Options::defaultData the random data of tpsp-run.
std::vector<double> wholeArgument(const PlanBuffer &tensor, uint64_t seed);

/// The bytes of each result on each rank: result 0 of all ranks, result 1, ...
using ResultBytes = std::vector<std::vector<std::byte>>;

/// Runs two steps, the second over the memory that the first left (with an
/// update only one). Compares every result with its whole value; `expected[i]`
/// is that of result i of the function. Sets `bytes` to the results. Every
/// comparison plants the mistake `planted`.
llvm::Expected<std::vector<rt::TensorError>>
runAndCompare(const CompiledModel &model, CodeEffort effort, uint64_t seed,
              const std::vector<rt::ExpectedValues> &expected, double tolerance,
              ResultBytes &bytes, const rt::PlantedMistake &planted = {});

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_EXECUTION_H
