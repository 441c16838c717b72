#include "tpsp/Runtime/Train/Sampler.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/IntegerRange.h"

#include <algorithm>
#include <cmath>
#include <limits>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

/// INVALID if nothing gives an input of the forward pass.
static Status checkInputs(const Plan &plan, const TensorSource &source) {
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.kind == BufferKind::Input && !tensor.isScalar &&
        tensor.data == DataRole::None && !source.isGiven(tensor))
      return invalid("tokens do not give input '{}'; give it with --inputs",
                     tensor.name);
  return {};
}

Status Sampler::create(LoadedProgram program, const TensorSource &source,
                       Sampler &out) {
  out = Sampler();
  out.program = program;
  for (const PlanBuffer &tensor : program.plan->tensors()) {
    if (tensor.data == DataRole::Tokens && !tensor.shape.empty())
      out.tokensInput = &tensor;
    if (tensor.kind == BufferKind::Output && tensor.name == "logits")
      out.logits = &tensor;
  }
  if (!out.tokensInput)
    return invalid("the program has no argument of tokens; write {{tpsp.data = "
                   "\"tokens\"}} on the one that has them");
  if (!out.logits)
    return invalid("the plan has no result 'logits'; compile a model that "
                   "returns them by this name, without --grad");
  std::vector<int64_t> positions = out.logits->shape;
  if (!positions.empty())
    positions.pop_back();
  if (positions != out.tokensInput->shape)
    return invalid("'logits' has no row for each token of '{}'; return them "
                   "with the indices of the tokens, and the vocabulary last",
                   out.tokensInput->name);
  return checkInputs(*program.plan, source);
}

int64_t Sampler::valueAt(const PlanBuffer &tensor, int64_t element,
                         const std::vector<int64_t> &window) const {
  int64_t column = tensor.shape.empty() ? 0 : element % tensor.shape.back();
  // The window is one document, number 0.
  if (tensor.data == DataRole::Positions ||
      tensor.data == DataRole::DocumentPositions)
    return column;
  bool isToken =
      tensor.data == DataRole::Tokens && column < int64_t(window.size());
  return isToken ? window[column] : 0;
}

Status Sampler::setArguments(Rank &rank, const std::vector<int64_t> &window,
                             std::vector<char> &staging) const {
  for (const PlanBuffer &tensor : program.plan->tensors()) {
    bool isData =
        tensor.kind == BufferKind::Input && tensor.data != DataRole::None;
    if (!(isData || tensor.isScalar) || !tensor.isHeldAt(rank.coordinates()))
      continue;
    Shard shard(tensor, program.plan->mesh, rank.coordinates());
    TPSP_TRY(rank.fill(
        *tensor.offset, tensor.bytes, staging, [&](void *memory) -> Status {
          if (!isData)
            return storeFloat(1, tensor.dtype, memory, 0), Status();
          shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
            for (int64_t i = 0; i < n; ++i)
              storeInteger(valueAt(tensor, global + i, window), tensor.dtype,
                           memory, local + i);
          });
          return {};
        }));
  }
  return {};
}

Status Sampler::readLogits(int64_t position, std::vector<double> &out) const {
  int64_t words = vocabulary(), first = position * words;
  out.assign(words, 0);
  auto add = [&](int64_t rank, const void *memory) -> Status {
    Shard(*logits, program.plan->mesh, program.world->mesh().coordinates(rank))
        .forEachRun([&](int64_t global, int64_t local, int64_t n) {
          int64_t begin = std::max(global, first),
                  end = std::min(global + n, first + words);
          for (int64_t at = begin; at < end; ++at)
            out[at - first] =
                loadNumber(memory, logits->dtype, local + at - global);
        });
    return {};
  };
  // Ranks write different elements.
  return program.world->inspect(
      *logits->offset, logits->bytes,
      [&](int64_t rank) {
        return isFirstHolder(*logits, program.world->mesh().coordinates(rank));
      },
      add);
}

Status Sampler::logitsAfter(const std::vector<int64_t> &tokens, int64_t padding,
                            std::vector<double> &out) {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] >= vocabulary() || !integerRange(*tokensInput).has(tokens[i]))
      return invalid("token {} is {}, and the model takes tokens below {}", i,
                     tokens[i], vocabulary());
  size_t most = length(), count = std::min(tokens.size(), most);
  std::vector<int64_t> window(tokens.end() - count, tokens.end());
  window.resize(most, padding);
  TPSP_TRY(program.world->run([&](Rank &rank) -> Status {
    std::vector<char> staging;
    TPSP_TRY(setArguments(rank, window, staging));
    TPSP_TRY(rank.step(program.step, *program.plan));
    return rank.synchronize();
  }));
  return readLogits(int64_t(count) - 1, out);
}

Status Sampler::checkCausal(const std::vector<int64_t> &tokens) {
  std::vector<double> one, other;
  TPSP_TRY(logitsAfter(tokens, 0, one));
  TPSP_TRY(logitsAfter(tokens, vocabulary() - 1, other));
  double largest = 0, difference = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    bool isFinite = std::isfinite(one[i]);
    if (isFinite != std::isfinite(other[i]))
      difference = std::numeric_limits<double>::infinity();
    if (!isFinite || !std::isfinite(other[i]))
      continue;
    largest = std::max(largest, std::fabs(one[i]));
    difference = std::max(difference, std::fabs(one[i] - other[i]));
  }
  // A causal model computes the same numbers, up to the order of sums.
  if (difference <= 1e-6 * largest)
    return {};
  return invalid("the logits of a token change by {:.2g} with the tokens after "
                 "it, so the model cannot continue a text; something in it "
                 "looks ahead, such as attention without 'causal'",
                 difference);
}

int64_t tpsp::train::drawToken(const std::vector<double> &logits,
                               double temperature, double uniform) {
  int64_t best = -1;
  for (size_t i = 0; i < logits.size(); ++i)
    if (std::isfinite(logits[i]) && (best < 0 || logits[i] > logits[best]))
      best = int64_t(i);
  if (best < 0 || temperature == 0)
    return best;
  auto weight = [&](double logit) {
    return std::isfinite(logit) ? std::exp((logit - logits[best]) / temperature)
                                : 0;
  };
  double sum = 0;
  for (double logit : logits)
    sum += weight(logit);
  double rest = uniform * sum;
  for (size_t i = 0; i < logits.size(); ++i)
    if ((rest -= weight(logits[i])) < 0)
      return int64_t(i);
  return best;
}
