#include "VerificationText.h"

#include "tpsp/Abi/TextTable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

using namespace tpsp;
using namespace tpsp::rt;

/// Whether the step may be skipped: such a step counts the steps that were not
/// skipped.
static bool hasLossScale(const Plan &plan) {
  auto tensors = plan.tensors();
  return std::any_of(
      tensors.begin(), tensors.end(),
      [](const PlanBuffer &tensor) { return tensor.isStepState(); });
}

/// A cause of the failure other than an error of the program.
static std::string_view hintFor(const RunReport &report) {
  if (report.dtype != "f16" || report.verdict() != Verdict::Failed)
    return "";
  if (std::any_of(report.errors.begin(), report.errors.end(),
                  [](const TensorError &e) { return std::isinf(e.relative); }))
    return hasLossScale(*report.plan)
               ? "In f16 what is above 65504 overflows, and the step is "
                 "skipped: take a smaller\n  --loss-scale (dynamic:1024), or "
                 "verify in f32."
               : "In f16 what is above 65504 overflows: verify in bf16 or "
                 "f32.";
  return "In f16 what is below 6e-5 loses digits: scale the loss, or verify "
         "in f32.";
}

/// Remarks on one comparison besides its numbers.
static std::string remarkOn(const TensorError &e) {
  std::vector<std::string> remarks;
  if (e.zeroReference)
    remarks.push_back(e.rmsRounding > 0 ? "(is zero but for rounding; absolute)"
                                        : "(is zero; absolute)");
  if (e.isOfRounded)
    remarks.push_back("(of the program rounded to its types)");
  if (e.isOfSmall)
    remarks.push_back("(of elements far below the others)");
  if (e.notFinite > 0)
    remarks.push_back(fmt::format(
        "({} not finite, as in the rounded reference)", e.notFinite));
  bool isScaled = std::abs(e.excess) > 0.9 * e.relative && !e.zeroReference;
  if (!e.passed())
    remarks.push_back(
        isScaled ? fmt::format("FAILED ({:.4g} times what it should be)",
                               1 + e.excess)
                 : "FAILED");
  else if (e.isLost())
    remarks.push_back("(lost in rounding)");
  return fmt::format("{}", fmt::join(remarks, "  "));
}

static size_t countOf(const RunReport &report,
                      bool (*holds)(const TensorError &)) {
  return std::count_if(report.errors.begin(), report.errors.end(), holds);
}

/// Counts the results that show nothing about the run, and says how to check
/// them.
static std::string uncheckedText(const RunReport &report) {
  size_t lost =
      countOf(report, [](const TensorError &e) { return e.isLost(); });
  if (lost == 0)
    return "";
  return fmt::format("; {} of {} not checked: rounding alone leaves them no "
                     "digits (--dtype f64 decides)",
                     lost, report.errors.size());
}

/// The verdict and its qualifications.
static std::string verdictOn(const RunReport &report) {
  size_t some =
      countOf(report, [](const TensorError &e) { return e.notFinite > 0; });
  switch (report.verdict()) {
  case Verdict::Failed:
    return "VERIFICATION FAILED" + uncheckedText(report);
  case Verdict::NotFinite:
    return fmt::format(
        "NOT VERIFIED: {} of {} results are not finite, as in the rounded "
        "reference, which says\n  nothing of the run (--accept-not-finite "
        "takes "
        "it for verified)",
        some, report.errors.size());
  case Verdict::Passed:
    break;
  }
  std::string text = "all within tolerance" + uncheckedText(report);
  if (some > 0)
    text +=
        fmt::format("; {} of {} are not finite, as in the rounded reference",
                    some, report.errors.size());
  return text;
}

/// "1e-05", or "1e-05 or 0.02 by the type" if types differ.
static std::string tolerancesOf(const RunReport &report) {
  std::set<double> tolerances;
  for (const TensorError &e : report.errors)
    tolerances.insert(e.tolerance);
  std::vector<std::string> texts;
  for (double tolerance : tolerances)
    texts.push_back(fmt::format("{:.2g}", tolerance));
  std::string text = fmt::format("{}", fmt::join(texts, " or "));
  return texts.size() > 1 ? text + " by the type" : text;
}

/// Counts the planted mistakes (--verify=selftest) and lists those that were
/// not detected.
static std::string plantedText(const RunReport &report) {
  if (report.planted.empty())
    return "";
  size_t seen = 0;
  std::string unseen;
  for (const PlantedResult &planted : report.planted) {
    seen += planted.isSeen;
    if (!planted.isSeen)
      unseen += fmt::format("  {} {}: not seen ({})\n", planted.name,
                            planted.mistake, planted.reason);
  }
  return fmt::format("Planted mistakes: {} of {} seen\n{}", seen,
                     report.planted.size(), unseen);
}

std::string tpsp::rt::verificationTable(const RunReport &report) {
  if (report.errors.empty())
    return "";
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  // Names are not cut. The end of a name gives the layer, and its beginning the
  // role of the tensor.
  TextTable table("lrrl");
  table.add({"tensor", "error", "rounding", ""});
  for (const TensorError &e : report.errors)
    table.add({e.name, fmt::format("{:.2e}", e.relative),
               fmt::format("{:.2e}", e.rounding), remarkOn(e)});
  fmt::format_to(to,
                 "\nVerified against the unsharded program in f64 (relative "
                 "error; allowed are {},\nor {} times what rounding alone "
                 "makes of that program)\n{}",
                 tolerancesOf(report), roundingFactor, table.text());
  fmt::format_to(to, "  {}\n", verdictOn(report));
  for (const std::string &source : report.notFiniteSources)
    fmt::format_to(to, "  {}\n", source);
  if (std::string_view hint = hintFor(report); !hint.empty())
    fmt::format_to(to, "  {}\n", hint);
  out.append(plantedText(report));
  return fmt::to_string(out);
}

std::string tpsp::rt::verificationText(const RunReport &report) {
  return report.errors.empty()
             ? "error: --verify: the program returns nothing to compare\n"
             : verificationTable(report);
}
