#include "tpsp/Planner/Matrix.h"

#include "DevicesText.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

using namespace tpsp;
using namespace tpsp::planner;
using rt::bytesText;

/// Whether a legal plan was seen, if only by its bounds.
static bool isAnyLegal(const SearchResult &result) {
  return result.leastTooLarge > 0 ||
         llvm::any_of(result.evaluations,
                      [](const Evaluation &each) { return each.isLegal(); });
}

/// "no plan", or "no plan that Megatron-LM can express".
static std::string noPlan(const Matrix &matrix) {
  const std::string &target = matrix.options.space.target;
  return target.empty() ? "no plan"
                        : fmt::format("no plan that {} can express", target);
}

static std::string notFound(const Matrix &matrix) {
  const SearchResult &result = *matrix.result;
  std::string seconds = fmt::format("{:.1f} s", result.state.seconds);
  const char *wayOut = "more --seconds would help, or a --pin of what you know";
  if (result.illegal > 0 && !isAnyLegal(result))
    return fmt::format("none of the {} plans that were compiled in {} is "
                       "legal; the table says why; {}",
                       result.illegal, seconds, wayOut);
  bool isForTarget = !matrix.options.space.target.empty();
  return fmt::format("{} {} into {} on {} was found in {}; {}", noPlan(matrix),
                     isForTarget ? "and that fits" : "that fits",
                     bytesText(double(matrix.options.memoryLimit)),
                     devicesText(matrix.options.devices), seconds, wayOut);
}

/// The bytes of the smallest compiled plan, or else the least bytes of any
/// plan.
static std::string needText(const SearchResult &result) {
  const Evaluation *nearest = nullptr;
  for (const Evaluation &each : result.evaluations)
    if (each.isLegal() && !each.isBound &&
        (!nearest || each.memory.total < nearest->memory.total))
      nearest = &each;
  int64_t least = result.leastTooLarge;
  if (!nearest)
    return "each needs at least " + bytesText(double(least));
  std::string text =
      "the nearest needs " + bytesText(double(nearest->memory.total));
  if (least == 0 || least >= nearest->memory.total)
    return text;
  return text + " of those compiled, and each at least " +
         bytesText(double(least));
}

/// The sentence without its last clause. `isMoreKnown`: whether that clause is
/// about more devices.
static std::string whyNothing(const Matrix &matrix, bool isMoreKnown) {
  // Plans were left out by bytes that are not calibrated.
  if (!matrix.options.calibration.empty())
    return "no compiled plan fits as calibrated; plan again with --memory "
           "divided by the factor of memory";
  const SearchResult &result = *matrix.result;
  if (result.state.gap > 0)
    return notFound(matrix);
  if (matrix.rows.empty() && result.uncut > 0)
    return "no plan's batch can be cut into as many micro-batches as its "
           "stages take; give other --micro-batches, fewer --stages, or the "
           "batch another --extent";
  if (!isAnyLegal(result))
    return "no plan is legal; the table says why";
  std::string more = matrix.options.sharesMemory
                         ? "they share the machine's memory; "
                     : isMoreKnown ? ""
                                   : "more devices, ";
  return fmt::format(
      "{} fits into {} on {}; {}; {}a larger --memory or a smaller batch would "
      "help",
      noPlan(matrix), bytesText(double(matrix.options.memoryLimit)),
      devicesText(matrix.options.devices), needText(result), more);
}

std::string tpsp::planner::nothingFits(const Matrix &matrix,
                                       llvm::StringRef onMoreDevices) {
  return whyNothing(matrix, !onMoreDevices.empty()) + onMoreDevices.str();
}
