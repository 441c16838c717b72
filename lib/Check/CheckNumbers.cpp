#include "tpsp/Check/Check.h"

#include "BoundTensors.h"
#include "CauseSearch.h"
#include "Hypotheses.h"
#include "LaterSums.h"
#include "Ledger.h"
#include "Norm.h"
#include "OwnArguments.h"
#include "RightValues.h"
#include "Updates.h"

#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Comparison/ReferenceArguments.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

namespace {

/// The state that all checks of a program share.
struct Prepared {
  Prepared(const CheckedProgram &program, const CheckSettings &settings)
      : program(program), plan(*program.description.plan), settings(settings) {}

  CheckedProgram program;
  const Plan &plan;
  CheckSettings settings;
  rt::RankMesh mesh;
  std::unique_ptr<Predictor> predictor;
  /// By the type in which dumps are.
  std::map<int64_t, RightValues> right;
  /// The squares of its gradients, by the same.
  std::map<int64_t, GradientSquares> squares;
  /// The type of the last dump.
  int64_t lastType = -1;
  /// The results of the program's own step.
  std::vector<RankValues> own;
};

/// Whether a tensor is a wrong sum over ranks.
bool isOfPartials(const BoundTensor &tensor) {
  return tensor.result >= 0 && !tensor.each.reduced.empty() &&
         !isRight(tensor.verdict.kind);
}

class NumbersCheck {
public:
  NumbersCheck(Prepared &prepared, Dump dump, CheckReport &report)
      : prepared(prepared), plan(prepared.plan), mesh(prepared.mesh),
        dump(std::move(dump)), settings(prepared.settings), report(report),
        predictor(prepared.predictor.get()),
        firstRun(prepared.predictor->runs()) {}

  Status run() {
    TPSP_TRY(checkMesh());
    prepared.lastType = dtype();
    RightValues &right = prepared.right[dtype()];
    if (right.results.empty())
      TPSP_TRY(evaluate(right));
    BoundTensors bound(plan, mesh, dump, prepared.program.source);
    bound.scale = settings.scale;
    auto visit = [&](BoundTensor tensor) {
      addTensor(std::move(tensor), right);
    };
    TPSP_TRY(bound.bind(right, visit, report));
    TPSP_TRY(judgeRest());
    settleSummands(plan, mesh, tensors);
    judgeNorms();
    for (BoundTensor &tensor : tensors)
      report.tensors.push_back(std::move(tensor.verdict));
    report.runs += runs();
    return {};
  }

private:
  int64_t runs() const { return predictor->runs() - firstRun; }

  void say(const std::string &what) const {
    if (settings.progress)
      settings.progress(what);
  }

  Status checkMesh() const {
    if (dump.numRanks != mesh.numRanks())
      return rt::invalid("'{}' has files of {} ranks, and the program's mesh "
                         "has {}; give the run's mesh with --mesh",
                         dump.path, dump.numRanks, mesh.numRanks());
    if (dump.mesh.empty())
      return {};
    std::vector<std::string> theirs, ours;
    for (const MeshAxis &axis : dump.mesh)
      if (axis.size > 1)
        theirs.push_back(fmt::format("{}={}", axis.name, axis.size));
    for (const MeshAxis &axis : plan.mesh)
      if (axis.size > 1)
        ours.push_back(fmt::format("{}={}", axis.name, axis.size));
    if (theirs == ours)
      return {};
    return rt::invalid("'{}' is of a run on the mesh {}, and the program's is "
                       "{}; name the program's axes so, in this order, or give "
                       "--mesh",
                       dump.path, fmt::join(theirs, ","), fmt::join(ours, ","));
  }

  /// The coarsest type of the dump, or the one that was given.
  int64_t dtype() const {
    if (settings.dtype >= 0)
      return settings.dtype;
    return coarsestType(dump);
  }

  Status evaluate(RightValues &right) {
    say("reference in f64");
    TPSP_TRY(evaluateReference(prepared.program.description,
                               prepared.program.source, dtype(), right));
    addSquares(plan, mesh, right, prepared.squares[dtype()]);
    return {};
  }

  /// Judges a tensor by its own values. One that is right is done, and only
  /// hypotheses about others ask for its prediction.
  void addTensor(BoundTensor tensor, RightValues &right) {
    // A wrong result is judged when what it follows from is known (judgeRest).
    if (tensor.result < 0)
      judge(tensor.each, tensor.verdict);
    else if (!judgeWithoutHypotheses(tensor.each, tensor.verdict))
      tensor.verdict.kind = VerdictKind::Wrong;
    describeRow(tensor);
    const PlanBuffer &buffer = tensor.each.tensor->buffer();
    bool isLarge = buffer.kind == BufferKind::Gradient ||
                   buffer.kind == BufferKind::Parameter;
    tensor.isSettled = settings.isUsedOnce && isLarge &&
                       isRight(tensor.verdict.kind) && tensor.result >= 0;
    if (tensor.isSettled) {
      tensor.each.values = tensor.each.right = {};
      tensor.each.rounding = nullptr;
      right.results[buffer.resultNumber()] = {};
      right.roundings[buffer.resultNumber()] = {};
    }
    tensors.push_back(std::move(tensor));
  }

  //===--- Predictions ---------------------------------------------------===//

  /// The plan in f64 must agree with the reference, or its hypotheses mean
  /// nothing.
  Status checkItself() {
    if (prepared.own.empty()) {
      say("the program's own step");
      TPSP_TRY(predictor->run({}, prepared.own));
    }
    constexpr double most = 1e-4;
    for (const BoundTensor &tensor : tensors) {
      if (tensor.result < 0 || tensor.isSettled ||
          rootMeanSquare(tensor.each.right) <
              1e3 * tensor.each.tolerance.absolute)
        continue;
      double error =
          distance(predictionFor(tensor, prepared.own), tensor.each.right);
      if (error > std::max(most, tensor.each.tolerance.relative))
        report.notes.push_back(fmt::format(
            "the program's own step differs from the unsharded program in {} "
            "by {:.2g}: the collectives' hypotheses about it mean nothing",
            tensor.verdict.title, error));
    }
    return {};
  }

  /// Adds predictions of partial tensors, in which gradients are added up over
  /// every set of axes.
  Status addPartials(const Change &base) {
    std::vector<int64_t> axes;
    for (int64_t axis = 0; axis < int64_t(plan.mesh.size()); ++axis)
      if (plan.mesh[axis].size > 1)
        axes.push_back(axis);
    constexpr size_t mostAxes = 4;
    if (axes.size() > mostAxes)
      axes.resize(mostAxes);
    std::vector<const PlanBuffer *> reduced;
    for (const BoundTensor &tensor : tensors)
      if (isOfPartials(tensor))
        reduced.push_back(&tensor.each.tensor->buffer());
    for (BoundTensor &tensor : tensors)
      tensor.each.partial.clear();
    if (reduced.empty())
      return {};
    for (const std::vector<int64_t> &over : subsetsOf(axes)) {
      Change change = base;
      change.add(reducedOver(plan, reduced, over));
      std::vector<RankValues> results;
      TPSP_TRY(predictor->run(change, results,
                              focusOn(*predictor, tensors, isOfPartials)));
      for (BoundTensor &tensor : tensors)
        if (isOfPartials(tensor) && canBeReducedOver(tensor, over))
          tensor.each.partial.push_back({over, predictionFor(tensor, results)});
    }
    return {};
  }

  /// Whether a tensor's reductions can be over these axes.
  bool canBeReducedOver(const BoundTensor &tensor,
                        const std::vector<int64_t> &over) const {
    std::vector<int64_t> rows = rowsOf(plan, tensor.each.tensor->buffer());
    return std::all_of(over.begin(), over.end(), [&](int64_t axis) {
      return meetAlong(plan, plan.ledger[rows.front()], axis);
    });
  }

  //===--- Verdicts ------------------------------------------------------===//

  /// Judges the tensors that are open. Afterwards `base` is named as the cause
  /// of those that are right under it.
  void judgeAll(const std::string &base) {
    for (BoundTensor &tensor : tensors) {
      if (tensor.isSettled || tensor.verdict.isConsequence ||
          (!base.empty() && !isOpen(tensor)))
        continue;
      TensorVerdict verdict = tensor.verdict;
      verdict.isUnexplained = false;
      verdict.alternatives.clear();
      verdict.axes.clear();
      judge(tensor.each, verdict);
      bool isBetter = verdict.kind < tensor.verdict.kind ||
                      tensor.verdict.kind == VerdictKind::Wrong;
      if (!base.empty() && !isBetter)
        continue;
      if (!base.empty())
        verdict.text += ", given that " + base;
      tensor.verdict = std::move(verdict);
      describeRow(tensor);
    }
  }

  /// Names the collective that the program has for a tensor.
  void describeRow(BoundTensor &tensor) const {
    if (tensor.result < 0 || isRight(tensor.verdict.kind))
      return;
    const PlanBuffer &buffer = tensor.each.tensor->buffer();
    std::vector<int64_t> rows = rowsOf(plan, buffer);
    if (rows.empty() && tensor.verdict.kind == VerdictKind::OtherAxes &&
        !tensor.each.localUpdates.empty())
      rows = updateRowsOf(plan, mesh, buffer);
    tensor.verdict.location = buffer.location;
    if (rows.empty())
      return;
    const LedgerRow *row = &plan.ledger[rows.front()];
    for (int64_t each : rows)
      for (const std::string &axis : plan.ledger[each].axes)
        for (const std::string &missing : tensor.verdict.axes)
          if (axis == missing)
            row = &plan.ledger[each];
    nameRow(*row, tensor.verdict);
  }

  template <typename Holds> bool any(Holds holds) const {
    return std::any_of(tensors.begin(), tensors.end(), holds);
  }
  bool anyOpen() const {
    return any([](const BoundTensor &each) {
      return isOpen(each) || each.sharesFactor;
    });
  }
  bool anyWrong() const {
    return any(
        [](const BoundTensor &each) { return !isRight(each.verdict.kind); });
  }

  /// Marks tensors that are wrong by one factor.
  void findSharedFactors() {
    for (BoundTensor &one : tensors)
      for (const BoundTensor &other : tensors)
        if (&one != &other && one.verdict.kind == VerdictKind::Factor &&
            other.verdict.kind == VerdictKind::Factor &&
            one.verdict.text == other.verdict.text)
          one.sharesFactor = true;
  }

  /// Judges by partial tensors, and then by changed collectives in the middle
  /// of the step, one after another.
  Status judgeRest() {
    if (!anyWrong())
      return {};
    TPSP_TRY(checkItself());
    Change base;
    say("the step with each rank's own arguments");
    TPSP_TRY(judgeByOwnArguments(*predictor, prepared.own, tensors, base));
    say("partial gradients");
    TPSP_TRY(addPartials(base));
    TPSP_TRY(addLocalUpdates(*predictor, mesh, tensors));
    judgeAll({});
    findSharedFactors();
    constexpr int mostCauses = 4;
    for (int cause = 0; cause < mostCauses && anyOpen(); ++cause) {
      StepHypothesis best;
      TPSP_TRY(CauseSearch(*predictor, settings, firstRun, prepared.own,
                           tensors, report)
                   .find(base, best));
      if (best.change.isEmpty())
        break;
      base.add(best.change);
      if (!anyOpen())
        break;
      TPSP_TRY(rebase(base));
      judgeAll(best.text);
    }
    return {};
  }

  void judgeNorms() {
    auto isGradient = [](const PlanBuffer &each) {
      return each.kind == BufferKind::Gradient;
    };
    bool hasGradients =
        std::any_of(plan.buffers.begin(), plan.buffers.end(), isGradient);
    for (const DumpEntry &entry : dump.entries)
      if (entry.role == DumpRole::Norm && hasGradients)
        report.tensors.push_back(judgeNorm(
            entry, plan, mesh, prepared.squares[dtype()], settings.scale));
  }

  /// Makes the changed step the one that tensors are compared with.
  Status rebase(const Change &base) {
    auto isKept = [](const BoundTensor &each) {
      return each.result >= 0 && !each.isSettled;
    };
    std::vector<RankValues> results;
    TPSP_TRY(
        predictor->run(base, results, focusOn(*predictor, tensors, isKept)));
    for (BoundTensor &tensor : tensors)
      if (isKept(tensor))
        tensor.each.right = predictionFor(tensor, results);
    results = {};
    return addPartials(base);
  }

  Prepared &prepared;
  const Plan &plan;
  const rt::RankMesh &mesh;
  Dump dump;
  const CheckSettings &settings;
  CheckReport &report;
  Predictor *predictor;
  const int64_t firstRun;
  std::vector<BoundTensor> tensors;
};

} // namespace

struct NumbersChecker::Impl : Prepared {
  using Prepared::Prepared;
};

NumbersChecker::NumbersChecker(std::unique_ptr<Impl> impl)
    : impl(std::move(impl)) {}
NumbersChecker::~NumbersChecker() = default;

/// A step runs while the unsharded program's results are kept.
static Status checkMemory(const CheckedProgram &program) {
  const Plan &plan = *program.description.plan;
  int64_t needed = reference::leastBytes(program.description.reference) +
                   plan.numRanks() * plan.arenaBytes;
  return rt::checkHostMemory(
      needed,
      fmt::format("the unsharded program in f64, and a step of {} ranks",
                  plan.numRanks()),
      "check it layer by layer (--layers), smaller shapes (--extent), or fewer "
      "layers");
}

Status NumbersChecker::create(const CheckedProgram &program,
                              const CheckSettings &settings,
                              std::unique_ptr<NumbersChecker> &out) {
  auto impl = std::make_unique<Impl>(program, settings);
  TPSP_TRY(checkMemory(program));
  TPSP_TRY(rt::RankMesh::create(impl->plan.mesh, impl->mesh));
  TPSP_TRY(Predictor::create(impl->plan, program.step, program.source,
                             settings.predictor, impl->predictor));
  out.reset(new NumbersChecker(std::move(impl)));
  return {};
}

Status NumbersChecker::check(Dump dump, CheckReport &report) {
  report.mesh = impl->plan.mesh;
  report.model = impl->program.description.model;
  report.dump = dump.path;
  return NumbersCheck(*impl, std::move(dump), report).run();
}

const GradientSquares &NumbersChecker::squares() const {
  return impl->squares[impl->lastType];
}
