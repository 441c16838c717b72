/// The hypotheses that have been tried on one tensor.
#ifndef TPSP_LIB_CHECK_CANDIDATES_H
#define TPSP_LIB_CHECK_CANDIDATES_H

#include "Hypotheses.h"

#include <limits>

namespace tpsp::check {

/// A hypothesis that predicts the values, or nearly.
struct Candidate {
  VerdictKind kind = VerdictKind::Wrong;
  /// Among hypotheses of one kind, how much they change.
  int weight = 0;
  std::string text;
  std::vector<int64_t> axes;
  bool isUnexplained = false;
  double factor = 1, error = std::numeric_limits<double>::infinity();
  /// Only if the hypothesis is proven.
  RankValues prediction;
};

class Candidates {
public:
  /// The case must outlive this object.
  explicit Candidates(const TensorCase &tensorCase)
      : each(tensorCase), mesh(*tensorCase.mesh) {}

  const TensorCase &each;
  const rt::RankMesh &mesh;
  std::vector<Candidate> list;

  /// Adds the hypothesis that the ranks have `factor` times `prediction`.
  void add(VerdictKind kind, int weight, std::string text,
           std::vector<int64_t> axes, const RankValues &prediction,
           double factor = 1);
  /// Adds the hypothesis that they have any multiple of it. `how` says how the
  /// prediction is made; it is empty for the right values.
  void addMultiple(VerdictKind kind, int weight, const std::string &how,
                   const std::vector<int64_t> &axes,
                   const RankValues &prediction);

  bool isProven(const Candidate &candidate) const {
    return candidate.error <= each.tolerance.relative;
  }
  /// The axes along which all ranks should have the same.
  std::vector<int64_t> copies() const;
  /// Whether the ranks of each group of these axes have the same values.
  bool areCopies(const RankValues &values,
                 const std::vector<int64_t> &axes) const;
  /// Whether the dumped values of such ranks differ by more than rounding.
  bool differAlong(const std::vector<int64_t> &axes) const;
  /// The first rank that, with those that hold its other parts, has the whole
  /// tensor of the program; 0 if there is none.
  int64_t completeRank() const;
  /// Whether there are too few different numbers to decide a factor.
  bool areFewNumbers() const;
  /// Whether all ranks have parts of one size.
  bool areSameSizes() const;
};

/// "4 times too large", "4 times too small".
std::string timesText(double factor);

/// The number of ranks in a group of these axes.
double sizeOf(const rt::RankMesh &mesh, const std::vector<int64_t> &axes);

/// Adds hypotheses about sums: missing ones, multiples, sums over other axes.
void addReductions(Candidates &all);
/// Adds hypotheses about places: parts of other ranks, other orders.
void addLayouts(Candidates &all);
/// Adds hypotheses about the update of a parameter.
void addUpdates(Candidates &all);
/// Adds hypotheses about damage: added terms, wrong rows, copies that differ.
void addDamages(Candidates &all);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_CANDIDATES_H
