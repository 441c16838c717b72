/// Least squares with coefficients that cannot be negative, for rates from
/// measured times.
#ifndef TPSP_SCHEDULE_NONNEGATIVEFIT_H
#define TPSP_SCHEDULE_NONNEGATIVEFIT_H

#include <vector>

namespace tpsp {

/// Coefficients, none below 0, with which the weighted sum of each row's
/// features fits its target. Minimises the squares of the errors relative to
/// the targets. All rows have one length; targets are above 0. A feature that
/// is 0 in all rows gets 0.
std::vector<double> nonNegativeFit(const std::vector<std::vector<double>> &rows,
                                   const std::vector<double> &targets);

} // namespace tpsp

#endif // TPSP_SCHEDULE_NONNEGATIVEFIT_H
