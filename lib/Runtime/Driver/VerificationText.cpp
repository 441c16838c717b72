#include "VerificationText.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;

/// A step that may be skipped counts those that were not.
static bool hasLossScale(const Plan &plan) {
  auto tensors = plan.tensors();
  return std::any_of(
      tensors.begin(), tensors.end(),
      [](const PlanBuffer &tensor) { return tensor.isStepState(); });
}

/// What else than an error of the program it may be.
static std::string_view hintFor(const RunReport &report) {
  if (report.dtype != "f16" || report.verified())
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

/// What is to be known of one comparison besides its numbers.
static std::string remarkOn(const TensorError &e) {
  std::string text;
  if (e.zeroReference)
    text += "  (is zero; of the largest result)";
  if (e.notFinite > 0)
    text += fmt::format("  ({} not finite, as in the rounded reference)",
                        e.notFinite);
  if (!e.passed())
    return text + "  FAILED";
  return e.isLost() ? text + "  (lost in rounding)" : text;
}

/// The verdict, and what qualifies it.
static std::string verdictOn(const RunReport &report) {
  auto count = [&](auto holds) {
    return std::count_if(report.errors.begin(), report.errors.end(), holds);
  };
  std::string text =
      report.verified() ? "all within tolerance" : "VERIFICATION FAILED";
  if (auto lost = count([](const TensorError &e) { return e.isLost(); }))
    text += fmt::format("; rounding alone leaves {} of {} no digits: --dtype "
                        "f64 decides",
                        lost, report.errors.size());
  if (auto some = count([](const TensorError &e) { return e.notFinite > 0; }))
    text +=
        fmt::format("; {} of {} are not finite, as in the rounded reference",
                    some, report.errors.size());
  return text;
}

std::string tpsp::rt::verificationTable(const RunReport &report) {
  if (report.errors.empty())
    return "";
  fmt::memory_buffer out;
  auto to = std::back_inserter(out);
  // Whole: the end of a name says which layer's tensor it is, and the beginning
  // what of it.
  size_t width = 20;
  for (const TensorError &e : report.errors)
    width = std::max(width, e.name.size());
  fmt::format_to(to,
                 "\nVerified against the unsharded program in f64 (relative "
                 "error; allowed are {:.2g},\nor {} times what rounding alone "
                 "makes of that program)\n"
                 "  {:<{}} {:>10}  {:>10}\n",
                 report.tolerance, roundingFactor, "tensor", width, "error",
                 "rounding");
  for (const TensorError &e : report.errors)
    fmt::format_to(to, "  {:<{}} {:>10.2e}  {:>10.2e}{}\n", e.name, width,
                   e.relative, e.rounding, remarkOn(e));
  fmt::format_to(to, "  {}\n", verdictOn(report));
  if (std::string_view hint = hintFor(report); !hint.empty())
    fmt::format_to(to, "  {}\n", hint);
  return fmt::to_string(out);
}

std::string tpsp::rt::verificationText(const RunReport &report) {
  return report.errors.empty()
             ? "error: --verify: the program returns nothing to compare\n"
             : verificationTable(report);
}
