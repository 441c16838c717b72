/// Compares gradients with central finite differences, in float64.
#ifndef TPSP_TEST_UNIT_JIT_GRADIENTCHECK_H
#define TPSP_TEST_UNIT_JIT_GRADIENTCHECK_H

#include "TestProgram.h"

namespace tpsp {

/// Differentiates @f of the program and compares every gradient of @f_grad with
/// finite differences of @f, to a relative 1e-6. The data is random, of a few
/// seeds.
void checkGradients(const std::string &text, Sign sign = Sign::Any,
                    llvm::StringRef name = "f");

} // namespace tpsp

#endif // TPSP_TEST_UNIT_JIT_GRADIENTCHECK_H
