/// Holds a hand-written parallel run against what a program needs.
///
/// The program is compiled, so every collective that it needs is known, and
/// runs here in f64. A hypothesis is a changed step: a collective is missing,
/// scaled or over other ranks. It predicts what every rank has. The
/// simplest hypothesis that predicts the dump is the verdict. The kinds
/// of verdict below are in the order of simplicity. docs/Check.md describes
/// them for users.
#ifndef TPSP_CHECK_CHECK_H
#define TPSP_CHECK_CHECK_H

#include "tpsp/Check/Dump.h"
#include "tpsp/Check/Predictor.h"
#include "tpsp/Runtime/Driver/Page/Page.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::check {

/// From the simplest to the last resort.
enum class VerdictKind {
  Equal,      ///< within rounding
  Zero,       ///< zero but for rounding, which decides nothing
  Missing,    ///< a reduction is missing: a sum or mean over axes completes it
  Factor,     ///< a multiple of what is right
  OtherAxes,  ///< reduced over other ranks
  OtherShard, ///< what another rank should have
  OtherCut,   ///< transposed, or divided in another order
  Term,       ///< right but for a multiple of another tensor
  Rows,       ///< right but for some positions of one index
  Follows,    ///< right if another finding's step were right
  Copies,     ///< copies on several ranks differ
  Wrong,      ///< nothing of the above
  NotCompared ///< the program has no such tensor, or not of this shape
};

} // namespace tpsp::check

namespace tpsp {
template <> struct EnumNames<check::VerdictKind> {
  static constexpr const char *all[] = {
      "equal",       "zero",      "missing",     "factor", "other axes",
      "other shard", "other cut", "term",        "rows",   "follows",
      "copies",      "wrong",     "not compared"};
};
} // namespace tpsp

namespace tpsp::check {

/// Whether a verdict says that nothing is wrong.
constexpr bool isRight(VerdictKind kind) {
  return kind == VerdictKind::Equal || kind == VerdictKind::Zero;
}

/// A statement about a tensor.
struct Claim {
  VerdictKind kind = VerdictKind::Wrong;
  /// "the sum over tp is missing".
  std::string text;
  /// The axes of it, and for Factor or Missing the factor.
  std::vector<std::string> axes;
  double factor = 1;
};

/// The verdict on one tensor of a dump.
struct TensorVerdict : Claim {
  /// As in the dump: "grad:w1".
  std::string title;
  /// Other hypotheses that the numbers do not exclude, simplest first.
  std::vector<Claim> alternatives;
  /// The program's collective ("all_reduce of g[w1] over tp: ..."), the number
  /// of its constraint in docs/Spec.md, and the line of the model. They may be
  /// empty.
  std::string collective, rule, location;
  /// The axes of that collective.
  std::vector<std::string> collectiveAxes;
  /// The error of the verdict's prediction, that of what is right, and that of
  /// the next hypothesis. Relative.
  double error = 0, errorOfRight = 0, nextError = 0;
  /// The largest error that rounding explains.
  double tolerance = 0;
  std::string next;
  /// Elements of all ranks; and those in which the verdict differs from what is
  /// right by more than rounding.
  int64_t elements = 0, distinguishing = 0;
  /// Whether a factor is found that nothing explains.
  bool isUnexplained = false;
  /// Whether it follows from what is wrong with an argument, which has a
  /// verdict of its own.
  bool isConsequence = false;
  /// Whether it was taken as an argument of the program, so that it is equal by
  /// itself.
  bool isTaken = false;
  /// Where the program makes it: the number of the command.
  int64_t place = 0;
};

/// Tensors with one cause.
struct Finding {
  /// The first of them in program order.
  TensorVerdict first;
  /// Titles, in program order, and with numbers of layers as '#'.
  std::vector<std::string> tensors, patterns;
};

struct CheckReport {
  std::string model, dump;
  std::vector<MeshAxis> mesh;
  /// In program order.
  std::vector<TensorVerdict> tensors;
  /// The mistakes, in program order.
  std::vector<Finding> findings;
  /// Sentences.
  std::vector<std::string> notes;
  /// Steps that were run to predict.
  int64_t runs = 0;

  /// Whether something was compared and nothing is wrong.
  bool isRight() const;
  /// Adds the verdicts and the notes of a check of another part of the dump.
  void add(CheckReport other);
};

/// The settings of checkNumbers().
struct CheckSettings {
  PredictorSettings predictor;
  /// The most steps to run for hypotheses.
  int64_t mostRuns = 400;
  /// A scale that the run may have applied, such as that of a loss; 1: none.
  double scale = 1;
  /// The type in which the run computed: TPSP_RT_F32, ...; -1: the coarsest of
  /// the dump.
  int64_t dtype = -1;
  /// Whether the checker checks one dump alone. Then it frees what is right.
  bool isUsedOnce = false;
  /// Called with what is done next; may be null.
  std::function<void(const std::string &)> progress;
};

/// A compiled program with the values of its arguments. All must outlive the
/// check.
struct CheckedProgram {
  const rt::PlanDescription &description;
  rt::StepFunction step;
  const rt::TensorSource &source;
};

struct GradientSquares;

/// Compares dumps with a program.
class NumbersChecker {
public:
  /// The plan should be in f64, with a collective of its own for each gradient.
  static rt::Status create(const CheckedProgram &program,
                           const CheckSettings &settings,
                           std::unique_ptr<NumbersChecker> &out);
  NumbersChecker(const NumbersChecker &) = delete;
  NumbersChecker &operator=(const NumbersChecker &) = delete;
  ~NumbersChecker();

  /// Adds to `report` what is found. A dump of more or fewer ranks than the
  /// mesh has, or of another mesh, is INVALID.
  rt::Status check(Dump dump, CheckReport &report);
  /// After a check: the squares of the right gradients of parameters.
  const GradientSquares &squares() const;

private:
  struct Impl;
  explicit NumbersChecker(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// Compares a dump with one that is right, as far as that goes without a
/// program.
rt::Status checkDumps(const Dump &right, const Dump &dump,
                      const CheckSettings &settings, CheckReport &report);

/// Sorts the tensors, and puts those with one cause together.
void findCauses(CheckReport &report);

/// A table whose first line is the answer; and JSON with the keys of
/// docs/Check.md.
std::string toText(const CheckReport &report, bool everyTensor);
std::string toJson(const CheckReport &report);
/// The same for a page.
rt::PageCheck toPageCheck(const CheckReport &report);

} // namespace tpsp::check

#endif // TPSP_CHECK_CHECK_H
