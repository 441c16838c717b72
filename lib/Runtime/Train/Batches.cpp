#include "tpsp/Runtime/Train/Batches.h"

#include "Shuffle.h"
#include "TokenRows.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Abi/Quantity.h"

#include <fmt/format.h>

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

/// The product of all extents but the last.
static int64_t rowsOf(const PlanBuffer &tensor) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < tensor.shape.size(); ++i)
    rows *= tensor.shape[i];
  return rows;
}

static bool isTokens(const PlanBuffer &tensor) {
  return tensor.data == DataRole::Tokens || tensor.data == DataRole::NextTokens;
}

static bool hasPositions(const PlanBuffer &tensor) {
  return tensor.data == DataRole::Positions ||
         tensor.data == DataRole::DocumentPositions;
}

static Status noData() {
  return {TPSP_RT_INVALID,
          "no argument of the program is data; write {tpsp.data = \"tokens\"} "
          "on the tokens and \"next_tokens\" on what they are to predict, or "
          "give samples by name (--data x=F.npy)"};
}

/// A position without a row in its table would be looked up as zeros.
static Status checkPositions(const Plan &plan) {
  for (const PlanBuffer &tensor : plan.tensors())
    if (hasPositions(tensor) && tensor.below > 0 &&
        tensor.shape.back() > tensor.below)
      return invalid("a sample has {} positions, and '{}' takes those below "
                     "{}; give shorter sequences (--extent), or a table of "
                     "more positions",
                     tensor.shape.back(), tensor.name, tensor.below);
  return {};
}

Status DataFiles::open(const std::vector<std::string> &operands,
                       const std::string &format, DataFiles &out) {
  std::vector<std::string> named, others;
  for (const std::string &operand : operands)
    (SampleFiles::isNamed(operand) ? named : others).push_back(operand);
  TPSP_TRY(SampleFiles::open(named, out.samples));
  return others.empty() ? Status()
                        : TokenFiles::open(others, format, out.tokens);
}

std::string DataFiles::separatorWarning() const {
  constexpr int64_t most = 1 << 22;
  int64_t read = std::min(most, tokens.size());
  if (!separator || read == 0 || tokens.count(*separator, read) > 0)
    return "";
  return fmt::format("--separator {} is not among the first {} tokens of the "
                     "data, so that rows are not divided into documents",
                     *separator, read);
}

std::vector<std::string> DataFiles::paths() const {
  std::vector<std::string> paths = tokens.paths();
  paths.insert(paths.end(), samples.paths().begin(), samples.paths().end());
  return paths;
}

bool Batches::gives(const PlanBuffer &tensor) const {
  return tensor.isArgument() &&
         (isMadeOfTokens(tensor.data) || files.samples.has(tensor.name));
}

/// Adds an argument's samples, and tokens of each, to those of `first`.
Status Batches::addShape(const PlanBuffer &tensor, const PlanBuffer *&first) {
  bool isNamed = files.samples.has(tensor.name);
  bool numbersSamples =
      isNamed || isTokens(tensor) || isOfDocuments(tensor.data);
  int64_t own = isNamed ? tensor.shape.front() : rowsOf(tensor);
  bool fits = !numbersSamples || rows == 0 || own == rows;
  if (!isNamed)
    fits &= columns == 0 || tensor.shape.back() == columns;
  if (first && !fits)
    return invalid("'{}' and '{}' are data of different batches: [{}] and [{}]",
                   first->name, tensor.name, first->subscripts,
                   tensor.subscripts);
  first = first ? first : &tensor;
  if (numbersSamples)
    rows = own;
  if (!isNamed)
    columns = tensor.shape.back();
  hasTokens |= !isNamed && isTokens(tensor);
  return {};
}

/// Counts the samples of an epoch, of which all files must have as many.
Status Batches::countSamples() {
  if (!hasTokens && files.tokens.size() > 0)
    return invalid("no argument of the program takes tokens; give files of "
                   "samples by name (--data x=F.npy), or write {{tpsp.data = "
                   "\"tokens\"}} on an argument");
  if (!hasTokens) {
    samples = files.samples.size();
    return {};
  }
  samples = (files.tokens.size() - 1) / columns;
  if (samples < 1)
    return invalid("the data has {}, and one sample takes {}; give more files, "
                   "or shorter sequences (--extent)",
                   counted(files.tokens.size(), "token"), columns + 1);
  if (!files.samples.isEmpty() && samples != files.samples.size())
    return invalid("the tokens are {}, and '{}' has {}; give the tokens by "
                   "name, too (--data tokens=F.npy)",
                   counted(samples, "sample"), files.samples.paths().front(),
                   files.samples.size());
  return {};
}

Status Batches::create(DataFiles files, const Plan &plan, Order order,
                       uint64_t seed, Batches &out) {
  TPSP_TRY(files.samples.check(plan));
  Batches batches;
  batches.files = std::move(files);
  const PlanBuffer *first = nullptr;
  for (const PlanBuffer &tensor : plan.tensors())
    if (batches.gives(tensor))
      TPSP_TRY(batches.addShape(tensor, first));
  if (batches.rows == 0)
    return noData();
  TPSP_TRY(checkPositions(plan));
  TPSP_TRY(batches.checkSeparator(plan));
  TPSP_TRY(batches.countSamples());
  batches.order = order;
  batches.seed = seed;
  out = std::move(batches);
  return {};
}

int64_t Batches::placeOf(int64_t sample) const {
  int64_t epoch = sample / samples, position = sample % samples;
  return order == Order::Shuffled
             ? int64_t(Shuffle(samples, seed, epoch).at(position))
             : position;
}

Status Batches::fill(const PlanBuffer &tensor, const Shard &shard,
                     int64_t first, void *memory) const {
  if (!files.samples.has(tensor.name))
    return fillTokens(tensor, shard, first, memory);
  return files.samples.fill(
      tensor, shard, [&](int64_t row) { return placeOf(first + row); }, memory);
}

/// Documents need a token that ends one, and the token needs an argument.
Status Batches::checkSeparator(const Plan &plan) const {
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (!gives(tensor) || !isOfDocuments(tensor.data) ||
        files.samples.has(tensor.name))
      continue;
    return files.separator
               ? Status()
               : invalid("'{}' numbers documents ({}); say which token ends "
                         "one (--separator 0), or give it by name (--data "
                         "{}=F.npy)",
                         tensor.name, nameOf(tensor.data), tensor.name);
  }
  return files.separator
             ? invalid("--separator {} ends documents, and no argument of the "
                       "program numbers them; write {{tpsp.data = "
                       "\"documents\"}} on segment numbers of attention, or "
                       "leave out the option",
                       *files.separator)
             : Status();
}

Status Batches::fillTokens(const PlanBuffer &tensor, const Shard &shard,
                           int64_t first, void *memory) const {
  TokenRows rows(files.tokens, files.separator, tensor, memory);
  Status status;
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    while (n > 0) {
      int64_t column = global % columns, count = std::min(n, columns - column);
      int64_t begin = placeOf(first + global / columns) * columns;
      if (Status filled = rows.fill(begin, column, count, local); !filled.ok())
        status = filled;
      global += count;
      local += count;
      n -= count;
    }
  });
  return status;
}
