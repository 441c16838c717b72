/// The hypotheses about one tensor, from its own values and from partial ones.
#ifndef TPSP_LIB_CHECK_HYPOTHESES_H
#define TPSP_LIB_CHECK_HYPOTHESES_H

#include "Compare.h"
#include "Form.h"

#include "tpsp/Check/Check.h"

namespace tpsp::check {

/// A tensor that may have been added to another one.
struct Term {
  std::string name;
  /// In the form of the tensor that is judged.
  RankValues values;
  /// Whether the program adds it, too, so that it may count several times.
  bool isSummand = false;
};

/// The facts by which a tensor is judged.
struct TensorCase {
  /// Null without a program: two dumps are compared.
  const PlacedTensor *tensor = nullptr;
  const rt::RankMesh *mesh = nullptr;
  Form form;
  /// The dumped and the right values, in the form.
  RankValues values, right;
  /// A prediction for each set of axes over which the program's partial tensor
  /// may have been added up, in the form.
  std::vector<std::pair<std::vector<int64_t>, RankValues>> partial;
  /// The axes over which the program adds it up in the end.
  std::vector<int64_t> reduced;
  std::vector<Term> terms;
  /// For a new parameter: the one before the step, in the form.
  RankValues before;
  /// For a new parameter: a prediction for each set of axes over which ranks
  /// may have updated their parts alone (Updates.h), in the form.
  std::vector<std::pair<std::vector<int64_t>, RankValues>> localUpdates;
  /// Other values that the ranks may have, with a text that says so.
  std::vector<std::pair<std::string, RankValues>> others;
  Tolerance tolerance;
  /// The root mean square of what rounding does to each element of the whole
  /// tensor; null if that is not known.
  const std::vector<double> *rounding = nullptr;
  std::vector<FactorSource> sources;
};

/// Judges a tensor. Sets what the values decide: kind, text, axes, factor,
/// errors and alternatives.
void judge(const TensorCase &each, TensorVerdict &verdict);

/// Judges a tensor that is right, zero, lost in rounding or not finite. Returns
/// false for others, which need a hypothesis.
bool judgeWithoutHypotheses(const TensorCase &each, TensorVerdict &verdict);

/// The names of axes: "dp and tp".
std::string axesText(const rt::RankMesh &mesh,
                     const std::vector<int64_t> &axes);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_HYPOTHESES_H
