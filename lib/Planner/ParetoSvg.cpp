// A picture of time against memory.
#include "tpsp/Planner/Compare.h"

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
  Picture(const Matrix &matrix, const ProgramFacts &facts,
          const std::vector<Point> &points)
      : matrix(matrix), facts(facts), points(points), x(scale(true)),
        y(scale(false)) {}

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
    return text + "</svg>\n";
  }

private:
  static constexpr const char *style =
      "<style>.ground{fill:#fff}text{fill:#222}.grid{stroke:#ddd}.limit{stroke:"
      "#b3261e;stroke-dasharray:5 4}.front{stroke:#1f6feb;fill:none}.plan{fill:"
      "#8a8f98}.best{fill:#1f6feb}.over{fill:none;stroke:#8a8f98}@media "
      "(prefers-color-scheme:dark){.ground{fill:#16181c}text{fill:#e6e6e6}"
      ".grid{stroke:#333842}.limit{stroke:#ff8a80}.front{stroke:#79b0ff}.best"
      "{fill:#79b0ff}}</style>\n";

  /// The least and the largest value. For memory they include the limit.
  std::pair<double, double> ends(bool isTime) const {
    double least = INFINITY, most = 0;
    auto cover = [&](double value) {
      least = std::min(least, value);
      most = std::max(most, value);
    };
    for (const Point &point : points)
      cover(isTime ? point.plan->seconds : double(point.plan->memory.total));
    if (!isTime)
      cover(double(matrix.options.memoryLimit));
    return {least, most};
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
             const char *anchor) {
    text += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", atX,
        atY, anchor, escaped(what));
  }

  void line(double x1, double y1, double x2, double y2, const char *kind) {
    text += fmt::format("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" "
                        "x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                        kind, x1, y1, x2, y2);
  }

  /// Lines at values a fifth of the range apart, on the logarithmic scale.
  void axes() {
    auto [fastest, slowest] = ends(true);
    auto [smallest, largest] = ends(false);
    int steps = 4;
    for (int i = 0; i <= steps; ++i) {
      double share = double(i) / steps;
      double seconds = fastest * std::pow(slowest / fastest, share);
      double bytes = smallest * std::pow(largest / smallest, share);
      if (i == 0 || slowest > fastest * 1.01) {
        line(x(seconds), top, x(seconds), height - bottom, "grid");
        write(x(seconds), height - bottom + 18, rt::secondsText(seconds),
              "middle");
      }
      if (i == 0 || largest > smallest * 1.01) {
        line(left, y(bytes), width - right, y(bytes), "grid");
        write(left - 8, y(bytes) + 4, rt::bytesText(bytes), "end");
      }
    }
    write(width - right, height - 14, "step", "end");
    write(left, 20,
          "memory of a rank; " + matrix.options.program + " on " +
              std::to_string(matrix.options.devices) + " devices of " +
              matrix.options.hardware,
          "start");
  }

  void limit() {
    double at = y(double(matrix.options.memoryLimit));
    line(left, at, width - right, at, "limit");
    write(width - right, at - 6,
          "limit " + rt::bytesText(double(matrix.options.memoryLimit)), "end");
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
                    escaped(usualName(point.plan->candidate, facts) + " " +
                            settingsText(point.plan->candidate.settings) +
                            ": " + rt::secondsText(point.plan->seconds) + ", " +
                            rt::bytesText(double(point.plan->memory.total))));
  }

  /// The names of plans that no other plan beats, as long as they do not
  /// overlap.
  void labels() {
    std::vector<std::pair<double, double>> taken;
    for (const Point &point : points) {
      double atX = xOf(*point.plan), atY = yOf(*point.plan) - 9;
      bool isFree = llvm::none_of(taken, [&](auto &other) {
        return std::abs(other.first - atX) < 130 &&
               std::abs(other.second - atY) < 14;
      });
      if (!point.isBest || !isFree)
        continue;
      taken.emplace_back(atX, atY);
      bool isRight = atX > width * 0.7;
      write(atX + (isRight ? -8 : 8), atY,
            usualName(point.plan->candidate, facts), isRight ? "end" : "start");
    }
  }

  const Matrix &matrix;
  const ProgramFacts &facts;
  const std::vector<Point> &points;
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

std::string tpsp::planner::paretoSvg(const Matrix &matrix,
                                     const ProgramFacts &facts) {
  std::vector<Point> points = pointsOf(*matrix.result);
  if (points.empty())
    return "";
  return Picture(matrix, facts, points).draw();
}
