/// How element by element operations are evaluated.
#ifndef TPSP_IMPORT_TORCH_FOLDING_H
#define TPSP_IMPORT_TORCH_FOLDING_H

#include "Operators.h"

namespace tpsp::import::torch {

/// A function of these arguments: tensors, or numbers. `name` says what a
/// deferred constant is: masks are read by the names of comparisons, "and" and
/// "where".
Fold foldOf(std::vector<std::string> arguments, Formula formula,
            std::string name = "other");

/// "less", "less_equal", ..., as tpsp.compare has them.
bool compares(const std::string &relation, double a, double b);
Fold foldComparison(const std::string &relation);

/// The second number if the first is not 0, else the third: "where".
double chosen(const std::vector<double> &x);

/// The constant that an argument is; a number has no dimensions.
ConstantPtr constantOf(const Call &call, const std::string &name);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_FOLDING_H
