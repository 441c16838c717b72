/// Judges whether a program's results are near enough to the expected ones.
#ifndef TPSP_TEST_PROPERTY_JUDGEMENT_H
#define TPSP_TEST_PROPERTY_JUDGEMENT_H

#include "Trial.h"

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace tpsp::property {

/// Returns the relative error that is always allowed for a program of this
/// element type. Rounding may allow more.
double toleranceOf(llvm::StringRef element);

/// Judges the errors of a program of this element type. A norm is in f32 in
/// every program and never has more digits.
Outcome judged(std::vector<rt::TensorError> errors, llvm::StringRef element);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_JUDGEMENT_H
