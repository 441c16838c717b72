/// Whether what a program gave is near enough to what it should give.
#ifndef TPSP_TEST_PROPERTY_JUDGEMENT_H
#define TPSP_TEST_PROPERTY_JUDGEMENT_H

#include "Trial.h"

#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include "llvm/ADT/StringRef.h"

#include <vector>

namespace tpsp::property {

/// The relative error that a program of this element type may have, if rounding
/// makes no more.
double toleranceOf(llvm::StringRef element);

/// What a comparison says of a program of this element type. A norm is in f32
/// whatever the program, and never has more digits.
Outcome judged(std::vector<rt::TensorError> errors, llvm::StringRef element);

} // namespace tpsp::property

#endif // TPSP_TEST_PROPERTY_JUDGEMENT_H
