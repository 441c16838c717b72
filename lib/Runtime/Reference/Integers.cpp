//===- Integers.cpp - lookups, choices, counts and dropout masks ----------===//

#include "Preconditions.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace tpsp::reference {

namespace {

/// Walks all positions over some indices, with an offset into each of some
/// tensors. The offset is 0 along an index that a tensor lacks.
class Walk {
public:
  Walk(IndexNames names, Shape extents)
      : names(std::move(names)), extents(std::move(extents)) {}

  size_t follow(const Tensor &x) {
    Shape strides;
    for (const std::string &name : names)
      strides.push_back(strideAlong(x, name));
    tensors.push_back(std::move(strides));
    return tensors.size() - 1;
  }

  template <class F> void forEach(F visit) {
    std::vector<int64_t> offsets(tensors.size(), 0);
    step(0, offsets, visit);
  }

private:
  template <class F>
  void step(size_t dim, std::vector<int64_t> &offsets, F &visit) {
    if (dim == names.size())
      return visit(offsets);
    for (int64_t i = 0; i < extents[dim]; ++i) {
      step(dim + 1, offsets, visit);
      for (size_t t = 0; t < tensors.size(); ++t)
        offsets[t] += tensors[t][dim];
    }
    for (size_t t = 0; t < tensors.size(); ++t)
      offsets[t] -= tensors[t][dim] * extents[dim];
  }

  IndexNames names;
  Shape extents;
  std::vector<Shape> tensors;
};

/// Adds products of numbers to a result, over all positions along some indices.
class SumOfProducts {
public:
  SumOfProducts(const Operands &numbers, Tensor &result, IndexNames names,
                Shape extents)
      : numbers(numbers), result(result),
        inner(names.empty() ? "" : names.back()),
        length(names.empty() ? 1 : extents.back()),
        outer(withoutLast(names), withoutLast(extents)) {
    for (const Tensor *x : numbers) {
      outer.follow(*x);
      strides.push_back(strideAlong(*x, inner));
    }
    outer.follow(result);
    strides.push_back(strideAlong(result, inner));
  }

  /// `start` has the offset of each number's elements, then of the result's.
  void add(const std::vector<int64_t> &start) {
    const size_t n = numbers.size();
    outer.forEach([&](const std::vector<int64_t> &offsets) {
      double *to = result.data.data() + start[n] + offsets[n];
      for (int64_t i = 0; i < length; ++i) {
        double product = 1;
        for (size_t x = 0; x < n; ++x)
          product *= numbers[x]->data[start[x] + offsets[x] + i * strides[x]];
        to[i * strides[n]] += product;
      }
    });
  }

private:
  template <typename List> static List withoutLast(List list) {
    if (!list.empty())
      list.pop_back();
    return list;
  }

  const Operands &numbers;
  Tensor &result;
  std::string inner;
  int64_t length;
  Walk outer;
  std::vector<int64_t> strides;
};

/// The indices of some tensors except those in `leftOut`, each once.
IndexNames namesOf(const Operands &tensors, const IndexNames &leftOut) {
  IndexNames names;
  for (const Tensor *tensor : tensors)
    for (const std::string &name : tensor->indices)
      if (!contains(names, name) && !contains(leftOut, name))
        names.push_back(name);
  return names;
}

/// The extent of each index in the first tensor that has it.
Shape extentsOf(const Operands &tensors, const IndexNames &names) {
  Shape extents;
  for (const std::string &name : names)
    for (const Tensor *tensor : tensors)
      if (const std::optional<int64_t> extent = tensor->extent(name)) {
        extents.push_back(*extent);
        break;
      }
  return extents;
}

} // namespace

Tensor oneHotEinsum(const Operands &ids, const IndexNames &selected,
                    const Operands &numbers, const IndexNames &resultIndices,
                    const Shape &resultShape, std::string *error) {
  Tensor result = full(resultIndices, resultShape, 0, error);
  bool areValid = result.isValid() && !numbers.empty();
  for (const Tensor *x : numbers)
    areValid = areValid && x->isValid();
  if (!areValid || ids.size() != selected.size())
    return fail(error,
                "oneHotEinsum: needs one tensor of integers for each of " +
                    toString(selected) + ", and numbers");
  Operands all = numbers;
  all.push_back(&result);
  // First the indices of the integers are walked, then all others except the
  // selected indices.
  const size_t n = ids.size();
  IndexNames walked = namesOf(ids, selected);
  Walk walk(walked, extentsOf(ids, walked));
  for (const Tensor *tensor : ids)
    walk.follow(*tensor);
  for (const Tensor *tensor : all)
    walk.follow(*tensor);
  IndexNames others = namesOf(all, concat(walked, selected));
  SumOfProducts rest(numbers, result, others, extentsOf(all, others));
  std::vector<int64_t> at(all.size());
  walk.forEach([&](const std::vector<int64_t> &offsets) {
    std::copy(offsets.begin() + n, offsets.end(), at.begin());
    for (size_t i = 0; i < n; ++i) {
      const double id = ids[i]->data[offsets[i]];
      for (size_t t = 0; t < all.size(); ++t) {
        const std::optional<int64_t> extent = all[t]->extent(selected[i]);
        if (!extent)
          continue;
        if (!(id >= 0 && id < double(*extent)))
          return;
        at[t] += int64_t(id) * strideAlong(*all[t], selected[i]);
      }
    }
    rest.add(at);
  });
  return result;
}

Tensor countValues(const Tensor &x, const IndexNames &of,
                   const IndexNames &resultIndices, const Shape &resultShape,
                   std::string *error) {
  Tensor result = full(resultIndices, resultShape, 0, error);
  int64_t values = 1;
  for (const std::string &name : of)
    values *= result.extent(name).value_or(0);
  if (!x.isValid() || !result.isValid())
    return fail(error, "countValues: invalid operand");
  Walk walk(x.indices, x.shape);
  walk.follow(x);
  walk.follow(result);
  walk.forEach([&](const std::vector<int64_t> &offsets) {
    const double value = x.data[offsets[0]];
    if (!(value >= 0 && value < double(values)))
      return;
    int64_t left = int64_t(value), at = offsets[1];
    for (size_t i = of.size(); i-- > 0;) {
      const int64_t extent = *result.extent(of[i]);
      at += left % extent * strideAlong(result, of[i]);
      left /= extent;
    }
    ++result.data[at];
  });
  return result;
}

/// Calls visit(offset into x, offset into choices) for every row of choices
/// along `choice`.
template <class F>
static void forEachRow(const Tensor &x, const Tensor &choices,
                       const std::string &choice, F visit) {
  IndexNames rows = without(choices.indices, {choice});
  Shape extents;
  for (const std::string &name : rows)
    extents.push_back(*choices.extent(name));
  Walk walk(rows, extents);
  walk.follow(x);
  walk.follow(choices);
  walk.forEach([&](const std::vector<int64_t> &offsets) {
    visit(offsets[0], offsets[1]);
  });
}

Tensor runs(const Tensor &x, const std::string &of, const std::string &along,
            const IndexNames &resultIndices, const Shape &resultShape,
            std::string *error) {
  Tensor result = full(resultIndices, resultShape, -1, error);
  const std::optional<int64_t> values = x.extent(of);
  const std::optional<int64_t> places = result.extent(along);
  if (!x.isValid() || !values || !places)
    return fail(error, "runs: " + toString(x.indices) + " has no index '" + of +
                           "', or the result none '" + along + "'");
  const int64_t from = strideAlong(x, of), to = strideAlong(result, along);
  forEachRow(x, result, along, [&](int64_t counts, int64_t row) {
    int64_t place = 0;
    for (int64_t value = 0; value < *values; ++value)
      for (int64_t i = 0; i < int64_t(x.data[counts + value * from]); ++i)
        if (place < *places)
          result.data[row + to * place++] = double(value);
  });
  return result;
}

Tensor largest(const Tensor &x, const std::string &index,
               const std::string &choice, const IndexNames &resultIndices,
               const Shape &resultShape, std::string *error) {
  Tensor result = full(resultIndices, resultShape, 0, error);
  const std::optional<int64_t> candidates = x.extent(index);
  const std::optional<int64_t> choices = result.extent(choice);
  if (!x.isValid() || !candidates || !choices || *choices > *candidates)
    return fail(error, "largest: " + toString(x.indices) + " has no index '" +
                           index + "' to choose from");
  const int64_t stride = strideAlong(x, index);
  const int64_t step = strideAlong(result, choice);
  std::vector<int64_t> order(*candidates);
  forEachRow(x, result, choice, [&](int64_t from, int64_t to) {
    for (int64_t i = 0; i < *candidates; ++i)
      order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return x.data[from + a * stride] > x.data[from + b * stride];
    });
    for (int64_t i = 0; i < *choices; ++i)
      result.data[to + i * step] = double(order[i]);
  });
  return result;
}

namespace {

/// The sum of the squares by which one row's choices fall short. It is infinite
/// if a value is NaN, since NaNs have no order.
double squaredShortfall(std::vector<double> row,
                        const std::vector<double> &chosen) {
  for (double value : row)
    if (std::isnan(value))
      return std::numeric_limits<double>::infinity();
  std::vector<double> values = row;
  std::sort(row.begin(), row.end(), std::greater<>());
  std::vector<bool> taken(row.size(), false);
  double squares = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const double at = chosen[i];
    if (!(at >= 0 && at < double(values.size())) || taken[size_t(at)])
      return std::numeric_limits<double>::infinity();
    taken[size_t(at)] = true;
    const double got = values[size_t(at)];
    if (got != row[i]) // equal infinities have no difference
      squares += (row[i] - got) * (row[i] - got);
  }
  return squares;
}

} // namespace

double shortfall(const Tensor &x, const std::string &index,
                 const std::string &choice, const Tensor &chosen,
                 std::string *error) {
  const std::optional<int64_t> candidates = x.extent(index);
  const std::optional<int64_t> choices = chosen.extent(choice);
  if (!x.isValid() || !chosen.isValid() || !candidates || !choices ||
      *choices > *candidates) {
    fail(error, "shortfall: " + toString(chosen.indices) +
                    " are no choices from " + toString(x.indices));
    return 0;
  }
  const int64_t stride = strideAlong(x, index);
  const int64_t step = strideAlong(chosen, choice);
  std::vector<double> row(*candidates), made(*choices);
  double squares = 0, all = 0;
  forEachRow(x, chosen, choice, [&](int64_t from, int64_t at) {
    for (int64_t i = 0; i < *candidates; ++i) {
      row[i] = x.data[from + i * stride];
      // Masked values say nothing about the size of the others.
      if (std::isfinite(row[i]))
        all += row[i] * row[i];
    }
    for (int64_t i = 0; i < *choices; ++i)
      made[i] = chosen.data[at + i * step];
    squares += squaredShortfall(row, made);
  });
  if (squares == 0)
    return 0;
  // The ratio of a mean over the choices to a mean over the values.
  return std::sqrt(squares / double(chosen.data.size()) /
                   (all / double(x.data.size())));
}

Tensor countEarlier(const Tensor &x, const IndexNames &over, int64_t values,
                    std::string *error) {
  return countEarlier(x, over, values, nullptr, {}, error);
}

/// The sum of the counts of smaller values in the block of `value`. `offset` is
/// a position of `load`.
static int64_t smallerInBlock(const Tensor &load, const IndexNames &of,
                              int64_t offset, int64_t value) {
  const int64_t each = *load.extent(of.back());
  if (of.size() > 1)
    offset += value / each * strideAlong(load, of.front());
  double sum = 0;
  for (int64_t i = 0; i < value % each; ++i)
    sum += load.data[offset + i * strideAlong(load, of.back())];
  return int64_t(sum);
}

Tensor countEarlier(const Tensor &x, const IndexNames &over, int64_t values,
                    const Tensor *load, const IndexNames &of,
                    std::string *error) {
  if (!x.isValid() || (load && (!load->isValid() || of.empty())))
    return fail(error, "countEarlier: invalid operand");
  Tensor result = full(x.indices, x.shape, -1, error);
  // The counted indices are innermost, in their order.
  IndexNames names = concat(without(x.indices, over), over);
  Shape extents;
  int64_t row = 1;
  for (const std::string &name : names) {
    const std::optional<int64_t> extent = x.extent(name);
    if (!extent)
      return fail(error, "countEarlier: " + toString(x.indices) +
                             " has no index '" + name + "'");
    extents.push_back(*extent);
    if (contains(over, name))
      row *= *extent;
  }
  Walk walk(names, extents);
  walk.follow(x);
  if (load)
    walk.follow(*load);
  int64_t done = 0;
  std::map<int64_t, int64_t> counts;
  walk.forEach([&](const std::vector<int64_t> &offsets) {
    if (done++ % row == 0)
      counts.clear();
    const double id = x.data[offsets[0]];
    if (!(id >= 0 && id < double(values)))
      return;
    const auto value = int64_t(id);
    int64_t before = load ? smallerInBlock(*load, of, offsets[1], value) : 0;
    result.data[offsets[0]] = double(before + counts[value]++);
  });
  return result;
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> c,
                               std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t left = uint64_t(c[0]) * 0xD2511F53u;
    const uint64_t right = uint64_t(c[2]) * 0xCD9E8D57u;
    c = {uint32_t(right >> 32) ^ c[1] ^ key[0], uint32_t(right),
         uint32_t(left >> 32) ^ c[3] ^ key[1], uint32_t(left)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return c;
}

Tensor dropoutMask(const IndexNames &indices, const Shape &shape,
                   Dropout dropout, std::string *error) {
  Tensor mask = full(indices, shape, 0, error);
  const double least = std::ldexp(dropout.rate, 32);
  const std::array<uint32_t, 2> key = {uint32_t(dropout.seed),
                                       uint32_t(uint64_t(dropout.seed) >> 32)};
  for (size_t i = 0; i < mask.data.size(); ++i) {
    const uint64_t block = i / 4;
    const auto words =
        philox({uint32_t(block), uint32_t(block >> 32), dropout.step, 0}, key);
    mask.data[i] = double(words[i % 4]) >= std::floor(least) ? 1 : 0;
  }
  return mask;
}

} // namespace tpsp::reference
