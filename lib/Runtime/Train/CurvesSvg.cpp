// Draws the curves of a run: panels with a common axis of steps.
#include "Metrics.h"

#include "tpsp/Runtime/Driver/Pictures/SvgDocument.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

using namespace tpsp;
using namespace tpsp::rt;
using namespace tpsp::train;

namespace {

struct Point {
  double step, value;
};

struct Curve {
  std::string name;
  const char *color;
  std::vector<Point> points;
  /// Whether single points are marked.
  bool isSparse = false;
};

struct Panel {
  std::string title;
  std::vector<Curve> curves;
};

/// An interval of numbers, and the coordinates of its ends.
struct Scale {
  double low, high, from, to;

  double at(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

constexpr double width = 860, panelHeight = 200, left = 76, right = 20,
                 panelTop = 34, panelGap = 40, bottom = 44;

} // namespace

/// The distance of ticks: 1, 2 or 5 times a power of ten, with about five ticks
/// from low to high.
static double tickOf(double low, double high) {
  double rough = (high - low) / 5;
  double power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (rough <= factor * power)
      return factor * power;
  return 10 * power;
}

/// Adds room above and below, so that the interval is never empty.
static void widen(double &low, double &high) {
  double room =
      high > low ? 0.05 * (high - low) : std::max(std::abs(high) * 0.05, 1e-9);
  low -= room;
  high += room;
}

static void rangeOf(const Panel &panel, double &low, double &high) {
  low = INFINITY;
  high = -INFINITY;
  for (const Curve &curve : panel.curves)
    for (const Point &point : curve.points) {
      low = std::min(low, point.value);
      high = std::max(high, point.value);
    }
  widen(low, high);
}

static void drawCurve(SvgDocument &svg, const Curve &curve, const Scale &x,
                      const Scale &y) {
  std::string data;
  for (const Point &point : curve.points) {
    data += fmt::format("{}{} {} ", data.empty() ? "M" : "L",
                        coordinate(x.at(point.step)),
                        coordinate(y.at(point.value)));
    if (curve.isSparse)
      svg.circle(x.at(point.step), y.at(point.value), 3,
                 fmt::format("fill='{}'", curve.color));
  }
  svg.path(data, fmt::format("fill='none' stroke='{}' stroke-width='1.5' "
                             "stroke-linejoin='round'",
                             curve.color));
}

static void drawTicks(SvgDocument &svg, const Scale &x, const Scale &y,
                      bool isLast) {
  TextStyle label;
  label.size = 11;
  label.color = "#555";
  label.anchor = "end";
  double step = tickOf(y.low, y.high);
  for (double tick = std::ceil(y.low / step) * step; tick <= y.high;
       tick += step) {
    svg.line(x.from, y.at(tick), x.to, y.at(tick), "stroke='#e4e4e4'");
    double shown = std::abs(tick) < step / 2 ? 0 : tick;
    svg.text(x.from - 8, y.at(tick) + 4, fmt::format("{:.4g}", shown), label);
  }
  if (!isLast)
    return;
  label.anchor = "middle";
  step = std::max(1.0, tickOf(x.low, x.high));
  for (double tick = std::ceil(x.low / step) * step; tick <= x.high;
       tick += step)
    svg.text(x.at(tick), y.from + 18, fmt::format("{:.0f}", tick), label);
  svg.text((x.from + x.to) / 2, y.from + 36, "step", label);
}

/// Draws the panel's title and, if it has several curves, their names.
static void drawHead(SvgDocument &svg, const Panel &panel, double top) {
  TextStyle style;
  style.bold = true;
  svg.text(left, top - 10, panel.title, style);
  if (panel.curves.size() < 2)
    return;
  style.bold = false;
  double x = left + textWidth(panel.title, style.size) + 40;
  for (const Curve &curve : panel.curves) {
    svg.line(x, top - 14, x + 18, top - 14,
             fmt::format("stroke='{}' stroke-width='2'", curve.color));
    svg.text(x + 24, top - 10, curve.name, style);
    x += textWidth(curve.name, style.size) + 56;
  }
}

static std::vector<Panel> panelsOf(const std::vector<StepRecord> &records) {
  Curve loss{"training", "#1f6fb2", {}},
      eval{"evaluation", "#d1561a", {}, true}, norm{"norm", "#4a8f3c", {}},
      rate{"rate", "#7a5195", {}};
  for (const StepRecord &record : records) {
    double step = record.step;
    loss.points.push_back({step, record.loss});
    if (record.evalLoss)
      eval.points.push_back({step, *record.evalLoss});
    if (record.norm)
      norm.points.push_back({step, *record.norm});
    rate.points.push_back({step, record.learningRate});
  }
  std::vector<Panel> panels = {{"loss", {loss}}};
  if (!eval.points.empty())
    panels.back().curves.push_back(eval);
  if (!norm.points.empty())
    panels.push_back({"norm of the gradient", {norm}});
  panels.push_back({"learning rate", {rate}});
  return panels;
}

std::string tpsp::train::curvesSvg(const std::vector<StepRecord> &records) {
  SvgDocument svg;
  if (records.empty())
    return svg.finish(width, panelHeight, "no steps");
  double first = records.front().step, last = records.back().step;
  if (first == last)
    widen(first, last);
  Scale x{first, last, left, width - right};
  std::vector<Panel> panels = panelsOf(records);
  double top = panelTop;
  for (const Panel &panel : panels) {
    double low, high;
    rangeOf(panel, low, high);
    Scale y{low, high, top + panelHeight, top};
    drawHead(svg, panel, top);
    drawTicks(svg, x, y, &panel == &panels.back());
    svg.line(x.from, y.from, x.to, y.from, "stroke='#999'");
    for (const Curve &curve : panel.curves)
      drawCurve(svg, curve, x, y);
    top += panelHeight + panelGap;
  }
  return svg.finish(width, top - panelGap + bottom, "curves of a training run");
}
