#include "AttentionScores.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tpsp::rt {

/// The offset of a row of scores, or of a row of a tensor that is applied to
/// scores.
static int64_t rowStart(const AttentionLayout &at, const AttentionHead &head,
                        int64_t row) {
  return head.batch * at.batch + head.head * at.head + head.group * at.group +
         row * at.row;
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

template <typename T>
AttentionScores<T>::AttentionScores(const AttentionCommand &c,
                                    int64_t queryStart,
                                    const std::vector<std::byte *> &extras)
    : c(c), before(c.keysBefore(queryStart)),
      queryStart(before + c.startAmongKeys(queryStart)) {
  size_t next = 0;
  if (c.hasBias)
    bias = extras[next++];
  auto takeIntegers = [&](bool areThere) {
    return areThere ? reinterpret_cast<const int32_t *>(extras[next++])
                    : nullptr;
  };
  querySegments = takeIntegers(c.hasSegments);
  keySegments = takeIntegers(c.hasSegments);
  lengths = takeIntegers(c.hasLengths);
}

template <typename T>
int64_t AttentionScores<T>::numKeys(const AttentionHead &head) const {
  if (!lengths)
    return c.keys;
  int64_t length = lengths[rowStart(c.lengths, head, 0)];
  return std::clamp<int64_t>(length, 0, c.keys);
}

/// The first key that a query sees. Both are counted from the first key, and
/// `before` is the number of first keys that do not count.
static int64_t firstSeen(const PositionMask &mask, int64_t query,
                         int64_t before) {
  int64_t first = before;
  if (mask.window > 0)
    first = std::max(first, query + 1 - mask.window);
  if (mask.chunk > 0)
    first = std::max(first, query / mask.chunk * mask.chunk);
  return first;
}

template <typename T>
TileRows AttentionScores<T>::seen(int64_t query, TileRows keys) const {
  if (!c.causal)
    return {0, keys.count};
  int64_t past = queryStart + query + 1;
  int64_t end = std::clamp<int64_t>(past - keys.begin, 0, keys.count);
  int64_t first = firstSeen(c, past - 1, before);
  int64_t begin = std::clamp<int64_t>(first - keys.begin, 0, end);
  return {begin, end - begin};
}

template <typename T>
bool AttentionScores<T>::isMaskedByPosition(TileRows queries,
                                            TileRows keys) const {
  if (!c.causal)
    return false;
  bool isLater = keys.begin >= queryStart + queries.end();
  return isLater ||
         keys.end() <= firstSeen(c, queryStart + queries.begin, before);
}

namespace {

/// A summary of the segment numbers of some rows: their range, and their
/// remainders by 64. This is a Bloom filter of one hash (Bloom, Space/time
/// trade-offs in hash coding, 1970). Ranges tell sorted numbers apart, and
/// remainders others.
struct SegmentSet {
  int32_t least, largest;
  uint64_t remainders = 0;

  /// `numbers`: that of the first row; others follow at a distance of `stride`.
  SegmentSet(const int32_t *numbers, int64_t stride, int64_t count)
      : least(*numbers), largest(*numbers) {
    for (int64_t i = 0; i < count; ++i) {
      int32_t number = numbers[i * stride];
      least = std::min(least, number);
      largest = std::max(largest, number);
      remainders |= uint64_t(1) << (uint32_t(number) % 64);
    }
  }

  bool mayMeet(const SegmentSet &other) const {
    return least <= other.largest && other.least <= largest &&
           (remainders & other.remainders) != 0;
  }
};

} // namespace

template <typename T>
bool AttentionScores<T>::isMasked(const AttentionHead &head, TileRows queries,
                                  TileRows keys) const {
  if (isMaskedByPosition(queries, keys))
    return true;
  if (!querySegments)
    return false;
  AttentionHead keyHead{head.batch, head.head, 0};
  SegmentSet ofQueries(querySegments +
                           rowStart(c.querySegments, head, queries.begin),
                       c.querySegments.row, queries.count);
  SegmentSet ofKeys(keySegments + rowStart(c.keySegments, keyHead, keys.begin),
                    c.keySegments.row, keys.count);
  return !ofQueries.mayMeet(ofKeys);
}

template <typename T>
void AttentionScores<T>::score(const AttentionHead &head, int64_t query,
                               TileRows keys, TileRows seen, T *row,
                               T *slopes) const {
  if (c.softcap > 0)
    cap(seen, row, slopes);
  else if (slopes)
    std::fill_n(slopes + seen.begin, seen.count, T(1));
  if (bias)
    addBias(head, query, keys, seen, row);
  if (querySegments)
    leaveOtherSegments(head, query, keys, seen, row);
}

template <typename T>
void AttentionScores<T>::cap(TileRows seen, T *row, T *slopes) const {
  const T most = T(c.softcap);
  for (int64_t j = seen.begin; j < seen.end(); ++j) {
    T bent = std::tanh(row[j] / most);
    row[j] = most * bent;
    if (slopes)
      slopes[j] = 1 - bent * bent;
  }
}

/// A bias of minus infinity hides a key. Any other bias is added, and the sum
/// stays finite.
template <typename T> static T biased(T score, T bias) {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  T sum = score + bias;
  sum = sum == hidden ? std::numeric_limits<T>::lowest() : sum;
  return bias == hidden ? hidden : sum;
}

template <typename T>
void AttentionScores<T>::addBias(const AttentionHead &head, int64_t query,
                                 TileRows keys, TileRows seen, T *row) const {
  constexpr int64_t most = 64;
  T some[most];
  int64_t width = elementBytes(c.dtype), stride = c.bias.key;
  int64_t start =
      rowStart(c.bias, head, query) + (keys.begin + seen.begin) * stride;
  int64_t run = stride == 1 ? most : 1;
  for (int64_t j = 0; j < seen.count; j += run) {
    int64_t count = std::min(run, seen.count - j);
    loadElements(c.dtype, bias + (start + j * stride) * width, some, count);
    for (int64_t i = 0; i < count; ++i)
      row[seen.begin + j + i] = biased(row[seen.begin + j + i], some[i]);
  }
}

template <typename T>
void AttentionScores<T>::leaveOtherSegments(const AttentionHead &head,
                                            int64_t query, TileRows keys,
                                            TileRows seen, T *row) const {
  int32_t own = querySegments[rowStart(c.querySegments, head, query)];
  AttentionHead keyHead{head.batch, head.head, 0};
  const int32_t *numbers =
      keySegments + rowStart(c.keySegments, keyHead, keys.begin);
  for (int64_t j = seen.begin; j < seen.end(); ++j)
    if (numbers[j * c.keySegments.row] != own)
      row[j] = -std::numeric_limits<T>::infinity();
}

template class AttentionScores<float>;
template class AttentionScores<double>;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

template <typename T> T RowLevel<T>::addScores(T *row, int64_t count) {
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  T before = largest;
  for (int64_t j = 0; j < count; ++j)
    largest = std::max(largest, row[j]);
  // A NaN does not count as hidden.
  auto isHidden = [](T score) { return score == hidden; };
  if (largest == hidden && std::all_of(row, row + count, isHidden)) {
    std::fill_n(row, count, T(0));
    return 1;
  }
  T decay = std::exp(before - largest), sum = 0;
  for (int64_t j = 0; j < count; ++j)
    sum += row[j] = std::exp(row[j] - largest);
  total = total * decay + sum;
  return decay;
}

template struct RowLevel<float>;
template struct RowLevel<double>;

//===----------------------------------------------------------------------===//
// The bias's gradient
//===----------------------------------------------------------------------===//

template <typename T> int64_t BiasGradient<T>::elements() const {
  return target ? groups() * rows() * keys() : 0;
}

template <typename T>
void BiasGradient<T>::add(const AttentionHead &head, int64_t query,
                          TileRows keys, TileRows seen, const T *slopes,
                          T *part) const {
  if (!target)
    return;
  int64_t group = c.bias.group ? head.group : 0, row = c.bias.row ? query : 0;
  T *sums = part + (group * rows() + row) * this->keys();
  if (c.bias.key)
    for (int64_t j = seen.begin; j < seen.end(); ++j)
      sums[keys.begin + j] += slopes[j];
  else
    for (int64_t j = seen.begin; j < seen.end(); ++j)
      sums[0] += slopes[j];
}

template <typename T>
void BiasGradient<T>::store(const AttentionHead &head, const T *part) const {
  if (!target)
    return;
  int64_t width = elementBytes(c.dtype);
  for (int64_t group = 0; group < groups(); ++group)
    for (int64_t row = 0; row < rows(); ++row)
      for (int64_t key = 0; key < keys(); ++key) {
        int64_t element =
            rowStart(c.bias, {head.batch, head.head, group}, row) +
            key * c.bias.key;
        storeElements(c.dtype, part++, target + element * width, 1);
      }
}

template class BiasGradient<float>;
template class BiasGradient<double>;

} // namespace tpsp::rt
