/// The times in which something runs.
#ifndef TPSP_LIB_CHECK_BUSYSPANS_H
#define TPSP_LIB_CHECK_BUSYSPANS_H

#include <vector>

namespace tpsp::check {

class BusySpans {
public:
  struct Span {
    double begin = 0, end = 0;
  };

  /// Adds a span, in any order. Empty spans are ignored.
  void add(Span span);
  /// The length of the part of `span` that no added span covers.
  double outside(Span span);

private:
  /// Sorts the spans, and joins those that overlap.
  void join();

  std::vector<Span> spans;
  bool isJoined = true;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_BUSYSPANS_H
