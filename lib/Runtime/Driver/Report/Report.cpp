#include "tpsp/Runtime/Driver/Report/Report.h"
#include "tpsp/Abi/TextTable.h"

#include "LedgerText.h"
#include "MemoryText.h"
#include "PaddingText.h"
#include "Runtime/Driver/Files/EnumJson.h"
#include "VerificationText.h"

#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/CriticalPath.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/Exposure.h"
#include "tpsp/Abi/PlanMemory.h"
#include "tpsp/Abi/Quantity.h"
#include "tpsp/Runtime/Driver/Report/StepText.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>

using namespace tpsp;
using namespace tpsp::rt;
using Kind = BufferKind;
using Json = nlohmann::ordered_json;

Verdict RunReport::verdict() const {
  auto passed = [](const TensorError &e) { return e.passed(); };
  auto isFinite = [](const TensorError &e) { return e.notFinite == 0; };
  if (errors.empty() || !std::all_of(errors.begin(), errors.end(), passed))
    return Verdict::Failed;
  return acceptsNotFinite || std::all_of(errors.begin(), errors.end(), isFinite)
             ? Verdict::Passed
             : Verdict::NotFinite;
}

double RunReport::tolerance() const {
  double largest = 0;
  for (const TensorError &error : errors)
    largest = std::max(largest, error.tolerance);
  return largest;
}

int64_t tpsp::rt::peakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0)
      return std::stoll(line.substr(6)) * 1024;
  return 0;
}

static double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  size_t middle = values.size() / 2;
  return values.size() % 2 ? values[middle]
                           : (values[middle - 1] + values[middle]) / 2;
}

double tpsp::rt::medianStep(const RunReport &report) {
  return median(report.stepSeconds);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// The times of one collective; null if no step was recorded.
static Json timesOf(const StepTrace &trace,
                    const CollectiveExposure *collective) {
  if (!collective)
    return {{"seconds", nullptr},
            {"exposed_seconds", nullptr},
            {"hidden_under", nullptr}};
  int64_t under = collective->hiddenUnder;
  return {{"seconds", collective->seconds},
          {"exposed_seconds", collective->exposed},
          {"hidden_under", under < 0
                               ? Json(nullptr)
                               : Json(trace.plan->commands[under].name())}};
}

static Json ledger(const RunReport &report, const Exposure &exposure) {
  Json list = Json::array();
  for (const LedgerRow &c : report.plan->ledger) {
    Json &facts = list.emplace_back();
    LedgerRow::visitFacts(
        c, [&](const char *name, const auto &fact) { facts[name] = fact; });
    facts["location"] = c.location;
    size_t row = list.size() - 1;
    facts.update(timesOf(report.trace, row < exposure.collectives.size()
                                           ? &exposure.collectives[row]
                                           : nullptr));
  }
  return list;
}

/// The part of the report that only a simulation has.
static Json prediction(const RunReport &report) {
  if (!report.prediction)
    return nullptr;
  const Prediction &p = *report.prediction;
  Json kinds = Json::object(), live = Json::array(), basis = Json::object();
  for (const auto &[what, figures] : p.basis)
    basis[what] = figures;
  for (const Prediction::Kind &kind : p.kinds)
    kinds[kind.name] = {{"commands", kind.commands}, {"seconds", kind.seconds}};
  for (const Prediction::Buffer &buffer : p.liveAtPeak)
    live.push_back({{"name", buffer.name}, {"bytes", buffer.bytes}});
  return {
      {"hardware", p.hardware},
      {"basis", basis},
      {"kinds", kinds},
      {"computing", p.computing},
      {"matmul_utilisation", p.matmulUtilisation},
      {"link_utilisation", p.linkUtilisation},
      {"memory_needed", p.neededBytes},
      {"memory_there", p.memoryBytes},
      {"memory_peak",
       {{"bytes", p.peakBytes}, {"seconds", p.peakSeconds}, {"live", live}}}};
}

/// phase -> kind -> {count, bytes}
static Json totals(const Plan &plan) {
  Json result = {{"forward", Json::object()}, {"backward", Json::object()}};
  for (const auto &[key, sum] : ledgerTotals(plan))
    result[nameOf(key.first)][key.second] = {{"count", sum.count},
                                             {"bytes", sum.bytes}};
  return result;
}

/// Arguments, results and gradients.
static Json tensors(const Plan &plan) {
  Json list = Json::array();
  for (const PlanBuffer &tensor : plan.tensors())
    list.push_back({{"name", tensor.name},
                    {"kind", nameOf(tensor.kind)},
                    {"dtype", elementName(tensor.dtype)},
                    {"shape", tensor.shape},
                    {"subscripts", tensor.subscripts},
                    {"bytes", tensor.bytes}});
  return list;
}

static Json memoryJson(const Plan &plan) {
  PlanMemory m = memoryOf(plan);
  return {{"inputs", m.inputs},           {"parameters", m.parameters},
          {"master", m.master},           {"optimizer", m.optimizer},
          {"outputs", m.outputs},         {"choices", m.choices},
          {"gradients", m.gradients},     {"input_gradients", m.inputGradients},
          {"activations", m.activations}, {"saved", plan.savedBytes},
          {"peak", plan.arenaBytes}};
}

/// The memory of a rank; with stages of each stage's, and first of the largest.
static Json memory(const RunReport &report) {
  const Plan &plan = *report.plan;
  std::vector<Plan> views = stageViews(plan);
  const Plan &largest = *std::max_element(
      views.begin(), views.end(),
      [](const Plan &a, const Plan &b) { return a.arenaBytes < b.arenaBytes; });
  Json json = memoryJson(largest);
  json["peak_serial"] = plan.serialBytes ? plan.serialBytes : plan.arenaBytes;
  json["peak_all_ranks"] = bytesOfAllRanks(plan);
  json["resident_peak"] = report.residentBytes;
  if (plan.stageAxis < 0)
    return json;
  json["stages"] = Json::array();
  for (const Plan &view : views)
    json["stages"].push_back(memoryJson(view));
  return json;
}

static Json scalars(const StepResults &results) {
  Json json = Json::object();
  for (const StepResults::Scalar &scalar : results.scalars)
    json[scalar.name] = std::isfinite(scalar.value)
                            ? Json(scalar.value)
                            : Json(fmt::format("{}", scalar.value));
  return json;
}

static Json cotangents(const StepResults &results) {
  Json json = Json::object();
  for (const StepResults::Cotangent &cotangent : results.cotangents)
    json[cotangent.name] = cotangent.from;
  return json;
}

static Json verification(const RunReport &report) {
  if (report.errors.empty())
    return nullptr;
  double worstRelative = 0, worstAbsolute = 0;
  Json tensors = Json::array(), planted = Json::array();
  for (const PlantedResult &p : report.planted)
    planted.push_back({{"name", p.name},
                       {"mistake", p.mistake},
                       {"seen", p.isSeen},
                       {"reason", p.reason}});
  // JSON has no infinity, so it is written as text.
  auto number = [](double value) {
    return std::isfinite(value) ? Json(value) : Json("inf");
  };
  for (const TensorError &e : report.errors) {
    if (!e.zeroReference)
      worstRelative = std::max(worstRelative, e.relative);
    worstAbsolute = std::max(worstAbsolute, e.maxAbsolute);
    tensors.push_back({{"name", e.name},
                       {"max_abs_error", number(e.maxAbsolute)},
                       {"rel_error", number(e.relative)},
                       {"rounding_error", number(e.rounding)},
                       {"allowed_error", number(e.allowed)},
                       {"not_finite", e.notFinite},
                       {"passed", e.passed()},
                       {"zero_reference", e.zeroReference},
                       {"tolerance", e.tolerance},
                       {"excess", number(e.excess)},
                       {"allowed_excess", number(e.allowedExcess)},
                       {"of_rounded_program", e.isOfRounded},
                       {"of_small_elements", e.isOfSmall}});
  }
  return {{"passed", report.verified()},
          {"not_finite", report.verdict() == Verdict::NotFinite},
          {"not_finite_sources", report.notFiniteSources},
          {"tolerance", report.tolerance()},
          {"rounding_factor", roundingFactor},
          {"max_abs_error", number(worstAbsolute)},
          {"max_rel_error", number(worstRelative)},
          {"planted", planted},
          {"tensors", tensors}};
}

static Json criticalCommands(const RunReport &report) {
  Json json = Json::array();
  for (const CriticalCommand &each : report.trace.critical) {
    int64_t number = each.span.command;
    json.push_back({{"command", number},
                    {"name", report.plan->commands[number].name()},
                    {"rank", each.rank},
                    {"begin", each.span.begin},
                    {"end", each.span.end}});
  }
  return json;
}

static Json times(const RunReport &report, const Exposure &exposure) {
  Json json = {{"compile", report.compileSeconds},
               {"steps", report.stepSeconds},
               {"step", medianStep(report)},
               {"gpu", nullptr},
               {"communication", nullptr},
               {"exposed_communication", nullptr},
               {"hidden_share", nullptr},
               {"critical_path", nullptr},
               {"critical_kinds", nullptr},
               {"critical_commands", nullptr},
               {"verify", report.verifySeconds},
               {"simulated", report.prediction.has_value()}};
  if (!report.gpuSeconds.empty())
    json["gpu"] = median(report.gpuSeconds);
  if (report.trace.ranks.empty())
    return json;
  json["communication"] = exposure.communication;
  json["exposed_communication"] = exposure.exposed;
  json["hidden_share"] = exposure.hiddenShare();
  CriticalPath path = criticalPath(report.trace);
  json["critical_path"] = path.seconds;
  json["critical_kinds"] = Json::object();
  for (const auto &[kind, seconds] :
       criticalKinds(*report.plan, path, kindsOf(*report.plan)))
    json["critical_kinds"][kind] = seconds;
  json["critical_commands"] = criticalCommands(report);
  return json;
}

/// "bias", "keep", "gelu".
static std::vector<std::string>
namesOf(const std::vector<EpilogueStep> &steps) {
  std::vector<std::string> names;
  for (EpilogueStep step : steps)
    names.push_back(nameOf(step));
  return names;
}

static Json epilogues(const Plan &plan) {
  Json json = Json::array();
  for (const PlaceRow &epilogue : epiloguesOf(plan))
    json.push_back({{"matmul", epilogue.value},
                    {"location", epilogue.location},
                    {"steps", namesOf(epilogue.steps)},
                    {"commands", epilogue.commands}});
  return json;
}

static Json attention(const Plan &plan) {
  Json json = Json::array();
  for (const PlaceRow &call : attentionOf(plan))
    json.push_back({{"call", call.call},
                    {"value", call.value},
                    {"location", call.location},
                    {"commands", call.commands}});
  return json;
}

std::string tpsp::rt::toJson(const RunReport &report) {
  Exposure exposure;
  if (!report.trace.ranks.empty())
    exposure = exposureOf(*report.plan, report.trace.ranks);
  const Plan &m = *report.plan;
  Json mesh = Json::object();
  for (const MeshAxis &axis : m.mesh)
    mesh[axis.name] = axis.size;
  Json json = {{"version", 1},
               {"program", m.program},
               {"mesh", mesh},
               {"ranks", m.numRanks()},
               {"backend", report.backend},
               {"dtype", report.dtype},
               {"commands", m.commands.size()},
               {"matmul_flops", m.matmulFlops()},
               {"transpose_copies", m.transposeCopies},
               {"epilogues", epilogues(m)},
               {"attention", attention(m)},
               {"collectives", ledger(report, exposure)},
               {"totals", totals(m)},
               {"padded", paddingJson(m)},
               {"tensors", tensors(m)},
               {"scalars", scalars(report.results)},
               {"cotangents", cotangents(report.results)},
               {"memory", memory(report)},
               {"time", times(report, exposure)},
               {"prediction", prediction(report)},
               {"verify", verification(report)}};
  // File names may hold bytes that are not UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static void printPrediction(const RunReport &report, fmt::memory_buffer &out) {
  auto to = std::back_inserter(out);
  const Prediction &p = *report.prediction;
  double step = report.stepSeconds.front();
  TextTable kinds("lrrr"), basis("ll");
  for (const Prediction::Kind &kind : p.kinds)
    kinds.add(
        {kind.name, fmt::format("x{}", kind.commands),
         secondsText(kind.seconds),
         fmt::format("{:.1f} %", step > 0 ? 100 * kind.seconds / step : 0)});
  for (const auto &[what, figures] : p.basis)
    basis.add({what, figures});
  fmt::format_to(to, "\nPredicted for {}\n{}", p.hardware, kinds.text());
  fmt::format_to(to, "  matmuls use {:.0f} % of the peak, links {:.0f} %\n",
                 100 * p.matmulUtilisation, 100 * p.linkUtilisation);
  out.append(basis.text());
  if (!p.fits())
    fmt::format_to(
        to,
        "  does not fit: {} needed, {} there; the largest in an arena: {}; use "
        "more devices, smaller shapes or --rematerialize\n",
        bytesText(double(p.neededBytes)), bytesText(double(p.memoryBytes)),
        largestConsumers(*report.plan));
}

static void printTime(const RunReport &report, fmt::memory_buffer &out) {
  if (report.prediction)
    return printPrediction(report, out);
  TextTable table("lrl");
  table.add({"compile", fmt::format("{:.3f} s", report.compileSeconds), ""});
  double step = report.stepSeconds.empty() ? 0 : medianStep(report);
  if (!report.stepSeconds.empty())
    table.add(
        {"step", fmt::format("{:.3f} s", step),
         fmt::format("(median of {}; first {:.3f} s)",
                     report.stepSeconds.size(), report.stepSeconds.front())});
  if (!report.gpuSeconds.empty())
    table.add(
        {"on the GPU",
         fmt::format("{:.3f} ms", 1e3 * median(report.gpuSeconds)),
         fmt::format("(median of {} replayed)", report.gpuSeconds.size())});
  // Every command is of one stage's ranks.
  double flops = report.plan->matmulFlops() *
                 double(report.plan->numRanks() / report.plan->numStages());
  if (flops > 0 && step > 0)
    table.add({"matmuls", fmt::format("{:.1f} GFLOP/s", flops / step * 1e-9),
               "over all ranks"});
  fmt::format_to(std::back_inserter(out), "\nTime\n{}", table.text());
}

/// Prints a line for each kind of row, named by `kindOf`, with the values of
/// that kind.
template <typename KindOf>
static void printPlaces(const char *title, const std::vector<PlaceRow> &rows,
                        KindOf kindOf, fmt::memory_buffer &out) {
  std::map<std::string, std::vector<std::string>> values;
  for (const PlaceRow &row : rows)
    values[kindOf(row)].push_back(row.value.empty() ? row.location : row.value);
  if (values.empty())
    return;
  TextTable table("ll");
  for (const auto &[kind, names] : values)
    table.add({kind, fmt::format("{}", fmt::join(names, ", "))});
  fmt::format_to(std::back_inserter(out), "\n{}\n{}", title, table.text());
}

static void printEpilogues(const Plan &plan, fmt::memory_buffer &out) {
  auto kindOf = [](const PlaceRow &row) {
    return fmt::format("{}", fmt::join(namesOf(row.steps), ","));
  };
  printPlaces("Epilogues of matmuls", epiloguesOf(plan), kindOf, out);
}

/// Lists attention in one call; other forms of attention appear as matmuls and
/// kernels.
static void printAttention(const Plan &plan, fmt::memory_buffer &out) {
  auto kindOf = [](const PlaceRow &row) { return row.call; };
  printPlaces("Attention in one call", attentionOf(plan), kindOf, out);
}

static void printResults(const RunReport &report, fmt::memory_buffer &out) {
  if (std::string text = toText(report.results); !text.empty())
    fmt::format_to(std::back_inserter(out), "\n{}", text);
}

static void printSummary(const RunReport &report, fmt::memory_buffer &out) {
  if (report.trace.ranks.empty() || report.stepSeconds.empty())
    return;
  std::string line = summaryLine(medianStep(report),
                                 exposureOf(*report.plan, report.trace.ranks),
                                 report.plan->arenaBytes);
  fmt::format_to(std::back_inserter(out), "\n{}\n", line);
  line = criticalPathText(*report.plan, criticalPath(report.trace),
                          kindsOf(*report.plan));
  if (!line.empty())
    fmt::format_to(std::back_inserter(out), "{}\n", line);
}

std::string tpsp::rt::toText(const RunReport &report, bool everyLayer) {
  fmt::memory_buffer out;
  out.append(ledgerText(*report.plan, everyLayer));
  printEpilogues(*report.plan, out);
  printAttention(*report.plan, out);
  out.append(paddingText(*report.plan));
  out.append(memoryText(*report.plan, report.residentBytes));
  printTime(report, out);
  printSummary(report, out);
  printResults(report, out);
  out.append(verificationTable(report));
  return fmt::to_string(out);
}
