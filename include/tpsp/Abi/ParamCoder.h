/// Writes and reads the parameters of commands. A command lists its fields
/// once, in `code(ParamCoder &)`, and that list serves both ways:
///
///     coder.dtype(dtype);
///     coder.extents(outer, chunk);
///     coder.axes(axes);
#ifndef TPSP_ABI_PARAMCODER_H
#define TPSP_ABI_PARAMCODER_H

#include <cstdint>
#include <vector>

namespace tpsp::rt {

using Params = std::vector<int64_t>;

/// The most elements of a buffer. Such a size can be multiplied by the group's
/// size and an element's bytes without overflow.
constexpr int64_t maxElements = int64_t(1) << 44;

/// When writing, fields are appended. When reading, fields are set; after the
/// first integer that is missing or out of range, all fields read as 0.
class ParamCoder {
public:
  virtual ~ParamCoder() = default;

  /// A field in [low, high].
  virtual void integer(int64_t &field, int64_t low, int64_t high) = 0;

  /// Extents, strides and counts: not negative, at most maxElements.
  template <typename... Extents> void extents(Extents &...fields) {
    (integer(fields, 0, maxElements), ...);
  }
  /// A stride that may be negative: its magnitude is at most maxElements.
  void stride(int64_t &field) { integer(field, -maxElements, maxElements); }
  void dtype(int64_t &field);
  void reduction(int64_t &field);
  void flag(bool &field);
  void number(double &field);
  void list(std::vector<int64_t> &field);
  /// Mesh axes: each at most once.
  void axes(std::vector<int64_t> &field);

  /// A list whose items take at least `width` integers; codeItem(item) codes
  /// one.
  template <typename Item, typename CodeItem>
  void list(std::vector<Item> &items, int64_t width, const CodeItem &codeItem) {
    auto length = static_cast<int64_t>(items.size());
    integer(length, 0, longestList(width));
    items.resize(length);
    for (Item &item : items)
      codeItem(item);
  }

protected:
  virtual int64_t longestList(int64_t width) const = 0;
  /// Declares the parameters that were read malformed unless `condition` holds.
  virtual void require(bool condition) = 0;
};

class ParamWriter final : public ParamCoder {
public:
  void integer(int64_t &field, int64_t, int64_t) override {
    params.push_back(field);
  }

  Params params;

protected:
  int64_t longestList(int64_t) const override { return INT64_MAX; }
  void require(bool) override {}
};

class ParamReader final : public ParamCoder {
public:
  ParamReader(const int64_t *params, int64_t count)
      : next(params), left(params ? count : 0), good(count >= 0) {}

  void integer(int64_t &field, int64_t low, int64_t high) override;

  /// Everything was in range, and nothing is left over.
  bool done() const { return good && left == 0; }

protected:
  int64_t longestList(int64_t width) const override;
  void require(bool condition) override { good = good && condition; }

private:
  const int64_t *next;
  int64_t left;
  bool good;
};

} // namespace tpsp::rt

#endif // TPSP_ABI_PARAMCODER_H
