/// Lists of values, one for each of the first natural numbers. They lie one
/// after another in a single array.
#ifndef TPSP_ABI_NUMBEREDLISTS_H
#define TPSP_ABI_NUMBEREDLISTS_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tpsp {

template <typename T> class NumberedLists {
public:
  class List {
  public:
    using value_type = T;
    using const_iterator = const T *;

    List(const T *first, const T *last) : first(first), last(last) {}
    const T *begin() const { return first; }
    const T *end() const { return last; }
    std::size_t size() const { return last - first; }
    const T &operator[](std::size_t i) const { return first[i]; }

  private:
    const T *first, *last;
  };

  NumberedLists() : NumberedLists(0, [](auto) {}) {}
  /// `forEach(add)` calls `add(list, value)` for each value of each of `count`
  /// lists. It is called twice. A list has its values in the order of these
  /// calls.
  template <typename ForEach>
  NumberedLists(std::size_t count, ForEach forEach) : ends(count + 1, 0) {
    // `ends[i + 1]` is the begin of list i until its values are placed.
    std::size_t total = 0;
    forEach([&](int64_t list, const T &) {
      if (std::size_t(list) + 2 < ends.size())
        ++ends[list + 2];
      ++total;
    });
    for (std::size_t i = 1; i < ends.size(); ++i)
      ends[i] += ends[i - 1];
    values.resize(total);
    forEach([&](int64_t list, const T &value) {
      values[ends[list + 1]++] = value;
    });
  }

  std::size_t size() const { return ends.size() - 1; }
  List operator[](int64_t list) const {
    return {values.data() + ends[list], values.data() + ends[list + 1]};
  }

private:
  std::vector<std::size_t> ends;
  std::vector<T> values;
};

} // namespace tpsp

#endif // TPSP_ABI_NUMBEREDLISTS_H
