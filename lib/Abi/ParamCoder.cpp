#include "tpsp/Abi/ParamCoder.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cstring>

namespace tpsp::rt {

/// A longer list is taken for a sign of a corrupt array.
static constexpr int64_t maxListLength = int64_t(1) << 20;

void ParamCoder::dtype(int64_t &field) {
  integer(field, 0, INT8_MAX);
  require(elementBytes(field) != 0);
}

void ParamCoder::reduction(int64_t &field) {
  integer(field, TPSP_RT_SUM, TPSP_RT_MAX);
}

void ParamCoder::flag(bool &field) {
  int64_t value = field;
  integer(value, 0, 1);
  field = value == 1;
}

void ParamCoder::number(double &field) {
  int64_t bits;
  std::memcpy(&bits, &field, sizeof bits);
  integer(bits, INT64_MIN, INT64_MAX);
  std::memcpy(&field, &bits, sizeof bits);
}

void ParamCoder::list(std::vector<int64_t> &field) {
  list(field, /*width=*/1, [&](int64_t &item) { extents(item); });
}

void ParamCoder::axes(std::vector<int64_t> &field) {
  list(field);
  std::vector<int64_t> sorted = field;
  std::sort(sorted.begin(), sorted.end());
  require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end());
}

void ParamReader::integer(int64_t &field, int64_t low, int64_t high) {
  field = 0;
  good = good && left > 0 && *next >= low && *next <= high;
  if (!good)
    return;
  --left;
  field = *next++;
}

int64_t ParamReader::longestList(int64_t width) const {
  return std::min(maxListLength, (left - 1) / width);
}

} // namespace tpsp::rt
