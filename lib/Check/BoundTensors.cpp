#include "BoundTensors.h"

#include "Ledger.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::check;
using rt::Status;

RankValues tpsp::check::predictionFor(const BoundTensor &tensor,
                                      const std::vector<RankValues> &results) {
  const PlacedTensor &placed = *tensor.each.tensor;
  RankValues parts = results[tensor.result];
  if (!placed.buffer().pending.empty())
    parts = summed(placed.mesh(), parts, placed.buffer().pending);
  return inForm(placed, tensor.each.form, parts);
}

bool tpsp::check::isOwnPart(const BoundTensor &tensor) {
  const Form &form = tensor.each.form;
  return form.kind == Form::Part && form.order.empty() &&
         tensor.each.tensor->buffer().pending.empty();
}

const RankValues &tpsp::check::valuesOf(const BoundTensor &tensor,
                                        const std::vector<RankValues> &own,
                                        RankValues &room) {
  if (!tensor.isSettled)
    return tensor.each.values;
  if (isOwnPart(tensor))
    return own[tensor.result];
  room = predictionFor(tensor, own);
  return room;
}

void tpsp::check::setFollows(const std::string &text,
                             const RankValues &prediction, double error,
                             BoundTensor &tensor) {
  TensorVerdict &verdict = tensor.verdict;
  static_cast<Claim &>(verdict) = {VerdictKind::Follows, text, {}, 1};
  verdict.alternatives.clear();
  verdict.isUnexplained = false;
  tensor.sharesFactor = false;
  verdict.error = error;
  verdict.nextError = verdict.errorOfRight;
  verdict.next = "right";
  verdict.distinguishing = distinguishing(
      tensor.each.values, prediction, tensor.each.right, tensor.each.tolerance);
  verdict.collective.clear();
  verdict.rule.clear();
  verdict.collectiveAxes.clear();
  verdict.location = tensor.each.tensor->buffer().location;
}

RunFocus
tpsp::check::focusOn(const Predictor &predictor,
                     const std::vector<BoundTensor> &tensors,
                     const std::function<bool(const BoundTensor &)> &isAsked) {
  RunFocus focus;
  focus.results.assign(predictor.results().size(), false);
  for (const BoundTensor &tensor : tensors)
    if (tensor.result >= 0 && isAsked(tensor))
      focus.results[tensor.result] = true;
  return focus;
}

int64_t tpsp::check::coarsestType(const Dump &dump) {
  constexpr int64_t fromFinest[] = {TPSP_RT_F64, TPSP_RT_F32, TPSP_RT_F16,
                                    TPSP_RT_BF16};
  size_t coarsest = 0;
  for (const DumpEntry &entry : dump.entries)
    for (const std::optional<DumpedTensor> &each : entry.ranks)
      for (size_t i = 0; each && i < std::size(fromFinest); ++i)
        if (each->dtype == fromFinest[i])
          coarsest = std::max(coarsest, i);
  return fromFinest[coarsest];
}

/// The root mean square of a tensor, or of its smallest part of few elements as
/// distance() measures it.
static double leastSize(const RankValues &right) {
  double size = rootMeanSquare(right);
  std::vector<double> sizes = sizesOfParts(right);
  for (size_t rank = 0; rank < right.size(); ++rank)
    if (sizes[rank] > 0 &&
        int64_t(right[rank].size()) < rt::elementsToJudgeAlone)
      size = std::min(size, sizes[rank]);
  return size;
}

Tolerance tpsp::check::toleranceFor(const RankValues &right,
                                    const ResultRounding &rounding,
                                    int64_t dtype) {
  double factor = rt::roundingFactorOf(rounding.samples);
  Tolerance tolerance;
  tolerance.absolute = rounding.size;
  tolerance.relative = rt::toleranceOf(dtype);
  double size = leastSize(right);
  if (size > 0)
    tolerance.relative =
        std::max(tolerance.relative, factor * rounding.size / size);
  // Beyond it half of a tensor would pass for the whole.
  constexpr double most = 0.3;
  if (tolerance.relative > most)
    tolerance.undecided = tolerance.relative;
  // Noise as large as the values does not propagate like a small error.
  if (tolerance.relative > rt::TensorError::mostWithDigits)
    tolerance.undecided *= factor;
  tolerance.relative = std::min(tolerance.relative, most);
  return tolerance;
}

std::vector<FactorSource>
tpsp::check::factorSources(const std::vector<MeshAxis> &mesh,
                           int64_t microBatches, double scale) {
  std::vector<FactorSource> sources;
  for (const MeshAxis &axis : mesh)
    if (axis.size > 1)
      sources.push_back({"the size of " + axis.name, double(axis.size)});
  if (microBatches > 1)
    sources.push_back({microBatchesText, double(microBatches)});
  if (scale != 1)
    sources.push_back({"the scale", scale});
  return sources;
}

void tpsp::check::addRoots(const std::vector<MeshAxis> &mesh,
                           std::vector<FactorSource> &sources) {
  for (const MeshAxis &axis : mesh)
    if (axis.size > 1)
      sources.push_back({"the root of the size of " + axis.name,
                         std::sqrt(double(axis.size))});
}

const PlanBuffer *BoundTensors::find(const DumpEntry &entry) const {
  const PlanBuffer *found = nullptr;
  for (const PlanBuffer &tensor : plan.tensors()) {
    bool isWanted = false;
    switch (entry.role) {
    case DumpRole::Gradient:
    case DumpRole::Cotangent:
      isWanted =
          (tensor.kind == BufferKind::Gradient || tensor.isCotangent() ||
           tensor.kind == BufferKind::Output) &&
          (tensor.name == "g[" + entry.name + "]" ||
           (tensor.name == entry.name && tensor.kind != BufferKind::Output));
      break;
    case DumpRole::Parameter:
      isWanted =
          tensor.kind == BufferKind::Parameter && tensor.name == entry.name;
      break;
    case DumpRole::Updated:
      isWanted = tensor.kind == BufferKind::Parameter &&
                 tensor.name == entry.name && tensor.updatedBy >= 0;
      break;
    case DumpRole::Activation:
      isWanted =
          (tensor.kind == BufferKind::Output ||
           (tensor.kind == BufferKind::Input && !tensor.isCotangent())) &&
          tensor.name == entry.name;
      break;
    case DumpRole::Loss:
      isWanted = tensor.kind == BufferKind::Output && tensor.shape.empty();
      break;
    case DumpRole::Norm:
      break;
    }
    if (isWanted && !found)
      found = &tensor;
  }
  return found;
}

/// Why the program has no such tensor, and what to do.
static std::string absence(const DumpEntry &entry, bool updates) {
  if (entry.role == DumpRole::Updated && !updates)
    return "the program updates no parameters; give --optimizer";
  if (entry.role == DumpRole::Loss)
    return "the program has no result without indices; name the loss act:NAME";
  if (entry.role == DumpRole::Norm)
    return "the program has no gradients, of which it would be the norm";
  return fmt::format("the program has none of that name; map names by --names, "
                     "or leave it out of the dump");
}

static void addUncompared(const DumpEntry &entry, const std::string &why,
                          CheckReport &report) {
  TensorVerdict verdict;
  verdict.title = entry.title();
  verdict.kind = VerdictKind::NotCompared;
  verdict.text = why;
  report.tensors.push_back(std::move(verdict));
}

/// An argument is what the dump has of it.
static void addTaken(const DumpEntry &entry, int64_t place,
                     CheckReport &report) {
  TensorVerdict verdict;
  verdict.title = entry.title();
  verdict.kind = VerdictKind::Equal;
  verdict.place = place;
  report.tensors.push_back(std::move(verdict));
}

Status BoundTensors::bind(const RightValues &right,
                          const std::function<void(BoundTensor)> &visit,
                          CheckReport &report) {
  bool updates = std::any_of(
      plan.buffers.begin(), plan.buffers.end(), [](const PlanBuffer &each) {
        return each.kind == BufferKind::Parameter && each.updatedBy >= 0;
      });
  bool hasGradients = std::any_of(
      plan.buffers.begin(), plan.buffers.end(),
      [](const PlanBuffer &each) { return each.kind == BufferKind::Gradient; });
  for (DumpEntry &entry : dump.entries) {
    if (entry.role == DumpRole::Norm && hasGradients)
      continue; // judged by all gradients together (Norm.h)
    const PlanBuffer *buffer = find(entry);
    if (buffer && entry.isTaken)
      addTaken(entry, placeOf(*buffer), report);
    else if (buffer)
      TPSP_TRY(bindTo(*buffer, entry, right, visit, report));
    else
      addUncompared(entry, absence(entry, updates), report);
  }
  return {};
}

int64_t BoundTensors::placeOf(const PlanBuffer &buffer) const {
  int64_t number = &buffer - plan.buffers.data(), place = -1;
  for (size_t i = 0; i < plan.commands.size(); ++i)
    for (const PlanAccess &access : plan.commands[i].accesses)
      if (access.isWrite && access.buffer == number)
        place = int64_t(i);
  return place;
}

int64_t BoundTensors::resultOf(const PlanBuffer &buffer, DumpRole role) const {
  if (role == DumpRole::Parameter || buffer.resultNumber() < 0)
    return -1;
  int64_t number = 0;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (&tensor == &buffer)
      return number;
    number += tensor.resultNumber() >= 0;
  }
  return -1;
}

/// The shapes of all ranks, each once: "[4, 8] and [4, 4]".
static std::string shapesText(const DumpEntry &entry) {
  std::vector<std::string> texts;
  for (const std::optional<DumpedTensor> &each : entry.ranks) {
    if (!each)
      continue;
    std::string text = fmt::format("[{}]", fmt::join(each->shape, ", "));
    if (std::find(texts.begin(), texts.end(), text) == texts.end())
      texts.push_back(std::move(text));
  }
  constexpr size_t most = 3;
  texts.resize(std::min(texts.size(), most));
  return fmt::format("{}", fmt::join(texts, " and "));
}

/// Says which ranks lack a tensor that others have, and that the program has
/// there.
static void noteAbsences(const PlacedTensor &tensor, const DumpEntry &entry,
                         CheckReport &report) {
  std::vector<size_t> ranks;
  for (size_t rank = 0; rank < entry.ranks.size(); ++rank)
    if (!entry.ranks[rank] &&
        tensor.buffer().isHeldAt(tensor.mesh().coordinates(int64_t(rank))))
      ranks.push_back(rank);
  if (!ranks.empty())
    report.notes.push_back(
        fmt::format("{} is not in the files of rank{} {}", entry.title(),
                    ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", ")));
}

Status BoundTensors::bindTo(const PlanBuffer &buffer, DumpEntry &entry,
                            const RightValues &right,
                            const std::function<void(BoundTensor)> &visit,
                            CheckReport &report) const {
  BoundTensor bound;
  bound.placed = std::make_unique<PlacedTensor>(buffer, mesh);
  std::optional<Form> form = formOf(*bound.placed, entry);
  if (!form) {
    addUncompared(
        entry,
        fmt::format("it is {}, and the program's is [{}], of which rank 0 has "
                    "[{}]; give its placement, or a map of names that permutes "
                    "or splits it",
                    shapesText(entry), fmt::join(buffer.shape, ", "),
                    fmt::join(bound.placed->partShape(0), ", ")),
        report);
    return {};
  }
  noteAbsences(*bound.placed, entry, report);
  bound.result = resultOf(buffer, entry.role);
  std::vector<double> whole;
  if (bound.result >= 0)
    whole = right.results[buffer.resultNumber()];
  else
    TPSP_TRY(source.whole(buffer, whole));
  TensorCase &each = bound.each;
  each.tensor = bound.placed.get();
  each.mesh = &mesh;
  each.form = *form;
  each.right = inForm(*each.tensor, *form, each.tensor->partsOf(whole));
  whole = {};
  int64_t dtype = TPSP_RT_F64;
  for (std::optional<DumpedTensor> &values : entry.ranks) {
    if (values)
      values->decode();
    if (values && rt::toleranceOf(values->dtype) > rt::toleranceOf(dtype))
      dtype = values->dtype;
    each.values.push_back(values ? std::move(values->values)
                                 : std::vector<double>());
  }
  // The program's and the dump's own pending sums.
  std::vector<int64_t> pending = buffer.pending;
  if (form->isStated)
    pending = form->pending;
  if (!pending.empty())
    each.values = summed(mesh, each.values, pending);
  ResultRounding rounding;
  if (bound.result >= 0) {
    rounding = right.rounding[buffer.resultNumber()];
    each.rounding = &right.roundings[buffer.resultNumber()];
  }
  each.tolerance = toleranceFor(each.right, rounding, dtype);
  each.sources = factorSources(plan.mesh, plan.microBatches, scale);
  for (int64_t row : rowsOf(plan, buffer))
    for (int64_t axis : axesOf(plan, plan.ledger[row]))
      if (plan.mesh[axis].size > 1)
        each.reduced.push_back(axis);
  std::sort(each.reduced.begin(), each.reduced.end());
  each.reduced.erase(std::unique(each.reduced.begin(), each.reduced.end()),
                     each.reduced.end());
  // Nothing has been added to what is right.
  if (distance(each.values, each.right) > each.tolerance.relative) {
    TPSP_TRY(addTerms(bound));
    TPSP_TRY(addSummands(right, bound));
  }
  bound.verdict.title = entry.title();
  bound.verdict.place = placeOf(buffer);
  visit(std::move(bound));
  return {};
}

/// A gradient may have its parameter's decay in it, and a new parameter may be
/// the old one.
Status BoundTensors::addTerms(BoundTensor &bound) const {
  const PlanBuffer &buffer = bound.placed->buffer();
  bool isNew = buffer.kind == BufferKind::Parameter && bound.result >= 0;
  if (buffer.kind != BufferKind::Gradient && !isNew)
    return {};
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (tensor.kind != BufferKind::Parameter ||
        (isNew ? &tensor != &buffer : tensor.number != buffer.of))
      continue;
    std::vector<double> whole;
    TPSP_TRY(source.whole(tensor, whole));
    RankValues values =
        inForm(*bound.placed, bound.each.form, bound.placed->partsOf(whole));
    if (isNew) {
      bound.each.before = values;
      bound.each.others.push_back(
          {"not updated: it is the parameter before the step", values});
      addRoots(plan.mesh, bound.each.sources);
    } else {
      bound.each.terms.push_back({tensor.name, values});
    }
  }
  return {};
}

/// A summand may count once for each rank of an axis.
Status BoundTensors::addSummands(const RightValues &right,
                                 BoundTensor &bound) const {
  if (bound.result < 0)
    return {};
  const PlanBuffer &buffer = bound.placed->buffer();
  const Summands &summands = right.summands[buffer.resultNumber()];
  auto isAmong = [](const std::vector<size_t> &numbers, int64_t number) {
    return std::find(numbers.begin(), numbers.end(), size_t(number)) !=
           numbers.end();
  };
  for (const PlanBuffer &summand : plan.tensors()) {
    bool isArgument = summand.isArgument();
    bool isSummand = isArgument
                         ? isAmong(summands.arguments, summand.number)
                         : isAmong(summands.results, summand.resultNumber());
    // A vector that is added to all rows has another shape.
    if (!isSummand || summand.isCotangent() || summand.shape != buffer.shape)
      continue;
    std::vector<double> whole;
    if (isArgument)
      TPSP_TRY(source.whole(summand, whole));
    else
      whole = right.results[summand.resultNumber()];
    bound.each.terms.push_back(
        {summand.name,
         inForm(*bound.placed, bound.each.form, bound.placed->partsOf(whole)),
         /*isSummand=*/true});
  }
  return {};
}
