// A picture of time against memory.
#include "tpsp/Planner/Compare.h"

#include "LabelPlaces.h"

#include "tpsp/Abi/Quantity.h"

#include "llvm/ADT/STLExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::planner;

namespace {

constexpr double width = 720, height = 440, left = 78, right = 24, top = 44,
                 bottom = 58;

/// Maps values to pixels on a logarithmic scale.
class Scale {
public:
  Scale(double least, double most, double from, double to)
      : least(std::log(least)), range(std::log(most) - std::log(least)),
        from(from), to(to) {}

  double operator()(double value) const {
    return from + (to - from) * (std::log(value) - least) / range;
  }

private:
  double least, range, from, to;
};

struct Point {
  const Evaluation *plan = nullptr;
  bool isBest = false;
};

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    result += c == '<'   ? "&lt;"
              : c == '>' ? "&gt;"
              : c == '&' ? "&amp;"
                         : std::string(1, c);
  return result;
}

class Picture {
public:
  Picture(const Matrix &matrix, const std::vector<Point> &points)
      : matrix(matrix), points(points), isLimitNear(nearLimit()),
        x(scale(true)), y(scale(false)) {}

  std::string draw() {
    text =
        fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 "
                    "{:.0f} {:.0f}\" font-family=\"sans-serif\" "
                    "font-size=\"12\">\n{}",
                    width, height, style);
    text += fmt::format("<rect class=\"ground\" width=\"{:.0f}\" "
                        "height=\"{:.0f}\"/>\n",
                        width, height);
    axes();
    limit();
    frontier();
    for (const Point &point : points)
      dot(point);
    labels();
    count();
    return text + "</svg>\n";
  }

private:
  static constexpr const char *style =
      "<style>.ground{fill:#fff}text{fill:#222}.name{paint-order:stroke;stroke:"
      "#fff;stroke-width:3px}.leader{stroke:#8a8f98;stroke-width:.7}.grid{"
      "stroke:#ddd}.limit{stroke:"
      "#b3261e;stroke-dasharray:5 4}.front{stroke:#1f6feb;fill:none}.plan{fill:"
      "#8a8f98}.best{fill:#1f6feb}.over{fill:none;stroke:#8a8f98}@media "
      "(prefers-color-scheme:dark){.ground{fill:#16181c}text{fill:#e6e6e6}."
      "name{stroke:#16181c}"
      ".grid{stroke:#333842}.limit{stroke:#ff8a80}.front{stroke:#79b0ff}.best"
      "{fill:#79b0ff}}</style>\n";

  /// The least and the largest value. For memory they include a near limit.
  std::pair<double, double> ends(bool isTime) const {
    double least = INFINITY, most = 0;
    auto cover = [&](double value) {
      least = std::min(least, value);
      most = std::max(most, value);
    };
    for (const Point &point : points)
      cover(isTime ? point.plan->seconds : double(point.plan->memory.total));
    if (!isTime && isLimitNear)
      cover(double(matrix.options.memoryLimit));
    return {least, most};
  }

  /// Whether the limit is less than twice the largest plan, and more than half
  /// of the smallest.
  bool nearLimit() const {
    double limit = double(matrix.options.memoryLimit);
    auto bytes = [](const Point &point) {
      return double(point.plan->memory.total);
    };
    return llvm::any_of(
               points,
               [&](const Point &point) { return limit < 2 * bytes(point); }) &&
           llvm::any_of(points, [&](const Point &point) {
             return limit > bytes(point) / 2;
           });
  }

  Scale scale(bool isTime) const {
    auto [least, most] = ends(isTime);
    // A tenth of the range on both sides.
    double margin = std::max(std::pow(most / least, 0.1), 1.01);
    return isTime ? Scale(least / margin, most * margin, left, width - right)
                  : Scale(least / margin, most * margin, height - bottom, top);
  }

  double xOf(const Evaluation &plan) const { return x(plan.seconds); }
  double yOf(const Evaluation &plan) const {
    return y(double(plan.memory.total));
  }

  void write(double atX, double atY, const std::string &what,
             const char *anchor, const char *kind = "axis") {
    text += fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" "
                        "text-anchor=\"{}\">{}</text>\n",
                        kind, atX, atY, anchor, escaped(what));
  }

  void line(double x1, double y1, double x2, double y2, const char *kind) {
    text += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" "
                        "x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                        kind, x1, y1, x2, y2);
  }

  /// Steps of 1, 2 or 5 times a power of ten, some four of them in
  /// [least, most].
  static std::vector<double> evenTicks(double least, double most) {
    double rough = (most - least) / 4;
    double step = std::pow(10, std::floor(std::log10(rough)));
    for (double times : {5., 2.})
      if (step * times <= rough) {
        step *= times;
        break;
      }
    std::vector<double> ticks;
    for (double i = std::ceil(least / step); i * step <= most; ++i)
      ticks.push_back(i * step);
    return ticks;
  }

  /// Times for the axis: 1, 2 and 5 times powers of ten over a wide range.
  static std::vector<double> secondTicks(double least, double most) {
    if (most < 4 * least)
      return evenTicks(least, most);
    std::vector<double> ticks;
    double power = std::pow(10, std::floor(std::log10(least)));
    for (; power <= most; power *= 10)
      for (double times : {1, 2, 5})
        ticks.push_back(times * power);
    return ticks;
  }

  /// Sizes for the axis: powers of two over a wide range, such as 512 MiB.
  static std::vector<double> byteTicks(double least, double most) {
    if (most < 4 * least) {
      double unit = std::pow(1024, std::floor(std::log2(most) / 10));
      std::vector<double> ticks = evenTicks(least / unit, most / unit);
      for (double &tick : ticks)
        tick *= unit;
      return ticks;
    }
    double doublings = std::max(1., std::round(std::log2(most / least) / 5));
    std::vector<double> ticks;
    for (double at = std::ceil(std::log2(least)); std::exp2(at) <= most;
         at += doublings)
      ticks.push_back(std::exp2(at));
    return ticks;
  }

  void axes() {
    auto [fastest, slowest] = ends(true);
    for (double seconds : secondTicks(fastest / 1.1, slowest * 1.1)) {
      if (x(seconds) < left || x(seconds) > width - right)
        continue;
      line(x(seconds), top, x(seconds), height - bottom, "grid");
      write(x(seconds), height - bottom + 18, rt::secondsText(seconds),
            "middle");
    }
    auto [smallest, largest] = ends(false);
    for (double bytes : byteTicks(smallest / 1.1, largest * 1.1)) {
      if (y(bytes) < top || y(bytes) > height - bottom)
        continue;
      line(left, y(bytes), width - right, y(bytes), "grid");
      write(left - 8, y(bytes) + 4, rt::bytesText(bytes), "end");
    }
    write(width - right, height - 14, "step", "end");
    write(left, 20,
          "memory of a rank; " + matrix.options.program + " on " +
              std::to_string(matrix.options.devices) + " devices of " +
              matrix.options.hardware,
          "start");
  }

  void limit() {
    std::string what =
        "limit " + rt::bytesText(double(matrix.options.memoryLimit));
    if (!isLimitNear)
      return write(width - right, top - 8, what + ", far from all plans",
                   "end");
    double at = y(double(matrix.options.memoryLimit));
    line(left, at, width - right, at, "limit");
    write(width - right, at - 6, what, "end");
  }

  void frontier() {
    std::string path;
    for (const Point &point : points)
      if (point.isBest)
        path += fmt::format("{}{:.1f},{:.1f}", path.empty() ? "" : " ",
                            xOf(*point.plan), yOf(*point.plan));
    text += fmt::format("<polyline class=\"front\" points=\"{}\"/>\n", path);
  }

  void dot(const Point &point) {
    bool isOver = point.plan->memory.total > matrix.options.memoryLimit;
    text +=
        fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" "
                    "r=\"{}\"><title>{}</title></circle>\n",
                    isOver         ? "over"
                    : point.isBest ? "best"
                                   : "plan",
                    xOf(*point.plan), yOf(*point.plan), point.isBest ? 5 : 3.5,
                    escaped(nameOf(*point.plan) + " " +
                            settingsText(point.plan->candidate.settings) +
                            ": " + rt::secondsText(point.plan->seconds) + ", " +
                            rt::bytesText(double(point.plan->memory.total))));
  }

  /// Writes the names of plans, those that no other plan beats first, as long
  /// as there is room. Others have their names as titles.
  void labels() {
    std::vector<LabelPlaces::Dot> dots;
    for (const Point &point : points)
      dots.push_back({xOf(*point.plan), yOf(*point.plan)});
    LabelPlaces places({left, width - 8, top, height - bottom}, dots);
    if (isLimitNear) {
      double at = y(double(matrix.options.memoryLimit));
      places.block({width - right - 110, width - right, at - 18, at + 2});
    }
    for (bool isBest : {true, false})
      for (const Point &point : points)
        if (point.isBest == isBest)
          label(point, places);
  }

  void label(const Point &point, LabelPlaces &places) {
    constexpr double letter = 7.2;
    std::string name = nameOf(*point.plan);
    double atX = xOf(*point.plan), atY = yOf(*point.plan);
    auto place = places.take({atX, atY}, letter * double(name.size()));
    if (!place)
      return;
    if (place->isFar)
      line(atX, atY, place->x, place->y - 4, "leader");
    write(place->x, place->y, name, place->isLeft ? "end" : "start", "name");
  }

  /// The name of the plan's row, or the name that tells it from all rows.
  std::string nameOf(const Evaluation &plan) const {
    for (const MatrixRow &row : matrix.rows)
      if (row.evaluation == &plan)
        return row.label;
    for (const auto &[name, other] : matrix.others)
      if (other == &plan)
        return name;
    return "";
  }

  /// Evaluations without a dot were other settings of a plan, or estimates.
  void count() {
    write(left, height - 14,
          fmt::format("{} plans, of {} evaluations", points.size(),
                      matrix.result->state.evaluations),
          "start");
  }

  const Matrix &matrix;
  const std::vector<Point> &points;
  /// Whether the picture has room for the limit of memory.
  const bool isLimitNear;
  Scale x, y;
  std::string text;
};

} // namespace

/// The compiled plans, by time, with a mark on those that no other plan beats
/// in both.
static std::vector<Point> pointsOf(const SearchResult &result) {
  std::vector<Point> points;
  for (const Evaluation &each : result.evaluations)
    if (each.isLegal() && !each.isBound && each.seconds > 0)
      points.push_back({&each});
  llvm::stable_sort(points, [](const Point &a, const Point &b) {
    return std::pair(a.plan->seconds, a.plan->memory.total) <
           std::pair(b.plan->seconds, b.plan->memory.total);
  });
  int64_t least = INT64_MAX;
  for (Point &point : points) {
    point.isBest = point.plan->memory.total < least;
    least = std::min(least, point.plan->memory.total);
  }
  return points;
}

std::string tpsp::planner::paretoSvg(const Matrix &matrix) {
  std::vector<Point> points = pointsOf(*matrix.result);
  if (points.empty())
    return "";
  return Picture(matrix, points).draw();
}
