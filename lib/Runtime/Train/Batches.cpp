#include "tpsp/Runtime/Train/Batches.h"

#include "Shuffle.h"
#include "tpsp/Abi/ElementType.h"
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

static Status noData() {
  return {TPSP_RT_INVALID,
          "no argument of the program is data; write {tpsp.data = \"tokens\"} "
          "on the tokens and \"next_tokens\" on what they are to predict"};
}

/// A position without a row in its table would be looked up as zeros.
static Status checkPositions(const Plan &plan) {
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.data == DataRole::Positions && tensor.below > 0 &&
        tensor.shape.back() > tensor.below)
      return invalid("a sample has {} positions, and '{}' takes those below "
                     "{}; give shorter sequences (--extent), or a table of "
                     "more positions",
                     tensor.shape.back(), tensor.name, tensor.below);
  return {};
}

Status Batches::create(TokenFiles files, const Plan &plan, Order order,
                       uint64_t seed, Batches &out) {
  Batches batches;
  const PlanBuffer *first = nullptr;
  for (const PlanBuffer &tensor : plan.tensors()) {
    if (!tensor.isArgument() || tensor.data == DataRole::None)
      continue;
    int64_t rows = isTokens(tensor) ? rowsOf(tensor) : batches.rows;
    if (first && (tensor.shape.back() != batches.columns ||
                  (batches.rows > 0 && rows != batches.rows)))
      return invalid("'{}' and '{}' are data of different batches: [{}] "
                     "and [{}]",
                     first->name, tensor.name, first->subscripts,
                     tensor.subscripts);
    first = first ? first : &tensor;
    batches.rows = rows;
    batches.columns = tensor.shape.back();
  }
  if (batches.rows == 0)
    return noData();
  TPSP_TRY(checkPositions(plan));
  batches.samples = (files.size() - 1) / batches.columns;
  if (batches.samples < 1)
    return invalid("the data has {}, and one sample takes {}; give more files, "
                   "or shorter sequences (--extent)",
                   counted(files.size(), "token"), batches.columns + 1);
  batches.files = std::move(files);
  batches.order = order;
  batches.seed = seed;
  out = std::move(batches);
  return {};
}

int64_t Batches::windowOf(int64_t sample) const {
  int64_t epoch = sample / samples, position = sample % samples;
  if (order == Order::Shuffled)
    position = Shuffle(samples, seed, epoch).at(position);
  return position * columns;
}

Status Batches::fill(const PlanBuffer &tensor, const Shard &shard,
                     int64_t first, void *memory) const {
  Status status;
  // An array on the stack, since steps must not allocate.
  constexpr int64_t chunk = 256;
  int64_t tokens[chunk];
  int64_t shift = tensor.data == DataRole::NextTokens ? 1 : 0;
  /// Fills a part of one row: `count` elements from column `column` on.
  auto fillRow = [&](int64_t row, int64_t column, int64_t count,
                     int64_t local) {
    if (tensor.data == DataRole::Positions) {
      for (int64_t i = 0; i < count; ++i)
        storeInteger(column + i, tensor.dtype, memory, local + i);
      return;
    }
    int64_t begin = windowOf(first + row) + column + shift;
    for (int64_t i = 0; i < count; ++i) {
      if (i % chunk == 0)
        files.read(begin + i, std::min(chunk, count - i), tokens);
      int64_t token = tokens[i % chunk];
      if (tensor.below > 0 && uint64_t(token) >= uint64_t(tensor.below))
        status = {TPSP_RT_INVALID,
                  fmt::format("{} has {}, and '{}' takes tokens below {}",
                              files.placeOf(begin + i), token, tensor.name,
                              tensor.below)};
      storeInteger(token, tensor.dtype, memory, local + i);
    }
  };
  shard.forEachRun([&](int64_t global, int64_t local, int64_t n) {
    while (n > 0) {
      int64_t column = global % columns, count = std::min(n, columns - column);
      fillRow(global / columns, column, count, local);
      global += count;
      local += count;
      n -= count;
    }
  });
  return status;
}
