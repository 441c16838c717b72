#include "TokenRows.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/Driver/Tensors/IntegerRange.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

/// The target of a token that has none (PyTorch's ignore_index).
static constexpr int64_t noTarget = -100;

namespace {

/// Reads tokens one after another through an array on the stack.
class TokenReader {
public:
  TokenReader(const TokenFiles &tokens, int64_t begin, int64_t count)
      : tokens(tokens), next(begin), end(begin + count) {}

  int64_t read() {
    if (at == filled) {
      filled = std::min<int64_t>(most, end - next);
      tokens.read(next, filled, some);
      next += filled;
      at = 0;
    }
    return some[at++];
  }

private:
  static constexpr int64_t most = 256;
  const TokenFiles &tokens;
  int64_t next, end, at = 0, filled = 0;
  int64_t some[most];
};

} // namespace

Status TokenRows::store(int64_t value, int64_t place, int64_t local) {
  storeInteger(value, tensor.dtype, memory, local);
  if (integerRange(tensor).has(value))
    return {};
  return isOfDocuments(tensor.data)
             ? invalid("the row of {} has more documents than '{}' takes: "
                       "numbers below {}",
                       tokens.placeOf(place), tensor.name, tensor.below)
             : invalid("{} has {}, and '{}' takes tokens below {}",
                       tokens.placeOf(place), value, tensor.name, tensor.below);
}

Status TokenRows::fillTokens(int64_t begin, int64_t count, int64_t local) {
  bool isNext = tensor.data == DataRole::NextTokens;
  TokenReader reader(tokens, begin, isNext ? count + 1 : count);
  int64_t token = reader.read();
  Status status;
  for (int64_t i = 0; i < count; ++i) {
    bool hasNoTarget = isNext && token == separator;
    if (isNext || i > 0)
      token = reader.read();
    Status stored = store(hasNoTarget ? noTarget : token,
                          begin + i + (isNext ? 1 : 0), local + i);
    if (!stored.ok())
      status = stored;
  }
  return status;
}

Status TokenRows::fillDocuments(int64_t begin, int64_t column, int64_t count,
                                int64_t local) {
  TokenReader reader(tokens, begin, column + count);
  int64_t number = 0, position = 0;
  Status status;
  for (int64_t i = 0; i < column + count; ++i) {
    Status stored;
    if (i >= column)
      stored = store(tensor.data == DataRole::Documents ? number : position,
                     begin + i, local + i - column);
    if (!stored.ok())
      status = stored;
    bool ends = reader.read() == separator;
    number += ends;
    position = ends ? 0 : position + 1;
  }
  return status;
}

Status TokenRows::fill(int64_t begin, int64_t column, int64_t count,
                       int64_t local) {
  if (isOfDocuments(tensor.data))
    return fillDocuments(begin, column, count, local);
  if (tensor.data != DataRole::Positions)
    return fillTokens(begin + column, count, local);
  for (int64_t i = 0; i < count; ++i)
    storeInteger(column + i, tensor.dtype, memory, local + i);
  return {};
}
