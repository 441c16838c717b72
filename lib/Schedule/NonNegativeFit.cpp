#include "tpsp/Schedule/NonNegativeFit.h"

#include <algorithm>
#include <cmath>

/// Uses coordinate descent, because the problem is convex and small.
std::vector<double>
tpsp::nonNegativeFit(const std::vector<std::vector<double>> &rows,
                     const std::vector<double> &targets) {
  constexpr int sweeps = 20000;
  size_t features = rows.empty() ? 0 : rows.front().size();
  std::vector<double> coefficients(features, 0), squares(features, 0);
  // The remainder of each target, relative to it.
  std::vector<double> left(rows.size(), 1);
  for (size_t i = 0; i < rows.size(); ++i)
    for (size_t j = 0; j < features; ++j)
      squares[j] += std::pow(rows[i][j] / targets[i], 2);
  for (int sweep = 0; sweep < sweeps; ++sweep)
    for (size_t j = 0; j < features; ++j) {
      if (squares[j] == 0)
        continue;
      double slope = 0;
      for (size_t i = 0; i < rows.size(); ++i)
        slope += left[i] * rows[i][j] / targets[i];
      double moved = std::max(0.0, coefficients[j] + slope / squares[j]);
      double change = moved - coefficients[j];
      coefficients[j] = moved;
      for (size_t i = 0; i < rows.size(); ++i)
        left[i] -= change * rows[i][j] / targets[i];
    }
  return coefficients;
}
