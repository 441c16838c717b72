#include "Judgement.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::property;
using llvm::StringRef;

static std::string describe(const rt::TensorError &error) {
  return llvm::formatv("'{0}' is off by {1:e3} (relative), of {2:e3}",
                       error.name, error.relative, error.allowed);
}

double tpsp::property::toleranceOf(StringRef element) {
  if (element == "bf16")
    return 2e-2;
  if (element == "f16")
    return 2.5e-3;
  return element == "f32" ? 1e-5 : 1e-9;
}

Outcome tpsp::property::judged(std::vector<rt::TensorError> errors,
                               StringRef element) {
  double tolerance = toleranceOf(element);
  Outcome outcome;
  for (const rt::TensorError &error : errors) {
    if (error.relative <= tolerance)
      continue;
    if (!error.passed())
      return {Outcome::Failed, describe(error)};
    if (error.name != "norm" || error.relative > toleranceOf("f32"))
      outcome.text = Outcome::losesDigits;
  }
  return outcome;
}
